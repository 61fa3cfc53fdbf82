#include "wire/draft.h"

#include <string.h>

#include "s3lect/errno.h"
#include "util/assert.h"
#include "util/url.h"

S3L_STATIC_ASSERT(S3L_DRAFT_HEADERS_MAX <= S3L_SIGV4_HEADERS_MAX, "all of them are signed");

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

bool s3l_draft_is_clean(s3l_span_t s) {
  for (size_t i = 0; i < s.n; i++) {
    unsigned char c = (unsigned char)s.p[i];
    if ((c < 0x20 && c != '\t') || c == 0x7f)
      return false;
  }
  return true;
}

void s3l_draft_header(s3l_draft_t* d, s3l_span_t name, s3l_span_t value) {
  S3L_ASSERT(d->sig.headers_len < S3L_DRAFT_HEADERS_MAX);
  d->headers[d->sig.headers_len].name = name;
  d->headers[d->sig.headers_len].value = value;
  d->sig.headers_len++;
}

static bool draft_path(s3l_draft_t* d) {
  s3l_buf_t b;
  s3l_buf_init(&b, d->path, sizeof(d->path));
  s3l_buf_putc(&b, '/');
  s3l_url_encode(&b, d->target->bucket, true); /* of Azure, the account may stand before it */
  if (!is_of_bucket(d->request->op)) {
    if (d->target->bucket.n > 0)
      s3l_buf_putc(&b, '/');
    s3l_url_encode(&b, d->request->key, true);
  }
  d->sig.path = s3l_buf_span(&b);
  return !b.overflow;
}

bool s3l_draft_query(s3l_draft_t* d, const s3l_sigv4_pair_t* params, size_t n) {
  s3l_buf_t b;
  s3l_buf_init(&b, d->query, sizeof(d->query));
  s3l_sigv4_query(&b, params, n);
  d->sig.query = s3l_buf_span(&b);
  return !b.overflow;
}

static bool draft_list(s3l_draft_t* d) {
  const s3l_s3_request_t* r = d->request;
  s3l_sigv4_pair_t params[5];
  char digits[20];
  s3l_buf_t number;
  size_t n = 0;
  s3l_buf_init(&number, digits, sizeof(digits));
  s3l_buf_u64(&number, r->max_keys);
  params[n++] = r->versions ? (s3l_sigv4_pair_t){S3L_SPAN("versions"), S3L_SPAN("")}
                            : (s3l_sigv4_pair_t){S3L_SPAN("list-type"), S3L_SPAN("2")};
  params[n++] = (s3l_sigv4_pair_t){S3L_SPAN("max-keys"), s3l_buf_span(&number)};
  if (r->key.n > 0)
    params[n++] = (s3l_sigv4_pair_t){S3L_SPAN("prefix"), r->key};
  if (r->after.n > 0)
    params[n++] = (s3l_sigv4_pair_t){r->versions ? S3L_SPAN("key-marker") : S3L_SPAN("start-after"),
                                     r->after};
  if (r->after.n > 0 && r->version.n > 0)
    params[n++] = (s3l_sigv4_pair_t){S3L_SPAN("version-id-marker"), r->version};
  return s3l_draft_query(d, params, n);
}

static bool draft_payload(s3l_draft_t* d, s3l_signer_t* signer) {
  d->sig.payload_hash = (s3l_span_t){s3l_sha256_empty_hex, S3L_SHA256_HEX_SIZE};
  if (d->request->op != S3L_S3_PUT || d->request->body.n == 0 || signer == NULL)
    return true;
  d->sig.payload_hash = (s3l_span_t){d->hash, S3L_SHA256_HEX_SIZE};
  return s3l_sha256_hex(&signer->engine, d->request->body, d->hash);
}

static bool has_nul(s3l_span_t s) {
  return s.n > 0 && memchr(s.p, '\0', s.n) != NULL;
}

static bool inputs_are_valid(const s3l_s3_target_t* target, const s3l_s3_keys_t* keys,
                             const s3l_s3_request_t* r) {
  return s3l_draft_is_clean(target->origin) && s3l_draft_is_clean(target->proxy_authorization) &&
         s3l_draft_is_clean(target->host) && target->host.n > 0 &&
         s3l_draft_is_clean(target->region) && s3l_draft_is_clean(target->user_agent) &&
         s3l_draft_is_clean(keys->access_key) && s3l_draft_is_clean(keys->token) &&
         s3l_draft_is_clean(r->if_match) && s3l_draft_is_clean(r->if_none_match) &&
         (is_of_bucket(r->op) || r->key.n > 0) && !has_nul(r->key) && !has_nul(r->after) &&
         !has_nul(r->version);
}

