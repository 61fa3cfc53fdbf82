#include "child.h"

#include <errno.h>
#include <s3lect.h>
#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup.h"

#define MS          INT64_C(1000000)
#define END_POLL_MS 10

/* When to look again. */
static void look_at(cli_child_t* child, int64_t at_ns) {
  cli_alarm_set(&child->alarm, at_ns);
}

static void expect(cli_child_t* child) {
  if (!child->killing && !child->lost)
    look_at(child, child->bound_ns < child->stop_ns ? child->bound_ns : child->stop_ns);
}

/* --- reports -------------------------------------------------------------------------------- */

static void take(cli_child_t* child, const guard_report_t* report) {
  if (report->kind == GUARD_READY)
    child->guard = report->pid;
  if (report->kind == GUARD_FORKED)
    child->pid = report->pid;
  if (report->kind == GUARD_KILLING || (report->kind == GUARD_LOST && !child->lost))
    look_at(child, s3lect_now_ns() + child->remind_ns);
  child->killing = child->killing || report->kind == GUARD_KILLING;
  child->lost = child->lost || report->kind == GUARD_LOST;
  if (report->kind == GUARD_GONE) {
    child->pid = 0;
    child->running = false;
    look_at(child, CLI_ALARM_NEVER);
  }
  child->on_report(child, report);
}

/* What the command has started may have left its group. A keeper that exits by itself has ended all
 * of that; if it was killed, too, the cgroup does, where there is one. Returns 0, EBUSY while
 * processes are left, or another errno if that cannot be known. */
static int end_strays(cli_child_t* child) {
  cli_cgroup_t cgroup;
  int status = 0;
  pid_t ended = child->keeper != 0 ? waitpid(child->keeper, &status, WNOHANG) : -1;
  if (ended == 0)
    return EBUSY; /* it is about to exit: the socket has ended */
  if (ended > 0)
    child->keeper_ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  child->keeper = 0;
  if (child->keeper_ended || child->guard == 0) /* nothing was started without a guard */
    return 0;
  cli_cgroup_name(&cgroup, child->guard);
  cli_cgroup_kill(&cgroup);
  return cli_cgroup_remove(&cgroup);
}

/* Guard and keeper are gone. */
static void look_for_end(cli_child_t* child) {
  bool group_stands = child->pid > 0 && (kill(-child->pid, SIGKILL) == 0 || errno != ESRCH);
  int strays = group_stands ? EBUSY : end_strays(child);
  if (strays == EBUSY) {
    look_at(child, s3lect_now_ns() + END_POLL_MS * MS);
    return;
  }
  take(child,
       &(guard_report_t){.kind = GUARD_GONE, .cause = strays == 0 ? GUARD_DIED : GUARD_UNKNOWN});
}

