/* fakes3/auth.c: checks Signature Version 4.
 *
 * This code follows the specification and uses only OpenSSL, nothing of the library's signer, so
 * that an error in one of them does not hide in the other. The path is decoded and encoded again,
 * as AWS does, which detects a client that signs or sends another encoding. One check is stricter
 * than AWS: If-Match and If-None-Match must be signed, because a middlebox could remove an unsigned
 * header. */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

#include "fakes3/internal.h"
#include "util/hex.h"
#include "util/timefmt.h"

typedef struct authorization_s {
  s3l_span_t access_key;
  s3l_span_t date;
  s3l_span_t region;
  s3l_span_t service;
  s3l_span_t terminator;
  s3l_span_t signed_headers;
  s3l_span_t signature;
  const fakes3_key_t* key;
  char time[S3L_TIME_AMZ_SIZE];
} authorization_t;

static bool fail(fakes3_request_t* r, const char* code, const char* message) {
  fakes3_error_with(r, code, 0, message);
  return false;
}

/* ---- Reading the Authorization header ---- */

static s3l_span_t take_last(s3l_span_t* s, char separator) {
  size_t start = s->n;
  while (start > 0 && s->p[start - 1] != separator)
    start--;
  s3l_span_t piece = {s->p + start, s->n - start};
  s->n = start > 0 ? start - 1 : 0;
  return piece;
}

static bool parse_authorization(s3l_span_t text, authorization_t* a) {
  s3l_span_t credential = {NULL, 0};
  s3l_span_t scheme = fakes3_take(&text, ' ');
  if (!s3l_span_eq(scheme, S3L_SPAN("AWS4-HMAC-SHA256")))
    return false;
  while (text.n > 0) {
    s3l_span_t value = s3l_span_trim(fakes3_take(&text, ','));
    s3l_span_t name = fakes3_take(&value, '=');
    if (s3l_span_eq(name, S3L_SPAN("Credential")))
      credential = value;
    else if (s3l_span_eq(name, S3L_SPAN("SignedHeaders")))
      a->signed_headers = value;
    else if (s3l_span_eq(name, S3L_SPAN("Signature")))
      a->signature = value;
    else
      return false;
  }
  a->terminator = take_last(&credential, '/');
  a->service = take_last(&credential, '/');
  a->region = take_last(&credential, '/');
  a->date = take_last(&credential, '/');
  a->access_key = credential;
  return a->access_key.n > 0 && a->signed_headers.n > 0 && a->signature.n == 64 &&
         s3l_span_eq(a->terminator, S3L_SPAN("aws4_request"));
}

/* ---- Checks before the signature ---- */

static bool check_key(fakes3_request_t* r, authorization_t* a) {
  s3l_span_t token = fakes3_header_value(r, "x-amz-security-token");
  for (size_t i = 0; i < r->server->keys_n; i++) {
    if (s3l_span_eq(a->access_key, s3l_span_cstr(r->server->keys[i].access_key)))
      a->key = &r->server->keys[i];
  }
  if (a->key == NULL) {
    fakes3_error(r, "InvalidAccessKeyId");
    fakes3_error_add(r, "AWSAccessKeyId", a->access_key);
    return false;
  }
  s3l_span_t wanted = s3l_span_cstr(a->key->token);
  if ((token.p != NULL) != (wanted.p != NULL) || (token.p != NULL && !s3l_span_eq(token, wanted)))
    return fail(r, "InvalidToken", NULL);
  return true;
}

