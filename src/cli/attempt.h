/* cli/attempt.h (L8): `s3lect run --try`: when a process that is no leader gives up.
 *
 * It gives up when another process leads and --within is over, or when the store cannot be read. A
 * record that names a leader does not show that it leads: a leader that has crashed leaves its
 * record behind, and if every attempt believed that record, nobody would ever lead again. So the
 * leader counts as alive only if
 *   - its record has changed since this process first saw it, or
 *   - the record says that it was renewed within the last leader timeout (by this machine's wall
 *     clock).
 * Else the attempt goes on, until the leader has renewed or this process leads: for a leader
 * timeout or two. A wall clock that is wrong makes an attempt longer or shorter; it makes nobody
 * leader. */
#ifndef S3L_CLI_ATTEMPT_H
#define S3L_CLI_ATTEMPT_H

#include <s3lect.h>
#include <stdbool.h>

#include "alarm.h"
#include "events.h"
#include "options.h"

typedef struct cli_attempt_s cli_attempt_t;

struct cli_attempt_s {
  void* data; /* the owner's */
  /* The attempt is over: exit_code is that of a conflict, or CLI_EXIT_FAILED after a line on
   * stderr. Runs once at most, and not after cli_attempt_end. */
  void (*on_give_up)(cli_attempt_t* attempt, int exit_code);
  const cli_options_t* options;
  const s3lect_elector_t* elector;
  uint32_t leader_timeout_ms; /* of a record that gives none */

  cli_alarm_t alarm;
  bool active;
  int64_t within_ns;     /* lease time: the end of --within */
  int64_t until_ns;      /* leader_until_ns of the leader as it was first seen; 0: not seen */
  s3lect_record_t first; /* its record then */
  bool alive;            /* it is known to lead, or was when this process looked last */
  s3lect_stats_t stats;  /* as they were counted last */
  int error;             /* not 0: the last request to the store failed */
  char message[CLI_EVENT_MESSAGE];
};

/** Begins an attempt. The owner has set the first members, and has started the elector. Errors:
 * those of cli_alarm_open. */
int cli_attempt_begin(cli_attempt_t* attempt, uv_loop_t* loop);

/** Takes note of an event of the elector. */
void cli_attempt_event(cli_attempt_t* attempt, const s3lect_event_t* event);

/** The command has been started, or the session ends. May be called more than once. */
void cli_attempt_end(cli_attempt_t* attempt);

void cli_attempt_close(cli_attempt_t* attempt);

#endif
