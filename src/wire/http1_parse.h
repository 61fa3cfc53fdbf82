/* wire/http1_parse.h: reads HTTP/1.x messages, one at a time, from bytes in any split: replies for
 * the client, requests for the server. The only user of llhttp, without any of its lenient flags.
 *
 * Vocabulary
 *   interim reply  a reply with a 1xx status; skipped, except 101, which nobody asks for
 *   unframed body  a reply's body with neither length nor chunks: it ends where the peer closes
 *   target         what a request asks for: "/path?query", "http://host/path?query" or "*"
 *
 * Invariants
 *   - status and headers_len are 0 until a reply's final head, or the whole request, is complete;
 *   - spans point into the text given at init, never into what was fed;
 *   - a head longer than that text (interim replies and leading blank lines included), more than
 *     S3L_HTTP_HEADERS_MAX headers, or a body longer than body_max is an error. A request's body
 *     is counted with chunk framing and trailers, and not kept;
 *   - a reply is done only when its framing says so: a body that ends early is an error;
 *   - a request that different servers could read differently is refused (request smuggling): a
 *     length beside chunks, several lengths, chunks in HTTP/1.0, other codings, several Host
 *     headers, none in HTTP/1.1, folded lines, lines without CR. So is CONNECT; Upgrade is ignored;
 *   - after the first error every further call gives the same error.
 *
 * Lifecycle: init once; start before each message; feed until it gives something else than
 * S3L_HTTP1_MORE, or eof when the peer has closed; read the fields; start again, or free. The body
 * buffer is kept from one reply to the next, so that a warm parser does not allocate. */
#ifndef S3L_WIRE_HTTP1_PARSE_H
#define S3L_WIRE_HTTP1_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <llhttp.h>

#include "util/span.h"
#include "wire/http1.h"

/* For replies. nginx and Apache allow 8 KiB to 32 KiB for a whole head. */
#define S3L_HTTP1_HEAD_MAX 16384

/* A larger body buffer is not kept for the next reply. */
#define S3L_HTTP1_BODY_KEEP 65536

enum { S3L_HTTP1_MORE = 0, S3L_HTTP1_DONE = 1 };

typedef enum { S3L_HTTP_GET, S3L_HTTP_HEAD, S3L_HTTP_OTHER } s3l_http_method_t;

typedef struct s3l_http1_s {
  /* The message, for the caller to read. */
  size_t headers_len; /* of `headers`, below */
  bool keep_alive;    /* valid when done: the connection may carry another message */
  /* A reply. */
  int status;
  char* body;
  size_t body_len;
  bool secret; /* set by the caller after init: the body is wiped before it is freed */
  /* A request. */
  s3l_http_method_t method;
  bool http10;
  /* After an error. */
  int answer;         /* the status that tells a client: 400, 413, 414, 417, 431, 501 or 505 */
  const char* reason; /* static text for people */

  /* Private. */
  int error;
  char last; /* byte of a request's head fed before */
  bool is_request;
  bool head_request;
  bool in_target; /* a request's target is not complete */
  bool head_done;
  bool done;
  char* text; /* a request's target, then the names and values of the headers */
  size_t text_cap;
  size_t text_len;
  size_t name_at; /* where in text the header being read begins */
  size_t value_at;
  size_t found;    /* headers of a head that is not complete yet */
  size_t head_raw; /* bytes of heads fed so far */
  size_t body_raw; /* of a request's body */
  size_t body_cap;
  size_t body_max;
  llhttp_t llhttp;

  s3l_span_t path;  /* of a request, as sent, percent-encoded; begins with '/', or is "*" */
  s3l_span_t query; /* behind '?'; p == NULL: none */
  s3l_http_header_t headers[S3L_HTTP_HEADERS_MAX]; /* of the message */
} s3l_http1_t;

/** `text` holds the head and must outlive the parser. */
void s3l_http1_init(s3l_http1_t* h, char* text, size_t text_cap);

/** Prepares for the next reply. `head_request`: the reply has no body, whatever its headers say. */
void s3l_http1_start_reply(s3l_http1_t* h, bool head_request, size_t body_max);

/** Prepares for the next request. */
void s3l_http1_start_request(s3l_http1_t* h, size_t body_max);

/** Reads bytes. S3L_HTTP1_MORE: all were used, and more are needed. S3L_HTTP1_DONE: the message is
 * complete; *used < n means that bytes follow it. Errors: S3LECT_EBADREPLY, S3LECT_ETOOBIG,
 * -ENOMEM. */
int s3l_http1_feed(s3l_http1_t* h, const char* data, size_t n, size_t* used);

/** The peer has closed in good order. S3L_HTTP1_DONE if that ends an unframed body, else
 * S3LECT_EBADREPLY. */
int s3l_http1_eof(s3l_http1_t* h);

/** True once a byte of the message has been fed. */
bool s3l_http1_begun(const s3l_http1_t* h);

/** Frees the body buffer. */
void s3l_http1_free(s3l_http1_t* h);

#endif
