/* fakes3/session.c: sessions: CreateSession of directory buckets (S3 Express One Zone), the keys
 * that it has given, and bearer tokens (token.c). The newest are kept; the server forgets older
 * ones. */
#include <stdlib.h>
#include <string.h>

#include "fakes3/protocol.h"
#include "util/timefmt.h"

#define SUFFIX "--x-s3"

bool fakes3_is_express(const fakes3_request_t* r) {
  size_t n = r->bucket != NULL ? strlen(r->bucket) : 0;
  return r->server->protocol == &fakes3_s3 && n > strlen(SUFFIX) &&
         strcmp(r->bucket + n - strlen(SUFFIX), SUFFIX) == 0;
}

bool fakes3_is_create_session(const fakes3_request_t* r) {
  return r->server->protocol == &fakes3_s3 && r->method == HTTP_GET && r->key != NULL &&
         r->key[0] == '\0' && fakes3_param(r, "session") != NULL;
}

static void put_element(fakes3_bytes_t* b, const char* name, const char* text) {
  fakes3_printf(b, "<%s>", name);
  fakes3_put_xml(b, s3l_span_cstr(text));
  fakes3_printf(b, "</%s>", name);
}

const fakes3_session_t* fakes3_session_new(fakes3_request_t* r, const char* holder) {
  fakes3_t* s = r->server;
  fakes3_session_t* session = &s->sessions[s->sessions_made % FAKES3_SESSIONS_MAX];
  unsigned long long number = ++s->sessions_made;
  snprintf(session->access_key, sizeof(session->access_key), "SESSION%llu", number);
  if (holder != NULL)
    snprintf(session->access_key, sizeof(session->access_key), "%s", holder);
  snprintf(session->secret_key, sizeof(session->secret_key), "session/secret+%llu", number);
  snprintf(session->token, sizeof(session->token), "session==token/%llu", number);
  snprintf(session->bucket, sizeof(session->bucket), "%s", r->bucket);
  session->ends_ms = r->arrived_ms + (int64_t)s->session_ms;
  return session;
}

void fakes3_op_session(fakes3_request_t* r) {
  fakes3_bytes_t* b = &r->reply.body;
  char end[S3L_TIME_RFC3339_SIZE];
  if (!fakes3_is_express(r)) {
    fakes3_error_with(r, "InvalidRequest", 0, "Only a directory bucket has sessions");
    return;
  }
  const fakes3_session_t* session = fakes3_session_new(r, NULL);
  (void)s3l_time_format_rfc3339(session->ends_ms, end);
  fakes3_puts(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<CreateSessionResult "
                 "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Credentials>");
  put_element(b, "SessionToken", session->token);
  put_element(b, "SecretAccessKey", session->secret_key);
  put_element(b, "AccessKeyId", session->access_key);
  put_element(b, "Expiration", end);
  fakes3_puts(b, "</Credentials></CreateSessionResult>");
  r->reply.status = 200;
  r->reply.type = "application/xml";
}

static bool fail(fakes3_request_t* r, const char* code, const char* message) {
  fakes3_error_with(r, code, 0, message);
  return false;
}

bool fakes3_session_check(fakes3_request_t* r, s3l_span_t access_key, fakes3_key_t* key) {
  s3l_span_t token = fakes3_header_value(r, "x-amz-s3session-token");
  const fakes3_session_t* found = NULL;
  for (size_t i = 0; i < FAKES3_SESSIONS_MAX; i++) {
    if (access_key.n > 0 &&
        s3l_span_eq(access_key, s3l_span_cstr(r->server->sessions[i].access_key)))
      found = &r->server->sessions[i];
  }
  if (found == NULL)
    return fail(r, "InvalidAccessKeyId", NULL);
  if (fakes3_header(r, "x-amz-security-token") != NULL)
    return fail(r, "InvalidRequest", "A session's token goes in x-amz-s3session-token");
  if (!s3l_span_eq(token, s3l_span_cstr(found->token)))
    return fail(r, "InvalidToken", NULL);
  if (strcmp(found->bucket, r->bucket) != 0)
    return fail(r, "AccessDenied", "The session is for another bucket");
  if (r->arrived_ms >= found->ends_ms)
    return fail(r, "ExpiredToken", NULL);
  *key = (fakes3_key_t){found->access_key, found->secret_key, found->token};
  return true;
}

s3l_span_t fakes3_session_holder(const fakes3_request_t* r, s3l_span_t token) {
  for (size_t i = 0; i < FAKES3_SESSIONS_MAX; i++) {
    const fakes3_session_t* session = &r->server->sessions[i];
    if (token.n > 0 && s3l_span_eq(token, s3l_span_cstr(session->token)) &&
        r->arrived_ms < session->ends_ms)
      return s3l_span_cstr(session->access_key);
  }
  return (s3l_span_t){NULL, 0};
}

void fakes3_end_sessions(fakes3_t* s) {
  memset(s->sessions, 0, sizeof(s->sessions));
}
