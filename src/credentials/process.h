/* credentials/process.h: keys that a program prints (credential_process).
 *
 * The program is started without a shell, in a process group of its own, with nothing on its
 * standard input. Its time and its output are bounded: a program that exceeds them is killed with
 * all that it started. When the program exits, reading ends as soon as what it printed is read,
 * even if processes that it left behind keep the output open. What it printed is wiped. */
#ifndef S3L_CREDS_PROCESS_H
#define S3L_CREDS_PROCESS_H

#include <stdint.h>

#include "credentials/credentials.h"
#include "loop/loop.h"
#include "util/buf.h"

typedef struct s3l_process_s s3l_process_t;

/** Splits `command` at blanks, with '...', "..." and \ as in a shell, and starts it. After a
 * success `ended` runs once with `arg`, from the loop, and *out is gone then. Failures are added to
 * `why`, which must stay. Errors: S3LECT_ECREDENTIALS, UV_ENOMEM. */
int s3l_process_start(s3l_loop_t* loop, s3l_span_t command, uint32_t timeout_ms, s3l_creds_cb ended,
                      void* arg, s3l_buf_t* why, s3l_process_t** out);

/** Kills it: it ends soon with UV_ECANCELED. */
void s3l_process_cancel(s3l_process_t* p);

/* ---- For tests ---- */

/** Splits in place, into at most `cap` words and a NULL behind them. Returns the number of words,
 * or -1 if a quote is not closed or there are too many. */
int s3l_process_split(char* command, char** words, int cap);

#endif
