#include "verdict.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

static int64_t age_of(const cli_verdict_t* v, const s3lect_store_result_t* result) {
  int64_t age = v->by_store ? result->store_time_ms - result->modified_ms
                            : cli_wall_ms() - v->record.last_updated_ms;
  return age > 0 ? age : 0;
}

int cli_verdict_read(cli_verdict_t* v, const s3lect_store_result_t* result, uint64_t epoch,
                     uint32_t default_timeout_ms) {
  s3lect_record_t* record = &v->record;
  int r = epoch != 0 ? s3lect_epoch_file_parse(result->body, result->body_len, epoch, record)
                     : s3lect_record_parse(result->body, result->body_len, record);
  if (r != 0)
    return r;
  cli_visible(record->leader_id);
  cli_visible(record->leader_addr);
  if (record->leader_id[0] == '\0')
    snprintf(record->leader_id, S3LECT_ID_SIZE, "(somebody without a name)");
  v->present = true;
  v->by_store = result->store_time_ms != 0 && result->modified_ms != 0;
  v->age_ms = age_of(v, result);
  v->timeout_ms = record->leader_timeout_ms != 0 ? record->leader_timeout_ms : default_timeout_ms;
  return 0;
}

const char* cli_verdict_state(const cli_verdict_t* v, int64_t later_ms) {
  if (!v->present)
    return "absent";
  if (v->record.released)
    return "released";
  if (v->age_ms + later_ms > (int64_t)v->timeout_ms + CLI_CLOCK_GRAIN_MS)
    return "expired";
  return v->record.claim ? "claiming" : "led";
}

bool cli_verdict_is_led(const cli_verdict_t* verdict, int64_t later_ms) {
  return strcmp(cli_verdict_state(verdict, later_ms), "led") == 0;
}

void cli_verdict_json(const cli_verdict_t* v, s3l_buf_t* json) {
  const s3lect_record_t* record = &v->record;
  s3l_json_string(json, "state", cli_verdict_state(v, 0));
  s3l_json_string(json, "leader", cli_verdict_is_led(v, 0) ? record->leader_id : "");
  if (!v->present)
    return;
  s3l_json_string(json, "last_leader", record->leader_id);
  s3l_json_string(json, "address", record->leader_addr);
  s3l_json_u64(json, "epoch", record->epoch);
  s3l_json_string(json, "value", cli_verdict_is_led(v, 0) ? record->value : "");
  if (record->acquired_ms != 0)
    cli_json_time(json, "since", record->acquired_ms);
  s3l_json_i64(json, "age_ms", v->age_ms);
  s3l_json_u64(json, "leader_timeout_ms", record->leader_timeout_ms);
  s3l_json_u64(json, "transitions", record->transitions);
}

cli_view_row_t cli_verdict_row(const cli_verdict_t* v, const char* election, int64_t unchanged_ms,
                               int64_t since_ms) {
  const char* state = cli_verdict_state(v, unchanged_ms);
  bool released = strcmp(state, "released") == 0;
  return (cli_view_row_t){.election = election,
                          .state = state,
                          .leader = v->record.leader_id,
                          .addr = v->record.leader_addr,
                          .value = v->record.value,
                          .epoch = v->record.epoch,
                          .age_ms = v->present ? v->age_ms + since_ms : -1,
                          .left_ms = released ? 0 : v->timeout_ms - v->age_ms - since_ms,
                          .timeout_ms = v->timeout_ms};
}
