#include "lib/ask_rig.h"

#include <stdio.h>
#include <string.h>

#include "lib/test.h"
#include "lib/wait.h"

static void on_done(s3l_peer_probe_t* ask, const s3l_peer_result_t* r) {
  s3l_asked_t* a = ask->data;
  assert_false(a->rig->in_call);
  a->done++;
  a->kind = r->kind;
  a->status = r->status;
  a->held = r->held;
  a->authenticated = r->authenticated;
  a->valid_for_ms = r->valid_for_ms;
  memset(&a->record, 0, sizeof a->record);
  if (r->record != NULL)
    a->record = *r->record;
  snprintf(a->etag, sizeof a->etag, "%s", r->etag != NULL ? r->etag : "");
  snprintf(a->message, sizeof a->message, "%s", r->message != NULL ? r->message : "");
}

static void on_client_closed(void* arg) {
  ++*(unsigned*)arg;
}

void s3l_asks_begin(s3l_asks_t* r, const s3l_step_t* const* scripts, size_t n,
                    s3l_tls_context_t* server_tls) {
  assert_int_equal(uv_loop_init(&r->loop), 0);
  if (r->config.connect_timeout_ms == 0)
    r->config.connect_timeout_ms = S3L_WAIT_MS;
  if (r->config.tls_timeout_ms == 0)
    r->config.tls_timeout_ms = S3L_WAIT_MS;
  if (r->config.idle_timeout_ms == 0)
    r->config.idle_timeout_ms = S3L_WAIT_MS;
  assert_int_equal(s3l_peer_client_create(&r->loop, &r->config, &r->client), 0);
  r->server.scripts = scripts;
  r->server.scripts_len = n;
  r->server.tls = server_tls;
  s3l_script_server_start(&r->server, &r->loop);
}

int s3l_asks_try(s3l_asks_t* r, s3l_asked_t* a, const char* addr, uint32_t timeout_ms,
                 uint32_t wait_ms) {
  a->rig = r;
  a->ask.data = a;
  a->ask.path = S3L_ASK_PATH;
  a->ask.done = on_done;
  r->in_call = true;
  int err = s3l_peer_probe(r->client, &a->ask, addr, timeout_ms, wait_ms);
  r->in_call = false;
  return err;
}

const char* s3l_asks_addr(const s3l_script_server_t* server) {
  static char addr[64];
  snprintf(addr, sizeof addr, "127.0.0.1:%u", server->port);
  return addr;
}

void s3l_asks_start(s3l_asks_t* r, s3l_asked_t* a, uint32_t wait_ms) {
  assert_int_equal(s3l_asks_try(r, a, s3l_asks_addr(&r->server), S3L_WAIT_MS, wait_ms), 0);
}

void s3l_asks_wait(s3l_asks_t* r, s3l_asked_t* a, unsigned n) {
  s3l_wait_count(&r->loop, &a->done, n, "the end of a question");
  assert_int_equal(a->done, n);
}

void s3l_asks_close(s3l_asks_t* r) {
  r->in_call = true;
  s3l_peer_client_close(r->client, on_client_closed, &r->client_closed);
  r->in_call = false;
  assert_int_equal(r->client_closed, 0);
  r->client = NULL;
}

void s3l_asks_end(s3l_asks_t* r) {
  if (r->client != NULL)
    s3l_asks_close(r);
  s3l_script_server_close(&r->server);
  s3l_wait_loop_end(&r->loop);
  assert_int_equal(r->client_closed, 1);
}
