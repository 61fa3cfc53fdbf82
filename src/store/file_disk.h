/* store/file_disk.h (L5): the file store's operations on the disk, as they run on libuv's thread
 * pool: they may block, and allocate nothing.
 *
 * A file holds one line, "s3lect 1 ETAG", and behind it the object. A write takes the directory's
 * lock (flock), looks at what is there, writes a new file beside it, flushes it to the disk, and
 * renames it over the old one. So a write happens at once or not at all, whatever crashes; who
 * reads needs no lock. The lock goes with the process that holds it. A file without such a line was
 * put there by somebody else: it is an object like others, whose ETag is made from what it is.
 *
 * Nobody waits for the lock here, since a process that was stopped may hold it for long, and the
 * pool has few threads: `busy` asks to be run again a little later. */
#ifndef S3L_STORE_FILE_DISK_H
#define S3L_STORE_FILE_DISK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/file_key.h"
#include "store/store.h"

#define S3L_FILE_LOCK      ".s3lect-lock"
#define S3L_FILE_TEMP      ".s3lect-tmp"

#define S3L_FILE_ID_SIZE   33 /* 128 random bits in hexadecimal */
#define S3L_FILE_ETAG_SIZE 80
#define S3L_FILE_HEAD_SIZE 42 /* "s3lect 1 ", the ID, a line end */

/** One object of a listing. */
typedef struct s3l_file_entry_s {
  char key[S3L_STORE_KEY_MAX + 1];
  char etag[S3L_FILE_ETAG_SIZE];
  uint64_t body_len;
  int64_t modified_ms;
} s3l_file_entry_t;

typedef struct s3l_disk_s {
  /* What to do. Strings and buffers are the owner's, and stay until it is done. */
  int dir;
  s3l_store_op_t op;
  s3lect_condition_t condition;
  const char* key; /* list: the prefix */
  const char* etag;
  const char* after;
  const char* body; /* put */
  size_t body_len;
  char id[S3L_FILE_ID_SIZE]; /* put: of the new version */
  char* buf;                 /* get: room for an object */
  size_t buf_size;
  s3l_file_entry_t* entries; /* list: room for max_keys + 1 */
  uint32_t max_keys;
  atomic_bool abandoned; /* nobody wants it any more: it is better not done */

  /* How it went. */
  bool busy; /* the lock was taken: nothing has been done */
  int status;
  int outcome;
  char found[S3L_FILE_ETAG_SIZE]; /* the object's ETag; "" if there is none */
  size_t found_len;               /* get: of the object */
  int64_t modified_ms;
  int64_t now_ms;
  size_t entries_len;
  bool truncated;
} s3l_disk_t;

/** Blocks. */
void s3l_disk_run(s3l_disk_t* d);

#endif
