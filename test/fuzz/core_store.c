/* fuzz/core_store.c: see core_world.h. */
#include <stdio.h>

#include "core/record.h"
#include "core_world.h"
#include "s3lect/errno.h"

/* ---- The honest store ---- */

size_t fuzz_core_encode(const s3lect_record_t* record, char body[BODY_MAX]) {
  return (fuzz_core_by_files() ? s3l_record_encode_file : s3l_record_encode)(record, body,
                                                                             BODY_MAX);
}

/* The lockfile (number 0) or epoch file; NULL if there is none. */
static object_t* find(uint64_t number) {
  for (unsigned i = 0; i < OBJECTS_MAX; i++)
    if (w.objects[i].exists && w.objects[i].number == number)
      return &w.objects[i];
  return NULL;
}

static object_t* place_for(uint64_t number) {
  object_t* at = find(number);
  object_t* lowest = &w.objects[0];
  for (unsigned i = 0; i < OBJECTS_MAX && at == NULL; i++)
    if (!w.objects[i].exists)
      at = &w.objects[i];
    else if (w.objects[i].number < lowest->number)
      lowest = &w.objects[i];
  return at != NULL ? at : lowest;
}

static void set_object(uint64_t number, const s3lect_record_t* record) {
  object_t* o = place_for(number);
  o->exists = true;
  o->number = number;
  o->modified_ms = w.wall_ms / 1000 * 1000;
  snprintf(o->etag, sizeof(o->etag), "\"v%u\"", ++w.version);
  o->body_len = fuzz_core_encode(record, o->body);
  FUZZ_CHECK(o->body_len > 0);
}

/* 0 if the write under way was carried out. */
static int land(void) {
  const object_t* o = find(w.file);
  if (w.landed)
    return 0;
  if (!w.plain && (w.etag[0] == '\0' ? o != NULL : o == NULL || strcmp(w.etag, o->etag) != 0))
    return o != NULL ? S3LECT_EPRECONDITION : S3LECT_ENOTFOUND;
  set_object(w.file, &w.record);
  w.landed = true;
  return 0;
}

void fuzz_core_write_of_another(void) {
  s3lect_record_t r;
  memset(&r, 0, sizeof(r));
  unsigned kind = fuzz_u8(&w.in);
  snprintf(r.leader_id, sizeof(r.leader_id), "%s", kind & 1 ? "b" : w.core.config.id);
  snprintf(r.incarnation, sizeof(r.incarnation), "%032x", kind & 2 ? 0xbu : 0xcu);
  r.epoch = w.core.epoch_seen + (kind & 4 ? 1 : 0);
  r.released = (kind & 8) != 0;
  r.leader_timeout_ms = kind & 16 ? 20000 : 0;
  r.last_updated_ms = w.wall_ms;
  r.write = fuzz_u8(&w.in);
  if ((kind & 32) == 0)
    snprintf(r.leader_addr, sizeof(r.leader_addr), "%s", kind & 64 ? "b:2" : "b:1");
  if (kind & 128)
    snprintf(r.successor, sizeof(r.successor), "%s", kind & 64 ? "a" : "c");
  uint64_t number = fuzz_core_by_files() ? r.epoch % S3L_EPOCHS_MAX : 0;
  if (fuzz_core_by_files() && number == 0)
    number = 1;
  set_object(number, &r);
}

/* ---- Replies ---- */

static void end_request(const s3lect_store_result_t* result) {
  fuzz_core_step(&(s3l_event_t){.kind = S3L_EV_DONE, .result = result});
}

static void answer_listing(s3lect_store_result_t* r) {
  s3l_listing_t listing;
  memset(&listing, 0, sizeof(listing));
  uint64_t last = w.file;
  for (bool more = true; more;) { /* in the order of their numbers */
    const object_t* next = NULL;
    for (unsigned i = 0; i < OBJECTS_MAX; i++) {
      const object_t* o = &w.objects[i];
      if (o->exists && o->number > last && (next == NULL || o->number < next->number))
        next = o;
    }
    more = next != NULL;
    if (more)
      s3l_listing_add(&listing, next->number, next->modified_ms);
    last = more ? next->number : last;
  }
  fuzz_core_step(&(s3l_event_t){.kind = S3L_EV_DONE, .result = r, .listing = &listing});
}

void fuzz_core_answer(void) {
  s3lect_store_result_t r = {.store_time_ms = w.wall_ms};
  char etag[sizeof(w.objects[0].etag)];
  if (w.under_way == LISTING) {
    answer_listing(&r);
    return;
  }
  const object_t* o = find(w.file);
  if (w.under_way == READING) {
    if (o == NULL)
      r.status = S3LECT_ENOTFOUND;
    else if (strcmp(w.etag, o->etag) == 0)
      r.status = S3LECT_ENOTMODIFIED;
    else {
      r.body = o->body;
      r.body_len = o->body_len;
    }
  } else if (w.under_way == WRITING) {
    r.status = land();
    o = find(w.file);
  } else {
    return;
  }
  if (o != NULL) {
    snprintf(etag, sizeof(etag), "%s", o->etag);
    r.etag = etag;
    r.modified_ms = o->modified_ms;
  }
  end_request(&r);
}

void fuzz_core_lose_reply(void) {
  if (w.under_way == NOTHING)
    return;
  bool writes = w.under_way == WRITING;
  if (writes && fuzz_u8(&w.in) & 1)
    (void)land();
  s3lect_store_result_t r = {.status = S3LECT_ESERVER,
                             .outcome = writes ? S3LECT_UNCERTAIN : S3LECT_NOT_APPLIED};
  end_request(&r);
}

