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
#define S3L_FILE_MESSAGE_SIZE 512

/** The text of one object of a listing. */
typedef struct s3l_file_names_s {
  char key[S3L_STORE_KEY_MAX + 1];
  char etag[S3L_FILE_ETAG_SIZE];
} s3l_file_names_t;

typedef struct s3l_disk_s {
  /* What to do. The owner keeps strings and buffers until the operation ends. */
  int dir;
  const char* directory;         /* its absolute name: `dir` must still be what it names */
  char* buf;                     /* get: room for req.body_max bytes */
  s3lect_store_entry_t* entries; /* list: req.max_keys + 1, each with its s3l_file_names_t */
  bool cleans_up;                /* put: removes temporary files of processes that crashed */
  atomic_bool abandoned;         /* the request has ended: only remove the temporary file */

  /* How it went. */
  bool busy;                           /* another process has the lock: nothing has been done */
  bool has_temp;                       /* put: there is a temporary file; another run removes it */
  bool applied;                        /* put, del: other processes see the change */
  int64_t written_ms;                  /* of the temporary file */
  const char* at;                      /* the file that a message is about */
  char etag[S3L_FILE_ETAG_SIZE];       /* the object's; "" if there is none */
  s3lect_store_result_t result;        /* points into this struct and the owner's buffers */
  char message[S3L_FILE_MESSAGE_SIZE]; /* where something failed: which file, and why */

  /* What to do, too. */
  char id[S3L_FILE_ID_SIZE]; /* put: of the new version */
  s3lect_store_req_t req;    /* a copy: only what a store reads is used */
} s3l_disk_t;

/** Blocks. */
void s3l_disk_run(s3l_disk_t* d);

#endif
