/* cli/scan.h (L8): finds and reads all elections under a prefix.
 *
 * A pass lists the keys, and then reads the objects that have changed since the last pass. Objects
 * named STEM + lock-0000000042.json are one election, STEM, whose newest file is read. Every other
 * object is an election if it holds a record. Temporary objects of `verify` are left out. */
#ifndef S3L_CLI_SCAN_H
#define S3L_CLI_SCAN_H

#include <s3lect.h>

#include "bulk.h"
#include "verdict.h"

#define CLI_SCAN_MAX 10000 /* objects that may be elections */

typedef struct cli_election_s {
  char* key;      /* of the lockfile, or the prefix of the epoch files */
  bool files;     /* its objects are epoch files */
  bool listed;    /* in this pass; and with */
  uint64_t epoch; /* the number of the newest epoch file, 0 for a lockfile, */
  char etag[S3LECT_ETAG_SIZE];
  bool read;  /* what follows is that of the object with */
  bool other; /* no record, but something else, */
  uint64_t read_epoch;
  char read_etag[S3LECT_ETAG_SIZE];
  int64_t read_ns; /* lease time */
  cli_verdict_t verdict;
} cli_election_t;

typedef struct cli_scan_s cli_scan_t;

/** A pass has ended; `error` is 0, or what `result` has failed with. The next pass may begin. */
typedef void (*cli_scan_cb)(cli_scan_t* scan, int error, const s3lect_store_result_t* result);

/** Zeroed, with the first group filled in by the caller. */
struct cli_scan_s {
  s3lect_store_t* store;
  const char* prefix;
  uint32_t timeout_ms;         /* of a request */
  uint32_t default_timeout_ms; /* of leaders whose record has none */
  cli_scan_cb cb;
  void* data;

  cli_election_t* all; /* in the order in which they were found; some are `other` or gone */
  size_t len;

  size_t cap;
  int64_t listed_ns; /* lease time: when the last listing was complete */
  size_t found;      /* by the last look-up */
  cli_listing_t listing;
  cli_reads_t reads;
};

/** Begins a pass. Returns 0 and later calls cb once, or a code. */
int cli_scan_start(cli_scan_t* scan);

/** Frees what the passes have found. No pass may be under way. */
void cli_scan_free(cli_scan_t* scan);

#endif
