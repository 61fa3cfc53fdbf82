/* fakes3/gcs.c: the XML API of Google Cloud Storage. It is S3's but for its conditions, which
 * compare generations, the names of its headers, and some errors.
 *
 * Facts, from cloud.google.com/storage/docs:
 * - xml-api/reference-headers has x-goog-if-generation-match (0: the object must not exist), and
 *   If-Match and If-None-Match for reads only. It has no x-goog-if-generation-not-match, which is
 *   only a parameter of the JSON API; Google's C++ client leaves the XML API for it. So it is
 *   ignored here, as every unknown header.
 * - Writes ignore If-Match and If-None-Match (arrow-rs#4879).
 * - x-amz-* together with x-goog-* headers is ExcessHeaderValues (getcolors/automq-gcloud).
 * - A second write to an object within a second can be 429 SlowDown: here by the rule
 *   write_interval_ms. */
#include <string.h>

#include "fakes3/protocol.h"

#define GENERATION_MATCH "x-goog-if-generation-match"

static const char* route(fakes3_request_t* r) {
  s3l_span_t given = fakes3_header_value(r, GENERATION_MATCH);
  bool absent = s3l_span_eq(given, S3L_SPAN("0"));
  if (r->method == HTTP_PUT || r->method == HTTP_DELETE)
    r->if_match = r->if_none_match = (s3l_span_t){NULL, 0};
  if (given.p != NULL && absent)
    r->if_none_match = S3L_SPAN("*");
  else if (given.p != NULL)
    r->if_match = given;
  return fakes3_token_route(r) ? NULL : fakes3_s3_route(r);
}

static bool has_header(const fakes3_request_t* r, const char* prefix) {
  for (size_t i = 0; i < r->headers_n; i++) {
    if (s3l_span_starts_with(r->headers[i].name, s3l_span_cstr(prefix)))
      return true;
  }
  return false;
}

static bool auth(fakes3_request_t* r) {
  s3l_span_t text = fakes3_header_value(r, "authorization");
  if (has_header(r, "x-amz-") && has_header(r, "x-goog-"))
    return fakes3_refuse(r, "ExcessHeaderValues", NULL);
  if (!s3l_span_ieq(fakes3_take(&text, ' '), S3L_SPAN("Bearer")))
    return fakes3_sigv4_check(r);
  return fakes3_bearer(r).p != NULL || fakes3_refuse(r, "AuthenticationRequired", NULL);
}

static s3l_span_t access_key(const fakes3_request_t* r) {
  s3l_span_t holder = fakes3_bearer(r);
  return holder.p != NULL ? holder : fakes3_sigv4_access_key(r);
}

/* A version, or NULL for an object that does not exist, which has generation 0. */
static bool check_generation(fakes3_request_t* r, const fakes3_version_t* v) {
  s3l_span_t given = fakes3_header_value(r, GENERATION_MATCH);
  uint64_t wanted;
  if (given.p == NULL)
    return true;
  if (!s3l_span_to_u64(given, &wanted))
    return fakes3_fail(r, "InvalidArgument", "Details", GENERATION_MATCH);
  return wanted == (v != NULL ? v->generation : 0) ||
         fakes3_precondition_failed(r, GENERATION_MATCH);
}

static bool check_write(fakes3_request_t* r, const fakes3_version_t* now) {
  if (now == NULL && r->method == HTTP_DELETE)
    return fakes3_no_such_key(r);
  return check_generation(r, now);
}

static bool check_read(fakes3_request_t* r, const fakes3_version_t* v) {
  return check_generation(r, v) && fakes3_check_etags(r, v);
}

static void stamp(fakes3_request_t* r, fakes3_version_t* v, const char* md5) {
  v->generation = fakes3_plan_has(r, FAKES3_DO_constant_etag) ? 1 : fakes3_unique(r->server);
  snprintf(v->etag, sizeof(v->etag), "\"%s\"", md5);
}

static void put_version(fakes3_request_t* r, const fakes3_version_t* v) {
  char text[24];
  snprintf(text, sizeof(text), "%llu", (unsigned long long)v->generation);
  fakes3_log_set(&r->entry->e.etag, s3l_span_cstr(text));
  fakes3_printf(&r->reply.headers, "x-goog-generation: %s\r\nx-goog-metageneration: 1\r\n", text);
}

static void put_headers(const fakes3_request_t* r, fakes3_bytes_t* out) {
  fakes3_puts(out, "X-GUploader-UploadID: ");
  fakes3_put_request_id(r, out);
  fakes3_puts(out, "\r\n");
}

static const fakes3_error_t errors[] = {
    {"InvalidArgument", 400, "Invalid argument.", NULL},
    {"AccessDenied", 403, "Access denied.", NULL},
    {"AuthenticationRequired", 401, "Authentication required.", NULL},
    {"ExcessHeaderValues", 400, "Multiple HTTP header values where one was expected.", NULL},
    {"InvalidSecurity", 403, "The provided security credentials are not valid.",
     "InvalidAccessKeyId"},
    {"MalformedSecurityHeader", 400, "Your request has a malformed header.",
     "AuthorizationHeaderMalformed"},
    {"ServiceUnavailable", 503, "Service is unable to handle request.", NULL},
    {"SlowDown", 429, "The rate of requests to the object is too high.", NULL},
    {NULL, 0, NULL, NULL},
};

const fakes3_protocol_t fakes3_gcs = {
    .name = "gcs",
    .headers = "x-goog-",
    .server = "UploadServer",
    .xml = "<?xml version='1.0' encoding='UTF-8'?>",
    .xmlns = "http://doc.s3.amazonaws.com/2006-03-01",
    .key = {FAKES3_ACCESS_KEY, FAKES3_SECRET_KEY, NULL},
    .errors = {errors, fakes3_s3_errors},
    .route = route,
    .auth = auth,
    .access_key = access_key,
    .run = fakes3_s3_run,
    .check_write = check_write,
    .check_read = check_read,
    .stamp = stamp,
    .put_version = put_version,
    .put_headers = put_headers,
    .put_entry = fakes3_s3_put_entry,
};
