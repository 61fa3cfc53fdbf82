/* world/uv.c: the part of libuv that src/loop, src/net and the fake S3 use, over the simulated
 * kernel. It behaves as libuv 1.44 on Linux does: the order of a turn (timers, idle, I/O, closing),
 * callbacks never inside calls, level-triggered polling, UV_ECANCELED at close. What libuv computes
 * only (names of errors, addresses as text) is taken from libuv itself. */
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "sim/rnd.h"
#include "world/handles.h"
#include "world/names.h"

static void* must(void* p) {
  if (p == NULL)
    abort();
  return p;
}

world_host_t* world_uv_host(const void* handle) {
  return world_host_of(((const uv_handle_t*)handle)->loop);
}

void world_uv_init(uv_loop_t* loop, void* handle, uv_handle_type type) {
  uv_handle_t* h = handle;
  h->loop = loop;
  h->type = type;
  h->close_cb = NULL;
  h->flags = WORLD_REF;
  h->next_closing = NULL;
  memset(&h->u, 0, sizeof(h->u));
  s3l_list_push_back(&world_uv_host(h)->handles, WORLD_LINK(h->handle_queue));
}

void uv_ref(uv_handle_t* h) {
  h->flags |= WORLD_REF;
}

void uv_unref(uv_handle_t* h) {
  h->flags &= ~(unsigned)WORLD_REF;
}

int uv_is_active(const uv_handle_t* h) {
  return (h->flags & WORLD_ACTIVE) != 0;
}

int uv_is_closing(const uv_handle_t* h) {
  return (h->flags & WORLD_CLOSING) != 0;
}

/* ---- Time ---- */

static uint64_t timer_ms(const world_host_t* h) {
  return (uint64_t)(sim_clock_read(&h->timer, world.now) / WORLD_MS);
}

void uv_update_time(uv_loop_t* loop) {
  loop->time = timer_ms(world_host_of(loop));
}

uint64_t uv_now(const uv_loop_t* loop) {
  return loop->time;
}

uint64_t uv_hrtime(void) {
  return (uint64_t)sim_clock_read(&world.here->timer, world.now);
}

int uv_timer_init(uv_loop_t* loop, uv_timer_t* t) {
  world_uv_init(loop, t, UV_TIMER);
  s3l_list_init(WORLD_LINK(t->heap_node));
  return 0;
}

int uv_timer_stop(uv_timer_t* t) {
  t->flags &= ~(unsigned)WORLD_ACTIVE;
  s3l_list_remove(WORLD_LINK(t->heap_node));
  return 0;
}

int uv_timer_start(uv_timer_t* t, uv_timer_cb cb, uint64_t timeout, uint64_t repeat) {
  world_host_t* h = world_uv_host(t);
  if (uv_is_closing(WORLD_HANDLE(t)) || cb == NULL)
    return UV_EINVAL;
  (void)uv_timer_stop(t);
  t->timer_cb = cb;
  t->timeout = t->loop->time + timeout < timeout ? UINT64_MAX : t->loop->time + timeout;
  t->repeat = repeat;
  t->start_id = h->timer_order++;
  t->flags |= WORLD_ACTIVE;
  s3l_list_push_back(&h->timers, WORLD_LINK(t->heap_node));
  if (world.here != h)
    world_wake(h);
  return 0;
}

static uv_timer_t* first_timer(const world_host_t* h) {
  uv_timer_t* first = NULL;
  for (s3l_list_t* l = h->timers.next; l != &h->timers; l = l->next) {
    uv_timer_t* t = S3L_CONTAINER_OF(l, uv_timer_t, heap_node);
    if (first == NULL || t->timeout < first->timeout ||
        (t->timeout == first->timeout && t->start_id < first->start_id))
      first = t;
  }
  return first;
}

static void run_timers(world_host_t* h) {
  uv_timer_t* t;
  while ((t = first_timer(h)) != NULL && t->timeout <= h->loop.time) {
    (void)uv_timer_stop(t);
    if (t->repeat > 0)
      (void)uv_timer_start(t, t->timer_cb, t->repeat, t->repeat);
    t->timer_cb(t);
  }
}

/* ---- Idle ---- */

