/* s3lect-relay: a TCP relay that makes an outage of a store that is not ours to stop.
 *
 *   s3lect-relay --to HOST:PORT --ready-file FILE
 *
 * Listens on loopback, at a port of its own, passes bytes both ways, and writes http://ADDRESS into
 * FILE once it listens. Stopped with SIGSTOP it is a network that swallows everything; continued
 * with SIGCONT it delivers what had been sent, late. Plain HTTP only: a certificate would be for
 * another host's name. */
#include <netdb.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <uv.h>

#define BACKLOG    64
#define CHUNK_SIZE 16384

typedef struct link_s link_t;

/* One direction: what `from` sends goes to `to`. One chunk at a time, so that a slow receiver slows
 * the sender down and memory stays bounded. */
typedef struct way_s {
  link_t* link;
  uv_tcp_t from;
  struct way_s* back;
  uv_write_t write;
  uv_shutdown_t shutdown;
  bool busy;
  bool ended;
  char chunk[CHUNK_SIZE];
} way_t;

struct link_s {
  way_t ways[2]; /* [0] is fed by the client, [1] by the store */
  uv_connect_t connect;
  int open; /* handles whose close callback is due */
};

static struct sockaddr_storage target;

static void on_closed(uv_handle_t* handle) {
  way_t* way = handle->data;
  if (--way->link->open == 0)
    free(way->link);
}

static void drop(link_t* link) {
  for (int i = 0; i < 2; i++)
    if (!uv_is_closing((uv_handle_t*)&link->ways[i].from))
      uv_close((uv_handle_t*)&link->ways[i].from, on_closed);
}

static void on_alloc(uv_handle_t* handle, size_t suggested, uv_buf_t* buf) {
  way_t* way = handle->data;
  (void)suggested;
  *buf = uv_buf_init(way->chunk, way->busy ? 0 : CHUNK_SIZE);
}

static void on_read(uv_stream_t* stream, ssize_t n, const uv_buf_t* buf);

static void on_written(uv_write_t* write, int status) {
  way_t* way = write->data;
  way->busy = false;
  if (status != 0 || uv_read_start((uv_stream_t*)&way->from, on_alloc, on_read) != 0)
    drop(way->link);
}

static void on_shut(uv_shutdown_t* shutdown, int status) {
  way_t* way = shutdown->data;
  if (status != 0 || (way->ended && way->back->ended))
    drop(way->link);
}

static void on_read(uv_stream_t* stream, ssize_t n, const uv_buf_t* buf) {
  way_t* way = stream->data;
  if (n == 0)
    return;
  if (n < 0) {
    way->ended = true;
    way->shutdown.data = way;
    if (n != UV_EOF || uv_shutdown(&way->shutdown, (uv_stream_t*)&way->back->from, on_shut) != 0)
      drop(way->link);
    return;
  }
  uv_buf_t out = uv_buf_init(buf->base, (unsigned)n);
  way->busy = true;
  way->write.data = way;
  uv_read_stop(stream);
  if (uv_write(&way->write, (uv_stream_t*)&way->back->from, &out, 1, on_written) != 0)
    drop(way->link);
}

static void on_connected(uv_connect_t* connect, int status) {
  link_t* link = connect->data;
  if (status != 0) {
    drop(link);
    return;
  }
  for (int i = 0; i < 2; i++)
    if (uv_read_start((uv_stream_t*)&link->ways[i].from, on_alloc, on_read) != 0)
      drop(link);
}

static void on_client(uv_stream_t* server, int status) {
  if (status != 0)
    return;
  link_t* link = calloc(1, sizeof *link);
  if (link == NULL)
    abort();
  for (int i = 0; i < 2; i++) {
    way_t* way = &link->ways[i];
    way->link = link;
    way->back = &link->ways[1 - i];
    way->from.data = way;
    if (uv_tcp_init(server->loop, &way->from) != 0)
      abort();
    uv_tcp_nodelay(&way->from, 1);
    link->open++;
  }
  link->connect.data = link;
  if (uv_accept(server, (uv_stream_t*)&link->ways[0].from) != 0 ||
      uv_tcp_connect(&link->connect, &link->ways[1].from, (const struct sockaddr*)&target,
                     on_connected) != 0)
    drop(link);
}

/* HOST:PORT, the host possibly in brackets. */
static int resolve(const char* text) {
  char host[256];
  const char* colon = strrchr(text, ':');
  if (colon == NULL || (size_t)(colon - text) >= sizeof host)
    return -1;
  size_t n = (size_t)(colon - text);
  bool brackets = n >= 2 && text[0] == '[' && text[n - 1] == ']';
  snprintf(host, sizeof host, "%.*s", (int)(brackets ? n - 2 : n), text + (brackets ? 1 : 0));
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
  struct addrinfo* found;
  if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
    return -1;
  memcpy(&target, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return 0;
}

static int announce(const uv_tcp_t* server, const char* path) {
  struct sockaddr_in bound;
  int len = sizeof bound;
  if (uv_tcp_getsockname(server, (struct sockaddr*)&bound, &len) != 0)
    return -1;
  FILE* file = fopen(path, "we");
  if (file == NULL)
    return -1;
  fprintf(file, "http://127.0.0.1:%u\n", (unsigned)ntohs(bound.sin_port));
  return fclose(file);
}

int main(int argc, char** argv) {
  if (argc != 5 || strcmp(argv[1], "--to") != 0 || strcmp(argv[3], "--ready-file") != 0) {
    fprintf(stderr, "usage: s3lect-relay --to HOST:PORT --ready-file FILE\n");
    return 2;
  }
  if (resolve(argv[2]) != 0) {
    fprintf(stderr, "s3lect-relay: cannot find %s\n", argv[2]);
    return 1;
  }
  signal(SIGPIPE, SIG_IGN);
  uv_loop_t* loop = uv_default_loop();
  static uv_tcp_t server;
  struct sockaddr_in loopback;
  if (uv_tcp_init(loop, &server) != 0 || uv_ip4_addr("127.0.0.1", 0, &loopback) != 0 ||
      uv_tcp_bind(&server, (const struct sockaddr*)&loopback, 0) != 0 ||
      uv_listen((uv_stream_t*)&server, BACKLOG, on_client) != 0 ||
      announce(&server, argv[4]) != 0) {
    fprintf(stderr, "s3lect-relay: cannot listen on loopback or write %s\n", argv[4]);
    return 1;
  }
  return uv_run(loop, UV_RUN_DEFAULT);
}
