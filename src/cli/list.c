/* cli/list.c: `s3lect list` prints all elections under a prefix. */
#include "list.h"

#include <stdio.h>
#include <string.h>

#include "events.h"
#include "terminal.h"
#include "text.h"
#include "util/mem.h"

#define ROW_SIZE 4096 /* bytes of a row, at most */
#define KEY_SIZE 1025 /* the S3 limit on a key, and a NUL */

typedef struct list_s {
  cli_once_t once; /* first: start is given its address */
  s3lect_list_t all;
  const cli_terminal_t* terminal;
} list_t;

int cli_list_begin(cli_once_t* once, s3lect_list_t* list, s3lect_list_cb cb) {
  s3lect_list_options_t options = cli_list_options(once);
  int r = s3lect_list_init(list, &options, NULL);
  if (r == 0)
    r = s3lect_list_start(list, cb);
  if (r != 0)
    s3lect_list_free(list);
  return r;
}

/* ---- list ---- */

static void print_json(const s3lect_election_t* e) {
  char line[CLI_EVENT_LINE + 6 * KEY_SIZE];
  s3l_buf_t json;
  cli_json_open(&json, line, sizeof line);
  s3l_json_string(&json, "election", e->key);
  s3l_json_string(&json, "protocol", e->protocol == S3LECT_PROTOCOL_EPOCHS ? "epochs" : "lockfile");
  cli_election_json(e, &json);
  if (cli_json_close(&json) > 0)
    fputs(line, stdout);
}

cli_view_row_t* cli_list_rows(const s3lect_list_t* list, size_t* len) {
  size_t all = 0;
  while (s3lect_list_at(list, all) != NULL)
    all++;
  cli_view_row_t* rows = s3l_calloc(all + 1, sizeof *rows);
  *len = 0;
  for (size_t i = 0; rows != NULL && i < all; i++) {
    const s3lect_election_t* e = s3lect_list_at(list, i);
    if (cli_election_exists(e))
      rows[(*len)++] = cli_election_row(e);
  }
  return rows;
}

static int print_table(const list_t* list) {
  size_t len = 0;
  cli_view_row_t* rows = cli_list_rows(&list->all, &len);
  size_t size = (len + 2) * ROW_SIZE;
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
  const s3lect_election_t* e;
  for (size_t i = 0; (e = s3lect_list_at(&list->all, i)) != NULL; i++) {
    all += cli_election_exists(e);
    led += cli_election_is_led(e);
    others += e->state == S3LECT_ELECTION_FOREIGN;
    if (list->terminal == NULL && cli_election_exists(e))
      print_json(e);
  }
  int r = list->terminal != NULL ? print_table(list) : 0;
  if (r != 0)
    cli_say("cannot print: %s", uv_strerror(UV_ENOMEM));
  r = r != 0 ? r : cli_flush();
  if (all == 0)
    cli_say("no election under %s", list->once.options->store);
  if (others > 0)
    cli_say("%zu objects under %s hold no record of a leader", others, list->once.options->store);
  return r != 0 ? r : all > 0 && led == all ? 0 : CLI_EXIT_NO_LEADER;
}

int cli_list_failed(const cli_options_t* options, int error, const char* why) {
  if (error != S3LECT_ETOOBIG)
    return cli_store_failed(options, error, why);
  cli_say("more than %d objects under %s: give a longer prefix", S3LECT_LIST_MAX, options->store);
  return CLI_EXIT_FAILED;
}

static void on_listed(s3lect_list_t* all, int error, const char* message) {
  list_t* list = all->data;
  list->once.exit_code =
      error == 0 ? print(list) : cli_list_failed(list->once.options, error, message);
  s3lect_list_free(all);
  s3lect_store_close(&list->once.store, NULL);
}

static int start(cli_once_t* once) {
  list_t* list = (list_t*)(void*)once;
  list->terminal = cli_terminal(once->options);
  list->all.data = list;
  return cli_list_begin(once, &list->all, on_listed);
}

int cli_list(const cli_options_t* options) {
  static list_t list;
  return cli_once(&list.once, options, start);
}
