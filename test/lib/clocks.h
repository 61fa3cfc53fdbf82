/* Clocks that a test program can put forward. clocks.c defines the C library's functions that read
 * the time, for the library under test and for libuv. Linux only; elsewhere the clocks cannot be
 * changed.
 *
 * A test can also be in charge of the clocks of other processes: these load clocks.c before the C
 * library (chaos/preload.c), and share the state below with the test. */
#ifndef S3L_TEST_CLOCKS_H
#define S3L_TEST_CLOCKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/** How far clocks are ahead of the kernel's. A slew is the sum of what went before, and a rate of
 * CLOCK_MONOTONIC_RAW since then. */
typedef struct s3l_clocks_s {
  _Atomic int64_t skipped_ns;   /* all of them */
  _Atomic int64_t suspended_ns; /* CLOCK_BOOTTIME besides */
  _Atomic int64_t wall_ns;      /* CLOCK_REALTIME besides */
  _Atomic int64_t slewed_ns, slew_since_ns, slew_ppm;
  _Atomic uint64_t changes; /* counts those by s3l_clocks_change */
} s3l_clocks_t;

/** From now on this process reads these. It has one thread yet. */
void s3l_clocks_use(s3l_clocks_t* clocks);

/** Whether the clocks can be put forward. */
bool s3l_clocks_move(void);

/** All clocks: as if so much time had passed. */
void s3l_clocks_skip(int64_t ns);

/** From now on all clocks but CLOCK_MONOTONIC_RAW run faster by so many ppm, as NTP slews them;
 * skipped time is time of these clocks. Nobody may read them meanwhile. NULL: this process's. */
void s3l_clocks_slew(s3l_clocks_t* clocks, int64_t ppm);

/** Adds to one of the fields. Who is stopped within a reading reads again. */
void s3l_clocks_change(s3l_clocks_t* clocks, _Atomic int64_t* field, int64_t ns);

/** Calls `then` once, right after this thread's next reading of CLOCK_MONOTONIC_RAW, as if the
 * process was stopped there. */
void s3l_clocks_after_reading(void (*then)(void));

/** CLOCK_BOOTTIME alone: as if the machine had been suspended for so long. */
void s3l_clocks_suspend(int64_t ns);

#endif
