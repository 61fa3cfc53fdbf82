/* fakes3/azure.c: Azure Blob Storage: containers, and block blobs that are written at once.
 *
 * Facts, from learn.microsoft.com/rest/api/storageservices, and where reports differ:
 * - Put Blob with "If-None-Match: *" on a blob that exists is 409 BlobAlreadyExists. Some report
 *   412 ConditionNotMet: the rule create_412.
 * - A condition that does not hold is 412 ConditionNotMet; If-Match on an absent blob, too, for a
 *   PUT. The delete of an absent blob is 404 BlobNotFound (Azurite: with If-Match, 412).
 * - An ETag is not a hash: it changes at every write, and never repeats. Lists have it without
 *   quotes.
 * - List Blobs has no start: the client passes on the opaque NextMarker. A page may have fewer
 *   blobs than maxresults, and yet have a NextMarker: the rule short_lists.
 * - Bodies of XML begin with a byte order mark, and messages of errors have several lines. */
#include <stdlib.h>
#include <string.h>

#include "fakes3/protocol.h"
#include "util/timefmt.h"

#define CONSTANT_ETAG "\"0x8D0000000000000\""
#define LIST_MAX      5000
#define VERSION       "2023-11-03" /* of replies to requests without one */
#define VERSION_MIN   "2015-02-21" /* from which on SharedKey is as it is here */

/* ---- Addresses ---- */

s3l_span_t fakes3_azure_account(const fakes3_request_t* r, s3l_span_t* path) {
  s3l_span_t account = fakes3_host_label(r);
  *path = r->path;
  s3l_span_skip(path, 1);
  return account.n > 0 ? account : fakes3_take(path, '/');
}

static const char* route(fakes3_request_t* r) {
  s3l_span_t key;
  if (fakes3_token_route(r))
    return NULL;
  (void)fakes3_azure_account(r, &key);
  s3l_span_t container = fakes3_take(&key, '/');
  return fakes3_request_address(r, container, key);
}

/* ---- Conditions ---- */

static bool check_write(fakes3_request_t* r, const fakes3_version_t* now) {
  s3l_span_t match = r->if_match, none = r->if_none_match;
  bool put = r->method == HTTP_PUT;
  if (match.p != NULL && none.p != NULL)
    return fakes3_refuse(r, "MultipleConditionHeadersNotSupported", NULL);
  if (now == NULL && !put)
    return fakes3_no_such_key(r);
  bool star = s3l_span_eq(none, S3L_SPAN("*"));
  if (now != NULL && star && put && !fakes3_plan_has(r, FAKES3_DO_create_412))
    return fakes3_refuse(r, "BlobAlreadyExists", NULL);
  if (none.p != NULL && now != NULL && (star || fakes3_same_etag(none, now->etag)))
    return fakes3_precondition_failed(r, "If-None-Match");
  if (match.p == NULL ||
      (now != NULL && (s3l_span_eq(match, S3L_SPAN("*")) || fakes3_same_etag(match, now->etag))))
    return true;
  return fakes3_precondition_failed(r, "If-Match");
}

static void stamp(fakes3_request_t* r, fakes3_version_t* v, const char* md5) {
  bool is_long = fakes3_plan_has(r, FAKES3_DO_long_etag);
  snprintf(v->etag, sizeof(v->etag), "\"0x8D%0*llX\"", is_long ? 121 : 13,
           (unsigned long long)fakes3_unique(r->server));
  if (fakes3_plan_has(r, FAKES3_DO_constant_etag))
    memcpy(v->etag, CONSTANT_ETAG, sizeof(CONSTANT_ETAG));
}

/* ---- Replies ---- */

static void put_version(fakes3_request_t* r, const fakes3_version_t* v) {
  if (r->method != HTTP_PUT)
    fakes3_puts(&r->reply.headers, "x-ms-blob-type: BlockBlob\r\nx-ms-lease-status: unlocked\r\n");
}

static void put_request_id(const fakes3_request_t* r, fakes3_bytes_t* out) {
  uint64_t seq = r->entry != NULL ? r->entry->e.seq : 0;
  fakes3_printf(out, "fa4e5300-001e-0000-0000-%012llx", (unsigned long long)seq);
}

