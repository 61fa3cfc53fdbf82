#include "loop/loop.h"

#include <unistd.h>
#include <uv.h>

#include "loop/suspend.h"
#include "util/assert.h"
#include "util/mem.h"
#include "util/mutant.h"

#define SLOT_BITS 25 /* a slot is 2^25 ns long: 34 ms */
#define SLOTS     512

struct s3l_loop_s {
  s3l_list_t link; /* in `runtimes` */
  uv_loop_t* uv;
  unsigned users;
  unsigned handles; /* of libuv, that are not closed yet */

  s3l_heap_node_t* root; /* the earliest of the deadlines that are near */
  int64_t slot;          /* the first that is far */
  unsigned holds;        /* deadlines that are set and keep the loop alive */
  int64_t armed_ns;      /* what the timer is armed for; S3L_CLOCK_NEVER: not armed */
  int64_t look_ns;       /* the time by which deadlines run now; 0: none runs */
  uint64_t sleep_max_ms;
  uv_timer_t timer; /* referenced while there are holds */

  s3l_list_t tasks; /* deferred */
  s3l_list_t round; /* those of them that run in this turn */
  uv_idle_t idle;   /* active while there are tasks: the loop does not wait for I/O */

  int suspend_fd; /* or -1 */
  uv_poll_t suspend;

  s3l_heap_node_t* far[SLOTS]; /* the earliest of each slot, at its number modulo SLOTS */
};

/* The runtimes of all loops; loops may belong to different threads. */
static uv_once_t once = UV_ONCE_INIT;
static uv_mutex_t lock;
static s3l_list_t runtimes;

static void init_once(void) {
  s3l_list_init(&runtimes);
  int r = uv_mutex_init(&lock);
  S3L_ASSERT(r == 0);
  (void)r;
}

static s3l_loop_t* find(const uv_loop_t* uv) {
  s3l_loop_t* found = NULL;
  uv_once(&once, init_once);
  uv_mutex_lock(&lock);
  for (s3l_list_t* at = runtimes.next; at != &runtimes && found == NULL; at = at->next) {
    s3l_loop_t* l = S3L_CONTAINER_OF(at, s3l_loop_t, link);
    if (l->uv == uv)
      found = l;
  }
  uv_mutex_unlock(&lock);
  return found;
}

bool s3l_loop_set_speed(uint32_t speed) {
  uv_once(&once, init_once);
  uv_mutex_lock(&lock);
  bool unused = s3l_list_empty(&runtimes);
  if (unused)
    s3l_clock_set_speed(speed);
  uv_mutex_unlock(&lock);
  return unused;
}

/* ---- tasks ---- */

void s3l_task_init(s3l_task_t* task, void (*cb)(s3l_task_t* task)) {
  task->cb = cb;
  s3l_list_init(&task->link);
}

bool s3l_task_is_pending(const s3l_task_t* task) {
  return !s3l_list_empty(&task->link);
}

void s3l_task_cancel(s3l_task_t* task) {
  s3l_list_remove(&task->link);
}

static void run_all(s3l_list_t* tasks) {
  while (!s3l_list_empty(tasks)) {
    s3l_task_t* task = S3L_CONTAINER_OF(tasks->next, s3l_task_t, link);
    s3l_list_remove(&task->link);
    task->cb(task);
  }
}

static void on_idle(uv_idle_t* idle) {
  s3l_loop_t* l = S3L_CONTAINER_OF(idle, s3l_loop_t, idle);
  s3l_list_move(&l->tasks, &l->round);
  run_all(&l->round);
  if (s3l_list_empty(&l->tasks))
    (void)uv_idle_stop(idle);
}

void s3l_loop_defer(s3l_loop_t* l, s3l_task_t* task) {
  S3L_ASSERT(l->users > 0);
  if (s3l_task_is_pending(task))
    return;
  s3l_list_push_back(&l->tasks, &task->link);
  (void)uv_idle_start(&l->idle, on_idle); /* fails without a callback only */
}

/* ---- deadlines ---- */

static void on_timer(uv_timer_t* timer);

/* A slot's number is its time. */
static int64_t slot_of(int64_t ns) {
  return ns >> SLOT_BITS;
}

/* Where a deadline is. What was later than all slots when it was set is among the near ones. */
static s3l_heap_node_t** root_of(s3l_loop_t* l, const s3l_deadline_t* d) {
  int64_t slot = slot_of(d->node.at_ns);
  return d->far && slot >= l->slot ? &l->far[slot % SLOTS] : &l->root;
}

