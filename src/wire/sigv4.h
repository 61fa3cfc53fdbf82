/* wire/sigv4.h: AWS Signature Version 4 for S3, and Google's variant of it for Cloud Storage
 * (GOOG4-HMAC-SHA256): paths are signed as they are sent, encoded once and not normalised.
 *
 * Vocabulary
 *   canonical request  the request as text, equal for signer and store
 *   string to sign     time, scope and the canonical request's hash
 *   flavour            AWS's or Google's: the names in which the two differ
 *   scope              date/region/service/aws4_request, or Google's
 * date/auto/storage/goog4_request signing key        derived from the secret for one scope; valid
 * for one day, and kept signer             an engine with its kept key; one per store, one thread
 *
 * Clock and credentials are arguments. After the first request of a day signing allocates nothing.
 */
#ifndef S3L_WIRE_SIGV4_H
#define S3L_WIRE_SIGV4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/span.h"
#include "util/timefmt.h"
#include "wire/sha256.h"

#define S3L_SIGV4_HEADERS_MAX 24
#define S3L_SIGV4_QUERY_MAX   16
#define S3L_SIGV4_SECRET_MAX  256
#define S3L_SIGV4_REGION_MAX  64

/** A header or a query parameter. */
typedef struct s3l_sigv4_pair_s {
  s3l_span_t name;
  s3l_span_t value;
} s3l_sigv4_pair_t;

typedef struct s3l_sigv4_request_s {
  s3l_span_t method;
  s3l_span_t path;  /* encoded, beginning with '/' */
  s3l_span_t query; /* canonical, as s3l_sigv4_query writes it; sent in the same form */
  const s3l_sigv4_pair_t* headers; /* those to be signed, in any order and letter case */
  size_t headers_len;
  s3l_span_t payload_hash; /* hexadecimal, or UNSIGNED-PAYLOAD */
} s3l_sigv4_request_t;

typedef struct s3l_sigv4_flavour_s s3l_sigv4_flavour_t;

typedef struct s3l_sigv4_scope_s {
  char time[S3L_TIME_AMZ_SIZE]; /* 20130524T000000Z; its first 8 characters are the date */
  s3l_span_t region;
  s3l_span_t service;
  const s3l_sigv4_flavour_t* flavour;
} s3l_sigv4_scope_t;

/** AWS's scope. False if the time is out of range. */
bool s3l_sigv4_scope(s3l_sigv4_scope_t* scope, int64_t time_ms, s3l_span_t region,
                     s3l_span_t service);

/** Google's scope. False if the time is out of range. */
bool s3l_sigv4_scope_google(s3l_sigv4_scope_t* scope, int64_t time_ms);

/* ---- Stages. Those that write text set the buffer's overflow if a limit is exceeded. ---- */

/** Encodes raw parameters and sorts them by encoded name, then value. */
void s3l_sigv4_query(s3l_buf_t* b, const s3l_sigv4_pair_t* params, size_t n);

void s3l_sigv4_canonical_request(s3l_buf_t* b, const s3l_sigv4_request_t* request);

void s3l_sigv4_string_to_sign(s3l_buf_t* b, const s3l_sigv4_scope_t* scope,
                              s3l_span_t canonical_hash);

bool s3l_sigv4_signing_key(s3l_sha256_t* engine, s3l_span_t secret, const s3l_sigv4_scope_t* scope,
                           uint8_t key[S3L_SHA256_SIZE]);

bool s3l_sigv4_signature(s3l_sha256_t* engine, const s3l_hmac_key_t* key, s3l_span_t string_to_sign,
                         char hex[S3L_SHA256_HEX_SIZE + 1]);

/* ---- The signer ---- */

typedef struct s3l_signer_s {
  s3l_sha256_t engine;
  s3l_sha256_memo_t memo; /* of canonical requests */
  s3l_hmac_key_t key;     /* with what it was derived from: */
  const s3l_sigv4_flavour_t* flavour;
  char date[9];
  char region[S3L_SIGV4_REGION_MAX];
  char service[16];
  char secret[S3L_SIGV4_SECRET_MAX];
} s3l_signer_t;

/** False for lack of memory, with nothing to clean up. */
bool s3l_signer_open(s3l_signer_t* signer);

/** Wipes its secrets. */
void s3l_signer_close(s3l_signer_t* signer);

/** Appends the value of the Authorization header. False if libcrypto failed or a limit was
 * exceeded.
 */
bool s3l_signer_authorization(s3l_signer_t* signer, const s3l_sigv4_request_t* request,
                              const s3l_sigv4_scope_t* scope, s3l_span_t access_key,
                              s3l_span_t secret, s3l_buf_t* out);

#endif
