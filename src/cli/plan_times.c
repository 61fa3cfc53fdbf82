#include "plan_times.h"

#define MONTH_MS         (30 * 86400 * 1e3)
#define POLL_LATE        1.1  /* intervals of reads vary by a tenth both ways */
#define EARLY            0.9  /* renewals come up to a tenth early */
#define SEED_WAIT_MS     1100 /* beside the leader timeout, where no record gave an epoch */
#define PROBE_GAP_MS     1000 /* between two questions to a peer that holds none */
#define PRIORITY_MAX     3
#define PRIORITY_STEP_MS 500 /* or a quarter of the renewal interval where that is less */
#define TURN_MS          50  /* of the loops that take part: timers, scheduling */
#define REQUEST_IN_FRONT 1   /* a request that is under way when the next could be sent */

static double least(double a, double b) {
  return a < b ? a : b;
}

static double most(double a, double b) {
  return a > b ? a : b;
}

/* T * (1 + drift): for how long a follower must see a record unchanged. */
static double wait_of(const s3lect_elector_options_t* o) {
  return o->leader_timeout_ms * (1 + o->drift_ppm / 1e6);
}

/* The time between two reads of a follower, at most; it reads when it may take over in any case. */
static double look_of(const s3lect_elector_options_t* o) {
  return least(POLL_LATE * most(o->infrequent_interval_ms, o->frequent_interval_ms), wait_of(o));
}

/* Requests from the last sign of the leader to the confirmed take-over. With epoch files a follower
 * lists and reads the newest file before it creates one, and lists again. */
static double requests_of(const s3lect_elector_options_t* o) {
  return (o->protocol == S3LECT_PROTOCOL_EPOCHS ? 5 : 3) + REQUEST_IN_FRONT;
}

/* How long a candidate of a lower priority lets others go first. */
static double head_start_of(const s3lect_elector_options_t* o) {
  int steps = o->priority != 0 ? PRIORITY_MAX - o->priority : 0;
  return steps * least(PRIORITY_STEP_MS, o->renew_interval_ms / 4.0);
}

/* A process that is gone breaks the peers' connections, and they read the store at once. */
static cli_plan_time_t crash(const s3lect_elector_options_t* o, double latency) {
  double looks = o->peer_client != NULL ? 0 : look_of(o);
  double rest = requests_of(o) * latency + o->grace_period_ms + head_start_of(o);
  return (cli_plan_time_t){.worst_ms = looks + wait_of(o) + rest + TURN_MS,
                           .mean_ms = looks / 2 + wait_of(o) - o->renew_interval_ms / 2.0 +
                                      rest / 2 + (o->grace_period_ms + head_start_of(o)) / 2};
}

/* A question is held for the peer interval, or for half of what was left of validity. */
static cli_plan_time_t lost_machine(const s3lect_elector_options_t* o, double latency) {
  cli_plan_time_t time = crash(o, latency);
  double held = least(o->peer_interval_ms, o->leader_timeout_ms / 2.0);
  if (o->peer_client == NULL)
    return time;
  time.worst_ms += POLL_LATE * held + o->peer_timeout_ms;
  time.mean_ms += held / 2 + o->peer_timeout_ms;
  return time;
}

/* A leader that ends answers the questions that it holds. It holds none for less than a second, and
 * none of a follower whose next question it would not cover: then the follower asks within a
 * second. */
static double question_gap(const s3lect_elector_options_t* o, bool authenticated) {
  double left = o->leader_timeout_ms * (1 - o->drift_ppm / 1e6) - o->renew_interval_ms;
  return authenticated && left / 2 >= PROBE_GAP_MS ? 0 : POLL_LATE * PROBE_GAP_MS;
}

static cli_plan_time_t hand_over(const s3lect_elector_options_t* o, bool authenticated,
                                 double latency) {
  if (o->no_release)
    return crash(o, latency);
  double looks = o->peer_client != NULL ? latency + question_gap(o, authenticated) : look_of(o);
  double rest = requests_of(o) * latency + o->grace_period_ms + o->stop_ack_ms + head_start_of(o);
  return (cli_plan_time_t){.worst_ms = looks + rest + TURN_MS,
                           .mean_ms = looks / 2 + requests_of(o) * latency / 2 +
                                      o->grace_period_ms + head_start_of(o)};
}

/* A claim stands for a leader timeout before it may lead; with epoch files two. */
static cli_plan_time_t first_start(const s3lect_elector_options_t* o, double latency) {
  bool files = o->protocol == S3LECT_PROTOCOL_EPOCHS;
  double waits = (files ? 2 : 1) * wait_of(o) + SEED_WAIT_MS + o->grace_period_ms +
                 (files ? 2 : 1) * head_start_of(o);
  double requests = 2 * requests_of(o);
  return (cli_plan_time_t){.worst_ms = waits + requests * latency + TURN_MS,
                           .mean_ms = waits + requests * latency / 2};
}

cli_plan_times_t cli_plan_times(const s3lect_elector_options_t* o, bool authenticated,
                                uint32_t latency_ms) {
  return (cli_plan_times_t){.crash = crash(o, latency_ms),
                            .lost_machine = lost_machine(o, latency_ms),
                            .hand_over = hand_over(o, authenticated, latency_ms),
                            .first_start = first_start(o, latency_ms)};
}

cli_plan_requests_t cli_plan_leader_requests(const s3lect_elector_options_t* o) {
  double renewals = MONTH_MS / (EARLY * o->renew_interval_ms);
  bool files = o->protocol == S3LECT_PROTOCOL_EPOCHS;
  return (cli_plan_requests_t){.puts = renewals, .lists = files ? renewals : 0};
}

/* Over TLS the leader's answers are enough. Otherwise a follower reads the store every fourth
 * interval. */
cli_plan_requests_t cli_plan_follower_requests(const s3lect_elector_options_t* o,
                                               bool authenticated) {
  double every = least(o->infrequent_interval_ms, wait_of(o)) * EARLY;
  if (o->peer_client != NULL && authenticated)
    return (cli_plan_requests_t){.gets = 0};
  if (o->peer_client != NULL)
    every = o->infrequent_interval_ms;
  return (cli_plan_requests_t){.gets = MONTH_MS / every};
}
