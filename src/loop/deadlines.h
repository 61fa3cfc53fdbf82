/* loop/deadlines.h: many deadlines on one uv_timer. New code uses loop.h, which replaces this.
 *
 * A deadline is embedded in what it bounds. They hang in a pairing heap, linked through themselves,
 * so that setting one cannot fail and needs no memory. Times are uv_hrtime() nanoseconds.
 *
 * The timer is armed lazily: clearing a deadline leaves it armed, and setting a later one does not
 * touch it; when it then fires with nothing due it is armed again for what is next. A request that
 * is answered in time costs two heap operations and no timer call. By itself the timer does not
 * keep the loop alive; its owner says when it shall (s3l_deadlines_ref). */
#ifndef S3L_NET_DEADLINES_H
#define S3L_NET_DEADLINES_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "loop/loop.h"

typedef struct s3l_deadlines_s s3l_deadlines_t;

struct s3l_deadlines_s {
  uv_timer_t timer;
  s3l_deadline_t* root;
  int64_t armed_ns; /* what the timer is armed for; INT64_MAX: not armed */
  void (*close_cb)(s3l_deadlines_t* q);
};

/** `ms` from now. */
uint64_t s3l_deadline_in(uint64_t ms);

int s3l_deadlines_init(s3l_deadlines_t* q, uv_loop_t* loop);

/** Sets a deadline, or moves it. Its callback runs once, from the loop, at that time or after. */
void s3l_deadlines_set(s3l_deadlines_t* q, s3l_deadline_t* d, uint64_t at_ns);

/** No-op on one that is not set. */
void s3l_deadlines_clear(s3l_deadlines_t* q, s3l_deadline_t* d);

/** Whether an armed timer keeps the loop alive. */
void s3l_deadlines_ref(s3l_deadlines_t* q, bool keep_alive);

/** Closes the timer; deadlines still set are forgotten. */
void s3l_deadlines_close(s3l_deadlines_t* q, void (*cb)(s3l_deadlines_t* q));

#endif
