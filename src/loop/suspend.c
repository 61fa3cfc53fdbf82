#include "loop/suspend.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#  include <sys/timerfd.h>
#endif

#include "loop/clock.h"
#include "util/assert.h"
#include "util/mem.h"

#define TICK_MS 250
/* Less is no suspension, but the clocks' grain. */
#define SUSPENDED_NS INT64_C(2000000)

typedef struct watch_s {
  s3l_list_t link; /* in `watches` */
  s3l_list_t members;
  uv_loop_t* loop;
  void (*resumed)(s3l_list_t* member);
  int fd; /* -1: none */
  uv_poll_t poll;
  uv_timer_t ticker;
  int64_t suspended; /* s3l_clock_suspended_ns, at the last tick */
  unsigned handles;
} watch_t;

/* The watches of all loops; loops may belong to different threads. */
static uv_once_t once = UV_ONCE_INIT;
static uv_mutex_t lock;
static s3l_list_t watches;

static void init_once(void) {
  s3l_list_init(&watches);
  int r = uv_mutex_init(&lock);
  S3L_ASSERT(r == 0);
  (void)r;
}

static watch_t* find(const uv_loop_t* loop) {
  watch_t* found = NULL;
  uv_once(&once, init_once);
  uv_mutex_lock(&lock);
  for (s3l_list_t* l = watches.next; l != &watches && found == NULL; l = l->next) {
    watch_t* w = S3L_CONTAINER_OF(l, watch_t, link);
    if (w->loop == loop)
      found = w;
  }
  uv_mutex_unlock(&lock);
  return found;
}

static void tell(watch_t* w) {
  for (s3l_list_t* l = w->members.next; l != &w->members; l = l->next)
    w->resumed(l);
}

static void on_tick(uv_timer_t* ticker) {
  watch_t* w = ticker->data;
  int64_t before = w->suspended;
  w->suspended = s3l_clock_suspended_ns();
  if (w->suspended - before >= SUSPENDED_NS)
    tell(w);
}

static void start_ticking(watch_t* w) {
  w->suspended = s3l_clock_suspended_ns();
  (void)uv_timer_start(&w->ticker, on_tick, TICK_MS, TICK_MS);
}

/* A timer that never comes, but is cancelled when the clock is set. */
static int open_timer(void) {
#ifdef TFD_TIMER_CANCEL_ON_SET
  const struct itimerspec never = {
      .it_value.tv_sec = sizeof(time_t) > sizeof(int32_t) ? (time_t)INT64_MAX : (time_t)INT32_MAX};
  int fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  if (fd < 0)
    return -1;
  if (timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) == 0)
    return fd;
  (void)close(fd);
#endif
  return -1;
}

/* Not before the handle that polls it is closed, too: that takes back its number. */
static void close_timer(watch_t* w) {
  if (w->fd >= 0)
    (void)close(w->fd);
  w->fd = -1;
}

static void on_cancelled(uv_poll_t* poll, int status, int events) {
  watch_t* w = poll->data;
  uint64_t times;
  (void)events;
  ssize_t n = status == 0 ? read(w->fd, &times, sizeof times) : -1;
  if (status != 0 || (n < 0 && errno != ECANCELED && errno != EAGAIN && errno != EINTR)) {
    (void)uv_poll_stop(poll); /* it would be readable for ever */
    start_ticking(w);
  }
  tell(w);
}

static void start(watch_t* w) {
  w->fd = open_timer();
  if (w->fd >= 0 && uv_poll_init(w->loop, &w->poll, w->fd) == 0) {
    w->handles++;
    w->poll.data = w;
    uv_unref((uv_handle_t*)&w->poll);
    if (uv_poll_start(&w->poll, UV_READABLE, on_cancelled) != 0)
      start_ticking(w);
    return;
  }
  close_timer(w);
  start_ticking(w);
}

static watch_t* create(uv_loop_t* loop, void (*resumed)(s3l_list_t*)) {
  watch_t* w = s3l_calloc(1, sizeof *w);
  if (w == NULL || uv_timer_init(loop, &w->ticker) != 0) {
    s3l_free(w);
    return NULL;
  }
  w->handles = 1;
  w->ticker.data = w;
  uv_unref((uv_handle_t*)&w->ticker);
  w->loop = loop;
  w->resumed = resumed;
  s3l_list_init(&w->members);
  start(w);
  uv_mutex_lock(&lock);
  s3l_list_push_back(&watches, &w->link);
  uv_mutex_unlock(&lock);
  return w;
}

static void on_closed(uv_handle_t* handle) {
  watch_t* w = handle->data;
  if (--w->handles == 0)
    s3l_free(w);
}

static void end(watch_t* w) {
  uv_mutex_lock(&lock);
  s3l_list_remove(&w->link);
  uv_mutex_unlock(&lock);
  if (w->handles > 1)
    uv_close((uv_handle_t*)&w->poll, on_closed);
  uv_close((uv_handle_t*)&w->ticker, on_closed);
  close_timer(w);
}

int s3l_suspend_watch(uv_loop_t* loop, s3l_list_t* member, void (*resumed)(s3l_list_t*)) {
  watch_t* w = find(loop);
  if (w == NULL)
    w = create(loop, resumed);
  if (w == NULL)
    return UV_ENOMEM;
  S3L_ASSERT(w->resumed == resumed);
  s3l_list_push_back(&w->members, member);
  return 0;
}

void s3l_suspend_unwatch(uv_loop_t* loop, s3l_list_t* member) {
  watch_t* w = find(loop);
  S3L_ASSERT(w != NULL);
  s3l_list_remove(member);
  if (s3l_list_empty(&w->members))
    end(w);
}
