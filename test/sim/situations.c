#include "sim/situations.h"

#include <stdbool.h>

#include "sim/plan.h"

static const struct {
  const char* text;
  uint32_t needs;
} rows[] = {
#define XX(name, text, needs) {text, needs},
    SIM_SITUATIONS(XX)
#undef XX
};

const char* sim_situation_text(sim_situation_t situation) {
  return rows[situation].text;
}

/* What there is with a lockfile only. */
static bool is_lockfiles_own(sim_situation_t situation) {
  switch (situation) {
  case SIM_MET_RENEWED_BEFORE_LED:
  case SIM_MET_FOREIGN_TOOK_OVER:
  case SIM_MET_FOREIGN_REPLACED:
  case SIM_MET_FOREIGN_RELEASED:
  case SIM_MET_PEER_FOREIGN:
  case SIM_MET_PEER_PROMISE_TAKEN:
    return true;
  default:
    return false;
  }
}

int sim_situation_possible(sim_situation_t situation, uint32_t troubles) {
  if ((troubles & SIM_BIT(EPOCHS)) != 0 && is_lockfiles_own(situation))
    return false;
  if (situation == SIM_MET_NEWEST_DELETED && (troubles & SIM_FORGETFUL) != 0)
    return false;
  return (troubles & rows[situation].needs) == rows[situation].needs;
}
