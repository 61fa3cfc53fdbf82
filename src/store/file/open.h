/* store/file/open.h: opens files in the directory of a file store. Every user who may write to the
 * directory can put anything there under the store's names.
 *
 * Symbolic links are not followed, and only regular files count as objects and as the lock, so that
 * a FIFO or a device never blocks an open. In a directory with the sticky bit, only files of this
 * user, of the directory's owner and of root are used: other owners could replace theirs at any
 * time. The users who may write to the directory may use new files. Nobody else may open the lock,
 * since flock(2) needs only a descriptor.
 *
 * Functions return a descriptor or a libuv error: UV_EFTYPE for a special file, UV_EPERM for a file
 * of another user. All may block; none allocates memory. */
#ifndef S3L_STORE_FILE_OPEN_H
#define S3L_STORE_FILE_OPEN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "util/error.h"

#ifdef __APPLE__
#  define S3L_ST_MTIM st_mtimespec
#else
#  define S3L_ST_MTIM st_mtim
#endif

#define S3L_FILE_LOCK ".s3lect-lock"

/** A time of the file system in ms since 1970. */
static inline int64_t s3l_file_ms(struct timespec t) {
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/** Opens the store's directory. Refuses NULL and "". */
int s3l_file_open_store(const char* directory, s3lect_error_t* error);

typedef enum {
  S3L_WALK_FIND = 0,
  S3L_WALK_MAKE = 1, /* make the directories that are missing */
  S3L_WALK_SYNC = 2, /* flush each directory to the disk */
} s3l_walk_t;

/** Opens the directory of a path below the store's directory. `name` is the path's last part. */
int s3l_file_open_dir(int store, const char* path, s3l_walk_t how, const char** name);

/** Opens a regular file for reading. */
int s3l_file_open_old(int store, int dir, const char* name, struct stat* st);

/** Creates a file, which must not exist, for writing. */
int s3l_file_open_new(int store, const char* name);

/** Takes the lock. UV_EAGAIN: another process has it, or the lock file is being replaced. */
int s3l_file_lock(int store);

/** The file system's clock, which is one for all machines that share the directory: in ms since
 * 1970, taken by touching the lock file. 0: there is none yet, or this user may not write to it. */
int64_t s3l_file_now_ms(int store);

/** Releases the lock, even if a forked child has the descriptor as well. */
void s3l_file_unlock(int fd);

#endif
