#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <s3lect.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define NEVER        INT64_MAX
#define SWEEP_MS     20 /* how often a group that should be gone is looked at again */
#define SLEEP_MIN_NS 100000
#define CHILDREN_MAX 512 /* descendants killed in one sweep */

typedef struct guard_s {
  char** argv;
  const char* id;
  pid_t self;
  int sock;
  int children;  /* signalfd for SIGCHLD */
  int timer;     /* timerfd on CLOCK_BOOTTIME: poll's timeout does not count suspension */
  sigset_t mask; /* the signal mask that s3lect was started with: the command's */
  bool orphaned; /* s3lect is gone */

  pid_t group; /* 0: no command */
  bool reaped; /* the command itself has ended, with `status` */
  bool asked;  /* the group was sent SIGTERM, or what STOP said */
  bool killed; /* ... SIGKILL */
  int status;
  int cause; /* guard_cause_t; 0 while nothing has happened to it */
  int64_t bound_ns;
  int64_t grace_ns;
  int64_t kill_ns; /* the grace that a signal started ends here */
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

static void kill_group(guard_t* guard) {
  guard->killed = true;
  signal_group(guard, SIGKILL);
}

static void ask_group(guard_t* guard, int signum, int cause) {
  if (guard->asked)
    return;
  guard->asked = true;
  if (guard->cause == 0)
    guard->cause = cause;
  guard->kill_ns = s3lect_now_ns() + guard->grace_ns;
  signal_group(guard, signum);
}

int guard_kill_children(void) {
  char path[64];
  char text[CHILDREN_MAX * 8];
  snprintf(path, sizeof path, "/proc/self/task/%" PRIdMAX "/children", (intmax_t)getpid());
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return 0;
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  text[n > 0 ? n : 0] = '\0';
  int found = 0;
  for (char* p = text; *p != '\0';) {
    char* end;
    long pid = strtol(p, &end, 10);
    /* A number that the end of the buffer may have cut is left for the next sweep. */
    if (end == p || *end != ' ')
      break;
    if (pid > 1 && (kill((pid_t)pid, SIGKILL) == 0 || errno == EPERM))
      found++;
    p = end + 1;
  }
  return found;
}

static void reap(guard_t* guard) {
  int status;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (pid != guard->group || guard->reaped)
      continue;
    guard->reaped = true;
    guard->status = status;
    if (guard->cause == 0)
      guard->cause = GUARD_SELF;
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
  bool strays = (!exists || guard->killed) && guard_kill_children() > 0;
  if (exists || strays)
    return;
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
  if (guard->orphaned || now >= guard->bound_ns || (guard->asked && now >= guard->kill_ns))
    kill_group(guard);
}

/* --- starting it ---------------------------------------------------------------------------- */

static void command_environment(const guard_t* guard, uint64_t epoch) {
  char number[24];
  snprintf(number, sizeof number, "%" PRIu64, epoch);
  setenv("S3LECT_EPOCH", number, 1);
  setenv("S3LECT_ID", guard->id, 1);
}

/* In the forked child: becomes the command. */
static _Noreturn void command_main(guard_t* guard, uint64_t epoch) {
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
  report(guard, (guard_report_t){.kind = GUARD_NO_EXEC, .error = err});
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
  if (s3lect_now_ns() >= order->bound_ns - order->grace_ns) {
    report(guard, (guard_report_t){.kind = GUARD_GONE, .cause = GUARD_TOO_LATE});
    return;
  }
  pid_t pid = fork();
  if (pid == 0)
    command_main(guard, order->epoch);
  if (pid < 0) {
    report(guard, (guard_report_t){.kind = GUARD_GONE, .cause = GUARD_NO_FORK, .error = errno});
    return;
  }
  /* Both sides do it: whoever comes first, the group exists before anything is sent to it. */
  setpgid(pid, pid);
  guard->group = pid;
  report(guard, (guard_report_t){.kind = GUARD_STARTED, .pid = pid});
}

/* --- orders and the loop -------------------------------------------------------------------- */

static void obey(guard_t* guard, const guard_order_t* order) {
  switch (order->kind) {
  case GUARD_START:
    start(guard, order);
    break;
  case GUARD_BOUND:
    guard->bound_ns = order->bound_ns;
    break;
  case GUARD_SIGNAL:
    signal_group(guard, order->signum);
    break;
  case GUARD_STOP:
    guard->cause = guard->cause == 0 ? GUARD_ORDERED : guard->cause;
    if (guard->asked)
      signal_group(guard, order->signum);
    ask_group(guard, order->signum, GUARD_ORDERED);
    break;
  case GUARD_KILL:
    guard->cause = guard->cause == 0 ? GUARD_ORDERED : guard->cause;
    guard->asked = true;
    guard->kill_ns = s3lect_now_ns();
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
    if (guard->bound_ns < when)
      when = guard->bound_ns;
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
  for (;;) {
    struct pollfd fds[3] = {{.fd = guard->orphaned ? -1 : guard->sock, .events = POLLIN},
                            {.fd = guard->children, .events = POLLIN},
                            {.fd = guard->timer, .events = POLLIN}};
    arm(guard);
    poll(fds, 3, guard->reaped && guard->group != 0 ? SWEEP_MS : -1);
    struct signalfd_siginfo info;
    while (read(guard->children, &info, sizeof info) > 0)
      continue;
    if (!guard->orphaned)
      receive(guard);
    tick(guard);
    reap(guard);
    sweep(guard);
    if (guard->orphaned && guard->group == 0)
      _exit(0);
  }
}

/* In the guard: the descriptors and settings that need no error path of s3lect's. */
static bool prepare(guard_t* guard) {
  sigset_t all, child;
  sigfillset(&all);
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  /* Out of s3lect's process group, so that what is sent to that (Ctrl-C, Ctrl-Z, kill -9 -PGID)
   * does not meet the guard; blocked, not ignored: the command shall inherit how s3lect itself was
   * started. */
  setpgid(0, 0);
  signal(SIGCHLD, SIG_DFL);
  if (sigprocmask(SIG_BLOCK, &all, &guard->mask) != 0)
    return false;
  prctl(PR_SET_NAME, GUARD_NAME);
  guard->children = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
  guard->timer = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  return guard->children >= 0 && guard->timer >= 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

int guard_fork(char** argv, const char* id, int* fd) {
  int pair[2];
  /* SEQPACKET: one order, one message, and the end of the other side shows as an empty one. */
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return errno;
  pid_t pid = fork();
  if (pid < 0) {
    int err = errno;
    close(pair[0]);
    close(pair[1]);
    return err;
  }
  if (pid == 0) {
    close(pair[0]);
    guard_t guard = {.argv = argv, .id = id, .sock = pair[1]};
    if (!prepare(&guard))
      _exit(1);
    guard_main(&guard);
  }
  close(pair[1]);
  /* If the guard is killed, what it leaves becomes s3lect's to reap: nothing says that init would.
   */
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  *fd = pair[0];
  return 0;
}
