/* store/s3/store.c: the S3 REST protocol over HTTP/1.1 with SigV4, as a store.
 *
 * There are two dialects of If-Match: most stores take an ETag as they gave it, in quotes; some
 * take it only bare, and answer 412 otherwise. The store assumes the first dialect, tries the other
 * one when the caller says that a refusal is disputed, and keeps the dialect of the first
 * conditional put that succeeds. */
#include <string.h>

#include "credentials/aws.h"
#include "credentials/session.h"
#include "store/s3/options.h"
#include "store/s3/recovery.h"
#include "store/s3/result.h"
#include "util/error.h"
#include "util/mem.h"
#include "util/mutant.h"
#include "wire/s3_request.h"

typedef struct s3_s {
  s3l_remote_t remote;
  s3l_signer_t signer;
  uint32_t dialect; /* S3LECT_NOTE_ETAG_QUOTED or _BARE, or 0: not proven */
  s3l_s3_headers_t* headers;
  s3l_recovery_t recovery;
} s3_t;

typedef struct state_s {
  s3l_remote_req_t rr;
  s3l_recovery_req_t recovery;
  uint32_t dialect; /* in which If-Match was sent, as in the store; 0: no quoted ETag was */
} state_t;

S3L_STORE_REQ_STATE_FITS(state_t);

static s3_t* s3_of(s3l_remote_t* remote) {
  return S3L_CONTAINER_OF(remote, s3_t, remote);
}

static state_t* state_of(s3l_remote_req_t* rr) {
  return S3L_CONTAINER_OF(rr, state_t, rr);
}

/* ---- ETag dialect ---- */

static bool is_quoted(s3l_span_t etag) {
  return etag.n >= 2 && etag.p[0] == '"' && etag.p[etag.n - 1] == '"';
}

/* The ETag as this store wants it in If-Match. Notes in the state how it is sent. */
static s3l_span_t in_dialect(const s3_t* s3, state_t* s, s3l_span_t etag) {
  if (!is_quoted(etag))
    return etag;
  bool disputed =
      (s->rr.req->flags & S3LECT_REQ_ETAG_DISPUTED) != 0 && !S3L_MUTANT(DISPUTE_IGNORED);
  s->dialect = s3->dialect != 0 ? s3->dialect
               : disputed       ? S3LECT_NOTE_ETAG_BARE
                                : S3LECT_NOTE_ETAG_QUOTED;
  return s->dialect == S3LECT_NOTE_ETAG_BARE ? (s3l_span_t){etag.p + 1, etag.n - 2} : etag;
}

/* ---- One request ---- */

static void add_details(const s3_t* s3, state_t* s, s3l_s3_request_t* r) {
  bool versions = (s->rr.req->flags & S3LECT_REQ_VERSIONS) != 0;
  if (r->if_match.p != NULL)
    r->if_match = in_dialect(s3, s, r->if_match);
  r->versions = versions && r->op == S3L_S3_LIST;
  if (versions)
    r->version = s3l_span_cstr(s->rr.req->etag);
}

/* Points the target to the endpoint of now. */
static void set_target(s3_t* s3) {
  const s3l_s3_endpoint_t* e = &s3->recovery.endpoint;
  s3l_s3_target_t* target = &s3->remote.target;
  target->host = s3l_span_cstr(e->host_header);
  target->bucket = e->path_style ? s3l_span_cstr(e->bucket) : S3L_SPAN("");
  target->region = s3l_span_cstr(e->region);
}

static int s3_write(s3l_remote_t* remote, s3l_remote_req_t* rr, const s3l_s3_keys_t* keys,
                    s3l_s3_request_t* request, int64_t now_ms, char* buf, size_t cap, size_t* len) {
  s3_t* s3 = s3_of(remote);
  state_t* s = state_of(rr);
  if (keys->access_key.n == 0)
    return S3LECT_ECREDENTIALS;
  add_details(s3, s, request);
  set_target(s3);
  s3l_recovery_sign(&s3->recovery, &s->recovery);
  return s3l_s3_request_write(&s3->signer, &remote->target, keys, request, now_ms, buf, cap, len);
}

