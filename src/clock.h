/* clock.h (L7): the two clocks.
 *
 * Leases are measured with CLOCK_BOOTTIME, read afresh each time: it is monotonic and counts the
 * time that the machine was suspended, during which others may have taken over. uv_now() is cached
 * and uv_hrtime() stands still in suspend, so neither may decide about leadership. Wall time is for
 * signatures and display. */
#ifndef S3L_CLOCK_H
#define S3L_CLOCK_H

#include <stdint.h>

/** Nanoseconds; > 0. Any thread. */
int64_t s3l_clock_boottime_ns(void);

/** Unix time in milliseconds. Any thread. */
int64_t s3l_clock_wall_ms(void);

#endif
