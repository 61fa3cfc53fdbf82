#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <s3lect.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup.h"
#include "tree.h"

#define NEVER        INT64_MAX
#define MS           INT64_C(1000000)
#define PAUSE_MAX_MS 100 /* between two looks at a group that should be gone; the first: 1 ms */
#define REHEARSE_MS  20  /* from a renewal to the rehearsal */
#define SLEEP_MIN_NS 100000
#define ORPHAN_MS    200 /* what the guard has for its work when s3lect is gone */

/* How s3lect itself was scheduled. The guard raises its own priority where it may. */
typedef struct priority_s {
  int policy;
  struct sched_param param;
  int nice;
} priority_t;

typedef struct guard_s {
  char** argv;
  char* id;
  pid_t self;
  int sock;
  priority_t priority;
  cli_cgroup_t cgroup; /* the command's */
  int children;        /* signalfd for SIGCHLD */
  int timer;           /* timerfd on CLOCK_BOOTTIME: poll's timeout does not count suspension */
  sigset_t mask;       /* the signal mask that s3lect was started with: the command's */
  bool orphaned;       /* s3lect is gone */

  pid_t group; /* 0: no command */
  int exec_fd; /* shows how the command's execvp ended: its errno, or nothing; -1: known */
  bool reaped; /* the command itself has ended, with `status` */
  bool asked;  /* the group was sent SIGTERM, or what STOP said; cause is set */
  bool killed; /* ... SIGKILL */
  int status;
  int cause; /* guard_cause_t; 0 while nothing has happened to it */
  int64_t bound_ns;
  int64_t grace_ns;
  int64_t kill_ns; /* the grace that a signal started ends here */

  int pause_ms;        /* until the group that should be gone is looked at again */
  int64_t killing_ns;  /* when SIGKILL was sent first */
  int64_t rehearse_ns; /* when a pass is rehearsed; NEVER: not until the next renewal */
  int64_t took_ns;     /* what a pass takes, from when it is due to its end; the worst of late */
} guard_t;

static void report(guard_t* guard, guard_report_t message) {
  /* The socket has room for thousands; if it has not, s3lect is gone or hangs, and what the guard
   * does depends on neither. */
  ssize_t sent = send(guard->sock, &message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL);
  (void)sent;
}

/* --- the group ------------------------------------------------------------------------------ */

static void signal_group(guard_t* guard, int signum) {
  if (guard->group == 0)
    return;
  kill(-guard->group, signum);
  /* A stopped process would see the signal only when somebody continues it. */
  if (signum == SIGTERM || signum == SIGINT || signum == SIGHUP || signum == SIGQUIT)
    kill(-guard->group, SIGCONT);
}

/* The group, and every other descendant. */
static void kill_all(guard_t* guard) {
  if (!guard->killed) {
    guard->killed = true;
    guard->killing_ns = s3lect_now_ns();
    guard->pause_ms = 1;
    report(guard, (guard_report_t){.kind = GUARD_KILLING});
  }
  signal_group(guard, SIGKILL);
  cli_cgroup_kill(&guard->cgroup);
  cli_tree_signal(SIGKILL);
}

/* --- what a pass takes ---------------------------------------------------------------------- */

static void note_pass(guard_t* guard, int64_t took_ns) {
  guard->took_ns -= guard->took_ns / 8;
  if (took_ns > guard->took_ns)
    guard->took_ns = took_ns;
}

/* SIGKILL comes so long before the bound, at the cost of the grace alone: SIGTERM comes no
 * earlier. */
static int64_t lead(const guard_t* guard) {
  int64_t most = guard->grace_ns / 4 * 3;
  return guard->took_ns < most / 2 ? guard->took_ns * 2 : most;
}

static void rehearse(guard_t* guard, int64_t now) {
  if (now < guard->rehearse_ns)
    return;
  int64_t due = guard->rehearse_ns;
  guard->rehearse_ns = NEVER;
  cli_tree_signal(0);
  note_pass(guard, s3lect_now_ns() - due);
}

/* --- its end -------------------------------------------------------------------------------- */

static void ask_group(guard_t* guard, int signum, int cause) {
  if (guard->asked)
    return;
  guard->asked = true;
  if (guard->cause == 0)
    guard->cause = cause;
  guard->kill_ns = s3lect_now_ns() + guard->grace_ns;
  signal_group(guard, signum);
}

