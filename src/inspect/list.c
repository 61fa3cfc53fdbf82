/* inspect/list.c: finds and reads all elections under a prefix (s3lect/list.h).
 *
 * The elections are kept in the order of their keys, each in memory of its own, so that what a pass
 * has found stays in place while later passes find more. */
#include "inspect/list.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/epochs.h"
#include "core/record.h"
#include "inspect/bulk.h"
#include "loop/clock.h"
#include "s3lect/elector.h"
#include "util/error.h"
#include "util/list.h"
#include "util/mem.h"
#include "util/versioned.h"

#define FILE_TAIL              (S3L_EPOCHS_TAIL_SIZE - 1)
#define CLOCK_GRAIN_MS         2000 /* Date and Last-Modified each have a grain of one second */
#define LEADER_TIMEOUT_DEFAULT 15000
#define TIMEOUT_DEFAULT        5000

typedef struct election_s {
  s3lect_election_t seen; /* first: s3lect_list_at gives its address */
  bool listed;            /* in this pass, with */
  uint64_t file;          /* the number of its newest epoch file, 0 for a lockfile, and */
  char etag[S3LECT_ETAG_SIZE];
  bool read; /* what was seen is that of the object with */
  uint64_t read_file;
  char read_etag[S3LECT_ETAG_SIZE];
  char key[];
} election_t;

typedef struct run_s {
  s3lect_list_t* list;
  s3lect_list_cb cb; /* NULL while no pass is under way */
  bool freed;
  bool one; /* election only, which is there from the beginning */
  int32_t protocol;
  uint32_t leader_timeout_ms;
  election_t** all; /* in the order of their keys */
  size_t len, cap;
  int64_t listed_ns; /* lease time: when the last listing was complete */
  s3l_bulk_t bulk;
  char prefix[S3L_BULK_KEY_SIZE]; /* of the listing, or the only lockfile */
} run_t;

/* ---- Elections ---- */

static bool is_files(const election_t* e) {
  return e->seen.protocol == S3LECT_PROTOCOL_EPOCHS;
}

/* The place of an election; if it is not known, that where it belongs. */
static size_t find(const run_t* run, s3l_span_t key, bool files, bool* known) {
  size_t from = 0, to = run->len;
  *known = false;
  while (from < to) {
    size_t at = from + (to - from) / 2;
    const election_t* e = run->all[at];
    int order = strncmp(e->key, key.p, key.n);
    if (order == 0)
      order = e->key[key.n] != '\0' ? 1 : is_files(e) - files;
    if (order < 0) {
      from = at + 1;
    } else {
      to = at;
      *known = *known || order == 0;
    }
  }
  return from;
}

static election_t* insert(run_t* run, size_t at, s3l_span_t key, bool files) {
  election_t** all = s3l_grow(run->all, run->len, &run->cap, sizeof(election_t*));
  if (all == NULL)
    return NULL;
  run->all = all;
  election_t* e = s3l_calloc(1, sizeof *e + key.n + 1);
  if (e == NULL)
    return NULL;
  memcpy(e->key, key.p, key.n);
  e->seen.size = sizeof e->seen;
  e->seen.key = e->key;
  e->seen.number = run->len;
  e->seen.protocol = files ? S3LECT_PROTOCOL_EPOCHS : S3LECT_PROTOCOL_LOCKFILE;
  memmove(&all[at + 1], &all[at], (run->len - at) * sizeof *all);
  all[at] = e;
  run->len++;
  return e;
}

/* The number of an epoch file, whose stem then is `key`; else 0. */
static uint64_t epoch_file(s3l_span_t* key) {
  s3l_span_t tail = *key;
  if (tail.n < FILE_TAIL)
    return 0;
  s3l_span_skip(&tail, tail.n - FILE_TAIL);
  uint64_t number = s3l_epochs_number(tail);
  if (number != 0)
    key->n -= FILE_TAIL;
  return number;
}

/* Notes an object of the listing. */
static int on_entry(s3l_bulk_t* bulk, const s3lect_store_entry_t* entry) {
  run_t* run = S3L_CONTAINER_OF(bulk, run_t, bulk);
  s3l_span_t key = s3l_span_cstr(entry->key);
  uint64_t file = epoch_file(&key);
  bool known;
  if (!run->one && strstr(entry->key, ".verify-") != NULL)
    return 0;
  size_t at = find(run, key, file != 0, &known);
  if (!known && run->one)
    return 0;
  if (!known && run->len == S3LECT_LIST_MAX)
    return S3LECT_ETOOBIG;
  election_t* e = known ? run->all[at] : insert(run, at, key, file != 0);
  if (e == NULL)
    return UV_ENOMEM;
  if (e->listed && file < e->file)
    return 0;
  e->listed = true;
  e->file = file;
  if (!s3l_span_copy(s3l_span_cstr(entry->etag), e->etag, sizeof e->etag))
    e->etag[0] = '\0';
  return 0;
}