bool s3l_draft_begin(s3l_draft_t* d, s3l_signer_t* signer, const s3l_s3_target_t* target,
                     const s3l_s3_keys_t* keys, const s3l_s3_request_t* request) {
  d->target = target;
  d->keys = keys;
  d->request = request;
  d->sig.method = method_of(request->op);
  d->sig.query = S3L_SPAN("");
  d->grant = S3L_SPAN("");
  d->sig.headers = d->headers;
  d->sig.headers_len = 0;
  return inputs_are_valid(target, keys, request) && draft_path(d) &&
         (request->op != S3L_S3_LIST || draft_list(d)) && draft_payload(d, signer);
}

/* ---- Writing ---- */

static void put_header(s3l_buf_t* b, s3l_span_t name, s3l_span_t value) {
  s3l_buf_put(b, name);
  s3l_buf_put(b, S3L_SPAN(": "));
  s3l_buf_put(b, value);
  s3l_buf_put(b, S3L_SPAN("\r\n"));
}

/* The request line and the headers but authorization. Host comes first, as RFC 9110 recommends. */
void s3l_draft_put_head(const s3l_draft_t* d, s3l_buf_t* b) {
  s3l_buf_put(b, d->sig.method);
  s3l_buf_putc(b, ' ');
  s3l_buf_put(b, d->target->origin); /* not signed: the store never sees it */
  s3l_buf_put(b, d->sig.path);
  if (d->sig.query.n > 0) {
    s3l_buf_putc(b, '?');
    s3l_buf_put(b, d->sig.query);
  }
  if (d->grant.n > 0) {
    s3l_buf_putc(b, d->sig.query.n > 0 ? '&' : '?');
    s3l_buf_put(b, d->grant);
  }
  s3l_buf_put(b, S3L_SPAN(" HTTP/1.1\r\n"));
  put_header(b, S3L_SPAN("host"), d->target->host);
  put_header(b, S3L_SPAN("user-agent"), d->target->user_agent);
  if (d->target->proxy_authorization.n > 0)
    put_header(b, S3L_SPAN("proxy-authorization"), d->target->proxy_authorization);
  if (d->request->op == S3L_S3_PUT) {
    s3l_buf_put(b, S3L_SPAN("content-length: "));
    s3l_buf_u64(b, d->request->body.n);
    s3l_buf_put(b, S3L_SPAN("\r\n"));
  } else if (d->request->op != S3L_S3_DELETE) {
    put_header(b, S3L_SPAN("cache-control"), S3L_SPAN("no-cache"));
  }
  for (size_t i = 0; i < d->sig.headers_len; i++) {
    if (!s3l_span_eq(d->headers[i].name, S3L_SPAN("host")))
      put_header(b, d->headers[i].name, d->headers[i].value);
  }
}

static bool put_authorization(s3l_buf_t* b, const s3l_draft_t* d, s3l_signer_t* signer) {
  if (d->keys->access_key.n > 0)
    return s3l_signer_authorization(signer, &d->sig, &d->scope, d->keys->access_key,
                                    d->keys->secret, b);
  s3l_buf_put(b, S3L_SPAN("Bearer "));
  s3l_buf_put(b, d->keys->token);
  return true;
}

void s3l_draft_put_rest(const s3l_draft_t* d, s3l_buf_t* b) {
  s3l_buf_put(b, S3L_SPAN("\r\n"));
  if (d->request->op == S3L_S3_PUT)
    s3l_buf_put(b, d->request->body);
}

int s3l_draft_end(s3l_draft_t* d, s3l_signer_t* signer, char* buf, size_t cap, size_t* len) {
  s3l_buf_t b;
  s3l_buf_init(&b, buf, cap);
  s3l_draft_put_head(d, &b);
  s3l_buf_put(&b, S3L_SPAN("authorization: "));
  if (b.overflow)
    return S3LECT_ETOOBIG;
  if (!put_authorization(&b, d, signer))
    return b.overflow ? S3LECT_ETOOBIG : S3LECT_EOPTION;
  s3l_buf_put(&b, S3L_SPAN("\r\n"));
  s3l_draft_put_rest(d, &b);
  if (b.overflow)
    return S3LECT_ETOOBIG;
  *len = b.len;
  return 0;
}
