#include "peer/message.h"

#include <stdio.h>
#include <string.h>

#include "core/record.h"
#include "s3lect/errno.h"
#include "s3lect/version.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/url.h"

#define CANDIDACY "S3lect-Candidacy"

bool s3l_peer_is_path(const char* path) {
  for (size_t i = 0; path[i] != '\0'; i++)
    if ((unsigned char)path[i] <= 0x20 || (unsigned char)path[i] >= 0x7f || path[i] == '#')
      return false;
  return path[0] == '/';
}

bool s3l_peer_address_parse(const char* addr, bool tls, char* host, size_t cap, uint16_t* port) {
  char text[S3LECT_ADDR_SIZE + 8];
  s3l_url_t url;
  int n = snprintf(text, sizeof text, "%s%s", tls ? "https://" : "http://", addr);
  bool whole = n > 0 && (size_t)n < sizeof text && s3l_url_parse(s3l_span_cstr(text), &url, NULL) &&
               url.path.n == 0 && url.query.p == NULL && s3l_span_copy(url.host, host, cap);
  *port = whole ? url.port : 0;
  return whole;
}

/* Writes a record that is to have more members. False if it does not fit. */
static bool begin_record(s3l_buf_t* b, const s3lect_record_t* record, char* buf, size_t cap) {
  size_t n = s3l_record_encode(record, buf, cap);
  s3l_buf_init(b, buf, cap);
  b->len = n > 0 ? n - 1 : 0; /* the brace that ends the record */
  return n > 0;
}

size_t s3l_peer_answer_encode(const s3lect_record_t* record, const char* etag,
                              uint64_t valid_for_ms, char* buf, size_t cap) {
  s3l_buf_t b;
  if (!begin_record(&b, record, buf, cap))
    return 0;
  s3l_json_string(&b, "etag", etag);
  s3l_json_u64(&b, "validForMs", valid_for_ms);
  s3l_buf_putc(&b, '}');
  return b.overflow ? 0 : b.len;
}

/* An ETag is visible ASCII and bytes above it (RFC 9110 section 8.8.3); what else came in its place
 * must not get into a header. */
static bool is_etag(const char* s) {
  for (; *s != '\0'; s++)
    if ((unsigned char)*s <= 0x20 || *s == 0x7f)
      return false;
  return true;
}

static bool read_additions(const s3l_json_t* j, s3l_peer_answer_t* a) {
  uint64_t ms = 0;
  int r = s3l_json_get_string(j, S3L_JSON_ROOT, "etag", a->etag, sizeof a->etag);
  if ((r != 0 && r != S3LECT_ENOTFOUND) || !is_etag(a->etag))
    return false;
  r = s3l_json_get_u64(j, S3L_JSON_ROOT, "validForMs", &ms);
  if ((r != 0 && r != S3LECT_ENOTFOUND) || ms > S3L_DURATION_MS_MAX)
    return false;
  a->valid_for_ms = r == 0 ? (int64_t)ms : -1;
  return true;
}

int s3l_peer_answer_parse(s3l_span_t body, s3l_peer_answer_t* a) {
  s3l_json_t j;
  memset(a, 0, sizeof *a);
  a->valid_for_ms = -1;
  if (body.n > S3L_PEER_ANSWER_MAX)
    return S3LECT_ETOOBIG;
  if (s3l_json_parse(&j, body) == 0 && s3l_record_read(&j, &a->record) == 0 &&
      !a->record.released && a->record.leader_id[0] != '\0' && read_additions(&j, a))
    return 0;
  memset(a, 0, sizeof *a);
  a->valid_for_ms = -1;
  return S3LECT_ERECORD;
}

size_t s3l_peer_candidacy_encode(const s3lect_record_t* record, unsigned priority, char* buf,
                                 size_t cap) {
  s3l_buf_t b;
  if (!begin_record(&b, record, buf, cap))
    return 0;
  s3l_json_u64(&b, "priority", priority);
  s3l_buf_puts(&b, "}");
  s3l_buf_putc(&b, '\0');
  return b.overflow ? 0 : b.len - 1;
}

bool s3l_peer_candidacy_find(const s3l_http_header_t* headers, size_t len, s3l_span_t* out) {
  for (size_t i = 0; i < len; i++)
    if (s3l_span_ieq(headers[i].name, S3L_SPAN(CANDIDACY))) {
      *out = headers[i].value;
      return true;
    }
  return false;
}