/* What is in the slots until now becomes near. */
static void advance(s3l_loop_t* l, int64_t now_ns) {
  int64_t slot = slot_of(now_ns) + 1;
  for (int i = 0; i < SLOTS && l->slot < slot; i++, l->slot++) {
    l->root = s3l_heap_meld(l->root, l->far[l->slot % SLOTS]);
    l->far[l->slot % SLOTS] = NULL;
  }
  l->slot = l->slot < slot ? slot : l->slot;
}

static int64_t earliest_ns(const s3l_loop_t* l) {
  int64_t at_ns = l->root != NULL ? l->root->at_ns : S3L_CLOCK_NEVER;
  const s3l_heap_node_t* far = NULL;
  for (int i = 0; i < SLOTS && far == NULL; i++)
    far = l->far[(l->slot + i) % SLOTS];
  return far != NULL && far->at_ns < at_ns ? far->at_ns : at_ns;
}

static void arm(s3l_loop_t* l, int64_t at_ns, uint64_t least_ms) {
  if (at_ns >= l->armed_ns)
    return;
  uint64_t ms = s3l_clock_sleep_ms(at_ns - s3l_clock_lease_ns());
  if (S3L_MUTANT(SLEEPS_ALL))
    ms = ms * 10 / 9;
  ms = s3l_clock_timer_ms(ms > l->sleep_max_ms ? l->sleep_max_ms : ms);
  /* The loop's own clock may lag behind: then the timer fires early, and is armed again. */
  (void)uv_timer_start(&l->timer, on_timer, ms < least_ms ? least_ms : ms, 0);
  l->armed_ns = at_ns;
}

/* Runs what is due. Afterwards the timer sleeps for 1 ms at least: in some versions of libuv a
 * timer that is armed with 0 from its own callback fires again before any I/O. */
static void look(s3l_loop_t* l) {
  l->look_ns = s3l_clock_lease_ns();
  advance(l, l->look_ns);
  while (l->root != NULL && l->root->at_ns <= l->look_ns) {
    s3l_deadline_t* d = S3L_CONTAINER_OF(l->root, s3l_deadline_t, node);
    s3l_loop_deadline_clear(l, d);
    d->cb(d);
  }
  l->look_ns = 0;
  l->armed_ns = S3L_CLOCK_NEVER;
  arm(l, earliest_ns(l), 1);
}

static void on_timer(uv_timer_t* timer) {
  look(S3L_CONTAINER_OF(timer, s3l_loop_t, timer));
}

static void hold(s3l_loop_t* l) {
  if (l->holds++ == 0)
    uv_ref((uv_handle_t*)&l->timer);
}

static void unhold(s3l_loop_t* l) {
  if (--l->holds == 0)
    uv_unref((uv_handle_t*)&l->timer);
}

void s3l_deadline_init(s3l_deadline_t* d, void (*cb)(s3l_deadline_t* deadline)) {
  *d = (s3l_deadline_t){.cb = cb};
}

void s3l_loop_deadline_clear(s3l_loop_t* l, s3l_deadline_t* d) {
  if (!d->set)
    return;
  s3l_heap_node_t** root = root_of(l, d);
  *root = s3l_heap_node_remove(*root, &d->node);
  d->set = false;
  if (!d->background)
    unhold(l);
}

void s3l_loop_deadline_set(s3l_loop_t* l, s3l_deadline_t* d, int64_t at_ns) {
  S3L_ASSERT(l->users > 0);
  s3l_loop_deadline_clear(l, d);
  if (at_ns == S3L_CLOCK_NEVER)
    return;
  d->node.at_ns = at_ns > l->look_ns ? at_ns : l->look_ns + 1; /* not in the look of now */
  d->set = true;
  d->far = slot_of(d->node.at_ns) < l->slot + SLOTS;
  s3l_heap_node_t** root = root_of(l, d);
  *root = s3l_heap_node_add(*root, &d->node);
  if (!d->background)
    hold(l);
  if (l->look_ns == 0)
    arm(l, d->node.at_ns, 0);
}

void s3l_loop_deadline_ref(s3l_loop_t* l, s3l_deadline_t* d, bool keep_alive) {
  bool held = d->set && !d->background;
  d->background = !keep_alive;
  if (d->set && keep_alive && !held)
    hold(l);
  else if (held && !keep_alive)
    unhold(l);
}

/* ---- suspension ---- */

/* Not before the handle that polls the descriptor is closed: closing frees its number. */
static void close_suspend_fd(s3l_loop_t* l) {
  if (l->suspend_fd >= 0)
    (void)close(l->suspend_fd);
  l->suspend_fd = -1;
}

