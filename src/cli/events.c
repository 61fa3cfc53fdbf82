#include "events.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "terminal.h"
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
  if (event->kind == S3LECT_EVENT_VALUE)
    s3l_json_string(&json, "value", event->value);
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

/* ---- For people ---- */

typedef struct phrase_s {
  cli_style_t style;
  const char* word;
  char text[CLI_LINE_SIZE];
} phrase_t;

static void describe(const s3lect_event_t* event, phrase_t* p) {
  char span[CLI_SPAN_SIZE];
  bool has_addr = event->leader_addr != NULL && event->leader_addr[0] != '\0';
  int64_t until =
      event->kind == S3LECT_EVENT_CLAIMING ? event->takeover_allowed_ns : event->valid_until_ns;
  cli_span((until - s3lect_now_ns()) / 1000000, span);
  switch (event->kind) {
  case S3LECT_EVENT_STARTED_LEADING:
  case S3LECT_EVENT_RENEWED: {
    bool begins = event->kind == S3LECT_EVENT_STARTED_LEADING;
    p->style = begins ? CLI_GOOD : CLI_FAINT;
    p->word = begins ? "leading" : "renewed";
    cli_format(p->text, sizeof p->text, "epoch %" PRIu64 ", valid for %s", event->epoch, span);
    break;
  }
  case S3LECT_EVENT_STOPPED_LEADING:
    p->style = CLI_WARN;
    p->word = "stopped";
    cli_format(p->text, sizeof p->text, "epoch %" PRIu64 ": %s", event->epoch,
               s3lect_reason_name(event->reason));
    break;
  case S3LECT_EVENT_NEW_LEADER:
    p->style = CLI_STRONG;
    p->word = "leader";
    cli_format(p->text, sizeof p->text, "%s%s%s%s, epoch %" PRIu64, event->leader_id,
               has_addr ? " (" : "", has_addr ? event->leader_addr : "", has_addr ? ")" : "",
               event->epoch);
    break;
  case S3LECT_EVENT_ERROR:
    p->style = CLI_BAD;
    p->word = "error";
    cli_format(p->text, sizeof p->text, "%s: %s", s3lect_err_name(event->error),
               event->message != NULL ? event->message : "");
    break;
  case S3LECT_EVENT_CLAIMING:
    p->style = CLI_WARN;
    p->word = "claiming";
    cli_format(p->text, sizeof p->text,
               "no leader was found: waiting %s in case an earlier one is active", span);
    break;
  case S3LECT_EVENT_NO_LEADER:
    p->style = CLI_WARN;
    p->word = "no leader";
    cli_format(p->text, sizeof p->text, "the last epoch is %" PRIu64, event->epoch);
    break;
  case S3LECT_EVENT_VALUE:
    p->word = "value";
    cli_format(p->text, sizeof p->text, "%s%sepoch %" PRIu64,
               event->value[0] != '\0' ? event->value : "none",
               event->value[0] != '\0' ? "; " : ", ", event->epoch);
    break;
  default:
    p->word = s3lect_event_name(event->kind);
  }
}

static size_t format_for_people(const cli_terminal_t* terminal, const s3lect_event_t* event,
                                char line[CLI_EVENT_LINE]) {
  phrase_t phrase = {.style = CLI_PLAIN};
  describe(event, &phrase);
  return cli_terminal_line(terminal, phrase.style, phrase.word, phrase.text, line, CLI_EVENT_LINE);
}

/* ---- Queue ---- */

int cli_events_line(cli_events_t* events, const char* line, size_t len) {
  if (events->view != NULL && cli_view_erase(events->view, events->writer) != 0)
    return UV_ENOBUFS;
  return len > 0 ? cli_writer_line(events->writer, line, len) : UV_ENOBUFS;
}

static int put(cli_events_t* events, const s3lect_event_t* event) {
  char line[CLI_EVENT_LINE];
  size_t len = events->terminal != NULL ? format_for_people(events->terminal, event, line)
                                        : cli_event_format(event, events->id, line);
  return cli_events_line(events, line, len);
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
