/* wire/http1_request_parse.h: reads HTTP/1.0 and 1.1 requests, one at a time, from bytes in
 * any split: the server's side.
 *
 * Invariants
 *   - the fields are set only when a request has been read completely (S3L_HTTP1_DONE);
 *   - spans point into the parser's own memory, and hold until the next start;
 *   - a head longer than head_max bytes (blank lines before it included), more than
 *     S3L_HTTP_HEADERS_MAX headers and a body longer than body_max bytes (chunk framing and
 *     trailers included) are refused; the body is counted, and not kept;
 *   - what could be read in two ways is refused, since it may be meant to slip by somebody on the
 *     way: a length beside chunks, several lengths, chunks in HTTP/1.0, any other coding, several
 *     Host headers, none in HTTP/1.1, folded lines, lines without CR;
 *   - when a request is refused, `answer` is the HTTP status that says it to the client, and the
 * connection is good for nothing more.
 *
 * Target: origin form ("/path?query"), absolute form ("http://host/path?query"), and "*". Paths are
 * given as sent, percent-encoded. CONNECT is refused; Upgrade is ignored, as RFC 9110 allows.
 *
 * llhttp runs without any of its lenient flags. */
#ifndef S3L_WIRE_HTTP1_REQUEST_PARSE_H
#define S3L_WIRE_HTTP1_REQUEST_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <llhttp.h>

#include "util/span.h"
#include "wire/http1.h"
#include "wire/http1_fields.h"
#include "wire/http1_parse.h" /* S3L_HTTP1_MORE, S3L_HTTP1_DONE */

enum { S3L_HTTP1_REFUSED = -1 };

typedef enum { S3L_HTTP_GET, S3L_HTTP_HEAD, S3L_HTTP_OTHER } s3l_http_method_t;

typedef struct s3l_http1_request_s {
  /* The request, to be read by the caller when it is done. */
  s3l_http_method_t method;
  s3l_span_t path;  /* begins with '/', or is "*" */
  s3l_span_t query; /* behind '?'; p == NULL: none */
  s3l_http_header_t headers[S3L_HTTP_HEADERS_MAX];
  size_t headers_len;
  bool keep_alive; /* the client would send another on this connection */
  bool http10;

  /* When refused. */
  int answer;         /* 400, 413, 414, 417, 431, 501 or 505 */
  const char* reason; /* static text for people */

  /* Private. */
  llhttp_t llhttp;
  s3l_http1_fields_t fields;
  char* text; /* the target, then the headers; head_max bytes */
  size_t head_max;
  size_t body_max;
  size_t head_raw; /* bytes of the head fed so far */
  size_t body_raw;
  size_t target_len;
  char last;      /* byte of the head fed before */
  bool in_target; /* the target is not complete */
  bool head_done;
  bool done;
} s3l_http1_request_t;

/** Errors: -ENOMEM. */
int s3l_http1_request_init(s3l_http1_request_t* r, size_t head_max, size_t body_max);

/** Gets ready for the next request. */
void s3l_http1_request_start(s3l_http1_request_t* r);

/** Reads bytes. S3L_HTTP1_MORE: all were used, and more are needed. S3L_HTTP1_DONE: the request is
 * complete; *used < n means that bytes follow it. S3L_HTTP1_REFUSED: see `answer` and `reason`;
 * no more is to be fed then. */
int s3l_http1_request_feed(s3l_http1_request_t* r, const char* data, size_t n, size_t* used);

/** True once a byte of the request has been fed. */
bool s3l_http1_request_begun(const s3l_http1_request_t* r);

void s3l_http1_request_free(s3l_http1_request_t* r);

#endif
