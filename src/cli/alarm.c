#include "alarm.h"

#include <s3lect.h>

#define MS           INT64_C(1000000)
#define SLEEP_MAX_MS 3600000

static void on_timer(uv_timer_t* timer);

static void arm(cli_alarm_t* alarm) {
  int64_t left = (alarm->due_ns - s3lect_now_ns()) / MS;
  left -= left / 10;
  left = left < 0 ? 0 : left > SLEEP_MAX_MS ? SLEEP_MAX_MS : left;
  if (alarm->due_ns == CLI_ALARM_NEVER)
    uv_timer_stop(&alarm->timer);
  else
    uv_timer_start(&alarm->timer, on_timer, (uint64_t)left + 1, 0);
}

static void on_timer(uv_timer_t* timer) {
  cli_alarm_t* alarm = timer->data;
  if (s3lect_now_ns() < alarm->due_ns)
    arm(alarm);
  else
    alarm->on_due(alarm);
}

int cli_alarm_open(cli_alarm_t* alarm, uv_loop_t* loop) {
  alarm->due_ns = CLI_ALARM_NEVER;
  alarm->timer.data = alarm;
  return uv_timer_init(loop, &alarm->timer);
}

void cli_alarm_set(cli_alarm_t* alarm, int64_t due_ns) {
  alarm->due_ns = due_ns;
  arm(alarm);
}

void cli_alarm_close(cli_alarm_t* alarm) {
  if (!uv_is_closing((uv_handle_t*)&alarm->timer))
    uv_close((uv_handle_t*)&alarm->timer, NULL);
}
