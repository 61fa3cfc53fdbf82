/* fakes3/ops.c: the operations on objects that all protocols share. A protocol says what its
 * conditions mean, and how its replies look.
 *
 * An operation checks the conditions and acts within one call, so that every effect is one instant.
 * Only the faults non_atomic and check_early separate the two. */
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "fakes3/protocol.h"
#include "util/hex.h"
#include "util/timefmt.h"

static bool is_within(uint64_t since_ns, const fakes3_request_t* r) {
  return fakes3_lease_ns() - since_ns < fakes3_plan_value(r, FAKES3_SLOT_STALE) * 1000000u;
}

static bool writes(const fakes3_request_t* r) {
  return r->method == HTTP_PUT || r->method == HTTP_DELETE;
}

/* ---- Look-up and errors ---- */

/* The newest version; with stale_reads, the one before it while the change is recent. */
static const fakes3_version_t* visible(const fakes3_request_t* r, const fakes3_object_t* o) {
  if (o == NULL)
    return NULL;
  if (!writes(r) && fakes3_plan_has(r, FAKES3_DO_stale_reads) && is_within(o->changed_ns, r))
    return o->before;
  return o->now;
}

fakes3_bucket_t* fakes3_bucket_of(fakes3_request_t* r) {
  s3l_span_t name = s3l_span_cstr(r->bucket);
  fakes3_bucket_t* b = fakes3_bucket_find(r->server, name);
  if (b == NULL && r->server->any_bucket)
    b = fakes3_bucket_add(r->server, name, false);
  return b;
}

s3l_span_t fakes3_param_value(const fakes3_request_t* r, const char* name) {
  const fakes3_pair_t* p = fakes3_param(r, name);
  return p != NULL ? p->value : (s3l_span_t){NULL, 0};
}

bool fakes3_fail(fakes3_request_t* r, const char* code, const char* element, const char* text) {
  fakes3_error(r, code);
  fakes3_error_add(r, element, s3l_span_cstr(text));
  return false;
}

bool fakes3_no_such_key(fakes3_request_t* r) {
  if (!fakes3_plan_has(r, FAKES3_DO_plain_404))
    return fakes3_fail(r, "NoSuchKey", "Key", r->key);
  r->reply.status = 404;
  return false;
}

bool fakes3_not_implemented(fakes3_request_t* r, const char* header) {
  return fakes3_fail(r, "NotImplemented", "Header", header);
}

bool fakes3_precondition_failed(fakes3_request_t* r, const char* condition) {
  return fakes3_fail(r, "PreconditionFailed", "Condition", condition);
}

/* ---- Conditions ---- */

bool fakes3_same_etag(s3l_span_t given, const char* etag) {
  s3l_span_t bare = {etag + 1, strlen(etag) - 2};
  return s3l_span_eq(given, s3l_span_cstr(etag)) || s3l_span_eq(given, bare);
}

/* Whether a list of ETags, which reads may send, contains this one. Weak: ignores W/. */
static bool in_list(s3l_span_t list, const char* etag, bool weak) {
  while (list.n > 0) {
    s3l_span_t one = s3l_span_trim(fakes3_take(&list, ','));
    if (weak && s3l_span_starts_with(one, S3L_SPAN("W/")))
      s3l_span_skip(&one, 2);
    if (s3l_span_eq(one, S3L_SPAN("*")) || fakes3_same_etag(one, etag))
      return true;
  }
  return false;
}

bool fakes3_check_etags(fakes3_request_t* r, const fakes3_version_t* v) {
  s3l_span_t match = fakes3_header_value(r, "if-match");
  s3l_span_t none = fakes3_header_value(r, "if-none-match");
  if (match.p != NULL && !in_list(match, v->etag, false))
    return fakes3_precondition_failed(r, "If-Match");
  if (none.p == NULL || !in_list(none, v->etag, true))
    return true;
  fakes3_not_modified(r, v);
  return false;
}

/* The limit of writes to one object, then what the protocol demands. */
static bool check_write(fakes3_request_t* r, const fakes3_object_t* o) {
  uint64_t interval_ms = fakes3_plan_value(r, FAKES3_SLOT_RATE);
  if (o != NULL && interval_ms > 0 &&
      fakes3_lease_ns() - o->changed_ns < interval_ms * UINT64_C(1000000)) {
    fakes3_error(r, "SlowDown");
    return false;
  }
  if (fakes3_plan_has(r, FAKES3_DO_ignore_conditions))
    return true;
  if (r->if_match.p != NULL && fakes3_plan_has(r, FAKES3_DO_no_if_match))
    return fakes3_not_implemented(r, "If-Match");
  return r->server->protocol->check_write(r, visible(r, o));
}

bool fakes3_op_check(fakes3_request_t* r) {
  fakes3_bucket_t* b = r->bucket[0] != '\0' && r->key[0] != '\0' ? fakes3_bucket_of(r) : NULL;
  if (b == NULL || !writes(r))
    return true;
  return check_write(r, fakes3_object_find(b, r->key));
}

/* ---- Replies about one version ---- */