/* An election whose objects are gone keeps its place, and may come back. */
static size_t on_listed(s3l_bulk_t* bulk) {
  run_t* run = S3L_CONTAINER_OF(bulk, run_t, bulk);
  run->listed_ns = s3l_clock_lease_ns();
  for (size_t i = 0; i < run->len; i++) {
    election_t* e = run->all[i];
    e->read = e->read && e->listed;
    if (!e->listed)
      e->seen.state = S3LECT_ELECTION_ABSENT;
  }
  return run->len;
}

/* ---- Reading ---- */

static bool next_key(s3l_bulk_t* bulk, size_t at, char key[S3L_BULK_KEY_SIZE],
                     const char** version) {
  const run_t* run = S3L_CONTAINER_OF(bulk, run_t, bulk);
  const election_t* e = run->all[at];
  (void)version;
  if (!e->listed || (e->read && e->etag[0] != '\0' && e->file == e->read_file &&
                     strcmp(e->etag, e->read_etag) == 0))
    return false;
  s3l_bulk_key(key, s3l_span_cstr(e->key), e->file);
  return true;
}

/* The state if the object has not changed for so long since it was read. */
static int state_of(const s3lect_election_t* seen, int64_t unchanged_ms) {
  if (seen->record.released)
    return S3LECT_ELECTION_RELEASED;
  if (seen->age_ms + unchanged_ms > (int64_t)seen->leader_timeout_ms + CLOCK_GRAIN_MS)
    return S3LECT_ELECTION_EXPIRED;
  return seen->record.claim ? S3LECT_ELECTION_CLAIMED : S3LECT_ELECTION_LED;
}

static int read_record(const run_t* run, election_t* e, const s3lect_store_result_t* result) {
  s3lect_election_t* seen = &e->seen;
  s3l_span_t body = {result->body != NULL ? result->body : "", result->body_len};
  int r = is_files(e) ? s3l_record_parse_file(body, e->file, &seen->record)
                      : s3l_record_parse(body, &seen->record);
  if (r != 0)
    return r;
  seen->by_store = result->store_time_ms != 0 && result->modified_ms != 0;
  int64_t age = seen->by_store ? result->store_time_ms - result->modified_ms
                               : s3l_clock_wall_ms() - seen->record.last_updated_ms;
  seen->age_ms = age > 0 ? age : 0;
  seen->read_ns = s3l_clock_lease_ns();
  seen->leader_timeout_ms = s3l_or_default(seen->record.leader_timeout_ms, run->leader_timeout_ms);
  seen->state = state_of(seen, 0);
  return 0;
}

/* An object that has gone meanwhile is looked for in the next pass again. */
static int on_object(s3l_bulk_t* bulk, size_t at, const s3lect_store_result_t* result) {
  run_t* run = S3L_CONTAINER_OF(bulk, run_t, bulk);
  election_t* e = run->all[at];
  int r = result->status == 0 ? read_record(run, e, result) : result->status;
  bool foreign = r == S3LECT_ERECORD || r == S3LECT_ETOOBIG;
  if (foreign)
    e->seen.state = S3LECT_ELECTION_FOREIGN;
  else if (r == S3LECT_ENOTFOUND)
    e->seen.state = S3LECT_ELECTION_ABSENT;
  e->read = r == 0 || foreign;
  e->read_file = e->file;
  memcpy(e->read_etag, e->etag, sizeof e->etag);
  return r == S3LECT_ENOTFOUND || (foreign && !run->one) ? 0 : r;
}

static void destroy(run_t* run) {
  for (size_t i = 0; i < run->len; i++)
    s3l_free(run->all[i]);
  s3l_free(run->all);
  s3l_free(run);
}

static void on_end(s3l_bulk_t* bulk, int error, const char* message) {
  run_t* run = S3L_CONTAINER_OF(bulk, run_t, bulk);
  s3lect_list_cb cb = run->cb;
  bool freed = run->freed;
  for (size_t i = 0; i < run->len; i++) {
    const election_t* e = run->all[i];
    int64_t ms = (run->listed_ns - e->seen.read_ns) / 1000000;
    if (e->seen.state != S3LECT_ELECTION_ABSENT && e->seen.state != S3LECT_ELECTION_FOREIGN)
      run->all[i]->seen.state = state_of(&e->seen, ms > 0 ? ms : 0);
  }
  run->cb = NULL;
  cb(run->list, error, message);
  if (freed) /* before the callback, which has not touched it */
    destroy(run);
}

/* ---- The public functions ---- */