static bool check_time(fakes3_request_t* r, authorization_t* a) {
  int64_t ms;
  s3l_span_t date = fakes3_header_value(r, "x-amz-date");
  bool good = date.p != NULL ? s3l_time_parse_amz(date, &ms)
                             : s3l_time_parse_http(fakes3_header_value(r, "date"), &ms);
  if (!good || !s3l_time_format_amz(ms, a->time))
    return fail(r, "AccessDenied", "AWS authentication requires a valid Date or x-amz-date header");
  int64_t skew = r->arrived_ms - ms;
  if (skew <= FAKES3_SKEW_MAX_MS && skew >= -FAKES3_SKEW_MAX_MS)
    return true;
  char now[S3L_TIME_RFC3339_SIZE], max[16];
  (void)s3l_time_format_rfc3339(r->arrived_ms / 1000 * 1000, now);
  snprintf(max, sizeof(max), "%d", FAKES3_SKEW_MAX_MS);
  fakes3_error(r, "RequestTimeTooSkewed");
  fakes3_error_add(r, "RequestTime", s3l_span_cstr(a->time));
  fakes3_error_add(r, "ServerTime", s3l_span_cstr(now));
  fakes3_error_add(r, "MaxAllowedSkewMilliseconds", s3l_span_cstr(max));
  return false;
}

static bool check_scope(fakes3_request_t* r, const authorization_t* a) {
  if (!s3l_span_eq(a->date, (s3l_span_t){a->time, 8}))
    return fail(r, "AuthorizationHeaderMalformed",
                "The authorization header is malformed; Invalid credential date. This date is not "
                "the same as X-Amz-Date.");
  if (!s3l_span_eq(a->service, S3L_SPAN("s3")))
    return fail(r, "AuthorizationHeaderMalformed",
                "The authorization header is malformed; incorrect service. This endpoint belongs "
                "to \"s3\".");
  const char* region = r->server->region;
  if (a->region.n > 0 && (region == NULL || s3l_span_eq(a->region, s3l_span_cstr(region))))
    return true;
  fail(r, "AuthorizationHeaderMalformed",
       "The authorization header is malformed; the region is wrong.");
  fakes3_error_add(r, "Region", s3l_span_cstr(region != NULL ? region : "us-east-1"));
  return false;
}

static bool is_listed(s3l_span_t list, s3l_span_t name) {
  while (list.n > 0) {
    if (s3l_span_eq(fakes3_take(&list, ';'), name))
      return true;
  }
  return false;
}

static bool must_be_signed(s3l_span_t name) {
  return s3l_span_eq(name, S3L_SPAN("host")) || s3l_span_starts_with(name, S3L_SPAN("x-amz-")) ||
         s3l_span_eq(name, S3L_SPAN("if-match")) || s3l_span_eq(name, S3L_SPAN("if-none-match"));
}

static bool check_coverage(fakes3_request_t* r, const authorization_t* a) {
  fakes3_bytes_t missing = {NULL, 0, 0};
  if (fakes3_header(r, "host") == NULL)
    fakes3_puts(&missing, "host");
  for (size_t i = 0; i < r->headers_n; i++) {
    s3l_span_t name = r->headers[i].name;
    if (!must_be_signed(name) || is_listed(a->signed_headers, name))
      continue;
    fakes3_puts(&missing, missing.n > 0 ? ", " : "");
    fakes3_put_span(&missing, name);
  }
  bool good = missing.n == 0;
  if (!good) {
    fail(r, "AccessDenied", "There were headers present in the request which were not signed");
    fakes3_error_add(r, "HeadersNotSigned", fakes3_span(&missing));
  }
  fakes3_bytes_free(&missing);
  return good;
}

static bool is_hash(s3l_span_t s) {
  uint8_t bytes[SHA256_DIGEST_LENGTH];
  return s3l_hex_decode(s, bytes, sizeof(bytes));
}

static bool check_payload_form(fakes3_request_t* r) {
  s3l_span_t hash = fakes3_header_value(r, "x-amz-content-sha256");
  if (hash.p == NULL)
    return fail(r, "InvalidRequest",
                "Missing required header for this request: x-amz-content-sha256");
  if (s3l_span_starts_with(hash, S3L_SPAN("STREAMING-")))
    return fail(r, "NotImplemented", NULL);
  if (!s3l_span_eq(hash, S3L_SPAN("UNSIGNED-PAYLOAD")) && !is_hash(hash))
    return fail(r, "InvalidArgument",
                "x-amz-content-sha256 must be UNSIGNED-PAYLOAD or a valid sha256 value.");
  return true;
}

