/* fakes3/ops.c: the operations on objects and buckets, with AWS's conditional semantics.
 *
 * fakes3_op_run checks the conditions and acts within one call, so that every effect is one
 * instant. Only the faults non_atomic and check_early separate the two. */
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "fakes3/internal.h"
#include "util/hex.h"
#include "util/timefmt.h"

#define CONSTANT_ETAG "\"00000000000000000000000000000000\""
#define LIST_MAX      1000

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

static fakes3_bucket_t* bucket_of(fakes3_request_t* r) {
  s3l_span_t name = s3l_span_cstr(r->bucket);
  fakes3_bucket_t* b = fakes3_bucket_find(r->server, name);
  if (b == NULL && r->server->any_bucket)
    b = fakes3_bucket_add(r->server, name, false);
  return b;
}

/* Makes an error with one element more; false, for the caller to return. */
static bool fail(fakes3_request_t* r, const char* code, const char* element, const char* text) {
  fakes3_error(r, code);
  fakes3_error_add(r, element, s3l_span_cstr(text));
  return false;
}

static bool no_such_key(fakes3_request_t* r) {
  if (!fakes3_plan_has(r, FAKES3_DO_plain_404))
    return fail(r, "NoSuchKey", "Key", r->key);
  r->reply.status = 404;
  return false;
}

static bool not_implemented(fakes3_request_t* r, const char* header) {
  return fail(r, "NotImplemented", "Header", header);
}

static bool precondition_failed(fakes3_request_t* r, const char* condition) {
  return fail(r, "PreconditionFailed", "Condition", condition);
}

/* ---- Conditions ---- */

/* Strong comparison. Like AWS, accepts an ETag with or without quotes. */
static bool same_etag(s3l_span_t given, const char* etag) {
  s3l_span_t bare = {etag + 1, strlen(etag) - 2};
  return s3l_span_eq(given, s3l_span_cstr(etag)) || s3l_span_eq(given, bare);
}

/* Whether a list of ETags, which reads may send, contains this one. Weak: ignores W/. */
static bool in_list(s3l_span_t list, const char* etag, bool weak) {
  while (list.n > 0) {
    s3l_span_t one = s3l_span_trim(fakes3_take(&list, ','));
    if (weak && s3l_span_starts_with(one, S3L_SPAN("W/")))
      s3l_span_skip(&one, 2);
    if (s3l_span_eq(one, S3L_SPAN("*")) || same_etag(one, etag))
      return true;
  }
  return false;
}

/* Refuses what AWS does not implement, before the object is looked up. */
static bool check_write_headers(fakes3_request_t* r) {
  s3l_span_t match = fakes3_header_value(r, "if-match");
  s3l_span_t none = fakes3_header_value(r, "if-none-match");
  bool star = s3l_span_eq(match, S3L_SPAN("*"));
  if (match.p != NULL && none.p != NULL)
    return not_implemented(r, "If-Match,If-None-Match");
  if (match.p != NULL && fakes3_plan_has(r, FAKES3_DO_no_if_match))
    return not_implemented(r, "If-Match");
  if (r->method == HTTP_DELETE) {
    if (none.p != NULL)
      return not_implemented(r, "If-None-Match");
    if (fakes3_header(r, "x-amz-if-match-size") != NULL)
      return not_implemented(r, "x-amz-if-match-size");
    if (fakes3_header(r, "x-amz-if-match-last-modified-time") != NULL)
      return not_implemented(r, "x-amz-if-match-last-modified-time");
    return true;
  }
  if (star)
    return not_implemented(r, "If-Match");
  if (none.p != NULL && !s3l_span_eq(none, S3L_SPAN("*")))
    return not_implemented(r, "If-None-Match");
  return true;
}

static bool check_write(fakes3_request_t* r, const fakes3_version_t* now) {
  s3l_span_t match = fakes3_header_value(r, "if-match");
  s3l_span_t none = fakes3_header_value(r, "if-none-match");
  if (fakes3_plan_has(r, FAKES3_DO_ignore_conditions))
    return true;
  if (!check_write_headers(r))
    return false;
  if (none.p != NULL && now != NULL)
    return precondition_failed(r, "If-None-Match");
  if (match.p == NULL)
    return true;
  if (now == NULL)
    return no_such_key(r);
  bool quoted = match.n > 0 && match.p[0] == '"';
  if (quoted && fakes3_plan_has(r, FAKES3_DO_bare_only))
    return precondition_failed(r, "If-Match");
  if (s3l_span_eq(match, S3L_SPAN("*")) || same_etag(match, now->etag))
    return true;
  return precondition_failed(r, "If-Match");
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
}

