#include "store/remote.h"

#include <string.h>

#include "credentials/provider.h"
#include "loop/clock.h"
#include "s3lect/version.h"
#include "util/error.h"
#include "util/mem.h"
#include "util/mutant.h"
#include "util/skew.h"

#define ERROR_BODY_MAX 65536
#define LIST_BODY_MAX  (4u << 20) /* 1000 keys at their longest, escaped */

/* ---- Sending ---- */

/* The request as S3 would have it. */
static s3l_s3_request_t describe(const s3lect_store_req_t* req) {
  s3l_s3_request_t r = {.op = (s3l_s3_op_t)req->op, .key = s3l_span_cstr(req->key)};
  if (req->condition == S3LECT_IF_ABSENT && !S3L_MUTANT(CREATES_ANYWAY))
    r.if_none_match = S3L_SPAN("*");
  if (req->condition == S3LECT_IF_MATCH)
    r.if_match = s3l_span_cstr(req->etag);
  if (req->condition == S3LECT_IF_CHANGED)
    r.if_none_match = s3l_span_cstr(req->etag);
  if (req->op == S3LECT_OP_PUT)
    r.body = (s3l_span_t){req->body, req->body_len};
  if (req->op == S3LECT_OP_LIST) {
    r.after = s3l_span_cstr(req->after);
    r.max_keys = req->max_keys;
  }
  return r;
}

static ssize_t on_compose(s3l_http_req_t* http, char* buf, size_t cap) {
  s3l_remote_req_t* rr = S3L_CONTAINER_OF(http, s3l_remote_req_t, http);
  s3l_remote_t* m = http->data;
  size_t len;
  const s3lect_credentials_t* creds = s3l_creds_cache_get(m->creds.cache);
  if (creds == NULL)
    return S3LECT_ECREDENTIALS;
  const s3l_s3_keys_t keys = {s3l_span_cstr(creds->access_key_id),
                              s3l_span_cstr(creds->secret_access_key),
                              s3l_span_cstr(creds->session_token)};
  s3l_s3_request_t request = describe(rr->req);
  int64_t now_ms = s3l_clock_wall_ms();
  rr->clock_changes = m->clock_changes;
  if (!S3L_MUTANT(SKEW_STAYS))
    now_ms += m->clock_offset_ms;
  int err = m->dialect->write(m, rr, &keys, &request, now_ms, buf, cap, &len);
  if (err == S3LECT_ETOOBIG)
    return UV_ENOBUFS; /* the other code is about replies */
  return err != 0 ? err : (ssize_t)len;
}

bool s3l_remote_send(s3l_remote_t* m, s3l_remote_req_t* rr) {
  return s3l_http_client_submit(m->client, &rr->http) == 0;
}

bool s3l_remote_renew(s3l_remote_t* m, s3l_remote_req_t* rr, const s3lect_store_result_t* r) {
  if (rr->renewed || r->outcome != S3LECT_NOT_APPLIED)
    return false;
  rr->renewed = true;
  s3l_creds_cache_refused(m->creds.cache);
  return s3l_creds_cache_get(m->creds.cache) == NULL &&
         s3l_creds_wait(&m->creds, &rr->wait, rr->http.until_ns) == 0;
}

/* A request that has been waiting for credentials. */
static void on_waited(s3l_creds_wait_t* wait, int status, const char* message) {
  s3l_remote_req_t* rr = S3L_CONTAINER_OF(wait, s3l_remote_req_t, wait);
  s3l_remote_t* m = rr->http.data;
  s3lect_store_req_t* req = rr->req;
  if (status == 0)
    status = s3l_http_client_submit(m->client, &rr->http);
  if (status == 0)
    return;
  s3lect_store_result_t r = {.message = message};
  s3l_store_settle(&r, status);
  if (m->dialect->end != NULL)
    m->dialect->end(m, rr, &r);
  req->cb(req, &r);
}

