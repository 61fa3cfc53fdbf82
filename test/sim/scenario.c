#include "sim/scenario.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char* name;
  const char* what;
  sim_fault_t faults[2];
  size_t faults_len;
} scenarios[] = {
    {"fail-over",
     "a leader crashes; another takes over when its record has stood for a whole timeout",
     {{.kind = SIM_FAULT_CRASH,
       .who = SIM_WHO_LEADER,
       .at = 44 * S3L_SECOND,
       .until = 85 * S3L_SECOND}},
     1},
    {"partition",
     "a leader is cut off, stops itself before its validity ends, and follows when it is back",
     {{.kind = SIM_FAULT_CUT,
       .who = SIM_WHO_LEADER,
       .a = 3,
       .at = 44 * S3L_SECOND,
       .until = 85 * S3L_SECOND}},
     1},
    {"lost-reply",
     "the replies to a leader's renewals are lost; it reads back what became of them and leads on",
     {{.kind = SIM_FAULT_LOSS,
       .who = SIM_WHO_LEADER,
       .b = 1000,
       .at = 44 * S3L_SECOND,
       .until = 50 * S3L_SECOND}},
     1},
};

void sim_scenarios_list(void) {
  for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
    printf("%-12s %s\n", scenarios[i].name, scenarios[i].what);
}

bool sim_scenario(const char* name, sim_plan_t* p) {
  size_t i = 0;
  while (i < sizeof scenarios / sizeof scenarios[0] && strcmp(scenarios[i].name, name) != 0)
    i++;
  if (i == sizeof scenarios / sizeof scenarios[0])
    return false;
  sim_plan_plain(p, 3, 110 * S3L_SECOND);
  p->latency = 60 * S3L_MS;
  p->chapters[0].faults_to = p->faults_len = scenarios[i].faults_len;
  memcpy(p->faults, scenarios[i].faults, scenarios[i].faults_len * sizeof p->faults[0]);
  return true;
}