/* Tells once whether the command is executed. */
static void look_at_exec(guard_t* guard) {
  int err;
  ssize_t n = guard->exec_fd >= 0 ? read(guard->exec_fd, &err, sizeof err) : -1;
  if (n < 0)
    return;
  if (n == (ssize_t)sizeof err)
    report(guard, (guard_report_t){.kind = GUARD_NO_EXEC, .error = err});
  else
    report(guard, (guard_report_t){.kind = GUARD_STARTED, .pid = guard->group});
  close(guard->exec_fd);
  guard->exec_fd = -1;
}

static void reap(guard_t* guard) {
  int status;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    guard->pause_ms = 1;
    if (pid != guard->group || guard->reaped)
      continue;
    guard->reaped = true;
    guard->status = status;
    /* What the command leaves behind in its group has no leadership to run under. */
    ask_group(guard, SIGTERM, GUARD_SELF);
  }
}

/* Reports GONE when it is true. */
static void sweep(guard_t* guard) {
  if (guard->group == 0 || !guard->reaped)
    return;
  bool exists = kill(-guard->group, 0) == 0 || errno != ESRCH;
  /* A group that was sent SIGKILL may go on existing by a zombie whose parent has left it. */
  bool strays = (!exists || guard->killed) && cli_tree_signal(SIGKILL) > 0;
  if (exists || strays)
    return;
  if (guard->killed)
    note_pass(guard, s3lect_now_ns() - guard->killing_ns);
  look_at_exec(guard); /* STARTED or NO_EXEC comes before GONE */
  report(guard,
         (guard_report_t){.kind = GUARD_GONE, .cause = guard->cause, .status = guard->status});
  guard->group = 0;
}

/* What the clock demands now. */
static void tick(guard_t* guard) {
  if (guard->group == 0)
    return;
  int64_t now = s3lect_now_ns();
  if (!guard->asked && now >= guard->bound_ns - guard->grace_ns) {
    ask_group(guard, SIGTERM, GUARD_BOUNDED);
    report(guard, (guard_report_t){.kind = GUARD_STOPPING});
  }
  if (guard->orphaned || now >= guard->bound_ns - lead(guard) ||
      (guard->asked && now >= guard->kill_ns))
    kill_all(guard);
  else
    rehearse(guard, now);
}

/* --- starting it ---------------------------------------------------------------------------- */

static void command_environment(const guard_t* guard, uint64_t epoch) {
  char number[24];
  snprintf(number, sizeof number, "%" PRIu64, epoch);
  setenv("S3LECT_EPOCH", number, 1);
  setenv("S3LECT_ID", guard->id, 1);
}

static void raise_priority(priority_t* before) {
  const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_RR)};
  before->policy = sched_getscheduler(0);
  sched_getparam(0, &before->param);
  before->nice = getpriority(PRIO_PROCESS, 0);
  setpriority(PRIO_PROCESS, 0, -20);
  sched_setscheduler(0, SCHED_RR, &lowest); /* not throttled by a CPU quota */
}

/* Lowers what raise_priority could raise, and fails where that could not. */
static void restore_priority(const priority_t* before) {
  sched_setscheduler(0, before->policy, &before->param);
  setpriority(PRIO_PROCESS, 0, before->nice);
}

/* In the forked child: becomes the command. */
static _Noreturn void command_main(guard_t* guard, uint64_t epoch, int exec_fd) {
  restore_priority(&guard->priority);
  cli_cgroup_enter(&guard->cgroup);
  setpgid(0, 0);
  /* Dies with the guard; if the guard died before this took hold, there is another parent now. */
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != guard->self)
    _exit(126);
  /* A background process group that reads from the terminal would be stopped. */
  if (isatty(STDIN_FILENO)) {
    int null = open("/dev/null", O_RDONLY);
    if (null > 0 && dup2(null, STDIN_FILENO) == STDIN_FILENO)
      close(null);
  }
  command_environment(guard, epoch);
  sigprocmask(SIG_SETMASK, &guard->mask, NULL);
  execvp(guard->argv[0], guard->argv);
  int err = errno;
  ssize_t written = write(exec_fd, &err, sizeof err);
  (void)written;
  _exit(err == ENOENT || err == ENOTDIR ? 127 : 126);
}

