/* core/epochs.h: epoch files: their names, listings, and the state that the protocol keeps.
 *
 * One object per leadership, `{prefix}lock-%010u.json`, created only where none exists. The number
 * in the key is the epoch; the file with the highest number counts. Only its creator writes a file
 * again, to renew its lease or to release it. The protocol: core/epoch_files.c.
 *
 * Vocabulary
 *   file      an epoch file, identified by its number; 0 stands for none, and for the lockfile
 *   tail      what follows the prefix in a file's key: "lock-0000000007.json"
 *   listing   what one reply to a list showed, page by page */
#ifndef S3L_CORE_EPOCHS_H
#define S3L_CORE_EPOCHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/lease.h"
#include "util/span.h"

#define S3L_EPOCHS_STEM      "lock-" /* what all tails begin with */
#define S3L_EPOCHS_TAIL_SIZE 21      /* with the NUL */
/** The highest number of a file: ten digits, so that keys sort as numbers do, and one less than the
 * largest, so that a next one could be written. Keys with higher numbers are not epoch files. */
#define S3L_EPOCHS_MAX UINT64_C(9999999998)
/** If the store refuses to remove files, the next attempt comes after so many renewals. */
#define S3L_EPOCHS_GC_PAUSE 100
/** If the store refuses If-Match, so many writes go without it: a gateway may refuse it only once.
 */
#define S3L_EPOCHS_UNCONDITIONAL 100
/** Old files that are removed after one listing, at most. */
#define S3L_EPOCHS_GC   4
#define S3L_LISTING_OLD (S3L_EPOCHS_GC + 2)

/** Writes the tail of a file's key; number from 1 to S3L_EPOCHS_MAX. */
void s3l_epochs_tail(uint64_t number, char out[S3L_EPOCHS_TAIL_SIZE]);

/** The number of the file whose key has this tail; 0 if it is no epoch file. */
uint64_t s3l_epochs_number(s3l_span_t tail);

/** A summary of one page of a listing. All zero before the first object is added. */
typedef struct s3l_listing_s {
  uint64_t highest;
  uint64_t old[S3L_LISTING_OLD]; /* the lowest numbers, in their order */
  int64_t old_modified_ms[S3L_LISTING_OLD];
  uint32_t old_len;
  bool truncated; /* more keys follow */
} s3l_listing_t;

/** Adds an object, in the order of keys; ignores number 0. */
void s3l_listing_add(s3l_listing_t* listing, uint64_t number, int64_t modified_ms);

/** The state of the protocol. The owner of a core allocates it, all zero but for `keep`; then only
 * the core writes it. */
typedef struct s3l_epochs_s {
  bool keep; /* do not remove old files */
  /* Remembered for as long as the core lives. */
  uint8_t unconditional; /* the store refused If-Match: so many writes go without it */
  bool no_if_match;      /* the store refused If-Match at least once */
  uint64_t below_top;    /* the highest number ever observed below S3L_EPOCHS_MAX */

  /* The observed file. */
  bool confirmed;           /* a read sent at takeover_at or later showed it unchanged */
  bool same_second;         /* a further write could have the same Last-Modified */
  uint64_t file;            /* its number; 0: there is none */
  int64_t modified_ms;      /* its Last-Modified; 0: unknown */
  uint64_t answered_ms;     /* the store's time when its leader answered with it */
  s3l_ns_t last_clean_list; /* sending of the newest listing that shows it as highest; 0: none */

  /* The predecessor: the file over which the observed one was created. If it does not stand any
   * more after the create has been applied, all files were deleted, and others may have led since.
   */
  uint64_t created;          /* the number of the last create */
  uint64_t predecessor;      /* its predecessor */
  uint64_t predecessor_etag; /* fingerprint */
  int64_t predecessor_modified_ms;
  uint64_t checked;   /* the own file whose predecessor stood; while it is led, or unchanged */
  uint64_t orphaned;  /* the own file whose predecessor did not stand */
  uint64_t led_write; /* the last write before the newest leadership: later ones are renewals */
  uint64_t others;    /* the highest number of a file of another elector */

  /* The read under way: a listing, a file, or one after the other. */
  uint8_t read;       /* read_t: what it is for */
  uint8_t step;       /* step_t: its request, under way or next */
  bool more;          /* the listing's next page is next */
  bool skips;         /* too many old files: list from the elector's own file on */
  bool failed;        /* the last read failed: the next one comes by the schedule */
  uint8_t lags;       /* listings in a row that did not show the observed file ... */
  s3l_ns_t lags_from; /* ... the sending of the first of these */
  uint64_t asked;     /* the file that is read */
  uint64_t found;     /* the highest file of the listing so far */
  uint64_t written;   /* the file of the last write, applied or not */
  s3l_ns_t list_sent; /* its first page */
  s3l_ns_t read_sent; /* its first request */

  /* How long the files have been watched without a gap in which one could have come and gone. */
  s3l_ns_t watched_from;
  s3l_ns_t looked_at; /* sending of the last look; 0: none */
  s3l_ns_t came_at;   /* when a file was observed after absence; 0: never */

  /* Old files that may be removed. */
  bool gc_reported; /* that the store refuses, in this leadership */
  uint8_t gc_pause; /* none are removed before so many more renewals: the store refused */
  uint8_t gc_len;
  uint64_t gc[S3L_EPOCHS_GC];
} s3l_epochs_t;

#endif
