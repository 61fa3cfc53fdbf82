/* wire/s3_request.h: writes one signed S3 request as an HTTP/1.1 request.
 *
 * Every header that decides what the store does is signed, conditions included: if a middlebox
 * strips If-Match, the store refuses the request instead of writing unconditionally. The body is
 * hashed and sent with Content-Length: no chunks, no Expect, no checksums in trailers. Values with
 * CR, LF or NUL are refused (header injection). */
#ifndef S3L_WIRE_S3_REQUEST_H
#define S3L_WIRE_S3_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/span.h"
#include "wire/sigv4.h"

typedef enum {
  S3L_S3_GET = 0,
  S3L_S3_HEAD = 1,
  S3L_S3_PUT = 2,
  S3L_S3_DELETE = 3,
  S3L_S3_LIST = 4,
  S3L_S3_SESSION = 5, /* CreateSession of a directory bucket */
} s3l_s3_op_t;

#define S3L_S3_HEADERS_MAX 12

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

/** Writes the request, signed for `time_ms`. 0 and *len; S3LECT_EOPTION if a value cannot be sent,
 * or S3LECT_ETOOBIG if it does not fit. */
int s3l_s3_request_write(s3l_signer_t* signer, const s3l_s3_target_t* target,
                         const s3l_s3_keys_t* keys, const s3l_s3_request_t* request,
                         int64_t time_ms, char* buf, size_t cap, size_t* len);

#endif
