#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "events.h"
#include "store.h"
#include "text.h"
#include "util/timefmt.h"

#define CLOCK_GRAIN_MS 2000 /* Date and Last-Modified each have a grain of one second */

#define KEY_SIZE       1025 /* the S3 limit on a key, and a NUL */

typedef struct status_s {
  cli_once_t once; /* first: start is given its address */
  s3lect_store_req_t req;
  char stem[KEY_SIZE];  /* epoch files: what their keys begin with */
  char after[KEY_SIZE]; /* where the listing goes on */
  char key[KEY_SIZE];   /* the newest */
  uint64_t epoch;
} status_t;

/* What the lockfile says, by the store's own clock. */
typedef struct verdict_s {
  const char* state; /* "led", "absent", "released", "expired", "claiming" */
  s3lect_record_t record;
  int64_t age_ms; /* since the last write */
  bool by_store;  /* the age is by the store's clock, else by this machine's */
} verdict_t;

static void judge(const cli_once_t* once, const s3lect_store_result_t* result, verdict_t* verdict) {
  const s3lect_record_t* record = &verdict->record;
  verdict->by_store = result->store_time_ms != 0 && result->modified_ms != 0;
  verdict->age_ms = verdict->by_store ? result->store_time_ms - result->modified_ms
                                      : cli_wall_ms() - record->last_updated_ms;
  if (verdict->age_ms < 0)
    verdict->age_ms = 0;
  uint32_t timeout = record->leader_timeout_ms;
  if (timeout == 0)
    timeout = once->options->elector.leader_timeout_ms;
  if (timeout == 0)
    timeout = once->defaults.leader_timeout_ms;
  if (record->released)
    verdict->state = "released";
  else if (verdict->age_ms > (int64_t)timeout + CLOCK_GRAIN_MS)
    verdict->state = "expired";
  else if (record->claim)
    verdict->state = "claiming";
  else
    verdict->state = "led";
}

static void print_json(const verdict_t* verdict) {
  char line[CLI_EVENT_LINE];
  const s3lect_record_t* record = &verdict->record;
  bool led = strcmp(verdict->state, "led") == 0;
  s3l_buf_t json;
  cli_json_open(&json, line, sizeof line);
  s3l_json_string(&json, "state", verdict->state);
  s3l_json_string(&json, "leader", led ? record->leader_id : "");
  if (strcmp(verdict->state, "absent") != 0) {
    s3l_json_string(&json, "last_leader", record->leader_id);
    s3l_json_string(&json, "address", record->leader_addr);
    s3l_json_u64(&json, "epoch", record->epoch);
    if (record->acquired_ms != 0)
      cli_json_time(&json, "since", record->acquired_ms);
    s3l_json_i64(&json, "age_ms", verdict->age_ms);
    s3l_json_u64(&json, "leader_timeout_ms", record->leader_timeout_ms);
    s3l_json_u64(&json, "transitions", record->transitions);
  }
  if (cli_json_close(&json) > 0)
    fputs(line, stdout);
}

static void print_leader(const verdict_t* verdict) {
  const s3lect_record_t* record = &verdict->record;
  char since[S3L_TIME_RFC3339_SIZE], span[CLI_SPAN_SIZE];
  printf("leader   %s\n", record->leader_id);
  if (record->leader_addr[0] != '\0')
    printf("address  %s\n", record->leader_addr);
  if (record->epoch != 0)
    printf("epoch    %" PRIu64 "\n", record->epoch);
  if (record->acquired_ms != 0) {
    (void)s3l_time_format_rfc3339_ms(record->acquired_ms, since);
    cli_span(cli_wall_ms() - record->acquired_ms, span);
    printf("since    %s (%s)\n", since, span);
  }
  cli_span(verdict->age_ms, span);
  printf("renewed  %s ago%s\n", span, verdict->by_store ? "" : " (by this machine's clock)");
}

