#include "status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "session.h"
#include "store.h"
#include "text.h"

#define CLOCK_GRAIN_MS 2000 /* Date and Last-Modified each have a grain of one second */

typedef struct status_s {
  const cli_options_t* options;
  s3lect_store_req_t req;
  int exit_code;
} status_t;

/* What the lockfile says, judged by the store's own clock. */
typedef struct verdict_s {
  const char* state; /* "led", "absent", "released", "expired" */
  s3lect_record_t record;
  int64_t age_ms; /* since the last write */
  bool by_store;  /* age by the store's clock; else by this machine's */
} verdict_t;

static void judge(const cli_options_t* options, const s3lect_store_result_t* result,
                  verdict_t* verdict) {
  const s3lect_record_t* record = &verdict->record;
  verdict->by_store = result->store_time_ms != 0 && result->modified_ms != 0;
  verdict->age_ms = verdict->by_store ? result->store_time_ms - result->modified_ms
                                      : cli_wall_ms() - record->last_updated_ms;
  if (verdict->age_ms < 0)
    verdict->age_ms = 0;
  uint32_t timeout =
      record->leader_timeout_ms != 0 ? record->leader_timeout_ms : options->leader_timeout_ms;
  if (record->released)
    verdict->state = "released";
  else if (verdict->age_ms > (int64_t)timeout + CLOCK_GRAIN_MS)
    verdict->state = "expired";
  else
    verdict->state = "led";
}

static void print_json(const verdict_t* verdict) {
  char line[CLI_EVENT_LINE], when[CLI_TIME_SIZE];
  const s3lect_record_t* record = &verdict->record;
  bool led = strcmp(verdict->state, "led") == 0;
  cli_json_t json;
  cli_json_open(&json, line, sizeof line);
  cli_json_string(&json, "state", verdict->state);
  cli_json_string(&json, "leader", led ? record->leader_id : "");
  if (strcmp(verdict->state, "absent") != 0) {
    cli_json_string(&json, "last_leader", record->leader_id);
    cli_json_string(&json, "address", record->leader_addr);
    cli_json_u64(&json, "epoch", record->epoch);
    if (record->acquired_ms != 0) {
      cli_time(record->acquired_ms, when);
      cli_json_string(&json, "since", when);
    }
    cli_json_i64(&json, "age_ms", verdict->age_ms);
    cli_json_u64(&json, "leader_timeout_ms", record->leader_timeout_ms);
    cli_json_u64(&json, "transitions", record->transitions);
  }
  if (cli_json_close(&json))
    fputs(line, stdout);
}

static void print_leader(const verdict_t* verdict) {
  const s3lect_record_t* record = &verdict->record;
  char since[CLI_TIME_SIZE], span[CLI_SPAN_SIZE];
  printf("leader   %s\n", record->leader_id);
  if (record->leader_addr[0] != '\0')
    printf("address  %s\n", record->leader_addr);
  if (record->epoch != 0)
    printf("epoch    %" PRIu64 "\n", record->epoch);
  if (record->acquired_ms != 0) {
    cli_time(record->acquired_ms, since);
    cli_span(cli_wall_ms() - record->acquired_ms, span);
    printf("since    %s (%s)\n", since, span);
  }
  cli_span(verdict->age_ms, span);
  printf("renewed  %s ago%s\n", span, verdict->by_store ? "" : " (by this machine's clock)");
}

static void print_no_leader(const verdict_t* verdict) {
  char span[CLI_SPAN_SIZE];
  cli_span(verdict->age_ms, span);
  if (strcmp(verdict->state, "absent") == 0)
    printf("no leader: there is no lockfile\n");
  else if (strcmp(verdict->state, "released") == 0)
    printf("no leader: %s released the lockfile %s ago\n", verdict->record.leader_id, span);
  else
    printf("no leader: %s has not renewed the lockfile for %s\n", verdict->record.leader_id, span);
}

static int print(const cli_options_t* options, const verdict_t* verdict) {
  bool led = strcmp(verdict->state, "led") == 0;
  if (options->json)
    print_json(verdict);
  else if (led)
    print_leader(verdict);
  else
    print_no_leader(verdict);
  if (fflush(stdout) != 0) {
    cli_say("cannot write to standard output");
    return CLI_EXIT_FAILED;
  }
  return led ? 0 : CLI_EXIT_NO_LEADER;
}

static int answer(const cli_options_t* options, const s3lect_store_result_t* result) {
  verdict_t verdict = {.state = "absent"};
  int r = result->status;
  if (r == S3LECT_ENOTFOUND)
    return print(options, &verdict);
  if (r == 0)
    r = s3lect_record_parse(result->body, result->body_len, &verdict.record);
  cli_plain(verdict.record.leader_id, strlen(verdict.record.leader_id));
  cli_plain(verdict.record.leader_addr, strlen(verdict.record.leader_addr));
  if (r != 0) {
    bool said = result->status != 0 && result->message != NULL && result->message[0] != '\0';
    cli_say("cannot read %s: %s%s%s%s", options->store, s3lect_strerror(r), said ? " (" : "",
            said ? result->message : "", said ? ")" : "");
    return CLI_EXIT_FAILED;
  }
  judge(options, result, &verdict);
  return print(options, &verdict);
}

static void on_record(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  status_t* status = req->data;
  status->exit_code = answer(status->options, result);
  s3lect_store_close(req->store, NULL);
}

static int read_lockfile(uv_loop_t* loop, const cli_options_t* options) {
  status_t status = {.options = options, .exit_code = CLI_EXIT_FAILED};
  s3lect_store_t store;
  memset(&store, 0, sizeof store);
  int r = cli_store_open(options, loop, &store);
  if (r != 0)
    return CLI_EXIT_FAILED;
  status.req.data = &status;
  status.req.key = options->key;
  status.req.timeout_ms = options->request_timeout_ms;
  status.req.cb = on_record;
  r = store.ops->get(&store, &status.req);
  if (r != 0) {
    cli_say("cannot read %s: %s", options->store, s3lect_strerror(r));
    s3lect_store_close(&store, NULL);
  }
  uv_run(loop, UV_RUN_DEFAULT);
  return status.exit_code;
}

/* An elector's defaults, but not its checks: nobody stands for election here. */
static int fill_in(cli_options_t* options) {
  char message[CLI_MESSAGE_SIZE] = "";
  const cli_options_t plain = {.key = options->key, .id = options->id};
  s3lect_elector_options_t defaults;
  int r = cli_usage(cli_timing(&plain, &defaults, message), message);
  if (r != 0)
    return r;
  if (options->leader_timeout_ms == 0)
    options->leader_timeout_ms = defaults.leader_timeout_ms;
  if (options->request_timeout_ms == 0)
    options->request_timeout_ms = defaults.request_timeout_ms;
  return 0;
}

int cli_status(const cli_options_t* given) {
  uv_loop_t loop;
  cli_options_t filled = *given;
  const cli_options_t* options = &filled;
  if (fill_in(&filled) != 0 || cli_store_check(options) != 0)
    return CLI_EXIT_USAGE;
  int r = uv_loop_init(&loop);
  if (r != 0) {
    cli_say("cannot start: %s", uv_strerror(r));
    return CLI_EXIT_FAILED;
  }
  int exit_code = read_lockfile(&loop, options);
  uv_loop_close(&loop);
  return exit_code;
}
