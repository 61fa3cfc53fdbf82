/* loop/suspend.h: how a loop learns that the machine was suspended.
 *
 * Lease time (clock.h) goes on while the machine is suspended; a loop's timers run on
 * CLOCK_MONOTONIC, which stops. A timer that is set for the end of a lease fires late by the length
 * of the suspension, so the runtime has to look at the clock when the machine resumes:
 *
 *   timerfd   on Linux. The kernel cancels a timer on CLOCK_REALTIME, if the timer asks for it,
 *             whenever that clock is set, and a resume sets it. One descriptor for a loop, and no
 *             work until then
 *   ticks     elsewhere, and where no descriptor can be opened: the runtime's timer never sleeps
 *             for longer than S3L_SUSPEND_TICK_MS */
#ifndef S3L_SUSPEND_H
#define S3L_SUSPEND_H

#include <stdbool.h>

#define S3L_SUSPEND_TICK_MS 250

/** Opens a descriptor that is readable when the machine may have been suspended; -1 if there is
 * none. */
int s3l_suspend_open(void);

/** Makes the descriptor unreadable again; false if that fails, and it would be readable for ever.
 */
bool s3l_suspend_read(int fd);

#endif
