/* store/file/disk.h: the file store's operations on the disk. They run on libuv's thread pool, may
 * block, and allocate nothing.
 *
 * A file holds one line, "s3lect 1 ETAG", followed by the object. A write creates a new file with a
 * random name and flushes it to the disk; then it takes the directory's lock (flock), checks the
 * current object, renames the new file over the old one, and unlocks. So a write happens completely
 * or not at all, even in a crash, and reads need no lock. The lock is held for a few system calls,
 * none of which waits for a disk to write, and it ends with the process. A file without such a line
 * was made by another program. It is an object, too; its ETag is made from inode, size and time.
 *
 * No operation waits for the lock, since a stopped process may hold it for long and the pool has
 * few threads: `busy` asks the caller to run the operation again a little later. */
#ifndef S3L_STORE_FILE_DISK_H
#define S3L_STORE_FILE_DISK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/file/key.h"
#include "store/store.h"

#define S3L_FILE_ID_SIZE      33 /* 128 random bits in hexadecimal */
#define S3L_FILE_ETAG_SIZE    80
#define S3L_FILE_HEAD_SIZE    42 /* "s3lect 1 ", the ID, a line end */
#define S3L_FILE_MESSAGE_SIZE 512

/** One object of a listing. */
typedef struct s3l_file_entry_s {
  char key[S3L_STORE_KEY_MAX + 1];
  char etag[S3L_FILE_ETAG_SIZE];
  uint64_t body_len;
  int64_t modified_ms;
} s3l_file_entry_t;

typedef struct s3l_disk_s {
  /* What to do. The owner keeps strings and buffers until the operation ends. */
  int dir;
  const char* directory; /* its absolute name: `dir` must still be what it names */
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
  bool cleans_up;        /* put: removes temporary files of processes that crashed */
  atomic_bool abandoned; /* the request has ended: only remove the temporary file */

  /* How it went. */
  bool busy;                           /* another process has the lock: nothing has been done */
  bool has_temp;                       /* put: there is a temporary file; another run removes it */
  const char* at;                      /* the file that a message is about */
  char message[S3L_FILE_MESSAGE_SIZE]; /* where something failed: which file, and why */
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