bool s3l_peer_candidacy_parse(s3l_span_t text, s3l_peer_candidacy_t* out) {
  s3l_json_t j;
  uint64_t priority = 0;
  memset(out, 0, sizeof *out);
  bool whole = text.n <= S3L_PEER_ANSWER_MAX && s3l_json_parse(&j, text) == 0 &&
               s3l_record_read(&j, &out->record) == 0 && out->record.leader_id[0] != '\0' &&
               out->record.incarnation[0] != '\0' && out->record.write > 0 &&
               s3l_json_get_u64(&j, S3L_JSON_ROOT, "priority", &priority) == 0 && priority >= 1 &&
               priority <= S3L_PRIORITY_MAX;
  out->priority = (uint8_t)priority;
  return whole;
}

size_t s3l_peer_request_encode(const char* host, const char* path, uint32_t wait_ms,
                               const char* candidacy, char* buf, size_t cap) {
  s3l_buf_t b;
  s3l_buf_init(&b, buf, cap);
  s3l_buf_puts(&b, "GET ");
  s3l_buf_puts(&b, path);
  s3l_buf_puts(&b, " HTTP/1.1\r\nHost: ");
  s3l_buf_puts(&b, host);
  s3l_buf_puts(&b, "\r\nAccept: application/json\r\nUser-Agent: s3lect/" S3LECT_VERSION_STRING);
  if (wait_ms >= 1000) {
    s3l_buf_puts(&b, "\r\nPrefer: wait=");
    s3l_buf_u64(&b, wait_ms / 1000);
  }
  if (candidacy != NULL) {
    s3l_buf_puts(&b, "\r\n" CANDIDACY ": ");
    s3l_buf_puts(&b, candidacy);
  }
  s3l_buf_puts(&b, "\r\n\r\n");
  return b.overflow ? 0 : b.len;
}

/* Takes the next preference off a list of them, without its parameters; false at the end. Commas
 * within quotes belong to values. */
static bool next_preference(s3l_span_t* list, s3l_span_t* out) {
  size_t n = 0;
  size_t name_end = SIZE_MAX;
  bool quoted = false;
  if (list->n == 0)
    return false;
  for (; n < list->n && (quoted || list->p[n] != ','); n++) {
    if (list->p[n] == '"')
      quoted = !quoted;
    else if (quoted && list->p[n] == '\\')
      n += n + 1 < list->n;
    else if (!quoted && list->p[n] == ';' && name_end == SIZE_MAX)
      name_end = n;
  }
  *out = s3l_span_trim((s3l_span_t){list->p, name_end < n ? name_end : n});
  n += n < list->n;
  *list = (s3l_span_t){list->p + n, list->n - n};
  return true;
}

/* Splits "name = value"; the value is empty where there is none. */
static void split(s3l_span_t preference, s3l_span_t* name, s3l_span_t* value) {
  const char* eq = memchr(preference.p, '=', preference.n);
  size_t n = eq != NULL ? (size_t)(eq - preference.p) : preference.n;
  *name = s3l_span_trim((s3l_span_t){preference.p, n});
  size_t skip = eq != NULL ? n + 1 : n;
  *value = s3l_span_trim((s3l_span_t){preference.p + skip, preference.n - skip});
  if (value->n >= 2 && value->p[0] == '"' && value->p[value->n - 1] == '"')
    *value = (s3l_span_t){value->p + 1, value->n - 2};
}

/* The value of the preference "wait": of several the first counts, and several fields are as one
 * list (RFC 7240 section 2). */
static bool find_wait(const s3l_http_header_t* headers, size_t len, s3l_span_t field,
                      s3l_span_t* value) {
  for (size_t i = 0; i < len; i++) {
    s3l_span_t list = headers[i].value;
    s3l_span_t preference, name;
    while (s3l_span_ieq(headers[i].name, field) && next_preference(&list, &preference)) {
      split(preference, &name, value);
      if (s3l_span_ieq(name, S3L_SPAN("wait")))
        return true;
    }
  }
  return false;
}

uint32_t s3l_peer_prefer_wait(const s3l_http_header_t* headers, size_t len) {
  s3l_span_t value;
  uint64_t seconds;
  if (!find_wait(headers, len, S3L_SPAN("prefer"), &value) || !s3l_span_to_u64(value, &seconds))
    return 0;
  return seconds < S3L_PEER_WAIT_MAX_S ? (uint32_t)seconds : S3L_PEER_WAIT_MAX_S;
}

bool s3l_peer_wait_applied(const s3l_http_header_t* headers, size_t len) {
  s3l_span_t value;
  return find_wait(headers, len, S3L_SPAN("preference-applied"), &value);
}
