/* store/s3/store.c: the S3 REST protocol over HTTP/1.1 with SigV4, as a store.
 *
 * A request that finds no credentials at hand waits for them in their cache. From there on it
 * lives in the caller's struct: the HTTP request within its scratch space is composed and
 * signed when a connection is free, so that queued requests hold no memory and carry the time at
 * which they are sent. A put is handed to the HTTP client once, and is not replayable.
 *
 * There are two dialects of If-Match: most stores take an ETag as they gave it, in quotes; some
 * take it only bare, and answer 412 otherwise. The store assumes the first dialect, tries the other
 * one when the caller says that a refusal is disputed, and keeps the dialect of the first
 * conditional put that succeeds. */
#include <string.h>

#include "credentials/aws.h"
#include "credentials/provider.h"
#include "credentials/session.h"
#include "loop/clock.h"
#include "s3lect/version.h"
#include "store/s3/options.h"
#include "store/s3/recovery.h"
#include "store/s3/result.h"
#include "store/store.h"
#include "util/error.h"
#include "util/mem.h"
#include "util/mutant.h"
#include "wire/s3_request.h"

#define ERROR_BODY_MAX 65536
#define LIST_BODY_MAX  (4u << 20) /* 1000 keys at their longest, escaped */

typedef struct s3_s {
  s3lect_store_t* store;
  s3l_http_client_t* client;
  s3l_creds_user_t creds;
  bool creds_borrowed; /* from a provider of the caller's, which closes it */
  s3l_signer_t signer;
  s3l_s3_target_t target; /* see target_of */
  uint32_t dialect;       /* S3LECT_NOTE_ETAG_QUOTED or _BARE, or 0: not proven */
  bool closing;
  s3lect_store_close_cb close_cb;
  s3l_s3_headers_t* headers;
  s3l_recovery_t recovery;
  s3l_proxy_rules_t proxies;
  char origin[S3L_S3_HOST_MAX + 16]; /* "http://HOST", for a plain endpoint behind a proxy */
  char proxy_authorization[S3L_PROXY_AUTHORIZATION_MAX];
  s3l_s3_scratch_t scratch;
} s3_t;

typedef struct state_s {
  s3l_http_req_t http;
  s3l_creds_wait_t wait; /* for credentials */
  s3l_recovery_req_t recovery;
  s3lect_store_req_t* req;
  uint32_t dialect; /* in which If-Match was sent, as in the store; 0: no quoted ETag was */
  bool renewed;     /* it has been refused with a session, and waited for another one */
} state_t;

S3L_STORE_REQ_STATE_FITS(state_t);

/* ---- ETag dialect ---- */

static bool is_quoted(s3l_span_t etag) {
  return etag.n >= 2 && etag.p[0] == '"' && etag.p[etag.n - 1] == '"';
}

/* The ETag as this store wants it in If-Match. Notes in the state how it is sent. */
static s3l_span_t in_dialect(const s3_t* s3, state_t* s) {
  s3l_span_t etag = s3l_span_cstr(s->req->etag);
  if (!is_quoted(etag))
    return etag;
  bool disputed = (s->req->flags & S3LECT_REQ_ETAG_DISPUTED) != 0 && !S3L_MUTANT(DISPUTE_IGNORED);
  s->dialect = s3->dialect != 0 ? s3->dialect
               : disputed       ? S3LECT_NOTE_ETAG_BARE
                                : S3LECT_NOTE_ETAG_QUOTED;
  return s->dialect == S3LECT_NOTE_ETAG_BARE ? (s3l_span_t){etag.p + 1, etag.n - 2} : etag;
}

/* ---- One request ---- */

static s3l_s3_op_t op_of(const s3lect_store_req_t* req) {
  static const s3l_s3_op_t ops[] = {[S3LECT_OP_GET] = S3L_S3_GET,
                                    [S3LECT_OP_PUT] = S3L_S3_PUT,
                                    [S3LECT_OP_DEL] = S3L_S3_DELETE,
                                    [S3LECT_OP_LIST] = S3L_S3_LIST};
  return ops[req->op];
}

