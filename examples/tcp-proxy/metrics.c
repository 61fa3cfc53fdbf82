#include "metrics.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy.h"

#define REQUEST_MAX 2048
#define PAGE_MAX    8192

typedef struct metrics_conn_s {
  metrics_t* metrics;
  struct metrics_conn_s *next, **link;
  uv_tcp_t tcp;
  uv_timer_t patience;
  unsigned handles;
  uv_write_t write;
  size_t in_len;
  char in[REQUEST_MAX + 1];
  char out[PAGE_MAX + 256];
} metrics_conn_t;

/* --- the page ------------------------------------------------------------------------------- */

static const struct {
  const char *name, *labels, *help; /* help: only where a name comes first */
  size_t at;
} counters[] = {
#define AT(field) offsetof(counters_t, field)
    {"accepted_total", "from=\"client\"", "Connections accepted.", AT(accepted_clients)},
    {"accepted_total", "from=\"proxy\"", NULL, AT(accepted_peers)},
    {"refused_total", "why=\"no_leader\"", "Connections refused.", AT(refused_hold)},
    {"refused_total", "why=\"limit\"", NULL, AT(refused_limit)},
    {"refused_total", "why=\"not_leader\"", NULL, AT(refused_peer)},
    {"refused_total", "why=\"loop\"", NULL, AT(refused_loop)},
    {"refused_total", "why=\"header\"", NULL, AT(refused_header)},
    {"closed_total", "why=\"finished\"", "Connections that have ended.", AT(finished)},
    {"closed_total", "why=\"leader_changed\"", NULL, AT(closed_moved)},
    {"closed_total", "why=\"error\"", NULL, AT(closed_error)},
    {"closed_total", "why=\"half_closed\"", NULL, AT(closed_idle)},
    {"fenced_total", "", "Writes to the backend that did not happen: not leader any more.",
     AT(closed_fenced)},
    {"dial_failures_total", "", "Connections that could not be made.", AT(dial_failures)},
    {"bytes_total", "to=\"backend\"", "Bytes passed on.", AT(bytes_up)},
    {"bytes_total", "to=\"client\"", NULL, AT(bytes_down)},
    {"leaderships_total", "", "Leaderships of this proxy.", AT(leaderships)},
#undef AT
};

typedef struct page_s {
  size_t len;
  char text[PAGE_MAX];
} page_t;

__attribute__((format(printf, 2, 3))) static void add(page_t* page, const char* format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(page->text + page->len, sizeof page->text - page->len, format, args);
  va_end(args);
  page->len += n > 0 ? (size_t)n : 0;
  if (page->len >= sizeof page->text)
    abort(); /* the page is as long as this file makes it */
}

static void add_gauge(page_t* page, const char* name, const char* help, uint64_t value) {
  add(page,
      "# HELP s3lect_proxy_%s %s\n# TYPE s3lect_proxy_%s gauge\ns3lect_proxy_%s %" PRIu64 "\n",
      name, help, name, name, value);
}

static void write_page(const proxy_t* proxy, page_t* page) {
  for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
    const char *name = counters[i].name, *labels = counters[i].labels;
    const uint64_t* value =
        (const uint64_t*)(const void*)((const char*)&proxy->counters + counters[i].at);
    if (counters[i].help != NULL)
      add(page, "# HELP s3lect_proxy_%s %s\n# TYPE s3lect_proxy_%s counter\n", name,
          counters[i].help, name);
    add(page, "s3lect_proxy_%s%s%s%s %" PRIu64 "\n", name, labels[0] != '\0' ? "{" : "", labels,
        labels[0] != '\0' ? "}" : "", *value);
  }
  add_gauge(page, "connections", "Open connections.", proxy->conns_len);
  add_gauge(page, "held", "Connections that wait for a leader.", proxy->held_len);
  add_gauge(page, "passing", "Connections that are passed on.", proxy->passing_len);
  add_gauge(page, "draining", "Connections to an earlier leader that may still answer.",
            proxy->draining_len);
  add_gauge(page, "buffered", "Blocks and pipes that wait for a slow reader.",
            proxy->buffers.used + proxy->tubes.used);
  add_gauge(page, "leader", "1: this proxy leads.",
            proxy->elector_open && s3lect_elector_is_leader(proxy->elector));
  add_gauge(page, "aside", "1: the backend is not reached, and this proxy does not stand.",
            proxy->aside);
  add_gauge(page, "route_open", "1: there is a leader, and it was reached.", proxy->route.open);
  add_gauge(page, "epoch", "Of the leader that connections go to; 0: none.", proxy->route.epoch);
}

/* --- HTTP ----------------------------------------------------------------------------------- */

static void accept_waiting(metrics_t* metrics);

