/* core/lease.h: lease arithmetic: how long what is promised lasts.
 *
 * A leader's lease and a follower's observation are two sides of one promise, measured on two
 * clocks whose rates differ by at most `drift_ppm`:
 *
 *   holder     validity    = send time of the write + T * (1 - drift)
 *   observer   legal       = receipt of the first reply that showed the record + T * (1 + drift)
 *
 *   told       legal     = receipt of the holder's word + what it said is left
 *                          * (1 + drift) / (1 - drift)
 *
 * The send comes before the write takes effect, and that before anybody's receipt of it; so with T
 * the same in both (the observer takes the larger of its own and the record's) validity ends before
 * a take-over is legal. All times are nanoseconds of the caller's lease time (clock.h). */
#ifndef S3L_CORE_LEASE_H
#define S3L_CORE_LEASE_H

#include <stdint.h>

typedef int64_t s3l_ns_t;

#define S3L_NEVER  INT64_MAX
#define S3L_MS     INT64_C(1000000)
#define S3L_SECOND INT64_C(1000000000)

/** By how much NTP may slew the clock of timers: chrony's default bound. */
#define S3L_SLEW_PPM 83334

/** Attempts of one operation: the first, then one more after each of these delays. */
#define S3L_RETRY_DELAYS_MS                                                                        \
  { 0, 100, 1000 }
#define S3L_RETRIES 3
/** What the retry schedule takes in all, the attempts themselves not counted. */
#define S3L_RETRY_TOTAL_MS 1100

/** a + b, at most S3L_NEVER; a >= 0, b >= 0. */
s3l_ns_t s3l_ns_add(s3l_ns_t a, s3l_ns_t b);

/** T * (1 - drift), rounded down: what a holder may count on. */
s3l_ns_t s3l_lease_hold(s3l_ns_t leader_timeout, uint32_t drift_ppm);

/** T * (1 + drift), rounded up: what an observer must wait. */
s3l_ns_t s3l_lease_wait(s3l_ns_t leader_timeout, uint32_t drift_ppm);

/** valid_for * (1 + drift) / (1 - drift), rounded up: how long an observer must wait from the
 * receipt of its holder's word that validity lasts for `valid_for` (>= 0) more. */
s3l_ns_t s3l_lease_outlast(s3l_ns_t valid_for, uint32_t drift_ppm);

/** Delay before attempt number `attempt` (1 is the first retry); S3L_NEVER: give up. */
s3l_ns_t s3l_retry_delay(uint32_t attempt);

/** The renewal interval and the request timeout that stand for 0 in the options. All in ms. */
uint32_t s3l_default_renew_ms(uint32_t frequent_ms, uint32_t leader_timeout_ms);
uint32_t s3l_default_request_timeout_ms(uint32_t renew_ms, uint32_t leader_timeout_ms,
                                        uint32_t drift_ppm);

/** The latter with epoch files, whose renewal takes two requests, one after the other. For the
 * check below the request timeout then counts twice. */
uint32_t s3l_default_epochs_timeout_ms(uint32_t renew_ms, uint32_t leader_timeout_ms,
                                       uint32_t drift_ppm);

/** Whether renewal interval + retry schedule + request timeout fit into T * (1 - drift): a renewal
 * that fails and is tried again by the schedule must still be able to come in time. Returns how
 * many ms are missing, 0 if it fits. */
uint64_t s3l_timing_missing_ms(uint32_t renew_ms, uint32_t request_timeout_ms,
                               uint32_t leader_timeout_ms, uint32_t drift_ppm);

#endif
