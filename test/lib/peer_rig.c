#include "lib/peer_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "lib/wait.h"

void s3l_peered_init(s3l_election_t* el, s3l_peered_t* p, const char* id,
                     const s3l_certs_t* certs) {
  memset(p, 0, sizeof *p);
  s3l_candidate_init(el, &p->c, id);
  s3lect_peer_server_options_init(&p->server_options, sizeof p->server_options);
  s3lect_peer_client_options_init(&p->client_options, sizeof p->client_options);
  p->server_options.listen = "127.0.0.1:0";
  if (certs == NULL) {
    p->server_options.plain_http = p->client_options.plain_http = 1;
    return;
  }
  p->server_options.cert_file = p->client_options.cert_file = certs->good;
  p->server_options.key_file = p->client_options.key_file = certs->key;
  p->server_options.client_ca_file = p->client_options.ca_file = certs->ca;
}

void s3l_peered_start(s3l_peered_t* p) {
  uv_loop_t* loop = &p->c.election->loop;
  s3lect_error_t error;
  if (s3lect_peer_server_init(loop, &p->server, &p->server_options, &error) != 0)
    fail_msg("peer server: %s", error.text);
  if (s3lect_peer_client_init(loop, &p->client, &p->client_options, &error) != 0)
    fail_msg("peer client: %s", error.text);
  snprintf(p->addr, sizeof p->addr, "127.0.0.1:%d", s3lect_peer_server_port(&p->server));
  p->c.o.server_addr = p->addr;
  p->c.o.peer_client = &p->client;
  p->open = true;
  s3l_candidate_start(&p->c);
  assert_int_equal(s3lect_peer_server_add(&p->server, &p->c.e, NULL), 0);
}

static void on_server_closed(s3lect_peer_server_t* server) {
  ++*(unsigned*)server->data;
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