static s3l_s3_request_t describe_request(const s3_t* s3, state_t* s) {
  const s3lect_store_req_t* req = s->req;
  s3l_s3_request_t r = {.op = op_of(req), .key = s3l_span_cstr(req->key)};
  switch (req->condition) {
  case S3LECT_IF_ABSENT:
    if (!S3L_MUTANT(CREATES_ANYWAY))
      r.if_none_match = S3L_SPAN("*");
    break;
  case S3LECT_IF_MATCH:
    r.if_match = in_dialect(s3, s);
    break;
  case S3LECT_IF_CHANGED:
    r.if_none_match = s3l_span_cstr(req->etag);
    break;
  default:
    break;
  }
  if (r.op == S3L_S3_PUT)
    r.body = (s3l_span_t){req->body, req->body_len};
  if (r.op == S3L_S3_LIST) {
    r.after = s3l_span_cstr(req->after);
    r.max_keys = req->max_keys;
    r.versions = (req->flags & S3LECT_REQ_VERSIONS) != 0;
  }
  if ((req->flags & S3LECT_REQ_VERSIONS) != 0)
    r.version = s3l_span_cstr(req->etag);
  return r;
}

/* Points the target to the endpoint of now. */
static const s3l_s3_target_t* target_of(s3_t* s3) {
  const s3l_s3_endpoint_t* e = &s3->recovery.endpoint;
  s3->target.host = s3l_span_cstr(e->host_header);
  s3->target.bucket = e->path_style ? s3l_span_cstr(e->bucket) : S3L_SPAN("");
  s3->target.region = s3l_span_cstr(e->region);
  return &s3->target;
}

static ssize_t on_compose(s3l_http_req_t* http, char* buf, size_t cap) {
  state_t* s = S3L_CONTAINER_OF(http, state_t, http);
  s3_t* s3 = http->data;
  size_t len;
  const s3lect_credentials_t* creds = s3l_creds_cache_get(s3->creds.cache);
  if (creds == NULL || !s3l_creds_can_sign(creds))
    return S3LECT_ECREDENTIALS;
  const s3l_s3_keys_t keys = {s3l_span_cstr(creds->access_key_id),
                              s3l_span_cstr(creds->secret_access_key),
                              s3l_span_cstr(creds->session_token)};
  const s3l_s3_request_t request = describe_request(s3, s);
  s3l_recovery_sign(&s3->recovery, &s->recovery);
  int64_t store_ms = s3l_clock_wall_ms();
  if (!S3L_MUTANT(SKEW_STAYS))
    store_ms += s3->recovery.clock_offset_ms;
  int err =
      s3l_s3_request_write(&s3->signer, target_of(s3), &keys, &request, store_ms, buf, cap, &len);
  if (err == S3LECT_ETOOBIG)
    return UV_ENOBUFS; /* the other code is about replies */
  return err != 0 ? err : (ssize_t)len;
}

/* Sends later requests to another host, which may be behind another proxy, or behind none. */
static bool set_origin(s3_t* s3, const s3l_s3_endpoint_t* e, s3lect_store_result_t* r) {
  const char *name, *reason;
  s3l_proxy_t proxy;
  if (!s3l_proxy_choose(&s3->proxies, e->tls, s3l_span_cstr(e->host), e->port, &proxy, &name,
                        &reason)) {
    s3l_s3_amend(r, &s3->scratch, name, reason);
    return false;
  }
  bool can = !proxy.used || e->tls || s3->target.origin.n > 0; /* else requests name no URL */
  if (can)
    (void)s3l_http_client_set_origin(s3->client, e->host, e->port, &proxy); /* a host that fits */
  s3l_wipe(&proxy, sizeof(proxy));
  return can;
}

/* A custom endpoint keeps its host. */
static bool change_region(s3_t* s3, s3lect_store_result_t* r) {
  if (s3->recovery.next.aws && !set_origin(s3, &s3->recovery.next, r))
    return false;
  s3l_recovery_change_region(&s3->recovery);
  return true;
}

/* Requests through a plain proxy name the endpoint in their first line, and are not redirected. */
static bool follow_redirect(s3_t* s3, state_t* s, const s3l_http_reply_t* reply,
                            s3lect_store_result_t* r) {
  s3l_s3_endpoint_t to;
  s3l_span_t key = s->req->op == S3LECT_OP_LIST ? S3L_SPAN("") : s3l_span_cstr(s->req->key);
  if (s->recovery.redirected || s3->target.origin.n > 0 ||
      !s3l_s3_redirect(s3l_recovery_own(&s3->recovery), s3l_http_reply_header(reply, "location"),
                       key, &to))
    return false;
  if (s3->recovery.redirected == 0 && !set_origin(s3, &to, r))
    return false;
  s3l_recovery_redirect(&s3->recovery, &s->recovery, &to);
  return true;
}

static void end_redirect(s3_t* s3, state_t* s, s3lect_store_result_t* r) {
  if (s3l_recovery_redirect_end(&s3->recovery, &s->recovery) && !s3->closing)
    (void)set_origin(s3, &s3->recovery.endpoint, r); /* it was possible before */
}

