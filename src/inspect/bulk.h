/* inspect/bulk.h: lists all keys under a prefix, then reads many objects at a time.
 *
 * The owner embeds an s3l_bulk_t and fills its first group. Everything that a store says is checked
 * here: the length of keys, that each page lies behind the one before it, and how many objects
 * there are. The first error ends the work, once no request is under way any more. */
#ifndef S3L_INSPECT_BULK_H
#define S3L_INSPECT_BULK_H

#include <stdbool.h>

#include "s3lect/store.h"
#include "store/store.h"
#include "util/span.h"

#define S3L_BULK_LANES        8       /* reads at the same time */
#define S3L_BULK_OBJECTS_MAX  1000000 /* of one listing; then S3LECT_ETOOBIG */
#define S3L_BULK_KEY_SIZE     (S3L_STORE_KEY_MAX + 1)
#define S3L_BULK_MESSAGE_SIZE 512

typedef struct s3l_bulk_s s3l_bulk_t;

/** What its owner does. */
typedef struct s3l_bulk_ops_s {
  /** Takes one object of the listing. Returns 0; UV_EOF, which ends the listing; or an error. */
  int (*list)(s3l_bulk_t* bulk, const s3lect_store_entry_t* entry);
  /** The listing is complete. Returns how many places there are, of which each may name an object.
   */
  size_t (*listed)(s3l_bulk_t* bulk);
  /** The object at a place, and its version (NULL: the newest), which stays valid. Returns false if
   * there is none to read. */
  bool (*key)(s3l_bulk_t* bulk, size_t at, char key[S3L_BULK_KEY_SIZE], const char** version);
  /** Takes what was read, in any order. Returns 0 or an error. */
  int (*take)(s3l_bulk_t* bulk, size_t at, const s3lect_store_result_t* result);
  /** The end. `message` is what the store said of the error, else the error's own text, or "". */
  void (*end)(s3l_bulk_t* bulk, int error, const char* message);
} s3l_bulk_ops_t;

struct s3l_bulk_s {
  const s3l_bulk_ops_t* ops;
  s3lect_store_t* store;
  const char* prefix;  /* NULL: nothing is listed */
  uint32_t timeout_ms; /* of a request */
  bool versions;       /* all versions of the objects */

  size_t objects;   /* of the listing, so far */
  size_t next, len; /* places */
  unsigned active;  /* requests */
  int error;
  char after[S3L_BULK_KEY_SIZE];
  char after_version[S3L_BULK_KEY_SIZE];
  char message[S3L_BULK_MESSAGE_SIZE];
  struct {
    s3lect_store_req_t req; /* data: NULL while the lane is free */
    size_t at;
    char key[S3L_BULK_KEY_SIZE];
  } lanes[S3L_BULK_LANES];
};

/** The election of a lockfile_path, in `prefix`: what its epoch files, or versions, are listed by.
 */
void s3l_bulk_prefix(char prefix[S3L_BULK_KEY_SIZE], const char* path, bool files);

/** Writes the key of epoch file `file` of an election, or with 0 that of a lockfile. */
void s3l_bulk_key(char key[S3L_BULK_KEY_SIZE], s3l_span_t path, uint64_t file);

/** Begins. Returns 0 and later calls `end` once, from a callback of the store; or an error. Without
 * a prefix there must be an object to read. */
int s3l_bulk_start(s3l_bulk_t* bulk);

/** Ends the work soon, with UV_ECANCELED unless it has failed already. It must be under way. */
void s3l_bulk_cancel(s3l_bulk_t* bulk);

#endif
