#include "lib/peer_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/protocol.h"
#include "lib/script_store.h"
#include "lib/test.h"
#include "lib/wait.h"

/* ---- The server ---- */

static void init_server(s3lect_peer_server_options_t* o, const s3l_certs_t* certs) {
  s3lect_peer_server_options_init(o, sizeof *o);
  o->listen = "127.0.0.1:0";
  o->plain_http = certs == NULL;
  if (certs == NULL)
    return;
  o->cert_file = certs->good;
  o->key_file = certs->key;
  o->client_ca_file = certs->ca;
}

static void open_server(uv_loop_t* loop, s3lect_peer_server_t* server,
                        const s3lect_peer_server_options_t* o) {
  s3lect_error_t error;
  if (s3lect_peer_server_init(loop, server, o, &error) != 0)
    fail_msg("peer server: %s", error.text);
}

static void on_server_closed(s3lect_peer_server_t* server) {
  ++*(unsigned*)server->data;
}

/* ---- Peered ---- */

void s3l_peered_init(s3l_election_t* el, s3l_peered_t* p, const char* id,
                     const s3l_certs_t* certs) {
  memset(p, 0, sizeof *p);
  s3l_candidate_init(el, &p->c, id);
  init_server(&p->server_options, certs);
  s3lect_peer_client_options_init(&p->client_options, sizeof p->client_options);
  p->client_options.plain_http = certs == NULL;
  if (certs == NULL)
    return;
  p->client_options.cert_file = certs->good;
  p->client_options.key_file = certs->key;
  p->client_options.ca_file = certs->ca;
}

void s3l_peered_start(s3l_peered_t* p) {
  uv_loop_t* loop = &p->c.election->loop;
  s3lect_error_t error;
  open_server(loop, &p->server, &p->server_options);
  if (s3lect_peer_client_init(loop, &p->client, &p->client_options, &error) != 0)
    fail_msg("peer client: %s", error.text);
  snprintf(p->addr, sizeof p->addr, "127.0.0.1:%d", s3lect_peer_server_port(&p->server));
  p->c.o.server_addr = p->addr;
  p->c.o.peer_client = &p->client;
  p->open = true;
  s3l_candidate_start(&p->c);
  assert_int_equal(s3lect_peer_server_add(&p->server, &p->c.e, NULL), 0);
}

static void on_client_closed(s3lect_peer_client_t* client) {
  ++*(unsigned*)client->data;
}

void s3l_peered_close(s3l_peered_t* p) {
  unsigned closed = 0;
  if (!p->open)
    return;
  p->open = false;
  if (p->c.closed == 0)
    s3l_candidate_close(&p->c);
  p->server.data = p->client.data = &closed;
  s3lect_peer_server_close(&p->server, on_server_closed);
  s3lect_peer_client_close(&p->client, on_client_closed);
  s3l_wait_count(&p->c.election->loop, &closed, 2, "peer server and client to close");
}

/* ---- House ---- */

static s3l_house_t* house_of(s3lect_elector_t* e, int* i) {
  s3l_house_t* h = e->data;
  *i = (int)(e - h->e);
  return h;
}

static void on_started(s3lect_elector_t* e, const s3lect_event_t* ev) {
  int i;
  s3l_house_t* h = house_of(e, &i);
  h->started[i]++;
}

static void on_stopped(s3lect_elector_t* e, const s3lect_event_t* ev) {
  int i;
  s3l_house_t* h = house_of(e, &i);
  h->stopped[i]++;
}

static void on_elector_closed(s3lect_elector_t* e) {
  int i;
  s3l_house_t* h = house_of(e, &i);
  h->closed[i]++;
}

void s3l_house_init(s3l_house_t* h, const s3l_certs_t* certs) {
  static const char* const ids[] = {"a", "b"};
  memset(h, 0, sizeof *h);
  s3l_wait_pace(S3L_PACE_SOCKETS);
  assert_int_equal(uv_loop_init(&h->loop), 0);
  assert_int_equal(s3lect_store_memory_init(&h->loop, &h->store, NULL), 0);
  init_server(&h->options, certs);
  for (int i = 0; i < S3L_HOUSE_MAX; i++) {
    h->e[i].data = h;
    s3lect_elector_options_init(&h->o[i], sizeof h->o[i]);
    h->o[i].lockfile_path = ids[i];
    h->o[i].protocol = s3l_test_protocol();
    h->o[i].server_id = ids[i];
    h->o[i].store = &h->store;
    h->o[i].on_started_leading = on_started;
    h->o[i].on_stopped_leading = on_stopped;
  }
}

