#include "wire/s3_request.h"

#include <string.h>

#include "s3lect/errno.h"
#include "util/assert.h"
#include "util/base64.h"
#include "util/hex.h"
#include "util/url.h"

#define PATH_MAX_BYTES  (3 * 1024 + 256) /* keys have up to 1024 bytes, bucket names up to 255 */
#define QUERY_MAX_BYTES (2 * PATH_MAX_BYTES)
#define HEADERS_MAX     (10 + S3L_S3_HEADERS_MAX)

S3L_STATIC_ASSERT(HEADERS_MAX <= S3L_SIGV4_HEADERS_MAX, "all of them are signed");

/* A request in the making. The same headers are signed and sent. */
typedef struct draft_s {
  s3l_sigv4_request_t sig;
  s3l_sigv4_pair_t headers[HEADERS_MAX];
  s3l_sigv4_scope_t scope;
  char hash[S3L_SHA256_HEX_SIZE + 1];
  char checksum[S3L_SHA256_SIZE * 4 / 3 + 4]; /* the same in base64 */
  char path[PATH_MAX_BYTES];
  char query[QUERY_MAX_BYTES];
} draft_t;

static s3l_span_t method_of(s3l_s3_op_t op) {
  switch (op) {
  case S3L_S3_HEAD:
    return S3L_SPAN("HEAD");
  case S3L_S3_PUT:
    return S3L_SPAN("PUT");
  case S3L_S3_DELETE:
    return S3L_SPAN("DELETE");
  case S3L_S3_GET:
  case S3L_S3_LIST:
  case S3L_S3_SESSION:
  default:
    return S3L_SPAN("GET");
  }
}

/* Whether the request is about the bucket, not about an object. */
static bool is_of_bucket(s3l_s3_op_t op) {
  return op == S3L_S3_LIST || op == S3L_S3_SESSION;
}

/* Fit to stand in a header line. */
static bool is_clean(s3l_span_t s) {
  for (size_t i = 0; i < s.n; i++) {
    unsigned char c = (unsigned char)s.p[i];
    if ((c < 0x20 && c != '\t') || c == 0x7f)
      return false;
  }
  return true;
}

static void add_header(draft_t* d, s3l_span_t name, s3l_span_t value) {
  S3L_ASSERT(d->sig.headers_len < HEADERS_MAX);
  d->headers[d->sig.headers_len].name = name;
  d->headers[d->sig.headers_len].value = value;
  d->sig.headers_len++;
}

static bool draft_path(draft_t* d, const s3l_s3_target_t* target, const s3l_s3_request_t* r) {
  s3l_buf_t b;
  s3l_buf_init(&b, d->path, sizeof(d->path));
  s3l_buf_putc(&b, '/');
  s3l_url_encode(&b, target->bucket, false);
  if (!is_of_bucket(r->op)) {
    if (target->bucket.n > 0)
      s3l_buf_putc(&b, '/');
    s3l_url_encode(&b, r->key, true);
  }
  d->sig.path = s3l_buf_span(&b);
  return !b.overflow;
}

static size_t list_params(const s3l_s3_request_t* r, s3l_span_t max_keys,
                          s3l_sigv4_pair_t params[5]) {
  size_t n = 0;
  params[n++] = r->versions ? (s3l_sigv4_pair_t){S3L_SPAN("versions"), S3L_SPAN("")}
                            : (s3l_sigv4_pair_t){S3L_SPAN("list-type"), S3L_SPAN("2")};
  params[n++] = (s3l_sigv4_pair_t){S3L_SPAN("max-keys"), max_keys};
  if (r->key.n > 0)
    params[n++] = (s3l_sigv4_pair_t){S3L_SPAN("prefix"), r->key};
  if (r->after.n > 0)
    params[n++] = (s3l_sigv4_pair_t){r->versions ? S3L_SPAN("key-marker") : S3L_SPAN("start-after"),
                                     r->after};
  if (r->after.n > 0 && r->version.n > 0)
    params[n++] = (s3l_sigv4_pair_t){S3L_SPAN("version-id-marker"), r->version};
  return n;
}

