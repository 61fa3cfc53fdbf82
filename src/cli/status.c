#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bulk.h"
#include "events.h"
#include "store.h"
#include "terminal.h"
#include "text.h"
#include "util/timefmt.h"
#include "verdict.h"

typedef struct status_s {
  cli_once_t once; /* first: start is given its address */
  s3lect_store_req_t req;
  cli_listing_t listing;
  char stem[CLI_KEY_SIZE]; /* epoch files: what their keys begin with */
  char key[CLI_KEY_SIZE];  /* the newest */
  uint64_t epoch;
} status_t;

static void print_json(const cli_verdict_t* verdict) {
  char line[CLI_EVENT_LINE];
  s3l_buf_t json;
  cli_json_open(&json, line, sizeof line);
  cli_verdict_json(verdict, &json);
  if (cli_json_close(&json) > 0)
    fputs(line, stdout);
}

static void print_leader(const cli_terminal_t* terminal, const cli_verdict_t* verdict) {
  const s3lect_record_t* record = &verdict->record;
  char since[S3L_TIME_RFC3339_SIZE], span[CLI_SPAN_SIZE];
  printf("leader   %s%s%s\n", cli_style(terminal, CLI_GOOD), record->leader_id,
         cli_style(terminal, CLI_PLAIN));
  if (record->leader_addr[0] != '\0')
    printf("address  %s\n", record->leader_addr);
  if (record->epoch != 0)
    printf("epoch    %" PRIu64 "\n", record->epoch);
  if (record->value[0] != '\0') {
    char value[S3LECT_VALUE_SIZE];
    cli_format(value, sizeof value, "%s", record->value);
    cli_visible(value);
    printf("value    %s\n", value);
  }
  if (record->acquired_ms != 0) {
    (void)s3l_time_format_rfc3339_ms(record->acquired_ms, since);
    cli_span(cli_wall_ms() - record->acquired_ms, span);
    printf("since    %s (%s)\n", since, span);
  }
  cli_span(verdict->age_ms, span);
  printf("renewed  %s ago%s\n", span, verdict->by_store ? "" : " (by this machine's clock)");
}

static void print_no_leader(const cli_options_t* options, const cli_verdict_t* verdict) {
  char span[CLI_SPAN_SIZE];
  const char* what =
      options->elector.protocol == S3LECT_PROTOCOL_EPOCHS ? "epoch file" : "lockfile";
  const cli_terminal_t* terminal = cli_terminal(options);
  const char* state = cli_verdict_state(verdict, 0);
  cli_span(verdict->age_ms, span);
  printf("%sno leader%s: ", cli_style(terminal, CLI_WARN), cli_style(terminal, CLI_PLAIN));
  if (strcmp(state, "absent") == 0)
    printf("there is no %s\n", what);
  else if (strcmp(state, "released") == 0)
    printf("%s released the %s %s ago\n", verdict->record.leader_id, what, span);
  else if (strcmp(state, "claiming") == 0)
    printf("%s claimed the %s %s ago, and waits in case an earlier leader is active\n",
           verdict->record.leader_id, what, span);
  else
    printf("%s has not renewed the %s for %s\n", verdict->record.leader_id, what, span);
}

static int print(const cli_options_t* options, const cli_verdict_t* verdict) {
  bool led = cli_verdict_is_led(verdict, 0);
  if (options->json)
    print_json(verdict);
  else if (led)
    print_leader(cli_terminal(options), verdict);
  else
    print_no_leader(options, verdict);
  int r = cli_flush();
  return r != 0 || led ? r : CLI_EXIT_NO_LEADER;
}

static int answer(const status_t* status, const s3lect_store_result_t* result) {
  const cli_options_t* options = status->once.options;
  cli_verdict_t verdict = {.present = false};
  uint32_t timeout = options->elector.leader_timeout_ms;
  int r = result->status;
  if (r == 0)
    r = cli_verdict_read(&verdict, result, status->epoch,
                         timeout != 0 ? timeout : status->once.defaults.leader_timeout_ms);
  return r == 0 || r == S3LECT_ENOTFOUND ? print(options, &verdict)
                                         : cli_store_failed(options, r, result);
}

static void on_record(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  status_t* status = req->data;
  status->once.exit_code = answer(status, result);
  s3lect_store_close(req->store, NULL);
}

static int get(s3lect_store_t* store, status_t* status, const char* key) {
  status->req.key = key;
  status->req.cb = on_record;
  return s3lect_store_get(store, &status->req);
}

/* ---- Epoch files ---- */

/* Remembers the newest. */
static int take(cli_listing_t* listing, const s3lect_store_entry_t* entry) {
  status_t* status = listing->data;
  const char* prefix = status->once.options->elector.lockfile_path;
  uint64_t epoch = s3lect_epoch_file_number(prefix, entry->key);
  if (epoch > status->epoch) {
    status->epoch = epoch;
    snprintf(status->key, sizeof status->key, "%s", entry->key);
  }
  return 0;
}

static void on_listed(cli_listing_t* listing, int error, const s3lect_store_result_t* result) {
  status_t* status = listing->data;
  const s3lect_store_result_t none = {.size = sizeof none, .status = S3LECT_ENOTFOUND};
  int r = error;
  if (r == 0 && status->epoch != 0)
    r = get(listing->store, status, status->key);
  else if (r == 0)
    r = S3LECT_ENOTFOUND;
  if (r == 0)
    return;
  status->once.exit_code = r == S3LECT_ENOTFOUND
                               ? answer(status, &none)
                               : cli_store_failed(status->once.options, r, result);
  s3lect_store_close(listing->store, NULL);
}

static int list(s3lect_store_t* store, status_t* status) {
  status->listing = (cli_listing_t){.store = store,
                                    .prefix = status->stem,
                                    .timeout_ms = status->req.timeout_ms,
                                    .data = status,
                                    .take = take,
                                    .cb = on_listed};
  return cli_listing_start(&status->listing);
}

static int start(cli_once_t* once) {
  status_t* status = (status_t*)once;
  const s3lect_elector_options_t* elector = &once->options->elector;
  status->req.data = status;
  status->req.timeout_ms = elector->request_timeout_ms != 0 ? elector->request_timeout_ms
                                                            : once->defaults.request_timeout_ms;
  snprintf(status->stem, sizeof status->stem, "%slock-", elector->lockfile_path);
  return elector->protocol == S3LECT_PROTOCOL_EPOCHS
             ? list(&once->store, status)
             : get(&once->store, status, elector->lockfile_path);
}

int cli_status(const cli_options_t* options) {
  static status_t status;
  return cli_once(&status.once, options, start);
}