/* ---- The signature ---- */

typedef struct param_s {
  char* name;
  char* value;
} param_t;

static char* encode(s3l_span_t s) {
  fakes3_bytes_t b = {NULL, 0, 0};
  fakes3_put_uri(&b, s, 0);
  char* text = fakes3_dup(fakes3_span(&b));
  fakes3_bytes_free(&b);
  return text;
}

static int compare_params(const void* a, const void* b) {
  const param_t* x = a;
  const param_t* y = b;
  int order = strcmp(x->name, y->name);
  return order != 0 ? order : strcmp(x->value, y->value);
}

static void put_query(fakes3_bytes_t* b, const fakes3_request_t* r) {
  param_t params[FAKES3_PARAMS_MAX];
  for (size_t i = 0; i < r->params_n; i++)
    params[i] = (param_t){encode(r->params[i].name), encode(r->params[i].value)};
  qsort(params, r->params_n, sizeof(params[0]), compare_params);
  for (size_t i = 0; i < r->params_n; i++) {
    fakes3_printf(b, "%s%s=%s", i > 0 ? "&" : "", params[i].name, params[i].value);
    free(params[i].name);
    free(params[i].value);
  }
}

/* Inner runs of blanks become one; the ends are trimmed already. */
static void put_value(fakes3_bytes_t* b, s3l_span_t value) {
  bool blank = false;
  for (size_t i = 0; i < value.n; i++) {
    bool is_blank = value.p[i] == ' ' || value.p[i] == '\t';
    if (!is_blank)
      fakes3_put(b, &value.p[i], 1);
    else if (!blank)
      fakes3_puts(b, " ");
    blank = is_blank;
  }
}

static void put_header(fakes3_bytes_t* b, const fakes3_request_t* r, s3l_span_t name) {
  size_t found = 0;
  fakes3_put_span(b, name);
  fakes3_puts(b, ":");
  for (size_t i = 0; i < r->headers_n; i++) {
    if (!s3l_span_eq(r->headers[i].name, name))
      continue;
    fakes3_puts(b, found++ > 0 ? "," : "");
    put_value(b, r->headers[i].value);
  }
  fakes3_puts(b, "\n");
}

static void put_canonical_request(fakes3_bytes_t* b, const fakes3_request_t* r,
                                  const authorization_t* a) {
  fakes3_bytes_t path = {NULL, 0, 0};
  s3l_span_t list = a->signed_headers;
  (void)fakes3_put_decoded(&path, r->path);
  fakes3_printf(b, "%s\n", llhttp_method_name(r->method));
  fakes3_put_uri(b, fakes3_span(&path), 1);
  fakes3_bytes_free(&path);
  fakes3_puts(b, "\n");
  put_query(b, r);
  fakes3_puts(b, "\n");
  while (list.n > 0)
    put_header(b, r, fakes3_take(&list, ';'));
  fakes3_puts(b, "\n");
  fakes3_put_span(b, a->signed_headers);
  fakes3_puts(b, "\n");
  fakes3_put_span(b, fakes3_header_value(r, "x-amz-content-sha256"));
}

static void put_sha256(fakes3_bytes_t* b, s3l_span_t s) {
  uint8_t hash[SHA256_DIGEST_LENGTH];
  char hex[2 * sizeof(hash)];
  SHA256((const unsigned char*)s.p, s.n, hash);
  s3l_hex_encode(hash, sizeof(hash), hex);
  fakes3_put(b, hex, sizeof(hex));
}

static void put_string_to_sign(fakes3_bytes_t* b, s3l_span_t canonical, const authorization_t* a) {
  fakes3_printf(b, "AWS4-HMAC-SHA256\n%s\n%.8s/%.*s/s3/aws4_request\n", a->time, a->time,
                (int)a->region.n, a->region.p);
  put_sha256(b, canonical);
}

