/* cli/watch.c: `s3lect watch` prints a line when another leader is observed, or none any more. The
 * elector only observes. */
#include <unistd.h>

#include "session.h"
#include "text.h"

typedef struct watch_s {
  cli_session_t session;
  uint64_t epoch; /* the newest that was observed */
} watch_t;

static void on_event(cli_session_t* session, const s3lect_event_t* event) {
  watch_t* w = session->data;
  if (event->kind != S3LECT_EVENT_NEW_LEADER && event->kind != S3LECT_EVENT_NO_LEADER)
    return;
  if (event->epoch > w->epoch)
    w->epoch = event->epoch;
  char line[CLI_EVENT_LINE];
  s3l_buf_t json;
  cli_json_open(&json, line, sizeof line);
  s3l_json_string(&json, "event", s3lect_event_name(event->kind));
  s3l_json_string(&json, "leader", event->leader_id);
  s3l_json_string(&json, "addr", event->leader_addr);
  s3l_json_u64(&json, "epoch", w->epoch);
  cli_json_clocks(&json);
  cli_json_time(&json, "time", cli_wall_ms());
  if (cli_json_close(&json) > 0)
    (void)cli_writer_line(session->events.writer, line, json.len);
}

int cli_watch(const cli_options_t* options) {
  static watch_t w;
  w.session.data = &w;
  w.session.on_event = on_event;
  w.session.errors_only = true;
  return cli_session_run(&w.session, options, STDOUT_FILENO);
}