int uv_idle_init(uv_loop_t* loop, uv_idle_t* idle) {
  world_uv_init(loop, idle, UV_IDLE);
  s3l_list_init(WORLD_LINK(idle->queue));
  return 0;
}

int uv_idle_start(uv_idle_t* idle, uv_idle_cb cb) {
  if (uv_is_active(WORLD_HANDLE(idle)))
    return 0;
  idle->idle_cb = cb;
  idle->flags |= WORLD_ACTIVE;
  s3l_list_push_back(&world_uv_host(idle)->idles, WORLD_LINK(idle->queue));
  if (world.here != world_uv_host(idle))
    world_wake(world_uv_host(idle));
  return 0;
}

int uv_idle_stop(uv_idle_t* idle) {
  idle->flags &= ~(unsigned)WORLD_ACTIVE;
  s3l_list_remove(WORLD_LINK(idle->queue));
  return 0;
}

static void run_idles(world_host_t* h) {
  s3l_list_t now;
  if (s3l_list_empty(&h->idles))
    return;
  s3l_list_move(&h->idles, &now);
  while (!s3l_list_empty(&now)) {
    uv_idle_t* idle = S3L_CONTAINER_OF(now.next, uv_idle_t, queue);
    s3l_list_remove(WORLD_LINK(idle->queue));
    s3l_list_push_back(&h->idles, WORLD_LINK(idle->queue));
    idle->idle_cb(idle);
  }
}

/* ---- Look-ups and work, in the thread pool ---- */

typedef struct job_s {
  world_event_t event; /* when the pool has done it */
  s3l_list_t link;     /* in the host's done ones */
  world_host_t* host;
  uv_req_t* req;
  int status;
  bool begun; /* cannot be cancelled any more */
  uint16_t port;
  struct addrinfo* found;
  void (*finish)(struct job_s* job);
} job_t;

#define JOB(req) ((req)->reserved[0])

static void job_done(job_t* job) {
  s3l_list_push_back(&job->host->done, &job->link);
  world_wake(job->host);
}

static void on_job(world_event_t* event) {
  job_done(S3L_CONTAINER_OF(event, job_t, event));
}

static job_t* new_job(uv_loop_t* loop, uv_req_t* req, void (*finish)(job_t* job)) {
  job_t* job = must(calloc(1, sizeof(*job)));
  job->event.run = on_job;
  job->host = world_host_of(loop);
  job->req = req;
  job->finish = finish;
  job->begun = sim_chance(&job->host->random, 500);
  job->host->requests++;
  s3l_list_init(&job->link);
  JOB(req) = job;
  return job;
}

int uv_cancel(uv_req_t* req) {
  job_t* job = JOB(req);
  if (job->begun || job->event.slot == 0)
    return UV_EBUSY;
  world_event_clear(&job->event);
  job->status = req->type == UV_GETADDRINFO ? UV_EAI_CANCELED : UV_ECANCELED;
  job_done(job);
  return 0;
}

static void run_done(world_host_t* h) {
  s3l_list_t now;
  if (s3l_list_empty(&h->done))
    return;
  s3l_list_move(&h->done, &now);
  while (!s3l_list_empty(&now)) {
    job_t* job = S3L_CONTAINER_OF(now.next, job_t, link);
    s3l_list_remove(&job->link);
    h->requests--;
    job->finish(job);
    free(job);
  }
}

static void finish_look_up(job_t* job) {
  uv_getaddrinfo_t* req = (uv_getaddrinfo_t*)job->req;
  req->cb(req, job->status, job->found);
}

int uv_getaddrinfo(uv_loop_t* loop, uv_getaddrinfo_t* req, uv_getaddrinfo_cb cb, const char* node,
                   const char* service, const struct addrinfo* hints) {
  int64_t delay_ns;
  (void)hints;
  req->type = UV_GETADDRINFO;
  req->loop = loop;
  req->cb = cb;
  job_t* job = new_job(loop, (uv_req_t*)req, finish_look_up);
  job->status = world_look_up(job->host, node, (uint16_t)atoi(service), &job->found, &delay_ns);
  world_event_set(&job->event, world.now + delay_ns);
  return 0;
}

void uv_freeaddrinfo(struct addrinfo* found) {
  free(found); /* in one piece */
}