/* ---- The clock ---- */

/* Whether the request can be sent again with another time: this reply has told that the clock is
 * wrong, or another one meanwhile. Each request is sent again for the clock once. */
static bool clock_is_corrected(s3l_remote_t* m, s3l_remote_req_t* rr,
                               const s3lect_store_result_t* r) {
  bool certain = m->recovery == S3L_RECOVER_CLOCK;
  int64_t least_ms = certain ? S3L_SKEW_MIN_MS : S3L_SKEW_PERHAPS_MS;
  if (r->outcome != S3LECT_NOT_APPLIED || (!certain && m->recovery != S3L_RECOVER_SKEW_PERHAPS) ||
      rr->clock_retried || r->store_time_ms == 0)
    return false;
  bool outdated = rr->clock_changes != m->clock_changes;
  if (s3l_skew_learn(&m->clock_offset_ms, r->store_time_ms, s3l_clock_wall_ms(), least_ms)) {
    m->clock_changes++;
    m->clock_notice = true;
  } else if (!outdated) {
    return false;
  }
  rr->clock_retried = true;
  return true;
}

static void tell_clock(const s3l_remote_t* m, s3l_buf_t* b) {
  int64_t s = m->clock_offset_ms / 1000;
  if (s == 0) {
    s3l_buf_puts(b, "this machine's clock is right again: requests are signed with its time");
    return;
  }
  s3l_buf_puts(b, "this machine's clock is ");
  s3l_buf_i64(b, s < 0 ? -s : s);
  s3l_buf_puts(b, s < 0 ? " s ahead of the store's" : " s behind the store's");
  s3l_buf_puts(b, ": requests are signed with the store's time; set the clock (NTP)");
}

/* ---- The end of a request ---- */

/* Puts one pending notice into a result that has no message of its own. */
static void tell(s3l_remote_t* m, s3lect_store_result_t* r) {
  s3l_buf_t b;
  if (r->message != NULL)
    return;
  s3l_buf_init(&b, m->scratch.message, sizeof(m->scratch.message));
  if (m->dialect->notice != NULL)
    r->notice = m->dialect->notice(m, &b);
  if (r->notice == 0 && m->clock_notice) {
    m->clock_notice = false;
    r->notice = S3LECT_ESKEW;
    tell_clock(m, &b);
  } else if (r->notice == 0 && (r->notes & S3LECT_NOTE_ETAG_WEAK) != 0 && !m->weak_told) {
    m->weak_told = true;
    r->notice = S3LECT_EETAG;
    s3l_buf_puts(&b, "ETags come weak (W/\"...\"), since a proxy on the way rewrites replies; they "
                     "are used as strong ones: switch its compression off, or go around it");
  }
  if (r->notice != 0)
    r->message = s3l_buf_cstr(&b);
}

/* Sends the request again if the reason of its refusal could be removed, or for a listing's next
 * page. */
static bool send_again(s3l_remote_t* m, s3l_remote_req_t* rr, const s3l_http_reply_t* reply,
                       s3lect_store_result_t* r) {
  bool more = r->status == S3L_REMOTE_MORE;
  if (more)
    r->status = m->closing ? UV_ECANCELED : UV_ETIMEDOUT; /* unless it is sent */
  if (m->closing || s3l_clock_lease_ns() >= rr->http.until_ns)
    return false;
  if (more)
    return s3l_remote_send(m, rr);
  if (r->http_status < 300)
    return false;
  if (m->dialect->again != NULL ? m->dialect->again(m, rr, reply, r)
                                : m->recovery == S3L_RECOVER_KEYS && s3l_remote_renew(m, rr, r))
    return true;
  return clock_is_corrected(m, rr, r) && s3l_remote_send(m, rr);
}

