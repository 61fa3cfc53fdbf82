#include "core/lease.h"

#include "util/assert.h"
#include "util/mutant.h"

#define PPM 1000000

s3l_ns_t s3l_ns_add(s3l_ns_t a, s3l_ns_t b) {
  S3L_ASSERT(a >= 0 && b >= 0);
  return a > S3L_NEVER - b ? S3L_NEVER : a + b;
}

/* ns * ppm / 10^6 without overflow: a leader timeout in ns times 10^6 does not fit 64 bits. */
static s3l_ns_t part(s3l_ns_t ns, uint32_t ppm) {
  return S3L_MUTANT(NO_DRIFT_MARGIN) ? 0 : ns / PPM * ppm + ns % PPM * ppm / PPM;
}

s3l_ns_t s3l_lease_hold(s3l_ns_t leader_timeout, uint32_t drift_ppm) {
  S3L_ASSERT(leader_timeout > 0 && drift_ppm < PPM);
  return leader_timeout - part(leader_timeout, drift_ppm) - 1;
}

s3l_ns_t s3l_lease_wait(s3l_ns_t leader_timeout, uint32_t drift_ppm) {
  S3L_ASSERT(leader_timeout > 0 && drift_ppm < PPM);
  return leader_timeout + part(leader_timeout, drift_ppm) + 1;
}

s3l_ns_t s3l_lease_outlast(s3l_ns_t valid_for, uint32_t drift_ppm) {
  S3L_ASSERT(valid_for >= 0 && drift_ppm < PPM);
  /* = valid_for + valid_for * 2 * drift / (1 - drift) */
  s3l_ns_t slow = PPM - drift_ppm;
  s3l_ns_t more = valid_for / slow * 2 * drift_ppm + valid_for % slow * 2 * drift_ppm / slow + 1;
  return s3l_ns_add(valid_for, more);
}

s3l_ns_t s3l_retry_delay(uint32_t attempt) {
  static const uint16_t delays_ms[S3L_RETRIES] = S3L_RETRY_DELAYS_MS;
  S3L_ASSERT(attempt > 0);
  return attempt > S3L_RETRIES ? S3L_NEVER : delays_ms[attempt - 1] * S3L_MS;
}

uint32_t s3l_default_renew_ms(uint32_t frequent_ms, uint32_t leader_timeout_ms) {
  uint32_t third = leader_timeout_ms / 3;
  return frequent_ms < third ? frequent_ms : third;
}

static uint64_t hold_ms(uint32_t leader_timeout_ms, uint32_t drift_ppm) {
  return (uint64_t)leader_timeout_ms * (PPM - drift_ppm) / PPM;
}

uint32_t s3l_default_request_timeout_ms(uint32_t renew_ms, uint32_t leader_timeout_ms,
                                        uint32_t drift_ppm, uint32_t requests) {
  uint64_t used = (uint64_t)renew_ms + S3L_RETRY_TOTAL_MS;
  uint64_t hold = hold_ms(leader_timeout_ms, drift_ppm);
  uint64_t left = hold > used ? (hold - used) / requests : 0;
  return left > 3000 ? 3000 : (uint32_t)left;
}

uint64_t s3l_timing_missing_ms(uint32_t renew_ms, uint32_t request_timeout_ms,
                               uint32_t leader_timeout_ms, uint32_t drift_ppm, uint32_t requests) {
  uint64_t used = (uint64_t)renew_ms + S3L_RETRY_TOTAL_MS + (uint64_t)request_timeout_ms * requests;
  uint64_t hold = hold_ms(leader_timeout_ms, drift_ppm);
  return used > hold ? used - hold : 0;
}
