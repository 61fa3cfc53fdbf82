#include "wire/sigv4.h"

#include <string.h>

#include "util/hex.h"
#include "util/mem.h"
#include "util/url.h"

/* The longest key (1024 bytes, each written as three) and the longest session token. */
#define CANONICAL_MAX 16384
#define SCOPE_MAX     128
#define NAMES_MAX     1024 /* the list of signed headers */

struct s3l_sigv4_flavour_s {
  const char* algorithm;
  const char* prefix; /* of the secret */
  const char* terminator;
};

static const s3l_sigv4_flavour_t aws = {"AWS4-HMAC-SHA256", "AWS4", "aws4_request"};
static const s3l_sigv4_flavour_t google = {"GOOG4-HMAC-SHA256", "GOOG4", "goog4_request"};

bool s3l_sigv4_scope(s3l_sigv4_scope_t* scope, int64_t time_ms, s3l_span_t region,
                     s3l_span_t service) {
  scope->region = region;
  scope->service = service;
  scope->flavour = &aws;
  return s3l_time_format_amz(time_ms, scope->time);
}

bool s3l_sigv4_scope_google(s3l_sigv4_scope_t* scope, int64_t time_ms) {
  bool ok = s3l_sigv4_scope(scope, time_ms, S3L_SPAN("auto"), S3L_SPAN("storage"));
  scope->flavour = &google;
  return ok;
}

/* ---- Query ---- */

/* Compares as the encoded texts would compare byte by byte. */
static int compare_encoded(s3l_span_t a, s3l_span_t b) {
  char ea[3], eb[3];
  size_t i = 0;
  for (; i < a.n && i < b.n; i++) {
    if (a.p[i] == b.p[i])
      continue;
    s3l_buf_t ba, bb;
    s3l_buf_init(&ba, ea, sizeof(ea));
    s3l_buf_init(&bb, eb, sizeof(eb));
    s3l_url_encode(&ba, (s3l_span_t){a.p + i, 1}, false);
    s3l_url_encode(&bb, (s3l_span_t){b.p + i, 1}, false);
    return memcmp(ea, eb, ba.len < bb.len ? ba.len : bb.len);
  }
  return (a.n > b.n) - (a.n < b.n);
}

static int compare_params(const s3l_sigv4_pair_t* a, const s3l_sigv4_pair_t* b) {
  int c = compare_encoded(a->name, b->name);
  return c != 0 ? c : compare_encoded(a->value, b->value);
}

void s3l_sigv4_query(s3l_buf_t* b, const s3l_sigv4_pair_t* params, size_t n) {
  size_t order[S3L_SIGV4_QUERY_MAX];
  if (n > S3L_SIGV4_QUERY_MAX) {
    b->overflow = true;
    return;
  }
  for (size_t i = 0; i < n; i++) {
    size_t at = i;
    for (; at > 0 && compare_params(&params[order[at - 1]], &params[i]) > 0; at--)
      order[at] = order[at - 1];
    order[at] = i;
  }
  for (size_t i = 0; i < n; i++) {
    if (i > 0)
      s3l_buf_putc(b, '&');
    s3l_url_encode(b, params[order[i]].name, false);
    s3l_buf_putc(b, '=');
    s3l_url_encode(b, params[order[i]].value, false);
  }
}

/* ---- Headers ---- */

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static int compare_names(s3l_span_t a, s3l_span_t b) {
  for (size_t i = 0; i < a.n && i < b.n; i++) {
    int d = (unsigned char)lower(a.p[i]) - (unsigned char)lower(b.p[i]);
    if (d != 0)
      return d;
  }
  return (a.n > b.n) - (a.n < b.n);
}

/* Sorted by name; headers of one name stay in the order in which they are sent. */
static bool sort_headers(const s3l_sigv4_request_t* r, size_t order[S3L_SIGV4_HEADERS_MAX]) {
  if (r->headers_len > S3L_SIGV4_HEADERS_MAX)
    return false;
  for (size_t i = 0; i < r->headers_len; i++) {
    size_t at = i;
    for (; at > 0 && compare_names(r->headers[order[at - 1]].name, r->headers[i].name) > 0; at--)
      order[at] = order[at - 1];
    order[at] = i;
  }
  return true;
}

static void put_lower(s3l_buf_t* b, s3l_span_t name) {
  size_t start = b->len;
  s3l_buf_put(b, name);
  for (size_t i = start; i < b->len; i++)
    b->p[i] = lower(b->p[i]);
}

