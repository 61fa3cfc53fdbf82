/* elector/plan_times.c: how long nobody leads, in ms, and how many requests are sent. */
#include "core/observation.h"
#include "core/state.h"
#include "elector/plan.h"

#define MONTH_MS         (UINT64_C(30) * 86400 * 1000)
#define PPM              1000000
#define PROBE_GAP_MS     1000 /* between two questions to a peer that holds none */
#define REFUSED_MS       1000 /* until a write is sent again that came too soon after another */
#define TURN_MS          50   /* of the loops that take part: timers, scheduling */
#define REQUEST_IN_FRONT 1    /* a request that is under way when the next could be sent */

static uint64_t least(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

/* Intervals of reads vary by a tenth both ways. */
static uint64_t late(uint64_t interval_ms) {
  return (interval_ms * 11 + 9) / 10;
}

/* How often something happens in a month whose interval may be a tenth shorter. */
static uint64_t often(uint64_t interval_ms) {
  return (MONTH_MS * 10 / 9 + interval_ms / 2) / interval_ms;
}

/* T * drift, rounded up. */
static uint64_t drift_of(const s3lect_elector_options_t* o) {
  return ((uint64_t)o->leader_timeout_ms * o->drift_ppm + PPM - 1) / PPM;
}

/* How long a follower must see a record unchanged. */
static uint64_t wait_of(const s3lect_elector_options_t* o) {
  return o->leader_timeout_ms + drift_of(o);
}

/* How long a candidate of a lower priority lets others go first. */
static uint64_t head_start_of(const s3lect_elector_options_t* o) {
  uint64_t step = least(S3L_PRIORITY_STEP / S3L_MS, (o->renew_interval_ms + UINT64_C(3)) / 4);
  return (uint32_t)(S3L_PRIORITY_MAX - o->priority) * step;
}

/* How long a follower does not see a release. It reads the store when it may take over in any case.
 * With peers, a leader that ends answers the questions that it holds. It holds none for less than a
 * second, and none of a follower whose next question it would not cover: then the follower asks
 * within a second. */
static uint64_t look_of(const s3l_plan_input_t* in) {
  const s3lect_elector_options_t* o = &in->elector;
  uint32_t frequent = o->frequent_interval_ms, infrequent = o->infrequent_interval_ms;
  if (in->plan.peers == S3LECT_PLAN_NO_PEERS)
    return least(late(frequent > infrequent ? frequent : infrequent), wait_of(o));
  bool holds = in->plan.peers == S3LECT_PLAN_PEERS &&
               drift_of(o) + o->renew_interval_ms + 2 * PROBE_GAP_MS <= o->leader_timeout_ms;
  return in->plan.latency_ms + (holds ? 0 : late(PROBE_GAP_MS));
}

/* With peers: a question that reaches the leader between its end and its release is answered at
 * once, and the follower then reads the record too early. It reads again a frequent interval later.
 */
static uint64_t too_early(const s3l_plan_input_t* in) {
  bool peers = in->plan.peers != S3LECT_PLAN_NO_PEERS;
  return peers ? late(in->elector.frequent_interval_ms) : 0;
}

/* Google takes one write a second to an object. The release may come too soon after a renewal, and
 * the take-over too soon after the release, unless it is an object of its own. */
static void add_refusals(const s3l_plan_input_t* in, uint64_t look, s3lect_plan_time_t* time) {
  const s3lect_elector_options_t* o = &in->elector;
  uint64_t again = REFUSED_MS + UINT64_C(3) * in->plan.latency_ms;
  uint64_t take_over = o->protocol == S3LECT_PROTOCOL_EPOCHS ? 0 : again;
  time->worst_ms += again + take_over;
  time->mean_ms += (again + too_early(in)) * REFUSED_MS / o->renew_interval_ms;
  time->mean_ms += take_over * REFUSED_MS / (look > REFUSED_MS ? look : REFUSED_MS);
}

void s3l_plan_times(const s3l_plan_input_t* in, s3lect_plan_t* plan) {
  const s3lect_elector_options_t* o = &in->elector;
  bool files = o->protocol == S3LECT_PROTOCOL_EPOCHS;
  bool peers = in->plan.peers != S3LECT_PLAN_NO_PEERS;
  uint64_t wait = wait_of(o), look = look_of(in), head_start = head_start_of(o);
  uint64_t pause = o->grace_period_ms + head_start;
  /* From the last sign of the leader to the confirmed take-over. With epoch files a follower lists
   * and reads the newest file before it creates one, and lists again. */
  uint64_t requests = (uint64_t)((files ? 5 : 3) + REQUEST_IN_FRONT) * in->plan.latency_ms;

  /* A process that is gone breaks the peers' connections, and they read the store at once. */
  uint64_t unseen = peers ? 0 : look;
  plan->crash.worst_ms = unseen + wait + requests + pause + TURN_MS;
  plan->crash.mean_ms = (unseen + requests + 2 * (wait + pause) - o->renew_interval_ms) / 2;

  plan->lost_machine = plan->crash;
  if (peers) { /* a question is held for the peer interval, or half of what was left of validity */
    uint64_t held = least(o->peer_interval_ms, o->leader_timeout_ms / 2);
    plan->lost_machine.worst_ms += late(held) + o->peer_timeout_ms;
    plan->lost_machine.mean_ms += held / 2 + o->peer_timeout_ms;
  }

  plan->hand_over = plan->crash;
  if (!o->no_release) {
    plan->hand_over.worst_ms = look + too_early(in) + requests + pause + o->stop_ack_ms + TURN_MS;
    plan->hand_over.mean_ms = (look + requests) / 2 + pause;
    if (in->plan.store == S3LECT_PLAN_GCS)
      add_refusals(in, look, &plan->hand_over);
  }

  /* A claim stands for a leader timeout before it may lead; with epoch files two. */
  uint64_t claim = S3L_EPOCH_SEED_WAIT / S3L_MS + wait + pause + (files ? wait + head_start : 0);
  plan->first_start.worst_ms = claim + 2 * requests + TURN_MS;
  plan->first_start.mean_ms = claim + requests;
}

/* Over TLS the leader's answers are enough. Otherwise a follower reads the store every fourth
 * interval. */
void s3l_plan_requests(const s3l_plan_input_t* in, s3lect_plan_t* plan) {
  const s3lect_elector_options_t* o = &in->elector;
  plan->leader.puts = often(o->renew_interval_ms);
  if (o->protocol == S3LECT_PROTOCOL_EPOCHS)
    plan->leader.lists = plan->leader.puts;
  if (in->plan.peers == S3LECT_PLAN_NO_PEERS)
    plan->follower.gets = often(least(o->infrequent_interval_ms, wait_of(o)));
  else if (in->plan.peers == S3LECT_PLAN_PLAIN_PEERS)
    plan->follower.gets = MONTH_MS / o->infrequent_interval_ms;
}

uint32_t s3l_plan_connections(const s3l_plan_input_t* in) {
  double requests = in->elector.protocol == S3LECT_PROTOCOL_EPOCHS ? 2 : 1;
  double exact = in->plan.electors * requests * in->plan.latency_ms / in->elector.renew_interval_ms;
  return exact < UINT32_MAX - 1 ? (uint32_t)(exact + 0.999999) : UINT32_MAX;
}
