#include "peer/client.h"

#include <stdio.h>
#include <string.h>

#include "loop/loop.h"
#include "peer/message.h"
#include "s3lect/errno.h"
#include "s3lect/record.h"
#include "util/assert.h"
#include "util/mem.h"
#include "util/mutant.h"

#define NS_PER_MS 1000000

typedef struct s3l_peer_leader_s {
  s3l_peer_client_t* client;
  s3l_list_t link;
  s3l_http_client_t* http;
  unsigned probes; /* under way */
  unsigned waiting;
  bool stale; /* made with certificates of before: closed once its probes have ended */
  bool closing;
  int64_t used_ns; /* when the last probe began or ended, in lease time */
  char addr[S3LECT_ADDR_SIZE];
} leader_t;

struct s3l_peer_client_s {
  s3l_loop_t* loop;
  s3l_peer_client_config_t config;
  s3l_list_t leaders;
  unsigned open; /* leaders that are not yet closed, in the list or not */
  unsigned users;
  bool closing;
  s3l_task_t end;
  void (*close_cb)(void* arg);
  void* close_arg;
};

/* ---- Leaders ---- */

static void on_left(s3l_task_t* task) {
  s3l_peer_client_t* c = S3L_CONTAINER_OF(task, s3l_peer_client_t, end);
  void (*cb)(void*) = c->close_cb;
  void* arg = c->close_arg;
  s3l_free(c);
  if (cb != NULL)
    cb(arg);
}

static void close_if_over(s3l_peer_client_t* c) {
  if (c->closing && c->open == 0 && c->users == 0)
    s3l_loop_leave(c->loop, &c->end);
}

static void on_leader_closed(void* arg) {
  leader_t* l = arg;
  s3l_peer_client_t* c = l->client;
  s3l_free(l);
  c->open--;
  close_if_over(c);
}

static void close_leader(leader_t* l) {
  l->closing = true;
  s3l_list_remove(&l->link);
  s3l_http_client_close(l->http, on_leader_closed, l);
}

/* Closes the leaders without probes that were last used at `until_ns` or before. */
static void close_unused(s3l_peer_client_t* c, int64_t until_ns) {
  for (s3l_list_t *at = c->leaders.next, *next = at->next; at != &c->leaders;
       at = next, next = at->next) {
    leader_t* l = S3L_CONTAINER_OF(at, leader_t, link);
    if (l->probes == 0 && l->used_ns <= until_ns)
      close_leader(l);
  }
}

static int open_leader(s3l_peer_client_t* c, const char* addr, leader_t** out) {
  char host[S3L_HTTP_HOST_MAX];
  uint16_t port;
  if (!s3l_peer_address_parse(addr, c->config.tls, host, sizeof host, &port))
    return UV_EINVAL;
  leader_t* l = s3l_calloc(1, sizeof *l);
  if (l == NULL)
    return UV_ENOMEM;
  const s3l_http_client_options_t options = {
      .host = host,
      .port = port,
      .tls = c->config.tls,
      .tls_options = &c->config.trust,
      .connect_timeout_ms = c->config.connect_timeout_ms,
      .tls_timeout_ms = c->config.tls_timeout_ms,
      .idle_timeout_ms = c->config.idle_timeout_ms,
      .max_connections = S3L_PEER_CONNECTIONS_MAX,
      .background = true, /* a probe may wait for long: the elector keeps the loop alive */
  };
  int err = s3l_http_client_create(s3l_loop_uv(c->loop), &options, &l->http);
  if (err != 0) {
    s3l_free(l);
    return err;
  }
  l->client = c;
  memcpy(l->addr, addr, strlen(addr) + 1);
  s3l_list_push_front(&c->leaders, &l->link);
  c->open++;
  *out = l;
  return 0;
}

static int find_leader(s3l_peer_client_t* c, const char* addr, leader_t** out) {
  for (s3l_list_t* at = c->leaders.next; at != &c->leaders; at = at->next) {
    *out = S3L_CONTAINER_OF(at, leader_t, link);
    if (!(*out)->stale && (strcmp((*out)->addr, addr) == 0 || S3L_MUTANT(OLD_PEER_ASKED)))
      return 0;
  }
  close_unused(c, s3l_clock_lease_ns() - (int64_t)c->config.idle_timeout_ms * NS_PER_MS);
  return strlen(addr) < S3LECT_ADDR_SIZE ? open_leader(c, addr, out) : UV_EINVAL;
}

/* ---- Probes ---- */

/* How long the server may hold the probe if it is sent now: the second time for the rest only. */
static uint32_t wait_left(const s3l_peer_probe_t* probe) {
  if (!probe->http.replayed)
    return probe->wait_ms;
  int64_t gone_ms = (s3l_clock_lease_ns() - probe->asked_ns) / NS_PER_MS + 1;
  return gone_ms < probe->wait_ms ? probe->wait_ms - (uint32_t)gone_ms : 0;
}

static ssize_t on_compose(s3l_http_req_t* http, char* buf, size_t cap) {
  s3l_peer_probe_t* probe = S3L_CONTAINER_OF(http, s3l_peer_probe_t, http);
  uint32_t wait_ms = wait_left(probe);
  probe->waited = probe->wait_ms > 0 && wait_ms < 1000;
  size_t n = s3l_peer_request_encode(probe->leader->addr, probe->path, wait_ms, probe->candidacy,
                                     buf, cap);
  return n > 0 ? (ssize_t)n : UV_ENOBUFS;
}