/* Trims blanks, and replaces each run of them by one. */
static void put_value(s3l_buf_t* b, s3l_span_t value) {
  value = s3l_span_trim(value);
  if (value.n > 0 && memchr(value.p, ' ', value.n) == NULL &&
      memchr(value.p, '\t', value.n) == NULL) {
    s3l_buf_put(b, value); /* the usual case */
    return;
  }
  size_t plain = 0;
  for (size_t i = 0; i < value.n; i++) {
    if (value.p[i] != ' ' && value.p[i] != '\t')
      continue;
    s3l_buf_put(b, (s3l_span_t){value.p + plain, i - plain});
    s3l_buf_putc(b, ' ');
    while (value.p[i + 1] == ' ' || value.p[i + 1] == '\t') /* a trimmed value ends in no blank */
      i++;
    plain = i + 1;
  }
  if (plain < value.n)
    s3l_buf_put(b, (s3l_span_t){value.p + plain, value.n - plain});
}

/* Writes the sorted headers and, separately, the list of their names. */
static void put_headers(s3l_buf_t* headers, s3l_buf_t* names, const s3l_sigv4_request_t* r,
                        const size_t* order) {
  for (size_t i = 0; i < r->headers_len; i++) {
    const s3l_sigv4_pair_t* h = &r->headers[order[i]];
    if (i > 0 && compare_names(h->name, r->headers[order[i - 1]].name) == 0) {
      s3l_buf_putc(headers, ',');
    } else {
      size_t start = names->len + (i > 0 ? 1 : 0);
      if (i > 0)
        s3l_buf_putc(names, ';');
      put_lower(names, h->name);
      if (names->overflow)
        return;
      s3l_buf_putc(headers, '\n');
      s3l_buf_put(headers, (s3l_span_t){names->p + start, names->len - start});
      s3l_buf_putc(headers, ':');
    }
    put_value(headers, h->value);
  }
}

/* `names` receives the list of signed headers. */
static void put_canonical(s3l_buf_t* b, s3l_buf_t* names, const s3l_sigv4_request_t* request) {
  size_t order[S3L_SIGV4_HEADERS_MAX];
  if (!sort_headers(request, order)) {
    b->overflow = true;
    return;
  }
  s3l_buf_put(b, request->method);
  s3l_buf_putc(b, '\n');
  s3l_buf_put(b, request->path);
  s3l_buf_putc(b, '\n');
  s3l_buf_put(b, request->query);
  put_headers(b, names, request, order);
  s3l_buf_put(b, S3L_SPAN("\n\n"));
  s3l_buf_put(b, s3l_buf_span(names));
  s3l_buf_putc(b, '\n');
  s3l_buf_put(b, request->payload_hash);
  b->overflow = b->overflow || names->overflow;
}

void s3l_sigv4_canonical_request(s3l_buf_t* b, const s3l_sigv4_request_t* request) {
  char text[NAMES_MAX];
  s3l_buf_t names;
  s3l_buf_init(&names, text, sizeof(text));
  put_canonical(b, &names, request);
}

/* ---- Scope, key, signature ---- */

static s3l_span_t scope_date(const s3l_sigv4_scope_t* scope) {
  return (s3l_span_t){scope->time, 8};
}

/* "20130524/us-east-1/s3/aws4_request", or with Google's terminator */
static void put_scope(s3l_buf_t* b, const s3l_sigv4_scope_t* scope) {
  s3l_buf_put(b, scope_date(scope));
  s3l_buf_putc(b, '/');
  s3l_buf_put(b, scope->region);
  s3l_buf_putc(b, '/');
  s3l_buf_put(b, scope->service);
  s3l_buf_putc(b, '/');
  s3l_buf_puts(b, scope->flavour->terminator);
}

void s3l_sigv4_string_to_sign(s3l_buf_t* b, const s3l_sigv4_scope_t* scope,
                              s3l_span_t canonical_hash) {
  s3l_buf_puts(b, scope->flavour->algorithm);
  s3l_buf_putc(b, '\n');
  s3l_buf_puts(b, scope->time);
  s3l_buf_putc(b, '\n');
  put_scope(b, scope);
  s3l_buf_putc(b, '\n');
  s3l_buf_put(b, canonical_hash);
}

bool s3l_sigv4_signing_key(s3l_sha256_t* engine, s3l_span_t secret, const s3l_sigv4_scope_t* scope,
                           uint8_t key[S3L_SHA256_SIZE]) {
  const s3l_span_t steps[4] = {scope_date(scope), scope->region, scope->service,
                               s3l_span_cstr(scope->flavour->terminator)};
  char first[5 + S3L_SIGV4_SECRET_MAX];
  s3l_hmac_key_t hmac;
  s3l_buf_t b;
  s3l_buf_init(&b, first, sizeof(first));
  s3l_buf_puts(&b, scope->flavour->prefix);
  s3l_buf_put(&b, secret);
  bool ok = !b.overflow;
  s3l_span_t from = s3l_buf_span(&b);
  for (int i = 0; i < 4 && ok; i++) {
    ok = s3l_hmac_prepare(engine, from, &hmac) && s3l_hmac(engine, &hmac, steps[i], key);
    from = (s3l_span_t){(const char*)key, S3L_SHA256_SIZE};
  }
  s3l_wipe(first, sizeof(first));
  s3l_wipe(&hmac, sizeof(hmac));
  return ok;
}

