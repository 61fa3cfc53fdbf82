#include "sim/store.h"

#include <string.h>

#include "s3lect/errno.h"
#include "sim/rnd.h"
#include "util/hex.h"

int64_t sim_store_date(const sim_store_t* s, s3l_ns_t t) {
  int64_t ms = s->unix_ms + sim_clock_read(&s->clock, t) / S3L_MS;
  return ms - ms % 1000;
}

/* The first whose number is not less. */
static size_t lower_bound(const sim_store_t* s, uint64_t number) {
  size_t from = 0, to = s->len;
  while (from < to) {
    size_t mid = from + (to - from) / 2;
    if (s->at[mid].number < number)
      from = mid + 1;
    else
      to = mid;
  }
  return from;
}

const sim_object_t* sim_store_known(const sim_store_t* s, uint64_t number) {
  size_t at = lower_bound(s, number);
  return at < s->len && s->at[at].number == number ? &s->at[at] : NULL;
}

const sim_object_t* sim_store_find(const sim_store_t* s, uint64_t number) {
  const sim_object_t* object = sim_store_known(s, number);
  return object != NULL && object->exists ? object : NULL;
}

const sim_object_t* sim_store_newest(const sim_store_t* s) {
  for (size_t i = s->len; i-- > 0;)
    if (s->at[i].exists)
      return &s->at[i];
  return NULL;
}

size_t sim_store_count(const sim_store_t* s, uint64_t above) {
  size_t n = 0;
  for (size_t i = s->len; i-- > 0 && s->at[i].number > above;)
    n += s->at[i].exists;
  return n;
}

static void forget(sim_store_t* s, size_t i) {
  s->len--;
  memmove(&s->at[i], &s->at[i + 1], (s->len - i) * sizeof s->at[0]);
}

/* Room for another: what was deleted so long ago that no listing shows it, or else the oldest. */
static void make_room(sim_store_t* s, s3l_ns_t t) {
  for (size_t i = s->len; i-- > 0;)
    if (!s->at[i].exists && t - s->at[i].until > s->lag)
      forget(s, i);
  if (s->len == SIM_OBJECTS_MAX)
    forget(s, 0);
}

static sim_object_t* make(sim_store_t* s, s3l_ns_t t, uint64_t number) {
  sim_object_t* known = (sim_object_t*)sim_store_known(s, number);
  if (known == NULL) {
    if (s->len >= SIM_OBJECTS_MAX / 2)
      make_room(s, t);
    size_t at = lower_bound(s, number);
    memmove(&s->at[at + 1], &s->at[at], (s->len - at) * sizeof s->at[0]);
    s->len++;
    known = &s->at[at];
    memset(known, 0, offsetof(sim_object_t, body));
    known->number = number;
    known->born = t;
  }
  if (!known->exists)
    known->since = t;
  known->exists = true;
  return known;
}

sim_reply_t sim_store_get(const sim_store_t* s, s3l_ns_t t, uint64_t number, const char* etag) {
  const sim_object_t* o = sim_store_find(s, number);
  sim_reply_t r = {.status = S3LECT_ENOTFOUND, .store_time_ms = sim_store_date(s, t)};
  if (o == NULL)
    return r;
  bool same = etag[0] != '\0' && strcmp(etag, o->etag) == 0;
  r.status = same ? S3LECT_ENOTMODIFIED : o->oversized ? S3LECT_ETOOBIG : 0;
  r.object = same ? NULL : o;
  r.modified_ms = o->modified_ms;
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

sim_object_t* sim_store_set(sim_store_t* s, s3l_ns_t t, uint64_t number, const char* body,
                            size_t len) {
  sim_object_t* o = make(s, t, number);
  uint64_t h = hash(body, len);
  o->written = t;
  o->oversized = false;
  o->body_len = (uint32_t)len;
  memcpy(o->body, body, len);
  o->modified_ms = sim_store_date(s, t);
  o->etag[0] = '"';
  s3l_hex_encode(&h, sizeof h, o->etag + 1);
  memcpy(o->etag + 17, "\"", 2);
  return o;
}

void sim_store_delete(sim_store_t* s, s3l_ns_t t, uint64_t number) {
  sim_object_t* o = (sim_object_t*)sim_store_find(s, number);
  if (o == NULL)
    return;
  o->exists = false;
  o->until = t;
}

static int check(const sim_store_t* s, uint64_t number, s3lect_condition_t condition,
                 const char* etag, bool bare) {
  const sim_object_t* o = sim_store_find(s, number);
  if (condition == S3LECT_ALWAYS)
    return 0;
  if (condition == S3LECT_IF_ABSENT)
    return o != NULL ? S3LECT_EPRECONDITION : 0;
  if (s->no_if_match)
    return S3LECT_EUNSUPPORTED;
  if (o == NULL)
    return S3LECT_ENOTFOUND;
  bool taken = s->dialect == SIM_TAKES_BOTH || bare == (s->dialect == SIM_TAKES_BARE);
  return taken && strcmp(etag, o->etag) == 0 ? 0 : S3LECT_EPRECONDITION;
}

sim_reply_t sim_store_put(sim_store_t* s, s3l_ns_t t, uint64_t number, s3lect_condition_t condition,
                          const char* etag, bool bare, const char* body, size_t len) {
  sim_reply_t r = {.status = check(s, number, condition, etag, bare),
                   .store_time_ms = sim_store_date(s, t)};
  if (r.status == 0)
    r.object = sim_store_set(s, t, number, body, len);
  return r;
}

void sim_store_list(const sim_store_t* s, s3l_ns_t t, uint64_t after, s3l_listing_t* l,
                    uint64_t* last) {
  uint32_t n = 0;
  s3l_ns_t at = s->blind && t - s->lag > s->blind_from ? s->blind_from : t - s->lag;
  for (size_t i = lower_bound(s, after + 1); i < s->len; i++) {
    const sim_object_t* o = &s->at[i];
    bool shown = o->since <= at && (o->exists || o->until > at);
    if (!shown)
      continue;
    if (n++ == s->page) {
      l->truncated = true;
      return;
    }
    s3l_listing_add(l, o->number, o->modified_ms);
    *last = o->number;
  }
}
