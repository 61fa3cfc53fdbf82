#include "sim/store.h"

#include <string.h>

#include "s3lect/errno.h"
#include "sim/rnd.h"
#include "util/hex.h"

int64_t sim_store_date(const sim_store_t* s, s3l_ns_t t) {
  int64_t ms = s->unix_ms + sim_clock_read(&s->clock, t) / S3L_MS;
  return ms - ms % 1000;
}

static sim_reply_t reply(const sim_store_t* s, s3l_ns_t t, int status) {
  return (sim_reply_t){.status = status, .store_time_ms = sim_store_date(s, t)};
}

sim_reply_t sim_store_get(const sim_store_t* s, s3l_ns_t t, const char* etag) {
  if (!s->exists)
    return reply(s, t, S3LECT_ENOTFOUND);
  bool same = etag[0] != '\0' && strcmp(etag, s->etag) == 0;
  sim_reply_t r = reply(s, t, same ? S3LECT_ENOTMODIFIED : s->oversized ? S3LECT_ETOOBIG : 0);
  r.has_body = !same;
  r.modified_ms = s->modified_ms;
  return r;
}

/* Eight bytes at a time: this runs once per write of every simulated day. */
static uint64_t hash(const char* p, size_t n) {
  uint64_t h = n;
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t v;
    memcpy(&v, p, 8);
    h = sim_mix(h, v);
  }
  uint64_t v = 0;
  memcpy(&v, p, n);
  return sim_mix(sim_mix(h, v), 1);
}

void sim_etag(const char* body, size_t len, char etag[SIM_ETAG_SIZE]) {
  uint64_t h = hash(body, len);
  etag[0] = '"';
  s3l_hex_encode(&h, sizeof h, etag + 1);
  memcpy(etag + 17, "\"", 2);
}

void sim_store_set(sim_store_t* s, s3l_ns_t t, const char* body, size_t len) {
  s->exists = true;
  s->oversized = false;
  s->body_len = len;
  memcpy(s->body, body, len);
  s->modified_ms = sim_store_date(s, t);
  sim_etag(body, len, s->etag);
}

void sim_store_delete(sim_store_t* s) {
  s->exists = false;
}

sim_reply_t sim_store_put(sim_store_t* s, s3l_ns_t t, const char* etag, bool bare, const char* body,
                          size_t len) {
  if (etag[0] == '\0') {
    if (s->exists)
      return reply(s, t, S3LECT_EPRECONDITION);
  } else {
    if (!s->exists)
      return reply(s, t, S3LECT_ENOTFOUND);
    bool taken = s->dialect == SIM_TAKES_BOTH || bare == (s->dialect == SIM_TAKES_BARE);
    if (!taken || strcmp(etag, s->etag) != 0)
      return reply(s, t, S3LECT_EPRECONDITION);
  }
  sim_store_set(s, t, body, len);
  return reply(s, t, 0);
}
