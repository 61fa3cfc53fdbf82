/* cli/watch_prefix.c: `s3lect watch` at a prefix reads all elections under it again and again, and
 * says which leaders have changed. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "events.h"
#include "list.h"
#include "terminal.h"
#include "text.h"
#include "util/mem.h"

#define KEY_SIZE 1025 /* the S3 limit on a key, and a NUL */
#define DRAW_MS  250
#define FLUSH_MS 1000 /* how long the exit waits for a slow reader of the events */

/* What has been said of an election. */
typedef struct report_s {
  bool any;
  bool led;
  uint64_t epoch;
  char leader[S3LECT_ID_SIZE];
  char addr[S3LECT_ADDR_SIZE];
} report_t;

typedef struct watch_s {
  cli_once_t once; /* first: start is given its address */
  s3lect_list_t list;
  cli_events_t events;
  cli_view_t view;
  uv_timer_t again; /* for the next pass */
  uv_timer_t draw;
  uv_signal_t signals[3];
  report_t* reports;
  size_t reports_len;
  bool scanned;  /* a pass has succeeded */
  bool failing;  /* the last pass has not, and this has been said */
  bool scanning; /* a pass is under way */
  bool ending;
} watch_t;

static void report_json(watch_t* w, const char* election, const report_t* report) {
  char line[CLI_EVENT_LINE + 6 * KEY_SIZE];
  s3l_buf_t json;
  cli_json_open(&json, line, sizeof line);
  s3l_json_string(&json, "event", report->led ? "new_leader" : "no_leader");
  s3l_json_string(&json, "election", election);
  s3l_json_string(&json, "leader", report->led ? report->leader : "");
  s3l_json_string(&json, "addr", report->led ? report->addr : "");
  s3l_json_u64(&json, "epoch", report->epoch);
  cli_json_clocks(&json);
  cli_json_time(&json, "time", cli_wall_ms());
  if (cli_json_close(&json) > 0)
    (void)cli_events_line(&w->events, line, json.len);
}

static void report_line(watch_t* w, const char* election, const report_t* report) {
  char line[CLI_EVENT_LINE], text[CLI_LINE_SIZE];
  bool has_addr = report->led && report->addr[0] != '\0';
  cli_format(text, sizeof text, "%s: %s%s%s%s epoch %" PRIu64, election,
             report->led ? report->leader : "the last", has_addr ? " (" : "",
             has_addr ? report->addr : "",
             has_addr      ? "),"
             : report->led ? ","
                           : "",
             report->epoch);
  size_t len = cli_terminal_line(w->events.terminal, report->led ? CLI_STRONG : CLI_WARN,
                                 report->led ? "leader" : "no leader", text, line, sizeof line);
  (void)cli_events_line(&w->events, line, len);
}

/* What has been reported of an election. NULL without memory. */
static report_t* report_of(watch_t* w, const s3lect_election_t* e) {
  if (e->number >= w->reports_len) {
    size_t len = e->number + 1;
    report_t* grown = s3l_realloc(w->reports, len * sizeof *grown);
    if (grown == NULL)
      return NULL;
    memset(grown + w->reports_len, 0, (len - w->reports_len) * sizeof *grown);
    w->reports = grown;
    w->reports_len = len;
  }
  return &w->reports[e->number];
}

/* Says who leads if that is not what has been said. */
static void report(watch_t* w, const s3lect_election_t* e) {
  const s3lect_record_t* record = &e->record;
  bool led = cli_election_is_led(e);
  report_t* said = report_of(w, e);
  report_t now = {.any = true, .led = led, .epoch = record->epoch};
  if (said == NULL || (!cli_election_exists(e) && !said->any))
    return;
  cli_format(now.leader, sizeof now.leader, "%s", cli_election_leader(e));
  cli_format(now.addr, sizeof now.addr, "%s", record->leader_addr);
  cli_visible(now.leader);
  cli_visible(now.addr);
  bool same = said->any && led == said->led &&
              (!led || (said->epoch == record->epoch && strcmp(said->leader, now.leader) == 0 &&
                        strcmp(said->addr, now.addr) == 0));
  if (same)
    return;
  if (now.epoch <= said->epoch || record->claim != 0)
    now.epoch = said->epoch;
  *said = now;
  if (w->events.terminal != NULL)
    report_line(w, e->key, said);
  else
    report_json(w, e->key, said);
}

