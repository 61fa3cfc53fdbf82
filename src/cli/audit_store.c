/* cli/audit_store.c: reads the leaderships that a store remembers: the epoch files of an election.
 *
 * A file's last write is told by the store's clock, its beginning by the leader's. Its last write
 * is the last sign of the leadership; unless it is the release, validity may last for a leader
 * timeout longer. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "audit.h"
#include "bulk.h"
#include "store.h"
#include "terminal.h"
#include "text.h"
#include "util/mem.h"

typedef struct files_s {
  cli_once_t once; /* first: start is given its address */
  cli_audit_t* audit;
  cli_listing_t listing;
  cli_reads_t reads;
  uint64_t* epochs;
  size_t len, cap;
  char stem[CLI_KEY_SIZE - 32]; /* of their keys: KEYlock- */
} files_t;

/* All files are one source: one clock has told of their writes. */
static int add(files_t* files, const s3lect_record_t* record, const s3lect_store_result_t* result) {
  const cli_options_t* options = files->once.options;
  int64_t error = options->clock_error_ms;
  if (record->claim)
    return 0;
  cli_leadership_t* l = cli_audit_add(files->audit);
  if (l == NULL)
    return UV_ENOMEM;
  uint32_t timeout = record->leader_timeout_ms;
  bool by_store = result->modified_ms != 0;
  int64_t written = by_store ? result->modified_ms : record->last_updated_ms;
  memcpy(l->id, record->leader_id, sizeof l->id);
  l->epoch = record->epoch;
  l->certain =
      (cli_instant_t){.wall_ms = written, .error_ms = by_store ? CLI_AUDIT_STORE_ERROR_MS : error};
  l->start = l->latest = l->certain;
  if (record->acquired_ms != 0)
    l->start = (cli_instant_t){.wall_ms = record->acquired_ms, .error_ms = error};
  l->ended = record->released != 0;
  snprintf(l->reason, sizeof l->reason, "%s", l->ended ? "released" : "");
  if (!l->ended)
    l->latest.wall_ms += timeout != 0 ? timeout : files->once.defaults.leader_timeout_ms;
  return 0;
}

static bool key_of(cli_reads_t* reads, size_t at, char key[CLI_KEY_SIZE]) {
  const files_t* files = reads->data;
  snprintf(key, CLI_KEY_SIZE, "%s%010" PRIu64 ".json", files->stem, files->epochs[at]);
  return true;
}

/* A file that a leader has removed meanwhile is an old one. */
static int take_file(cli_reads_t* reads, size_t at, const s3lect_store_result_t* result) {
  files_t* files = reads->data;
  s3lect_record_t record;
  int r = result->status;
  if (r == S3LECT_ENOTFOUND)
    return 0;
  if (r == 0)
    r = s3lect_epoch_file_parse(result->body, result->body_len, files->epochs[at], &record);
  return r != 0 ? r : add(files, &record, result);
}

static void finish(files_t* files, int error, const s3lect_store_result_t* result) {
  files->once.exit_code = error == 0 ? 0 : cli_store_failed(files->once.options, error, result);
  s3l_free(files->epochs);
  s3lect_store_close(&files->once.store, NULL);
}

static void on_all_read(cli_reads_t* reads, int error, const s3lect_store_result_t* result) {
  const s3lect_store_result_t none = {.size = sizeof none};
  finish(reads->data, error, result != NULL ? result : &none);
}

static int take_key(cli_listing_t* listing, const s3lect_store_entry_t* entry) {
  files_t* files = listing->data;
  const char* prefix = files->once.options->elector.lockfile_path;
  uint64_t epoch = s3lect_epoch_file_number(prefix, entry->key);
  if (epoch == 0)
    return 0;
  if (files->len == files->cap) {
    size_t cap = files->cap == 0 ? 64 : files->cap * 2;
    uint64_t* grown = s3l_realloc(files->epochs, cap * sizeof *grown);
    if (grown == NULL)
      return UV_ENOMEM;
    files->epochs = grown;
    files->cap = cap;
  }
  files->epochs[files->len++] = epoch;
  return 0;
}

static void on_listed(cli_listing_t* listing, int error, const s3lect_store_result_t* result) {
  files_t* files = listing->data;
  if (error != 0) {
    finish(files, error, result);
    return;
  }
  files->reads = (cli_reads_t){.store = listing->store,
                               .timeout_ms = listing->timeout_ms,
                               .len = files->len,
                               .data = files,
                               .key = key_of,
                               .take = take_file,
                               .cb = on_all_read};
  cli_reads_start(&files->reads);
}

static int start(cli_once_t* once) {
  files_t* files = (files_t*)(void*)once;
  uint32_t timeout = once->options->elector.request_timeout_ms;
  snprintf(files->stem, sizeof files->stem, "%slock-", once->options->elector.lockfile_path);
  files->listing =
      (cli_listing_t){.store = &once->store,
                      .prefix = files->stem,
                      .timeout_ms = timeout != 0 ? timeout : once->defaults.request_timeout_ms,
                      .data = files,
                      .take = take_key,
                      .cb = on_listed};
  return cli_listing_start(&files->listing);
}

int cli_audit_read_store(cli_audit_t* audit, const cli_options_t* options) {
  static files_t files;
  files.audit = audit;
  audit->sources = 1;
  return cli_once(&files.once, options, start);
}
