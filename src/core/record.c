#include "core/record.h"

#include <string.h>

#include "s3lect/errno.h"
#include "util/assert.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/mutant.h"
#include "util/timefmt.h"

/* S3L_RECORD_RELEASED as Unix time. */
#define RELEASED_MS INT64_C(-62135596800000)
/* Everything in a body but the names with their quotes: 153 bytes of keys and punctuation, 166 of
 * numbers, times and the incarnation at their longest. */
#define FIXED_PART_MAX 320

/* Each reader leaves the zero of `record` where the key is absent; false means the wrong type. */

static bool read_string(const s3l_json_t* j, const char* name, char* out, size_t cap) {
  int r = s3l_json_get_string(j, S3L_JSON_ROOT, name, out, cap);
  return r == 0 || r == S3LECT_ENOTFOUND;
}

static bool read_number(const s3l_json_t* j, const char* name, uint64_t max, uint64_t* out) {
  int r = s3l_json_get_u64(j, S3L_JSON_ROOT, name, out);
  return r == S3LECT_ENOTFOUND || (r == 0 && *out <= max);
}

static bool read_duration(const s3l_json_t* j, const char* name, uint64_t max, uint32_t* out) {
  uint64_t ms = 0;
  if (!read_number(j, name, max, &ms))
    return false;
  *out = (uint32_t)ms;
  return true;
}

static bool read_time(const s3l_json_t* j, const char* name, int64_t* ms) {
  char text[64];
  int r = s3l_json_get_string(j, S3L_JSON_ROOT, name, text, sizeof text);
  if (r == S3LECT_ENOTFOUND)
    return true;
  return r == 0 && s3l_time_parse_rfc3339(s3l_span_cstr(text), ms);
}

static bool is_incarnation(const char* s) {
  size_t n = strlen(s);
  return n == 0 || (n == S3LECT_INCARNATION_SIZE - 1 && strspn(s, "0123456789abcdef") == n);
}

bool s3l_record_is_claim(const s3lect_record_t* r) {
  return !r->released && r->transitions == 0 && r->incarnation[0] != '\0';
}

/* A value that is no text, or too long, counts as none: what a leader publishes must not make
 * others take its record for a damaged one. Nobody publishes by a release or by a claim. */
static void read_value(const s3l_json_t* j, s3lect_record_t* r) {
  if (!r->released && !r->claim)
    (void)read_string(j, "value", r->value, sizeof r->value);
}

/* The field of a wrong type or out of range; NULL if there is none. */
static const char* read_fields(const s3l_json_t* j, s3lect_record_t* r) {
  if (!read_string(j, "leaderID", r->leader_id, sizeof r->leader_id))
    return "leaderID";
  if (!read_string(j, "leaderAddr", r->leader_addr, sizeof r->leader_addr))
    return "leaderAddr";
  if (!read_time(j, "lastUpdated", &r->last_updated_ms))
    return "lastUpdated";
  if (!read_number(j, "epoch", S3L_EPOCH_MAX, &r->epoch))
    return "epoch";
  if (!read_string(j, "incarnation", r->incarnation, sizeof r->incarnation) ||
      !is_incarnation(r->incarnation))
    return "incarnation";
  if (!read_number(j, "write", UINT64_MAX, &r->write))
    return "write";
  if (!read_duration(j, "leaderTimeoutMs", S3L_LEADER_TIMEOUT_MS_MAX, &r->leader_timeout_ms))
    return "leaderTimeoutMs";
  if (!read_duration(j, "renewIntervalMs", S3L_DURATION_MS_MAX, &r->renew_interval_ms))
    return "renewIntervalMs";
  if (!read_time(j, "acquired", &r->acquired_ms))
    return "acquired";
  if (!read_number(j, "transitions", S3L_TRANSITIONS_MAX, &r->transitions))
    return "transitions";
  if (!read_string(j, "successor", r->successor, sizeof r->successor))
    return "successor";
  r->released = r->last_updated_ms == RELEASED_MS;
  if (r->released)
    r->last_updated_ms = 0;
  /* A writer that does not count transitions makes no claims. */
  r->claim = s3l_json_has(j, S3L_JSON_ROOT, "transitions") && s3l_record_is_claim(r);
  return NULL;
}

/* The field that a lockfile must have, and this one lacks. */
static const char* read_lockfile(const s3l_json_t* j, s3lect_record_t* r) {
  const char* field = read_fields(j, r);
  if (field == NULL && !s3l_json_has(j, S3L_JSON_ROOT, "lastUpdated"))
    return "lastUpdated";
  read_value(j, r);
  return field == NULL && !r->released && r->leader_id[0] == '\0' ? "leaderID" : field;
}

/* What an epoch file has besides; of other implementations it may have nothing else. */
static const char* read_file(const s3l_json_t* j, s3lect_record_t* r) {
  uint32_t validity_ms = 0;
  bool expired = false;
  const char* field = read_fields(j, r);
  int e = s3l_json_get_bool(j, S3L_JSON_ROOT, "expired", &expired);
  if (field != NULL)
    return field;
  bool tells_end = e == 0; /* without a validity the reader's own leader timeout counts */
  if ((!tells_end && !s3l_json_has(j, S3L_JSON_ROOT, "validity_ms")) ||
      !read_duration(j, "validity_ms", S3L_LEADER_TIMEOUT_MS_MAX, &validity_ms))
    return "validity_ms";
  if (e != 0 && e != S3LECT_ENOTFOUND)
    return "expired";
  if (validity_ms > r->leader_timeout_ms)
    r->leader_timeout_ms = validity_ms;
  r->released = r->released || expired;
  read_value(j, r);
  return NULL;
}

