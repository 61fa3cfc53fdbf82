/* store/file/key.h: converts an object's key to the name of its file, and back.
 *
 * Bytes other than letters, digits, '-', '_', '.' and '~' are written %XX, also '/': an object is
 * one file in the store's directory, and the key lock.json gives lock.json. A name that would be
 * too long continues in a directory whose name ends with '+'. No part of a name begins with '.', so
 * that it can neither be ".." nor one of the store's own files. */
#ifndef S3L_STORE_FILE_KEY_H
#define S3L_STORE_FILE_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "store/store.h"
#include "util/span.h"

/* Of one part; file systems allow 255 bytes. */
#define S3L_FILE_PART_MAX 200

/* All escaped, with a '+' and '/' behind each part. */
#define S3L_FILE_PATH_MAX                                                                          \
  (3 * S3L_STORE_KEY_MAX + 3 * S3L_STORE_KEY_MAX / S3L_FILE_PART_MAX * 4 + 8)

/** The path below the store's directory, NUL-terminated. */
void s3l_file_path(const char* key, char out[S3L_FILE_PATH_MAX]);

/** The key of a path. False if s3l_file_path does not make such a path. */
bool s3l_file_key(s3l_span_t path, char out[S3L_STORE_KEY_MAX + 1]);

#endif
