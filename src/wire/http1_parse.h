/* wire/http1_parse.h: reads HTTP/1.x replies, one at a time, from bytes in any split.
 *
 * Vocabulary
 *   interim reply  one with a 1xx status; skipped, except 101, which nobody asked for
 *   final head     status and headers of the reply proper
 *   unframed body  one with neither length nor chunks: it ends where the peer closes
 *
 * Invariants
 *   - `status` and `headers_len` are 0 until the final head has been read completely;
 *   - header spans point into `head`, never into what was fed, so that they outlive the read
 * buffer;
 *   - a head (interim replies included) longer than S3L_HTTP1_HEAD_MAX bytes, more than
 *     S3L_HTTP_HEADERS_MAX headers and a body longer than body_max end in S3LECT_ETOOBIG;
 *   - a reply is done only when its framing says so: a body that ends early is S3LECT_EBADREPLY;
 *   - after the first error every further call gives the same error.
 *
 * Lifecycle: init once; start before each reply; feed until it gives something else than
 * S3L_HTTP1_MORE, or eof when the peer has closed; read the fields; start again, or free. The body
 * buffer is kept from one reply to the next, so that a warm parser does not allocate.
 *
 * llhttp runs without any of its lenient flags. */
#ifndef S3L_WIRE_HTTP1_PARSE_H
#define S3L_WIRE_HTTP1_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <llhttp.h>

#include "util/span.h"
#include "wire/http1.h"
#include "wire/http1_fields.h"

/* nginx and Apache allow 8 KiB to 32 KiB for a whole head. */
#define S3L_HTTP1_HEAD_MAX 16384

/* A larger body buffer is not kept for the next reply. */
#define S3L_HTTP1_BODY_KEEP 65536

enum { S3L_HTTP1_MORE = 0, S3L_HTTP1_DONE = 1 };

typedef struct s3l_http1_parse_s {
  /* The reply, to be read by the caller. */
  int status;
  s3l_http_header_t headers[S3L_HTTP_HEADERS_MAX];
  size_t headers_len;
  char* body;
  size_t body_len;
  bool secret;        /* set by the caller after init: the body is wiped when it is let go of */
  bool keep_alive;    /* valid when done: the connection may carry another request */
  const char* reason; /* static text for people about the last error, or NULL */

  /* Private. */
  llhttp_t llhttp;
  size_t body_cap;
  size_t body_max;
  size_t head_raw;           /* bytes of heads fed so far */
  s3l_http1_fields_t fields; /* read, not yet known to be a whole head */
  int error;
  bool head_request;
  bool head_done;
  bool done;
  char head[S3L_HTTP1_HEAD_MAX];
} s3l_http1_parse_t;

void s3l_http1_parse_init(s3l_http1_parse_t* p);

/** Gets ready for the next reply. `head_request`: the reply has no body whatever its headers say.
 */
void s3l_http1_parse_start(s3l_http1_parse_t* p, bool head_request, size_t body_max);

/** Reads bytes. S3L_HTTP1_MORE: all were used, and more are needed. S3L_HTTP1_DONE: the reply is
 * complete; *used < n means that bytes follow it. Errors: S3LECT_EBADREPLY, S3LECT_ETOOBIG,
 * -ENOMEM. */
int s3l_http1_parse_feed(s3l_http1_parse_t* p, const char* data, size_t n, size_t* used);

/** The peer has closed in good order. S3L_HTTP1_DONE if that ends an unframed body, else
 * S3LECT_EBADREPLY. */
int s3l_http1_parse_eof(s3l_http1_parse_t* p);

/** True once a byte of the reply has been fed. */
bool s3l_http1_parse_begun(const s3l_http1_parse_t* p);

/** Gives the body buffer back. */
void s3l_http1_parse_free(s3l_http1_parse_t* p);

#endif