static void on_conn_closed(uv_handle_t* handle) {
  metrics_conn_t* conn = handle->data;
  if (--conn->handles > 0)
    return;
  metrics_t* metrics = conn->metrics;
  *conn->link = conn->next;
  if (conn->next != NULL)
    conn->next->link = conn->link;
  free(conn);
  metrics->conns_len--;
  if (metrics->waiting && metrics->open)
    accept_waiting(metrics);
}

static void close_conn(metrics_conn_t* conn) {
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

static void reply(metrics_conn_t* conn, const char* status, const char* body) {
  int n = snprintf(conn->out, sizeof conn->out,
                   "HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4\r\n"
                   "Content-Length: %zu\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n%s",
                   status, strlen(body), body);
  uv_buf_t buf = uv_buf_init(conn->out, (unsigned)n);
  conn->write.data = conn;
  (void)uv_read_stop((uv_stream_t*)&conn->tcp);
  if (uv_write(&conn->write, (uv_stream_t*)&conn->tcp, &buf, 1, on_written) != 0)
    close_conn(conn);
}

static void answer(metrics_conn_t* conn) {
  static const char wanted[] = "GET /metrics HTTP/1.";
  page_t page = {.len = 0};
  if (strncmp(conn->in, wanted, sizeof wanted - 1) != 0) {
    reply(conn, "404 Not Found", "ask for GET /metrics\n");
    return;
  }
  write_page(conn->metrics->proxy, &page);
  reply(conn, "200 OK", page.text);
}

static void on_alloc(uv_handle_t* handle, size_t suggested, uv_buf_t* buf) {
  metrics_conn_t* conn = handle->data;
  (void)suggested;
  *buf = uv_buf_init(conn->in + conn->in_len, (unsigned)(REQUEST_MAX - conn->in_len));
}

static void on_read(uv_stream_t* stream, ssize_t n, const uv_buf_t* buf) {
  metrics_conn_t* conn = stream->data;
  (void)buf;
  if (n < 0) {
    close_conn(conn);
    return;
  }
  conn->in_len += (size_t)n;
  conn->in[conn->in_len] = '\0';
  if (strstr(conn->in, "\r\n\r\n") != NULL)
    answer(conn);
  else if (conn->in_len == REQUEST_MAX)
    reply(conn, "431 Request Header Fields Too Large", "");
}

static void accept_waiting(metrics_t* metrics) {
  uv_loop_t* loop = metrics->tcp.loop;
  metrics_conn_t* conn = metrics->conns_len < METRICS_CONNS_MAX ? calloc(1, sizeof *conn) : NULL;
  metrics->waiting = conn == NULL;
  if (metrics->waiting)
    return; /* libuv asks for no more until this one is accepted, which is when another one ends */
  conn->metrics = metrics;
  conn->tcp.data = conn->patience.data = conn;
  (void)uv_tcp_init(loop, &conn->tcp); /* neither asks the system for anything */
  (void)uv_timer_init(loop, &conn->patience);
  conn->handles = 2;
  conn->link = &metrics->conns;
  conn->next = metrics->conns;
  if (conn->next != NULL)
    conn->next->link = &conn->next;
  metrics->conns = conn;
  metrics->conns_len++;
  if (uv_accept((uv_stream_t*)&metrics->tcp, (uv_stream_t*)&conn->tcp) != 0 ||
      uv_timer_start(&conn->patience, on_patience, METRICS_PATIENCE_MS, 0) != 0 ||
      uv_read_start((uv_stream_t*)&conn->tcp, on_alloc, on_read) != 0)
    close_conn(conn);
}

static void on_connection(uv_stream_t* server, int status) {
  if (status == 0)
    accept_waiting(server->data);
}

int metrics_open(metrics_t* metrics, struct proxy_s* proxy, const char* address) {
  addr_t addr;
  int len = sizeof metrics->addr.sa;
  if (!addr_parse(address, &addr))
    return UV_EINVAL;
  int err = uv_tcp_init(proxy->loop, &metrics->tcp);
  if (err != 0)
    return err;
  metrics->tcp.data = metrics;
  metrics->proxy = proxy;
  metrics->open = true;
  err = uv_tcp_bind(&metrics->tcp, (const struct sockaddr*)&addr.sa, 0);
  if (err == 0)
    err = uv_listen((uv_stream_t*)&metrics->tcp, METRICS_CONNS_MAX, on_connection);
  if (err == 0)
    err = uv_tcp_getsockname(&metrics->tcp, (struct sockaddr*)&metrics->addr.sa, &len);
  metrics->addr.len = (socklen_t)len;
  return err;
}

void metrics_close(metrics_t* metrics) {
  if (!metrics->open)
    return;
  metrics->open = false;
  uv_close((uv_handle_t*)&metrics->tcp, NULL);
  for (metrics_conn_t* conn = metrics->conns; conn != NULL; conn = conn->next)
    close_conn(conn);
}
