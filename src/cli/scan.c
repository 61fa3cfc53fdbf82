#include "scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/mem.h"

#define FILE_TAIL (sizeof "lock-0000000042.json" - 1)

/* ---- Elections ---- */

/* The number of an epoch file; then `len` is the length of its stem. Else 0. */
static uint64_t epoch_file(const char* key, size_t* len) {
  char stem[CLI_KEY_SIZE];
  size_t n = strlen(key);
  if (n < FILE_TAIL || n >= sizeof stem)
    return 0;
  memcpy(stem, key, n - FILE_TAIL);
  stem[n - FILE_TAIL] = '\0';
  uint64_t number = s3lect_epoch_file_number(stem, key);
  if (number != 0)
    *len = n - FILE_TAIL;
  return number;
}

/* Listings come in one order, so that the next one found is mostly the one after the last. */
static cli_election_t* find(cli_scan_t* scan, const char* key, size_t len, bool files) {
  for (size_t i = 0; i < scan->len; i++) {
    size_t at = (scan->found + i) % scan->len;
    cli_election_t* e = &scan->all[at];
    if (e->files == files && strncmp(e->key, key, len) == 0 && e->key[len] == '\0') {
      scan->found = at;
      return e;
    }
  }
  return NULL;
}

static cli_election_t* add(cli_scan_t* scan, const char* key, size_t len) {
  cli_election_t* all = s3l_grow(scan->all, scan->len, &scan->cap, sizeof *all);
  if (all == NULL)
    return NULL;
  scan->all = all;
  cli_election_t* e = &all[scan->len];
  memset(e, 0, sizeof *e);
  e->key = s3l_malloc(len + 1);
  if (e->key == NULL)
    return NULL;
  memcpy(e->key, key, len);
  e->key[len] = '\0';
  scan->len++;
  return e;
}

/* Notes an object of the listing. */
static int note(cli_listing_t* listing, const s3lect_store_entry_t* entry) {
  cli_scan_t* scan = listing->data;
  size_t len = strlen(entry->key);
  uint64_t epoch = epoch_file(entry->key, &len);
  if (strstr(entry->key, ".verify-") != NULL)
    return 0;
  cli_election_t* e = find(scan, entry->key, len, epoch != 0);
  if (e == NULL && scan->len == CLI_SCAN_MAX)
    return S3LECT_ETOOBIG;
  if (e == NULL)
    e = add(scan, entry->key, len);
  if (e == NULL)
    return UV_ENOMEM;
  e->files = epoch != 0;
  if (e->listed && epoch < e->epoch)
    return 0;
  e->listed = true;
  e->epoch = epoch;
  snprintf(e->etag, sizeof e->etag, "%s", entry->etag != NULL ? entry->etag : "");
  return 0;
}

static bool is_stale(const cli_election_t* e) {
  return e->listed && (!e->read || e->etag[0] == '\0' || e->epoch != e->read_epoch ||
                       strcmp(e->etag, e->read_etag) != 0);
}

/* An election whose objects are gone keeps its place, and may come back. */
static void drop_unlisted(cli_scan_t* scan) {
  for (size_t i = 0; i < scan->len; i++) {
    cli_election_t* e = &scan->all[i];
    if (e->listed)
      continue;
    e->verdict.present = e->other = e->read = false;
  }
}

/* ---- Reading ---- */

static bool key_of(cli_reads_t* reads, size_t at, char key[CLI_KEY_SIZE]) {
  const cli_scan_t* scan = reads->data;
  const cli_election_t* e = &scan->all[at];
  char file[FILE_TAIL + 16] = "";
  if (e->files)
    snprintf(file, sizeof file, "lock-%010" PRIu64 ".json", e->epoch);
  snprintf(key, CLI_KEY_SIZE, "%s%s", e->key, file);
  return is_stale(e);
}

/* An object that has gone meanwhile is looked for in the next pass again. */
static int take(cli_reads_t* reads, size_t at, const s3lect_store_result_t* result) {
  cli_scan_t* scan = reads->data;
  cli_election_t* e = &scan->all[at];
  int r = result->status;
  e->verdict.present = false;
  if (r == 0)
    r = cli_verdict_read(&e->verdict, result, e->epoch, scan->default_timeout_ms);
  e->other = r == S3LECT_ERECORD || r == S3LECT_ETOOBIG;
  e->read = r == 0 || e->other;
  e->read_ns = s3lect_now_ns();
  e->read_epoch = e->epoch;
  memcpy(e->read_etag, e->etag, sizeof e->etag);
  return e->read || r == S3LECT_ENOTFOUND ? 0 : r;
}

static void on_all_read(cli_reads_t* reads, int error, const s3lect_store_result_t* result) {
  cli_scan_t* scan = reads->data;
  const s3lect_store_result_t none = {.size = sizeof none};
  scan->cb(scan, error, result != NULL ? result : &none);
}

static void on_listed(cli_listing_t* listing, int error, const s3lect_store_result_t* result) {
  cli_scan_t* scan = listing->data;
  if (error != 0) {
    scan->cb(scan, error, result);
    return;
  }
  scan->listed_ns = s3lect_now_ns();
  drop_unlisted(scan);
  scan->reads = (cli_reads_t){.store = scan->store,
                              .timeout_ms = scan->timeout_ms,
                              .len = scan->len,
                              .data = scan,
                              .key = key_of,
                              .take = take,
                              .cb = on_all_read};
  cli_reads_start(&scan->reads);
}

int cli_scan_start(cli_scan_t* scan) {
  for (size_t i = 0; i < scan->len; i++)
    scan->all[i].listed = false;
  scan->listing = (cli_listing_t){.store = scan->store,
                                  .prefix = scan->prefix,
                                  .timeout_ms = scan->timeout_ms,
                                  .data = scan,
                                  .take = note,
                                  .cb = on_listed};
  return cli_listing_start(&scan->listing);
}

void cli_scan_free(cli_scan_t* scan) {
  for (size_t i = 0; i < scan->len; i++)
    s3l_free(scan->all[i].key);
  s3l_free(scan->all);
  scan->all = NULL;
  scan->len = scan->cap = 0;
}