static void start(guard_t* guard, const guard_order_t* order) {
  if (guard->group != 0)
    return;
  guard->bound_ns = order->bound_ns;
  guard->grace_ns = order->grace_ns;
  guard->kill_ns = NEVER;
  guard->reaped = guard->asked = guard->killed = false;
  guard->status = 0;
  guard->cause = 0;
  guard->rehearse_ns = s3lect_now_ns() + REHEARSE_MS * MS;
  guard->pause_ms = 1;
  if (s3lect_now_ns() >= order->bound_ns - order->grace_ns) {
    report(guard, (guard_report_t){.kind = GUARD_GONE, .cause = GUARD_TOO_LATE});
    return;
  }
  int pair[2] = {-1, -1};
  pid_t pid = pipe2(pair, O_CLOEXEC | O_NONBLOCK) == 0 ? fork() : -1;
  if (pid == 0)
    command_main(guard, order->epoch, pair[1]);
  int err = errno;
  close(pair[1]);
  if (pid < 0) {
    close(pair[0]);
    report(guard, (guard_report_t){.kind = GUARD_GONE, .cause = GUARD_NO_FORK, .error = err});
    return;
  }
  guard->exec_fd = pair[0];
  /* Both sides do it: whoever comes first, the group exists before anything is sent to it. */
  setpgid(pid, pid);
  guard->group = pid;
  report(guard, (guard_report_t){.kind = GUARD_FORKED, .pid = pid});
}

/* --- orders and the loop -------------------------------------------------------------------- */

static void obey(guard_t* guard, const guard_order_t* order) {
  switch (order->kind) {
  case GUARD_START:
    start(guard, order);
    break;
  case GUARD_BOUND:
    guard->bound_ns = order->bound_ns;
    guard->rehearse_ns = s3lect_now_ns() + REHEARSE_MS * MS;
    break;
  case GUARD_SIGNAL:
    signal_group(guard, order->signum);
    break;
  case GUARD_STOP:
    if (guard->asked)
      signal_group(guard, order->signum);
    ask_group(guard, order->signum, GUARD_ORDERED);
    break;
  case GUARD_KILL:
    guard->cause = guard->cause == 0 ? GUARD_ORDERED : guard->cause;
    guard->asked = true;
    guard->kill_ns = s3lect_now_ns();
    if (guard->killed)
      report(guard, (guard_report_t){.kind = GUARD_KILLING});
    break;
  default:
    break;
  }
}

static void receive(guard_t* guard) {
  guard_order_t order;
  for (;;) {
    ssize_t n = recv(guard->sock, &order, sizeof order, MSG_DONTWAIT);
    if (n == (ssize_t)sizeof order) {
      obey(guard, &order);
      continue;
    }
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return;
    guard->orphaned = true;
    return;
  }
}

static void arm(const guard_t* guard) {
  int64_t when = NEVER;
  if (guard->group != 0 && !guard->killed) {
    when = guard->asked ? guard->kill_ns : guard->bound_ns - guard->grace_ns;
    if (guard->bound_ns - lead(guard) < when)
      when = guard->bound_ns - lead(guard);
    if (guard->rehearse_ns < when)
      when = guard->rehearse_ns;
  }
  /* NTP may slow this timer down by a twelfth, but not lease time, which counts: it sleeps for 90 %
   * of what is left, then looks again. */
  int64_t left = when != NEVER ? when - s3lect_now_ns() : 0;
  int64_t sleep = left > SLEEP_MIN_NS ? left - left / 10 : SLEEP_MIN_NS;
  struct itimerspec spec = {.it_value = {0, 0}};
  if (when != NEVER)
    spec.it_value = (struct timespec){.tv_sec = (time_t)(sleep / 1000000000),
                                      .tv_nsec = (long)(sleep % 1000000000)};
  timerfd_settime(guard->timer, 0, &spec, NULL);
}

static _Noreturn void guard_main(guard_t* guard) {
  guard->self = getpid();
  report(guard, (guard_report_t){.kind = GUARD_READY, .pid = guard->self});
  for (;;) {
    struct pollfd fds[4] = {{.fd = guard->orphaned ? -1 : guard->sock, .events = POLLIN},
                            {.fd = guard->children, .events = POLLIN},
                            {.fd = guard->timer, .events = POLLIN},
                            {.fd = guard->exec_fd, .events = POLLIN}};
    bool ending = guard->group != 0 && (guard->reaped || guard->killed);
    arm(guard);
    if (poll(fds, 4, ending ? guard->pause_ms : -1) == 0 && guard->pause_ms < PAUSE_MAX_MS)
      guard->pause_ms *= 2;
    struct signalfd_siginfo info;
    while (read(guard->children, &info, sizeof info) > 0)
      continue;
    if (!guard->orphaned)
      receive(guard);
    look_at_exec(guard);
    tick(guard);
    reap(guard);
    sweep(guard);
    if (guard->orphaned && guard->group == 0)
      _exit(0);
  }
}