/* A directory bucket that refuses a session may have ended it: the request is sent again once, with
 * the keys of another one. */
static bool renew_session(s3_t* s3, state_t* s, const s3lect_store_result_t* r) {
  if (!s3->target.express || s->renewed || r->outcome != S3LECT_NOT_APPLIED ||
      s3->scratch.recovery != S3L_S3_RECOVER_KEYS)
    return false;
  s->renewed = true;
  s3l_creds_cache_refused(s3->creds.cache);
  return s3l_creds_cache_get(s3->creds.cache) == NULL &&
         s3l_creds_wait(&s3->creds, &s->wait, s->http.until_ns) == 0;
}

/* Sends the request again if the reason of its refusal could be removed. */
static bool send_again(s3_t* s3, state_t* s, const s3l_http_reply_t* reply,
                       s3lect_store_result_t* r) {
  if (s3->closing || r->http_status < 300 || s3l_clock_lease_ns() >= s->http.until_ns)
    return false;
  if (renew_session(s3, s, r))
    return true;
  s3l_recovery_answer_t answer =
      s3l_recovery_refused(&s3->recovery, &s->recovery, r, &s3->scratch, s3l_clock_wall_ms());
  if (s3->scratch.recovery == S3L_S3_RECOVER_REDIRECT && follow_redirect(s3, s, reply, r))
    answer = S3L_RECOVERY_AGAIN;
  if (answer == S3L_RECOVERY_NO || (answer == S3L_RECOVERY_REGION && !change_region(s3, r)))
    return false;
  return s3l_http_client_submit(s3->client, &s->http) == 0;
}

static const char* why_none(const s3_t* s3) {
  const char* why = s3l_creds_cache_why(s3->creds.cache);
  if (s3l_creds_cache_get(s3->creds.cache) != NULL)
    return S3L_CREDS_CANNOT_SIGN;
  return why[0] != '\0' ? why : "the credentials have ended";
}

static void on_done(s3l_http_req_t* http, const s3l_http_reply_t* reply) {
  state_t* s = S3L_CONTAINER_OF(http, state_t, http);
  s3_t* s3 = http->data;
  s3lect_store_req_t* req = s->req;
  s3l_span_t region = s3l_recovery_region(&s3->recovery, &s->recovery);
  s3lect_store_result_t r = s3l_s3_result(req, op_of(req), reply, region, &s3->scratch);
  if (send_again(s3, s, reply, &r))
    return;
  end_redirect(s3, s, &r);
  if (s3->target.express && r.status == S3LECT_EDENIED)
    s3l_s3_amend(&r, &s3->scratch, "of a directory bucket, allow s3express:CreateSession,",
                 "with the session mode ReadWrite for all but observers");
  r.notes |= s->dialect;
  if (req->op == S3LECT_OP_PUT && r.status == 0 && s3->dialect == 0)
    s3->dialect = s->dialect; /* only a put proves it: some stores ignore If-Match on a delete */
  if (r.status == 0 && r.message == NULL && reply->crowded) {
    r.notice = S3LECT_ECROWDED; /* now, since the others stay pending */
    r.message = reply->message;
  }
  if ((r.status == 0 || r.status == S3LECT_ENOTMODIFIED) &&
      (req->flags & S3LECT_REQ_NO_NOTICES) == 0)
    s3l_recovery_tell(&s3->recovery, &r, &s3->scratch);
  r.connections = reply->connections;
  r.waited_ns = reply->waited_ns;
  if (r.status == S3LECT_ESIGNATURE) /* or the token has expired */
    s3l_creds_cache_refused(s3->creds.cache);
  if (r.status ==
      S3LECT_ECREDENTIALS) /* they expired while the request was queued, or cannot sign */
    r.message = why_none(s3);
  req->cb(req, &r);
  /* The store still exists, even if the callback has closed it. */
  s3l_s3_scratch_trim(&s3->scratch);
}

/* A request that has been waiting for credentials. */
static void on_waited(s3l_creds_wait_t* wait, int status, const char* message) {
  state_t* s = S3L_CONTAINER_OF(wait, state_t, wait);
  s3_t* s3 = s->http.data;
  s3lect_store_req_t* req = s->req;
  if (status == 0)
    status = s3l_http_client_submit(s3->client, &s->http);
  if (status == 0)
    return;
  s3lect_store_result_t r = {.message = message};
  s3l_store_settle(&r, status);
  req->cb(req, &r);
}