static void put_version(fakes3_request_t* r, const fakes3_version_t* v) {
  char time[S3L_TIME_HTTP_SIZE];
  put_etag(r, v);
  if (s3l_time_format_http(v->modified_ms, time))
    fakes3_printf(&r->reply.headers, "Last-Modified: %s\r\n", time);
}

static bool check_read(fakes3_request_t* r, const fakes3_version_t* v) {
  s3l_span_t match = fakes3_header_value(r, "if-match");
  s3l_span_t none = fakes3_header_value(r, "if-none-match");
  if (v == NULL)
    return no_such_key(r);
  if (match.p != NULL && !in_list(match, v->etag, false))
    return precondition_failed(r, "If-Match");
  if (none.p == NULL || !in_list(none, v->etag, true))
    return true;
  r->reply.status = 304;
  put_version(r, v);
  return false;
}

bool fakes3_op_check(fakes3_request_t* r) {
  fakes3_bucket_t* b = r->bucket[0] != '\0' && r->key[0] != '\0' ? bucket_of(r) : NULL;
  if (b == NULL || !writes(r))
    return true;
  return check_write(r, visible(r, fakes3_object_find(b, r->key)));
}

/* ---- Objects ---- */

static void md5_hex(s3l_span_t s, unsigned char hash[16], char hex[33]) {
  unsigned n = 0;
  if (EVP_Digest(s.p, s.n, hash, &n, EVP_md5(), NULL) != 1 || n != 16)
    abort();
  s3l_hex_encode(hash, n, hex);
  hex[32] = '\0';
}

