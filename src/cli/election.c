#include "election.h"

#include <string.h>

#include "terminal.h"
#include "text.h"

bool cli_election_exists(const s3lect_election_t* e) {
  return e->state != S3LECT_ELECTION_ABSENT && e->state != S3LECT_ELECTION_FOREIGN;
}

bool cli_election_is_led(const s3lect_election_t* e) {
  return e->state == S3LECT_ELECTION_LED;
}

const char* cli_election_leader(const s3lect_election_t* e) {
  return e->record.leader_id[0] != '\0' ? e->record.leader_id : "(somebody without a name)";
}

static void put_name(s3l_buf_t* json, const char* member, const char* name) {
  char text[S3LECT_ADDR_SIZE];
  cli_format(text, sizeof text, "%s", name);
  cli_visible(text);
  s3l_json_string(json, member, text);
}

void cli_election_json(const s3lect_election_t* e, s3l_buf_t* json) {
  const s3lect_record_t* record = &e->record;
  bool led = cli_election_is_led(e);
  s3l_json_string(json, "state", s3lect_election_state_name(e->state));
  put_name(json, "leader", led ? cli_election_leader(e) : "");
  if (!cli_election_exists(e))
    return;
  put_name(json, "last_leader", cli_election_leader(e));
  put_name(json, "address", record->leader_addr);
  s3l_json_u64(json, "epoch", record->epoch);
  s3l_json_string(json, "value", led ? record->value : "");
  if (record->acquired_ms != 0)
    cli_json_time(json, "since", record->acquired_ms);
  s3l_json_i64(json, "age_ms", e->age_ms);
  s3l_json_u64(json, "leader_timeout_ms", record->leader_timeout_ms);
  s3l_json_u64(json, "transitions", record->transitions);
}

cli_view_row_t cli_election_row(const s3lect_election_t* e) {
  int64_t age_ms = e->age_ms + (s3lect_now_ns() - e->read_ns) / 1000000;
  bool released = e->state == S3LECT_ELECTION_RELEASED;
  return (cli_view_row_t){.election = e->key,
                          .state = s3lect_election_state_name(e->state),
                          .leader = cli_election_leader(e),
                          .addr = e->record.leader_addr,
                          .value = e->record.value,
                          .epoch = e->record.epoch,
                          .age_ms = age_ms,
                          .left_ms = released ? 0 : e->leader_timeout_ms - age_ms,
                          .timeout_ms = e->leader_timeout_ms};
}