static void put_headers(const fakes3_request_t* r, fakes3_bytes_t* out) {
  s3l_span_t version = fakes3_header_value(r, "x-ms-version");
  fakes3_puts(out, "x-ms-request-id: ");
  put_request_id(r, out);
  if (version.p == NULL)
    version = S3L_SPAN(VERSION);
  fakes3_printf(out, "\r\nx-ms-version: %.*s\r\n", (int)version.n, version.p);
  if (r->reply.code != NULL)
    fakes3_printf(out, "x-ms-error-code: %s\r\n", r->reply.code);
}

static void end_message(const fakes3_request_t* r, fakes3_bytes_t* out) {
  char time[S3L_TIME_RFC3339_SIZE];
  fakes3_puts(out, "\nRequestId:");
  put_request_id(r, out);
  if (s3l_time_format_rfc3339(fakes3_wall_ms(r->server) / 1000 * 1000, time))
    fakes3_printf(out, "\nTime:%s", time);
}

/* ---- Lists ---- */

static void put_element(fakes3_bytes_t* b, const char* name, s3l_span_t text) {
  fakes3_printf(b, "<%s>", name);
  fakes3_put_xml(b, text);
  fakes3_printf(b, "</%s>", name);
}

/* A name that XML cannot hold is percent-encoded (since version 2021-02-12). */
static void put_name(fakes3_bytes_t* b, s3l_span_t name) {
  bool fits = true;
  for (size_t i = 0; i < name.n; i++)
    fits = fits && (unsigned char)name.p[i] >= ' ';
  if (fits) {
    put_element(b, "Name", name);
    return;
  }
  fakes3_puts(b, "<Name Encoded=\"true\">");
  fakes3_put_uri(b, name, 1);
  fakes3_puts(b, "</Name>");
}

static void put_entry(const fakes3_request_t* r, fakes3_listing_t* l, const fakes3_object_t* o,
                      const fakes3_version_t* v) {
  fakes3_bytes_t* b = &l->entries;
  char time[S3L_TIME_HTTP_SIZE] = "";
  (void)s3l_time_format_http(v->modified_ms, time);
  fakes3_puts(b, "<Blob>");
  put_name(b, s3l_span_cstr(o->key));
  fakes3_puts(b, "<Properties>");
  put_element(b, "Last-Modified", s3l_span_cstr(time));
  put_element(b, "Etag", (s3l_span_t){v->etag + 1, strlen(v->etag) - 2});
  fakes3_printf(b, "<Content-Length>%zu</Content-Length><BlobType>BlockBlob</BlobType>", v->body.n);
  fakes3_puts(b, "<LeaseStatus>unlocked</LeaseStatus></Properties><OrMetadata /></Blob>");
}

static void list_blobs(fakes3_request_t* r, const fakes3_bucket_t* b) {
  fakes3_listing_t l = {.count = 0};
  fakes3_bytes_t* out = &r->reply.body;
  s3l_span_t marker = fakes3_param_value(r, "marker");
  s3l_span_t max = fakes3_param_value(r, "maxresults");
  if (s3l_span_eq(max, S3L_SPAN("0"))) {
    fakes3_error(r, "OutOfRangeQueryParameterValue");
    return;
  }
  if (!fakes3_list_begin(r, &l, marker, (s3l_span_t){NULL, 0}, max, LIST_MAX))
    return;
  fakes3_list(r, b, &l);
  fakes3_printf(out, "%s<EnumerationResults ServiceEndpoint=\"%s/\" ContainerName=\"%s\">",
                r->server->protocol->xml, r->server->url, r->bucket);
  put_element(out, "Prefix", fakes3_param_value(r, "prefix"));
  put_element(out, "Marker", marker);
  fakes3_printf(out, "<MaxResults>%llu</MaxResults><Blobs>", (unsigned long long)l.max);
  fakes3_put_span(out, fakes3_span(&l.entries));
  fakes3_puts(out, "</Blobs><NextMarker>");
  if (l.truncated && l.last != NULL)
    fakes3_put_token(out, &l);
  fakes3_puts(out, "</NextMarker></EnumerationResults>");
  fakes3_list_end(r, &l);
}

