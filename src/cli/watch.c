/* cli/watch.c: `s3lect watch` prints a line when another leader is observed, or none any more, or
 * another value of the leader. The elector only observes. On a terminal, a view below the lines
 * shows the election. */
#include <unistd.h>

#include "list.h"
#include "session.h"
#include "terminal.h"
#include "text.h"

#define DRAW_MS 250 /* the view's time between two frames; costs no request */

typedef struct watch_s {
  cli_session_t session;
  uint64_t epoch; /* the newest that was observed */
  uv_timer_t draw;
  cli_view_t view;
  int64_t until_ns; /* leader_until_ns of the last frame, */
  int64_t seen_ns;  /* and since when it has been so: lease time */
} watch_t;

static void print_json(cli_session_t* session, const s3lect_event_t* event) {
  char line[CLI_EVENT_LINE];
  s3l_buf_t json;
  cli_json_open(&json, line, sizeof line);
  s3l_json_string(&json, "event", s3lect_event_name(event->kind));
  s3l_json_string(&json, "leader", event->leader_id);
  s3l_json_string(&json, "addr", event->leader_addr);
  s3l_json_u64(&json, "epoch", event->epoch);
  s3l_json_string(&json, "value", event->value);
  cli_json_clocks(&json);
  cli_json_time(&json, "time", cli_wall_ms());
  if (cli_json_close(&json) > 0)
    (void)cli_writer_line(session->events.writer, line, json.len);
}

static void on_event(cli_session_t* session, const s3lect_event_t* event) {
  watch_t* w = session->data;
  if (event->kind != S3LECT_EVENT_NEW_LEADER && event->kind != S3LECT_EVENT_NO_LEADER &&
      event->kind != S3LECT_EVENT_VALUE)
    return;
  if (event->epoch > w->epoch)
    w->epoch = event->epoch;
  s3lect_event_t shown = *event;
  shown.epoch = w->epoch;
  if (session->events.terminal != NULL)
    cli_events_put(&session->events, &shown);
  else
    print_json(session, &shown);
}

/* ---- The view ---- */

static const char* state_of(const s3lect_record_t* record, int64_t left_ms) {
  return record->released                                     ? "released"
         : record->leader_id[0] == '\0' && record->epoch == 0 ? "absent"
         : left_ms <= 0                                       ? "expired"
         : record->claim                                      ? "claiming"
                                                              : "led";
}

static void draw(uv_timer_t* timer) {
  watch_t* w = timer->data;
  s3lect_status_t status = {.size = sizeof status};
  s3lect_elector_options_t timing;
  if (w->session.closed || s3lect_elector_status(&w->session.elector, &status) != 0 ||
      !status.observed || cli_timing(w->session.options, &timing, NULL) != 0)
    return;
  const s3lect_record_t* record = &status.record;
  int64_t now = s3lect_now_ns();
  if (status.leader_until_ns != w->until_ns || w->seen_ns == 0) {
    w->until_ns = status.leader_until_ns;
    w->seen_ns = now;
  }
  int64_t left_ms = w->until_ns != 0 ? (w->until_ns - now) / 1000000 : 0;
  uint32_t timeout = record->leader_timeout_ms;
  cli_view_row_t row = {.election = w->session.options->elector.lockfile_path,
                        .state = state_of(record, left_ms),
                        .leader = record->leader_id,
                        .addr = record->leader_addr,
                        .value = record->value,
                        .epoch = record->epoch,
                        .age_ms = (now - w->seen_ns) / 1000000,
                        .left_ms = left_ms,
                        .timeout_ms = timeout != 0 ? timeout : timing.leader_timeout_ms};
  (void)cli_view_draw(&w->view, w->session.events.writer, &row, 1);
}

static int on_open(cli_session_t* session) {
  watch_t* w = session->data;
  w->draw.data = w;
  int r = uv_timer_init(&session->loop, &w->draw);
  return r != 0 || w->session.events.view == NULL ? r : uv_timer_start(&w->draw, draw, 0, DRAW_MS);
}

static void on_released(cli_session_t* session) {
  watch_t* w = session->data;
  uv_close((uv_handle_t*)&w->draw, NULL);
}

int cli_watch(const cli_options_t* options) {
  static watch_t w;
  if (options->prefix)
    return cli_watch_prefix(options);
  w.session.data = &w;
  w.session.events.terminal = w.view.terminal = cli_terminal(options);
  if (w.view.terminal != NULL && w.view.terminal->live)
    w.session.events.view = &w.view;
  w.session.on_open = on_open;
  w.session.on_event = on_event;
  w.session.on_released = on_released;
  w.session.errors_only = true;
  return cli_session_run(&w.session, options, STDOUT_FILENO);
}
