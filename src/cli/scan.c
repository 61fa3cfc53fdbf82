#include "scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/mem.h"

#define PAGE_KEYS 1000
#define FILE_TAIL (sizeof "lock-0000000042.json" - 1)

/* Ends the pass with the first error, when no request is under way any more. */
static void finish(cli_scan_t* scan, int error, const s3lect_store_result_t* result) {
  if (scan->error == 0)
    scan->error = error;
  if (scan->active == 0)
    scan->cb(scan, scan->error, result);
}

/* ---- Elections ---- */

/* The number of an epoch file; then `len` is the length of its stem. Else 0. */
static uint64_t epoch_file(const char* key, size_t* len) {
  char stem[CLI_KEY_SIZE];
  size_t n = strlen(key);
  if (n < FILE_TAIL || n >= sizeof stem)
    return 0;
  *len = n - FILE_TAIL;
  memcpy(stem, key, *len);
  stem[*len] = '\0';
  return s3lect_epoch_file_number(stem, key);
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
  if (scan->len == scan->cap) {
    size_t cap = scan->cap == 0 ? 16 : scan->cap * 2;
    cli_election_t* grown = s3l_realloc(scan->all, cap * sizeof *grown);
    if (grown == NULL)
      return NULL;
    scan->all = grown;
    scan->cap = cap;
  }
  cli_election_t* e = &scan->all[scan->len];
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
static int note(cli_scan_t* scan, const s3lect_store_entry_t* entry) {
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

static void on_read(s3lect_store_req_t* req, const s3lect_store_result_t* result);

/* Reads further objects, one in each lane that is free. */
static int fill_lanes(cli_scan_t* scan) {
  int r = 0;
  for (size_t i = 0; r == 0 && i < CLI_SCAN_LANES; i++) {
    s3lect_store_req_t* req = &scan->lanes[i].req;
    if (req->data != NULL)
      continue;
    while (scan->next < scan->len && !is_stale(&scan->all[scan->next]))
      scan->next++;
    if (scan->next == scan->len)
      break;
    const cli_election_t* e = &scan->all[scan->next];
    char file[FILE_TAIL + 16] = "";
    if (e->epoch != 0)
      snprintf(file, sizeof file, "lock-%010" PRIu64 ".json", e->epoch);
    snprintf(scan->lanes[i].key, CLI_KEY_SIZE, "%s%s", e->key, file);
    scan->lanes[i].at = scan->next++;
    *req = (s3lect_store_req_t){
        .data = scan, .key = scan->lanes[i].key, .timeout_ms = scan->timeout_ms, .cb = on_read};
    r = s3lect_store_get(scan->store, req);
    if (r == 0)
      scan->active++;
    else
      req->data = NULL;
  }
  return r;
}

/* An object that has gone meanwhile is looked for in the next pass again. */
static int take(cli_scan_t* scan, cli_election_t* e, const s3lect_store_result_t* result) {
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

static void on_read(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  cli_scan_t* scan = req->data;
  size_t lane = 0;
  while (&scan->lanes[lane].req != req)
    lane++;
  req->data = NULL;
  scan->active--;
  int r = take(scan, &scan->all[scan->lanes[lane].at], result);
  if (r == 0 && scan->error == 0)
    r = fill_lanes(scan);
  if (scan->active == 0 || r != 0)
    finish(scan, r, result);
}

static void read_all(cli_scan_t* scan, const s3lect_store_result_t* result) {
  scan->listed_ns = s3lect_now_ns();
  drop_unlisted(scan);
  scan->next = 0;
  int r = fill_lanes(scan);
  if (scan->active == 0 || r != 0)
    finish(scan, r, result);
}

/* ---- Listing ---- */

static void on_listed(s3lect_store_req_t* req, const s3lect_store_result_t* result);

static int list(cli_scan_t* scan) {
  scan->list = (s3lect_store_req_t){.data = scan,
                                    .key = scan->prefix,
                                    .after = scan->after[0] != '\0' ? scan->after : NULL,
                                    .max_keys = PAGE_KEYS,
                                    .timeout_ms = scan->timeout_ms,
                                    .cb = on_listed};
  return s3lect_store_list(scan->store, &scan->list);
}

static int take_page(cli_scan_t* scan, const s3lect_store_result_t* result) {
  int r = result->status;
  const char* last = "";
  for (size_t i = 0; r == 0 && i < result->entries_len; i++) {
    last = result->entries[i].key;
    r = strlen(last) < CLI_KEY_SIZE ? note(scan, &result->entries[i]) : S3LECT_ELISTING;
  }
  if (r != 0 || result->truncated == 0)
    return r;
  if (strcmp(last, scan->after) <= 0) /* the listing would never end */
    return S3LECT_ELISTING;
  memcpy(scan->after, last, strlen(last) + 1);
  return 0;
}

static void on_listed(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  cli_scan_t* scan = req->data;
  int r = take_page(scan, result);
  if (r == 0 && result->truncated == 0) {
    read_all(scan, result);
    return;
  }
  if (r == 0)
    r = list(scan);
  if (r != 0)
    finish(scan, r, result);
}

int cli_scan_start(cli_scan_t* scan) {
  scan->error = 0;
  scan->after[0] = '\0';
  for (size_t i = 0; i < scan->len; i++)
    scan->all[i].listed = false;
  return list(scan);
}

void cli_scan_free(cli_scan_t* scan) {
  for (size_t i = 0; i < scan->len; i++)
    s3l_free(scan->all[i].key);
  s3l_free(scan->all);
  scan->all = NULL;
  scan->len = scan->cap = 0;
}
