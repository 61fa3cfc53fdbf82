#include "events.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

size_t cli_event_format(const s3lect_event_t* event, const char* id, char line[CLI_EVENT_LINE]) {
  s3l_buf_t json;
  cli_json_open(&json, line, CLI_EVENT_LINE);
  s3l_json_string(&json, "event", s3lect_event_name(event->kind));
  s3l_json_string(&json, "id", id);
  s3l_json_u64(&json, "epoch", event->epoch);
  s3l_json_string(&json, "leader", event->leader_id != NULL ? event->leader_id : "");
  if (event->kind == S3LECT_EVENT_NEW_LEADER)
    s3l_json_string(&json, "addr", event->leader_addr != NULL ? event->leader_addr : "");
  if (event->kind == S3LECT_EVENT_STOPPED_LEADING)
    s3l_json_string(&json, "reason", s3lect_reason_name(event->reason));
  if (event->kind == S3LECT_EVENT_ERROR) {
    char message[CLI_EVENT_MESSAGE];
    cli_format(message, sizeof message, "%s", event->message != NULL ? event->message : "");
    s3l_json_string(&json, "error", s3lect_err_name(event->error));
    s3l_json_string(&json, "message", message);
  }
  cli_json_clocks(&json);
  s3l_json_i64(&json, "valid_until_ns", event->valid_until_ns);
  if (event->kind == S3LECT_EVENT_STARTED_LEADING || event->kind == S3LECT_EVENT_NEW_LEADER ||
      event->kind == S3LECT_EVENT_CLAIMING)
    s3l_json_i64(&json, "legal_ns", event->takeover_allowed_ns);
  cli_json_time(&json, "time", cli_wall_ms());
  return cli_json_close(&json);
}

static int put(cli_events_t* events, const s3lect_event_t* event) {
  char line[CLI_EVENT_LINE];
  size_t len = cli_event_format(event, events->id, line);
  return len > 0 ? cli_writer_line(events->writer, line, len) : UV_ENOBUFS;
}

void cli_events_put(cli_events_t* events, const s3lect_event_t* event) {
  if (events->dropped > 0) {
    char message[CLI_EVENT_MESSAGE];
    s3lect_event_t gap = *event;
    snprintf(message, sizeof message, "events dropped because nobody reads them: %u",
             events->dropped);
    gap.kind = S3LECT_EVENT_ERROR;
    gap.error = UV_ENOBUFS;
    gap.message = message;
    if (put(events, &gap) == 0)
      events->dropped = 0;
  }
  if (events->dropped > 0 || put(events, event) != 0)
    events->dropped++;
}
