#include "core/trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "s3lect/errno.h"

static const char* status_name(int status, char fallback[16]) {
  switch (status) {
#define XX(name, value, kind, text)                                                                \
  case S3LECT_##name:                                                                              \
    return #name;
    S3LECT_ERRNO_MAP(XX)
#undef XX
  default:
    snprintf(fallback, 16, "%d", status);
    return status == 0 ? "ok" : fallback;
  }
}

static size_t say(char* buf, size_t cap, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

static size_t say(char* buf, size_t cap, const char* format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(buf, cap, format, args);
  va_end(args);
  return n < 0 ? 0 : (size_t)n < cap ? (size_t)n : cap - 1;
}

static size_t trace_done(const s3l_event_t* ev, char* buf, size_t cap) {
  const s3lect_store_result_t* r = ev->result;
  char code[16];
  if (ev->listing != NULL)
    return say(buf, cap, "done listed %" PRIu64 "%s", ev->listing->highest,
               ev->listing->truncated ? " more" : "");
  return say(buf, cap, "done %s%s%s%s", status_name(r->status, code),
             r->outcome == S3LECT_SETTLED     ? ""
             : r->outcome == S3LECT_UNCERTAIN ? " uncertain"
                                              : " not-applied",
             r->etag != NULL ? " " : "", r->etag != NULL ? r->etag : "");
}

static size_t trace_peer(const s3l_peer_result_t* r, char* buf, size_t cap) {
  char code[16];
  if (r->kind == S3L_PEER_NOT_LEADING)
    return say(buf, cap, "peer not-leading");
  if (r->kind == S3L_PEER_FAILED)
    return say(buf, cap, "peer failed %s", status_name(r->status, code));
  return say(buf, cap, "peer leading epoch=%" PRIu64 " n=%" PRIu64 " valid=%" PRId64 "%s%s%s%s",
             r->record->epoch, r->record->write, r->valid_for_ms, r->etag != NULL ? " " : "",
             r->etag != NULL ? r->etag : "", r->authenticated ? " authenticated" : "",
             r->held ? " held" : "");
}

size_t s3l_trace_event(const s3l_event_t* ev, char* buf, size_t cap) {
  static const char* const names[] = {"tick", "start", "done",     "resign",  "stop",
                                      "ack",  "peer",  "transfer", "gc-done", "expired"};
  char code[16];
  switch (ev->kind) {
  case S3L_EV_DONE:
    return trace_done(ev, buf, cap);
  case S3L_EV_PEER:
    return trace_peer(ev->peer, buf, cap);
  case S3L_EV_GC_DONE:
    return say(buf, cap, "gc-done %s", status_name(ev->result->status, code));
  case S3L_EV_TRANSFER:
    return say(buf, cap, "transfer %s", ev->successor);
  default:
    return say(buf, cap, "%s", names[ev->kind]);
  }
}

static size_t trace_note(const s3l_effect_t* e, s3l_ns_t now, char* buf, size_t cap) {
  static const char* const notes[] = {"",      "started",  "stopped",   "new-leader", "renewed",
                                      "error", "claiming", "no-leader", "expiring",   "value"};
  static const char* const reasons[] = {"", "expired", "lost", "resigned", "stopped", "closed"};
  char code[16];
  char valid[32] = "";
  if (e->valid_until > 0)
    snprintf(valid, sizeof valid, " valid=%+.3fs", (double)(e->valid_until - now) / 1e9);
  return say(buf, cap, "notify %s%s%s%s%s epoch=%" PRIu64 "%s", notes[e->note],
             e->reason ? " " : "", reasons[e->reason], e->error ? " " : "",
             e->error ? status_name(e->error, code) : "", e->epoch, valid);
}

size_t s3l_trace_effect(const s3l_effect_t* e, const s3lect_record_t* r, s3l_ns_t now, char* buf,
                        size_t cap) {
  static const char* const conditions[] = {"always", "if-absent", "if-match "};
  char file[32] = "";
  if (e->file > 0)
    (void)snprintf(file, sizeof file, " file=%" PRIu64, e->file);
  switch (e->kind) {
  case S3L_DO_READ:
    return say(buf, cap, "read%s%s%s", file, e->etag[0] ? " if-changed " : "", e->etag);
  case S3L_DO_WRITE:
    return say(buf, cap, "write%s %s%s epoch=%" PRIu64 " n=%" PRIu64 "%s%s%s%s%s%s", file,
               conditions[e->condition], e->etag, r->epoch, r->write, e->granted ? " granted=" : "",
               e->granted ? r->incarnation : "", r->released ? " released" : "",
               r->successor[0] ? " successor=" : "", r->successor, e->disputed ? " disputed" : "");
  case S3L_DO_PROBE:
    return say(buf, cap, "probe wait=%" PRIu32 "%s", e->wait_ms,
               !e->candidacy ? ""
               : r->released ? " withdraws"
                             : " candidacy");
  case S3L_DO_PROBE_CANCEL:
    return say(buf, cap, "probe-cancel");
  case S3L_DO_RELEASED:
    return say(buf, cap, "released");
  case S3L_DO_LIST:
    return say(buf, cap, "list after=%" PRIu64 "%s", e->file, e->more ? " more" : "");
  case S3L_DO_GC:
    return say(buf, cap, "gc%s", file);
  case S3L_DO_GC_CANCEL:
    return say(buf, cap, "gc-cancel");
  case S3L_DO_CANCEL:
    return say(buf, cap, "cancel");
  case S3L_DO_STOPPED:
    return say(buf, cap, "stopped");
  case S3L_DO_NOTIFY:
    return trace_note(e, now, buf, cap);
  }
  return 0;
}
