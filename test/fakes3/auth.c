/* fakes3/auth.c: checks Signature Version 4, and Google's, which is the same with other names, and
 * finds bearer tokens.
 *
 * This code follows the specification and uses only OpenSSL, nothing of the library's signer, so
 * that an error in one of them does not hide in the other. The path is decoded and encoded again,
 * as AWS does, which detects a client that signs or sends another encoding. One check is stricter
 * than AWS: If-Match and If-None-Match must be signed, because a middlebox could remove an unsigned
 * header. */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "fakes3/protocol.h"
#include "util/hex.h"
#include "util/timefmt.h"

#define SHA256_SIZE  FAKES3_SHA256_SIZE
#define SHA256_BLOCK 64

/* The names of a scheme. Google accepts AWS's scheme, too, with headers of AWS's names or its own
 * (reported by getcolors/automq-gcloud, which tried it). */
typedef struct scheme_s {
  const char* algorithm;
  const char* secret; /* what a secret key begins with when the signing key is derived */
  const char* service;
  const char* terminator;
} scheme_t;

static const scheme_t aws4 = {"AWS4-HMAC-SHA256", "AWS4", "s3", "aws4_request"};
static const scheme_t goog4 = {"GOOG4-HMAC-SHA256", "GOOG4", "storage", "goog4_request"};

typedef struct authorization_s {
  const scheme_t* scheme;
  const char* headers; /* with which its headers begin: "x-amz-" */
  s3l_span_t access_key;
  s3l_span_t date;
  s3l_span_t region;
  s3l_span_t service;
  s3l_span_t terminator;
  s3l_span_t signed_headers;
  s3l_span_t signature;
  const fakes3_key_t* key;
  fakes3_key_t session; /* what `key` points to, of a session */
  char time[S3L_TIME_AMZ_SIZE];
} authorization_t;

bool fakes3_refuse(fakes3_request_t* r, const char* code, const char* message) {
  fakes3_error_with(r, code, 0, message);
  return false;
}

