/* store/file/open.h: opens what is in the directory of a file store, where anybody who may
 * write there can have put anything under the store's names.
 *
 * Symbolic links are not followed, and only regular files count as objects and as the lock: a FIFO
 * or a device never blocks an open. In a directory with the sticky bit, only files of this user, of
 * the directory's owner and of root are used: the others' owners could replace them at any time.
 * New files may be used by the users who may write the directory, and the lock by nobody else, for
 * flock(2) needs no more than a descriptor.
 *
 * A descriptor or a libuv error is returned, UV_EFTYPE for a special file and UV_EPERM for a file
 * of another user. All block, and allocate nothing. */
#ifndef S3L_STORE_FILE_OPEN_H
#define S3L_STORE_FILE_OPEN_H

#include <stddef.h>
#include <sys/stat.h>

#include "util/error.h"

#ifdef __APPLE__
#  define S3L_ST_MTIM st_mtimespec
#else
#  define S3L_ST_MTIM st_mtim
#endif

#define S3L_FILE_LOCK ".s3lect-lock"

/** Opens the store's directory; NULL and "" are refused, too. */
int s3l_file_open_store(const char* directory, s3lect_error_t* error);

typedef enum {
  S3L_WALK_FIND = 0,
  S3L_WALK_MAKE = 1, /* make the directories that are missing */
  S3L_WALK_SYNC = 2, /* flush each directory to the disk */
} s3l_walk_t;

/** Opens the directory of a path below the store's, and gives the path's last part. */
int s3l_file_open_dir(int store, const char* path, s3l_walk_t how, const char** name);

/** Opens a regular file for reading. */
int s3l_file_open_old(int store, int dir, const char* name, struct stat* st);

/** Makes a file, which must not exist, for writing. */
int s3l_file_open_new(int store, const char* name);

/** Takes the lock. UV_EAGAIN: another process has it, or the lock file is being replaced. */
int s3l_file_lock(int store);

/** Gives it back, also when a forked child has the descriptor, too. */
void s3l_file_unlock(int fd);

#endif
