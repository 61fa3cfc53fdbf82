/* Waiting for events: runs a loop until something holds, and fails the test if it never does. */
#ifndef S3L_TEST_WAIT_H
#define S3L_TEST_WAIT_H

#include <stdbool.h>
#include <uv.h>

/** How long a test may wait for anything: far beyond what it takes, so that only a hang meets it.
 */
#define S3L_WAIT_MS 60000

/** Runs the loop, turn by turn, until done(arg); fails the test with `what` after S3L_WAIT_MS. */
void s3l_wait(uv_loop_t* loop, bool (*done)(void* arg), void* arg, const char* what);

/** The same for "*counter >= n". */
void s3l_wait_count(uv_loop_t* loop, const unsigned* counter, unsigned n, const char* what);

/** Runs the loop until nothing is left in it, and closes it. */
void s3l_wait_loop_end(uv_loop_t* loop);

#endif
