/* fakes3/s3.c: S3, with AWS's conditional semantics. */
#include <stdlib.h>
#include <string.h>

#include "fakes3/protocol.h"
#include "util/timefmt.h"

#define CONSTANT_ETAG "\"00000000000000000000000000000000\""
#define LIST_MAX      1000

/* ---- Addresses ---- */

static bool ends_with(s3l_span_t s, s3l_span_t tail) {
  return s.n >= tail.n && s3l_span_ieq((s3l_span_t){s.p + s.n - tail.n, tail.n}, tail);
}

/* Removes ".suffix", which leaves the bucket. A host that is the suffix itself names no bucket. */
static bool cut_suffix(s3l_span_t* host, s3l_span_t suffix) {
  if (s3l_span_ieq(*host, suffix)) {
    host->n = 0;
    return true;
  }
  if (host->n <= suffix.n + 1 || !ends_with(*host, suffix) ||
      host->p[host->n - suffix.n - 1] != '.')
    return false;
  host->n -= suffix.n + 1;
  return true;
}

s3l_span_t fakes3_host_label(const fakes3_request_t* r) {
  s3l_span_t host = fakes3_header_value(r, "host");
  if (host.n > 0 && host.p[0] == '[')
    host.n = 0;
  for (size_t i = 0; i < host.n; i++) {
    if (host.p[i] == ':')
      host.n = i;
  }
  if (r->server->domain != NULL && cut_suffix(&host, s3l_span_cstr(r->server->domain)))
    return host;
  if (cut_suffix(&host, S3L_SPAN("s3.localhost")) || cut_suffix(&host, S3L_SPAN("localhost")))
    return host;
  host.n = 0;
  return host;
}

const char* fakes3_s3_route(fakes3_request_t* r) {
  s3l_span_t key = r->path;
  s3l_span_t bucket = fakes3_host_label(r);
  s3l_span_skip(&key, 1);
  if (bucket.n == 0)
    bucket = fakes3_take(&key, '/');
  return fakes3_request_address(r, bucket, key);
}

/* ---- Conditions ---- */

/* Refuses what AWS does not implement, before the object is looked up. */
static bool check_write_headers(fakes3_request_t* r) {
  s3l_span_t match = r->if_match, none = r->if_none_match;
  if (match.p != NULL && none.p != NULL)
    return fakes3_not_implemented(r, "If-Match,If-None-Match");
  if (r->method == HTTP_DELETE) {
    if (none.p != NULL)
      return fakes3_not_implemented(r, "If-None-Match");
    if (fakes3_header(r, "x-amz-if-match-size") != NULL)
      return fakes3_not_implemented(r, "x-amz-if-match-size");
    if (fakes3_header(r, "x-amz-if-match-last-modified-time") != NULL)
      return fakes3_not_implemented(r, "x-amz-if-match-last-modified-time");
    return true;
  }
  if (s3l_span_eq(match, S3L_SPAN("*")))
    return fakes3_not_implemented(r, "If-Match");
  if (none.p != NULL && !s3l_span_eq(none, S3L_SPAN("*")))
    return fakes3_not_implemented(r, "If-None-Match");
  return true;
}

static bool check_write(fakes3_request_t* r, const fakes3_version_t* now) {
  s3l_span_t match = r->if_match;
  if (!check_write_headers(r))
    return false;
  if (r->if_none_match.p != NULL && now != NULL)
    return fakes3_precondition_failed(r, "If-None-Match");
  if (match.p == NULL)
    return true;
  if (now == NULL)
    return fakes3_no_such_key(r);
  bool quoted = match.n > 0 && match.p[0] == '"';
  if (quoted && fakes3_plan_has(r, FAKES3_DO_bare_only))
    return fakes3_precondition_failed(r, "If-Match");
  if (s3l_span_eq(match, S3L_SPAN("*")) || fakes3_same_etag(match, now->etag))
    return true;
  return fakes3_precondition_failed(r, "If-Match");
}

