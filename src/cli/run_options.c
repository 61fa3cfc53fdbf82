/* What `s3lect run` makes of its options before it starts anything. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "run.h"
#include "text.h"

#define GRACE_MAX_MS  5000u
#define MARGIN_MIN_MS 100u /* a loaded machine's delay between SIGKILL and a process's end */
#define MARGIN_MAX_MS 1000u
#define DEADLINE_MS   5u /* renew_deadline_ms by default: validity does not lack that much */

static const struct {
  const char* name;
  int signum;
} warnings[] = {{"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT},  {"USR1", SIGUSR1},
                {"USR2", SIGUSR2}, {"TERM", SIGTERM}, {"WINCH", SIGWINCH}};

int cli_run_warn_signal(const cli_options_t* options) {
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
  if (options->warn_signal != NULL && cli_run_warn_signal(options) == 0)
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

int cli_run_open_events(const cli_options_t* options, int* fd) {
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
