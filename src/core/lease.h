/* core/lease.h: lease arithmetic.
 *
 * A leader's lease and a follower's observation are two sides of one promise, measured on two
 * clocks whose rates differ by at most `drift_ppm`:
 *
 *   leader      validity    = send time of the write + T * (1 - drift)
 *   follower    takeover_at = receipt of the first reply that showed the record + T * (1 + drift)
 *   by answer   takeover_at = receipt of the leader's answer + the validity that it said was left
 *                             * (1 + drift) / (1 - drift)
 *
 * A write is sent before it takes effect, and takes effect before anybody receives it. So with the
 * same T in both (the follower takes the larger of its own and the record's) validity ends before
 * takeover_at. All times are nanoseconds of the caller's lease time (loop/clock.h). */
#ifndef S3L_CORE_LEASE_H
#define S3L_CORE_LEASE_H

#include <stdint.h>

typedef int64_t s3l_ns_t;

#define S3L_NEVER  INT64_MAX
#define S3L_MS     INT64_C(1000000)
#define S3L_SECOND INT64_C(1000000000)

/** How far NTP may slew the clock of timers: chrony's default bound. */
#define S3L_SLEW_PPM 83334

/** Attempts of one operation: the first, then one more after each of these delays. */
#define S3L_RETRY_DELAYS_MS                                                                        \
  { 0, 100, 1000 }
#define S3L_RETRIES 3
/** The longest delay after an attempt that ended in the store's queue. */
#define S3L_RETRY_CROWDED (100 * S3L_MS)
/** The sum of these delays. */
#define S3L_RETRY_TOTAL_MS 1100

/** a + b, at most S3L_NEVER; a >= 0, b >= 0. */
s3l_ns_t s3l_ns_add(s3l_ns_t a, s3l_ns_t b);

/** T * (1 - drift), rounded down: how long a leader's lease lasts. */
s3l_ns_t s3l_lease_hold(s3l_ns_t leader_timeout, uint32_t drift_ppm);

/** T * (1 + drift), rounded up: how long a follower must wait. */
s3l_ns_t s3l_lease_wait(s3l_ns_t leader_timeout, uint32_t drift_ppm);

/** valid_for * (1 + drift) / (1 - drift), rounded up: how long a follower must wait after it has
 * received its leader's answer that validity lasts for `valid_for` (>= 0) more. */
s3l_ns_t s3l_lease_outlast(s3l_ns_t valid_for, uint32_t drift_ppm);

/** Delay before attempt number `attempt` (1 is the first retry); S3L_NEVER: give up. */
s3l_ns_t s3l_retry_delay(uint32_t attempt);

/** The defaults of the renewal interval and of the request timeout. All in ms; `requests` is how
 * many a renewal takes, one after the other. */
uint32_t s3l_default_renew_ms(uint32_t frequent_ms, uint32_t leader_timeout_ms);
uint32_t s3l_default_request_timeout_ms(uint32_t renew_ms, uint32_t leader_timeout_ms,
                                        uint32_t drift_ppm, uint32_t requests);

/** Whether renewal interval + retry schedule + request timeout (the sum over a renewal's requests)
 * fit into T * (1 - drift), so that a renewal that fails and is repeated by the schedule can still
 * come in time. Returns how many ms are missing, 0 if it fits. */
uint64_t s3l_timing_missing_ms(uint32_t renew_ms, uint32_t request_timeout_ms,
                               uint32_t leader_timeout_ms, uint32_t drift_ppm, uint32_t requests);

#endif
