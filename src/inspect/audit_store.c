/* inspect/audit_store.c: reads the leaderships that a store remembers: the epoch files of an
 * election, or the versions of a lockfile in a versioned bucket.
 *
 * A file's last write is told by the store's clock, its beginning by the leader's. Its last write
 * is the last sign of the leadership; unless it is the release, validity may last for a leader
 * timeout longer. The versions of a lockfile are in one order, and all times are the store's. */
#include <stdio.h>
#include <string.h>

#include "core/epochs.h"
#include "core/record.h"
#include "inspect/audit.h"
#include "inspect/bulk.h"
#include "s3lect/elector.h"
#include "util/buf.h"
#include "util/mem.h"

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
  char path[S3L_BULK_KEY_SIZE];   /* the lockfile, or what is before the tail of files */
  char prefix[S3L_BULK_KEY_SIZE]; /* of the listing */
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
  l->certain = (s3l_instant_t){.wall_ms = by_store ? modified_ms : record->last_updated_ms,
                               .error_ms = by_store ? S3L_AUDIT_STORE_ERROR_MS : error};
  l->start = l->latest = l->certain;
  if (record->acquired_ms != 0)
    l->start = (s3l_instant_t){.wall_ms = record->acquired_ms, .error_ms = error};
  set_released(l, record);
  if (!l->seen.ended)
    l->latest.wall_ms += timeout_of(read, record);
  return 0;
}

/* ---- Versions of a lockfile ---- */

/* The order of versions is certain, though their times have a grain: the place makes lease times
 * differ. */
static s3l_instant_t instant_of(const item_t* item, size_t place) {
  return (s3l_instant_t){.clock = 1,
                         .lease_ns = item->modified_ms * 1000000 + (int64_t)place,
                         .wall_ms = item->modified_ms,
                         .error_ms = S3L_AUDIT_STORE_ERROR_MS};
}

static bool continues(const s3l_leadership_t* l, const s3lect_record_t* last,
                      const s3lect_record_t* record) {
  return l != NULL && !l->seen.ended && l->seen.epoch == record->epoch &&
         strcmp(last->incarnation, record->incarnation) == 0;
}

/* Validity counts from when a write was sent, and a leader may have promised less to its peers:
 * others may take over a bit earlier than a leader timeout after the write. */
static void prolong(const s3l_audit_read_t* read, s3l_leadership_t* l, const item_t* item,
                    size_t place) {
  int64_t ms =
      timeout_of(read, item->record) * 98 / 100 - read->bulk.timeout_ms - S3L_AUDIT_STORE_ERROR_MS;
  l->certain = l->latest = instant_of(item, place);
  set_released(l, item->record);
  if (l->seen.ended || ms <= 0)
    return;
  l->latest.lease_ns += ms * 1000000;
  l->latest.wall_ms += ms;
}

static int add_versions(s3l_audit_read_t* read) {
  const s3lect_record_t* last = NULL;
  s3l_leadership_t* l = NULL;
  int r = 0;
  for (size_t place = 0; r == 0 && place < read->len; place++) {
    const item_t* item = &read->items[read->len - 1 - place];
    const s3lect_record_t* record = item->record;
    if (record == NULL || record->claim)
      continue;
    if (!continues(l, last, record)) {
      r = s3l_audit_add(read->audit, record->leader_id, record->epoch, &l);
      if (r != 0)
        break;
      l->start = instant_of(item, place);
    }
    prolong(read, l, item, place);
    last = record;
  }
  return r;
}

/* ---- Reading ---- */

static bool next_key(s3l_bulk_t* bulk, size_t at, char key[S3L_BULK_KEY_SIZE],
                     const char** version) {
  const s3l_audit_read_t* read = bulk->data;
  char tail[S3L_EPOCHS_TAIL_SIZE] = "";
  if (read->files)
    s3l_epochs_tail(read->items[at].file, tail);
  s3l_buf_t b;
  s3l_buf_init(&b, key, S3L_BULK_KEY_SIZE);
  s3l_buf_puts(&b, read->path);
  s3l_buf_puts(&b, tail);
  (void)s3l_buf_cstr(&b);
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
  s3l_audit_read_t* read = bulk->data;
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
  s3l_audit_read_t* read = bulk->data;
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
  s3l_audit_read_t* read = bulk->data;
  s3l_span_t tail = s3l_span_cstr(entry->key), path = s3l_span_cstr(read->path);
  if (!s3l_span_starts_with(tail, path))
    return 0;
  s3l_span_skip(&tail, path.n);
  uint64_t number = s3l_epochs_number(tail);
  item_t* item = number != 0 ? add_item(read) : NULL;
  if (item != NULL)
    item->file = number;
  return number == 0 || item != NULL ? 0 : UV_ENOMEM;
}

/* UV_EOF ends the listing: no more versions are wanted, or other keys follow. */
static int on_version(s3l_bulk_t* bulk, const s3lect_store_entry_t* entry) {
  s3l_audit_read_t* read = bulk->data;
  if (strcmp(entry->key, read->path) != 0 || entry->version == NULL)
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
  return ((s3l_audit_read_t*)bulk->data)->len;
}

int s3l_audit_read(s3l_audit_t* audit, const s3lect_list_options_t* election,
                   void (*then)(s3l_audit_t* audit, int error, const char* message)) {
  s3l_audit_read_t* read = s3l_calloc(1, sizeof *read);
  if (read == NULL)
    return UV_ENOMEM;
  read->audit = audit;
  read->then = then;
  read->files = election->protocol == S3LECT_PROTOCOL_EPOCHS;
  read->leader_timeout_ms = election->leader_timeout_ms;
  (void)snprintf(read->path, sizeof read->path, "%s", election->lockfile_path);
  (void)snprintf(read->prefix, sizeof read->prefix, "%s%s", election->lockfile_path,
                 read->files ? S3L_EPOCHS_STEM : "");
  read->bulk = (s3l_bulk_t){.store = election->store,
                            .prefix = read->prefix,
                            .versions = !read->files,
                            .timeout_ms = election->request_timeout_ms,
                            .data = read,
                            .list = read->files ? on_file : on_version,
                            .listed = on_listed,
                            .key = next_key,
                            .take = on_object,
                            .cb = on_end};
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