/* The value of x-amz-NAME, or of x-goog-NAME. */
static s3l_span_t own_header(const fakes3_request_t* r, const authorization_t* a,
                             const char* name) {
  char whole[64];
  snprintf(whole, sizeof(whole), "%s%s", a->headers, name);
  return fakes3_header_value(r, whole);
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

static bool choose_scheme(const fakes3_request_t* r, s3l_span_t name, authorization_t* a) {
  bool google = r->server->protocol == &fakes3_gcs;
  a->scheme = google && s3l_span_eq(name, s3l_span_cstr(goog4.algorithm)) ? &goog4 : &aws4;
  a->headers = google && fakes3_header(r, "x-amz-date") == NULL ? "x-goog-" : "x-amz-";
  return s3l_span_eq(name, s3l_span_cstr(a->scheme->algorithm));
}

static bool parse_authorization(const fakes3_request_t* r, s3l_span_t text, authorization_t* a) {
  s3l_span_t credential = {NULL, 0};
  if (!choose_scheme(r, fakes3_take(&text, ' '), a))
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
         s3l_span_eq(a->terminator, s3l_span_cstr(a->scheme->terminator));
}

/* ---- Checks before the signature ---- */

static const char* service_of(const fakes3_request_t* r, const authorization_t* a) {
  return fakes3_is_express(r) ? "s3express" : a->scheme->service;
}

static bool check_key(fakes3_request_t* r, authorization_t* a) {
  s3l_span_t token = own_header(r, a, "security-token");
  if (fakes3_is_express(r) && !fakes3_is_create_session(r)) {
    a->key = &a->session;
    return fakes3_session_check(r, a->access_key, &a->session);
  }
  for (size_t i = 0; i < r->server->keys_n; i++) {
    if (s3l_span_eq(a->access_key, s3l_span_cstr(r->server->keys[i].access_key)))
      a->key = &r->server->keys[i];
  }
  if (a->key == NULL || a->key->secret_key[0] == '\0') {
    fakes3_error(r, "InvalidAccessKeyId");
    fakes3_error_add(r, "AWSAccessKeyId", a->access_key);
    return false;
  }
  s3l_span_t wanted = s3l_span_cstr(a->key->token);
  if ((token.p != NULL) != (wanted.p != NULL) || (token.p != NULL && !s3l_span_eq(token, wanted)))
    return fakes3_refuse(r, "InvalidToken", NULL);
  return true;
}

bool fakes3_is_near(const fakes3_request_t* r, int64_t ms) {
  int64_t skew = r->arrived_ms - ms;
  return skew <= FAKES3_SKEW_MAX_MS && skew >= -FAKES3_SKEW_MAX_MS;
}

static bool check_time(fakes3_request_t* r, authorization_t* a) {
  int64_t ms;
  s3l_span_t date = own_header(r, a, "date");
  bool good = date.p != NULL ? s3l_time_parse_amz(date, &ms)
                             : s3l_time_parse_http(fakes3_header_value(r, "date"), &ms);
  if (!good || !s3l_time_format_amz(ms, a->time))
    return fakes3_refuse(r, "AccessDenied",
                         "AWS authentication requires a valid Date or x-amz-date header");
  if (fakes3_is_near(r, ms))
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
    return fakes3_refuse(
        r, "AuthorizationHeaderMalformed",
        "The authorization header is malformed; Invalid credential date. This date is not "
        "the same as X-Amz-Date.");
  if (!s3l_span_eq(a->service, s3l_span_cstr(service_of(r, a)))) {
    char text[128];
    snprintf(text, sizeof(text),
             "The authorization header is malformed; incorrect service. This endpoint belongs to "
             "\"%s\".",
             service_of(r, a));
    return fakes3_refuse(r, "AuthorizationHeaderMalformed", text);
  }
  const char* region = r->server->region;
  if (a->region.n > 0 && (region == NULL || s3l_span_eq(a->region, s3l_span_cstr(region))))
    return true;
  fakes3_refuse(r, "AuthorizationHeaderMalformed",
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

static bool must_be_signed(const authorization_t* a, s3l_span_t name) {
  return s3l_span_eq(name, S3L_SPAN("host")) ||
         s3l_span_starts_with(name, s3l_span_cstr(a->headers)) ||
         s3l_span_eq(name, S3L_SPAN("if-match")) || s3l_span_eq(name, S3L_SPAN("if-none-match"));
}

static bool check_coverage(fakes3_request_t* r, const authorization_t* a) {
  fakes3_bytes_t missing = {NULL, 0, 0};
  if (fakes3_header(r, "host") == NULL)
    fakes3_puts(&missing, "host");
  for (size_t i = 0; i < r->headers_n; i++) {
    s3l_span_t name = r->headers[i].name;
    if (!must_be_signed(a, name) || is_listed(a->signed_headers, name))
      continue;
    fakes3_puts(&missing, missing.n > 0 ? ", " : "");
    fakes3_put_span(&missing, name);
  }
  bool good = missing.n == 0;
  if (!good) {
    fakes3_refuse(r, "AccessDenied",
                  "There were headers present in the request which were not signed");
    fakes3_error_add(r, "HeadersNotSigned", fakes3_span(&missing));
  }
  fakes3_bytes_free(&missing);
  return good;
}

static bool is_hash(s3l_span_t s) {
  uint8_t bytes[SHA256_SIZE];
  return s3l_hex_decode(s, bytes, sizeof(bytes));
}

static bool check_payload_form(fakes3_request_t* r, const authorization_t* a) {
  s3l_span_t hash = own_header(r, a, "content-sha256");
  if (hash.p == NULL)
    return fakes3_refuse(r, "InvalidRequest",
                         "Missing required header for this request: the payload's hash");
  if (s3l_span_starts_with(hash, S3L_SPAN("STREAMING-")))
    return fakes3_refuse(r, "NotImplemented", NULL);
  if (!s3l_span_eq(hash, S3L_SPAN("UNSIGNED-PAYLOAD")) && !is_hash(hash))
    return fakes3_refuse(r, "InvalidArgument",
                         "The payload's hash must be UNSIGNED-PAYLOAD or a valid sha256 value.");
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
  fakes3_put_span(b, own_header(r, a, "content-sha256"));
}

/* The parts, one after the other. OpenSSL's one-call functions fetch the algorithm each time, which
 * would take most of a request's time. */
static void hash(fakes3_t* s, const s3l_span_t* parts, size_t n, uint8_t out[SHA256_SIZE]) {
  if (s->sha256 == NULL) {
    s->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    s->hashing = EVP_MD_CTX_new();
  }
  bool good = s->hashing != NULL && EVP_DigestInit_ex2(s->hashing, s->sha256, NULL) == 1;
  for (size_t i = 0; i < n; i++)
    good = good && EVP_DigestUpdate(s->hashing, parts[i].p, parts[i].n) == 1;
  if (!good || EVP_DigestFinal_ex(s->hashing, out, NULL) != 1)
    abort();
}

void fakes3_auth_free(fakes3_t* s) {
  EVP_MD_CTX_free(s->hashing);
  EVP_MD_free(s->sha256);
  free(s->signing.scope);
}

static void put_sha256(fakes3_t* s, fakes3_bytes_t* b, s3l_span_t text) {
  uint8_t sum[SHA256_SIZE];
  char hex[2 * sizeof(sum)];
  hash(s, &text, 1, sum);
  s3l_hex_encode(sum, sizeof(sum), hex);
  fakes3_put(b, hex, sizeof(hex));
}

static void put_string_to_sign(fakes3_t* s, fakes3_bytes_t* b, s3l_span_t canonical,
                               const authorization_t* a) {
  fakes3_printf(b, "%s\n%s\n%.8s/%.*s/%.*s/%s\n", a->scheme->algorithm, a->time, a->time,
                (int)a->region.n, a->region.p, (int)a->service.n, a->service.p,
                a->scheme->terminator);
  put_sha256(s, b, canonical);
}

/* RFC 2104. No secret is longer than a block. */
void fakes3_hmac(fakes3_t* s, s3l_span_t key, s3l_span_t text, uint8_t out[SHA256_SIZE]) {
  char inner[SHA256_BLOCK] = {0}, outer[SHA256_BLOCK] = {0};
  if (key.n > SHA256_BLOCK)
    abort();
  memcpy(inner, key.p, key.n);
  memcpy(outer, key.p, key.n);
  for (size_t i = 0; i < SHA256_BLOCK; i++) {
    inner[i] ^= 0x36;
    outer[i] ^= 0x5c;
  }
  hash(s, (s3l_span_t[]){{inner, sizeof(inner)}, text}, 2, out);
  hash(s, (s3l_span_t[]){{outer, sizeof(outer)}, {(const char*)out, SHA256_SIZE}}, 2, out);
}

static s3l_span_t sum_span(const uint8_t sum[SHA256_SIZE]) {
  return (s3l_span_t){(const char*)sum, SHA256_SIZE};
}

/* The key of a day, a region and a service, which is kept. */
static s3l_span_t signing_key(fakes3_t* s, const authorization_t* a) {
  fakes3_bytes_t scope = {NULL, 0, 0};
  uint8_t* key = s->signing.key;
  fakes3_printf(&scope, "%s%s", a->scheme->secret, a->key->secret_key);
  size_t secret_n = scope.n;
  fakes3_printf(&scope, "/%.8s/%.*s/%.*s", a->time, (int)a->region.n, a->region.p,
                (int)a->service.n, a->service.p);
  if (s->signing.scope == NULL || strcmp(s->signing.scope, fakes3_cstr(&scope)) != 0) {
    free(s->signing.scope);
    s->signing.scope = fakes3_dup(fakes3_span(&scope));
    fakes3_hmac(s, (s3l_span_t){scope.p, secret_n}, (s3l_span_t){a->time, 8}, key);
    fakes3_hmac(s, sum_span(key), a->region, key);
    fakes3_hmac(s, sum_span(key), a->service, key);
    fakes3_hmac(s, sum_span(key), s3l_span_cstr(a->scheme->terminator), key);
  }
  fakes3_bytes_free(&scope);
  return sum_span(key);
}

static void sign(fakes3_t* s, const authorization_t* a, s3l_span_t string_to_sign, char hex[64]) {
  uint8_t sum[SHA256_SIZE];
  fakes3_hmac(s, signing_key(s, a), string_to_sign, sum);
  s3l_hex_encode(sum, sizeof(sum), hex);
}

static bool check_signature(fakes3_request_t* r, const authorization_t* a) {
  fakes3_bytes_t canonical = {NULL, 0, 0}, text = {NULL, 0, 0};
  char hex[64];
  put_canonical_request(&canonical, r, a);
  put_string_to_sign(r->server, &text, fakes3_span(&canonical), a);
  sign(r->server, a, fakes3_span(&text), hex);
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

static bool check_payload(fakes3_request_t* r, const authorization_t* a) {
  s3l_span_t given = own_header(r, a, "content-sha256");
  fakes3_bytes_t computed = {NULL, 0, 0};
  if (s3l_span_eq(given, S3L_SPAN("UNSIGNED-PAYLOAD")))
    return true;
  put_sha256(r->server, &computed, fakes3_span(&r->body));
  bool good = s3l_span_ieq(given, fakes3_span(&computed));
  fakes3_bytes_free(&computed);
  return good || fakes3_refuse(r, "XAmzContentSHA256Mismatch", NULL);
}

bool fakes3_sigv4_check(fakes3_request_t* r) {
  authorization_t a = {.key = NULL};
  s3l_span_t text = fakes3_header_value(r, "authorization");
  if (text.p == NULL)
    return fakes3_refuse(r, "AccessDenied", NULL);
  if (!parse_authorization(r, text, &a))
    return fakes3_refuse(r, "AuthorizationHeaderMalformed", NULL);
  return check_key(r, &a) && check_time(r, &a) && check_scope(r, &a) && check_coverage(r, &a) &&
         check_payload_form(r, &a) &&
         (!fakes3_verifies(r) || (check_signature(r, &a) && check_payload(r, &a)));
}

s3l_span_t fakes3_sigv4_access_key(const fakes3_request_t* r) {
  authorization_t a = {.key = NULL};
  s3l_span_t text = fakes3_header_value(r, "authorization");
  return text.p != NULL && parse_authorization(r, text, &a) ? a.access_key : (s3l_span_t){NULL, 0};
}

/* ---- All protocols ---- */

s3l_span_t fakes3_bearer(const fakes3_request_t* r) {
  s3l_span_t text = fakes3_header_value(r, "authorization");
  if (!s3l_span_ieq(fakes3_take(&text, ' '), S3L_SPAN("Bearer")))
    return (s3l_span_t){NULL, 0};
  for (size_t i = 0; i < r->server->keys_n; i++) {
    const fakes3_key_t* key = &r->server->keys[i];
    if (key->token != NULL && s3l_span_eq(text, s3l_span_cstr(key->token)))
      return s3l_span_cstr(key->access_key);
  }
  return fakes3_session_holder(r, text);
}

bool fakes3_verifies(const fakes3_request_t* r) {
  return r->server->signatures++ % r->server->verify_every == 0;
}

bool fakes3_auth_check(fakes3_request_t* r) {
  if (r->gives_token)
    return true;
  bool reads = r->method == HTTP_GET || r->method == HTTP_HEAD;
  if (fakes3_header(r, "authorization") == NULL && r->server->anonymous_reads && reads)
    return true;
  bool good = r->server->protocol->auth(r);
  r->server->counters.unauthorized += !good;
  return good;
}
