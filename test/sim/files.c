#include "sim/files.h"

#include <string.h>

#include "s3lect/errno.h"

/* The first whose number is not less. */
static size_t lower_bound(const sim_files_t* f, uint64_t number) {
  size_t from = 0, to = f->len;
  while (from < to) {
    size_t mid = from + (to - from) / 2;
    if (f->at[mid].number < number)
      from = mid + 1;
    else
      to = mid;
  }
  return from;
}

/* What is known of that number, deleted or not. */
static const sim_file_t* look_up(const sim_files_t* f, uint64_t number) {
  size_t at = lower_bound(f, number);
  return at < f->len && f->at[at].number == number ? &f->at[at] : NULL;
}

const sim_file_t* sim_files_find(const sim_files_t* f, uint64_t number) {
  const sim_file_t* file = look_up(f, number);
  return file != NULL && file->exists ? file : NULL;
}

const sim_file_t* sim_files_newest(const sim_files_t* f) {
  for (size_t i = f->len; i-- > 0;)
    if (f->at[i].exists)
      return &f->at[i];
  return NULL;
}

size_t sim_files_count(const sim_files_t* f) {
  size_t n = 0;
  for (size_t i = 0; i < f->len; i++)
    n += f->at[i].exists;
  return n;
}

static void forget(sim_files_t* f, size_t i) {
  f->len--;
  memmove(&f->at[i], &f->at[i + 1], (f->len - i) * sizeof f->at[0]);
}

/* Room for another: what was deleted so long ago that no listing shows it, or else the oldest. */
static void make_room(sim_files_t* f, s3l_ns_t t) {
  for (size_t i = f->len; i-- > 0;)
    if (!f->at[i].exists && t - f->at[i].until > f->lag)
      forget(f, i);
  if (f->len == SIM_FILES_MAX)
    forget(f, 0);
}

static sim_file_t* make(sim_files_t* f, s3l_ns_t t, uint64_t number) {
  sim_file_t* known = (sim_file_t*)look_up(f, number);
  if (known == NULL) {
    if (f->len >= SIM_FILES_MAX / 2)
      make_room(f, t);
    size_t at = lower_bound(f, number);
    memmove(&f->at[at + 1], &f->at[at], (f->len - at) * sizeof f->at[0]);
    f->len++;
    known = &f->at[at];
    memset(known, 0, offsetof(sim_file_t, body));
    known->number = number;
    known->born = t;
  }
  if (!known->exists)
    known->since = t;
  known->exists = true;
  return known;
}

static sim_reply_t reply(const sim_store_t* s, s3l_ns_t t, int status) {
  return (sim_reply_t){.status = status, .store_time_ms = sim_store_date(s, t)};
}

sim_reply_t sim_files_get(const sim_files_t* f, const sim_store_t* s, s3l_ns_t t, uint64_t number,
                          const char* etag) {
  const sim_file_t* file = sim_files_find(f, number);
  if (file == NULL)
    return reply(s, t, S3LECT_ENOTFOUND);
  bool same = etag[0] != '\0' && strcmp(etag, file->etag) == 0;
  sim_reply_t r = reply(s, t, same ? S3LECT_ENOTMODIFIED : file->oversized ? S3LECT_ETOOBIG : 0);
  r.has_body = !same;
  r.modified_ms = file->modified_ms;
  return r;
}

sim_file_t* sim_files_set(sim_files_t* f, const sim_store_t* s, s3l_ns_t t, uint64_t number,
                          const char* body, size_t len) {
  sim_file_t* file = make(f, t, number);
  file->oversized = false;
  file->body_len = (uint32_t)len;
  memcpy(file->body, body, len);
  file->modified_ms = sim_store_date(s, t);
  sim_etag(body, len, file->etag);
  return file;
}

static int check(const sim_files_t* f, const sim_store_t* s, uint64_t number,
                 s3lect_condition_t condition, const char* etag, bool bare) {
  const sim_file_t* file = sim_files_find(f, number);
  if (condition == S3LECT_ALWAYS)
    return 0;
  if (condition == S3LECT_IF_ABSENT)
    return file != NULL ? S3LECT_EPRECONDITION : 0;
  if (f->no_if_match)
    return S3LECT_EUNSUPPORTED;
  if (file == NULL)
    return S3LECT_ENOTFOUND;
  bool taken = s->dialect == SIM_TAKES_BOTH || bare == (s->dialect == SIM_TAKES_BARE);
  return taken && strcmp(etag, file->etag) == 0 ? 0 : S3LECT_EPRECONDITION;
}

sim_reply_t sim_files_put(sim_files_t* f, const sim_store_t* s, s3l_ns_t t, uint64_t number,
                          s3lect_condition_t condition, const char* etag, bool bare,
                          const char* body, size_t len) {
  int refusal = check(f, s, number, condition, etag, bare);
  if (refusal == 0)
    (void)sim_files_set(f, s, t, number, body, len);
  return reply(s, t, refusal);
}

void sim_files_list(const sim_files_t* f, s3l_ns_t t, uint64_t after, s3l_listing_t* l,
                    uint64_t* last) {
  uint32_t n = 0;
  s3l_ns_t at = f->blind && t - f->lag > f->blind_from ? f->blind_from : t - f->lag;
  for (size_t i = lower_bound(f, after + 1); i < f->len; i++) {
    const sim_file_t* file = &f->at[i];
    bool shown = file->since <= at && (file->exists || file->until > at);
    if (!shown)
      continue;
    if (n++ == f->page) {
      l->truncated = true;
      return;
    }
    s3l_listing_add(l, file->number, file->modified_ms);
    *last = file->number;
  }
}

void sim_files_delete(sim_files_t* f, s3l_ns_t t, uint64_t number) {
  sim_file_t* file = (sim_file_t*)sim_files_find(f, number);
  if (file == NULL)
    return;
  file->exists = false;
  file->until = t;
}
