/* loop/deadlines.c: see deadlines.h. */
#include "loop/deadlines.h"

#include <stddef.h>

#include "util/assert.h"
#include "util/list.h"

#define NS_PER_MS 1000000u

uint64_t s3l_deadline_in(uint64_t ms) {
  return uv_hrtime() + ms * NS_PER_MS;
}

static void on_timer(uv_timer_t* timer);

static void arm(s3l_deadlines_t* q) {
  if (q->root == NULL || q->root->at_ns >= q->armed_ns)
    return;
  int64_t now = (int64_t)uv_hrtime();
  uint64_t wait = q->root->at_ns > now ? (uint64_t)(q->root->at_ns - now) : 0;
  /* The loop's own clock may lag behind: then this fires early and is armed again. */
  int rc = uv_timer_start(&q->timer, on_timer, (wait + NS_PER_MS - 1) / NS_PER_MS, 0);
  S3L_ASSERT(rc == 0 || uv_is_closing((uv_handle_t*)&q->timer));
  (void)rc;
  q->armed_ns = q->root->at_ns;
}

static void on_timer(uv_timer_t* timer) {
  s3l_deadlines_t* q = S3L_CONTAINER_OF(timer, s3l_deadlines_t, timer);
  int64_t now = (int64_t)uv_hrtime();
  while (q->root != NULL && q->root->at_ns <= now) {
    s3l_deadline_t* d = q->root;
    q->root = s3l_deadline_heap_remove(q->root, d);
    d->cb(d);
    if (uv_is_closing((uv_handle_t*)timer))
      return;
  }
  q->armed_ns = INT64_MAX;
  arm(q);
}

int s3l_deadlines_init(s3l_deadlines_t* q, uv_loop_t* loop) {
  q->root = NULL;
  q->armed_ns = INT64_MAX;
  q->close_cb = NULL;
  int rc = uv_timer_init(loop, &q->timer);
  if (rc == 0)
    uv_unref((uv_handle_t*)&q->timer);
  return rc;
}

void s3l_deadlines_set(s3l_deadlines_t* q, s3l_deadline_t* d, uint64_t at_ns) {
  if (d->set)
    q->root = s3l_deadline_heap_remove(q->root, d);
  d->at_ns = (int64_t)at_ns;
  q->root = s3l_deadline_heap_add(q->root, d);
  arm(q);
}

void s3l_deadlines_clear(s3l_deadlines_t* q, s3l_deadline_t* d) {
  if (d->set)
    q->root = s3l_deadline_heap_remove(q->root, d);
}

void s3l_deadlines_ref(s3l_deadlines_t* q, bool keep_alive) {
  if (keep_alive)
    uv_ref((uv_handle_t*)&q->timer);
  else
    uv_unref((uv_handle_t*)&q->timer);
}

static void on_closed(uv_handle_t* handle) {
  s3l_deadlines_t* q = S3L_CONTAINER_OF(handle, s3l_deadlines_t, timer);
  if (q->close_cb != NULL)
    q->close_cb(q);
}

void s3l_deadlines_close(s3l_deadlines_t* q, void (*cb)(s3l_deadlines_t* q)) {
  q->close_cb = cb;
  uv_close((uv_handle_t*)&q->timer, on_closed);
}