static uint32_t reply_max(const s3lect_store_req_t* req) {
  uint32_t object = s3l_store_body_max(req);
  if (req->op == S3LECT_OP_LIST)
    return LIST_BODY_MAX;
  return req->op == S3LECT_OP_GET && object > ERROR_BODY_MAX ? object : ERROR_BODY_MAX;
}

static int submit(s3lect_store_t* store, s3lect_store_req_t* req) {
  s3_t* s3 = store->internal;
  state_t* s = S3L_STORE_REQ_STATE(req, state_t);
  if (s3->closing)
    return UV_ECANCELED;
  memset(s, 0, sizeof(*s));
  s->req = req;
  s->http.until_ns = s3l_clock_in_ms(req->timeout_ms);
  s->http.data = s3;
  s->http.compose = on_compose;
  s->http.done = on_done;
  s->http.due_ns = req->due_ns;
  s->http.body_max = reply_max(req);
  s->http.together = (req->flags & S3LECT_REQ_TOGETHER) != 0;
  s->http.replayable =
      req->op == S3LECT_OP_GET || req->op == S3LECT_OP_LIST || S3L_MUTANT(WRITE_REPLAYED);
  return s3l_creds_cache_get(s3->creds.cache) != NULL
             ? s3l_http_client_submit(s3->client, &s->http)
             : s3l_creds_wait(&s3->creds, &s->wait, s->http.until_ns);
}

/* ---- The store's vtable ---- */

static void s3_cancel(s3lect_store_t* store, s3lect_store_req_t* req) {
  state_t* s = S3L_STORE_REQ_STATE(req, state_t);
  (void)store;
  s3l_creds_wait_cancel(&s->wait); /* no-op, as the next, where the request is not there */
  s3l_http_client_cancel(&s->http);
}

static void release(s3_t* s3) {
  s3l_proxy_rules_free(&s3->proxies);
  s3l_signer_close(&s3->signer);
  s3l_wipe(s3->proxy_authorization, sizeof(s3->proxy_authorization));
  s3l_free(s3->headers);
  s3l_s3_scratch_free(&s3->scratch);
  s3l_free(s3);
}

static void on_creds_closed(void* arg) {
  s3_t* s3 = arg;
  s3lect_store_t* store = s3->store;
  s3lect_store_close_cb cb = s3->close_cb;
  release(s3);
  store->internal = NULL;
  if (cb != NULL)
    cb(store);
}

static void on_client_closed(void* arg) {
  s3_t* s3 = arg;
  s3l_creds_wait_cancel_all(&s3->creds);
  if (s3->creds_borrowed)
    on_creds_closed(s3);
  else
    s3l_creds_cache_close(s3->creds.cache, on_creds_closed, s3);
}

static void s3_close(s3lect_store_t* store, s3lect_store_close_cb cb) {
  s3_t* s3 = store->internal;
  s3->closing = true;
  s3->close_cb = cb;
  s3l_http_client_close(s3->client, on_client_closed, s3);
}

/* Whose listings are in no order, and begin after no key: no protocol can use them. */
static const s3lect_store_ops_t express_ops = {
    .version = S3LECT_STORE_VERSION,
    .flags = S3LECT_STORE_OWN_CLOCK,
    .get = submit,
    .put = submit,
    .del = submit,
    .cancel = s3_cancel,
    .close = s3_close,
};

static const s3lect_store_ops_t s3_ops = {
    .version = S3LECT_STORE_VERSION,
    .flags = S3LECT_STORE_OWN_CLOCK | S3LECT_STORE_VERSIONS,
    .get = submit,
    .put = submit,
    .del = submit,
    .list = submit,
    .cancel = s3_cancel,
    .close = s3_close,
};

/* ---- Opening ---- */

/* Opens no libuv handle before the first request. */
static int open_creds(uv_loop_t* loop, s3_t* s3, const s3l_s3_config_t* c) {
  s3->creds.waited = on_waited;
  if (c->access_key != NULL)
    return s3l_creds_cache_fixed(loop, c->access_key, c->secret, c->token, &s3->creds.cache,
                                 c->http.error);
  if (c->credentials == NULL) {
    s3lect_credentials_chain_options_t chain;
    s3lect_credentials_chain_options_init(&chain, sizeof(chain));
    chain.profile = c->profile;
    chain.region = c->chain_region;
    chain.proxy = c->proxies.option;
    return s3l_creds_aws(loop, &chain, &s3->creds.cache, c->http.error);
  }
  s3->creds.cache = s3l_creds_provider_cache(c->credentials);
  s3->creds_borrowed = s3->creds.cache != NULL;
  return s3->creds_borrowed ? 0
                            : s3l_creds_cache_open(c->credentials, false, &s3l_creds_cache_defaults,
                                                   &s3->creds.cache);
}