static void print_no_leader(const cli_options_t* options, const verdict_t* verdict) {
  char span[CLI_SPAN_SIZE];
  const char* what =
      options->elector.protocol == S3LECT_PROTOCOL_EPOCHS ? "epoch file" : "lockfile";
  cli_span(verdict->age_ms, span);
  if (strcmp(verdict->state, "absent") == 0)
    printf("no leader: there is no %s\n", what);
  else if (strcmp(verdict->state, "released") == 0)
    printf("no leader: %s released the %s %s ago\n", verdict->record.leader_id, what, span);
  else if (strcmp(verdict->state, "claiming") == 0)
    printf("no leader: %s claimed the %s %s ago, and waits in case an earlier leader is active\n",
           verdict->record.leader_id, what, span);
  else
    printf("no leader: %s has not renewed the %s for %s\n", verdict->record.leader_id, what, span);
}

static int print(const cli_options_t* options, const verdict_t* verdict) {
  bool led = strcmp(verdict->state, "led") == 0;
  if (options->json)
    print_json(verdict);
  else if (led)
    print_leader(verdict);
  else
    print_no_leader(options, verdict);
  int r = cli_flush();
  return r != 0 || led ? r : CLI_EXIT_NO_LEADER;
}

static int fail(const cli_options_t* options, int error, const s3lect_store_result_t* result) {
  const char* what = s3lect_strerror(error);
  const char* why = result->status != 0 && result->message != NULL ? result->message : "";
  if (why[0] == '\0')
    cli_say("cannot read %s: %s", options->store, what);
  else if (options->directory[0] != '\0' || strstr(why, what) != NULL) /* it says all */
    cli_say("cannot read %s: %s", options->store, why);
  else
    cli_say("cannot read %s: %s (%s)", options->store, what, why);
  return CLI_EXIT_FAILED;
}

static int answer(const status_t* status, const s3lect_store_result_t* result) {
  const cli_options_t* options = status->once.options;
  verdict_t verdict = {.state = "absent"};
  int r = result->status;
  if (r == S3LECT_ENOTFOUND)
    return print(options, &verdict);
  if (r == 0 && status->epoch != 0)
    r = s3lect_epoch_file_parse(result->body, result->body_len, status->epoch, &verdict.record);
  else if (r == 0)
    r = s3lect_record_parse(result->body, result->body_len, &verdict.record);
  if (r != 0)
    return fail(options, r, result);
  s3l_buf_line(verdict.record.leader_id);
  s3l_buf_line(verdict.record.leader_addr);
  if (verdict.record.leader_id[0] == '\0')
    snprintf(verdict.record.leader_id, S3LECT_ID_SIZE, "(somebody without a name)");
  judge(&status->once, result, &verdict);
  return print(options, &verdict);
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

static void on_listed(s3lect_store_req_t* req, const s3lect_store_result_t* result);

static int list(s3lect_store_t* store, status_t* status) {
  status->req.key = status->stem;
  status->req.after = status->after[0] != '\0' ? status->after : NULL;
  status->req.max_keys = 1000;
  status->req.cb = on_listed;
  return s3lect_store_list(store, &status->req);
}

/* Remembers the newest file of a page, and where the next page begins. False if that is not after
 * this page's beginning: the listing would never end. */
static bool take_page(status_t* status, const s3lect_store_result_t* result) {
  const char* last = "";
  for (size_t i = 0; i < result->entries_len; i++) {
    last = result->entries[i].key;
    uint64_t epoch = s3lect_epoch_file_number(status->once.options->elector.lockfile_path, last);
    if (epoch > status->epoch && strlen(last) < KEY_SIZE) {
      status->epoch = epoch;
      memcpy(status->key, last, strlen(last) + 1);
    }
  }
  if (strlen(last) >= KEY_SIZE || strcmp(last, status->after) <= 0)
    return false;
  memcpy(status->after, last, strlen(last) + 1);
  return true;
}

static void on_listed(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  status_t* status = req->data;
  s3lect_store_t* store = req->store;
  const s3lect_store_result_t none = {.size = sizeof none, .status = S3LECT_ENOTFOUND};
  int r = result->status;
  bool further = r == 0 && take_page(status, result);
  if (r == 0 && result->truncated != 0)
    r = further ? list(store, status) : S3LECT_ELISTING;
  else if (r == 0 && status->epoch != 0)
    r = get(store, status, status->key);
  else if (r == 0)
    r = S3LECT_ENOTFOUND;
  if (r == 0)
    return;
  status->once.exit_code =
      r == S3LECT_ENOTFOUND ? answer(status, &none) : fail(status->once.options, r, result);
  s3lect_store_close(store, NULL);
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
