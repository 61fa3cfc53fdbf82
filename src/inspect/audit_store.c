/* inspect/audit_store.c: reads the leaderships that a store remembers: the epoch files of an
 * election, or the versions of a lockfile in a versioned bucket.
 *
 * A file's last write is told by the store's clock, its beginning by the leader's. Its last write
 * is the last sign of the leadership; unless it is the release, validity may last for a leader
 * timeout longer. The versions of a lockfile are in one order, and all times are the store's. */
#include <string.h>

#include "core/epochs.h"
#include "core/record.h"
#include "inspect/audit.h"
#include "inspect/bulk.h"
#include "s3lect/elector.h"
#include "util/list.h"
#include "util/mem.h"

#define SPAN_MAX_MS (INT64_MAX / 4000000) /* 73 years */

/* One object to read. */
typedef struct item_s {
  uint64_t file;           /* the number of an epoch file, */
  char* version;           /* or the version of the lockfile, */
  int64_t modified_ms;     /* when it was written, */
  s3lect_record_t* record; /* and what it held; NULL: no record of a leadership */
} item_t;

struct s3l_audit_read_s {
  s3l_audit_t* audit;
  void (*then)(s3l_audit_t* audit, int error, const char* message);
  bool files;
  uint32_t leader_timeout_ms;
  item_t* items; /* versions: the newest first */
  size_t len, cap;
  s3l_bulk_t bulk;
  size_t path_len; /* of lockfile_path, with which the prefix begins */
  char prefix[S3L_BULK_KEY_SIZE];
};

static int64_t timeout_of(const s3l_audit_read_t* read, const s3lect_record_t* record) {
  return record->leader_timeout_ms != 0 ? record->leader_timeout_ms : read->leader_timeout_ms;
}

static void set_released(s3l_leadership_t* l, const s3lect_record_t* record) {
  s3l_audit_set_end(l, record->released != 0, record->released != 0 ? "released" : "");
}

/* ---- Epoch files ---- */

static int add_file(s3l_audit_read_t* read, const s3lect_record_t* record, int64_t modified_ms) {
  int64_t error = read->audit->clock_error_ms;
  s3l_leadership_t* l = NULL;
  int r = record->claim ? 0 : s3l_audit_add(read->audit, record->leader_id, record->epoch, &l);
  if (r != 0 || l == NULL)
    return r;
  bool by_store = modified_ms != 0;
  int64_t written_ms = by_store ? modified_ms : record->last_updated_ms;
  bool acquired = record->acquired_ms != 0;
  l->error_ms = by_store ? S3L_AUDIT_STORE_ERROR_MS : error;
  l->start_error_ms = acquired ? error : l->error_ms;
  l->wall_ms[S3L_START] = acquired ? record->acquired_ms : written_ms;
  l->wall_ms[S3L_CERTAIN] = l->wall_ms[S3L_LATEST] = written_ms;
  set_released(l, record);
  if (!l->seen.ended)
    l->wall_ms[S3L_LATEST] += timeout_of(read, record);
  return 0;
}

/* ---- Versions of a lockfile ---- */

/* The order of versions is certain, though their times have a grain: the place makes lease times
 * differ. They count from the oldest version, and are bounded, so that differences fit. */
static void set(const s3l_audit_read_t* read, s3l_leadership_t* l, s3l_instant_t at, size_t place,
                int64_t later_ms) {
  const item_t* oldest = &read->items[read->len - 1];
  l->wall_ms[at] = (oldest - place)->modified_ms + later_ms;
  int64_t ms = l->wall_ms[at] - oldest->modified_ms;
  ms = ms > SPAN_MAX_MS ? SPAN_MAX_MS : ms < -SPAN_MAX_MS ? -SPAN_MAX_MS : ms;
  l->lease_ns[at] = ms * 1000000 + (int64_t)place;
}

static bool continues(const s3l_leadership_t* l, const s3lect_record_t* last,
                      const s3lect_record_t* record) {
  return l != NULL && !l->seen.ended && l->seen.epoch == record->epoch &&
         strcmp(last->incarnation, record->incarnation) == 0;
}

/* Validity counts from when a write was sent, and a leader may have promised less to its peers:
 * others may take over a bit earlier than a leader timeout after the write. */
static void prolong(const s3l_audit_read_t* read, s3l_leadership_t* l,
                    const s3lect_record_t* record, size_t place) {
  int64_t ms =
      timeout_of(read, record) * 98 / 100 - read->bulk.timeout_ms - S3L_AUDIT_STORE_ERROR_MS;
  set_released(l, record);
  set(read, l, S3L_CERTAIN, place, 0);
  set(read, l, S3L_LATEST, place, l->seen.ended || ms < 0 ? 0 : ms);
}

static int add_versions(s3l_audit_read_t* read) {
  const s3lect_record_t* last = NULL;
  s3l_leadership_t* l = NULL;
  int r = 0;
  for (size_t place = 0; r == 0 && place < read->len; place++) {
    const s3lect_record_t* record = read->items[read->len - 1 - place].record;
    if (record == NULL || record->claim)
      continue;
    if (!continues(l, last, record)) {
      r = s3l_audit_add(read->audit, record->leader_id, record->epoch, &l);
      if (r != 0)
        break;
      l->clock = 1;
      l->start_error_ms = l->error_ms = S3L_AUDIT_STORE_ERROR_MS;
      set(read, l, S3L_START, place, 0);
    }
    prolong(read, l, record, place);
    last = record;
  }
  return r;
}

/* ---- Reading ---- */

