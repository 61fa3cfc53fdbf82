/* inspect/audit_log.c: reads the events of `elect` and of `run --events`. */
#include <string.h>
#include <uv.h>

#include "inspect/audit.h"
#include "util/error.h"
#include "util/json.h"
#include "util/mem.h"
#include "util/timefmt.h"

#define ONE_CLOCK 1 /* of one_machine */

/* What an event says that counts. */
typedef struct event_s {
  char kind[32];
  char id[S3LECT_ID_SIZE];
  char reason[32];
  uint64_t epoch;
  int64_t lease_ns, valid_until_ns, wall_ms;
} event_t;

/* ---- Sources ---- */

/* Events come log by log, so that the next source is mostly the last one. */
static s3l_audit_source_t* find_source(s3l_audit_t* audit, uint32_t log, const event_t* event) {
  for (size_t i = 0; i < audit->sources_len; i++) {
    size_t at = (audit->found + i) % audit->sources_len;
    s3l_audit_source_t* source = &audit->sources[at];
    if (source->log == log && strcmp(source->id, event->id) == 0) {
      audit->found = at;
      return source;
    }
  }
  s3l_audit_source_t* grown =
      s3l_grow(audit->sources, audit->sources_len, &audit->sources_cap, sizeof *grown);
  if (grown == NULL)
    return NULL;
  audit->sources = grown;
  audit->found = audit->sources_len++;
  s3l_audit_source_t* source = &grown[audit->found];
  *source = (s3l_audit_source_t){.log = log, .last_ns = INT64_MIN};
  memcpy(source->id, event->id, sizeof source->id);
  source->clock = audit->one_machine ? ONE_CLOCK : ++audit->clocks;
  return source;
}

static s3l_instant_t instant_of(s3l_audit_t* audit, const s3l_audit_source_t* source,
                                const event_t* event, int64_t lease_ns) {
  int64_t ahead_ms = event->wall_ms - event->lease_ns / 1000000;
  if (source->clock == ONE_CLOCK) { /* one wall clock, too, so that both give the same order */
    if (audit->ahead_ms == 0)
      audit->ahead_ms = ahead_ms;
    ahead_ms = audit->ahead_ms;
  }
  return (s3l_instant_t){.clock = source->clock,
                         .lease_ns = lease_ns,
                         .wall_ms = lease_ns / 1000000 + ahead_ms,
                         .error_ms = audit->clock_error_ms};
}

/* The leadership led at this event for certain, unless its validity had passed. */
static void note_alive(s3l_audit_t* audit, s3l_audit_source_t* source, const event_t* event) {
  s3l_leadership_t* l = source->open;
  if (l == NULL)
    return;
  int64_t alive = event->lease_ns < l->latest.lease_ns ? event->lease_ns : l->latest.lease_ns;
  if (alive > l->certain.lease_ns)
    l->certain = instant_of(audit, source, event, alive);
}

/* A process that was stopped before it could tell of its leadership tells of it when it is over. */
static int note_start(s3l_audit_t* audit, s3l_audit_source_t* source, const event_t* event) {
  int64_t at = event->lease_ns < event->valid_until_ns ? event->lease_ns : event->valid_until_ns;
  s3l_leadership_t* l = NULL;
  int r = s3l_audit_add(audit, event->id, event->epoch, &l);
  if (r != 0)
    return r;
  l->seen.source = (uint32_t)(source - audit->sources);
  l->start = l->certain = instant_of(audit, source, event, at);
  l->latest = instant_of(audit, source, event, event->valid_until_ns);
  source->open = l;
  return 0;
}

static int take(s3l_audit_t* audit, uint32_t log, const event_t* event) {
  s3l_audit_source_t* source = find_source(audit, log, event);
  if (source == NULL)
    return UV_ENOMEM;
  if (event->lease_ns < source->last_ns) { /* the machine has been started anew */
    source->clock = ++audit->clocks;
    source->open = NULL;
  }
  source->last_ns = event->lease_ns;
  if (strcmp(event->kind, "started_leading") == 0)
    return note_start(audit, source, event);
  s3l_leadership_t* l = source->open;
  bool own = l != NULL && l->seen.epoch == event->epoch;
  if (own && strcmp(event->kind, "renewed") == 0) {
    l->latest = instant_of(audit, source, event, event->valid_until_ns);
  } else if (own && strcmp(event->kind, "stopped_leading") == 0) {
    l->latest = l->certain = instant_of(audit, source, event, event->valid_until_ns);
    s3l_audit_set_end(l, true, event->reason);
    source->open = NULL;
  }
  note_alive(audit, source, event);
  return 0;
}

/* ---- Lines ---- */

static int refuse(s3lect_error_t* error, const char* what) {
  return s3l_error_say(error, S3LECT_ERECORD, "", NULL, "%s", what);
}

/* An event that says nothing of who leads may lack the rest. */
static int parse(s3l_span_t line, event_t* event, s3lect_error_t* error) {
  s3l_json_t json;
  char time[64];
  memset(event, 0, sizeof *event);
  if (s3l_json_parse(&json, line) != 0 ||
      s3l_json_get_string(&json, S3L_JSON_ROOT, "event", event->kind, sizeof event->kind) != 0)
    return refuse(error, "no event of s3lect elect: give its output, or the file of run --events");
  if (s3l_json_get_string(&json, S3L_JSON_ROOT, "id", event->id, sizeof event->id) != 0 ||
      s3l_json_get_u64(&json, S3L_JSON_ROOT, "epoch", &event->epoch) != 0 ||
      s3l_json_get_i64(&json, S3L_JSON_ROOT, "lease_ns", &event->lease_ns) != 0 ||
      s3l_json_get_i64(&json, S3L_JSON_ROOT, "valid_until_ns", &event->valid_until_ns) != 0 ||
      s3l_json_get_string(&json, S3L_JSON_ROOT, "time", time, sizeof time) != 0 ||
      !s3l_time_parse_rfc3339(s3l_span_cstr(time), &event->wall_ms))
    return refuse(error, "the event lacks id, epoch, lease_ns, valid_until_ns or time: it is "
                         "none of s3lect elect (watch sees leaders only from outside)");
  if (event->lease_ns < 0 || event->valid_until_ns < 0)
    return refuse(error, "the event has a negative lease_ns or valid_until_ns");
  (void)s3l_json_get_string(&json, S3L_JSON_ROOT, "reason", event->reason, sizeof event->reason);
  return 0;
}

int s3l_audit_event(s3l_audit_t* audit, uint32_t log, const char* line, size_t len,
                    s3lect_error_t* error) {
  event_t event;
  int r = parse((s3l_span_t){line, len}, &event, error);
  return r != 0 ? r : take(audit, log, &event);
}