static void draw(watch_t* w) {
  size_t len;
  cli_view_row_t* rows = cli_list_rows(&w->list, &len);
  if (rows != NULL)
    (void)cli_view_draw(&w->view, w->events.writer, rows, len);
  s3l_free(rows);
}

static void on_draw(uv_timer_t* timer) {
  watch_t* w = timer->data;
  if (w->scanned && !w->scanning && w->events.view != NULL)
    draw(w);
}

static void end(watch_t* w) {
  w->ending = true;
  uv_timer_stop(&w->again);
  uv_timer_stop(&w->draw);
  if (w->scanning) {
    s3lect_list_cancel(&w->list);
    return;
  }
  s3lect_list_free(&w->list);
  s3l_free(w->reports);
  uv_close((uv_handle_t*)&w->again, NULL);
  uv_close((uv_handle_t*)&w->draw, NULL);
  for (size_t i = 0; i < 3; i++)
    uv_close((uv_handle_t*)&w->signals[i], NULL);
  cli_writer_close(w->events.writer, FLUSH_MS);
  s3lect_store_close(&w->once.store, NULL);
}

static void on_again(uv_timer_t* timer);

static void on_pass(s3lect_list_t* list, int error, const char* message) {
  watch_t* w = list->data;
  const s3lect_election_t* e;
  w->scanning = false;
  if (error == 0) {
    w->scanned = true;
    w->failing = false;
    w->once.exit_code = 0;
    for (size_t i = 0; (e = s3lect_list_at(list, i)) != NULL; i++)
      report(w, e);
  } else if (!w->failing && !w->ending) {
    (void)cli_view_erase(&w->view, w->events.writer);
    (void)cli_list_failed(w->once.options, error, message);
    w->failing = true;
  }
  if (w->ending || !w->scanned) {
    end(w);
    return;
  }
  uint32_t every = w->once.options->elector.infrequent_interval_ms;
  (void)uv_timer_start(&w->again, on_again,
                       every != 0 ? every : w->once.defaults.infrequent_interval_ms, 0);
  on_draw(&w->draw);
}

static void on_again(uv_timer_t* timer) {
  watch_t* w = timer->data;
  int r = s3lect_list_start(&w->list, on_pass);
  w->scanning = r == 0;
  if (r != 0)
    on_pass(&w->list, r, "");
}

static void on_signal(uv_signal_t* signal, int signum) {
  watch_t* w = signal->data;
  if (w->ending)
    _exit(128 + signum);
  w->once.exit_code = 0; /* also if the first pass is under way */
  end(w);
}

static void on_writer_error(void* arg, int err) {
  watch_t* w = arg;
  cli_say("events cannot be written (%s): leaving", uv_strerror(err));
  w->once.exit_code = CLI_EXIT_FAILED;
  if (!w->ending)
    end(w);
}

static int start_watch(cli_once_t* once) {
  static const int signums[3] = {SIGTERM, SIGINT, SIGHUP};
  watch_t* w = (watch_t*)(void*)once;
  int r = cli_writer_open(&w->events.writer, &once->loop, STDOUT_FILENO, on_writer_error, w);
  if (r != 0)
    return r;
  w->list.data = w;
  r = cli_list_begin(once, &w->list, on_pass);
  if (r != 0) {
    cli_writer_close(w->events.writer, FLUSH_MS);
    return r;
  }
  w->scanning = true;
  w->events.terminal = w->view.terminal = cli_terminal(once->options);
  if (w->view.terminal != NULL && w->view.terminal->live)
    w->events.view = &w->view;
  (void)uv_timer_init(&once->loop, &w->again);
  (void)uv_timer_init(&once->loop, &w->draw);
  w->again.data = w->draw.data = w;
  (void)uv_timer_start(&w->draw, on_draw, DRAW_MS, DRAW_MS);
  for (size_t i = 0; i < 3; i++) {
    (void)uv_signal_init(&once->loop, &w->signals[i]);
    w->signals[i].data = w;
    (void)uv_signal_start(&w->signals[i], on_signal, signums[i]);
  }
  return 0;
}

int cli_watch_prefix(const cli_options_t* options) {
  static watch_t w;
  signal(SIGPIPE, SIG_IGN);
  return cli_once(&w.once, options, start_watch);
}