static bool next_key(s3l_bulk_t* bulk, size_t at, char key[S3L_BULK_KEY_SIZE],
                     const char** version) {
  const s3l_audit_read_t* read = S3L_CONTAINER_OF(bulk, s3l_audit_read_t, bulk);
  s3l_bulk_key(key, (s3l_span_t){read->prefix, read->path_len}, read->items[at].file);
  *version = read->items[at].version;
  return true;
}

static int keep(item_t* item, const s3lect_record_t* record) {
  item->record = s3l_malloc(sizeof *record);
  if (item->record == NULL)
    return UV_ENOMEM;
  *item->record = *record;
  return 0;
}

/* A file or version that has been removed meanwhile is an old one. A version that is no record is
 * none of an elector. */
static int on_object(s3l_bulk_t* bulk, size_t at, const s3lect_store_result_t* result) {
  s3l_audit_read_t* read = S3L_CONTAINER_OF(bulk, s3l_audit_read_t, bulk);
  item_t* item = &read->items[at];
  s3l_span_t body = {result->body != NULL ? result->body : "", result->body_len};
  s3lect_record_t record;
  if (result->status != 0)
    return result->status == S3LECT_ENOTFOUND ? 0 : result->status;
  int r = read->files ? s3l_record_parse_file(body, item->file, &record)
                      : s3l_record_parse(body, &record);
  if (read->files)
    return r != 0 ? r : add_file(read, &record, result->modified_ms);
  if (item->modified_ms == 0)
    item->modified_ms = result->modified_ms;
  return r != 0 ? 0 : keep(item, &record);
}

static void destroy(s3l_audit_read_t* read) {
  for (size_t i = 0; i < read->len; i++) {
    s3l_free(read->items[i].version);
    s3l_free(read->items[i].record);
  }
  s3l_free(read->items);
  s3l_free(read);
}

static void on_end(s3l_bulk_t* bulk, int error, const char* message) {
  s3l_audit_read_t* read = S3L_CONTAINER_OF(bulk, s3l_audit_read_t, bulk);
  s3l_audit_t* audit = read->audit;
  int r = error == 0 && !read->files ? add_versions(read) : error;
  audit->read = NULL;
  read->then(audit, r, r == error ? message : s3lect_strerror(r));
  destroy(read);
}

/* ---- Listing ---- */

static item_t* add_item(s3l_audit_read_t* read) {
  item_t* items = s3l_grow(read->items, read->len, &read->cap, sizeof *items);
  if (items == NULL)
    return NULL;
  read->items = items;
  memset(&items[read->len], 0, sizeof *items);
  return &items[read->len++];
}

static int on_file(s3l_bulk_t* bulk, const s3lect_store_entry_t* entry) {
  s3l_audit_read_t* read = S3L_CONTAINER_OF(bulk, s3l_audit_read_t, bulk);
  s3l_span_t tail = s3l_span_cstr(entry->key);
  if (!s3l_span_starts_with(tail, s3l_span_cstr(read->prefix)))
    return 0;
  s3l_span_skip(&tail, read->path_len);
  uint64_t number = s3l_epochs_number(tail);
  item_t* item = number != 0 ? add_item(read) : NULL;
  if (item != NULL)
    item->file = number;
  return number == 0 || item != NULL ? 0 : UV_ENOMEM;
}

/* UV_EOF ends the listing: no more versions are wanted, or other keys follow. */
static int on_version(s3l_bulk_t* bulk, const s3lect_store_entry_t* entry) {
  s3l_audit_read_t* read = S3L_CONTAINER_OF(bulk, s3l_audit_read_t, bulk);
  if (strcmp(entry->key, read->prefix) != 0 || entry->version == NULL)
    return UV_EOF;
  if (read->len == read->audit->max_versions) {
    read->audit->report.more_versions = 1;
    return UV_EOF;
  }
  item_t* item = add_item(read);
  if (item == NULL)
    return UV_ENOMEM;
  item->modified_ms = entry->modified_ms;
  item->version = s3l_strdup(entry->version);
  return item->version != NULL ? 0 : UV_ENOMEM;
}

static size_t on_listed(s3l_bulk_t* bulk) {
  return S3L_CONTAINER_OF(bulk, s3l_audit_read_t, bulk)->len;
}

int s3l_audit_read(s3l_audit_t* audit, const s3lect_list_options_t* election,
                   void (*then)(s3l_audit_t* audit, int error, const char* message)) {
  static const s3l_bulk_ops_t of_files = {on_file, on_listed, next_key, on_object, on_end};
  static const s3l_bulk_ops_t of_versions = {on_version, on_listed, next_key, on_object, on_end};
  s3l_audit_read_t* read = s3l_calloc(1, sizeof *read);
  if (read == NULL)
    return UV_ENOMEM;
  read->audit = audit;
  read->then = then;
  read->files = election->protocol == S3LECT_PROTOCOL_EPOCHS;
  read->leader_timeout_ms = election->leader_timeout_ms;
  read->path_len = strlen(election->lockfile_path);
  s3l_bulk_prefix(read->prefix, election->lockfile_path, read->files);
  read->bulk.ops = read->files ? &of_files : &of_versions;
  read->bulk.store = election->store;
  read->bulk.prefix = read->prefix;
  read->bulk.versions = !read->files;
  read->bulk.timeout_ms = election->request_timeout_ms;
  int r = s3l_bulk_start(&read->bulk);
  if (r == 0)
    audit->read = read;
  else
    destroy(read);
  return r;
}

void s3l_audit_read_cancel(s3l_audit_read_t* read) {
  s3l_bulk_cancel(&read->bulk);
}
