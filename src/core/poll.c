#include "core/poll.h"

#include "core/effects.h"
#include "core/observation.h"
#include "core/peer.h"

/* Margin of the store-clock shortcut: Date and Last-Modified each have a grain of one second. */
#define STORE_CLOCK_MARGIN (2 * S3L_SECOND)

/* Age by the store's own clock; -1 if the reply does not tell. */
static s3l_ns_t store_age(const s3lect_store_result_t* r) {
  if (r->store_time_ms <= 0 || r->modified_ms <= 0 || r->store_time_ms < r->modified_ms)
    return -1;
  int64_t ms = r->store_time_ms - r->modified_ms;
  return ms > S3L_NEVER / S3L_MS ? S3L_NEVER : ms * S3L_MS;
}

static void apply_store_clock(s3l_core_t* c, const s3lect_store_result_t* r) {
  s3l_ns_t age = store_age(r);
  bool in_time = c->config.protocol->swaps || !c->observed.record.claim;
  if (!c->config.store_clock || age < 0 || c->observed.kind == S3L_OBSERVED_ABSENT || !in_time)
    return;
  s3l_ns_t margin = S3L_MUTANT(STORE_CLOCK_NO_MARGIN) ? 0 : STORE_CLOCK_MARGIN;
  s3l_ns_t needed = s3l_ns_add(s3l_observation_wait(c), margin);
  s3l_ns_t takeover_at = s3l_ns_add(c->now, needed > age ? needed - age : 0);
  c->observed.takeover_at = s3l_sooner(c->observed.takeover_at, takeover_at);
}

/* A leader that was seen to renew not long ago is stable: the follower need not watch it, and reads
 * at the infrequent interval. */
static void set_watching(s3l_core_t* c, const s3lect_store_result_t* r) {
  const s3l_observation_t* v = &c->observed;
  s3l_ns_t late = s3l_observed_renew_ms(c) * (2 * S3L_MS);
  bool fresh =
      c->now < v->takeover_at && c->now - v->first_seen < late && store_age(r) <= late + S3L_SECOND;
  bool stable = v->kind == S3L_OBSERVED_RECORD && !v->record.released && v->renewing && fresh;
  c->watching = !stable || v->own || S3L_MUTANT(ALWAYS_WATCHING);
  s3l_peer_read_after(c, c->watching ? c->config.frequent_interval_ms
                                     : c->config.infrequent_interval_ms);
  s3l_peer_store_read(c, !c->watching);
}

void s3l_poll_read_over(s3l_core_t* c, const s3lect_store_result_t* r) {
  apply_store_clock(c, r);
  c->read_back = false; /* from here on the observed leader may be probed */
  set_watching(c, r);
}
