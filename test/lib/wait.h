/* Runs a loop until a condition holds, and fails the test if it never does.
 *
 * Between two events an elector waits, for seconds. If everything that a test waits for happens on
 * its own loop, the clocks can be put forward meanwhile: see s3l_wait_pace. */
#ifndef S3L_TEST_WAIT_H
#define S3L_TEST_WAIT_H

#include <stdbool.h>
#include <uv.h>

/** Limit of every wait: long enough that only a hang reaches it. */
#define S3L_WAIT_MS 60000

typedef enum {
  S3L_PACE_REAL = 0, /* for waits for another process or for a thread */
  /* Time passes ten times as fast while nothing happens: for sockets within this process, since
   * the kernel needs a moment to deliver bytes. */
  S3L_PACE_SOCKETS,
  /* Time jumps to the next timer, by an hour at most: if the loop has only timers. */
  S3L_PACE_TIMERS,
} s3l_pace_t;

/** Sets how waits pass the time from now on. */
void s3l_wait_pace(s3l_pace_t pace);

/** Runs the loop, turn by turn, until done(arg); fails the test with `what` after S3L_WAIT_MS. */
void s3l_wait(uv_loop_t* loop, bool (*done)(void* arg), void* arg, const char* what);

/** The same for "*counter >= n". */
void s3l_wait_count(uv_loop_t* loop, const unsigned* counter, unsigned n, const char* what);

/** One turn of the loop that waits for an event, but not for long: gives whether the loop is alive.
 *  uv_run(UV_RUN_ONCE) runs timers before it waits. If one of them brings what a test waits for,
 * and nothing else comes, that call never returns. */
int s3l_turn(uv_loop_t* loop);

/** Runs the loop until nothing is left in it, and closes it. */
void s3l_wait_loop_end(uv_loop_t* loop);

#endif
