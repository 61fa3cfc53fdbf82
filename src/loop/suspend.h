/* loop/suspend.h: the end of a suspension of the machine, told to those who count time.
 *
 * Lease time (clock.h) goes on while the machine is suspended; a loop's timers run on
 * CLOCK_MONOTONIC, which stands still. A timer that was set for the end of a lease comes late by
 * the length of the suspension. So every loop with electors has one watch, which has all of them
 * look at the clock again:
 *
 *   timerfd   on Linux: the kernel cancels a timer on CLOCK_REALTIME that asks for it whenever that
 *             clock is set, and a resume sets it. One descriptor for a loop, and no work at all
 *             until then
 *   ticker    elsewhere, and where there is no descriptor to be had: a timer that asks the clocks.
 *             Where a loop's own clock goes on in suspension, but not the system call that
 *             it waits in, it is enough that this comes round
 *
 * Neither keeps its loop alive. */
#ifndef S3L_SUSPEND_H
#define S3L_SUSPEND_H

#include <uv.h>

#include "util/list.h"

/** Calls `resumed` from the loop whenever the machine may have been suspended; one function for all
 * members of a loop, which adds and removes none. From the loop's thread, as is unwatch. Errors:
 * UV_ENOMEM. */
int s3l_suspend_watch(uv_loop_t* loop, s3l_list_t* member, void (*resumed)(s3l_list_t* member));

/** Nothing of the watch is left in the loop at the end of the turn in which its last member goes.
 */
void s3l_suspend_unwatch(uv_loop_t* loop, s3l_list_t* member);

#endif