static const char* why_none(const s3l_remote_t* m) {
  const char* why = s3l_creds_cache_why(m->creds.cache);
  if (s3l_creds_cache_get(m->creds.cache) != NULL)
    return m->dialect->unusable_keys;
  return why[0] != '\0' ? why : "the credentials have ended";
}

static void on_done(s3l_http_req_t* http, const s3l_http_reply_t* reply) {
  s3l_remote_req_t* rr = S3L_CONTAINER_OF(http, s3l_remote_req_t, http);
  s3l_remote_t* m = http->data;
  s3lect_store_req_t* req = rr->req;
  s3lect_store_result_t r = s3l_remote_result(m, rr, reply);
  if (send_again(m, rr, reply, &r))
    return;
  if (m->dialect->end != NULL)
    m->dialect->end(m, rr, &r);
  if (r.status == 0 && r.message == NULL && reply->crowded) {
    r.notice = S3LECT_ECROWDED; /* now, since the others stay pending */
    r.message = reply->message;
  }
  if ((r.status == 0 || r.status == S3LECT_ENOTMODIFIED) &&
      (req->flags & S3LECT_REQ_NO_NOTICES) == 0)
    tell(m, &r);
  r.connections = reply->connections;
  r.waited_ns = reply->waited_ns;
  if (r.status == S3LECT_ESIGNATURE) /* or the token has expired */
    s3l_creds_cache_refused(m->creds.cache);
  if (r.status == S3LECT_ECREDENTIALS) /* they expired in the queue, or cannot be used */
    r.message = why_none(m);
  req->cb(req, &r);
  /* The store still exists, even if the callback has closed it. */
  s3l_remote_scratch_trim(&m->scratch);
}

/* ---- The store's functions ---- */

static uint32_t reply_max(const s3lect_store_req_t* req) {
  uint32_t object = s3l_store_body_max(req);
  if (req->op == S3LECT_OP_LIST)
    return LIST_BODY_MAX;
  return req->op == S3LECT_OP_GET && object > ERROR_BODY_MAX ? object : ERROR_BODY_MAX;
}

int s3l_remote_submit(s3lect_store_t* store, s3lect_store_req_t* req) {
  s3l_remote_t* m = store->internal;
  s3l_remote_req_t* rr = S3L_STORE_REQ_STATE(req, s3l_remote_req_t);
  if (m->closing)
    return UV_ECANCELED;
  memset(rr, 0, sizeof(req->internal));
  rr->req = req;
  rr->http.until_ns = s3l_clock_in_ms(req->timeout_ms);
  rr->http.data = m;
  rr->http.compose = on_compose;
  rr->http.done = on_done;
  rr->http.due_ns = req->due_ns;
  rr->http.body_max = reply_max(req);
  rr->http.together = (req->flags & S3LECT_REQ_TOGETHER) != 0;
  rr->http.replayable =
      req->op == S3LECT_OP_GET || req->op == S3LECT_OP_LIST || S3L_MUTANT(WRITE_REPLAYED);
  return s3l_creds_cache_get(m->creds.cache) != NULL
             ? s3l_http_client_submit(m->client, &rr->http)
             : s3l_creds_wait(&m->creds, &rr->wait, rr->http.until_ns);
}

void s3l_remote_cancel(s3lect_store_t* store, s3lect_store_req_t* req) {
  s3l_remote_req_t* rr = S3L_STORE_REQ_STATE(req, s3l_remote_req_t);
  (void)store;
  s3l_creds_wait_cancel(&rr->wait); /* no-op, as the next, where the request is not there */
  s3l_http_client_cancel(&rr->http);
}

static void release(s3l_remote_t* m) {
  s3l_proxy_rules_free(&m->proxies);
  s3l_wipe(m->proxy_authorization, sizeof(m->proxy_authorization));
  s3l_remote_scratch_free(&m->scratch);
  m->dialect->release(m);
  s3l_free(m);
}

