#include "lib/proxy_server.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One of the two connections of a pair. */
typedef struct side_s {
  s3l_test_conn_t tcp;  /* first */
  struct side_s* other; /* NULL: none yet, or not any more */
  bool target;          /* else the client */
  bool ended;           /* sends no more */
  size_t head_len;
  char head[4096]; /* of the client: what it sent before there was a target */
} side_t;

static side_t* side_of(s3l_test_conn_t* tcp) {
  return (side_t*)(void*)tcp;
}

static s3l_proxy_server_t* proxy_of(const side_t* side) {
  return side->tcp.server->data;
}

static void drop(side_t* side) {
  side_t* other = side->other;
  side->other = NULL;
  s3l_test_conn_cut(&side->tcp, false);
  if (other != NULL) {
    other->other = NULL;
    s3l_test_conn_cut(&other->tcp, false);
  }
}

/* A slow receiver slows the sender down. */
static void pass_on(side_t* from, const char* p, size_t n) {
  s3l_test_conn_send(&from->other->tcp, p, n);
  s3l_test_conn_pause(&from->tcp, from->other->tcp.unsent > 0);
}

static void on_sent(s3l_test_conn_t* tcp) {
  side_t* from = side_of(tcp)->other;
  if (from != NULL && from->ended && side_of(tcp)->ended)
    drop(from);
  else if (from != NULL && !from->ended)
    s3l_test_conn_pause(&from->tcp, false);
}

static void answer(side_t* client, const char* text) {
  s3l_test_conn_send(&client->tcp, text, strlen(text));
}

static void dial(side_t* client) {
  s3l_proxy_server_t* s = proxy_of(client);
  s3l_test_conn_pause(&client->tcp, true);
  side_t* target = side_of(s3l_test_server_dial(&s->tcp, (const struct sockaddr*)&s->address));
  target->target = true;
  target->other = client;
  client->other = target;
}

static void on_connected(side_t* client) {
  s3l_proxy_server_t* s = proxy_of(client);
  s3l_test_conn_pause(&client->tcp, false);
  if (s->relay)
    return;
  if (strncmp(client->head, "CONNECT ", 8) == 0) {
    s->tunnels++;
    answer(client, "HTTP/1.1 200 Connection established\r\n\r\n");
  } else {
    s->forwarded++;
    pass_on(client, client->head, client->head_len); /* the target takes absolute-form as well */
  }
}

static void on_ready(s3l_test_conn_t* tcp) {
  side_t* side = side_of(tcp);
  if (side->target) {
    on_connected(side->other);
    return;
  }
  proxy_of(side)->accepted++;
  if (proxy_of(side)->relay)
    dial(side);
}

static bool is_allowed(const side_t* client) {
  char line[800];
  const char* wanted = proxy_of(client)->authorization;
  if (wanted == NULL)
    return true;
  snprintf(line, sizeof(line), "\r\nproxy-authorization: %s\r\n", wanted);
  return strstr(client->head, line) != NULL;
}

static void on_head(side_t* client) {
  s3l_proxy_server_t* s = proxy_of(client);
  snprintf(s->head, sizeof(s->head), "%s", client->head);
  if (s->reply != NULL) {
    answer(client, s->reply);
    drop(client);
  } else if (!is_allowed(client)) {
    answer(client, "HTTP/1.1 407 Proxy Authentication Required\r\n"
                   "Proxy-Authenticate: Basic realm=\"p\"\r\nContent-Length: 5\r\n\r\nno!\r\n");
    drop(client);
  } else {
    dial(client);
  }
}

static void on_data(s3l_test_conn_t* tcp, const char* p, size_t n) {
  side_t* side = side_of(tcp);
  if (side->other != NULL) {
    pass_on(side, p, n);
  } else if (side->head_len + n >= sizeof(side->head)) {
    drop(side);
  } else {
    memcpy(side->head + side->head_len, p, n);
    side->head_len += n;
    if (strstr(side->head, "\r\n\r\n") != NULL)
      on_head(side);
  }
}

static void on_end(s3l_test_conn_t* tcp, int status) {
  side_t* side = side_of(tcp);
  side->ended = true;
  if (side->target && !tcp->ready && side->other != NULL)
    answer(side->other, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
  if (status != UV_EOF || side->other == NULL || !side->other->tcp.ready)
    drop(side);
  else if (!side->other->ended)
    s3l_test_conn_shutdown(&side->other->tcp);
  else if (side->other->tcp.unsent == 0)
    drop(side);
}

void s3l_proxy_server_start(s3l_proxy_server_t* s, uv_loop_t* loop) {
  struct sockaddr_storage own = {0};
  if (s->target != 0)
    (void)uv_ip4_addr("127.0.0.1", s->target, (struct sockaddr_in*)&s->address);
  (void)uv_ip4_addr("127.0.0.1", 0, (struct sockaddr_in*)&own);
  s3l_test_server_init(&s->tcp, loop, sizeof(side_t));
  s->tcp.data = s;
  s->tcp.on_ready = on_ready;
  s->tcp.on_data = on_data;
  s->tcp.on_sent = on_sent;
  s->tcp.on_end = on_end;
  s->tcp.unref = s->unref;
  if (s3l_test_server_listen(&s->tcp, &own) != 0)
    abort();
  s->port = s->tcp.port;
}

void s3l_proxy_server_close(s3l_proxy_server_t* s) {
  s3l_test_server_close(&s->tcp, false);
}
