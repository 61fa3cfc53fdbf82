/* elector/plan_advice.c: which options together are unsafe or wasteful, and what to do instead. */
#include <stdio.h>

#include "elector/plan.h"

#define CLOCK_RATES_PPM 200u /* what quartz clocks differ by, at worst */
#define RARE_RENEWALS   2    /* a leader timeout should have room for so many renewals */
#define MANY_RENEWALS   10   /* ... and needs no more than these */
#define MANY_READS      5    /* between two renewals */
#define LONG_TIMEOUT_MS 120000
#define RENEWAL_MS_MIN                                                                             \
  1112u /* of Google: one write a second, and a renewal may be a tenth early                       \
         */

/* `format` shows up to two numbers, as %u: a uint32_t is an unsigned on every system with libuv. */
__attribute__((format(printf, 4, 0))) static void advise(s3lect_plan_t* plan, int32_t code,
                                                         const char* option, const char* format,
                                                         unsigned first, unsigned second) {
  uint32_t i = plan->advice_len++;
  if (i >= plan->advice_max)
    return;
  s3lect_advice_t* advice = &plan->advice[i];
  *advice =
      (s3lect_advice_t){.code = code, .is_unsafe = code < S3LECT_ADVICE_WASTEFUL, .option = option};
  int n = snprintf(advice->text, sizeof advice->text, "%s: ", option);
  (void)snprintf(advice->text + n, sizeof advice->text - (size_t)n, format, first, second);
}

static void advise_safety(const s3l_plan_input_t* in, s3lect_plan_t* plan) {
  const s3lect_elector_options_t* o = &in->elector;
  if (o->expiry == S3LECT_EXPIRY_STORE_CLOCK)
    advise(plan, S3LECT_ADVICE_STORE_CLOCK, "expiry",
           "store-clock makes two leaders if the store's clock is set forward; use observed", 0, 0);
  if (o->drift_ppm < CLOCK_RATES_PPM)
    advise(plan, S3LECT_ADVICE_DRIFT, "drift_ppm",
           "%u is less than what clocks may differ by; use %u or more", o->drift_ppm,
           CLOCK_RATES_PPM);
  if (in->plan.peers == S3LECT_PLAN_PLAIN_PEERS)
    advise(plan, S3LECT_ADVICE_PLAIN_PEERS, "peers",
           "in plain HTTP an attacker in the network can delay take-overs; give certificates", 0,
           0);
  if (in->plan.latency_ms > o->request_timeout_ms)
    advise(plan, S3LECT_ADVICE_SLOW_STORE, "request_timeout_ms",
           "%u ms is less than the %u ms of a request; raise it, and the leader timeout",
           o->request_timeout_ms, in->plan.latency_ms);
  uint64_t slow = (uint64_t)o->leader_timeout_ms * o->drift_ppm / 1000000;
  uint64_t taken = slow + o->renew_deadline_ms + RARE_RENEWALS * (uint64_t)o->renew_interval_ms;
  if (taken > o->leader_timeout_ms)
    advise(plan, S3LECT_ADVICE_RARE_RENEWAL, "renew_interval_ms",
           "%u ms leaves room for one renewal only in a leadership; lower it to %u ms",
           o->renew_interval_ms, o->leader_timeout_ms / 3);
}

static void advise_connections(const s3l_plan_input_t* in, s3lect_plan_t* plan) {
  uint32_t needed = plan->connections, there = in->plan.max_connections;
  bool enough = (uint64_t)needed * 5 <= (uint64_t)there * 4; /* above 80 % some will wait */
  if (in->plan.store != S3LECT_PLAN_OTHER && !enough)
    advise(plan, S3LECT_ADVICE_CONNECTIONS, "electors",
           "need %u connections, and the store has %u; raise max_connections (at most 1024), or "
           "use more stores",
           needed, there);
}

static void advise_followers(const s3l_plan_input_t* in, s3lect_plan_t* plan) {
  const s3lect_elector_options_t* o = &in->elector;
  uint32_t infrequent = o->infrequent_interval_ms;
  bool peers = in->plan.peers != S3LECT_PLAN_NO_PEERS;
  if (infrequent > o->leader_timeout_ms && !peers)
    advise(plan, S3LECT_ADVICE_RARE_READS, "infrequent_interval_ms",
           "%u ms makes a hand-over take as long as a crash; lower it", infrequent, 0);
  if (o->frequent_interval_ms > infrequent)
    advise(plan, S3LECT_ADVICE_RARE_SEARCH, "frequent_interval_ms",
           "%u ms is longer than the infrequent interval: a vacancy is seen late; leave it out",
           o->frequent_interval_ms, 0);
  if ((uint64_t)infrequent * MANY_READS < o->renew_interval_ms && !peers)
    advise(plan, S3LECT_ADVICE_OFTEN_READS, "infrequent_interval_ms",
           "%u ms makes more than five reads per renewal; peer mode needs none", infrequent, 0);
}

static void advise_leader(const s3l_plan_input_t* in, s3lect_plan_t* plan) {
  const s3lect_elector_options_t* o = &in->elector;
  if (in->plan.store == S3LECT_PLAN_GCS && o->renew_interval_ms < RENEWAL_MS_MIN)
    advise(plan, S3LECT_ADVICE_FAST_WRITES, "renew_interval_ms",
           "%u ms: some renewals come within a second, and are refused at first; raise it to %u ms",
           o->renew_interval_ms, RENEWAL_MS_MIN);
  if ((uint64_t)o->renew_interval_ms * MANY_RENEWALS < o->leader_timeout_ms)
    advise(plan, S3LECT_ADVICE_OFTEN_RENEWALS, "renew_interval_ms",
           "%u ms makes more than ten renewals in a leader timeout; %u ms is as safe",
           o->renew_interval_ms, o->leader_timeout_ms / 3);
  if (o->leader_timeout_ms > LONG_TIMEOUT_MS)
    advise(plan, S3LECT_ADVICE_LONG_TIMEOUT, "leader_timeout_ms",
           "nobody leads for %u ms after a crash; lower it", o->leader_timeout_ms, 0);
  if (o->no_release)
    advise(plan, S3LECT_ADVICE_NO_RELEASE, "no_release",
           "an orderly end takes as long as a crash; leave it out", 0, 0);
  if (o->grace_period_ms > 0)
    advise(plan, S3LECT_ADVICE_GRACE, "grace_period_ms",
           "nobody leads for %u ms more at each change; leave it out", o->grace_period_ms, 0);
}

static void advise_protocol(const s3l_plan_input_t* in, s3lect_plan_t* plan) {
  const s3lect_elector_options_t* o = &in->elector;
  if (o->protocol != S3LECT_PROTOCOL_EPOCHS)
    return;
  bool may_need_files = in->plan.store == S3LECT_PLAN_S3 && in->plan.custom_endpoint;
  if (in->plan.store != S3LECT_PLAN_OTHER && !may_need_files)
    advise(plan, S3LECT_ADVICE_EPOCHS, "protocol",
           "epoch files cost the leader twice as much as a lockfile; use that", 0, 0);
  if (o->keep_epochs)
    advise(plan, S3LECT_ADVICE_GROWING_HISTORY, "keep_epochs",
           "files are never removed; add a lifecycle rule that keeps those of the last day", 0, 0);
}

void s3l_plan_advise(const s3l_plan_input_t* in, s3lect_plan_t* plan) {
  advise_safety(in, plan);
  advise_connections(in, plan);
  advise_leader(in, plan);
  advise_followers(in, plan);
  advise_protocol(in, plan);
}
