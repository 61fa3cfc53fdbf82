/* The command runs from the start of leadership until it ends by itself, leadership nears its end,
 * or s3lect is told to leave or to stand aside. The guard kills it on time (guard.h). This file
 * starts it, moves its bound with every renewal, and releases the lockfile, or stands for election
 * again, only when the guard has reported that all its processes are gone.
 *
 * With --min-hold it goes on leading after the command's end, and releases when the time is over.
 * If it must end earlier, it does so without a release. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attempt.h"
#include "child.h"
#include "guard.h"
#include "notify.h"
#include "text.h"
#include "tree.h"

#define MS             INT64_C(1000000)
#define STAND_POLL_MS  20
#define FORWARDED_ONLY 5 /* the signals in `forwarded` */

static const int forwarded[FORWARDED_ONLY] = {SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};

typedef struct run_s {
  cli_session_t session;
  cli_child_t child;
  cli_kill_times_t times;
  cli_attempt_t attempt; /* --try */
  cli_notify_t notify;
  uv_timer_t stand_timer; /* the elector is still stopping: polls until it can start */
  cli_alarm_t hold;       /* the end of --min-hold */
  bool on_terminal;
  bool leading;
  bool stood_down; /* the elector was stopped: stand again only when the command is gone */
  bool aside;      /* ... and not before SIGUSR2 (--standby) */
  bool resigning;  /* SIGUSR1 came: stop the elector when the command is gone */
  bool ran;        /* the command has been started under this leadership */
  bool holding;    /* the command has ended; leads until --min-hold is over */
  bool leaving;    /* s3lect ends when the command has ended */
  bool forced;     /* the exit status is exit_code, not the command's */
  int exit_code;
  int64_t hold_until_ns; /* of the present leadership; 0: without --min-hold */
  uint64_t epoch;
  int64_t valid_until_ns;
  int signum; /* the signal to leave */
} run_t;

/* --- the command ---------------------------------------------------------------------------- */

static int64_t bound(const run_t* run) {
  return run->valid_until_ns - run->times.margin_ms * MS;
}

/* What systemctl status shows. */
static void tell_role(run_t* run) {
  const char* leader = s3lect_elector_leader(&run->session.elector);
  bool other = strcmp(leader, run->session.options->elector.server_id) != 0;
  if (run->aside)
    cli_notify_ready(&run->notify, "standing aside; SIGUSR2 takes part again");
  else if (run->leading)
    cli_notify_ready(&run->notify, "leading with epoch %" PRIu64 "%s", run->epoch,
                     run->holding ? ", until --min-hold is over" : "");
  else if (leader[0] != '\0' && other)
    cli_notify_ready(&run->notify, "following: %s leads", leader);
  else
    cli_notify_ready(&run->notify, "waiting to lead");
}

/* --min-hold: whether a release now would be too early. */
static bool must_hold(const run_t* run) {
  return run->ran && run->leading && s3lect_now_ns() < run->hold_until_ns;
}

