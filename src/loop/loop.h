/* loop/loop.h: the runtime: what the library above src/net asks of a libuv loop.
 *
 * Vocabulary
 *   runtime    s3l_loop_t: one per uv_loop_t, shared by all that the library runs on that loop
 *   user       an object that has joined the runtime and has not left it yet: an elector, a store,
 *              an HTTP client, ...
 *   task       a function that runs soon, once; embedded in its owner, so deferring it cannot fail
 *   deadline   a function that runs at a time; embedded likewise
 *   background a deadline that does not keep the loop alive, as a uv_timer_t after uv_unref
 *
 * Invariants
 *   - tasks and deadlines run from the loop only, never inside one of these functions, one after
 * the other. They may call any of these functions;
 *   - tasks run in the order in which they were deferred. What is deferred by a task, or set by a
 *     deadline for a time that has passed, runs in a later turn of the loop, after I/O;
 *   - a deadline never runs early. Times are lease time (clock.h);
 *   - only s3l_loop_join allocates memory or can fail.
 *
 * Deadlines are in pairing heaps, on one uv_timer_t: one heap for those that are near, one for each
 * of the next 512 slots of time of 34 ms, which joins the first when its time begins. So the
 * deadlines of thousands of electors are put in order a slot at a time, in the processor's caches,
 * and not at all if they are cleared before. Timers run on a clock
 * that NTP may slow down and that stops while the machine is suspended, so the timer sleeps for at
 * most 90 % of the time that is left (s3l_clock_sleep_ms) and looks at lease time again; when the
 * machine resumes, the runtime looks at once (suspend.h). The timer is armed lazily: clearing a
 * deadline, or setting one that is not the earliest, leaves it as it is. A request that is answered
 * in time costs two heap operations and no timer call.
 *
 * The loop is kept alive by deferred tasks and by the deadlines that are set, except background
 * ones.
 *
 * All functions but s3l_loop_set_speed, s3l_loop_random and s3l_loop_seed are called from the
 * loop's thread. */
#ifndef S3L_LOOP_H
#define S3L_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop/clock.h"
#include "loop/deadline_heap.h"
#include "util/list.h"
#include "util/prng.h"

struct uv_loop_s;

typedef struct s3l_loop_s s3l_loop_t;
typedef struct s3l_task_s s3l_task_t;

struct s3l_task_s {
  void (*cb)(s3l_task_t* task);
  s3l_list_t link;
};

/** Joins the loop's runtime, which is created for its first user. On success the user must leave it
 * exactly once. Errors: UV_ENOMEM. */
int s3l_loop_join(struct uv_loop_s* uv, s3l_loop_t** out);

/** The user has cleared its deadlines and goes. `task`, which is not pending, runs exactly once,
 * after the tasks that were deferred before it; if this was the last user, when the runtime has
 * closed its libuv handles, so that nothing of the library is left in the loop. The task may free
 * its memory. NULL: the user, whose init has failed, does not wait. */
void s3l_loop_leave(s3l_loop_t* loop, s3l_task_t* task);

/** The libuv loop, for src/net. */
struct uv_loop_s* s3l_loop_uv(const s3l_loop_t* loop);

/** Prepares a task or a deadline; before any other use. */
void s3l_task_init(s3l_task_t* task, void (*cb)(s3l_task_t* task));
void s3l_deadline_init(s3l_deadline_t* deadline, void (*cb)(s3l_deadline_t* deadline));

/** Whether the task has been deferred and has not run yet. */
bool s3l_task_is_pending(const s3l_task_t* task);

/** Runs the task soon. No-op if it is pending; it may be deferred again from its own callback. */
void s3l_loop_defer(s3l_loop_t* loop, s3l_task_t* task);

/** The task does not run. No-op if it is not pending. */
void s3l_task_cancel(s3l_task_t* task);

/** Sets the deadline, or moves it: it runs once, at `at_ns` or as soon as possible after that.
 * S3L_CLOCK_NEVER clears it. */
void s3l_loop_deadline_set(s3l_loop_t* loop, s3l_deadline_t* deadline, int64_t at_ns);

/** No-op if it is not set. */
void s3l_loop_deadline_clear(s3l_loop_t* loop, s3l_deadline_t* deadline);

/** Whether the deadline keeps the loop alive while it is set; it does from its init on. The runtime
 * remembers this for the deadline, set or not. */
void s3l_loop_deadline_ref(s3l_loop_t* loop, s3l_deadline_t* deadline, bool keep_alive);

/** Sets the speed of fast time (clock.h), unless a loop has a user: then it returns false. Any
 * thread. */
bool s3l_loop_set_speed(uint32_t speed);

/** Fills memory with random bytes from the system. Any thread. Returns 0 or a negative error. */
int s3l_loop_random(void* out, size_t len);

/** Seeds a generator for jitter: from the system's randomness, or from the clock if there is none.
 */
void s3l_loop_seed(s3l_prng_t* prng);

#endif
