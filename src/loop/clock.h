/* loop/clock.h: the two clocks.
 *
 * Lease time measures leases. It is monotonic, counts the time that the machine was suspended, and
 * is not slewed: CLOCK_MONOTONIC_RAW plus the largest CLOCK_BOOTTIME - CLOCK_MONOTONIC seen so far.
 * CLOCK_BOOTTIME and CLOCK_MONOTONIC by themselves follow NTP, and chrony slews them by up to
 * 83,333 ppm, far more than the drift bound allows. All processes of one machine read the same
 * lease time.
 *
 * Timers run on the slewed clock, so a timer for a lease deadline only says "look again" (loop.h).
 * Wall time is for signatures and display. The library reads clocks by these functions only.
 *
 * Fast time, for tests (s3lect/testing.h): both clocks run faster than the machine's. They then
 * advance when they are read, by at most S3L_CLOCK_STALL_NS of real time, so that a process which a
 * busy machine has stopped for longer misses nothing. Timers therefore sleep for less than that. */
#ifndef S3L_CLOCK_H
#define S3L_CLOCK_H

#include <stdint.h>

/** Fast time: how much real time counts between two readings, at most. */
#define S3L_CLOCK_STALL_NS 5000000

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

/** How many ms a timer of libuv sleeps for `ms` ms of lease time: the same, or in fast time less.
 */
uint64_t s3l_clock_timer_ms(uint64_t ms);

/** Unix time in milliseconds. Any thread. */
int64_t s3l_clock_wall_ms(void);

/** Begins fast time, or changes its speed (1 or more). Any thread. */
void s3l_clock_set_speed(uint32_t speed);

/** The speed of fast time; 0: time is real. Any thread. */
uint32_t s3l_clock_speed(void);

#endif
