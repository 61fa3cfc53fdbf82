/* Clocks that a test program can put forward. clocks.c defines the C library's functions that read
 * the time, for the library under test and for libuv. Linux only; elsewhere the clocks cannot be
 * changed. */
#ifndef S3L_TEST_CLOCKS_H
#define S3L_TEST_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

/** Whether the clocks can be put forward. */
bool s3l_clocks_move(void);

/** All clocks: as if so much time had passed. */
void s3l_clocks_skip(int64_t ns);

/** From now on all clocks but CLOCK_MONOTONIC_RAW run faster by so many ppm, as NTP slews them;
 * skipped time is time of these clocks. Call once in a process, before any skip. */
void s3l_clocks_slew(int64_t ppm);

/** Calls `then` once, right after this thread's next reading of CLOCK_MONOTONIC_RAW, as if the
 * process was stopped there. */
void s3l_clocks_after_reading(void (*then)(void));

/** CLOCK_BOOTTIME alone: as if the machine had been suspended for so long. */
void s3l_clocks_suspend(int64_t ns);

#endif
