/* http/server_reply.h: writes an answer as bytes. Private to http. */
#ifndef S3L_HTTP_SERVER_REPLY_H
#define S3L_HTTP_SERVER_REPLY_H

#include <stdbool.h>
#include <stddef.h>

#include "http/exchange.h"

/* What the answer depends on beside itself. */
typedef struct s3l_http_reply_to_s {
  bool head;   /* to a HEAD: no body */
  bool http10; /* keeping the connection must be said */
  bool close;
  const char* date; /* "Sun, 06 Nov 1994 08:49:37 GMT" */
} s3l_http_reply_to_t;

/** The text is the caller's to free. Errors: UV_ENOMEM, UV_EINVAL (it would not be valid HTTP). */
int s3l_http_reply_text(const s3l_http_answer_t* answer, const s3l_http_reply_to_t* to, char** text,
                        size_t* len);

/** "Not Found"; "" for a status that we do not know. */
const char* s3l_http_status_text(int status);

#endif