static bool draft_query(draft_t* d, const s3l_s3_request_t* r) {
  s3l_sigv4_pair_t params[5];
  char digits[20];
  s3l_buf_t number, b;
  size_t n = 0;
  d->sig.query = (s3l_span_t){d->query, 0};
  s3l_buf_init(&number, digits, sizeof(digits));
  s3l_buf_u64(&number, r->max_keys);
  if (r->op == S3L_S3_LIST)
    n = list_params(r, s3l_buf_span(&number), params);
  else if (r->op == S3L_S3_SESSION)
    params[n++] = (s3l_sigv4_pair_t){S3L_SPAN("session"), S3L_SPAN("")};
  else if (r->op == S3L_S3_GET && r->version.n > 0)
    params[n++] = (s3l_sigv4_pair_t){S3L_SPAN("versionId"), r->version};
  if (n == 0)
    return true;
  s3l_buf_init(&b, d->query, sizeof(d->query));
  s3l_sigv4_query(&b, params, n);
  d->sig.query = s3l_buf_span(&b);
  return !b.overflow;
}

static s3l_span_t draft_checksum(draft_t* d) {
  uint8_t hash[S3L_SHA256_SIZE];
  s3l_buf_t b;
  (void)s3l_hex_decode(d->sig.payload_hash, hash, sizeof(hash)); /* we wrote it */
  s3l_buf_init(&b, d->checksum, sizeof(d->checksum));
  s3l_base64_encode(&b, hash, sizeof(hash));
  return s3l_buf_span(&b);
}

/* CreateSession is signed with keys that are not a session's. */
static s3l_span_t token_header(const s3l_s3_target_t* target, const s3l_s3_request_t* r) {
  return target->express && r->op != S3L_S3_SESSION ? S3L_SPAN("x-amz-s3session-token")
                                                    : S3L_SPAN("x-amz-security-token");
}

/* Ours are added in the order of their names, in which they are signed: little is left to sort. */
static void draft_headers(draft_t* d, const s3l_s3_target_t* target, const s3l_s3_keys_t* keys,
                          const s3l_s3_request_t* r) {
  d->sig.headers = d->headers;
  d->sig.headers_len = 0;
  if (r->op == S3L_S3_PUT)
    add_header(d, S3L_SPAN("content-type"), S3L_SPAN("application/json"));
  add_header(d, S3L_SPAN("host"), target->host);
  if (r->if_match.p != NULL)
    add_header(d, S3L_SPAN("if-match"), r->if_match);
  if (r->if_none_match.p != NULL)
    add_header(d, S3L_SPAN("if-none-match"), r->if_none_match);
  if (r->op == S3L_S3_PUT && target->checksum)
    add_header(d, S3L_SPAN("x-amz-checksum-sha256"), draft_checksum(d));
  add_header(d, S3L_SPAN("x-amz-content-sha256"), d->sig.payload_hash);
  add_header(d, S3L_SPAN("x-amz-date"), s3l_span_cstr(d->scope.time));
  if (target->owner.n > 0)
    add_header(d, S3L_SPAN("x-amz-expected-bucket-owner"), target->owner);
  if (keys->token.n > 0)
    add_header(d, token_header(target, r), keys->token);
  for (size_t i = 0; r->op == S3L_S3_PUT && i < target->headers_len; i++)
    add_header(d, target->headers[i].name, target->headers[i].value);
}

/* The service in the signature's scope. */
static s3l_span_t service_of(const s3l_s3_target_t* target) {
  return target->express ? S3L_SPAN("s3express") : S3L_SPAN("s3");
}

static bool draft_payload(draft_t* d, s3l_signer_t* signer, const s3l_s3_request_t* r) {
  d->sig.payload_hash = (s3l_span_t){s3l_sha256_empty_hex, S3L_SHA256_HEX_SIZE};
  if (r->op != S3L_S3_PUT || r->body.n == 0)
    return true;
  d->sig.payload_hash = (s3l_span_t){d->hash, S3L_SHA256_HEX_SIZE};
  return s3l_sha256_hex(&signer->engine, r->body, d->hash);
}

