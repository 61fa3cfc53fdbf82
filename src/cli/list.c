/* cli/list.c: `s3lect list` prints all elections under a prefix. */
#include "list.h"

#include <stdio.h>
#include <string.h>

#include "events.h"
#include "terminal.h"
#include "text.h"
#include "util/mem.h"

#define ROW_SIZE 4096 /* bytes of a row, at most */

typedef struct list_s {
  cli_once_t once; /* first: start is given its address */
  cli_scan_t scan;
  const cli_terminal_t* terminal;
} list_t;

cli_scan_t cli_list_scan(cli_once_t* once) {
  const s3lect_elector_options_t* given = &once->options->elector;
  uint32_t request = given->request_timeout_ms, leader = given->leader_timeout_ms;
  return (cli_scan_t){.store = &once->store,
                      .prefix = given->lockfile_path,
                      .timeout_ms = request != 0 ? request : once->defaults.request_timeout_ms,
                      .default_timeout_ms = leader != 0 ? leader : once->defaults.leader_timeout_ms,
                      .data = once};
}

static const char* protocol_of(const cli_election_t* e) {
  return e->epoch != 0 ? "epochs" : "lockfile";
}

bool cli_list_is_election(const cli_election_t* e) {
  return !e->other && e->verdict.present;
}

int64_t cli_list_unchanged_ms(const cli_scan_t* scan, const cli_election_t* e) {
  int64_t ms = (scan->listed_ns - e->read_ns) / 1000000;
  return ms > 0 ? ms : 0;
}

/* ---- list ---- */

static void print_json(const cli_scan_t* scan) {
  for (size_t i = 0; i < scan->len; i++) {
    const cli_election_t* e = &scan->all[i];
    char line[CLI_EVENT_LINE + 6 * CLI_KEY_SIZE];
    s3l_buf_t json;
    if (!cli_list_is_election(e))
      continue;
    cli_json_open(&json, line, sizeof line);
    s3l_json_string(&json, "election", e->key);
    s3l_json_string(&json, "protocol", protocol_of(e));
    cli_verdict_json(&e->verdict, &json);
    if (cli_json_close(&json) > 0)
      fputs(line, stdout);
  }
}

cli_view_row_t* cli_list_rows(const cli_scan_t* scan, size_t* len) {
  cli_view_row_t* rows = s3l_calloc(scan->len + 1, sizeof *rows);
  *len = 0;
  for (size_t i = 0; rows != NULL && i < scan->len; i++) {
    const cli_election_t* e = &scan->all[i];
    if (cli_list_is_election(e))
      rows[(*len)++] = cli_verdict_row(&e->verdict, e->key, cli_list_unchanged_ms(scan, e),
                                       (s3lect_now_ns() - e->read_ns) / 1000000);
  }
  return rows;
}

static int print_table(const list_t* list) {
  size_t len, size = (list->scan.len + 2) * ROW_SIZE;
  cli_view_row_t* rows = cli_list_rows(&list->scan, &len);
  char* table = s3l_malloc(size);
  int r = rows != NULL && table != NULL ? 0 : CLI_EXIT_FAILED;
  if (r == 0 && len > 0)
    fwrite(table, 1, cli_view_table(list->terminal, rows, len, len, false, table, size), stdout);
  s3l_free(rows);
  s3l_free(table);
  return r;
}

static int print(const list_t* list) {
  size_t led = 0, all = 0, others = 0;
  for (size_t i = 0; i < list->scan.len; i++) {
    const cli_election_t* e = &list->scan.all[i];
    all += cli_list_is_election(e);
    led += cli_list_is_election(e) && cli_verdict_is_led(&e->verdict, 0);
    others += e->other;
  }
  int r = 0;
  if (list->terminal != NULL)
    r = print_table(list);
  else
    print_json(&list->scan);
  if (r != 0)
    cli_say("cannot print: %s", uv_strerror(UV_ENOMEM));
  r = r != 0 ? r : cli_flush();
  if (all == 0)
    cli_say("no election under %s", list->once.options->store);
  if (others > 0)
    cli_say("%zu objects under %s hold no record of a leader", others, list->once.options->store);
  return r != 0 ? r : all > 0 && led == all ? 0 : CLI_EXIT_NO_LEADER;
}

int cli_list_failed(const cli_options_t* options, int error, const s3lect_store_result_t* result) {
  if (error != S3LECT_ETOOBIG)
    return cli_store_failed(options, error, result);
  cli_say("more than %d objects under %s: give a longer prefix", CLI_SCAN_MAX, options->store);
  return CLI_EXIT_FAILED;
}

static void on_scanned(cli_scan_t* scan, int error, const s3lect_store_result_t* result) {
  list_t* list = scan->data;
  list->once.exit_code =
      error == 0 ? print(list) : cli_list_failed(list->once.options, error, result);
  cli_scan_free(scan);
  s3lect_store_close(&list->once.store, NULL);
}

static int start(cli_once_t* once) {
  list_t* list = (list_t*)once;
  list->scan = cli_list_scan(once);
  list->scan.cb = on_scanned;
  list->terminal = cli_terminal(once->options);
  return cli_scan_start(&list->scan);
}

int cli_list(const cli_options_t* options) {
  static list_t list;
  return cli_once(&list.once, options, start);
}
