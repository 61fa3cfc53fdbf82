/* loop/clock.h: the two clocks.
 *
 * Lease time measures leases. It is monotonic, counts the time that the machine was suspended, and
 * is not slewed: CLOCK_MONOTONIC_RAW plus the largest CLOCK_BOOTTIME - CLOCK_MONOTONIC seen so far.
 * CLOCK_BOOTTIME and CLOCK_MONOTONIC by themselves follow NTP, and chrony slews them by up to
 * 83,333 ppm, far more than the drift bound allows. All processes of one machine read the same
 * lease time.
 *
 * Timers run on the slewed clock, so a timer for a lease deadline only says "look again" (loop.h).
 * Wall time is for signatures and display. The library reads clocks by these functions only. */
#ifndef S3L_CLOCK_H
#define S3L_CLOCK_H

#include <stdint.h>

/** A lease time that never comes. */
#define S3L_CLOCK_NEVER INT64_MAX

/** Lease time in ns; > 0. Reads the clocks anew; any thread. */
int64_t s3l_clock_lease_ns(void);

/** The lease time `ms` milliseconds from now. Any thread. */
int64_t s3l_clock_in_ms(uint64_t ms);

/** How many ms a timer may sleep when `left_ns` of lease time remain: 90 %, rounded up, since
 * timers run on a clock that NTP may slow down. Then look at the clock again. 0: the time has come.
 */
static inline uint64_t s3l_clock_sleep_ms(int64_t left_ns) {
  int64_t slept_ns = left_ns - left_ns / 10;
  return left_ns > 0 ? ((uint64_t)slept_ns + 999999) / 1000000 : 0;
}

/** Unix time in milliseconds. Any thread. */
int64_t s3l_clock_wall_ms(void);

#endif