static void on_resumed(uv_poll_t* poll, int status, int events) {
  s3l_loop_t* l = S3L_CONTAINER_OF(poll, s3l_loop_t, suspend);
  (void)events;
  if (status != 0 || !s3l_suspend_read(l->suspend_fd)) {
    (void)uv_poll_stop(poll);
    l->sleep_max_ms = S3L_SUSPEND_TICK_MS;
  }
  look(l);
}

static void watch_suspend(s3l_loop_t* l) {
  l->sleep_max_ms = UINT64_MAX;
  if (S3L_MUTANT(SUSPENSION_MISSED)) {
    l->suspend_fd = -1;
    return;
  }
  l->suspend_fd = s3l_suspend_open();
  bool polled = l->suspend_fd >= 0 && uv_poll_init(l->uv, &l->suspend, l->suspend_fd) == 0;
  if (polled) {
    l->handles++;
    uv_unref((uv_handle_t*)&l->suspend);
  } else {
    close_suspend_fd(l);
  }
  if (!polled || uv_poll_start(&l->suspend, UV_READABLE, on_resumed) != 0)
    l->sleep_max_ms = S3L_SUSPEND_TICK_MS;
}

/* ---- users ---- */

static s3l_loop_t* create(uv_loop_t* uv) {
  s3l_loop_t* l = s3l_calloc(1, sizeof *l);
  if (l == NULL)
    return NULL;
  l->uv = uv;
  l->armed_ns = S3L_CLOCK_NEVER;
  advance(l, s3l_clock_lease_ns());
  s3l_list_init(&l->tasks);
  s3l_list_init(&l->round);
  /* Neither can fail: they only enter the handle into the loop. */
  int r = uv_timer_init(uv, &l->timer);
  S3L_ASSERT(r == 0);
  r = uv_idle_init(uv, &l->idle);
  S3L_ASSERT(r == 0);
  (void)r;
  uv_unref((uv_handle_t*)&l->timer);
  l->handles = 2;
  watch_suspend(l);
  uv_mutex_lock(&lock);
  s3l_list_push_back(&runtimes, &l->link);
  uv_mutex_unlock(&lock);
  return l;
}

int s3l_loop_join(uv_loop_t* uv, s3l_loop_t** out) {
  s3l_loop_t* l = find(uv);
  if (l == NULL)
    l = create(uv);
  if (l == NULL)
    return UV_ENOMEM;
  l->users++;
  *out = l;
  return 0;
}

static void handle_closed(s3l_loop_t* l) {
  s3l_list_t tasks;
  if (--l->handles > 0)
    return;
  s3l_list_move(&l->tasks, &tasks);
  s3l_free(l);
  run_all(&tasks);
}

static void on_timer_closed(uv_handle_t* handle) {
  handle_closed(S3L_CONTAINER_OF(handle, s3l_loop_t, timer));
}

static void on_idle_closed(uv_handle_t* handle) {
  handle_closed(S3L_CONTAINER_OF(handle, s3l_loop_t, idle));
}

static void on_suspend_closed(uv_handle_t* handle) {
  handle_closed(S3L_CONTAINER_OF(handle, s3l_loop_t, suspend));
}

/* A user that joins from now on gets another runtime. */
static void end(s3l_loop_t* l) {
  S3L_ASSERT(earliest_ns(l) == S3L_CLOCK_NEVER);
  uv_mutex_lock(&lock);
  s3l_list_remove(&l->link);
  uv_mutex_unlock(&lock);
  if (l->handles > 2)
    uv_close((uv_handle_t*)&l->suspend, on_suspend_closed);
  close_suspend_fd(l);
  uv_close((uv_handle_t*)&l->timer, on_timer_closed);
  uv_close((uv_handle_t*)&l->idle, on_idle_closed);
}

void s3l_loop_leave(s3l_loop_t* l, s3l_task_t* task) {
  S3L_ASSERT(task == NULL || !s3l_task_is_pending(task));
  if (task != NULL)
    s3l_loop_defer(l, task);
  if (--l->users == 0)
    end(l);
}

uv_loop_t* s3l_loop_uv(const s3l_loop_t* l) {
  return l->uv;
}

int s3l_loop_random(void* out, size_t len) {
  return uv_random(NULL, NULL, out, len, 0, NULL);
}

void s3l_loop_seed(s3l_prng_t* prng) {
  uint64_t seed;
  if (s3l_loop_random(&seed, sizeof seed) != 0)
    seed = (uint64_t)s3l_clock_lease_ns();
  s3l_prng_seed(prng, seed);
}
