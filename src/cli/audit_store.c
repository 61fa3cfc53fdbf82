/* cli/audit_store.c: reads the leaderships that a store remembers: the epoch files of an election,
 * or the versions of a lockfile in a versioned bucket.
 *
 * A file's last write is told by the store's clock, its beginning by the leader's. Its last write
 * is the last sign of the leadership; unless it is the release, validity may last for a leader
 * timeout longer. The versions of a lockfile are in one order, and all times are the store's. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "audit.h"
#include "bulk.h"
#include "store.h"
#include "text.h"
#include "util/mem.h"

/* One object to read, and what it held. */
typedef struct item_s {
  uint64_t epoch; /* of a file, */
  char* version;  /* or the version of the lockfile */
  bool read;
  int64_t modified_ms;
  s3lect_record_t record;
} item_t;

typedef struct source_s {
  cli_once_t once; /* first: start is given its address */
  cli_audit_t* audit;
  cli_listing_t listing;
  cli_reads_t reads;
  item_t* items; /* versions: the newest first */
  size_t len, cap;
  bool full; /* there are more versions than --last */
  char prefix[CLI_KEY_SIZE - 32];
} source_t;

static bool is_files(const source_t* source) {
  return source->once.options->elector.protocol == S3LECT_PROTOCOL_EPOCHS;
}

static uint32_t timeout_of(const source_t* source, const s3lect_record_t* record) {
  uint32_t given = source->once.options->elector.leader_timeout_ms;
  return record->leader_timeout_ms != 0 ? record->leader_timeout_ms
         : given != 0                   ? given
                                        : source->once.defaults.leader_timeout_ms;
}

/* ---- Epoch files ---- */

static int add_file(source_t* source, const item_t* item) {
  const s3lect_record_t* record = &item->record;
  int64_t error = source->once.options->clock_error_ms;
  if (record->claim)
    return 0;
  cli_leadership_t* l = cli_audit_add(source->audit);
  if (l == NULL)
    return UV_ENOMEM;
  bool by_store = item->modified_ms != 0;
  memcpy(l->id, record->leader_id, sizeof l->id);
  l->epoch = record->epoch;
  l->certain = (cli_instant_t){.wall_ms = by_store ? item->modified_ms : record->last_updated_ms,
                               .error_ms = by_store ? CLI_AUDIT_STORE_ERROR_MS : error};
  l->start = l->latest = l->certain;
  if (record->acquired_ms != 0)
    l->start = (cli_instant_t){.wall_ms = record->acquired_ms, .error_ms = error};
  l->ended = record->released != 0;
  snprintf(l->reason, sizeof l->reason, "%s", l->ended ? "released" : "");
  if (!l->ended)
    l->latest.wall_ms += timeout_of(source, record);
  return 0;
}

/* ---- Versions of a lockfile ---- */

/* The order of versions is certain, though their times have a grain: the place makes lease times
 * differ. */
static cli_instant_t instant_of(const item_t* item, size_t place) {
  return (cli_instant_t){.clock = 1,
                         .lease_ns = item->modified_ms * 1000000 + (int64_t)place,
                         .wall_ms = item->modified_ms,
                         .error_ms = CLI_AUDIT_STORE_ERROR_MS};
}

static bool continues(const cli_leadership_t* l, const s3lect_record_t* last,
                      const s3lect_record_t* record) {
  return l != NULL && !l->ended && l->epoch == record->epoch &&
         strcmp(last->incarnation, record->incarnation) == 0;
}

/* Validity counts from when a write was sent, and a leader may have promised less to its peers:
 * others may take over a bit earlier than a leader timeout after the write. */
static void prolong(const source_t* source, cli_leadership_t* l, const item_t* item, size_t place) {
  int64_t ms = (int64_t)timeout_of(source, &item->record) * 98 / 100 -
               source->once.defaults.request_timeout_ms - CLI_AUDIT_STORE_ERROR_MS;
  l->certain = l->latest = instant_of(item, place);
  l->ended = item->record.released != 0;
  snprintf(l->reason, sizeof l->reason, "%s", l->ended ? "released" : "");
  if (l->ended || ms <= 0)
    return;
  l->latest.lease_ns += ms * 1000000;
  l->latest.wall_ms += ms;
}

static int add_versions(source_t* source) {
  const s3lect_record_t* last = NULL;
  bool leads = false;
  for (size_t place = 0; place < source->len; place++) {
    const item_t* item = &source->items[source->len - 1 - place];
    if (!item->read || item->record.claim)
      continue;
    cli_leadership_t* l = leads ? &source->audit->all[source->audit->len - 1] : NULL;
    if (!continues(l, last, &item->record)) {
      l = cli_audit_add(source->audit);
      if (l == NULL)
        return UV_ENOMEM;
      memcpy(l->id, item->record.leader_id, sizeof l->id);
      l->epoch = item->record.epoch;
      l->start = instant_of(item, place);
    }
    prolong(source, l, item, place);
    last = &item->record;
    leads = true;
  }
  return 0;
}

/* ---- Reading ---- */

static bool key_of(cli_reads_t* reads, size_t at, char key[CLI_KEY_SIZE]) {
  const source_t* source = reads->data;
  if (is_files(source))
    snprintf(key, CLI_KEY_SIZE, "%s%010" PRIu64 ".json", source->prefix, source->items[at].epoch);
  else
    snprintf(key, CLI_KEY_SIZE, "%s", source->prefix);
  return true;
}