static int check(const s3lect_list_options_t* o, s3lect_error_t* error) {
  const char* option = o->lockfile_path != NULL ? "lockfile_path" : "prefix";
  s3l_span_t keys = s3l_span_cstr(o->lockfile_path != NULL ? o->lockfile_path : o->prefix);
  bool files = o->protocol == S3LECT_PROTOCOL_EPOCHS;
  if (o->store == NULL)
    return s3l_error_say(error, S3LECT_EOPTION, "store", NULL, "missing; give the store to read");
  if (o->prefix != NULL && o->lockfile_path != NULL)
    return s3l_error_say(error, S3LECT_EOPTION, "prefix", o->prefix,
                         "give either this or lockfile_path");
  if (!files && o->protocol != S3LECT_PROTOCOL_LOCKFILE)
    return s3l_error_say(error, S3LECT_EOPTION, "protocol", NULL,
                         "%d; it must be an s3lect_protocol_t", (int)o->protocol);
  if (keys.n > S3L_STORE_KEY_MAX - (files ? FILE_TAIL : 0))
    return s3l_error_say(error, S3LECT_EOPTION, option, NULL,
                         "its keys are longer than %d bytes; give a shorter one",
                         S3L_STORE_KEY_MAX);
  if (o->lockfile_path != NULL && keys.n == 0 && !files)
    return s3l_error_say(error, S3LECT_EOPTION, option, "", "must not be empty");
  return 0;
}

int s3l_list_options(const s3lect_list_options_t* given, s3lect_list_options_t* out,
                     s3lect_error_t* error) {
  int err = s3l_versioned_copy(error, "s3lect_list_options", given, out, sizeof *out);
  out->leader_timeout_ms = s3l_or_default(out->leader_timeout_ms, LEADER_TIMEOUT_DEFAULT);
  out->request_timeout_ms = s3l_or_default(out->request_timeout_ms, TIMEOUT_DEFAULT);
  return err != 0 ? err : check(out, error);
}

static int fill(run_t* run, const s3lect_list_options_t* o) {
  static const s3l_bulk_ops_t ops = {on_entry, on_listed, next_key, on_object, on_end};
  const char* path = o->lockfile_path;
  bool files = o->protocol == S3LECT_PROTOCOL_EPOCHS;
  run->one = path != NULL;
  run->leader_timeout_ms = o->leader_timeout_ms;
  run->bulk.ops = &ops;
  run->bulk.store = o->store;
  run->bulk.timeout_ms = o->request_timeout_ms;
  if (path == NULL)
    path = o->prefix != NULL ? o->prefix : "";
  s3l_bulk_prefix(run->prefix, path, run->one && files);
  if (!run->one || files)
    run->bulk.prefix = run->prefix;
  bool there = !run->one || insert(run, 0, s3l_span_cstr(path), files) != NULL;
  return there ? 0 : UV_ENOMEM;
}

int s3lect_list_init(s3lect_list_t* list, const s3lect_list_options_t* options,
                     s3lect_error_t* error) {
  s3lect_list_options_t o;
  s3l_error_clear(error);
  int err = s3l_list_options(options, &o, error);
  if (err != 0)
    return err;
  run_t* run = s3l_calloc(1, sizeof *run);
  err = run != NULL ? fill(run, &o) : UV_ENOMEM;
  if (err != 0) {
    if (run != NULL)
      destroy(run);
    return s3l_error_end(error, err);
  }
  run->list = list;
  list->loop = o.store->loop;
  list->internal = run;
  return 0;
}

int s3lect_list_start(s3lect_list_t* list, s3lect_list_cb cb) {
  run_t* run = list->internal;
  if (run == NULL || cb == NULL)
    return UV_EINVAL;
  if (run->cb != NULL)
    return UV_EBUSY;
  bool always = run->bulk.prefix == NULL;
  for (size_t i = 0; i < run->len; i++)
    run->all[i]->listed = always;
  int err = s3l_bulk_start(&run->bulk);
  if (err == 0)
    run->cb = cb;
  return err;
}

void s3lect_list_cancel(s3lect_list_t* list) {
  run_t* run = list->internal;
  if (run != NULL && run->cb != NULL)
    s3l_bulk_cancel(&run->bulk);
}

const s3lect_election_t* s3lect_list_at(const s3lect_list_t* list, size_t i) {
  const run_t* run = list->internal;
  return run != NULL && i < run->len ? &run->all[i]->seen : NULL;
}

void s3lect_list_free(s3lect_list_t* list) {
  run_t* run = list->internal;
  list->internal = NULL;
  if (run == NULL)
    return;
  run->freed = run->cb != NULL;
  if (run->freed)
    s3l_bulk_cancel(&run->bulk);
  else
    destroy(run);
}

void s3lect_list_options_init(s3lect_list_options_t* options, size_t size) {
  memset(options, 0, size);
  options->size = size;
}

const char* s3lect_election_state_name(int state) {
  static const char* const names[] = {
      [S3LECT_ELECTION_ABSENT] = "absent",    [S3LECT_ELECTION_LED] = "led",
      [S3LECT_ELECTION_CLAIMED] = "claiming", [S3LECT_ELECTION_RELEASED] = "released",
      [S3LECT_ELECTION_EXPIRED] = "expired",  [S3LECT_ELECTION_FOREIGN] = "foreign",
  };
  return state > 0 && (size_t)state < sizeof names / sizeof *names ? names[state] : names[0];
}
