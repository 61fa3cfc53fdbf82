/* loop/deadlines.c: see deadlines.h. */
#include "loop/deadlines.h"

#include <stddef.h>

#include "util/assert.h"
#include "util/list.h"

#define NS_PER_MS 1000000u

uint64_t s3l_deadline_in(uint64_t ms) {
  return uv_hrtime() + ms * NS_PER_MS;
}

void s3l_deadline_init(s3l_deadline_t* d, void (*cb)(s3l_deadline_t* d)) {
  *d = (s3l_deadline_t){.cb = cb};
}

/* Two roots become one: the later becomes the first child of the earlier. */
static s3l_deadline_t* meld(s3l_deadline_t* a, s3l_deadline_t* b) {
  if (a == NULL)
    return b;
  if (b == NULL)
    return a;
  if (b->at_ns < a->at_ns) {
    s3l_deadline_t* t = a;
    a = b;
    b = t;
  }
  b->prev = a;
  b->next = a->child;
  if (a->child != NULL)
    a->child->prev = b;
  a->child = b;
  return a;
}

/* The children of a removed node become one tree: melded in pairs from the left, the pairs then
 * from the right. This is what makes removal logarithmic over time. */
static s3l_deadline_t* meld_siblings(s3l_deadline_t* first) {
  s3l_deadline_t* pairs = NULL; /* a stack, linked through next */
  while (first != NULL) {
    s3l_deadline_t* a = first;
    s3l_deadline_t* b = a->next;
    first = b != NULL ? b->next : NULL;
    a->next = a->prev = NULL;
    if (b != NULL)
      b->next = b->prev = NULL;
    a = meld(a, b);
    a->next = pairs;
    pairs = a;
  }
  s3l_deadline_t* root = NULL;
  while (pairs != NULL) {
    s3l_deadline_t* a = pairs;
    pairs = a->next;
    a->next = NULL;
    root = meld(root, a);
  }
  return root;
}

static void unlink_from_heap(s3l_deadlines_t* q, s3l_deadline_t* d) {
  s3l_deadline_t* below = meld_siblings(d->child);
  if (q->root == d) {
    q->root = below;
  } else {
    if (d->prev->child == d)
      d->prev->child = d->next;
    else
      d->prev->next = d->next;
    if (d->next != NULL)
      d->next->prev = d->prev;
    q->root = meld(q->root, below);
  }
  d->child = d->next = d->prev = NULL;
  d->set = false;
}

static void on_timer(uv_timer_t* timer);

static void arm(s3l_deadlines_t* q) {
  if (q->root == NULL || q->root->at_ns >= q->armed_ns)
    return;
  uint64_t now = uv_hrtime();
  uint64_t wait = q->root->at_ns > now ? q->root->at_ns - now : 0;
  /* The loop's own clock may lag behind: then this fires early and is armed again. */
  int rc = uv_timer_start(&q->timer, on_timer, (wait + NS_PER_MS - 1) / NS_PER_MS, 0);
  S3L_ASSERT(rc == 0 || uv_is_closing((uv_handle_t*)&q->timer));
  (void)rc;
  q->armed_ns = q->root->at_ns;
}

static void on_timer(uv_timer_t* timer) {
  s3l_deadlines_t* q = S3L_CONTAINER_OF(timer, s3l_deadlines_t, timer);
  uint64_t now = uv_hrtime();
  while (q->root != NULL && q->root->at_ns <= now) {
    s3l_deadline_t* d = q->root;
    unlink_from_heap(q, d);
    d->cb(d);
    if (uv_is_closing((uv_handle_t*)timer))
      return;
  }
  q->armed_ns = UINT64_MAX;
  arm(q);
}

int s3l_deadlines_init(s3l_deadlines_t* q, uv_loop_t* loop) {
  q->root = NULL;
  q->armed_ns = UINT64_MAX;
  q->close_cb = NULL;
  int rc = uv_timer_init(loop, &q->timer);
  if (rc == 0)
    uv_unref((uv_handle_t*)&q->timer);
  return rc;
}

void s3l_deadlines_set(s3l_deadlines_t* q, s3l_deadline_t* d, uint64_t at_ns) {
  if (d->set)
    unlink_from_heap(q, d);
  d->at_ns = at_ns;
  d->set = true;
  q->root = meld(q->root, d);
  arm(q);
}

void s3l_deadlines_clear(s3l_deadlines_t* q, s3l_deadline_t* d) {
  if (d->set)
    unlink_from_heap(q, d);
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