static void s3_read(s3l_remote_t* remote, s3l_remote_req_t* rr, const s3l_http_reply_t* reply,
                    s3lect_store_result_t* r) {
  s3_t* s3 = s3_of(remote);
  s3l_span_t region = s3l_recovery_region(&s3->recovery, &state_of(rr)->recovery);
  s3l_s3_read(remote, rr, reply, region, s3->recovery.named, r);
}

/* Sends later requests to another host, which may be behind another proxy, or behind none. */
static bool set_origin(s3_t* s3, const s3l_s3_endpoint_t* e, s3lect_store_result_t* r) {
  const char *name, *reason;
  s3l_proxy_t proxy;
  if (!s3l_proxy_choose(&s3->remote.proxies, e->tls, s3l_span_cstr(e->host), e->port, &proxy, &name,
                        &reason)) {
    s3l_remote_amend(r, &s3->remote, name, reason);
    return false;
  }
  bool can =
      !proxy.used || e->tls || s3->remote.target.origin.n > 0; /* else requests name no URL */
  if (can)
    (void)s3l_http_client_set_origin(s3->remote.client, e->host, e->port,
                                     &proxy); /* a host that fits */
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
  s3l_span_t key = s->rr.req->op == S3LECT_OP_LIST ? S3L_SPAN("") : s3l_span_cstr(s->rr.req->key);
  if (s->recovery.redirected || s3->remote.target.origin.n > 0 ||
      !s3l_s3_redirect(s3l_recovery_own(&s3->recovery), s3l_http_reply_header(reply, "location"),
                       key, &to))
    return false;
  if (s3->recovery.redirected == 0 && !set_origin(s3, &to, r))
    return false;
  s3l_recovery_redirect(&s3->recovery, &s->recovery, &to);
  return true;
}

static void end_redirect(s3_t* s3, state_t* s, s3lect_store_result_t* r) {
  if (s3l_recovery_redirect_end(&s3->recovery, &s->recovery) && !s3->remote.closing)
    (void)set_origin(s3, &s3->recovery.endpoint, r); /* it was possible before */
}

static bool retry_region(s3_t* s3, state_t* s, s3lect_store_result_t* r) {
  if (r->outcome != S3LECT_NOT_APPLIED)
    return false;
  s3l_recovery_answer_t answer = s3l_recovery_refused(&s3->recovery, &s->recovery, &s3->remote, r);
  return answer == S3L_RECOVERY_AGAIN || (answer == S3L_RECOVERY_REGION && change_region(s3, r));
}

static bool s3_again(s3l_remote_t* remote, s3l_remote_req_t* rr, const s3l_http_reply_t* reply,
                     s3lect_store_result_t* r) {
  s3_t* s3 = s3_of(remote);
  state_t* s = state_of(rr);
  switch (remote->recovery) {
  case S3L_RECOVER_KEYS:
    return remote->target.express &&
           s3l_remote_renew(remote, rr, r); /* it may have ended a session */
  case S3L_RECOVER_REGION:
    return retry_region(s3, s, r) && s3l_remote_send(remote, rr);
  case S3L_RECOVER_REDIRECT:
    return follow_redirect(s3, s, reply, r) && s3l_remote_send(remote, rr);
  default:
    return false;
  }
}

static void s3_end(s3l_remote_t* remote, s3l_remote_req_t* rr, s3lect_store_result_t* r) {
  s3_t* s3 = s3_of(remote);
  state_t* s = state_of(rr);
  end_redirect(s3, s, r);
  if (remote->target.express && r->status == S3LECT_EDENIED)
    s3l_remote_amend(r, remote, "of a directory bucket, allow s3express:CreateSession,",
                     "with the session mode ReadWrite for all but observers");
  r->notes |= s->dialect;
  if (rr->req->op == S3LECT_OP_PUT && r->status == 0 && s3->dialect == 0)
    s3->dialect = s->dialect; /* only a put proves it: some stores ignore If-Match on a delete */
}

