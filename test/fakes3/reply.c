/* fakes3/reply.c: error bodies, with AWS's texts unless the protocol has its own, and the bytes of
 * a reply. */
#include <string.h>

#include "fakes3/protocol.h"
#include "http/server_reply.h"
#include "util/timefmt.h"

#define HTML "text/html"

const fakes3_error_t fakes3_s3_errors[] = {
    {"AccessDenied", 403, "Access Denied", NULL},
    {"ConditionalRequestConflict", 409,
     "The conditional request cannot succeed due to a conflicting operation against this "
     "resource.",
     NULL},
    {"NoSuchKey", 404, "The specified key does not exist.", NULL},
    {"RequestTimeout", 400,
     "Your socket connection to the server was not read from or written to within the timeout "
     "period. Idle connections will be closed.",
     NULL},
    {"SlowDown", 503, "Please reduce your request rate.", NULL},
    {"AuthorizationHeaderMalformed", 400, "The authorization header is malformed.", NULL},
    {"BadDigest", 400, "The Content-MD5 you specified did not match what we received.", NULL},
    {"BadRequest", 400, "An error occurred when parsing the HTTP request.", NULL},
    {"BucketNotEmpty", 409, "The bucket you tried to delete is not empty", NULL},
    {"EntityTooLarge", 400, "Your proposed upload exceeds the maximum allowed size", NULL},
    {"ExpiredToken", 400, "The provided token has expired.", NULL},
    {"InternalError", 500, "We encountered an internal error. Please try again.", NULL},
    {"InvalidAccessKeyId", 403, "The AWS Access Key Id you provided does not exist in our records.",
     NULL},
    {"InvalidArgument", 400, "Invalid Argument", NULL},
    {"InvalidBucketName", 400, "The specified bucket is not valid.", NULL},
    {"InvalidDigest", 400, "The Content-MD5 you specified was invalid.", NULL},
    {"InvalidRequest", 400, "Invalid Request", NULL},
    {"InvalidToken", 400, "The provided token is malformed or otherwise invalid.", NULL},
    {"InvalidURI", 400, "Couldn't parse the specified URI.", NULL},
    {"KeyTooLongError", 400, "Your key is too long", NULL},
    {"MethodNotAllowed", 405, "The specified method is not allowed against this resource.", NULL},
    {"MissingContentLength", 411, "You must provide the Content-Length HTTP header.", NULL},
    {"NoSuchBucket", 404, "The specified bucket does not exist", NULL},
    {"NotImplemented", 501, "A header you provided implies functionality that is not implemented",
     NULL},
    {"OperationAborted", 409,
     "A conflicting conditional operation is currently in progress against this resource. Please "
     "try again.",
     NULL},
    {"PreconditionFailed", 412, "At least one of the pre-conditions you specified did not hold",
     NULL},
    {"RequestHeaderSectionTooLarge", 400,
     "Your request header section exceeds the maximum allowed header section size", NULL},
    {"RequestTimeTooSkewed", 403,
     "The difference between the request time and the current time is too large.", NULL},
    {"ServiceUnavailable", 503, "Service is unable to handle request.", NULL},
    {"SignatureDoesNotMatch", 403,
     "The request signature we calculated does not match the signature you provided. Check your "
     "key and signing method.",
     NULL},
    {"TooManyRequests", 429, "Please reduce your request rate.", NULL},
    {"XAmzContentSHA256Mismatch", 400,
     "The provided 'x-amz-content-sha256' header does not match what was computed.", NULL},
    {NULL, 0, NULL, NULL},
};

static bool is_code(const char* wanted, const char* code) {
  return code != NULL && strcmp(wanted, code) == 0;
}

/* The row of that code, or the one that stands for this S3 code. */
static const fakes3_error_t* find_error(const fakes3_request_t* r, const char* code) {
  const fakes3_error_t* const* tables = r->server->protocol->errors;
  for (size_t t = 0; t < 2; t++) {
    for (const fakes3_error_t* e = tables[t]; e != NULL && e->code != NULL; e++) {
      if (is_code(code, e->code) || is_code(code, e->s3))
        return e;
    }
  }
  return NULL;
}

const char* fakes3_default_code(const fakes3_request_t* r, int status) {
  const fakes3_error_t* const* tables = r->server->protocol->errors;
  for (size_t t = 0; t < 2; t++) {
    for (const fakes3_error_t* e = tables[t]; e != NULL && e->code != NULL; e++) {
      if (e->status == status)
        return e->code;
    }
  }
  return status >= 500 ? "InternalError" : "InvalidRequest";
}

void fakes3_put_request_id(const fakes3_request_t* r, fakes3_bytes_t* b) {
  uint64_t seq = r->entry != NULL ? r->entry->e.seq : 0;
  fakes3_printf(b, "FA4E53%010llX", (unsigned long long)seq);
}

void fakes3_reply_clear(fakes3_reply_t* reply) {
  fakes3_bytes_free(&reply->headers);
  fakes3_bytes_free(&reply->body);
  *reply = (fakes3_reply_t){.close = reply->close};
}

static void put_element(fakes3_bytes_t* b, const char* name, s3l_span_t text) {
  fakes3_printf(b, "<%s>", name);
  fakes3_put_xml(b, text);
  fakes3_printf(b, "</%s>", name);
}

