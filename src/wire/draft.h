/* wire/draft.h: a request in the making, for stores whose requests have S3's form: S3 itself,
 * Google Cloud Storage and Azure Blob Storage.
 *
 * A writer begins the draft, adds its query and its headers, and ends the draft, which signs and
 * writes the request. The same headers are signed and sent. With keys that are a token alone the
 * request is not signed: it has the token as its authorization (RFC 6750). */
#ifndef S3L_WIRE_DRAFT_H
#define S3L_WIRE_DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/span.h"
#include "wire/sigv4.h"
#include "wire/store_reply.h"

#define S3L_S3_HEADERS_MAX    12
#define S3L_DRAFT_PATH_MAX    (3 * 1024 + 256) /* keys have up to 1024 bytes, buckets' names 255 */
#define S3L_DRAFT_QUERY_MAX   (2 * S3L_DRAFT_PATH_MAX)
#define S3L_DRAFT_HEADERS_MAX (10 + S3L_S3_HEADERS_MAX)

typedef enum {
  S3L_S3_GET = S3L_OP_GET,
  S3L_S3_PUT = S3L_OP_PUT,
  S3L_S3_DELETE = S3L_OP_DELETE,
  S3L_S3_LIST = S3L_OP_LIST,
  S3L_S3_HEAD = S3L_OP_HEAD,
  S3L_S3_SESSION = S3L_OP_SESSION, /* CreateSession of a directory bucket */
} s3l_s3_op_t;

/** Where requests go; the same for all of a store. */
typedef struct s3l_s3_target_s {
  s3l_span_t host;   /* as the Host header has it: with the port where it is not the scheme's own */
  s3l_span_t bucket; /* in the path; empty where the host names it (virtual-host addressing) */
  s3l_span_t region;
  s3l_span_t user_agent;
  s3l_span_t owner;                /* x-amz-expected-bucket-owner; n == 0 for none */
  const s3l_sigv4_pair_t* headers; /* further ones, on every put; signed */
  bool express;  /* a directory bucket (S3 Express One Zone): the keys are a session's */
  bool checksum; /* x-amz-checksum-sha256 on every put, which buckets with Object Lock demand */
  size_t headers_len; /* at most S3L_S3_HEADERS_MAX */
  s3l_span_t origin; /* of a request that goes to a plain proxy: "http://host:port"; n == 0: none */
  s3l_span_t proxy_authorization; /* n == 0 for none */
} s3l_s3_target_t;

typedef struct s3l_s3_keys_s {
  s3l_span_t access_key;
  s3l_span_t secret;
  s3l_span_t token; /* of temporary keys; n == 0 for none */
} s3l_s3_keys_t;

typedef struct s3l_s3_request_s {
  s3l_s3_op_t op;
  s3l_span_t key;           /* raw; of a list the prefix, which may be empty */
  s3l_span_t if_match;      /* sent as it stands; p == NULL for no such header */
  s3l_span_t if_none_match; /* likewise */
  s3l_span_t body;          /* put */
  s3l_span_t after;         /* list: start-after; n == 0 for none */
  uint32_t max_keys;        /* list */
  bool versions;            /* list: all of them */
  s3l_span_t version;       /* get: the one to read; list: that of `after`. n == 0 for none */
} s3l_s3_request_t;

typedef struct s3l_draft_s {
  const s3l_s3_target_t* target;
  const s3l_s3_keys_t* keys;
  const s3l_s3_request_t* request;
  s3l_sigv4_request_t sig;
  s3l_sigv4_pair_t headers[S3L_DRAFT_HEADERS_MAX];
  s3l_sigv4_scope_t scope; /* set by the writer */
  s3l_span_t grant;        /* a further part of the query, encoded and not signed; n == 0: none */
  char hash[S3L_SHA256_HEX_SIZE + 1];
  char path[S3L_DRAFT_PATH_MAX];
  char query[S3L_DRAFT_QUERY_MAX];
} s3l_draft_t;

/** Checks what every request has, and drafts method, path, the body's hash and, for a list, the
 * query. The other parts are empty. Without a signer the body is not hashed. False: a value cannot
 * be sent. */
bool s3l_draft_begin(s3l_draft_t* draft, s3l_signer_t* signer, const s3l_s3_target_t* target,
                     const s3l_s3_keys_t* keys, const s3l_s3_request_t* request);

/** Whether the value may stand in a header line. */
bool s3l_draft_is_clean(s3l_span_t value);

/** Replaces the query. False: it does not fit. */
bool s3l_draft_query(s3l_draft_t* draft, const s3l_sigv4_pair_t* params, size_t n);

/** Adds a header. The signer sorts them, with the least work if they come sorted by name. */
void s3l_draft_header(s3l_draft_t* draft, s3l_span_t name, s3l_span_t value);

/** The two parts of s3l_draft_end: the head without authorization; the end of the head, and the
 * body of a PUT. */
void s3l_draft_put_head(const s3l_draft_t* draft, s3l_buf_t* b);
void s3l_draft_put_rest(const s3l_draft_t* draft, s3l_buf_t* b);

/** Signs and writes the request as SigV4 has it. Returns 0 and *len; S3LECT_EOPTION if it cannot be
 * signed, or S3LECT_ETOOBIG. */
int s3l_draft_end(s3l_draft_t* draft, s3l_signer_t* signer, char* buf, size_t cap, size_t* len);

#endif