static void stamp(fakes3_request_t* r, fakes3_version_t* v, const char* md5) {
  snprintf(v->etag, sizeof(v->etag), "\"%s\"", md5);
  if (fakes3_is_express(r)) /* as random as it needs to be */
    snprintf(v->etag, sizeof(v->etag), "\"%032llx\"", (unsigned long long)fakes3_unique(r->server));
  if (fakes3_plan_has(r, FAKES3_DO_long_etag))
    snprintf(v->etag, sizeof(v->etag), "\"%s%093d\"", md5, 0);
  if (fakes3_plan_has(r, FAKES3_DO_constant_etag))
    memcpy(v->etag, CONSTANT_ETAG, sizeof(CONSTANT_ETAG));
}

/* ---- Lists ---- */

void fakes3_s3_put_entry(const fakes3_request_t* r, fakes3_listing_t* l, const fakes3_object_t* o,
                         const fakes3_version_t* v) {
  char time[S3L_TIME_RFC3339_SIZE];
  fakes3_bytes_t* b = &l->entries;
  fakes3_puts(b, "<Contents><Key>");
  if (s3l_span_eq(fakes3_param_value(r, "encoding-type"), S3L_SPAN("url")))
    fakes3_put_uri(b, s3l_span_cstr(o->key), 1);
  else
    fakes3_put_xml(b, s3l_span_cstr(o->key));
  (void)s3l_time_format_rfc3339(v->modified_ms / 1000 * 1000, time);
  time[strlen(time) - 1] = '\0';
  fakes3_puts(b, "</Key>");
  if (v->generation != 0)
    fakes3_printf(b, "<Generation>%llu</Generation><MetaGeneration>1</MetaGeneration>",
                  (unsigned long long)v->generation);
  fakes3_printf(b, "<LastModified>%s.000Z</LastModified><ETag>", time);
  fakes3_put_xml(b, s3l_span_cstr(v->etag));
  fakes3_printf(b, "</ETag><Size>%zu</Size><StorageClass>STANDARD</StorageClass></Contents>",
                v->body.n);
}

static void put_listing(fakes3_request_t* r, const fakes3_listing_t* l) {
  fakes3_bytes_t* b = &r->reply.body;
  fakes3_printf(b, "%s<ListBucketResult xmlns=\"%s\"><Name>", r->server->protocol->xml,
                r->server->protocol->xmlns);
  fakes3_put_xml(b, s3l_span_cstr(r->bucket));
  fakes3_puts(b, "</Name><Prefix>");
  fakes3_put_xml(b, fakes3_param_value(r, "prefix"));
  fakes3_printf(b, "</Prefix><KeyCount>%llu</KeyCount><MaxKeys>%llu</MaxKeys>",
                (unsigned long long)l->count, (unsigned long long)l->max);
  fakes3_printf(b, "<IsTruncated>%s</IsTruncated>", l->truncated ? "true" : "false");
  if (l->truncated && l->last != NULL) {
    fakes3_puts(b, "<NextContinuationToken>");
    fakes3_put_token(b, l);
    fakes3_puts(b, "</NextContinuationToken>");
  }
  fakes3_put_span(b, fakes3_span(&l->entries));
  fakes3_puts(b, "</ListBucketResult>");
}

/* Listings of directory buckets begin nowhere, and have prefixes that are directories. */
static bool is_express_listing(fakes3_request_t* r) {
  s3l_span_t prefix = fakes3_param_value(r, "prefix");
  if (fakes3_param(r, "start-after") == NULL && (prefix.n == 0 || prefix.p[prefix.n - 1] == '/'))
    return true;
  fakes3_error_with(r, "InvalidRequest", 0,
                    "A directory bucket lists no start-after, and prefixes that end with / only");
  return false;
}

