/* cli/bulk.h (L8): lists all keys under a prefix, and reads many objects at a time. */
#ifndef S3L_CLI_BULK_H
#define S3L_CLI_BULK_H

#include <s3lect.h>
#include <stdbool.h>

#define CLI_BULK_LANES 8    /* reads at the same time */
#define CLI_KEY_SIZE   1025 /* the S3 limit on a key, and a NUL */

/* ---- All keys ---- */

typedef struct cli_listing_s cli_listing_t;

/** Zeroed, with the first group filled in by the caller. */
struct cli_listing_s {
  s3lect_store_t* store;
  const char* prefix;
  bool versions;       /* all versions of the objects */
  uint32_t timeout_ms; /* of a request */
  void* data;
  /** Takes one object. Returns 0, or a code that ends the listing. */
  int (*take)(cli_listing_t* listing, const s3lect_store_entry_t* entry);
  /** All objects have been taken, or `error` is what has failed. `result` is that of the last
   * request. */
  void (*cb)(cli_listing_t* listing, int error, const s3lect_store_result_t* result);

  char after[CLI_KEY_SIZE]; /* where the next page begins */
  char after_version[CLI_KEY_SIZE];
  s3lect_store_req_t req;
};

/** Begins. Returns 0 and later calls cb once, or a code. */
int cli_listing_start(cli_listing_t* listing);

/* ---- Many objects ---- */

typedef struct cli_reads_s cli_reads_t;

/** Zeroed, with the first group filled in by the caller. */
struct cli_reads_s {
  s3lect_store_t* store;
  uint32_t timeout_ms; /* of a request */
  size_t len;          /* places, of which each may name an object */
  void* data;
  /** The object at a place; false if there is none to read. */
  bool (*key)(cli_reads_t* reads, size_t at, char key[CLI_KEY_SIZE]);
  /** Its version, which stays valid; NULL: the newest of each object. */
  const char* (*version)(cli_reads_t* reads, size_t at);
  /** Takes what was read, in any order. Returns 0, or a code after which no read begins. */
  int (*take)(cli_reads_t* reads, size_t at, const s3lect_store_result_t* result);
  /** As in cli_listing_t. Runs inside cli_reads_start if there is nothing to read: `result` is then
   * NULL. */
  void (*cb)(cli_reads_t* reads, int error, const s3lect_store_result_t* result);

  size_t next;
  unsigned active;
  int error;
  struct {
    s3lect_store_req_t req;
    size_t at;
    char key[CLI_KEY_SIZE];
  } lanes[CLI_BULK_LANES];
};

void cli_reads_start(cli_reads_t* reads);

#endif