static void finish_work(job_t* job) {
  uv_work_t* req = (uv_work_t*)job->req;
  if (job->status == 0)
    req->work_cb(req);
  req->after_work_cb(req, job->status);
}

int uv_queue_work(uv_loop_t* loop, uv_work_t* req, uv_work_cb work, uv_after_work_cb after) {
  req->type = UV_WORK;
  req->loop = loop;
  req->work_cb = work;
  req->after_work_cb = after;
  job_t* job = new_job(loop, (uv_req_t*)req, finish_work);
  world_event_set(&job->event, world.now + sim_heavy(&job->host->random, WORLD_MS, 4));
  return 0;
}

/* ---- Closing ---- */

void uv_close(uv_handle_t* h, uv_close_cb cb) {
  world_host_t* host = world_uv_host(h);
  if (uv_is_closing(h))
    abort();
  h->close_cb = cb;
  if (h->type == UV_TIMER)
    (void)uv_timer_stop((uv_timer_t*)h);
  else if (h->type == UV_IDLE)
    (void)uv_idle_stop((uv_idle_t*)h);
  else if (h->type == UV_POLL)
    (void)uv_poll_stop((uv_poll_t*)h);
  else if (h->type == UV_TCP)
    world_uv_close_stream((uv_stream_t*)h);
  h->flags = (h->flags & WORLD_REF) | WORLD_CLOSING;
  s3l_list_remove(WORLD_LINK(h->handle_queue));
  s3l_list_push_back(&host->closing, WORLD_LINK(h->handle_queue));
  if (world.here != host)
    world_wake(host);
}

static void run_closing(world_host_t* h) {
  s3l_list_t now;
  if (s3l_list_empty(&h->closing))
    return;
  s3l_list_move(&h->closing, &now);
  while (!s3l_list_empty(&now)) {
    uv_handle_t* handle = S3L_CONTAINER_OF(now.next, uv_handle_t, handle_queue);
    s3l_list_remove(WORLD_LINK(handle->handle_queue));
    if (handle->type == UV_TCP)
      world_uv_end_stream((uv_stream_t*)handle);
    if (handle->close_cb != NULL)
      handle->close_cb(handle);
  }
}

/* ---- A turn ---- */

void world_uv_turn(world_host_t* h) {
  uv_update_time(&h->loop);
  run_timers(h);
  run_idles(h);
  run_done(h);
  world_uv_run_ready(h);
  run_closing(h);
}

int64_t world_uv_next(const world_host_t* h) {
  if (!s3l_list_empty(&h->idles) || !s3l_list_empty(&h->closing) || !s3l_list_empty(&h->ready) ||
      !s3l_list_empty(&h->done))
    return world.now + h->wake_ns;
  const uv_timer_t* t = first_timer(h);
  if (t == NULL || t->timeout > (uint64_t)(WORLD_NEVER / WORLD_MS) / 2)
    return WORLD_NEVER;
  return sim_clock_when(&h->timer, (int64_t)t->timeout * WORLD_MS);
}

/* ---- The rest ---- */

void uv_once(uv_once_t* guard, void (*callback)(void)) {
  static bool done; /* there is one guard in the library, and no other thread */
  (void)guard;
  if (!done)
    callback();
  done = true;
}

int uv_mutex_init(uv_mutex_t* mutex) {
  (void)mutex;
  return 0;
}

void uv_mutex_lock(uv_mutex_t* mutex) {
  (void)mutex;
}

void uv_mutex_unlock(uv_mutex_t* mutex) {
  (void)mutex;
}

int uv_random(uv_loop_t* loop, uv_random_t* req, void* buf, size_t n, unsigned flags,
              uv_random_cb cb) {
  (void)loop;
  (void)req;
  (void)flags;
  (void)cb;
  world_draw(world.here, buf, n);
  return 0;
}

/* The library starts no process in here, and reads no file. */
int uv_spawn(uv_loop_t* loop, uv_process_t* process, const uv_process_options_t* options) {
  (void)loop;
  (void)process;
  (void)options;
  return UV_ENOSYS;
}

int uv_os_homedir(char* buf, size_t* size) {
  (void)buf;
  (void)size;
  return UV_ENOENT;
}