const char* fuzz_core_lie_about_etag(char buf[200]) {
  unsigned kind = fuzz_u8(&w.in);
  switch (kind % 6) {
  case 0:
    return NULL;
  case 1:
    return "";
  case 2:
    snprintf(buf, 200, "%s", w.core.observed.etag);
    return buf;
  case 3:
    snprintf(buf, 200, "%0*u", 120 + (int)(kind / 16), 7u); /* some are too long */
    return buf;
  default:
    snprintf(buf, 200, "\"e%u\"", kind);
    return buf;
  }
}

s3l_span_t fuzz_core_lie_about_record(char body[BODY_MAX]) {
  s3lect_record_t r;
  memset(&r, 0, sizeof(r));
  unsigned kind = fuzz_u8(&w.in);
  if ((kind & 7) == 7)
    return fuzz_bytes(&w.in, fuzz_u8(&w.in));
  snprintf(r.leader_id, sizeof(r.leader_id), "%s", kind & 1 ? w.core.config.id : "b");
  if (kind & 2)
    snprintf(r.incarnation, sizeof(r.incarnation), "%s", w.core.incarnation);
  r.epoch = kind & 4 ? fuzz_uint(&w.in, 8) >> 1 : w.core.epoch_seen + fuzz_u8(&w.in) % 3 - 1;
  if (r.epoch > UINT64_MAX >> 1)
    r.epoch = 0;
  r.write = kind & 8 ? fuzz_u8(&w.in) : w.core.write;
  r.released = (kind & 16) != 0;
  r.leader_timeout_ms = kind & 32 ? (uint32_t)fuzz_uint(&w.in, 4) % 2419200000u : 0;
  r.renew_interval_ms = kind & 64 ? (uint32_t)fuzz_uint(&w.in, 4) % 2419200000u : 0;
  if (kind & 128)
    snprintf(r.leader_addr, sizeof(r.leader_addr), "b:1");
  return (s3l_span_t){body, fuzz_core_encode(&r, body)};
}

static void lie_about_files(s3l_listing_t* listing) {
  memset(listing, 0, sizeof(*listing));
  unsigned kind = fuzz_u8(&w.in);
  uint64_t number = kind & 1 ? fuzz_uint(&w.in, 8) : w.core.epoch_seen + fuzz_u8(&w.in) % 3;
  for (unsigned i = 0; i < (kind >> 2) % 4; i++)
    s3l_listing_add(listing, (number + i) % (S3L_EPOCHS_MAX + 1),
                    w.wall_ms - 1000 * fuzz_u8(&w.in));
  listing->truncated = (kind & 2) != 0;
}

void fuzz_core_answer_with_lies(void) {
  static const int statuses[] = {0,
                                 S3LECT_ENOTFOUND,
                                 S3LECT_ENOTMODIFIED,
                                 S3LECT_EPRECONDITION,
                                 S3LECT_ECONFLICT,
                                 S3LECT_EDENIED,
                                 S3LECT_ETHROTTLED,
                                 S3LECT_ESERVER,
                                 S3LECT_ETOOBIG,
                                 S3LECT_EETAG,
                                 S3LECT_EUNSUPPORTED,
                                 -110};
  char etag[200];
  char body[BODY_MAX];
  if (w.under_way == NOTHING)
    return;
  s3lect_store_result_t r = {
      .status = statuses[fuzz_u8(&w.in) % (sizeof(statuses) / sizeof(statuses[0]))],
      .outcome = fuzz_u8(&w.in) % 3};
  r.etag = fuzz_core_lie_about_etag(etag);
  s3l_span_t lie = fuzz_core_lie_about_record(body);
  r.body = lie.p;
  r.body_len = lie.n;
  unsigned times = fuzz_u8(&w.in);
  if (times & 1)
    r.store_time_ms = (int64_t)fuzz_uint(&w.in, 8);
  if (times & 2)
    r.modified_ms = (int64_t)fuzz_uint(&w.in, 8);
  if (times & 4)
    r.retry_after_ms = (uint32_t)fuzz_uint(&w.in, 4);
  if (times & 8)
    r.message = "what the store says";
  s3l_listing_t listing;
  if (w.under_way == LISTING && r.status == 0) {
    lie_about_files(&listing);
  }
  fuzz_core_step(
      &(s3l_event_t){.kind = S3L_EV_DONE,
                     .result = &r,
                     .listing = w.under_way == LISTING && r.status == 0 ? &listing : NULL});
}

/* What counts: the lockfile, or the highest epoch file. */
void fuzz_core_remove_object(void) {
  object_t* highest = NULL;
  for (unsigned i = 0; i < OBJECTS_MAX; i++)
    if (w.objects[i].exists && (highest == NULL || w.objects[i].number > highest->number))
      highest = &w.objects[i];
  if (highest != NULL)
    highest->exists = false;
}

void fuzz_core_swept(void) {
  static const int statuses[] = {0, 0, S3LECT_ENOTFOUND, S3LECT_EDENIED, S3LECT_ESERVER};
  if (!w.sweeping)
    return;
  s3lect_store_result_t r = {
      .status = statuses[fuzz_u8(&w.in) % (sizeof(statuses) / sizeof(statuses[0]))]};
  object_t* o = find(w.sweep);
  if (o != NULL && r.status == 0)
    o->exists = false;
  fuzz_core_step(&(s3l_event_t){.kind = S3L_EV_GC_DONE, .result = &r});
}