/* ---- Requests ---- */

static void put_container(fakes3_request_t* r) {
  s3l_span_t name = s3l_span_cstr(r->bucket);
  if (fakes3_bucket_find(r->server, name) != NULL) {
    fakes3_error(r, "ContainerAlreadyExists");
    return;
  }
  fakes3_bucket_add(r->server, name, true);
  r->reply.status = 201;
}

static void run_container(fakes3_request_t* r, fakes3_bucket_t* b) {
  bool lists = s3l_span_eq(fakes3_param_value(r, "comp"), S3L_SPAN("list"));
  bool reads = r->method == HTTP_GET || r->method == HTTP_HEAD;
  if (lists && r->method == HTTP_GET) {
    list_blobs(r, b);
  } else if (reads) {
    r->reply.status = 200;
  } else if (r->method == HTTP_DELETE) {
    fakes3_bucket_remove(b);
    r->reply.status = 202;
  } else {
    fakes3_error(r, "MethodNotAllowed");
  }
}

static void put_blob(fakes3_request_t* r, fakes3_bucket_t* b) {
  s3l_span_t type = fakes3_header_value(r, "x-ms-blob-type");
  if (type.p == NULL) {
    (void)fakes3_fail(r, "MissingRequiredHeader", "HeaderName", "x-ms-blob-type");
  } else if (!s3l_span_eq(type, S3L_SPAN("BlockBlob"))) {
    (void)fakes3_fail(r, "InvalidHeaderValue", "HeaderName", "x-ms-blob-type");
  } else if (fakes3_put_object(r, b)) {
    r->reply.status = 201;
    fakes3_puts(&r->reply.headers, "x-ms-request-server-encrypted: true\r\n");
  }
}

static void run_blob(fakes3_request_t* r, fakes3_bucket_t* b) {
  if (r->method == HTTP_GET || r->method == HTTP_HEAD) {
    (void)fakes3_get_object(r, b);
  } else if (r->method == HTTP_PUT) {
    put_blob(r, b);
  } else if (r->method == HTTP_DELETE) {
    if (fakes3_delete_object(r, b))
      r->reply.status = 202;
  } else {
    fakes3_error(r, "MethodNotAllowed");
  }
}

/* Refuses operations (?comp=lease, ?snapshot ...) that must not be taken for others, and requests
 * without a version, unless that of a SAS stands for it. */
static bool check_form(fakes3_request_t* r) {
  static const char* const known[] = {
      "restype", "comp", "prefix", "marker", "maxresults", "timeout", "sv",  "ss", "srt",
      "sp",      "st",   "se",     "sr",     "sig",        "spr",     "sip", "si", "ses"};
  s3l_span_t version = fakes3_header_value(r, "x-ms-version");
  if (version.p == NULL)
    version = fakes3_param_value(r, "sv");
  if (version.p == NULL)
    return fakes3_fail(r, "MissingRequiredHeader", "HeaderName", "x-ms-version");
  if (version.n != strlen(VERSION_MIN) || memcmp(version.p, VERSION_MIN, version.n) < 0)
    return fakes3_fail(r, "InvalidHeaderValue", "HeaderName", "x-ms-version");
  for (size_t i = 0; i < r->params_n; i++) {
    bool found = false;
    for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
      found = found || s3l_span_eq(r->params[i].name, s3l_span_cstr(known[k]));
    if (!found || (r->key[0] != '\0' && s3l_span_eq(r->params[i].name, S3L_SPAN("comp"))))
      return fakes3_refuse(r, "UnsupportedQueryParameter", NULL);
  }
  return true;
}

static void run(fakes3_request_t* r) {
  fakes3_bucket_t* b;
  bool container =
      r->key[0] == '\0' && s3l_span_eq(fakes3_param_value(r, "restype"), S3L_SPAN("container"));
  if (!check_form(r))
    return;
  if (r->bucket[0] == '\0' || (r->key[0] == '\0' && !container))
    fakes3_error(r, "MethodNotAllowed");
  else if (container && r->method == HTTP_PUT)
    put_container(r);
  else if ((b = fakes3_bucket_of(r)) == NULL)
    fakes3_error(r, "NoSuchBucket");
  else if (container)
    run_container(r, b);
  else
    run_blob(r, b);
}

