/* fakes3/request.c: the lifecycle of a request, its headers, and its target. */
#include <stdlib.h>
#include <string.h>

#include "fakes3/protocol.h"

fakes3_request_t* fakes3_request_new(fakes3_conn_t* conn) {
  fakes3_request_t* r = malloc(sizeof(*r));
  if (r == NULL)
    abort();
  memset(r, 0, offsetof(fakes3_request_t, ends));
  r->server = conn->server;
  r->conn = conn;
  if (uv_timer_init(r->server->loop, &r->timer) != 0)
    abort();
  r->timer.data = r;
  r->server->handles++;
  s3l_list_push_back(&r->server->requests, &r->link);
  return r;
}

static void on_closed(uv_handle_t* handle) {
  fakes3_request_t* r = handle->data;
  fakes3_t* s = r->server;
  fakes3_bytes_free(&r->target);
  fakes3_bytes_free(&r->head);
  fakes3_bytes_free(&r->body);
  fakes3_bytes_free(&r->reply.headers);
  fakes3_bytes_free(&r->reply.body);
  for (size_t i = 0; i < r->params_n; i++) {
    free((void*)(uintptr_t)r->params[i].name.p);
    free((void*)(uintptr_t)r->params[i].value.p);
  }
  for (size_t i = 0; i < FAKES3_SLOT_COUNT; i++)
    fakes3_rule_unref(r->plan[i]);
  free(r->bucket);
  free(r->key);
  free(r);
  fakes3_handle_closed(s);
}

void fakes3_request_finish(fakes3_request_t* r) {
  if (r->finished)
    return;
  r->finished = true;
  if (r->conn != NULL) {
    if (r->conn->building == r)
      r->conn->building = NULL;
    if (r->conn->active == r)
      r->conn->active = NULL;
    r->conn = NULL;
  }
  if (r->entry != NULL)
    fakes3_log_end(r);
  s3l_list_remove(&r->link);
  uv_close((uv_handle_t*)&r->timer, on_closed);
}

static void on_timer(uv_timer_t* timer) {
  fakes3_request_t* r = timer->data;
  r->then(r);
}

void fakes3_request_after(fakes3_request_t* r, uint64_t ms, void (*then)(fakes3_request_t* r)) {
  if (ms == 0) {
    then(r);
    return;
  }
  r->then = then;
  uv_update_time(r->server->loop);
  if (uv_timer_start(&r->timer, on_timer, ms, 0) != 0)
    abort();
}

const fakes3_pair_t* fakes3_header(const fakes3_request_t* r, const char* name) {
  s3l_span_t wanted = s3l_span_cstr(name);
  for (size_t i = 0; i < r->headers_n; i++) {
    if (s3l_span_eq(r->headers[i].name, wanted))
      return &r->headers[i];
  }
  return NULL;
}

s3l_span_t fakes3_header_value(const fakes3_request_t* r, const char* name) {
  const fakes3_pair_t* h = fakes3_header(r, name);
  return h != NULL ? h->value : (s3l_span_t){NULL, 0};
}

const fakes3_pair_t* fakes3_param(const fakes3_request_t* r, const char* name) {
  s3l_span_t wanted = s3l_span_cstr(name);
  for (size_t i = 0; i < r->params_n; i++) {
    if (s3l_span_eq(r->params[i].name, wanted))
      return &r->params[i];
  }
  return NULL;
}

const char* fakes3_request_method(const fakes3_request_t* r) {
  if (fakes3_is_create_session(r))
    return "SESSION";
  if (r->gives_token)
    return "TOKEN";
  if (r->method == HTTP_GET && r->key != NULL && r->key[0] == '\0' && r->bucket[0] != '\0')
    return "LIST";
  return llhttp_method_name(r->method);
}

bool fakes3_request_is_control(const fakes3_request_t* r) {
  return s3l_span_starts_with(fakes3_span(&r->target), S3L_SPAN(FAKES3_CONTROL_PATH));
}

static const char* parse_query(fakes3_request_t* r, s3l_span_t query) {
  while (query.n > 0) {
    s3l_span_t value = fakes3_take(&query, '&');
    if (value.n == 0)
      continue;
    if (r->params_n == FAKES3_PARAMS_MAX)
      return "InvalidURI";
    s3l_span_t name = fakes3_take(&value, '=');
    fakes3_bytes_t n = {NULL, 0, 0}, v = {NULL, 0, 0};
    int good = fakes3_put_decoded(&n, name) & fakes3_put_decoded(&v, value);
    r->params[r->params_n++] = (fakes3_pair_t){{fakes3_cstr(&n), n.n}, {fakes3_cstr(&v), v.n}};
    if (!good)
      return "InvalidURI";
  }
  return NULL;
}

static bool is_bucket_name(s3l_span_t s) {
  for (size_t i = 0; i < s.n; i++) {
    char c = s.p[i];
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'))
      return false;
  }
  return s.n >= 1 && s.n <= FAKES3_BUCKET_MAX;
}

const char* fakes3_request_address(fakes3_request_t* r, s3l_span_t bucket, s3l_span_t key) {
  if (bucket.n > 0 && !is_bucket_name(bucket))
    return "InvalidBucketName";
  free(r->bucket);
  r->bucket = fakes3_dup(bucket);
  fakes3_bytes_t decoded = {NULL, 0, 0};
  bool good = fakes3_put_decoded(&decoded, key) != 0;
  if (good) {
    free(r->key);
    r->key = fakes3_dup(fakes3_span(&decoded));
  }
  bool fits = decoded.n <= FAKES3_KEY_MAX;
  fakes3_bytes_free(&decoded);
  return !good ? "InvalidURI" : !fits ? "KeyTooLongError" : NULL;
}

const char* fakes3_request_route(fakes3_request_t* r) {
  s3l_span_t query = fakes3_span(&r->target);
  r->bucket = fakes3_dup(S3L_SPAN(""));
  r->key = fakes3_dup(S3L_SPAN(""));
  r->if_match = fakes3_header_value(r, "if-match");
  r->if_none_match = fakes3_header_value(r, "if-none-match");
  if (query.n == 0 || query.p[0] != '/')
    return "InvalidURI";
  r->path = fakes3_take(&query, '?');
  const char* error = parse_query(r, query);
  return error != NULL ? error : r->server->protocol->route(r);
}

void fakes3_request_normalise(fakes3_request_t* r) {
  char* to = r->key;
  for (const char* from = r->key; *from != '\0';) {
    size_t n = strcspn(from, "/");
    size_t with_slash = n + (from[n] == '/' ? 1 : 0);
    if (n > 0 && !(n == 1 && from[0] == '.')) {
      memmove(to, from, with_slash);
      to += with_slash;
    }
    from += with_slash;
  }
  *to = '\0';
}
