/* sim/history.h: histories for the oracle: what three nodes do and are told, as its tests spell it.
 *
 * The oracle must be able to say no: each check is fed a history that breaks it, and the same
 * history without the break. */
#ifndef SIM_HISTORY_H
#define SIM_HISTORY_H

#include <string.h>

#include "lib/test.h"
#include "sim/oracle.h"

#define S  INT64_C(1000000000)
#define MS INT64_C(1000000)

/* All clocks show true time, but node 2's, which runs 1 % slow. */
static inline int64_t boot(void* ctx, int node, int64_t t) {
  return node == 2 ? t - t / 100 : t;
}

static oracle_t o;

static inline int setup(void** state) {
  oracle_config_t config = {.leader_timeout_ms = 15000,
                            .renew_interval_ms = 5000,
                            .frequent_interval_ms = 5000,
                            .infrequent_interval_ms = 12000,
                            .drift_ppm = 10000};
  oracle_init(&o, 3, boot, NULL);
  for (int i = 0; i < 3; i++) {
    oracle_set_config(&o, i, &config);
    oracle_begins(&o, i, 0);
  }
  return 0;
}

static inline void assert_found(unsigned checks) {
  for (int i = 0; i < ORACLE_CHECKS_END; i++)
    if (((o.found ^ checks) & (1u << i)) != 0)
      fail_msg("%s: %s", oracle_check_name((oracle_check_t)i),
               o.violations[i].found ? o.violations[i].text : "was not noticed");
}

#define ONLY(check) (1u << ORACLE_##check)

static const char* const names[] = {"a", "b", "c"};

static inline oracle_write_t record(int node, int64_t t, uint64_t epoch, uint64_t number) {
  return (oracle_write_t){.node = node,
                          .life = o.nodes[node].life,
                          .sent_boot = boot(NULL, node, t),
                          .epoch = epoch,
                          .number = number,
                          .incarnation = 100 + (uint64_t)node,
                          .leader_id = names[node]};
}

static inline void writes(int node, int64_t t, uint64_t epoch, uint64_t number) {
  oracle_write_t w = record(node, t, epoch, number);
  oracle_write_sent(&o, t, &w);
  oracle_write_landed(&o, t, &w);
  oracle_write_done(&o, node, false);
}

static inline int64_t lease(int node, int64_t sent) {
  return boot(NULL, node, sent) + 14850 * MS;
}

static inline void tells(int node, int64_t t, oracle_note_kind_t kind, uint64_t epoch,
                         int64_t valid) {
  oracle_note_t note = {.kind = kind, .epoch = epoch, .valid_until = valid, .leader_id = ""};
  oracle_note(&o, node, t, &note);
}

/* Takes the lease at t, and is told so. */
static inline void leads(int node, int64_t t, uint64_t epoch) {
  writes(node, t, epoch, 1);
  oracle_valid(&o, node, t, lease(node, t));
  tells(node, t, ORACLE_STARTED, epoch, lease(node, t));
}

static inline void stops(int node, int64_t t, uint64_t epoch) {
  oracle_valid(&o, node, t, 0);
  tells(node, t, ORACLE_STOPPED, epoch, t);
}

#define T(test) cmocka_unit_test_setup(test, setup)

#endif
