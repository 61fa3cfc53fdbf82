#include "sim/mutants.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/run.h"

#define SEEDS_MAX 3000
#define BESIDE    "s3lect-sim-mutants"

static const struct {
  const char* name;
  oracle_check_t check;
  const char* faults;
  unsigned nodes, hours;
  uint64_t seed;
  const char* what;
} rows[] = {{"none", ORACLE_CHECKS_END, "", 0, 0, 1, ""},
#define XX(id, name, check, faults, nodes, hours, seed, what)                                      \
  {name, ORACLE_##check, faults, nodes, hours, seed, what},
            SIM_MUTANTS(XX)
#undef XX
};

static void choose(int mutant) {
  sim_mutant = mutant;
  sim_mutant_also = SIM_MUTANT_NONE;
#define XX(id, also)                                                                               \
  if (mutant == SIM_MUTANT_##id)                                                                   \
    sim_mutant_also = SIM_MUTANT_##also;
  SIM_MUTANTS_ALSO(XX)
#undef XX
}

/* What takes more than a condition in the core. */

void sim_mutate_LATE_REPLY_RENEWS(s3l_core_t* c, const s3l_op_t* op) {
  if (!c->leading && !c->release_owed && c->phase == S3L_PHASE_STANDING && op->epoch == c->epoch) {
    c->leading = true;
    c->announced = true;
    c->valid_until = c->now + S3L_MS;
  }
}

static s3l_effect_t* add_effect(s3l_effects_t* fx, s3l_effect_t e) {
  fx->at[fx->len] = e;
  return &fx->at[fx->len++];
}

/* The candidate is named by the very write that is being sent. */
void sim_mutate_SELF_NAMED(s3l_effects_t* fx) {
  (void)add_effect(fx, (s3l_effect_t){.kind = S3L_DO_NOTIFY, .note = S3LECT_EVENT_NEW_LEADER});
  fx->changed = true;
  fx->seen = fx->record;
}

void sim_mutate_SENDS_TWICE(s3l_effects_t* fx, uint32_t sent) {
  if (sent % 100 == 0)
    add_effect(fx, fx->at[fx->len - 1])->kind = S3L_DO_READ;
}

void sim_mutate_ASKS_TWICE(s3l_effects_t* fx, uint32_t sent) {
  if (sent % 100 == 0)
    (void)add_effect(fx, fx->at[fx->len - 1]);
}

void sim_mutate_ANSWER_PROLONGS(s3l_core_t* c, const s3l_peer_result_t* r) {
  if (c->epoch == 0 || r->valid_for_ms <= 0)
    return;
  c->leading = c->announced = true;
  c->valid_until = c->now + r->valid_for_ms * S3L_MS;
}

/* "Not leading" is taken for "your claim has been written". */
void sim_mutate_GRANT_UNCONFIRMED(s3l_core_t* c, const s3l_peer_result_t** r) {
  static s3lect_record_t granted;
  static s3l_peer_result_t answer = {
      .kind = S3L_PEER_LEADING, .record = &granted, .etag = "\"none\"", .authenticated = true};
  if ((*r)->kind != S3L_PEER_NOT_LEADING || !c->peer.open)
    return;
  s3l_core_record(c, &granted);
  memcpy(granted.leader_id, c->config.id, strlen(c->config.id) + 1);
  memcpy(granted.incarnation, c->incarnation, sizeof granted.incarnation);
  granted.epoch++;
  granted.transitions++;
  granted.write = c->write;
  granted.leader_timeout_ms = c->config.leader_timeout_ms;
  *r = &answer;
}

void sim_mutants_list(void) {
  for (int i = 1; i < SIM_MUTANTS_END; i++)
    printf("%-24s %-12s %s\n", rows[i].name, oracle_check_name(rows[i].check), rows[i].what);
}

bool sim_mutants_are_built_in(void) {
#ifdef SIM_MUTANTS_BUILT_IN
  return true;
#else
  return false;
#endif
}

int sim_mutants_hand_over(char** argv) {
  char path[4096];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - sizeof BESIDE);
  if (n > 0) {
    path[n] = '\0';
    char* slash = strrchr(path, '/');
    memcpy(slash + 1, BESIDE, sizeof BESIDE);
    fflush(NULL);
    execv(path, argv);
  }
  fprintf(stderr, "s3lect-sim: cannot run %s, which should lie beside this program\n", BESIDE);
  return 2;
}

bool sim_mutant_choose(const char* name) {
  for (int i = 0; i < SIM_MUTANTS_END; i++)
    if (strcmp(rows[i].name, name) == 0) {
      choose(i);
      return true;
    }
  return false;
}

/* Searches from the seed that is known to catch the mutant, and the seeds before it last: a change
 * of the core or the simulator may move it. */
static bool search(sim_run_t* run, uint64_t known, sim_totals_t* t) {
  run->first = known;
  run->last = SEEDS_MAX;
  if (!sim_run(run, t) || t->violations > 0 || known == 1)
    return t->violations > 0;
  run->first = 1;
  run->last = known - 1;
  return sim_run(run, t) && t->violations > 0;
}

static bool is_caught(int mutant, unsigned jobs) {
  char bad[32];
  sim_totals_t t;
  sim_run_t run = {.nodes = rows[mutant].nodes,
                   .hours = rows[mutant].hours,
                   .jobs = jobs,
                   .wanted = 1u << rows[mutant].check,
                   .stop_early = true};
  if (!sim_troubles_parse(rows[mutant].faults, &run.troubles, bad, sizeof bad))
    return false;
  choose(mutant);
  bool caught = search(&run, rows[mutant].seed, &t);
  const char* check = oracle_check_name(rows[mutant].check);
  if (!caught)
    printf("%-24s SURVIVES  %s did not trip in %d seeds\n", rows[mutant].name, check, SEEDS_MAX);
  else
    printf("%-24s caught    %-12s seed %-4" PRIu64 " (of %" PRIu64
           " tried)  --nodes %u --hours %u --faults %s\n",
           rows[mutant].name, check, t.first_bad, t.seeds, run.nodes, run.hours,
           rows[mutant].faults);
  if (caught && t.first_bad != rows[mutant].seed)
    printf("%-24s moved     write seed %" PRIu64 " into mutant_ids.h\n", rows[mutant].name,
           t.first_bad);
  fflush(stdout);
  return caught;
}

int sim_mutants_expect_caught(unsigned jobs) {
  int survivors = 0;
  for (int i = 1; i < SIM_MUTANTS_END; i++)
    survivors += !is_caught(i, jobs);
  printf("mutants=%d caught=%d survived=%d\n", SIM_MUTANTS_END - 1, SIM_MUTANTS_END - 1 - survivors,
         survivors);
  return survivors > 0;
}
