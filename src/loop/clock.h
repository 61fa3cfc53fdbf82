/* loop/clock.h: the two clocks.
 *
 * Lease time measures leases. It is monotonic, counts the time that the machine was suspended, and
 * is not slewed: CLOCK_MONOTONIC_RAW plus the largest CLOCK_BOOTTIME - CLOCK_MONOTONIC seen so far.
 * CLOCK_BOOTTIME and CLOCK_MONOTONIC by themselves follow NTP, and chrony slews them by up to
 * 83,333 ppm, far more than the drift bound allows. All processes of one machine read the same
 * lease time.
 *
 * Timers run on the slewed clock, so a timer for a lease deadline only says "look again": see
 * s3l_lease_sleep_ms (core/lease.h). Wall time is for signatures and display. */
#ifndef S3L_CLOCK_H
#define S3L_CLOCK_H

#include <stdint.h>

/** Lease time in ns; > 0. Reads the clocks anew; any thread. */
int64_t s3l_clock_lease_ns(void);

/** Grows by as long as the machine was suspended, in ns, where the two can be told apart. Its
 * absolute value means nothing. Any thread. */
int64_t s3l_clock_suspended_ns(void);

/** Unix time in milliseconds. Any thread. */
int64_t s3l_clock_wall_ms(void);

#endif