static int s3_notice(s3l_remote_t* remote, s3l_buf_t* text) {
  return s3l_recovery_notice(&s3_of(remote)->recovery, text);
}

/* ---- Opening and release ---- */

/* Puts the sessions of a directory bucket around the credentials, which they sign with. */
static int open_session(uv_loop_t* loop, s3l_remote_t* remote, const s3l_s3_config_t* c) {
  char origin[S3L_S3_HOST_MAX + 24];
  s3lect_credentials_chain_options_t settings;
  s3l_buf_t b;
  s3l_session_options_t session = {.origin = origin,
                                   .bucket = c->endpoint.path_style ? c->endpoint.bucket : "",
                                   .region = c->endpoint.region,
                                   .keys = remote->creds.cache,
                                   .keys_borrowed = remote->creds_borrowed};
  s3l_buf_init(&b, origin, sizeof(origin));
  s3l_buf_puts(&b, c->endpoint.tls ? "https://" : "http://");
  s3l_buf_puts(&b, c->endpoint.host_header);
  (void)s3l_buf_cstr(&b); /* fits */
  s3lect_credentials_chain_options_init(&settings, sizeof(settings));
  settings.ca_file = c->remote.http.ca_file;
  settings.proxy = c->remote.proxies.option;
  remote->creds.cache = NULL; /* the session's, on failure too */
  remote->creds_borrowed = false;
  return s3l_creds_session(loop, &settings, &session, &remote->creds.cache, c->remote.http.error);
}

static int s3_open(uv_loop_t* loop, s3l_remote_t* remote, const s3l_remote_config_t* config) {
  s3_t* s3 = s3_of(remote);
  s3l_s3_target_t* target = &remote->target;
  const s3l_s3_config_t* c = S3L_CONTAINER_OF(config, s3l_s3_config_t, remote);
  s3->recovery.endpoint = c->endpoint;
  s3->headers = s3l_s3_headers_copy(&c->headers); /* which the operator demands */
  if (!s3l_signer_open(&s3->signer) || s3->headers == NULL)
    return UV_ENOMEM;
  target->express = c->endpoint.express;
  target->owner = s3->headers->owner;
  target->headers = s3->headers->pairs;
  target->headers_len = s3->headers->len;
  target->checksum = s3->headers->checksum;
  return target->express ? open_session(loop, remote, c) : 0;
}

static void s3_release(s3l_remote_t* remote) {
  s3_t* s3 = s3_of(remote);
  s3l_signer_close(&s3->signer);
  s3l_free(s3->headers);
}

/* ---- The store ---- */

static const s3l_remote_dialect_t s3_dialect = {
    .size = sizeof(s3_t),
    .etag_header = "etag",
    .unusable_keys = S3L_CREDS_CANNOT_SIGN,
    .chain = &s3l_chain_aws,
    .open = s3_open,
    .write = s3_write,
    .read = s3_read,
    .list = s3l_s3_list,
    .again = s3_again,
    .end = s3_end,
    .notice = s3_notice,
    .release = s3_release,
};

/* Whose listings are in no order, and begin after no key: no protocol can use them. */
static const s3lect_store_ops_t express_ops = {S3L_REMOTE_OPS, .flags = S3LECT_STORE_OWN_CLOCK};

static const s3lect_store_ops_t s3_ops = {S3L_REMOTE_OPS,
                                          .flags = S3LECT_STORE_OWN_CLOCK | S3LECT_STORE_VERSIONS,
                                          .list = s3l_remote_submit};

int s3lect_store_s3_init(uv_loop_t* loop, s3lect_store_t* store,
                         const s3lect_store_s3_options_t* options, s3lect_error_t* error) {
  s3l_s3_config_t config;
  s3l_error_clear(error);
  int err = s3l_s3_configure(options, &config, error);
  if (err == 0)
    err = s3l_remote_open(loop, store, &s3_dialect,
                          config.endpoint.express ? &express_ops : &s3_ops, &config.remote);
  s3l_wipe(&config.remote.proxy, sizeof(config.remote.proxy));
  return s3l_error_end(error, err);
}
