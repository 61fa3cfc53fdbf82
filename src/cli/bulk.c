#include "bulk.h"

#include <string.h>

#define PAGE_KEYS 1000

/* ---- All keys ---- */

static void on_page(s3lect_store_req_t* req, const s3lect_store_result_t* result);

static int next_page(cli_listing_t* listing) {
  listing->req = (s3lect_store_req_t){
      .data = listing,
      .key = listing->prefix,
      .after = listing->after[0] != '\0' ? listing->after : NULL,
      .etag = listing->after_version[0] != '\0' ? listing->after_version : NULL,
      .flags = listing->versions ? S3LECT_REQ_VERSIONS : 0,
      .max_keys = PAGE_KEYS,
      .timeout_ms = listing->timeout_ms,
      .cb = on_page};
  return s3lect_store_list(listing->store, &listing->req);
}

/* A page that is not after the one before it would never end the listing. */
static int take_page(cli_listing_t* listing, const s3lect_store_result_t* result) {
  int r = result->status;
  const char *last = "", *version = "";
  for (size_t i = 0; r == 0 && i < result->entries_len; i++) {
    last = result->entries[i].key;
    version = listing->versions ? result->entries[i].version : "";
    r = strlen(last) < CLI_KEY_SIZE && strlen(version) < CLI_KEY_SIZE
            ? listing->take(listing, &result->entries[i])
            : S3LECT_ELISTING;
  }
  if (r != 0 || result->truncated == 0)
    return r;
  int order = strcmp(last, listing->after);
  if (order < 0 || (order == 0 && strcmp(version, listing->after_version) == 0))
    return S3LECT_ELISTING;
  memcpy(listing->after, last, strlen(last) + 1);
  memcpy(listing->after_version, version, strlen(version) + 1);
  return 0;
}

static void on_page(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  cli_listing_t* listing = req->data;
  int r = take_page(listing, result);
  bool further = r == 0 && result->truncated != 0;
  if (further)
    r = next_page(listing);
  if (!further || r != 0)
    listing->cb(listing, r, result);
}

int cli_listing_start(cli_listing_t* listing) {
  listing->after[0] = listing->after_version[0] = '\0';
  return next_page(listing);
}

/* ---- Many objects ---- */

static void on_read(s3lect_store_req_t* req, const s3lect_store_result_t* result);

/* Reads a further object in each lane that is free. */
static int fill_lanes(cli_reads_t* reads) {
  int r = 0;
  for (size_t i = 0; r == 0 && i < CLI_BULK_LANES; i++) {
    s3lect_store_req_t* req = &reads->lanes[i].req;
    if (req->data != NULL)
      continue;
    while (reads->next < reads->len && !reads->key(reads, reads->next, reads->lanes[i].key))
      reads->next++;
    if (reads->next == reads->len)
      break;
    reads->lanes[i].at = reads->next++;
    const char* version = reads->version != NULL ? reads->version(reads, reads->lanes[i].at) : NULL;
    *req = (s3lect_store_req_t){.data = reads,
                                .key = reads->lanes[i].key,
                                .etag = version,
                                .flags = version != NULL ? S3LECT_REQ_VERSIONS : 0,
                                .timeout_ms = reads->timeout_ms,
                                .cb = on_read};
    r = s3lect_store_get(reads->store, req);
    if (r == 0)
      reads->active++;
    else
      req->data = NULL;
  }
  return r;
}

/* The first error counts, when no read is under way any more. */
static void proceed(cli_reads_t* reads, int r, const s3lect_store_result_t* result) {
  if (reads->error == 0)
    reads->error = r != 0 ? r : fill_lanes(reads);
  if (reads->active == 0)
    reads->cb(reads, reads->error, result);
}

static void on_read(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  cli_reads_t* reads = req->data;
  size_t lane = 0;
  while (&reads->lanes[lane].req != req)
    lane++;
  req->data = NULL;
  reads->active--;
  proceed(reads, reads->take(reads, reads->lanes[lane].at, result), result);
}

void cli_reads_start(cli_reads_t* reads) {
  reads->next = 0;
  reads->error = 0;
  proceed(reads, 0, NULL);
}
