/* A suspension of the machine: CLOCK_BOOTTIME goes on, CLOCK_MONOTONIC, by which loops count, does
 * not (lib/clocks.h). What the kernel would tell of a resume is this program's own, too: the
 * functions of the C library that the executor calls for it are defined here. Plays the store
 * itself (lib/script_store.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/test.h"

#ifdef __linux__

#  include <sys/eventfd.h>
#  include <sys/socket.h>
#  include <sys/syscall.h>
#  include <sys/timerfd.h>
#  include <unistd.h>

#  include "lib/clocks.h"
#  include "lib/protocol.h"
#  include "lib/script_store.h"
#  include "lib/wait.h"
#  include "s3lect.h"

/* A leader timeout that no test waits for: what comes, comes because of the resume. */
#  define T_MS     600000
#  define SLEPT_NS (INT64_C(700000) * 1000000)

static struct {
  enum { KERNEL, OURS, NONE, NOT_POLLABLE, BROKEN } kind;
  unsigned created;
  int fd;
  int clock, flags, result; /* what was asked of the kernel, and its answer */
} timer;

int timerfd_create(clockid_t id, int flags) {
  timer.created++;
  timer.clock = (int)id;
  switch (timer.kind) {
  case KERNEL:
    timer.fd = (int)syscall(SYS_timerfd_create, id, flags);
    break;
  case OURS:
    timer.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    break;
  case NONE:
    errno = EMFILE;
    timer.fd = -1;
    break;
  case NOT_POLLABLE:
    timer.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    break;
  case BROKEN: /* there is always something, which cannot be read */
    timer.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    break;
  }
  return timer.fd;
}

int timerfd_settime(int fd, int flags, const struct itimerspec* new, struct itimerspec* old) {
  timer.flags = flags;
  if (timer.kind == KERNEL)
    timer.result = (int)syscall(SYS_timerfd_settime, fd, flags, new, old);
  return timer.result;
}

typedef struct candidate_s {
  s3lect_elector_t e;
  s3l_script_store_t store;
  unsigned started, stopped, closed;
  int reason;
} candidate_t;

typedef struct rig_s {
  uv_loop_t loop;
  candidate_t a, b;
} rig_t;

static void on_started(s3lect_elector_t* e, const s3lect_event_t* ev) {
  ((candidate_t*)e->data)->started++;
}

static void on_stopped(s3lect_elector_t* e, const s3lect_event_t* ev) {
  candidate_t* c = e->data;
  c->reason = ev->reason;
  c->stopped++;
}

static void on_closed(s3lect_elector_t* e) {
  ((candidate_t*)e->data)->closed++;
}

static int setup(void** state) {
  static rig_t rig;
  memset(&rig, 0, sizeof rig);
  memset(&timer, 0, sizeof timer);
  timer.fd = -1;
  assert_int_equal(uv_loop_init(&rig.loop), 0);
  *state = &rig;
  return 0;
}

static void begin(rig_t* rig, candidate_t* c) {
  s3l_script_store_init(&rig->loop, &c->store);
  s3lect_elector_options_t o = s3l_script_store_options(&c->store);
  o.leader_timeout_ms = T_MS;
  o.renew_interval_ms = o.frequent_interval_ms = o.infrequent_interval_ms = T_MS / 3;
  o.on_started_leading = on_started;
  o.on_stopped_leading = on_stopped;
  c->e.data = c;
  assert_int_equal(s3lect_elector_init(&rig->loop, &c->e, &o, NULL), 0);
  assert_int_equal(s3lect_elector_start(&c->e), 0);
  s3l_script_store_expect(&c->store, false);
}

static void lead(candidate_t* c) {
  s3lect_record_t r = s3l_script_store_released();
  s3l_wait_pace(S3L_PACE_TIMERS);
  s3l_script_store_expect(&c->store, false); /* the first one may have been given up meanwhile */
  s3l_script_store_show(&c->store, &r, "\"e1\"");
  s3l_script_store_expect(&c->store, true);
  s3l_script_store_answer(&c->store, 0, S3LECT_SETTLED, "\"e2\"");
  assert_int_equal(c->started, 1);
  s3l_wait_pace(S3L_PACE_REAL); /* what comes from now on, comes because of the resume */
}

static void suspend(void) {
  const uint64_t once = 1;
  s3l_clocks_suspend(SLEPT_NS);
  if (timer.kind == OURS)
    assert_int_equal(write(timer.fd, &once, sizeof once), sizeof once);
}

static bool is_open(int fd) {
  return fcntl(fd, F_GETFD) != -1;
}

static void close_candidate(rig_t* rig, candidate_t* c) {
  s3l_wait_pace(S3L_PACE_TIMERS); /* the release is not answered */
  assert_int_equal(s3lect_elector_close(&c->e, on_closed), 0);
  s3l_wait_count(&rig->loop, &c->closed, 1, "the close callback");
  s3lect_store_close(&c->store.store, NULL);
}

