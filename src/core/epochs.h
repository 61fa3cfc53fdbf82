/* core/epochs.h: the epoch-file protocol: what its executors need besides core.h.
 *
 * One object per leadership, `{prefix}lock-%010u.json`, created where there was none. The number in
 * the key is the epoch; the file with the highest one counts. Only its creator writes a file again,
 * to renew its lease or to give it up. How the core plays by that: core/epoch_files.c.
 *
 * Vocabulary
 *   file      an epoch file, known by its number; 0 stands for none, and in the lockfile protocol
 *   tail      what follows the prefix in a file's key: "lock-0000000007.json"
 *   listing   what one reply to a list told, page by page */
#ifndef S3L_CORE_EPOCHS_H
#define S3L_CORE_EPOCHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/lease.h"
#include "util/span.h"

#define S3L_EPOCHS_STEM      "lock-" /* where listings begin, behind the prefix */
#define S3L_EPOCHS_TAIL_SIZE 21      /* with the NUL */
/** The highest number of a file: of ten digits, so that keys sort as numbers do, and one less, so
 * that a next one could be written. Keys of higher ones are not epoch files. */
#define S3L_EPOCHS_MAX UINT64_C(9999999998)
/** Where removing them is refused it is tried again after so many renewals. */
#define S3L_EPOCHS_GC_PAUSE 100
/** Where If-Match was refused, so many writes go without it. A gateway may have refused it once. */
#define S3L_EPOCHS_UNCONDITIONAL 100
/** Old files that one listing may have removed. */
#define S3L_EPOCHS_GC   4
#define S3L_LISTING_OLD (S3L_EPOCHS_GC + 2)

/** Writes the tail of a file's key; number from 1 to S3L_EPOCHS_MAX. */
void s3l_epochs_tail(uint64_t number, char out[S3L_EPOCHS_TAIL_SIZE]);

/** The number of the file whose key ends so; 0 if it is no epoch file's. */
uint64_t s3l_epochs_number(s3l_span_t tail);

/** One page of a listing, summed up. All zero before the first object is added. */
typedef struct s3l_listing_s {
  uint64_t highest;
  uint64_t old[S3L_LISTING_OLD]; /* the lowest numbers, in their order */
  int64_t old_modified_ms[S3L_LISTING_OLD];
  uint32_t old_len;
  bool truncated; /* more keys follow */
} s3l_listing_t;

/** Adds an object, in the order of keys; 0 is left out. */
void s3l_listing_add(s3l_listing_t* listing, uint64_t number, int64_t modified_ms);

/** The state of the protocol, apart from that of the election: allocated, and all zero but for its
 * first member, by whoever owns a core of this protocol; then kept by the core. */
typedef struct s3l_epochs_s {
  bool keep; /* old files are left */
  /* Remembered for as long as the core lives. */
  uint8_t
      unconditional;  /* the store refused If-Match: so many writes more go without a condition */
  bool no_if_match;   /* it refused If-Match, at least once */
  uint64_t below_top; /* the highest number ever seen, but S3L_EPOCHS_MAX */

  /* The file in view. */
  bool confirmed;   /* a read sent when it was legal to replace it, or later, showed it unchanged */
  bool same_second; /* it may be written once more and show the same Last-Modified */
  uint64_t file;    /* its number; 0: there is none */
  int64_t modified_ms; /* its Last-Modified; 0: not told */
  uint64_t told_ms;    /* the store's time when its leader told of it */
  s3l_ns_t
      last_clean_list; /* sending of the newest listing that shows it, and none above; 0: none */

  /* What the file in view was created over, and whether that still stood when it had landed: else
   * all files were deleted just before, and others may have led since. */
  uint64_t created;          /* the number of the last create */
  uint64_t predecessor;      /* what that was over */
  uint64_t predecessor_etag; /* fingerprint */
  int64_t predecessor_modified_ms;
  uint64_t checked;  /* the file of one's own whose predecessor stood, as long as it stays as it is,
                        or is  led */
  uint64_t orphaned; /* the one whose predecessor did not */
  uint64_t led_write; /* the last write before the newest leadership: later ones are renewals */
  uint64_t others;    /* the highest number that was seen on a file that is not one's own */

  /* The read under way: a listing, a file, or one after the other. */
  uint8_t read;       /* what it is for */
  uint8_t step;       /* its request, under way or next; 0: it begins anew */
  bool more;          /* the listing's next page is next */
  bool skips;         /* there is too much that is old: list from one's own file */
  bool failed;        /* the last read told nothing: the next one comes by the schedule */
  uint8_t lags;       /* listings in a row that did not show the file in view ... */
  s3l_ns_t lags_from; /* ... the sending of the first of these */
  uint64_t asked;     /* the file that is read */
  uint64_t found;     /* the highest that the listing has shown so far */
  uint64_t written;   /* the file last written, or tried to */
  s3l_ns_t list_sent; /* its first page */
  s3l_ns_t read_sent; /* its first request */

  /* How long the files have been watched without a gap in which one could have come and gone. */
  s3l_ns_t watched_from;
  s3l_ns_t looked_at; /* sending of the last look; 0: none */
  s3l_ns_t came_at;   /* since when there is a file again, after there was none; 0: always */

  /* Old files that may be removed. */
  bool gc_told;     /* that the store refuses, in this leadership */
  uint8_t gc_pause; /* none are removed before so many more renewals: the store refused */
  uint8_t gc_len;
  uint64_t gc[S3L_EPOCHS_GC];
} s3l_epochs_t;

#endif