/* key = HMAC(key, text) */
static void chain(uint8_t key[SHA256_DIGEST_LENGTH], s3l_span_t text) {
  uint8_t next[SHA256_DIGEST_LENGTH];
  if (HMAC(EVP_sha256(), key, SHA256_DIGEST_LENGTH, (const unsigned char*)text.p, text.n, next,
           NULL) == NULL)
    abort();
  memcpy(key, next, sizeof(next));
}

static void sign(const authorization_t* a, s3l_span_t string_to_sign, char hex[64]) {
  fakes3_bytes_t secret = {NULL, 0, 0};
  uint8_t key[SHA256_DIGEST_LENGTH];
  fakes3_printf(&secret, "AWS4%s", a->key->secret_key);
  if (HMAC(EVP_sha256(), secret.p, (int)secret.n, (const unsigned char*)a->time, 8, key, NULL) ==
      NULL)
    abort();
  fakes3_bytes_free(&secret);
  chain(key, a->region);
  chain(key, S3L_SPAN("s3"));
  chain(key, S3L_SPAN("aws4_request"));
  chain(key, string_to_sign);
  s3l_hex_encode(key, sizeof(key), hex);
}

static bool check_signature(fakes3_request_t* r, const authorization_t* a) {
  fakes3_bytes_t canonical = {NULL, 0, 0}, text = {NULL, 0, 0};
  char hex[64];
  put_canonical_request(&canonical, r, a);
  put_string_to_sign(&text, fakes3_span(&canonical), a);
  sign(a, fakes3_span(&text), hex);
  bool good = CRYPTO_memcmp(hex, a->signature.p, sizeof(hex)) == 0;
  if (!good) {
    fakes3_error(r, "SignatureDoesNotMatch");
    fakes3_error_add(r, "AWSAccessKeyId", s3l_span_cstr(a->key->access_key));
    fakes3_error_add(r, "StringToSign", fakes3_span(&text));
    fakes3_error_add(r, "SignatureProvided", a->signature);
    fakes3_error_add(r, "CanonicalRequest", fakes3_span(&canonical));
  }
  fakes3_bytes_free(&canonical);
  fakes3_bytes_free(&text);
  return good;
}

static bool check_payload(fakes3_request_t* r) {
  s3l_span_t given = fakes3_header_value(r, "x-amz-content-sha256");
  fakes3_bytes_t computed = {NULL, 0, 0};
  if (s3l_span_eq(given, S3L_SPAN("UNSIGNED-PAYLOAD")))
    return true;
  put_sha256(&computed, fakes3_span(&r->body));
  bool good = s3l_span_ieq(given, fakes3_span(&computed));
  fakes3_bytes_free(&computed);
  return good || fail(r, "XAmzContentSHA256Mismatch", NULL);
}

bool fakes3_auth_check(fakes3_request_t* r) {
  authorization_t a = {.key = NULL};
  s3l_span_t text = fakes3_header_value(r, "authorization");
  bool good = false;
  if (text.p == NULL && r->server->anonymous_reads &&
      (r->method == HTTP_GET || r->method == HTTP_HEAD))
    return true;
  if (text.p == NULL)
    fail(r, "AccessDenied", NULL);
  else if (!parse_authorization(text, &a))
    fail(r, "AuthorizationHeaderMalformed", NULL);
  else
    good = check_key(r, &a) && check_time(r, &a) && check_scope(r, &a) && check_coverage(r, &a) &&
           check_payload_form(r) && check_signature(r, &a) && check_payload(r);
  if (!good)
    r->server->counters.unauthorized++;
  return good;
}

s3l_span_t fakes3_auth_access_key(const fakes3_request_t* r) {
  authorization_t a = {.key = NULL};
  s3l_span_t text = fakes3_header_value(r, "authorization");
  return text.p != NULL && parse_authorization(text, &a) ? a.access_key : (s3l_span_t){NULL, 0};
}