static void check_told_of_the_end(rig_t* rig) {
  begin(rig, &rig->a);
  lead(&rig->a);
  suspend();
  assert_int_equal(s3lect_elector_is_leader(&rig->a.e), 0); /* at once, whatever the loop does */
  s3l_wait_count(&rig->loop, &rig->a.stopped, 1, "the end of leadership");
  assert_int_equal(rig->a.reason, S3LECT_REASON_EXPIRED);
  close_candidate(rig, &rig->a);
  s3l_wait_loop_end(&rig->loop);
  assert_false(is_open(timer.fd));
}

static void test_leader(void** state) {
  timer.kind = OURS;
  check_told_of_the_end(*state);
}

static void test_leader_without_a_descriptor(void** state) {
  timer.kind = NONE;
  check_told_of_the_end(*state);
}

static void test_leader_with_one_that_cannot_be_polled(void** state) {
  timer.kind = NOT_POLLABLE;
  check_told_of_the_end(*state);
}

static void test_leader_with_one_that_breaks(void** state) {
  timer.kind = BROKEN;
  check_told_of_the_end(*state);
}

/* What a follower waits for has come meanwhile, too. With epoch files it has not, as a file may
 * have come and gone: it looks. */
static void test_follower(void** state) {
  rig_t* rig = *state;
  s3lect_record_t r = s3l_script_store_released();
  r.released = 0;
  timer.kind = OURS;
  begin(rig, &rig->a);
  s3l_script_store_show(&rig->a.store, &r, "\"e1\"");
  s3l_wait_pace(S3L_PACE_REAL);
  suspend();
  s3l_script_store_expect(&rig->a.store, !s3l_test_epochs()); /* the take-over */
  close_candidate(rig, &rig->a);
  s3l_wait_loop_end(&rig->loop);
}

static void test_what_is_asked_of_the_kernel(void** state) {
  rig_t* rig = *state;
  timer.kind = KERNEL;
  begin(rig, &rig->a);
  assert_int_equal(timer.created, 1);
  assert_int_equal(timer.clock, CLOCK_REALTIME);
  assert_int_equal(timer.flags, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET);
  assert_int_equal(timer.result, 0);
  assert_true((fcntl(timer.fd, F_GETFD) & FD_CLOEXEC) != 0);
  lead(&rig->a);
  close_candidate(rig, &rig->a);
  assert_false(is_open(timer.fd));
  s3l_wait_loop_end(&rig->loop);
}

static void test_one_for_a_loop(void** state) {
  rig_t* rig = *state;
  static rig_t beside;
  memset(&beside, 0, sizeof beside);
  assert_int_equal(uv_loop_init(&beside.loop), 0);
  timer.kind = OURS;
  begin(&beside, &beside.a);
  assert_int_equal(timer.created, 1);
  int fd = timer.fd;
  begin(rig, &rig->a);
  begin(rig, &rig->b);
  assert_int_equal(timer.created, 2);
  lead(&rig->a);
  lead(&rig->b);
  close_candidate(rig, &rig->a);
  assert_true(is_open(timer.fd));
  suspend();
  s3l_wait_count(&rig->loop, &rig->b.stopped, 1, "the end of the other's leadership");
  close_candidate(rig, &rig->b);
  assert_false(is_open(timer.fd));
  assert_true(is_open(fd));
  close_candidate(&beside, &beside.a);
  assert_false(is_open(fd));
  s3l_wait_loop_end(&rig->loop);
  s3l_wait_loop_end(&beside.loop);
}

/* It does not keep the loop alive where the electors do not. */
static void test_loop_may_end(void** state) {
  rig_t* rig = *state;
  timer.kind = KERNEL;
  begin(rig, &rig->a);
  lead(&rig->a);
  s3lect_elector_unref(&rig->a.e);
  assert_int_equal(uv_run(&rig->loop, UV_RUN_DEFAULT), 0);
  s3lect_elector_ref(&rig->a.e);
  close_candidate(rig, &rig->a);
  s3l_wait_loop_end(&rig->loop);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_leader, setup),
      cmocka_unit_test_setup(test_leader_without_a_descriptor, setup),
      cmocka_unit_test_setup(test_leader_with_one_that_cannot_be_polled, setup),
      cmocka_unit_test_setup(test_leader_with_one_that_breaks, setup),
      cmocka_unit_test_setup(test_follower, setup),
      cmocka_unit_test_setup(test_what_is_asked_of_the_kernel, setup),
      cmocka_unit_test_setup(test_one_for_a_loop, setup),
      cmocka_unit_test_setup(test_loop_may_end, setup),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) {
  printf("skipped: only Linux has a clock that counts suspension beside one that does not\n");
  return 77;
}

#endif
