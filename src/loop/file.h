/* loop/file.h: reads a small file, whole and bounded, in libuv's thread pool or at once.
 *
 * The content may be a secret: it is wiped when it is freed.
 *
 * Lifecycle: zeroed; start; done, once, from the loop; free (also inside done) before the next
 * start. */
#ifndef S3L_LOOP_FILE_H
#define S3L_LOOP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "loop/loop.h"
#include "util/span.h"

typedef struct s3l_file_s s3l_file_t;

struct s3l_file_s {
  void* data;
  /* status 0: the content stays until free. Else one of libuv's codes, or S3LECT_ETOOBIG. */
  void (*done)(s3l_file_t* file, int status);

  /* Private. */
  uv_work_t work;
  const char* path;
  char* buf;
  size_t cap;
  size_t len;
  int status;
  bool cancelled;
};

/** Reads a file of at most `max` bytes. `path` must stay until done. Errors, with done never
 * called: UV_ENOMEM. */
int s3l_file_start(s3l_file_t* file, s3l_loop_t* loop, const char* path, size_t max,
                   void (*done)(s3l_file_t* file, int status));

/** Makes the read that is under way end with UV_ECANCELED, as soon as the thread pool has finished
 * with it. No-op if there is none. */
void s3l_file_cancel(s3l_file_t* file);

/** Reads it in this call, which may block: for what is needed before the loop runs. A pipe or a
 * device, whose content could be read only once, counts as empty. Free it on success. Errors: as
 * those of done, and UV_ENOMEM. */
int s3l_file_read_now(s3l_file_t* file, const char* path, size_t max);

s3l_span_t s3l_file_text(const s3l_file_t* file);

/** The content without the blanks and line ends around it, for files that hold one token. */
s3l_span_t s3l_file_line(const s3l_file_t* file);

void s3l_file_free(s3l_file_t* file);

#endif