static void put_etag(fakes3_request_t* r, const fakes3_version_t* v) {
  fakes3_log_set(&r->entry->e.etag, s3l_span_cstr(v->etag));
  if (fakes3_plan_has(r, FAKES3_DO_no_etag))
    return;
  bool weak = fakes3_plan_has(r, FAKES3_DO_weak_etag);
  bool gzip = fakes3_plan_has(r, FAKES3_DO_gzip_etag);
  fakes3_printf(&r->reply.headers, "ETag: %s%.*s%s\r\n", weak ? "W/" : "", (int)strlen(v->etag) - 1,
                v->etag, gzip ? "-gzip\"" : "\"");
  if (r->server->protocol->put_version != NULL)
    r->server->protocol->put_version(r, v);
}

static void put_version(fakes3_request_t* r, const fakes3_version_t* v) {
  char time[S3L_TIME_HTTP_SIZE];
  put_etag(r, v);
  if (s3l_time_format_http(v->modified_ms, time))
    fakes3_printf(&r->reply.headers, "Last-Modified: %s\r\n", time);
}

void fakes3_not_modified(fakes3_request_t* r, const fakes3_version_t* v) {
  r->reply.status = 304;
  put_version(r, v);
}

/* ---- Objects ---- */

static void md5_hex(s3l_span_t s, unsigned char hash[16], char hex[33]) {
  unsigned n = 0;
  if (EVP_Digest(s.p, s.n, hash, &n, EVP_md5(), NULL) != 1 || n != 16)
    abort();
  s3l_hex_encode(hash, n, hex);
  hex[32] = '\0';
}

/* So many microseconds that no older server has given the same number. */
uint64_t fakes3_unique(fakes3_t* s) {
  uint64_t now = (uint64_t)fakes3_wall_ms(s) * 1000;
  s->unique = now > s->unique ? now : s->unique + 1;
  return s->unique;
}

/* Whether the header is metadata of the object: "x-amz-meta-...". */
static bool is_metadata(const fakes3_request_t* r, s3l_span_t name) {
  s3l_span_t own = s3l_span_cstr(r->server->protocol->headers);
  if (!s3l_span_starts_with(name, own))
    return false;
  s3l_span_skip(&name, own.n);
  return s3l_span_starts_with(name, S3L_SPAN("meta-"));
}

static fakes3_version_t* make_version(fakes3_request_t* r) {
  fakes3_version_t* v = fakes3_alloc(sizeof(*v));
  unsigned char hash[16];
  char hex[33];
  s3l_span_t type = fakes3_header_value(r, "content-type");
  v->modified_ms = fakes3_wall_ms(r->server);
  fakes3_put(&v->body, r->body.p, r->body.n);
  md5_hex(fakes3_span(&r->body), hash, hex);
  r->server->protocol->stamp(r, v, hex);
  if (type.p == NULL)
    type = S3L_SPAN("binary/octet-stream");
  fakes3_printf(&v->headers, "Content-Type: %.*s\r\n", (int)type.n, type.p);
  for (size_t i = 0; i < r->headers_n; i++) {
    const fakes3_pair_t* h = &r->headers[i];
    if (is_metadata(r, h->name))
      fakes3_printf(&v->headers, "%.*s: %.*s\r\n", (int)h->name.n, h->name.p, (int)h->value.n,
                    h->value.p);
  }
  return v;
}

static bool check_md5(fakes3_request_t* r) {
  s3l_span_t given = fakes3_header_value(r, "content-md5");
  unsigned char hash[16], text[25];
  char hex[33];
  if (given.p == NULL)
    return true;
  md5_hex(fakes3_span(&r->body), hash, hex);
  EVP_EncodeBlock(text, hash, sizeof(hash));
  if (s3l_span_eq(given, (s3l_span_t){(const char*)text, 24}))
    return true;
  fakes3_error(r, given.n == 24 ? "BadDigest" : "InvalidDigest");
  return false;
}

static void tell_change(const fakes3_request_t* r, s3l_span_t body) {
  if (r->server->on_change != NULL)
    r->server->on_change(r->server->on_change_arg, r->key, body.p, body.n);
}

bool fakes3_put_object(fakes3_request_t* r, fakes3_bucket_t* b) {
  char copy[32];
  snprintf(copy, sizeof(copy), "%scopy-source", r->server->protocol->headers);
  if (fakes3_header(r, copy) != NULL)
    return fakes3_not_implemented(r, copy);
  if (!check_md5(r) || (!r->checked && !check_write(r, fakes3_object_find(b, r->key))))
    return false;
  fakes3_version_t* v = make_version(r);
  fakes3_object_set(b, r->key, v);
  tell_change(r, fakes3_span(&v->body));
  r->server->counters.writes++;
  r->reply.status = 200;
  put_etag(r, v);
  return true;
}

bool fakes3_delete_object(fakes3_request_t* r, fakes3_bucket_t* b) {
  const fakes3_object_t* o = fakes3_object_find(b, r->key);
  if (!r->checked && !check_write(r, o))
    return false;
  r->reply.status = 204;
  if (o == NULL || o->now == NULL)
    return true;
  fakes3_object_set(b, r->key, NULL);
  tell_change(r, (s3l_span_t){NULL, 0});
  r->server->counters.writes++;
  return true;
}