/* fakes3_error_add can add to the body until fakes3_reply_bytes ends it. */
void fakes3_error_with(fakes3_request_t* r, const char* code, int status, const char* message) {
  const fakes3_error_t* known = find_error(r, code);
  fakes3_reply_t* reply = &r->reply;
  fakes3_reply_clear(reply);
  if (message == NULL)
    message = known != NULL ? known->message : "An error.";
  reply->status = status != 0 ? status : known != NULL ? known->status : 500;
  reply->code = known != NULL ? known->code : code;
  reply->type = "application/xml";
  fakes3_puts(&reply->body, r->server->protocol->xml);
  fakes3_puts(&reply->body, "<Error>");
  put_element(&reply->body, "Code", s3l_span_cstr(reply->code));
  fakes3_puts(&reply->body, "<Message>");
  fakes3_put_xml(&reply->body, s3l_span_cstr(message));
  if (r->server->protocol->end_message != NULL)
    r->server->protocol->end_message(r, &reply->body);
  fakes3_puts(&reply->body, "</Message>");
}

void fakes3_error(fakes3_request_t* r, const char* code) {
  fakes3_error_with(r, code, 0, NULL);
}

void fakes3_error_add(fakes3_request_t* r, const char* element, s3l_span_t text) {
  put_element(&r->reply.body, element, text);
}

static void end_error(fakes3_request_t* r) {
  if (r->server->protocol->end_error != NULL)
    r->server->protocol->end_error(r, &r->reply.body);
  fakes3_puts(&r->reply.body, "</Error>");
}

void fakes3_html(fakes3_request_t* r, int status, const char* html) {
  fakes3_reply_clear(&r->reply);
  r->reply.status = status;
  r->reply.type = HTML;
  fakes3_puts(&r->reply.body, html);
}

/* ---- Framing ---- */

bool fakes3_reply_closes(const fakes3_request_t* r) {
  return r->reply.close || !r->keep_alive || fakes3_plan_has(r, FAKES3_DO_http10) ||
         fakes3_plan_has(r, FAKES3_DO_close_after) || fakes3_plan_has(r, FAKES3_DO_truncate) ||
         fakes3_plan_has(r, FAKES3_DO_garbage);
}

static bool says_close(const fakes3_request_t* r) {
  return r->reply.close || !r->keep_alive;
}

static void put_chunk(fakes3_bytes_t* out, const char* p, size_t n, const char* extension) {
  if (n == 0)
    return;
  fakes3_printf(out, "%zx%s\r\n", n, extension);
  fakes3_put(out, p, n);
  fakes3_puts(out, "\r\n");
}

static void put_chunks(fakes3_bytes_t* out, const fakes3_bytes_t* body) {
  size_t half = body->n / 2;
  put_chunk(out, body->p, half, "");
  put_chunk(out, half > 0 ? body->p + half : body->p, body->n - half, ";piece=2");
  fakes3_puts(out, "0\r\n\r\n");
}

/* The body and the headers that frame it. */
static void put_framed(fakes3_request_t* r, fakes3_bytes_t* out) {
  const fakes3_reply_t* reply = &r->reply;
  bool bodiless = reply->status == 204 || reply->status == 304;
  bool chunked = fakes3_plan_has(r, FAKES3_DO_chunked) && !bodiless;
  bool http10 = fakes3_plan_has(r, FAKES3_DO_http10);
  bool truncate = fakes3_plan_has(r, FAKES3_DO_truncate);
  if (chunked)
    fakes3_puts(out, "Transfer-Encoding: chunked\r\n");
  else if (!http10 && !bodiless)
    fakes3_printf(out, "Content-Length: %zu\r\n", reply->body.n + (truncate ? 16 : 0));
  fakes3_puts(out, "\r\n");
  if (bodiless || r->method == HTTP_HEAD)
    return;
  if (chunked)
    put_chunks(out, &reply->body);
  else
    fakes3_put(out, reply->body.p, reply->body.n);
}

void fakes3_reply_bytes(fakes3_request_t* r, fakes3_bytes_t* out) {
  const fakes3_reply_t* reply = &r->reply;
  if (reply->code != NULL)
    end_error(r);
  char date[S3L_TIME_HTTP_SIZE];
  if (fakes3_plan_has(r, FAKES3_DO_garbage)) {
    fakes3_put(out, "\0\x15 this is not HTTP\r\n\r\n", 22);
    return;
  }
  if (fakes3_plan_has(r, FAKES3_DO_continue))
    fakes3_printf(out, "HTTP/1.1 %u Interim\r\nX-Interim: yes\r\n\r\n",
                  (unsigned)fakes3_plan_value(r, FAKES3_SLOT_CONTINUE));
  bool http10 = fakes3_plan_has(r, FAKES3_DO_http10);
  fakes3_printf(out, "HTTP/1.%d %d %s\r\n", http10 ? 0 : 1, reply->status,
                s3l_http_status_text(reply->status));
  bool page = reply->type != NULL && strcmp(reply->type, HTML) == 0;
  if (!page)
    r->server->protocol->put_headers(r, out);
  if (s3l_time_format_http(r->date_ms != 0 ? r->date_ms : fakes3_wall_ms(r->server), date))
    fakes3_printf(out, "Date: %s\r\n", date);
  if (fakes3_plan_has(r, FAKES3_DO_added_etag) && (reply->status >= 300 || r->key[0] == '\0'))
    fakes3_puts(out, "ETag: \"added\"\r\n");
  fakes3_printf(out, "Server: %s\r\n", page ? "proxy" : r->server->protocol->server);
  fakes3_put(out, reply->headers.p, reply->headers.n);
  if (reply->type != NULL)
    fakes3_printf(out, "Content-Type: %s\r\n", reply->type);
  if (says_close(r))
    fakes3_puts(out, "Connection: close\r\n");
  else if (r->http10 && !http10)
    fakes3_puts(out, "Connection: keep-alive\r\n");
  put_framed(r, out);
}
