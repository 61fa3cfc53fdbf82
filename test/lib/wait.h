/* Waiting for events: runs a loop until something holds, and fails the test if it never does.
 *
 * What an elector does between two events is to wait, for seconds. Where everything that a test
 * waits for happens on its loop, the clocks may be put forward meanwhile: see s3l_wait_pace. */
#ifndef S3L_TEST_WAIT_H
#define S3L_TEST_WAIT_H

#include <stdbool.h>
#include <uv.h>

/** How long a test may wait for anything: far beyond what it takes, so that only a hang meets it.
 */
#define S3L_WAIT_MS 60000

typedef enum {
  S3L_PACE_REAL = 0, /* for who waits for another process, or for a thread */
  /* Time goes ten times as fast while nothing happens: for sockets within this process, whose
   * bytes may take the kernel a moment. */
  S3L_PACE_SOCKETS,
  /* Goes at once to when the next timer is due, for an hour at the most: there are but timers. */
  S3L_PACE_TIMERS,
} s3l_pace_t;

/** How the waits from now on pass the time. */
void s3l_wait_pace(s3l_pace_t pace);

/** Runs the loop, turn by turn, until done(arg); fails the test with `what` after S3L_WAIT_MS. */
void s3l_wait(uv_loop_t* loop, bool (*done)(void* arg), void* arg, const char* what);

/** The same for "*counter >= n". */
void s3l_wait_count(uv_loop_t* loop, const unsigned* counter, unsigned n, const char* what);

/** Runs the loop until nothing is left in it, and closes it. */
void s3l_wait_loop_end(uv_loop_t* loop);

#endif