/* Releases, once nothing runs any more. */
static void leave(run_t* run, int exit_code) {
  run->leaving = true;
  cli_notify_stopping(&run->notify);
  cli_attempt_end(&run->attempt);
  if (!run->child.running) {
    if (must_hold(run))
      cli_session_abandon(&run->session, exit_code);
    else
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

static void on_give_up(cli_attempt_t* attempt, int exit_code) {
  leave(attempt->data, exit_code);
}

/* The command has run to its end. */
static void ended(run_t* run, int exit_code) {
  if (run->leaving || !must_hold(run)) {
    leave(run, exit_code);
    return;
  }
  run->holding = true;
  run->exit_code = exit_code;
  cli_note("leading on until --min-hold is over");
  tell_role(run);
  cli_alarm_set(&run->hold, run->hold_until_ns);
}

static void on_held(cli_alarm_t* alarm) {
  run_t* run = alarm->data;
  leave(run, run->exit_code);
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

/* The elector leaves the election; if it leads, on_event acknowledges that, and it releases. */
static void stand_down(run_t* run) {
  run->leading = false;
  run->resigning = false;
  if (s3lect_elector_stop(&run->session.elector) == 0)
    run->stood_down = true;
}

static void stand_again(run_t* run) {
  if (!run->stood_down || run->aside || run->leaving)
    return;
  int r = s3lect_elector_start(&run->session.elector);
  if (r == UV_EBUSY) {
    uv_timer_start(&run->stand_timer, on_stand_timer, STAND_POLL_MS, 0);
    return;
  }
  run->stood_down = false;
  tell_role(run);
  if (r == 0)
    return;
  cli_say("cannot stand for election again: %s", s3lect_strerror(r));
  leave(run, CLI_EXIT_FAILED);
}

static void maybe_start(run_t* run) {
  if (!run->leading || run->leaving || run->holding || run->stood_down || run->child.running ||
      run->session.finishing)
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
    cli_note("%s ended by signal %d", command, WTERMSIG(report->status));
  else
    cli_note("%s exited with status %d", command, WEXITSTATUS(report->status));
}

/* All of the command is gone: it ended, or was ended. */
static void on_command_gone(run_t* run, const guard_report_t* report) {
  say_gone(run, report);
  if (run->leaving || report->cause == GUARD_SELF) {
    ended(run, exit_status(report->status));
  } else if (run->session.options->once != 0) {
    cli_say("leadership ended before %s did", run->session.options->child_argv[0]);
    ended(run, CLI_EXIT_LOST);
  } else if (!run->aside) {
    cli_note("waiting to lead again");
  }
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
    on_command_gone(run, report);
  }
  if (run->resigning && !run->leaving)
    stand_down(run);
  stand_again(run);
  maybe_start(run);
}

static void on_no_exec(run_t* run, int err) {
  const char* command = run->session.options->child_argv[0];
  bool missing = err == ENOENT || err == ENOTDIR;
  cli_say("cannot run %s: %s", command, missing ? "not found" : strerror(err));
  run->forced = true;
  run->ran = false;
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
  cli_notify_stopping(&run->notify);
}

static void on_report(cli_child_t* child, const guard_report_t* report) {
  run_t* run = child->data;
  switch (report->kind) {
  case GUARD_FORKED:
    run->ran = true;
    cli_attempt_end(&run->attempt);
    break;
  case GUARD_STARTED:
    cli_note("leading with epoch %" PRIu64 ": started %s, pid %d", run->epoch,
             run->session.options->child_argv[0], (int)report->pid);
    break;
  case GUARD_NO_EXEC:
    on_no_exec(run, report->error);
    break;
  case GUARD_STOPPING:
    cli_note("leadership could not be renewed and is about to end: stopping %s",
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
  cli_note("leadership could not be renewed yet, and ends in %" PRIu32 " ms%s%s",
           options->elector.warn_before_ms, options->warn_signal != NULL ? ": sending " : "",
           options->warn_signal != NULL ? options->warn_signal : "");
  if (options->warn_signal != NULL)
    cli_child_signal(&run->child, cli_run_warn_signal(options));
}

static void on_leading(run_t* run, const s3lect_event_t* event) {
  run->leading = true;
  run->epoch = event->epoch;
  run->valid_until_ns = event->valid_until_ns;
  if (event->kind == S3LECT_EVENT_STARTED_LEADING) {
    uint32_t min_hold_ms = run->session.options->min_hold_ms;
    run->ran = false;
    run->hold_until_ns = min_hold_ms != 0 ? s3lect_now_ns() + min_hold_ms * MS : 0;
    tell_role(run);
  }
  cli_child_bound(&run->child, bound(run));
  maybe_start(run);
}

static void on_stopped_leading(run_t* run, const s3lect_event_t* event) {
  run->leading = false;
  if (run->child.running || run->holding)
    cli_note("leadership ended (%s)", s3lect_reason_name(event->reason));
  /* Another may lead by now: no grace. */
  cli_child_kill(&run->child);
  cli_child_ensure_killed(&run->child);
  if (run->child.running)
    stand_down(run);
  else
    s3lect_elector_ack(&run->session.elector, event->epoch);
  if (run->holding)
    leave(run, run->exit_code);
  tell_role(run);
}

static void on_event(cli_session_t* session, const s3lect_event_t* event) {
  run_t* run = session->data;
  switch (event->kind) {
  case S3LECT_EVENT_STARTED_LEADING:
  case S3LECT_EVENT_RENEWED:
    on_leading(run, event);
    break;
  case S3LECT_EVENT_STOPPED_LEADING:
    on_stopped_leading(run, event);
    break;
  case S3LECT_EVENT_NEW_LEADER:
    if (event->leader_id[0] != '\0' &&
        strcmp(event->leader_id, session->options->elector.server_id) != 0)
      cli_note("%s leads", event->leader_id);
    tell_role(run);
    break;
  case S3LECT_EVENT_EXPIRING:
    warn(run);
    break;
  case S3LECT_EVENT_NO_LEADER:
    tell_role(run);
    break;
  case S3LECT_EVENT_CLAIMING:
    cli_note("no current leader found: waiting one leader timeout (%" PRIu32
             " ms) in case an old one is still active",
             run->times.leader_timeout_ms);
    break;
  case S3LECT_EVENT_ERROR:
    cli_note("%s: %s", s3lect_err_name(event->error), event->message);
    break;
  default:
    break;
  }
  cli_attempt_event(&run->attempt, event);
}

static bool ends_without_command(const run_t* run, int signum) {
  /* A closed terminal ends what it started; elsewhere SIGHUP means "read your files again". */
  return signum == SIGTERM || signum == SIGINT || signum == SIGQUIT ||
         (signum == SIGHUP && run->on_terminal);
}

/* --standby: the command is ended as when leadership is lost, but the lockfile is released. */
static void stand_aside(run_t* run) {
  if (run->aside || run->leaving)
    return;
  run->aside = true;
  cli_note("standing aside: SIGUSR2 takes part in the election again");
  if (run->child.running) {
    run->resigning = true;
    cli_child_stop(&run->child, SIGTERM);
  } else {
    stand_down(run);
  }
  tell_role(run);
}

static void come_back(run_t* run) {
  if (!run->aside || run->leaving)
    return;
  run->aside = false;
  cli_note("taking part in the election again");
  stand_again(run);
  tell_role(run);
}

static void on_signal(cli_session_t* session, int signum) {
  run_t* run = session->data;
  bool ending = signum == SIGTERM || signum == SIGINT;
  bool standby = session->options->standby != 0 && (signum == SIGUSR1 || signum == SIGUSR2);
  if (session->finishing) {
    if (ending)
      _exit(128 + signum);
  } else if (standby && signum == SIGUSR1) {
    stand_aside(run);
  } else if (standby) {
    come_back(run);
  } else if (run->holding) {
    if (ends_without_command(run, signum))
      leave(run, run->exit_code); /* the command has done its work */
  } else if (!run->child.running) {
    if (ends_without_command(run, signum))
      leave_by_signal(run, signum);
  } else if (!ending) {
    cli_child_signal(&run->child, signum);
  } else if (!run->leaving) {
    run->leaving = true;
    run->signum = signum;
    cli_notify_stopping(&run->notify);
    cli_child_stop(&run->child, signum);
  } else {
    cli_child_kill(&run->child);
  }
}

static void on_released(cli_session_t* session) {
  run_t* run = session->data;
  cli_child_close(&run->child);
  cli_attempt_close(&run->attempt);
  cli_alarm_close(&run->hold);
  cli_notify_close(&run->notify);
  uv_close((uv_handle_t*)&run->stand_timer, NULL);
}

/* --- setting up ----------------------------------------------------------------------------- */

static int begin_attempt(run_t* run) {
  run->attempt.data = run;
  run->attempt.on_give_up = on_give_up;
  run->attempt.options = run->session.options;
  run->attempt.elector = &run->session.elector;
  run->attempt.leader_timeout_ms = run->times.leader_timeout_ms;
  return cli_attempt_begin(&run->attempt, &run->session.loop);
}

static int on_open(cli_session_t* session) {
  run_t* run = session->data;
  run->child.data = run;
  run->child.on_report = on_report;
  run->child.margin_ns = run->times.margin_ms * MS;
  run->child.remind_ns = run->times.leader_timeout_ms * MS;
  run->stand_timer.data = run;
  run->hold.data = run;
  run->hold.on_due = on_held;
  int r = uv_timer_init(&run->session.loop, &run->stand_timer);
  if (r == 0)
    r = cli_alarm_open(&run->hold, &run->session.loop);
  if (r == 0)
    r = cli_notify_open(&run->notify, &run->session.loop);
  if (r == 0 && session->options->try_only != 0)
    r = begin_attempt(run);
  if (r == 0)
    r = cli_child_open(&run->child, &run->session.loop);
  if (r == 0)
    r = cli_session_signal(&run->session, SIGTERM);
  if (r == 0)
    r = cli_session_signal(&run->session, SIGINT);
  for (int i = 0; r == 0 && i < FORWARDED_ONLY; i++)
    r = cli_session_signal(&run->session, forwarded[i]);
  if (r == 0)
    tell_role(run);
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

int cli_run(const cli_options_t* options) {
  static run_t run;
  s3lect_error_t error;
  int events_fd;
  /* What is wrong with the options is said before there is a guard to clean up. */
  if (options->quiet != 0)
    cli_be_quiet();
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
  r = cli_run_open_events(options, &events_fd);
  if (r != 0)
    return r;
  cli_notify_init(&run.notify);
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
