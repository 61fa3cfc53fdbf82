#include "attempt.h"

#include "text.h"

#define MS      INT64_C(1000000)
#define LOOK_MS 50 /* between two looks at the elector, which cost no request */

static void look(cli_attempt_t* attempt, const s3lect_event_t* event);

static void on_due(cli_alarm_t* alarm) {
  cli_attempt_t* attempt = alarm->data;
  cli_alarm_set(alarm, s3lect_now_ns() + LOOK_MS * MS);
  look(attempt, NULL);
}

/* By this machine's wall clock. A record that seems to come from the future beyond a leader timeout
 * says nothing. */
static bool is_young(const cli_attempt_t* attempt, const s3lect_record_t* record) {
  int64_t timeout = record->leader_timeout_ms;
  int64_t age = cli_wall_ms() - record->last_updated_ms;
  if (timeout == 0)
    timeout = attempt->leader_timeout_ms;
  return record->last_updated_ms != 0 && age < timeout && age > -timeout;
}

static void observe(cli_attempt_t* attempt, const s3lect_status_t* status) {
  if (status->leader_until_ns == 0) { /* nobody else leads */
    attempt->alive = false;
    attempt->until_ns = 0;
    return;
  }
  if (attempt->until_ns == 0) {
    attempt->until_ns = status->leader_until_ns;
    attempt->first = status->record;
  }
  /* An answer of a peer moves the time alone; a record may be seen anew with an earlier time. */
  bool changed = status->leader_until_ns > attempt->until_ns ||
                 status->record.epoch != attempt->first.epoch ||
                 status->record.write != attempt->first.write ||
                 status->record.last_updated_ms != attempt->first.last_updated_ms;
  attempt->alive =
      (changed && status->leader_until_ns > s3lect_now_ns()) || is_young(attempt, &status->record);
}

/* Notes whether the store answers. An error that repeats is not always told by an event. */
static void count(cli_attempt_t* attempt, const s3lect_status_t* status,
                  const s3lect_event_t* event) {
  s3lect_stats_t stats = {.size = sizeof stats};
  bool failure = event != NULL && event->kind == S3LECT_EVENT_ERROR;
  if (s3lect_elector_stats(attempt->elector, &stats) != 0)
    return;
  if (stats.reads_not_modified > attempt->stats.reads_not_modified || (event != NULL && !failure))
    attempt->error = 0;
  if (stats.failures > attempt->stats.failures) {
    attempt->error = failure ? event->error : status->last_error;
    cli_format(attempt->message, sizeof attempt->message, "%s",
               failure ? event->message : s3lect_strerror(status->last_error));
  }
  attempt->stats = stats;
}

static void give_up(cli_attempt_t* attempt, int exit_code) {
  cli_attempt_end(attempt);
  attempt->on_give_up(attempt, exit_code);
}

static void look(cli_attempt_t* attempt, const s3lect_event_t* event) {
  s3lect_status_t status = {.size = sizeof status};
  if (!attempt->active || s3lect_elector_status(attempt->elector, &status) != 0)
    return;
  count(attempt, &status, event);
  observe(attempt, &status);
  if (status.role == S3LECT_ROLE_LEADER || s3lect_now_ns() < attempt->within_ns)
    return;
  if (attempt->alive) {
    cli_note("--try: %s leads, giving up", status.record.leader_id);
    give_up(attempt, attempt->options->conflict_exit);
  } else if (attempt->error != 0) {
    cli_say("--try: the store cannot be used, giving up: %s: %s", s3lect_err_name(attempt->error),
            attempt->message);
    give_up(attempt, CLI_EXIT_FAILED);
  }
}

void cli_attempt_event(cli_attempt_t* attempt, const s3lect_event_t* event) {
  look(attempt, event);
}

int cli_attempt_begin(cli_attempt_t* attempt, uv_loop_t* loop) {
  attempt->alarm.data = attempt;
  attempt->alarm.on_due = on_due;
  int r = cli_alarm_open(&attempt->alarm, loop);
  if (r != 0)
    return r;
  attempt->active = true;
  attempt->within_ns = s3lect_now_ns() + attempt->options->within_ms * MS;
  cli_alarm_set(&attempt->alarm, s3lect_now_ns() + LOOK_MS * MS);
  return 0;
}

void cli_attempt_end(cli_attempt_t* attempt) {
  if (!attempt->active)
    return;
  attempt->active = false;
  cli_alarm_set(&attempt->alarm, CLI_ALARM_NEVER);
}

void cli_attempt_close(cli_attempt_t* attempt) {
  cli_attempt_end(attempt);
  if (attempt->alarm.data != NULL)
    cli_alarm_close(&attempt->alarm);
}
