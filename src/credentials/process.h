/* credentials/process.h: keys that a program prints (credential_process).
 *
 * The program is started without a shell, in a process group of its own, with nothing on its
 * standard input. It has bounded time and output; one that takes more is killed, and what it
 * started with it. What it started and leaves behind is not waited for: the program's own end ends
 * the reading, as soon as what it printed is read. What it printed is wiped. */
#ifndef S3L_CREDS_PROCESS_H
#define S3L_CREDS_PROCESS_H

#include <stdint.h>
#include <uv.h>

#include "credentials/credentials.h"

typedef struct s3l_process_s s3l_process_t;

/** Splits `command` at blanks, with '...', "..." and \ as in a shell, and starts it. Once this has
 * returned 0, done runs once, from the loop, and *out is gone then. On failure `why` (static text)
 * tells people: S3LECT_ECREDENTIALS, UV_ENOMEM. */
int s3l_process_start(uv_loop_t* loop, s3l_span_t command, uint32_t timeout_ms,
                      s3l_creds_fetch_t* fetch, s3l_process_t** out, const char** why);

/** Kills it. done runs with UV_ECANCELED. */
void s3l_process_cancel(s3l_process_t* p);

/* ---- For tests ---- */

/** Splits in place, into at most `cap` words behind which stands NULL. The number of words, or -1
 * if a quote is not closed or there are too many. */
int s3l_process_split(char* command, char** words, int cap);

#endif