static void on_seeded(s3lect_store_req_t* req, const s3lect_store_result_t* r) {
  assert_int_equal(r->status, 0);
  ++*(unsigned*)req->data;
}

/* Puts a released record in place of the lockfile, or of the newest epoch file, so that nobody
 * needs to wait for long. */
static void seed(s3l_house_t* h, const char* election) {
  char key[256], body[1024];
  snprintf(key, sizeof key, "%s%s", election, s3l_test_epochs() ? "lock-0000000007.json" : "");
  unsigned done = 0;
  s3lect_record_t released = s3l_script_store_released();
  s3lect_store_req_t req = {.data = &done, .key = key, .body = body, .cb = on_seeded};
  req.timeout_ms = S3L_WAIT_MS;
  req.body_len = s3l_test_encode(&released, body, sizeof body);
  assert_int_equal(s3lect_store_put(&h->store, &req), 0);
  s3l_wait_count(&h->loop, &done, 1, "a seed");
}

void s3l_house_open(s3l_house_t* h) {
  open_server(&h->loop, &h->server, &h->options);
  h->server.data = &h->server_closed;
  h->serves = true;
}

void s3l_house_stand(s3l_house_t* h, int i) {
  s3lect_error_t error;
  if (s3lect_elector_options_check(&h->o[i], &error) != 0)
    fail_msg("%s", error.text);
  assert_int_equal(s3lect_elector_init(&h->loop, &h->e[i], &h->o[i], NULL), 0);
  assert_int_equal(s3lect_elector_start(&h->e[i]), 0);
  h->is_open[i] = true;
}

void s3l_house_lead(s3l_house_t* h, int i) {
  seed(h, h->o[i].lockfile_path);
  s3l_house_stand(h, i);
  s3l_wait_pace(S3L_PACE_TIMERS); /* the store is in memory, and nobody asks yet */
  s3l_wait_count(&h->loop, &h->started[i], 1, "a leader");
  s3l_wait_pace(S3L_PACE_SOCKETS);
}

void s3l_house_open_leading(s3l_house_t* h) {
  s3l_house_open(h);
  s3l_house_lead(h, 0);
  assert_int_equal(s3lect_peer_server_add(&h->server, &h->e[0], NULL), 0);
}

void s3l_house_close_elector(s3l_house_t* h, int i) {
  assert_int_equal(s3lect_elector_close(&h->e[i], on_elector_closed), 0);
  s3l_wait_count(&h->loop, &h->closed[i], 1, "an elector to close");
  h->is_open[i] = false;
}

void s3l_house_close_server(s3l_house_t* h) {
  h->serves = false;
  s3lect_peer_server_close(&h->server, on_server_closed);
  assert_int_equal(h->server_closed, 0); /* not inside the call */
}

s3l_caller_t* s3l_house_caller(s3l_house_t* h, s3l_tls_context_t* tls) {
  int port = s3lect_peer_server_port(&h->server);
  assert_true(port > 0);
  return s3l_caller_make(&h->loop, (uint16_t)port, tls);
}

static const char* ask(s3l_caller_t* c, const char* request, const char* until) {
  static char text[65536];
  s3l_caller_open(c);
  s3l_caller_talk(c, request, until, false);
  snprintf(text, sizeof text, "%s", c->text);
  s3l_caller_free(c);
  return text;
}

const char* s3l_house_ask(s3l_house_t* h, s3l_tls_context_t* tls, const char* request,
                          const char* until) {
  return ask(s3l_house_caller(h, tls), request, until);
}

const char* s3l_house_ask_pages(s3l_house_t* h, const char* request, const char* until) {
  int port = s3lect_peer_server_pages_port(&h->server);
  assert_true(port > 0);
  return ask(s3l_caller_make(&h->loop, (uint16_t)port, NULL), request, until);
}

void s3l_house_end(s3l_house_t* h) {
  for (int i = 0; i < S3L_HOUSE_MAX; i++)
    if (h->is_open[i])
      s3l_house_close_elector(h, i);
  if (h->serves)
    s3l_house_close_server(h);
  s3lect_store_close(&h->store, NULL);
  s3l_wait_loop_end(&h->loop);
  assert_int_equal(h->server_closed, 1);
}
