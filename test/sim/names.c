/* sim/names.c: the words of the command line. */
#include <string.h>

#include "sim/plan.h"

static const struct {
  const char* name;
  const char* meaning;
} troubles[] = {
#define XX(name, text, what) {text, what},
    SIM_TROUBLES(XX)
#undef XX
};

const char* sim_trouble_name(sim_trouble_t trouble) {
  return troubles[trouble].name;
}

const char* sim_trouble_meaning(sim_trouble_t trouble) {
  return troubles[trouble].meaning;
}

static bool parse_one(const char* name, size_t len, uint32_t* bits) {
  if (len == 3 && memcmp(name, "all", 3) == 0) {
    *bits |= SIM_TROUBLES_ALL;
    return true;
  }
  if (len == 4 && memcmp(name, "none", 4) == 0)
    return true;
  for (unsigned i = 0; i < SIM_TROUBLES_END; i++)
    if (strlen(troubles[i].name) == len && memcmp(troubles[i].name, name, len) == 0) {
      *bits |= 1u << i;
      return true;
    }
  return false;
}

bool sim_troubles_parse(const char* list, uint32_t* out, char* bad, size_t bad_size) {
  uint32_t bits = 0;
  for (const char* p = list;; p++) {
    size_t len = strcspn(p, ",");
    if (!parse_one(p, len, &bits)) {
      if (len >= bad_size)
        len = bad_size - 1;
      memcpy(bad, p, len);
      bad[len] = '\0';
      return false;
    }
    p += len;
    if (*p == '\0')
      break;
  }
  *out = bits;
  return true;
}

const char* sim_fault_name(int kind) {
  static const char* const names[] = {
      [SIM_FAULT_LOSS] = "loss",
      [SIM_FAULT_LATE] = "late effects",
      [SIM_FAULT_SLOW] = "slow",
      [SIM_FAULT_OUTAGE] = "outage",
      [SIM_FAULT_CUT] = "cut off",
      [SIM_FAULT_ERRORS] = "errors",
      [SIM_FAULT_PEER_CUT] = "peer cut off",
      [SIM_FAULT_PEER_SLOW] = "peer slow",
      [SIM_FAULT_PEER_STALE] = "peer stale",
      [SIM_FAULT_PEER_WRONG] = "wrong peer",
      [SIM_FAULT_PEER_LIES] = "peer lies",
      [SIM_FAULT_PEER_STAMPS] = "peer stamps",
      [SIM_FAULT_TRANSFER] = "transfer",
      [SIM_FAULT_STUCK] = "stuck",
      [SIM_FAULT_WINDOWS_END] = "",
      [SIM_FAULT_PAUSE] = "pause",
      [SIM_FAULT_CRASH] = "crash",
      [SIM_FAULT_RESIGN] = "resign",
      [SIM_FAULT_STOP] = "stop",
      [SIM_FAULT_CLOSE] = "close",
      [SIM_FAULT_WALL] = "wall clock jump",
      [SIM_FAULT_RATE] = "clock rate",
      [SIM_FAULT_DELETE] = "delete by hand",
      [SIM_FAULT_CORRUPT] = "damage",
      [SIM_FAULT_FOREIGN] = "foreign writer",
  };
  return names[kind];
}