static const char* version_of(cli_reads_t* reads, size_t at) {
  const source_t* source = reads->data;
  return source->items[at].version;
}

/* A file or version that has been removed meanwhile is an old one. A version that is no record is
 * none of an elector. */
static int take_object(cli_reads_t* reads, size_t at, const s3lect_store_result_t* result) {
  source_t* source = reads->data;
  item_t* item = &source->items[at];
  int r = result->status;
  if (r == S3LECT_ENOTFOUND)
    return 0;
  if (r == 0 && is_files(source))
    r = s3lect_epoch_file_parse(result->body, result->body_len, item->epoch, &item->record);
  else if (r == 0 && s3lect_record_parse(result->body, result->body_len, &item->record) != 0)
    return 0;
  item->read = r == 0;
  if (is_files(source) || item->modified_ms == 0)
    item->modified_ms = result->modified_ms;
  return r;
}

static int add_all(source_t* source) {
  int r = 0;
  if (!is_files(source))
    return add_versions(source);
  for (size_t i = 0; r == 0 && i < source->len; i++)
    if (source->items[i].read)
      r = add_file(source, &source->items[i]);
  return r;
}

static void finish(source_t* source, int error, const s3lect_store_result_t* result) {
  const cli_options_t* options = source->once.options;
  if (error == 0)
    error = add_all(source);
  if (error == 0 && source->full)
    cli_say("only the newest %u versions of %s are read: --last N reads more", options->last,
            options->store);
  source->once.exit_code =
      error == 0
          ? 0
          : cli_store_failed(options, error,
                             result->status != 0 && result->message != NULL ? result->message : "");
  for (size_t i = 0; i < source->len; i++)
    s3l_free(source->items[i].version);
  s3l_free(source->items);
  s3lect_store_close(&source->once.store, NULL);
}

static void on_all_read(cli_reads_t* reads, int error, const s3lect_store_result_t* result) {
  const s3lect_store_result_t none = {.size = sizeof none};
  finish(reads->data, error, result != NULL ? result : &none);
}

/* ---- Listing ---- */

static item_t* add_item(source_t* source) {
  item_t* items = s3l_grow(source->items, source->len, &source->cap, sizeof *items);
  if (items == NULL)
    return NULL;
  source->items = items;
  memset(&items[source->len], 0, sizeof *items);
  return &items[source->len++];
}

static int take_file(cli_listing_t* listing, const s3lect_store_entry_t* entry) {
  source_t* source = listing->data;
  const char* prefix = source->once.options->elector.lockfile_path;
  uint64_t epoch = s3lect_epoch_file_number(prefix, entry->key);
  item_t* item = epoch != 0 ? add_item(source) : NULL;
  if (item != NULL)
    item->epoch = epoch;
  return epoch == 0 || item != NULL ? 0 : UV_ENOMEM;
}

/* UV_EOF ends the listing: no more versions are wanted, or other keys follow. */
static int take_version(cli_listing_t* listing, const s3lect_store_entry_t* entry) {
  source_t* source = listing->data;
  if (strcmp(entry->key, source->prefix) != 0)
    return UV_EOF;
  source->full = source->len == source->once.options->last;
  if (source->full)
    return UV_EOF;
  item_t* item = add_item(source);
  if (item == NULL)
    return UV_ENOMEM;
  item->modified_ms = entry->modified_ms;
  item->version = s3l_strdup(entry->version);
  return item->version != NULL ? 0 : UV_ENOMEM;
}

static void on_listed(cli_listing_t* listing, int error, const s3lect_store_result_t* result) {
  source_t* source = listing->data;
  if (error != 0 && error != UV_EOF) {
    finish(source, error, result);
    return;
  }
  source->reads = (cli_reads_t){.store = listing->store,
                                .timeout_ms = listing->timeout_ms,
                                .len = source->len,
                                .data = source,
                                .key = key_of,
                                .version = version_of,
                                .take = take_object,
                                .cb = on_all_read};
  cli_reads_start(&source->reads);
}

static int start(cli_once_t* once) {
  source_t* source = (source_t*)(void*)once;
  uint32_t timeout = once->options->elector.request_timeout_ms;
  bool files = is_files(source);
  snprintf(source->prefix, sizeof source->prefix, "%s%s", once->options->elector.lockfile_path,
           files ? "lock-" : "");
  source->listing =
      (cli_listing_t){.store = &once->store,
                      .prefix = source->prefix,
                      .versions = !files,
                      .timeout_ms = timeout != 0 ? timeout : once->defaults.request_timeout_ms,
                      .data = source,
                      .take = files ? take_file : take_version,
                      .cb = on_listed};
  return cli_listing_start(&source->listing);
}

int cli_audit_read_store(cli_audit_t* audit, const cli_options_t* options) {
  static source_t source;
  if (options->directory[0] != '\0' && options->elector.protocol != S3LECT_PROTOCOL_EPOCHS) {
    cli_say("--store %.200s: a file has no versions: give event logs", options->store);
    return CLI_EXIT_USAGE;
  }
  source.audit = audit;
  audit->sources = 1;
  return cli_once(&source.once, options, start);
}