/* Puts the sessions of a directory bucket around the credentials, which they sign with. */
static int open_session(uv_loop_t* loop, s3_t* s3, const s3l_s3_config_t* c) {
  char origin[S3L_S3_HOST_MAX + 24];
  s3lect_credentials_chain_options_t settings;
  s3l_buf_t b;
  s3l_session_options_t session = {.origin = origin,
                                   .bucket = c->endpoint.path_style ? c->endpoint.bucket : "",
                                   .region = c->endpoint.region,
                                   .keys = s3->creds.cache,
                                   .keys_borrowed = s3->creds_borrowed};
  s3l_buf_init(&b, origin, sizeof(origin));
  s3l_buf_puts(&b, c->endpoint.tls ? "https://" : "http://");
  s3l_buf_puts(&b, c->endpoint.host_header);
  (void)s3l_buf_cstr(&b); /* fits */
  s3lect_credentials_chain_options_init(&settings, sizeof(settings));
  settings.ca_file = c->http.ca_file;
  settings.proxy = c->proxies.option;
  s3->creds.cache = NULL; /* the session's, on failure too */
  s3->creds_borrowed = false;
  return s3l_creds_session(loop, &settings, &session, &s3->creds.cache, c->http.error);
}

/* Requests to a plain endpoint behind a proxy name the whole URL and authorize to the proxy. */
static void set_plain_proxy(s3_t* s3, const s3l_s3_config_t* c) {
  if (!c->proxy.used || c->endpoint.tls)
    return;
  s3l_buf_t b;
  s3l_buf_init(&b, s3->origin, sizeof(s3->origin));
  s3l_buf_puts(&b, "http://");
  s3l_buf_puts(&b, c->endpoint.host_header);
  s3->target.origin = s3l_buf_span(&b);
  memcpy(s3->proxy_authorization, c->proxy.authorization, sizeof(s3->proxy_authorization));
  s3->target.proxy_authorization = s3l_span_cstr(s3->proxy_authorization);
}

/* The headers that the operator demands. */
static int keep_headers(s3_t* s3, const s3l_s3_config_t* c) {
  s3->headers = s3l_s3_headers_copy(&c->headers);
  if (s3->headers == NULL)
    return UV_ENOMEM;
  s3->target.owner = s3->headers->owner;
  s3->target.headers = s3->headers->pairs;
  s3->target.headers_len = s3->headers->len;
  s3->target.checksum = s3->headers->checksum;
  return 0;
}

static int open_parts(uv_loop_t* loop, s3_t* s3, const s3l_s3_config_t* c) {
  s3->recovery.endpoint = c->endpoint;
  s3->target.express = c->endpoint.express;
  s3->target.user_agent = S3L_SPAN("s3lect/" S3LECT_VERSION_STRING);
  set_plain_proxy(s3, c);
  int err = s3l_signer_open(&s3->signer) ? 0 : UV_ENOMEM;
  if (err == 0)
    err = keep_headers(s3, c);
  if (err == 0)
    err = s3l_proxy_rules_copy(&c->proxies, &s3->proxies);
  if (err == 0)
    err = open_creds(loop, s3, c);
  if (err == 0 && c->endpoint.express)
    err = open_session(loop, s3, c);
  if (err == 0)
    err = s3l_http_client_create(loop, &c->http, &s3->client);
  return err;
}

static int open_store(uv_loop_t* loop, s3lect_store_t* store, const s3l_s3_config_t* c) {
  s3_t* s3 = s3l_calloc(1, sizeof(*s3));
  if (s3 == NULL)
    return UV_ENOMEM;
  s3->store = store;
  int err = open_parts(loop, s3, c);
  if (err != 0) {
    if (s3->creds.cache != NULL && !s3->creds_borrowed)
      s3l_creds_cache_close(s3->creds.cache, NULL, NULL);
    release(s3);
    return err;
  }
  store->loop = loop;
  store->ops = c->endpoint.express ? &express_ops : &s3_ops;
  store->internal = s3;
  return 0;
}

int s3lect_store_s3_init(uv_loop_t* loop, s3lect_store_t* store,
                         const s3lect_store_s3_options_t* options, s3lect_error_t* error) {
  s3l_s3_config_t config;
  s3l_error_clear(error);
  int err = s3l_s3_configure(options, &config, error);
  if (err == 0)
    err = open_store(loop, store, &config);
  s3l_wipe(&config.proxy, sizeof(config.proxy));
  return s3l_error_end(error, err);
}
