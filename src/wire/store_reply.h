/* wire/store_reply.h: what the replies of object stores have in common: error documents, ETags,
 * Retry-After, and verdicts by a table.
 *
 * A table maps (operation, HTTP status, error code) to (our status, outcome, advice). Each protocol
 * has one (s3_errors.h). A body that is not the store's (a proxy's HTML) leaves the code empty; the
 * HTTP status alone decides then. */
#ifndef S3L_WIRE_STORE_REPLY_H
#define S3L_WIRE_STORE_REPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "s3lect/record.h"
#include "s3lect/types.h"
#include "util/buf.h"
#include "util/span.h"

/** What a request does. The first four are numbered as s3lect_store_op_t. */
typedef enum {
  S3L_OP_GET = 0,
  S3L_OP_PUT = 1,
  S3L_OP_DELETE = 2,
  S3L_OP_LIST = 3,
  S3L_OP_HEAD = 4,
  S3L_OP_SESSION = 5,
} s3l_op_t;

/** An <Error> document. Members that are missing or do not fit are empty. */
typedef struct s3l_store_error_s {
  char code[64];
  char message[256];
  char region[64];    /* the bucket's, if the store names it */
  char endpoint[256]; /* the host to send the request to instead */
  char request_id[64];
} s3l_store_error_t;

/** What the store layer can correct by itself before it sends a request again. */
typedef enum {
  S3L_RECOVER_NOTHING,
  S3L_RECOVER_REGION,       /* use the region that the reply names */
  S3L_RECOVER_REDIRECT,     /* send this request where the reply says */
  S3L_RECOVER_CLOCK,        /* sign with the store's time */
  S3L_RECOVER_SKEW_PERHAPS, /* the same, if the two clocks are far apart */
  S3L_RECOVER_KEYS          /* fetch new credentials */
} s3l_recover_t;

typedef struct s3l_store_verdict_s {
  int status;  /* 0 or S3LECT_E* */
  int outcome; /* s3lect_outcome_t */
  s3l_recover_t recovery;
  const char* advice; /* a sentence for the operator, or NULL */
} s3l_store_verdict_t;

/** A row of a table; ops is a set of bits 1 << s3l_op_t. */
typedef struct s3l_store_row_s {
  unsigned first : 10;
  unsigned last : 10;
  unsigned ops : 6;
  unsigned outcome : 3;
  unsigned recovery : 3; /* s3l_recover_t */
  int status;
  const char* code;
  const char* advice;
} s3l_store_row_t;

/** The verdict of the first row that matches, of the store's own rows or else of those of all
 * stores; without one, S3LECT_EBADREPLY. A code of the table that ends with '*' stands for every
 * code with that beginning. A read is never S3LECT_UNCERTAIN. */
s3l_store_verdict_t s3l_store_verdict(const s3l_store_row_t* rows, size_t n, s3l_op_t op,
                                      int http_status, s3l_span_t code);

/** The rows of all stores, for the docs page. */
const s3l_store_row_t* s3l_http_rows(size_t* n);

/** True if the body is an <Error> document (with a code or not). */
bool s3l_store_error_parse(s3l_span_t body, s3l_store_error_t* error);

/** One line for people: "403 AccessDenied: Access Denied (request id 4442587FB7D0A2F9); ADVICE".
 * `advice` may be NULL. */
void s3l_store_error_describe(s3l_buf_t* b, int http_status, const s3l_store_error_t* error,
                              const char* advice);

/** Copies a usable ETag without a leading "W/". False, with out[0] = 0, if it is missing, empty,
 * too long for S3LECT_ETAG_SIZE or holds a character that a header must not. */
bool s3l_store_etag(s3l_span_t header, char out[S3LECT_ETAG_SIZE]);

/** Retry-After in ms, from seconds or from a date, which needs the reply's own Date (else 0). At
 * most one hour; 0 if there is none. */
uint32_t s3l_store_retry_after(s3l_span_t header, int64_t date_ms);

#endif
