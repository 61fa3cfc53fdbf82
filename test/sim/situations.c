#include "sim/situations.h"

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

int sim_situation_possible(sim_situation_t situation, uint32_t troubles) {
  return (troubles & rows[situation].needs) == rows[situation].needs;
}