static void list_objects(fakes3_request_t* r, const fakes3_bucket_t* b) {
  fakes3_listing_t listing = {.count = 0};
  if (!s3l_span_eq(fakes3_param_value(r, "list-type"), S3L_SPAN("2"))) {
    fakes3_error_with(r, "NotImplemented", 0, "Only ListObjectsV2 (list-type=2) is here");
    return;
  }
  if (fakes3_is_express(r) && !is_express_listing(r))
    return;
  const fakes3_pair_t* token = fakes3_param(r, "continuation-token");
  if (token != NULL && token->value.n == 0) {
    fakes3_error_with(r, "InvalidArgument", 0, "The continuation token provided is incorrect");
    return;
  }
  if (!fakes3_list_begin(r, &listing, fakes3_param_value(r, "continuation-token"),
                         fakes3_param_value(r, "start-after"), fakes3_param_value(r, "max-keys"),
                         LIST_MAX))
    return;
  fakes3_list(r, b, &listing);
  put_listing(r, &listing);
  fakes3_list_end(r, &listing);
}

/* ---- Requests ---- */

static void put_bucket(fakes3_request_t* r) {
  fakes3_bucket_t* b = fakes3_bucket_find(r->server, s3l_span_cstr(r->bucket));
  if (b == NULL)
    b = fakes3_bucket_add(r->server, s3l_span_cstr(r->bucket), true);
  b->given = true;
  r->reply.status = 200;
  fakes3_printf(&r->reply.headers, "Location: /%s\r\n", r->bucket);
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
      fakes3_error_with(r, "NotImplemented", 0,
                        "This server does not know a query parameter of the request");
      return false;
    }
  }
  return true;
}

static void read_or_list(fakes3_request_t* r, fakes3_bucket_t* b) {
  if (r->key[0] != '\0')
    (void)fakes3_get_object(r, b);
  else if (fakes3_is_create_session(r))
    fakes3_op_session(r);
  else if (r->method == HTTP_HEAD)
    r->reply.status = 200;
  else if (fakes3_param(r, "versions") != NULL)
    fakes3_op_versions(r, b);
  else
    list_objects(r, b);
}

void fakes3_s3_run(fakes3_request_t* r) {
  fakes3_bucket_t* b;
  bool bucket_only = r->key[0] == '\0';
  if (!check_params(r))
    return;
  if (r->bucket[0] == '\0') {
    fakes3_error(r, "MethodNotAllowed");
  } else if (bucket_only && r->method == HTTP_PUT) {
    put_bucket(r);
  } else if ((b = fakes3_bucket_of(r)) == NULL) {
    (void)fakes3_fail(r, "NoSuchBucket", "BucketName", r->bucket);
  } else if (r->method == HTTP_GET || r->method == HTTP_HEAD) {
    read_or_list(r, b);
  } else if (r->method == HTTP_PUT) {
    (void)fakes3_put_object(r, b);
  } else if (r->method == HTTP_DELETE && !bucket_only) {
    (void)fakes3_delete_object(r, b);
  } else if (r->method == HTTP_DELETE) {
    if (fakes3_delete_bucket(r, b))
      r->reply.status = 204;
  } else {
    fakes3_error(r, "MethodNotAllowed");
  }
}

static void put_headers(const fakes3_request_t* r, fakes3_bytes_t* out) {
  fakes3_puts(out, "x-amz-id-2: fakes3\r\nx-amz-request-id: ");
  fakes3_put_request_id(r, out);
  fakes3_puts(out, "\r\n");
}

static void end_error(const fakes3_request_t* r, fakes3_bytes_t* out) {
  fakes3_puts(out, "<RequestId>");
  fakes3_put_request_id(r, out);
  fakes3_puts(out, "</RequestId><HostId>fakes3</HostId>");
}

const fakes3_protocol_t fakes3_s3 = {
    .name = "s3",
    .headers = "x-amz-",
    .server = "AmazonS3",
    .xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n",
    .xmlns = "http://s3.amazonaws.com/doc/2006-03-01/",
    .key = {FAKES3_ACCESS_KEY, FAKES3_SECRET_KEY, NULL},
    .errors = {fakes3_s3_errors},
    .route = fakes3_s3_route,
    .auth = fakes3_sigv4_check,
    .access_key = fakes3_sigv4_access_key,
    .run = fakes3_s3_run,
    .check_write = check_write,
    .check_read = fakes3_check_etags,
    .stamp = stamp,
    .put_headers = put_headers,
    .end_error = end_error,
    .put_entry = fakes3_s3_put_entry,
};
