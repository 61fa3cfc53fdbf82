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

/* Events mostly come log by log: the newest source first. */
static s3l_audit_source_t* find_source(s3l_audit_t* audit, uint32_t log, const event_t* event) {
  for (size_t i = audit->sources_len; i-- > 0;) {
    s3l_audit_source_t* source = &audit->sources[i];
    if (source->log == log && strcmp(source->id, event->id) == 0)
      return source;
  }
  s3l_audit_source_t* grown =
      s3l_grow(audit->sources, audit->sources_len, &audit->sources_cap, sizeof *grown);
  if (grown == NULL)
    return NULL;
  audit->sources = grown;
  s3l_audit_source_t* source = &grown[audit->sources_len++];
  *source = (s3l_audit_source_t){.log = log, .last_ns = INT64_MIN};
  memcpy(source->id, event->id, sizeof source->id);
  source->clock = audit->one_machine ? ONE_CLOCK : ++audit->clocks;
  return source;
}

/* Sets an instant by lease time. */
static void set(s3l_leadership_t* l, s3l_instant_t at, int64_t lease_ns, int64_t ahead_ms) {
  l->lease_ns[at] = lease_ns;
  l->wall_ms[at] = lease_ns / 1000000 + ahead_ms;
}

static int64_t earlier(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* The leadership led at this event for certain, unless its validity had passed. */
static void note_alive(s3l_leadership_t* l, const event_t* event, int64_t ahead_ms) {
  int64_t alive = l != NULL ? earlier(event->lease_ns, l->lease_ns[S3L_LATEST]) : 0;
  if (l != NULL && alive > l->lease_ns[S3L_CERTAIN])
    set(l, S3L_CERTAIN, alive, ahead_ms);
}

/* A process that was stopped before it could tell of its leadership tells of it when it is over. */
static int note_start(s3l_audit_t* audit, s3l_audit_source_t* source, const event_t* event,
                      int64_t ahead_ms) {
  int64_t at = earlier(event->lease_ns, event->valid_until_ns);
  s3l_leadership_t* l = NULL;
  int r = s3l_audit_add(audit, event->id, event->epoch, &l);
  if (r != 0)
    return r;
  l->seen.source = (uint32_t)(source - audit->sources);
  l->clock = source->clock;
  l->start_error_ms = l->error_ms = audit->clock_error_ms;
  set(l, S3L_START, at, ahead_ms);
  set(l, S3L_CERTAIN, at, ahead_ms);
  set(l, S3L_LATEST, event->valid_until_ns, ahead_ms);
  source->open = l;
  return 0;
}

/* Wall time less lease time. Sources of one machine share their wall clock, too, so that both give
 * the same order. */
static int64_t ahead_of(s3l_audit_t* audit, const s3l_audit_source_t* source,
                        const event_t* event) {
  int64_t ahead_ms = event->wall_ms - event->lease_ns / 1000000;
  if (source->clock != ONE_CLOCK)
    return ahead_ms;
  if (audit->ahead_ms == 0)
    audit->ahead_ms = ahead_ms;
  return audit->ahead_ms;
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
  int64_t ahead_ms = ahead_of(audit, source, event);
  if (strcmp(event->kind, "started_leading") == 0)
    return note_start(audit, source, event, ahead_ms);
  s3l_leadership_t* l = source->open;
  bool own = l != NULL && l->seen.epoch == event->epoch;
  if (own && strcmp(event->kind, "renewed") == 0) {
    set(l, S3L_LATEST, event->valid_until_ns, ahead_ms);
  } else if (own && strcmp(event->kind, "stopped_leading") == 0) {
    set(l, S3L_CERTAIN, event->valid_until_ns, ahead_ms);
    set(l, S3L_LATEST, event->valid_until_ns, ahead_ms);
    s3l_audit_set_end(l, true, event->reason);
    source->open = NULL;
  }
  note_alive(source->open, event, ahead_ms);
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