static void on_creds_closed(void* arg) {
  s3l_remote_t* m = arg;
  s3lect_store_t* store = m->store;
  s3lect_store_close_cb cb = m->close_cb;
  release(m);
  store->internal = NULL;
  if (cb != NULL)
    cb(store);
}

static void on_client_closed(void* arg) {
  s3l_remote_t* m = arg;
  s3l_creds_wait_cancel_all(&m->creds);
  if (m->creds_borrowed)
    on_creds_closed(m);
  else
    s3l_creds_cache_close(m->creds.cache, on_creds_closed, m);
}

void s3l_remote_close(s3lect_store_t* store, s3lect_store_close_cb cb) {
  s3l_remote_t* m = store->internal;
  m->closing = true;
  m->close_cb = cb;
  s3l_http_client_close(m->client, on_client_closed, m);
}

/* ---- Opening ---- */

/* Requests to a plain endpoint behind a proxy name the whole URL and authorize to the proxy. */
static void set_target(s3l_remote_t* m, const s3l_remote_config_t* c) {
  s3l_buf_t b;
  s3l_buf_init(&b, m->origin, sizeof(m->origin));
  s3l_buf_puts(&b, "http://");
  size_t scheme = b.len;
  s3l_buf_puts(&b, c->host_header);
  m->target.host = (s3l_span_t){m->origin + scheme, b.len - scheme};
  if (c->bucket != NULL)
    (void)s3l_span_copy(s3l_span_cstr(c->bucket), m->bucket, sizeof(m->bucket)); /* fits */
  m->target.bucket = s3l_span_cstr(m->bucket);
  m->target.user_agent = S3L_SPAN("s3lect/" S3LECT_VERSION_STRING);
  if (!c->proxy.used || c->http.tls)
    return;
  m->target.origin = s3l_buf_span(&b);
  memcpy(m->proxy_authorization, c->proxy.authorization, sizeof(m->proxy_authorization));
  m->target.proxy_authorization = s3l_span_cstr(m->proxy_authorization);
}

static int open_creds(uv_loop_t* loop, s3l_remote_t* m, const s3l_remote_config_t* c) {
  s3l_creds_cache_t** cache = &m->creds.cache;
  m->creds.waited = on_waited;
  if (c->access_key != NULL || c->token != NULL)
    return s3l_creds_cache_fixed(loop, c->access_key, c->secret, c->token, cache, c->http.error);
  if (c->credentials == NULL)
    return s3l_chain_cache(loop, m->dialect->chain, &c->chain, cache, c->http.error);
  *cache = s3l_creds_provider_cache(c->credentials);
  m->creds_borrowed = *cache != NULL;
  return m->creds_borrowed
             ? 0
             : s3l_creds_cache_open(c->credentials, false, &s3l_creds_cache_defaults, cache);
}

static int open_parts(uv_loop_t* loop, s3l_remote_t* m, const s3l_remote_config_t* c) {
  set_target(m, c);
  int err = s3l_proxy_rules_copy(&c->proxies, &m->proxies);
  if (err == 0)
    err = open_creds(loop, m, c);
  if (err == 0)
    err = m->dialect->open(loop, m, c);
  return err != 0 ? err : s3l_http_client_create(loop, &c->http, &m->client);
}

int s3l_remote_open(uv_loop_t* loop, s3lect_store_t* store, const s3l_remote_dialect_t* dialect,
                    const s3lect_store_ops_t* ops, const s3l_remote_config_t* config) {
  s3l_remote_t* m = s3l_calloc(1, dialect->size);
  if (m == NULL)
    return UV_ENOMEM;
  m->dialect = dialect;
  int err = open_parts(loop, m, config);
  if (err != 0) {
    if (m->creds.cache != NULL && !m->creds_borrowed)
      s3l_creds_cache_close(m->creds.cache, NULL, NULL);
    release(m);
    return err;
  }
  m->store = store;
  store->loop = loop;
  store->ops = ops;
  store->internal = m;
  return 0;
}