static bool inputs_are_valid(const s3l_s3_target_t* target, const s3l_s3_keys_t* keys,
                             const s3l_s3_request_t* r) {
  bool wants_key = !is_of_bucket(r->op);
  for (size_t i = 0; i < target->headers_len; i++) {
    if (!is_clean(target->headers[i].name) || !is_clean(target->headers[i].value))
      return false;
  }
  return target->headers_len <= S3L_S3_HEADERS_MAX && is_clean(target->owner) &&
         is_clean(target->origin) && is_clean(target->proxy_authorization) &&
         is_clean(target->host) && target->host.n > 0 && is_clean(target->region) &&
         is_clean(target->user_agent) && is_clean(keys->access_key) && is_clean(keys->token) &&
         is_clean(r->if_match) && is_clean(r->if_none_match) && (!wants_key || r->key.n > 0) &&
         (r->key.n == 0 || memchr(r->key.p, '\0', r->key.n) == NULL) &&
         (r->after.n == 0 || memchr(r->after.p, '\0', r->after.n) == NULL) &&
         (r->version.n == 0 || memchr(r->version.p, '\0', r->version.n) == NULL);
}

static void put_header(s3l_buf_t* b, s3l_span_t name, s3l_span_t value) {
  s3l_buf_put(b, name);
  s3l_buf_put(b, S3L_SPAN(": "));
  s3l_buf_put(b, value);
  s3l_buf_put(b, S3L_SPAN("\r\n"));
}

/* The request line and the headers but authorization. Host comes first, as RFC 9110 recommends. */
static void put_head(s3l_buf_t* b, const draft_t* d, const s3l_s3_target_t* target,
                     const s3l_s3_request_t* r) {
  s3l_buf_put(b, d->sig.method);
  s3l_buf_putc(b, ' ');
  s3l_buf_put(b, target->origin); /* not signed: the store never sees it */
  s3l_buf_put(b, d->sig.path);
  if (d->sig.query.n > 0) {
    s3l_buf_putc(b, '?');
    s3l_buf_put(b, d->sig.query);
  }
  s3l_buf_put(b, S3L_SPAN(" HTTP/1.1\r\n"));
  put_header(b, S3L_SPAN("host"), target->host);
  put_header(b, S3L_SPAN("user-agent"), target->user_agent);
  if (target->proxy_authorization.n > 0)
    put_header(b, S3L_SPAN("proxy-authorization"), target->proxy_authorization);
  if (r->op == S3L_S3_PUT) {
    s3l_buf_put(b, S3L_SPAN("content-length: "));
    s3l_buf_u64(b, r->body.n);
    s3l_buf_put(b, S3L_SPAN("\r\n"));
  } else if (r->op != S3L_S3_DELETE) {
    put_header(b, S3L_SPAN("cache-control"), S3L_SPAN("no-cache"));
  }
  for (size_t i = 0; i < d->sig.headers_len; i++) {
    if (!s3l_span_eq(d->headers[i].name, S3L_SPAN("host")))
      put_header(b, d->headers[i].name, d->headers[i].value);
  }
}

int s3l_s3_request_write(s3l_signer_t* signer, const s3l_s3_target_t* target,
                         const s3l_s3_keys_t* keys, const s3l_s3_request_t* request,
                         int64_t time_ms, char* buf, size_t cap, size_t* len) {
  draft_t d;
  s3l_buf_t b;
  *len = 0;
  if (!inputs_are_valid(target, keys, request) ||
      !s3l_sigv4_scope(&d.scope, time_ms, target->region, service_of(target)) ||
      !draft_path(&d, target, request) || !draft_query(&d, request) ||
      !draft_payload(&d, signer, request))
    return S3LECT_EOPTION;
  d.sig.method = method_of(request->op);
  draft_headers(&d, target, keys, request);
  s3l_buf_init(&b, buf, cap);
  put_head(&b, &d, target, request);
  s3l_buf_put(&b, S3L_SPAN("authorization: "));
  if (b.overflow)
    return S3LECT_ETOOBIG;
  if (!s3l_signer_authorization(signer, &d.sig, &d.scope, keys->access_key, keys->secret, &b))
    return b.overflow ? S3LECT_ETOOBIG : S3LECT_EOPTION;
  s3l_buf_put(&b, S3L_SPAN("\r\n\r\n"));
  if (request->op == S3L_S3_PUT)
    s3l_buf_put(&b, request->body);
  if (b.overflow)
    return S3LECT_ETOOBIG;
  *len = b.len;
  return 0;
}
