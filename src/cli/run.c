/* The command runs from the start of leadership until it ends by itself, leadership nears its end,
 * or s3lect is told to leave. The guard kills it on time (guard.h). This file starts it, moves its
 * bound with every renewal, and releases the lockfile, or stands for election again, only when the
 * guard has reported that all its processes are gone. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "guard.h"
#include "text.h"
#include "tree.h"

#define MS             INT64_C(1000000)
#define GRACE_MAX_MS   5000u
#define MARGIN_MIN_MS  100u /* a loaded machine's delay between SIGKILL and a process's end */
#define MARGIN_MAX_MS  1000u
#define STAND_POLL_MS  20
#define DEADLINE_MS    5u /* renew_deadline_ms by default: validity does not lack that much */
#define FORWARDED_ONLY 5  /* the signals in `forwarded` */

static const int forwarded[FORWARDED_ONLY] = {SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};

static const struct {
  const char* name;
  int signum;
} warnings[] = {{"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT},  {"USR1", SIGUSR1},
                {"USR2", SIGUSR2}, {"TERM", SIGTERM}, {"WINCH", SIGWINCH}};

typedef struct run_s {
  cli_session_t session;
  cli_child_t child;
  cli_kill_times_t times;
  uv_timer_t stand_timer; /* the elector is still stopping: polls until it can start */
  bool on_terminal;
  bool leading;
  bool stood_down; /* the command outlived its leadership: stand again only when it is gone */
  bool leaving;    /* s3lect ends when the command has ended */
  bool forced;     /* the exit status is exit_code, not the command's */
  int exit_code;
  uint64_t epoch;
  int64_t valid_until_ns;
  int signum; /* the signal to leave */
} run_t;

/* The number of --warn-signal, with or without "SIG"; 0 if it is none. */
static int warn_signal(const cli_options_t* options) {
  const char* name = options->warn_signal;
  if (strncmp(name, "SIG", 3) == 0)
    name += 3;
  for (size_t i = 0; i < sizeof warnings / sizeof warnings[0]; i++)
    if (strcmp(name, warnings[i].name) == 0)
      return warnings[i].signum;
  return 0;
}

/* The command is stopped so long before leadership ends: a warning must come before that. */
static int check_warning(const cli_options_t* options, const cli_kill_times_t* times,
                         s3lect_error_t* error) {
  uint32_t stop_ms = times->margin_ms + times->grace_ms;
  uint32_t before_ms = options->elector.warn_before_ms;
  if (options->warn_signal != NULL && warn_signal(options) == 0)
    return cli_refuse(error,
                      "--warn-signal %.64s is unknown: write HUP, INT, QUIT, USR1, USR2, TERM or "
                      "WINCH",
                      options->warn_signal);
  if (options->warn_signal != NULL && before_ms == 0)
    return cli_refuse(error, "--warn-signal needs --warn-before: say how early it is to come");
  if (before_ms != 0 && before_ms <= stop_ms)
    return cli_refuse(error,
                      "--warn-before %" PRIu32 "ms is too late: the command gets SIGTERM %" PRIu32
                      "ms before leadership ends; raise it, or lower --kill-after",
                      before_ms, stop_ms);
  return 0;
}

int cli_kill_times(const cli_options_t* options, cli_kill_times_t* times, s3lect_error_t* error) {
  s3lect_elector_options_t timing;
  int r = cli_timing(options, &timing, NULL); /* which has been checked */
  if (r != 0)
    return r;
  uint32_t t = timing.leader_timeout_ms;
  uint32_t margin = t / 20;
  margin = margin < MARGIN_MIN_MS ? MARGIN_MIN_MS : margin > MARGIN_MAX_MS ? MARGIN_MAX_MS : margin;
  /* A renewal that comes in on time must be in time for the command, too; with epoch files it is
   * two requests. */
  bool epochs = options->elector.protocol == S3LECT_PROTOCOL_EPOCHS;
  int64_t requests = (int64_t)timing.request_timeout_ms * (epochs ? 2 : 1);
  int64_t room = (int64_t)t * (1000000 - timing.drift_ppm) / 1000000 - timing.renew_interval_ms -
                 (timing.renew_deadline_ms - DEADLINE_MS) - requests - margin;
  uint32_t grace = t / 4 < GRACE_MAX_MS ? t / 4 : GRACE_MAX_MS;
  if ((int64_t)grace > room)
    grace = room > 0 ? (uint32_t)room : 0;
  if (options->kill_after_ms != 0)
    grace = options->kill_after_ms;
  if (room <= 0 || (int64_t)grace > room) {
    (void)cli_refuse(error,
                     "--kill-after %" PRIu32 "ms does not fit: with --leader-timeout %" PRIu32
                     "ms, --renew %" PRIu32 "ms and %s--request-timeout %" PRIu32
                     "ms it may be %" PRId64 "ms at most; raise --leader-timeout",
                     grace, t, timing.renew_interval_ms, epochs ? "twice " : "",
                     timing.request_timeout_ms, room > 0 ? room : 0);
    return S3LECT_ETIMING;
  }
  *times = (cli_kill_times_t){margin, grace, t};
  return check_warning(options, times, error);
}

/* --- the command ---------------------------------------------------------------------------- */

static int64_t bound(const run_t* run) {
  return run->valid_until_ns - run->times.margin_ms * MS;
}

/* Releases, once nothing runs any more. */
static void leave(run_t* run, int exit_code) {
  run->leaving = true;
  if (!run->child.running) {
    cli_session_finish(&run->session, exit_code);
    return;
  }
  run->forced = true;
  run->exit_code = exit_code;
  cli_child_stop(&run->child, SIGTERM);
}

static void on_leave(cli_session_t* session, int exit_code) {
  leave(session->data, exit_code);
}

/* The command has not run, or not to its end. */
static void leave_by_signal(run_t* run, int signum) {
  run->session.signum = signum;
  leave(run, 128 + signum);
}

static void stand_again(run_t* run);

static void on_stand_timer(uv_timer_t* timer) {
  stand_again(timer->data);
}

static void stand_again(run_t* run) {
  if (!run->stood_down || run->leaving)
    return;
  int r = s3lect_elector_start(&run->session.elector);
  if (r == UV_EBUSY) {
    uv_timer_start(&run->stand_timer, on_stand_timer, STAND_POLL_MS, 0);
    return;
  }
  run->stood_down = false;
  if (r == 0)
    return;
  cli_say("cannot stand for election again: %s", s3lect_strerror(r));
  leave(run, CLI_EXIT_FAILED);
}

static void maybe_start(run_t* run) {
  if (!run->leading || run->leaving || run->child.running || run->session.finishing)
    return;
  int64_t grace = run->times.grace_ms * MS;
  /* Too close to the end: the renewal that is due will start it. */
  if (s3lect_now_ns() >= bound(run) - grace)
    return;
  cli_child_start(&run->child, run->epoch, bound(run), grace);
}

static int exit_status(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void say_gone(const run_t* run, const guard_report_t* report) {
  const char* command = run->session.options->child_argv[0];
  if (WIFSIGNALED(report->status))
    cli_say("%s ended by signal %d", command, WTERMSIG(report->status));
  else
    cli_say("%s exited with status %d", command, WEXITSTATUS(report->status));
}

static void on_report_gone(run_t* run, const guard_report_t* report) {
  if (report->cause == GUARD_UNKNOWN) {
    cli_say("the keeper process was killed, too, and what %s has started may still run: not "
            "releasing, so that nobody takes over before the leader timeout",
            run->session.options->child_argv[0]);
    cli_session_abandon(&run->session, CLI_EXIT_FAILED);
    return;
  }
  s3lect_elector_ack(&run->session.elector, run->epoch);
  if (report->cause == GUARD_DIED && !run->forced)
    leave(run, CLI_EXIT_FAILED);
  else if (report->cause == GUARD_NO_FORK) {
    cli_say("cannot start a process: %s", strerror(report->error));
    leave(run, CLI_EXIT_FAILED);
  } else if (run->forced) {
    leave(run, run->exit_code);
  } else if (report->cause == GUARD_TOO_LATE) {
    if (run->leaving)
      leave_by_signal(run, run->signum);
  } else {
    say_gone(run, report);
    if (run->leaving || report->cause == GUARD_SELF)
      leave(run, exit_status(report->status));
    else
      cli_say("waiting to lead again");
  }
  stand_again(run);
  maybe_start(run);
}

static void on_no_exec(run_t* run, int err) {
  const char* command = run->session.options->child_argv[0];
  bool missing = err == ENOENT || err == ENOTDIR;
  cli_say("cannot run %s: %s", command, missing ? "not found" : strerror(err));
  run->forced = true;
  run->exit_code = missing ? CLI_EXIT_NOT_FOUND : CLI_EXIT_CANNOT_EXECUTE;
}

static void say_stuck(const run_t* run) {
  cli_say("cannot end all of %s (pid %d): a process is left that runs as another user or hangs in "
          "the kernel; %s until it is gone",
          run->session.options->child_argv[0], (int)run->child.pid,
          run->stood_down ? "not standing for election" : "leading on");
}

static void on_lost(run_t* run) {
  if (run->session.finishing)
    return;
  if (run->child.guard == 0)
    cli_say("the guard process could not be started (is there a limit of processes?): stopping");
  else
    cli_say(run->child.overdue > 1 ? "the guard process did not answer in time: stopping"
                                   : "the guard process was killed: stopping");
  run->leaving = true;
}

static void on_report(cli_child_t* child, const guard_report_t* report) {
  run_t* run = child->data;
  switch (report->kind) {
  case GUARD_STARTED:
    cli_say("leading with epoch %" PRIu64 ": started %s, pid %d", run->epoch,
            run->session.options->child_argv[0], (int)report->pid);
    break;
  case GUARD_NO_EXEC:
    on_no_exec(run, report->error);
    break;
  case GUARD_STOPPING:
    cli_say("leadership could not be renewed and is about to end: stopping %s",
            run->session.options->child_argv[0]);
    break;
  case GUARD_GONE:
    if (!run->session.finishing)
      on_report_gone(run, report);
    break;
  case GUARD_LOST:
    on_lost(run);
    break;
  case GUARD_STUCK:
    say_stuck(run);
    break;
  default:
    break;
  }
}

/* --- events and signals --------------------------------------------------------------------- */

/* Leadership is about to end for want of a renewal. */
static void warn(run_t* run) {
  const cli_options_t* options = run->session.options;
  bool stops = run->leaving || s3lect_now_ns() >= bound(run) - run->times.grace_ms * MS;
  if (!run->child.running || stops)
    return;
  cli_say("leadership could not be renewed yet, and ends in %" PRIu32 " ms%s%s",
          options->elector.warn_before_ms, options->warn_signal != NULL ? ": sending " : "",
          options->warn_signal != NULL ? options->warn_signal : "");
  if (options->warn_signal != NULL)
    cli_child_signal(&run->child, warn_signal(options));
}

static void on_event(cli_session_t* session, const s3lect_event_t* event) {
  run_t* run = session->data;
  switch (event->kind) {
  case S3LECT_EVENT_STARTED_LEADING:
  case S3LECT_EVENT_RENEWED:
    run->leading = true;
    run->epoch = event->epoch;
    run->valid_until_ns = event->valid_until_ns;
    cli_child_bound(&run->child, bound(run));
    maybe_start(run);
    break;
  case S3LECT_EVENT_STOPPED_LEADING:
    run->leading = false;
    if (run->child.running)
      cli_say("leadership ended (%s)", s3lect_reason_name(event->reason));
    /* Another may lead by now: no grace. */
    cli_child_kill(&run->child);
    cli_child_ensure_killed(&run->child);
    if (!run->child.running)
      s3lect_elector_ack(&session->elector, event->epoch);
    else
      run->stood_down = s3lect_elector_stop(&session->elector) == 0;
    break;
  case S3LECT_EVENT_NEW_LEADER:
    if (event->leader_id[0] != '\0' &&
        strcmp(event->leader_id, session->options->elector.server_id) != 0)
      cli_say("%s leads", event->leader_id);
    break;
  case S3LECT_EVENT_EXPIRING:
    warn(run);
    break;
  case S3LECT_EVENT_CLAIMING:
    cli_say("no current leader found: waiting one leader timeout (%" PRIu32
            " ms) in case an old one is still active",
            run->times.leader_timeout_ms);
    break;
  case S3LECT_EVENT_ERROR:
    cli_say("%s: %s", s3lect_err_name(event->error), event->message);
    break;
  default:
    break;
  }
}

static bool ends_without_command(const run_t* run, int signum) {
  /* A closed terminal ends what it started; elsewhere SIGHUP means "read your files again". */
  return signum == SIGTERM || signum == SIGINT || signum == SIGQUIT ||
         (signum == SIGHUP && run->on_terminal);
}

static void on_signal(cli_session_t* session, int signum) {
  run_t* run = session->data;
  bool ending = signum == SIGTERM || signum == SIGINT;
  if (session->finishing) {
    if (ending)
      _exit(128 + signum);
  } else if (!run->child.running) {
    if (ends_without_command(run, signum))
      leave_by_signal(run, signum);
  } else if (!ending) {
    cli_child_signal(&run->child, signum);
  } else if (!run->leaving) {
    run->leaving = true;
    run->signum = signum;
    cli_child_stop(&run->child, signum);
  } else {
    cli_child_kill(&run->child);
  }
}

static void on_released(cli_session_t* session) {
  run_t* run = session->data;
  cli_child_close(&run->child);
  uv_close((uv_handle_t*)&run->stand_timer, NULL);
}

/* --- setting up ----------------------------------------------------------------------------- */

static int on_open(cli_session_t* session) {
  run_t* run = session->data;
  run->child.data = run;
  run->child.on_report = on_report;
  run->child.margin_ns = run->times.margin_ms * MS;
  run->child.remind_ns = run->times.leader_timeout_ms * MS;
  run->stand_timer.data = run;
  int r = uv_timer_init(&run->session.loop, &run->stand_timer);
  if (r == 0)
    r = cli_child_open(&run->child, &run->session.loop);
  if (r == 0)
    r = cli_session_signal(&run->session, SIGTERM);
  if (r == 0)
    r = cli_session_signal(&run->session, SIGINT);
  for (int i = 0; r == 0 && i < FORWARDED_ONLY; i++)
    r = cli_session_signal(&run->session, forwarded[i]);
  return r;
}

static int run_under_guard(run_t* run, const cli_options_t* options, int events_fd) {
  const guard_setup_t setup = {.argv = options->child_argv,
                               .id = options->elector.server_id,
                               .title = options->title,
                               .title_len = options->title_len};
  signal(SIGCHLD, SIG_DFL); /* ignored, the keeper's exit status would be lost */
  int err = guard_fork(&setup, &run->child.fd, &run->child.keeper);
  if (err != 0) {
    cli_say("cannot start the guard process: %s", strerror(err));
    return CLI_EXIT_FAILED;
  }
  return cli_session_run(&run->session, options, events_fd);
}

static int open_events(const cli_options_t* options, int* fd) {
  *fd = -1;
  if (options->events_file == NULL)
    return 0;
  /* O_NONBLOCK: or the open of a FIFO would wait for a reader. Writes may wait. */
  *fd = open(options->events_file,
             O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
  if (*fd >= 0 && fcntl(*fd, F_SETFL, O_APPEND) == 0)
    return 0;
  cli_say("--events %s cannot be opened: %s", options->events_file,
          errno == ENXIO ? "nobody reads from it" : strerror(errno));
  return CLI_EXIT_USAGE;
}

int cli_run(const cli_options_t* options) {
  static run_t run;
  s3lect_error_t error;
  int events_fd;
  /* What is wrong with the options is said before there is a guard to clean up. */
  int r = cli_session_check(options);
  if (r != 0)
    return r;
  if (cli_kill_times(options, &run.times, &error) != 0) {
    cli_say("%s", error.text);
    return CLI_EXIT_USAGE;
  }
  if (!cli_tree_is_visible()) {
    cli_say("/proc does not show the processes that the command starts, and they could outlive the "
            "leadership: mount the /proc of this PID namespace (unshare --mount-proc)");
    return CLI_EXIT_FAILED;
  }
  r = open_events(options, &events_fd);
  if (r != 0)
    return r;
  int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
  run.on_terminal = terminal >= 0;
  if (terminal >= 0)
    close(terminal);
  run.session.data = &run;
  run.session.events_optional =
      true; /* the command comes first, and must be gone before a release */
  run.session.on_open = on_open;
  run.session.on_event = on_event;
  run.session.on_signal = on_signal;
  run.session.on_leave = on_leave;
  run.session.on_released = on_released;
  return run_under_guard(&run, options, events_fd);
}
