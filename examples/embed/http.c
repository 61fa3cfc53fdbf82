#include "http.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct http_conn_s {
  http_t* http;
  struct http_conn_s *next, **link;
  uv_tcp_t tcp;
  uv_timer_t patience;
  unsigned handles; /* open ones of the two */
  uv_write_t write;
  size_t in_len;
  char in[HTTP_HEAD_MAX + 1];
  char out[HTTP_BODY_MAX + 256];
} http_conn_t;

static void accept_waiting(http_t* http);

static void on_conn_closed(uv_handle_t* handle) {
  http_conn_t* conn = handle->data;
  if (--conn->handles > 0)
    return;
  http_t* http = conn->http;
  *conn->link = conn->next;
  if (conn->next != NULL)
    conn->next->link = conn->link;
  free(conn);
  http->conns--;
  if (http->waiting && !uv_is_closing((uv_handle_t*)&http->tcp))
    accept_waiting(http);
}

static void close_conn(http_conn_t* conn) {
  if (uv_is_closing((uv_handle_t*)&conn->tcp))
    return;
  uv_close((uv_handle_t*)&conn->tcp, on_conn_closed);
  uv_close((uv_handle_t*)&conn->patience, on_conn_closed);
}

static void on_patience(uv_timer_t* timer) {
  close_conn(timer->data);
}

static void on_written(uv_write_t* write, int status) {
  (void)status;
  close_conn(write->data);
}

static const char* reason(int status) {
  switch (status) {
  case 200:
    return "OK";
  case 400:
    return "Bad Request";
  case 404:
    return "Not Found";
  case 405:
    return "Method Not Allowed";
  case 431:
    return "Request Header Fields Too Large";
  default:
    return "Service Unavailable";
  }
}

static void send_reply(http_conn_t* conn, const http_reply_t* reply, int with_body) {
  int n = snprintf(conn->out, sizeof conn->out,
                   "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                   "%sCache-Control: no-store\r\nConnection: close\r\n\r\n",
                   reply->status, reason(reply->status), reply->type, reply->body_len,
                   reply->status == 405 ? "Allow: GET, HEAD\r\n" : "");
  if (with_body) {
    memcpy(conn->out + n, reply->body, reply->body_len);
    n += (int)reply->body_len;
  }
  uv_buf_t buf = uv_buf_init(conn->out, (unsigned)n);
  conn->write.data = conn;
  (void)uv_read_stop((uv_stream_t*)&conn->tcp);
  if (uv_write(&conn->write, (uv_stream_t*)&conn->tcp, &buf, 1, on_written) != 0)
    close_conn(conn);
}

static void refuse(http_conn_t* conn, int status) {
  http_reply_t reply = {.status = status, .type = "text/plain"};
  send_reply(conn, &reply, 1);
}

static void answer(http_conn_t* conn) {
  http_reply_t reply = {.status = 200, .type = "text/plain"};
  char* method = conn->in;
  char* target = strchr(method, ' ');
  char* version = target != NULL ? strchr(target + 1, ' ') : NULL;
  if (version == NULL || strncmp(version, " HTTP/1.", 8) != 0 || target[1] != '/') {
    refuse(conn, 400);
    return;
  }
  *target++ = *version = '\0';
  conn->http->handler(conn->http->arg, method, target, &reply);
  send_reply(conn, &reply, strcmp(method, "HEAD") != 0);
}

static void on_alloc(uv_handle_t* handle, size_t suggested, uv_buf_t* buf) {
  http_conn_t* conn = handle->data;
  (void)suggested;
  *buf = uv_buf_init(conn->in + conn->in_len, (unsigned)(HTTP_HEAD_MAX - conn->in_len));
}

static void on_read(uv_stream_t* stream, ssize_t n, const uv_buf_t* buf) {
  http_conn_t* conn = stream->data;
  (void)buf;
  if (n < 0) {
    close_conn(conn);
    return;
  }
  conn->in_len += (size_t)n;
  conn->in[conn->in_len] = '\0';
  if (strstr(conn->in, "\r\n\r\n") != NULL) {
    answer(conn);
  } else if (conn->in_len == HTTP_HEAD_MAX) {
    refuse(conn, 431);
  }
}

static void accept_waiting(http_t* http) {
  uv_loop_t* loop = http->tcp.loop;
  http_conn_t* conn = http->conns < HTTP_CONNS_MAX ? calloc(1, sizeof *conn) : NULL;
  http->waiting = conn == NULL;
  if (http->waiting)
    return; /* libuv asks for no more until this one is accepted, which is when another one ends */
  conn->http = http;
  conn->tcp.data = conn->patience.data = conn;
  if (uv_tcp_init(loop, &conn->tcp) != 0 || uv_timer_init(loop, &conn->patience) != 0)
    abort(); /* neither asks the system for anything */
  conn->handles = 2;
  conn->link = &http->first;
  conn->next = http->first;
  if (conn->next != NULL)
    conn->next->link = &conn->next;
  http->first = conn;
  http->conns++;
  if (uv_accept((uv_stream_t*)&http->tcp, (uv_stream_t*)&conn->tcp) != 0 ||
      uv_timer_start(&conn->patience, on_patience, HTTP_PATIENCE, 0) != 0 ||
      uv_read_start((uv_stream_t*)&conn->tcp, on_alloc, on_read) != 0)
    close_conn(conn);
}

static void on_connection(uv_stream_t* server, int status) {
  if (status == 0)
    accept_waiting(server->data);
}

int http_listen(http_t* http, uv_loop_t* loop, const char* ip, int port) {
  struct sockaddr_in addr;
  int err = uv_tcp_init(loop, &http->tcp);
  if (err != 0)
    return err;
  http->tcp.data = http;
  http->conns = 0;
  http->waiting = 0;
  http->first = NULL;
  err = uv_ip4_addr(ip, port, &addr);
  if (err == 0)
    err = uv_tcp_bind(&http->tcp, (const struct sockaddr*)&addr, 0);
  if (err == 0)
    err = uv_listen((uv_stream_t*)&http->tcp, 64, on_connection);
  if (err != 0)
    uv_close((uv_handle_t*)&http->tcp, NULL);
  return err;
}

int http_port(const http_t* http) {
  struct sockaddr_storage addr;
  int len = sizeof addr;
  int err = uv_tcp_getsockname(&http->tcp, (struct sockaddr*)&addr, &len);
  return err != 0 ? err : ntohs(((struct sockaddr_in*)&addr)->sin_port);
}

void http_close(http_t* http) {
  uv_close((uv_handle_t*)&http->tcp, NULL);
  for (http_conn_t* conn = http->first; conn != NULL; conn = conn->next)
    close_conn(conn);
}