static const fakes3_error_t errors[] = {
    {"InvalidInput", 400, "One of the request inputs is not valid.", "BadRequest"},
    {"NoAuthenticationInformation", 401,
     "Server failed to authenticate the request. Please refer to the information in the "
     "www-authenticate header.",
     NULL},
    {"AuthenticationFailed", 403,
     "Server failed to authenticate the request. Make sure the value of Authorization header is "
     "formed correctly including the signature.",
     NULL},
    {"BlobNotFound", 404, "The specified blob does not exist.", "NoSuchKey"},
    {"BlobAlreadyExists", 409, "The specified blob already exists.", NULL},
    {"ConditionNotMet", 412, "The condition specified using HTTP conditional header(s) is not met.",
     "PreconditionFailed"},
    {"ServerBusy", 503, "The server is busy.", "SlowDown"},
    {"AuthorizationPermissionMismatch", 403,
     "This request is not authorized to perform this operation using this permission.", NULL},
    {"ContainerAlreadyExists", 409, "The specified container already exists.", NULL},
    {"ContainerNotFound", 404, "The specified container does not exist.", "NoSuchBucket"},
    {"InvalidAuthenticationInfo", 401,
     "Server failed to authenticate the request. Please refer to the information in the "
     "www-authenticate header.",
     NULL},
    {"InvalidHeaderValue", 400,
     "The value for one of the HTTP headers is not in the correct format.", NULL},
    {"InvalidMd5", 400, "The MD5 value specified in the request is invalid.", "InvalidDigest"},
    {"InvalidQueryParameterValue", 400,
     "Value for one of the query parameters specified in the request URI is invalid.",
     "InvalidArgument"},
    {"InvalidResourceName", 400, "The specified resource name contains invalid characters.",
     "InvalidBucketName"},
    {"InvalidUri", 400, "The requested URI does not represent any resource on the server.",
     "InvalidURI"},
    {"Md5Mismatch", 400,
     "The MD5 value specified in the request did not match the MD5 value calculated by the server.",
     "BadDigest"},
    {"MissingContentLengthHeader", 411, "The Content-Length header was not specified.",
     "MissingContentLength"},
    {"MissingRequiredHeader", 400,
     "An HTTP header that's mandatory for this request is not specified.", NULL},
    {"MultipleConditionHeadersNotSupported", 400, "Multiple condition headers are not supported.",
     NULL},
    {"OutOfRangeInput", 400, "One of the request inputs is out of range.", "KeyTooLongError"},
    {"OutOfRangeQueryParameterValue", 400,
     "One of the query parameters specified in the request URI is outside the permissible range.",
     NULL},
    {"RequestBodyTooLarge", 413,
     "The request body is too large and exceeds the maximum permissible limit.", "EntityTooLarge"},
    {"UnsupportedHttpVerb", 405, "The resource doesn't support specified Http Verb.",
     "MethodNotAllowed"},
    {"UnsupportedQueryParameter", 400,
     "One of the query parameters specified in the request URI is not supported.", NULL},
    {NULL, 0, NULL, NULL},
};

const fakes3_protocol_t fakes3_azure = {
    .name = "azure",
    .headers = "x-ms-",
    .server = "Windows-Azure-Blob/1.0 Microsoft-HTTPAPI/2.0",
    .xml = "\xEF\xBB\xBF<?xml version=\"1.0\" encoding=\"utf-8\"?>",
    .key = {FAKES3_ACCOUNT, FAKES3_ACCOUNT_KEY, NULL},
    .errors = {errors, fakes3_s3_errors},
    .route = route,
    .auth = fakes3_azure_auth,
    .access_key = fakes3_azure_access_key,
    .run = run,
    .check_write = check_write,
    .check_read = fakes3_check_etags,
    .stamp = stamp,
    .put_version = put_version,
    .put_headers = put_headers,
    .end_message = end_message,
    .put_entry = put_entry,
};