/* Reads a reply. `answer` and `message` are the caller's memory that the result points into. */
static s3l_peer_result_t judge(const s3l_peer_probe_t* probe, const s3l_http_reply_t* reply,
                               s3l_peer_answer_t* answer, char* message, size_t cap) {
  const leader_t* l = probe->leader;
  s3l_peer_result_t r = {.kind = S3L_PEER_FAILED,
                         .status = reply->status,
                         .valid_for_ms = -1,
                         .message = reply->message};
  if (reply->status != 0)
    return r;
  if (reply->http_status == 404) {
    r.kind = S3L_PEER_NOT_LEADING;
    return r;
  }
  bool success = reply->http_status == 200;
  r.status = success ? s3l_peer_answer_parse(reply->body, answer) : S3LECT_EBADREPLY;
  if (r.status != 0) {
    r.message = message;
    if (success)
      snprintf(message, cap, "%s answered with something that is no leader's record", l->addr);
    else
      snprintf(message, cap, "%s answered with HTTP status %d", l->addr, reply->http_status);
    return r;
  }
  r.kind = S3L_PEER_LEADING;
  r.record = &answer->record;
  r.etag = answer->etag[0] != '\0' ? answer->etag : NULL;
  r.valid_for_ms = answer->valid_for_ms;
  r.authenticated = l->client->config.tls; /* else there would be no reply */
  r.held = probe->waited || s3l_peer_wait_applied(reply->headers, reply->headers_len);
  return r;
}

static void on_done(s3l_http_req_t* http, const s3l_http_reply_t* reply) {
  s3l_peer_probe_t* probe = S3L_CONTAINER_OF(http, s3l_peer_probe_t, http);
  leader_t* l = probe->leader;
  s3l_peer_answer_t answer;
  char message[S3LECT_ADDR_SIZE + 80];
  s3l_peer_result_t result = judge(probe, reply, &answer, message, sizeof message);
  l->probes--;
  l->waiting -= probe->wait_ms > 0;
  l->used_ns = s3l_clock_lease_ns();
  if (l->stale && l->probes == 0 && !l->closing)
    close_leader(l);
  probe->leader = NULL;
  probe->done(probe, &result);
}

int s3l_peer_probe(s3l_peer_client_t* c, s3l_peer_probe_t* probe, const char* addr,
                   uint32_t timeout_ms, uint32_t wait_ms) {
  leader_t* l;
  S3L_ASSERT(probe->leader == NULL && probe->path[0] == '/');
  int err = c->closing ? UV_ECANCELED : find_leader(c, addr, &l);
  if (err != 0)
    return err;
  probe->wait_ms = wait_ms >= 1000 && l->waiting < S3L_PEER_WAITING_MAX ? wait_ms : 0;
  probe->waited = false;
  probe->asked_ns = s3l_clock_lease_ns();
  probe->http = (s3l_http_req_t){.compose = on_compose,
                                 .done = on_done,
                                 .until_ns = probe->asked_ns +
                                             (int64_t)(timeout_ms + probe->wait_ms) * NS_PER_MS,
                                 .due_ns = probe->asked_ns, /* first in, first out */
                                 .body_max = S3L_PEER_ANSWER_MAX,
                                 .replayable = true};
  err = s3l_http_client_submit(l->http, &probe->http);
  if (err != 0)
    return err;
  probe->leader = l;
  l->probes++;
  l->waiting += probe->wait_ms > 0;
  l->used_ns = probe->asked_ns;
  return 0;
}

void s3l_peer_probe_cancel(s3l_peer_probe_t* probe) {
  if (probe->leader != NULL)
    s3l_http_client_cancel(&probe->http);
}

/* ---- The client ---- */

int s3l_peer_client_create(uv_loop_t* loop, const s3l_peer_client_config_t* config,
                           s3l_peer_client_t** out) {
  s3l_peer_client_t* c = s3l_calloc(1, sizeof *c);
  if (c == NULL)
    return UV_ENOMEM;
  int err = s3l_loop_join(loop, &c->loop);
  if (err != 0) {
    s3l_free(c);
    return err;
  }
  s3l_task_init(&c->end, on_left);
  c->config = *config;
  s3l_list_init(&c->leaders);
  *out = c;
  return 0;
}

void s3l_peer_client_trust(s3l_peer_client_t* c, const s3l_tls_client_options_t* trust) {
  c->config.trust = *trust;
  for (s3l_list_t* at = c->leaders.next; at != &c->leaders; at = at->next)
    S3L_CONTAINER_OF(at, leader_t, link)->stale = true;
  close_unused(c, INT64_MAX);
}

bool s3l_peer_client_is_known(const s3l_peer_client_t* c) {
  const s3l_pem_t* cert = &c->config.trust.cert;
  return c->config.tls && (cert->file != NULL || cert->text.n > 0);
}

void s3l_peer_client_ref(s3l_peer_client_t* c) {
  S3L_ASSERT(!c->closing);
  c->users++;
}

void s3l_peer_client_unref(s3l_peer_client_t* c) {
  S3L_ASSERT(c->users > 0);
  c->users--;
  close_if_over(c);
}

void s3l_peer_client_close(s3l_peer_client_t* c, void (*cb)(void* arg), void* arg) {
  S3L_ASSERT(!c->closing);
  c->closing = true;
  c->close_cb = cb;
  c->close_arg = arg;
  while (!s3l_list_empty(&c->leaders))
    close_leader(S3L_CONTAINER_OF(c->leaders.next, leader_t, link));
  close_if_over(c);
}
