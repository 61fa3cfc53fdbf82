/* cli/watch.c: `s3lect watch` prints a line when another leader is observed, or none any more. The
 * elector only observes. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "session.h"
#include "text.h"

/* How often to check whether the leader has been silent for too long; costs no request. */
#define LOOK_MS 100

typedef struct watch_s {
  cli_session_t session;
  uv_timer_t timer;
  bool reported; /* a line has been printed */
  bool led;      /* it named a leader: this one */
  uint64_t epoch;
  char leader[S3LECT_ID_SIZE];
  char addr[S3LECT_ADDR_SIZE];
} watch_t;

static void print(watch_t* w) {
  char line[CLI_EVENT_LINE];
  s3l_buf_t json;
  cli_json_open(&json, line, sizeof line);
  s3l_json_string(&json, "event", w->led ? "new_leader" : "no_leader");
  s3l_json_string(&json, "leader", w->led ? w->leader : "");
  s3l_json_string(&json, "addr", w->led ? w->addr : "");
  s3l_json_u64(&json, "epoch", w->epoch);
  cli_json_clocks(&json);
  cli_json_time(&json, "time", cli_wall_ms());
  if (cli_json_close(&json) > 0)
    (void)cli_writer_line(w->session.events.writer, line, json.len);
}

static void look(watch_t* w) {
  s3lect_status_t status = {.size = sizeof status};
  if (w->session.closed || s3lect_elector_status(&w->session.elector, &status) != 0 ||
      !status.observed)
    return;
  w->session.answered = true; /* even if there is no event */
  const s3lect_record_t* r = &status.record;
  bool leads = status.leader_until_ns > s3lect_now_ns();
  bool same = w->reported && leads == w->led &&
              (!leads || (r->epoch == w->epoch && strcmp(r->leader_id, w->leader) == 0 &&
                          strcmp(r->leader_addr, w->addr) == 0));
  if (same)
    return;
  w->reported = true;
  w->led = leads;
  if (r->epoch > w->epoch && r->claim == 0)
    w->epoch = r->epoch;
  snprintf(w->leader, sizeof w->leader, "%s", r->leader_id);
  snprintf(w->addr, sizeof w->addr, "%s", r->leader_addr);
  print(w);
}

static void on_timer(uv_timer_t* timer) {
  look(timer->data);
}

static void on_event(cli_session_t* session, const s3lect_event_t* event) {
  (void)event;
  look(session->data);
}

static int on_open(cli_session_t* session) {
  watch_t* w = session->data;
  w->timer.data = w;
  int r = uv_timer_init(&session->loop, &w->timer);
  return r != 0 ? r : uv_timer_start(&w->timer, on_timer, LOOK_MS, LOOK_MS);
}

static void on_released(cli_session_t* session) {
  watch_t* w = session->data;
  uv_close((uv_handle_t*)&w->timer, NULL);
}

int cli_watch(const cli_options_t* options) {
  static watch_t w;
  w.session.data = &w;
  w.session.on_open = on_open;
  w.session.on_event = on_event;
  w.session.on_released = on_released;
  w.session.errors_only = true;
  return cli_session_run(&w.session, options, STDOUT_FILENO);
}
