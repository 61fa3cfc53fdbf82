/* cli/plan_times.h (L8): how long nobody leads, from an elector's options.
 *
 * The worst times hold while the store answers every request within a given time, clocks agree
 * within the drift, and a process that is to run runs; test/sim/test-plan.c compares them with
 * simulated elections. */
#ifndef S3L_CLI_PLAN_TIMES_H
#define S3L_CLI_PLAN_TIMES_H

#include <s3lect.h>
#include <stdbool.h>

typedef struct cli_plan_time_s {
  double worst_ms;
  double mean_ms;
} cli_plan_time_t;

typedef struct cli_plan_times_s {
  cli_plan_time_t crash;        /* of the leader's process */
  cli_plan_time_t lost_machine; /* the leader's machine or network is gone, without a word */
  cli_plan_time_t hand_over;    /* the leader ends or resigns in good order */
  cli_plan_time_t first_start;  /* there is no lockfile yet, and no epoch file */
} cli_plan_times_t;

/** From options with their defaults (s3lect_elector_options_resolve). `authenticated`: peers answer
 * over TLS. `latency_ms`: what a request to the store, or a question to a peer, takes at most. */
cli_plan_times_t cli_plan_times(const s3lect_elector_options_t* o, bool authenticated,
                                uint32_t latency_ms);

/** The requests of a month of 30 days, at most. */
typedef struct cli_plan_requests_s {
  double puts, lists, gets;
} cli_plan_requests_t;

cli_plan_requests_t cli_plan_leader_requests(const s3lect_elector_options_t* o);
/** Of a follower under a stable leader. */
cli_plan_requests_t cli_plan_follower_requests(const s3lect_elector_options_t* o,
                                               bool authenticated);

#endif
