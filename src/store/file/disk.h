/* store/file/disk.h: the file store's operations on the disk, as they run on libuv's thread
 * pool: they may block, and allocate nothing.
 *
 * A file holds one line, "s3lect 1 ETAG", and behind it the object. A write makes a new file with
 * a random name and flushes it to the disk; then it takes the directory's lock (flock), looks at
 * what is there, renames the new file over the old one, and unlocks. So a write happens at once or
 * not at all, whatever crashes; reads need no lock. The lock is held for a few system calls, none
 * of which waits for a disk to write, and it ends with the process. A file without such a line was
 * put there by another program: it is an object as well, and its ETag is made from its inode, size
 * and time.
 *
 * Nothing here waits for the lock, since a process that was stopped may hold it for long, and the
 * pool has few threads: `busy` asks to be run again a little later. */
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
  /* What to do. Strings and buffers are the owner's, and stay until it is done. */
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
  atomic_bool abandoned; /* the request has ended: undo what was prepared, and do nothing */

  /* How it went. */
  bool busy;      /* the lock was taken: nothing has been done */
  bool has_temp;  /* put: a temporary file is there, which only another run removes */
  const char* at; /* the file that a message is about */
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
