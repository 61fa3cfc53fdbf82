/* cli/alarm.h (L8): calls a function at an instant of lease time (s3lect_now_ns).
 *
 * The timers of libuv run on a clock that NTP may slew. So an alarm sleeps for 90 % of what is left
 * at most, and then looks at the time again. */
#ifndef S3L_CLI_ALARM_H
#define S3L_CLI_ALARM_H

#include <stdint.h>
#include <uv.h>

#define CLI_ALARM_NEVER INT64_MAX

typedef struct cli_alarm_s cli_alarm_t;

struct cli_alarm_s {
  void* data;                         /* the owner's */
  void (*on_due)(cli_alarm_t* alarm); /* from the loop; the alarm may be set again inside */
  int64_t due_ns;                     /* read-only */
  uv_timer_t timer;
};

/** The owner has set data and on_due. Errors: those of uv_timer_init. */
int cli_alarm_open(cli_alarm_t* alarm, uv_loop_t* loop);

/** on_due runs once at this instant, or soon if it has passed; CLI_ALARM_NEVER: not at all. */
void cli_alarm_set(cli_alarm_t* alarm, int64_t due_ns);

/** May be called more than once. */
void cli_alarm_close(cli_alarm_t* alarm);

#endif