/* As a proxy answers: with the reply that it got first, for as long as that is fresh. */
static const fakes3_version_t* from_cache(fakes3_request_t* r, fakes3_object_t* o) {
  if (o == NULL || (o->cached == NULL && o->now == NULL))
    return NULL;
  if (o->now != NULL && (o->cached == NULL || !is_within(o->cached_ns, r)))
    fakes3_object_cache(r->server, o);
  r->date_ms = o->cached_ms;
  return o->cached;
}

bool fakes3_get_object(fakes3_request_t* r, fakes3_bucket_t* b) {
  fakes3_object_t* o = fakes3_object_find(b, r->key);
  const fakes3_pair_t* id = fakes3_param(r, "versionId");
  const fakes3_version_t* v = id != NULL ? fakes3_object_version(o, id->value)
                              : fakes3_plan_has(r, FAKES3_DO_cached_ms) ? from_cache(r, o)
                                                                        : visible(r, o);
  if (v == NULL)
    return fakes3_no_such_key(r);
  if (!r->server->protocol->check_read(r, v))
    return false;
  r->reply.status = 200;
  put_version(r, v);
  fakes3_puts(&r->reply.headers, "Accept-Ranges: bytes\r\n");
  fakes3_put_span(&r->reply.headers, fakes3_span(&v->headers));
  fakes3_put_span(&r->reply.body, fakes3_span(&v->body));
  return true;
}

bool fakes3_delete_bucket(fakes3_request_t* r, fakes3_bucket_t* b) {
  for (size_t i = 0; i < b->n; i++) {
    if (b->objects[i]->now != NULL) {
      fakes3_error(r, "BucketNotEmpty");
      return false;
    }
  }
  fakes3_bucket_remove(b);
  return true;
}

/* ---- Lists ---- */

/* A token is the last key of the page before, in hexadecimal, so that it looks opaque. */
bool fakes3_list_begin(fakes3_request_t* r, fakes3_listing_t* l, s3l_span_t token, s3l_span_t after,
                       s3l_span_t max, uint64_t limit) {
  uint8_t key[FAKES3_KEY_MAX];
  l->max = limit;
  if (max.p != NULL && !s3l_span_to_u64(max, &l->max)) {
    fakes3_error_with(r, "InvalidArgument", 0, "The length of a page is not an integer");
    return false;
  }
  if (l->max > limit)
    l->max = limit;
  if (fakes3_plan_has(r, FAKES3_DO_short_lists) && l->max > 1)
    l->max = 1;
  if (fakes3_plan_has(r, FAKES3_DO_endless_lists))
    return true;
  if (token.n == 0) {
    fakes3_put_span(&l->start, after);
    return true;
  }
  if (token.n % 2 != 0 || token.n / 2 > sizeof(key) || !s3l_hex_decode(token, key, token.n / 2)) {
    fakes3_error_with(r, "InvalidArgument", 0, "The continuation token provided is incorrect");
    return false;
  }
  fakes3_put(&l->start, key, token.n / 2);
  return true;
}

void fakes3_put_token(fakes3_bytes_t* b, const fakes3_listing_t* l) {
  for (const char* p = l->last; *p != '\0'; p++)
    fakes3_printf(b, "%02x", (unsigned)(unsigned char)*p);
}

static void walk(fakes3_request_t* r, const fakes3_bucket_t* b, fakes3_listing_t* l) {
  const char* start = fakes3_cstr(&l->start);
  s3l_span_t prefix = fakes3_param_value(r, "prefix");
  if (l->max == 0 || fakes3_plan_has(r, FAKES3_DO_empty_lists))
    return;
  if (fakes3_plan_has(r, FAKES3_DO_foreign_lists))
    prefix.n = 0;
  for (size_t i = fakes3_object_index(b, start); i < b->n; i++) {
    const fakes3_object_t* o = b->objects[i];
    const fakes3_version_t* v = visible(r, o);
    bool listed = v != NULL && strcmp(o->key, start) > 0 &&
                  (prefix.n == 0 || s3l_span_starts_with(s3l_span_cstr(o->key), prefix));
    if (!listed)
      continue;
    l->truncated = l->count == l->max;
    if (l->truncated)
      return;
    r->server->protocol->put_entry(r, l, o, v);
    l->last = o->key;
    l->count++;
  }
}

void fakes3_list(fakes3_request_t* r, const fakes3_bucket_t* b, fakes3_listing_t* l) {
  walk(r, b, l);
  if (fakes3_plan_has(r, FAKES3_DO_endless_lists))
    l->truncated = true;
}

void fakes3_list_end(fakes3_request_t* r, fakes3_listing_t* l) {
  fakes3_bytes_free(&l->start);
  fakes3_bytes_free(&l->entries);
  r->reply.status = 200;
  r->reply.type = "application/xml";
}

void fakes3_op_run(fakes3_request_t* r) {
  if (r->gives_token)
    fakes3_op_token(r);
  else
    r->server->protocol->run(r);
  fakes3_log_effect(r);
}