static fakes3_version_t* make_version(const fakes3_request_t* r) {
  fakes3_version_t* v = fakes3_alloc(sizeof(*v));
  unsigned char hash[16];
  char hex[33];
  s3l_span_t type = fakes3_header_value(r, "content-type");
  v->modified_ms = fakes3_wall_ms(r->server);
  fakes3_put(&v->body, r->body.p, r->body.n);
  md5_hex(fakes3_span(&r->body), hash, hex);
  snprintf(v->etag, sizeof(v->etag), "\"%s\"", hex);
  if (fakes3_is_express(r)) /* as random as it needs to be */
    snprintf(v->etag, sizeof(v->etag), "\"%032llx\"", (unsigned long long)++r->server->etags);
  if (fakes3_plan_has(r, FAKES3_DO_long_etag))
    snprintf(v->etag, sizeof(v->etag), "\"%s%093d\"", hex, 0);
  if (fakes3_plan_has(r, FAKES3_DO_constant_etag))
    memcpy(v->etag, CONSTANT_ETAG, sizeof(CONSTANT_ETAG));
  if (type.p == NULL)
    type = S3L_SPAN("binary/octet-stream");
  fakes3_printf(&v->headers, "Content-Type: %.*s\r\n", (int)type.n, type.p);
  for (size_t i = 0; i < r->headers_n; i++) {
    const fakes3_pair_t* h = &r->headers[i];
    if (s3l_span_starts_with(h->name, S3L_SPAN("x-amz-meta-")))
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

static void put_object(fakes3_request_t* r, fakes3_bucket_t* b) {
  const fakes3_object_t* o = fakes3_object_find(b, r->key);
  if (fakes3_header(r, "x-amz-copy-source") != NULL) {
    not_implemented(r, "x-amz-copy-source");
    return;
  }
  if (!check_md5(r) || (!r->checked && !check_write(r, visible(r, o))))
    return;
  fakes3_version_t* v = make_version(r);
  fakes3_object_set(b, r->key, v);
  tell_change(r, fakes3_span(&v->body));
  r->server->counters.writes++;
  r->reply.status = 200;
  put_etag(r, v);
}

static void delete_object(fakes3_request_t* r, fakes3_bucket_t* b) {
  const fakes3_object_t* o = fakes3_object_find(b, r->key);
  if (!r->checked && !check_write(r, visible(r, o)))
    return;
  r->reply.status = 204;
  if (o == NULL || o->now == NULL)
    return;
  fakes3_object_set(b, r->key, NULL);
  tell_change(r, (s3l_span_t){NULL, 0});
  r->server->counters.writes++;
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

static void get_object(fakes3_request_t* r, fakes3_bucket_t* b) {
  fakes3_object_t* o = fakes3_object_find(b, r->key);
  const fakes3_pair_t* id = fakes3_param(r, "versionId");
  const fakes3_version_t* v = id != NULL ? fakes3_object_version(o, id->value)
                              : fakes3_plan_has(r, FAKES3_DO_cached_ms) ? from_cache(r, o)
                                                                        : visible(r, o);
  if (!check_read(r, v))
    return;
  r->reply.status = 200;
  put_version(r, v);
  fakes3_puts(&r->reply.headers, "Accept-Ranges: bytes\r\n");
  fakes3_put_span(&r->reply.headers, fakes3_span(&v->headers));
  fakes3_put_span(&r->reply.body, fakes3_span(&v->body));
}

/* ---- Buckets ---- */

static void put_contents(fakes3_bytes_t* b, const fakes3_object_t* o, const fakes3_version_t* v,
                         bool url) {
  char time[S3L_TIME_RFC3339_SIZE];
  fakes3_puts(b, "<Contents><Key>");
  if (url)
    fakes3_put_uri(b, s3l_span_cstr(o->key), 1);
  else
    fakes3_put_xml(b, s3l_span_cstr(o->key));
  (void)s3l_time_format_rfc3339(v->modified_ms / 1000 * 1000, time);
  time[strlen(time) - 1] = '\0';
  fakes3_printf(b, "</Key><LastModified>%s.000Z</LastModified><ETag>", time);
  fakes3_put_xml(b, s3l_span_cstr(v->etag));
  fakes3_printf(b, "</ETag><Size>%zu</Size><StorageClass>STANDARD</StorageClass></Contents>",
                v->body.n);
}

static s3l_span_t param(const fakes3_request_t* r, const char* name) {
  const fakes3_pair_t* p = fakes3_param(r, name);
  return p != NULL ? p->value : (s3l_span_t){NULL, 0};
}

/* The key after which the list begins. A continuation token is the last key of the page before, in
 * hexadecimal, so that it looks opaque. */
static bool list_start(fakes3_request_t* r, fakes3_bytes_t* start) {
  s3l_span_t token = param(r, "continuation-token");
  s3l_span_t after = param(r, "start-after");
  if (fakes3_plan_has(r, FAKES3_DO_endless_lists))
    return true;
  if (token.p == NULL) {
    fakes3_put_span(start, after);
    return true;
  }
  uint8_t key[FAKES3_KEY_MAX];
  if (token.n == 0 || token.n % 2 != 0 || token.n / 2 > sizeof(key) ||
      !s3l_hex_decode(token, key, token.n / 2)) {
    fakes3_error_with(r, "InvalidArgument", 0, "The continuation token provided is incorrect");
    return false;
  }
  fakes3_put(start, key, token.n / 2);
  return true;
}

typedef struct listing_s {
  fakes3_bytes_t contents;
  uint64_t count;
  const char* last;
  bool truncated;
} listing_t;

static void list_walk(fakes3_request_t* r, const fakes3_bucket_t* b, const char* start,
                      uint64_t max, listing_t* out) {
  s3l_span_t prefix = param(r, "prefix");
  bool url = s3l_span_eq(param(r, "encoding-type"), S3L_SPAN("url"));
  if (fakes3_plan_has(r, FAKES3_DO_empty_lists))
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
    out->truncated = out->count == max;
    if (out->truncated)
      return;
    put_contents(&out->contents, o, v, url);
    out->last = o->key;
    out->count++;
  }
}

static void put_listing(fakes3_request_t* r, const listing_t* l, uint64_t max) {
  fakes3_bytes_t* b = &r->reply.body;
  fakes3_puts(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult "
                 "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>");
  fakes3_put_xml(b, s3l_span_cstr(r->bucket));
  fakes3_puts(b, "</Name><Prefix>");
  fakes3_put_xml(b, param(r, "prefix"));
  fakes3_printf(b, "</Prefix><KeyCount>%llu</KeyCount><MaxKeys>%llu</MaxKeys>",
                (unsigned long long)l->count, (unsigned long long)max);
  fakes3_printf(b, "<IsTruncated>%s</IsTruncated>", l->truncated ? "true" : "false");
  if (l->truncated && l->last != NULL) {
    fakes3_puts(b, "<NextContinuationToken>");
    for (const char* p = l->last; *p != '\0'; p++)
      fakes3_printf(b, "%02x", (unsigned)(unsigned char)*p);
    fakes3_puts(b, "</NextContinuationToken>");
  }
  fakes3_put_span(b, fakes3_span(&l->contents));
  fakes3_puts(b, "</ListBucketResult>");
  r->reply.status = 200;
  r->reply.type = "application/xml";
}

/* Listings of directory buckets begin nowhere, and have prefixes that are directories. */
static bool is_express_listing(fakes3_request_t* r) {
  s3l_span_t prefix = param(r, "prefix");
  if (param(r, "start-after").p == NULL && (prefix.n == 0 || prefix.p[prefix.n - 1] == '/'))
    return true;
  fakes3_error_with(r, "InvalidRequest", 0,
                    "A directory bucket lists no start-after, and prefixes that end with / only");
  return false;
}

static void list_objects(fakes3_request_t* r, const fakes3_bucket_t* b) {
  uint64_t max = LIST_MAX;
  s3l_span_t wanted = param(r, "max-keys");
  fakes3_bytes_t start = {NULL, 0, 0};
  listing_t listing = {.count = 0};
  if (!s3l_span_eq(param(r, "list-type"), S3L_SPAN("2"))) {
    fakes3_error_with(r, "NotImplemented", 0, "Only ListObjectsV2 (list-type=2) is here");
    return;
  }
  if (fakes3_is_express(r) && !is_express_listing(r))
    return;
  if (wanted.p != NULL && !s3l_span_to_u64(wanted, &max)) {
    fakes3_error_with(r, "InvalidArgument", 0, "Provided max-keys not an integer");
    return;
  }
  max = max > LIST_MAX ? LIST_MAX : max;
  if (list_start(r, &start)) {
    if (max > 0)
      list_walk(r, b, fakes3_cstr(&start), max, &listing);
    if (fakes3_plan_has(r, FAKES3_DO_endless_lists))
      listing.truncated = true;
    put_listing(r, &listing, max);
  }
  fakes3_bytes_free(&start);
  fakes3_bytes_free(&listing.contents);
}

static void put_bucket(fakes3_request_t* r) {
  fakes3_bucket_t* b = fakes3_bucket_find(r->server, s3l_span_cstr(r->bucket));
  if (b == NULL)
    b = fakes3_bucket_add(r->server, s3l_span_cstr(r->bucket), true);
  b->given = true;
  r->reply.status = 200;
  fakes3_printf(&r->reply.headers, "Location: /%s\r\n", r->bucket);
}

static void delete_bucket(fakes3_request_t* r, fakes3_bucket_t* b) {
  for (size_t i = 0; i < b->n; i++) {
    if (b->objects[i]->now != NULL) {
      fakes3_error(r, "BucketNotEmpty");
      return;
    }
  }
  fakes3_bucket_remove(b);
  r->reply.status = 204;
}

/* Refuses sub-resources (?acl, ?versioning ...), which must not be taken for the object itself. */
static bool check_params(fakes3_request_t* r) {
  static const char* const known[] = {
      "list-type",          "prefix",    "start-after", "max-keys", "encoding-type",
      "continuation-token", "x-id",      "fetch-owner", "versions", "key-marker",
      "version-id-marker",  "versionId", "session"};
  for (size_t i = 0; i < r->params_n; i++) {
    bool found = false;
    for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
      found = found || s3l_span_eq(r->params[i].name, s3l_span_cstr(known[k]));
    if (!found) {
      fakes3_error_with(r, "NotImplemented", 0, "A query parameter is not implemented here");
      return false;
    }
  }
  return true;
}

static void run(fakes3_request_t* r) {
  fakes3_bucket_t* b;
  bool bucket_only = r->key[0] == '\0';
  if (r->bucket[0] == '\0') {
    fakes3_error(r, "MethodNotAllowed");
  } else if (bucket_only && r->method == HTTP_PUT) {
    put_bucket(r);
  } else if ((b = bucket_of(r)) == NULL) {
    (void)fail(r, "NoSuchBucket", "BucketName", r->bucket);
  } else if (r->method == HTTP_GET || r->method == HTTP_HEAD) {
    if (!bucket_only)
      get_object(r, b);
    else if (fakes3_is_create_session(r))
      fakes3_op_session(r);
    else if (r->method == HTTP_GET && fakes3_param(r, "versions") != NULL)
      fakes3_op_versions(r, b);
    else if (r->method == HTTP_GET)
      list_objects(r, b);
    else
      r->reply.status = 200;
  } else if (r->method == HTTP_PUT) {
    put_object(r, b);
  } else if (r->method == HTTP_DELETE) {
    if (bucket_only)
      delete_bucket(r, b);
    else
      delete_object(r, b);
  } else {
    fakes3_error(r, "MethodNotAllowed");
  }
}

void fakes3_op_run(fakes3_request_t* r) {
  if (check_params(r))
    run(r);
  fakes3_log_effect(r);
}