/* Reads what the guard has reported. False if the socket has ended. */
static bool receive(cli_child_t* child) {
  guard_report_t report;
  while (!uv_is_closing((uv_handle_t*)&child->poll)) {
    ssize_t n = recv(child->fd, &report, sizeof report, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return true;
    if (n != (ssize_t)sizeof report)
      return false;
    take(child, &report);
  }
  return true;
}

static void on_readable(uv_poll_t* poll, int status, int events) {
  cli_child_t* child = poll->data;
  (void)events;
  if (status == 0 && receive(child))
    return;
  uv_poll_stop(&child->poll);
  child->ended = true;
  if (!child->lost)
    take(child, &(guard_report_t){.kind = GUARD_LOST});
  look_for_end(child);
}

/* --- orders --------------------------------------------------------------------------------- */

static void order(cli_child_t* child, guard_order_t message) {
  if (!child->running)
    return;
  /* If the guard takes no more orders, it acts on the last bound that it was told. */
  ssize_t sent = send(child->fd, &message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL);
  (void)sent;
}

static void set_bound(cli_child_t* child, int64_t bound_ns) {
  child->bound_ns = bound_ns + child->margin_ns / 4;
  child->overdue = 0;
  expect(child);
}

void cli_child_start(cli_child_t* child, uint64_t epoch, int64_t bound_ns, int64_t grace_ns) {
  child->running = true;
  child->killing = false;
  child->grace_ns = grace_ns;
  child->stop_ns = CLI_ALARM_NEVER;
  set_bound(child, bound_ns);
  order(child,
        (guard_order_t){
            .kind = GUARD_START, .epoch = epoch, .bound_ns = bound_ns, .grace_ns = grace_ns});
}

void cli_child_bound(cli_child_t* child, int64_t bound_ns) {
  if (child->running)
    set_bound(child, bound_ns);
  order(child, (guard_order_t){.kind = GUARD_BOUND, .bound_ns = bound_ns});
}

void cli_child_signal(cli_child_t* child, int signum) {
  order(child, (guard_order_t){.kind = GUARD_SIGNAL, .signum = signum});
}

static void expect_stop(cli_child_t* child, int64_t grace_ns) {
  int64_t at = s3lect_now_ns() + grace_ns + child->margin_ns;
  if (at < child->stop_ns)
    child->stop_ns = at;
  if (child->running)
    expect(child);
}

void cli_child_stop(cli_child_t* child, int signum) {
  expect_stop(child, child->grace_ns);
  order(child, (guard_order_t){.kind = GUARD_STOP, .signum = signum});
}

void cli_child_kill(cli_child_t* child) {
  expect_stop(child, 0);
  order(child, (guard_order_t){.kind = GUARD_KILL});
}

void cli_child_ensure_killed(cli_child_t* child) {
  /* First read the reports that wait in the socket: after GONE the group's ID may be reused. */
  if (!receive(child))
    return; /* on_readable will see the same */
  if (child->running && child->pid > 0)
    kill(-child->pid, SIGKILL);
}

/* --- watching the guard --------------------------------------------------------------------- */

/* SIGKILL was sent, or the guard was killed, long ago. */
static void remind(cli_child_t* child) {
  child->on_report(child, &(guard_report_t){.kind = GUARD_STUCK, .pid = child->pid});
  if (child->lost) {
    look_at(child, s3lect_now_ns() + child->remind_ns);
    return;
  }
  /* Is the guard still working? */
  child->killing = false;
  child->overdue = 0;
  cli_child_kill(child);
  look_at(child, s3lect_now_ns() + child->margin_ns);
}

static void on_due(cli_alarm_t* alarm) {
  cli_child_t* child = alarm->data;
  int64_t now = s3lect_now_ns();
  if (child->ended) {
    look_for_end(child);
  } else if (!child->running || !receive(child) || now < alarm->due_ns || !child->running) {
    return; /* nothing is due, or the report has just come */
  } else if (child->killing || child->lost) {
    remind(child);
  } else {
    /* First continue it: if all of them were stopped at once, the guard may be about to act. */
    kill(child->keeper, SIGCONT);
    if (child->guard > 0)
      kill(child->guard, child->overdue == 0 ? SIGCONT : SIGKILL);
    child->overdue++;
    look_at(child, now + child->margin_ns / 2);
  }
}

/* --- opening and closing -------------------------------------------------------------------- */

int cli_child_open(cli_child_t* child, uv_loop_t* loop) {
  child->stop_ns = CLI_ALARM_NEVER;
  child->alarm.data = child;
  child->alarm.on_due = on_due;
  int r = cli_alarm_open(&child->alarm, loop);
  if (r != 0)
    return r;
  r = uv_poll_init(loop, &child->poll, child->fd);
  if (r != 0)
    return r;
  child->poll.data = child;
  return uv_poll_start(&child->poll, UV_READABLE, on_readable);
}

static void on_closed(uv_handle_t* handle) {
  cli_child_t* child = handle->data;
  close(child->fd);
}

void cli_child_close(cli_child_t* child) {
  if (uv_is_closing((uv_handle_t*)&child->poll))
    return;
  cli_alarm_close(&child->alarm);
  uv_close((uv_handle_t*)&child->poll, on_closed);
}