bool s3l_sigv4_signature(s3l_sha256_t* engine, const s3l_hmac_key_t* key, s3l_span_t string_to_sign,
                         char hex[S3L_SHA256_HEX_SIZE + 1]) {
  uint8_t digest[S3L_SHA256_SIZE];
  hex[0] = '\0';
  if (!s3l_hmac(engine, key, string_to_sign, digest))
    return false;
  s3l_hex_encode(digest, sizeof(digest), hex);
  hex[S3L_SHA256_HEX_SIZE] = '\0';
  return true;
}

/* ---- Signer ---- */

bool s3l_signer_open(s3l_signer_t* signer) {
  memset(signer, 0, sizeof(*signer));
  return s3l_sha256_open(&signer->engine);
}

void s3l_signer_close(s3l_signer_t* signer) {
  s3l_sha256_close(&signer->engine);
  s3l_wipe(signer, sizeof(*signer));
}

/* Derives the key unless the kept one is for this secret and scope. */
static bool ensure_key(s3l_signer_t* s, s3l_span_t secret, const s3l_sigv4_scope_t* scope) {
  uint8_t key[S3L_SHA256_SIZE];
  if (s->date[0] != '\0' && s->flavour == scope->flavour &&
      s3l_span_eq(s3l_span_cstr(s->date), scope_date(scope)) &&
      s3l_span_eq(s3l_span_cstr(s->region), scope->region) &&
      s3l_span_eq(s3l_span_cstr(s->service), scope->service) &&
      s3l_span_eq(s3l_span_cstr(s->secret), secret))
    return true;
  s->date[0] = '\0';
  s->flavour = scope->flavour;
  s3l_wipe(s->secret, sizeof(s->secret));
  bool ok = s3l_span_copy(secret, s->secret, sizeof(s->secret)) &&
            s3l_span_copy(scope->region, s->region, sizeof(s->region)) &&
            s3l_span_copy(scope->service, s->service, sizeof(s->service)) &&
            s3l_sigv4_signing_key(&s->engine, secret, scope, key) &&
            s3l_hmac_prepare(&s->engine, (s3l_span_t){(const char*)key, sizeof(key)}, &s->key) &&
            s3l_span_copy(scope_date(scope), s->date, sizeof(s->date));
  s3l_wipe(key, sizeof(key));
  return ok;
}

bool s3l_signer_authorization(s3l_signer_t* signer, const s3l_sigv4_request_t* request,
                              const s3l_sigv4_scope_t* scope, s3l_span_t access_key,
                              s3l_span_t secret, s3l_buf_t* out) {
  char canonical[CANONICAL_MAX], to_sign[SCOPE_MAX + S3L_SHA256_HEX_SIZE + 64];
  char signed_headers[NAMES_MAX];
  char hash[S3L_SHA256_HEX_SIZE + 1], signature[S3L_SHA256_HEX_SIZE + 1];
  s3l_buf_t b, names;
  s3l_buf_init(&b, canonical, sizeof(canonical));
  s3l_buf_init(&names, signed_headers, sizeof(signed_headers));
  put_canonical(&b, &names, request);
  if (b.overflow || !ensure_key(signer, secret, scope) ||
      !s3l_sha256_hex_memo(&signer->engine, &signer->memo, s3l_buf_span(&b), hash))
    return false;
  s3l_buf_init(&b, to_sign, sizeof(to_sign));
  s3l_sigv4_string_to_sign(&b, scope, s3l_span_cstr(hash));
  if (b.overflow ||
      !s3l_sigv4_signature(&signer->engine, &signer->key, s3l_buf_span(&b), signature))
    return false;
  s3l_buf_puts(out, scope->flavour->algorithm);
  s3l_buf_put(out, S3L_SPAN(" Credential="));
  s3l_buf_put(out, access_key);
  s3l_buf_putc(out, '/');
  put_scope(out, scope);
  s3l_buf_put(out, S3L_SPAN(", SignedHeaders="));
  s3l_buf_put(out, s3l_buf_span(&names));
  s3l_buf_put(out, S3L_SPAN(", Signature="));
  s3l_buf_puts(out, signature);
  return !out->overflow;
}