static int parse(s3l_span_t body, bool is_file, s3lect_record_t* r, const char** fault) {
  s3l_json_t j;
  memset(r, 0, sizeof *r);
  *fault = "its size: over 64 KiB";
  if (body.n > S3L_RECORD_BODY_MAX)
    return S3LECT_ETOOBIG;
  *fault = "its JSON";
  if (s3l_json_parse(&j, body) == 0)
    *fault = is_file ? read_file(&j, r) : read_lockfile(&j, r);
  if (*fault == NULL)
    return 0;
  memset(r, 0, sizeof *r);
  return S3LECT_ERECORD;
}

const char* s3l_record_fault(s3l_span_t body, bool is_file) {
  s3lect_record_t record;
  const char* fault;
  return parse(body, is_file, &record, &fault) == 0 ? NULL : fault;
}

int s3l_record_parse(s3l_span_t body, s3lect_record_t* record) {
  const char* fault;
  return parse(body, false, record, &fault);
}

int s3l_record_read(const s3l_json_t* json, s3lect_record_t* record) {
  memset(record, 0, sizeof *record);
  if (read_lockfile(json, record) == NULL)
    return 0;
  memset(record, 0, sizeof *record);
  return S3LECT_ERECORD;
}

int s3l_record_parse_file(s3l_span_t body, uint64_t number, s3lect_record_t* record) {
  const char* fault;
  int e = parse(body, true, record, &fault);
  if (e != 0)
    return e;
  if (record->epoch != number && !S3L_MUTANT(EPOCHS_COPY_BELIEVED)) { /* a copy: nobody owns it */
    memset(record->incarnation, 0, sizeof record->incarnation);
    memset(record->value, 0, sizeof record->value);
    record->claim = 0;
  }
  record->epoch = number;
  return 0;
}

static void put_time(s3l_buf_t* b, const char* key, int64_t ms) {
  char text[S3L_TIME_RFC3339_SIZE];
  if (!s3l_time_format_rfc3339(ms, text))
    (void)s3l_time_format_rfc3339(0, text); /* a wall clock beyond year 9999 is only display */
  s3l_json_string(b, key, text);
}

/* Behind what has been put, up to the closing brace. */
static size_t put_fields(s3l_buf_t* b, const s3lect_record_t* r) {
  s3l_json_string(b, "leaderID", r->leader_id);
  if (r->leader_addr[0] != '\0')
    s3l_json_string(b, "leaderAddr", r->leader_addr);
  if (r->released)
    s3l_json_string(b, "lastUpdated", S3L_RECORD_RELEASED);
  else
    put_time(b, "lastUpdated", r->last_updated_ms);
  s3l_json_u64(b, "epoch", r->epoch);
  s3l_json_string(b, "incarnation", r->incarnation);
  s3l_json_u64(b, "write", r->write);
  s3l_json_u64(b, "leaderTimeoutMs", r->leader_timeout_ms);
  s3l_json_u64(b, "renewIntervalMs", r->renew_interval_ms);
  put_time(b, "acquired", r->acquired_ms);
  s3l_json_u64(b, "transitions", r->transitions);
  if (r->successor[0] != '\0')
    s3l_json_string(b, "successor", r->successor);
  if (r->value[0] != '\0')
    s3l_json_string(b, "value", r->value);
  s3l_buf_puts(b, "}");
  return b->overflow ? 0 : b->len;
}

size_t s3l_record_encode(const s3lect_record_t* r, char* buf, size_t cap) {
  s3l_buf_t b;
  s3l_buf_init(&b, buf, cap);
  s3l_buf_puts(&b, "{");
  return put_fields(&b, r);
}

size_t s3l_record_encode_file(const s3lect_record_t* r, char* buf, size_t cap) {
  s3l_buf_t b;
  s3l_buf_init(&b, buf, cap);
  s3l_buf_putc(&b, '{');
  s3l_json_u64(&b, "validity_ms", r->leader_timeout_ms);
  s3l_json_key(&b, "expired");
  s3l_buf_puts(&b, r->released ? "true" : "false");
  return put_fields(&b, r);
}

/* As it stands in the body, with its quotes. */
static size_t string_size(const char* s) {
  char text[6 * S3LECT_VALUE_SIZE + 2]; /* the longest escape of one byte is six: \u003c */
  s3l_buf_t b;
  s3l_buf_init(&b, text, sizeof text);
  s3l_json_put_string(&b, s3l_span_cstr(s));
  S3L_ASSERT(!b.overflow);
  return b.len;
}

size_t s3l_record_encode_max(const char* leader_id, const char* leader_addr,
                             const char* successor) {
  return FIXED_PART_MAX + string_size(leader_id) + string_size(leader_addr) +
         string_size(successor);
}

size_t s3l_record_value_max(const char* value) {
  return sizeof ",\"value\":" - 1 + string_size(value);
}
