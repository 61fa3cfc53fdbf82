/* credentials/file.h: reads a small file, whole and bounded: in libuv's thread pool, or at
 * once.
 *
 * What was read may be a secret: it is wiped when it is freed.
 *
 * Lifecycle: zeroed; start; done, once, from the loop; free (also inside done) before the next
 * start. cancel makes an unfinished read end in UV_ECANCELED, as soon as the thread pool lets go.
 */
#ifndef S3L_CREDS_FILE_H
#define S3L_CREDS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "util/span.h"

typedef struct s3l_file_s s3l_file_t;

struct s3l_file_s {
  void* data;
  /* status 0: the content is there until free. Else libuv's code, or S3LECT_ETOOBIG. */
  void (*done)(s3l_file_t* file, int status);

  /* Private. */
  uv_loop_t* loop;
  uv_fs_t fs;
  uv_file fd;
  char* buf;
  size_t cap;
  size_t len;
  int status;
  bool busy;
  bool closing; /* fd is being closed */
  bool cancelled;
};

/** Errors, with done never called: UV_ENOMEM, what uv_fs_open says. */
int s3l_file_start(s3l_file_t* file, uv_loop_t* loop, const char* path, size_t max,
                   void (*done)(s3l_file_t* file, int status));

/** Reads it at once, which may block: for what is needed before there is a loop that runs. Of what
 * is no regular file (a pipe, a device) nothing is read. Free it on success. Errors as those of
 * done, and UV_ENOMEM. */
int s3l_file_read_now(s3l_file_t* file, const char* path, size_t max);

s3l_span_t s3l_file_text(const s3l_file_t* file);

/** No-op where nothing is under way. */
void s3l_file_cancel(s3l_file_t* file);

void s3l_file_free(s3l_file_t* file);

/** One line of text, as files of tokens hold it: without blanks and line ends around it. */
s3l_span_t s3l_file_line(const s3l_file_t* file);

#endif
