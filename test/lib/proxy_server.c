#include "lib/proxy_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CHUNK 16384

typedef struct link_s link_t;

/* One direction; one chunk at a time. */
typedef struct way_s {
  link_t* link;
  uv_tcp_t from;
  struct way_s* back;
  uv_write_t write;
  char chunk[CHUNK];
} way_t;

struct link_s {
  s3l_list_t entry;
  s3l_proxy_server_t* server;
  way_t ways[2]; /* [0] is fed by the client, [1] by the target */
  uv_connect_t connect;
  unsigned open;
  size_t head_len;
  bool relaying;
  bool closing;
  char head[4096];
};

static void on_closed(uv_handle_t* handle) {
  way_t* way = handle->data;
  if (--way->link->open == 0)
    free(way->link);
}

static void drop(link_t* link) {
  if (link->closing)
    return;
  link->closing = true;
  s3l_list_remove(&link->entry);
  for (unsigned i = 0, n = link->open; i < n; i++)
    uv_close((uv_handle_t*)&link->ways[i].from, on_closed);
}

static void on_alloc(uv_handle_t* handle, size_t suggested, uv_buf_t* buf) {
  way_t* way = handle->data;
  (void)suggested;
  *buf = uv_buf_init(way->chunk, CHUNK);
}

static void on_read(uv_stream_t* stream, ssize_t n, const uv_buf_t* buf);

static void on_written(uv_write_t* write, int status) {
  way_t* way = write->data;
  if (way->link->closing)
    return;
  if (status != 0 || uv_read_start((uv_stream_t*)&way->from, on_alloc, on_read) != 0)
    drop(way->link);
}

/* Passes the way's chunk on; reading goes on when it has gone out. */
static void pass_on(way_t* way, const char* data, size_t n) {
  uv_buf_t out = uv_buf_init((char*)(uintptr_t)data, (unsigned)n);
  way->write.data = way;
  (void)uv_read_stop((uv_stream_t*)&way->from);
  if (uv_write(&way->write, (uv_stream_t*)&way->back->from, &out, 1, on_written) != 0)
    drop(way->link);
}

static void answer(link_t* link, const char* text) {
  uv_buf_t out = uv_buf_init((char*)(uintptr_t)text, (unsigned)strlen(text));
  (void)uv_try_write((uv_stream_t*)&link->ways[0].from, &out, 1);
}

static void on_connected(uv_connect_t* req, int status) {
  link_t* link = req->data;
  way_t* client = &link->ways[0];
  if (link->closing)
    return;
  if (status != 0) {
    answer(link, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
    drop(link);
    return;
  }
  link->relaying = true;
  assert_int_equal(uv_read_start((uv_stream_t*)&link->ways[1].from, on_alloc, on_read), 0);
  if (strncmp(link->head, "CONNECT ", 8) == 0) {
    link->server->tunnels++;
    answer(link, "HTTP/1.1 200 Connection established\r\n\r\n");
    assert_int_equal(uv_read_start((uv_stream_t*)&client->from, on_alloc, on_read), 0);
  } else {
    link->server->forwarded++;
    pass_on(client, link->head, link->head_len); /* the target takes absolute-form as well */
  }
}

static void dial(link_t* link) {
  struct sockaddr_in addr;
  s3l_proxy_server_t* s = link->server;
  assert_int_equal(uv_ip4_addr("127.0.0.1", s->target, &addr), 0);
  assert_int_equal(uv_tcp_init(s->loop, &link->ways[1].from), 0);
  link->open = 2;
  link->connect.data = link;
  (void)uv_read_stop((uv_stream_t*)&link->ways[0].from);
  assert_int_equal(uv_tcp_connect(&link->connect, &link->ways[1].from,
                                  (const struct sockaddr*)&addr, on_connected),
                   0);
}

static bool is_allowed(const link_t* link) {
  char line[800];
  if (link->server->authorization == NULL)
    return true;
  snprintf(line, sizeof(line), "\r\nproxy-authorization: %s\r\n", link->server->authorization);
  return strstr(link->head, line) != NULL;
}

static void on_head(link_t* link) {
  s3l_proxy_server_t* s = link->server;
  snprintf(s->head, sizeof(s->head), "%s", link->head);
  if (s->reply != NULL) {
    answer(link, s->reply);
    drop(link);
  } else if (!is_allowed(link)) {
    answer(link, "HTTP/1.1 407 Proxy Authentication Required\r\n"
                 "Proxy-Authenticate: Basic realm=\"p\"\r\nContent-Length: 5\r\n\r\nno!\r\n");
    drop(link);
  } else {
    dial(link);
  }
}

static void on_read(uv_stream_t* stream, ssize_t n, const uv_buf_t* buf) {
  way_t* way = stream->data;
  link_t* link = way->link;
  if (n == 0 || link->closing)
    return;
  if (n < 0) {
    drop(link);
  } else if (link->relaying) {
    pass_on(way, buf->base, (size_t)n);
  } else if (link->head_len + (size_t)n >= sizeof(link->head)) {
    drop(link);
  } else {
    memcpy(link->head + link->head_len, buf->base, (size_t)n);
    link->head_len += (size_t)n;
    if (strstr(link->head, "\r\n\r\n") != NULL)
      on_head(link);
  }
}

static void on_connection(uv_stream_t* listener, int status) {
  s3l_proxy_server_t* s = listener->data;
  link_t* link = calloc(1, sizeof(*link));
  assert_int_equal(status, 0);
  assert_non_null(link);
  link->server = s;
  for (int i = 0; i < 2; i++) {
    link->ways[i].link = link;
    link->ways[i].back = &link->ways[1 - i];
    link->ways[i].from.data = &link->ways[i];
  }
  assert_int_equal(uv_tcp_init(s->loop, &link->ways[0].from), 0);
  link->open = 1;
  s->accepted++;
  s3l_list_push_back(&s->links, &link->entry);
  assert_int_equal(uv_accept(listener, (uv_stream_t*)&link->ways[0].from), 0);
  assert_int_equal(uv_read_start((uv_stream_t*)&link->ways[0].from, on_alloc, on_read), 0);
}

void s3l_proxy_server_start(s3l_proxy_server_t* s, uv_loop_t* loop) {
  struct sockaddr_in addr;
  int len = sizeof(addr);
  s->loop = loop;
  s3l_list_init(&s->links);
  assert_int_equal(uv_ip4_addr("127.0.0.1", 0, &addr), 0);
  assert_int_equal(uv_tcp_init(loop, &s->listener), 0);
  s->listener.data = s;
  assert_int_equal(uv_tcp_bind(&s->listener, (const struct sockaddr*)&addr, 0), 0);
  assert_int_equal(uv_listen((uv_stream_t*)&s->listener, 16, on_connection), 0);
  assert_int_equal(uv_tcp_getsockname(&s->listener, (struct sockaddr*)&addr, &len), 0);
  s->port = ntohs(addr.sin_port);
}

void s3l_proxy_server_close(s3l_proxy_server_t* s) {
  uv_close((uv_handle_t*)&s->listener, NULL);
  while (!s3l_list_empty(&s->links))
    drop(S3L_CONTAINER_OF(s->links.next, link_t, entry));
}