/* --- setting up ----------------------------------------------------------------------------- */

/* What keeper and guard have in common. */
static bool prepare(const guard_setup_t* setup, const char* name) {
  /* Out of s3lect's process group, so that what is sent to that (Ctrl-C, Ctrl-Z, kill -9 -PGID)
   * does not meet the guard. */
  setpgid(0, 0);
  prctl(PR_SET_NAME, name);
  if (setup->title_len > strlen(name)) {
    memset(setup->title, 0, setup->title_len);
    memcpy(setup->title, name, strlen(name));
  }
  return prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

/* argv lies where the title is put. */
static char** copy_argv(char** argv) {
  size_t n = 0;
  while (argv[n] != NULL)
    n++;
  char** copy = calloc(n + 1, sizeof *copy);
  for (size_t i = 0; copy != NULL && i < n; i++) {
    copy[i] = strdup(argv[i]);
    if (copy[i] == NULL)
      return NULL;
  }
  return copy;
}

static _Noreturn void start_guard(guard_t* guard, const guard_setup_t* setup) {
  guard->exec_fd = -1;
  guard->timer = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  if (guard->timer < 0 || !prepare(setup, GUARD_NAME))
    _exit(1);
  raise_priority(&guard->priority);
  cli_cgroup_name(&guard->cgroup, getpid());
  cli_cgroup_make(&guard->cgroup);
  guard_main(guard);
}

/* Waits for the guard's end. When s3lect has ended, the guard must end soon: it is continued, for
 * it may have been stopped, then killed. */
static void await_guard(const guard_t* keeper, pid_t guard) {
  struct pollfd fds[2] = {{.fd = keeper->children, .events = POLLIN}, {.fd = keeper->sock}};
  int ready;
  do
    ready = poll(fds, 2, -1);
  while (ready < 0 && errno == EINTR);
  if (fds[0].revents == 0) {
    kill(guard, SIGCONT);
    if (poll(fds, 1, ORPHAN_MS) == 0)
      kill(guard, SIGKILL);
  }
  waitpid(guard, NULL, 0);
}

/* Waits for the guard's end, then kills what the guard has left. */
static _Noreturn void keeper_main(const guard_setup_t* setup, int sock) {
  guard_t guard = {.sock = sock, .argv = copy_argv(setup->argv), .id = strdup(setup->id)};
  sigset_t all, child;
  sigfillset(&all);
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  const struct sigaction ends = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP};
  sigaction(SIGCHLD, &ends, NULL); /* not when the guard is stopped */
  /* Blocked, not ignored: the command shall inherit how s3lect itself was started. */
  if (sigprocmask(SIG_BLOCK, &all, &guard.mask) != 0 || guard.argv == NULL || guard.id == NULL ||
      !prepare(setup, KEEPER_NAME))
    _exit(1);
  guard.children = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
  if (guard.children < 0)
    _exit(1);
  pid_t pid = fork();
  if (pid == 0)
    start_guard(&guard, setup);
  if (pid < 0)
    _exit(1);
  raise_priority(&guard.priority);
  cli_cgroup_name(&guard.cgroup, pid);
  await_guard(&guard, pid);
  report(&guard, (guard_report_t){.kind = GUARD_LOST});
  for (int pause_ms = 1;; pause_ms = pause_ms < PAUSE_MAX_MS ? pause_ms * 2 : pause_ms) {
    cli_cgroup_kill(&guard.cgroup);
    cli_tree_signal(SIGKILL);
    do
      pid = waitpid(-1, NULL, WNOHANG);
    while (pid > 0);
    if (pid < 0) {
      (void)cli_cgroup_remove(&guard.cgroup);
      _exit(0);
    }
    poll(NULL, 0, pause_ms);
  }
}

int guard_fork(const guard_setup_t* setup, int* fd, pid_t* keeper) {
  int pair[2];
  /* SEQPACKET: one order, one message, and the end of the other side shows as an empty one. */
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return errno;
  pid_t pid = fork();
  int err = errno;
  if (pid == 0) {
    close(pair[0]);
    keeper_main(setup, pair[1]);
  }
  close(pair[1]);
  if (pid < 0) {
    close(pair[0]);
    return err;
  }
  *fd = pair[0];
  *keeper = pid;
  return 0;
}
