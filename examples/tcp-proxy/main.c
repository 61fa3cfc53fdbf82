/* tcp-proxy: a TCP proxy that knows who leads. One runs beside each replica of a service; clients
 * connect to any of them, and reach the leader's replica. See README.md.
 *
 * Prints a line for what happens. SIGTERM or SIGINT end it: leadership first, then the connections
 * (--drain), then the release of the record; a second one ends it at once. */
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "conn.h"
#include "election.h"
#include "health.h"
#include "listener.h"
#include "metrics.h"
#include "proxy.h"

#define CONNECTIONS_DEFAULT 10000

typedef struct program_s {
  proxy_t proxy;
  uv_loop_t loop;
  uv_signal_t signals[2];
  listener_t clients, peers;
  metrics_t metrics;
  election_t election;
  health_t health;
} program_t;

/* --- ending --------------------------------------------------------------------------------- */

static void end_program(program_t* program) {
  proxy_t* proxy = &program->proxy;
  proxy->ending = true;
  for (size_t i = 0; i < 2; i++)
    uv_unref((uv_handle_t*)&program->signals[i]);
  listener_close(&program->clients);
  listener_close(&program->peers);
  metrics_close(&program->metrics);
  health_close(&program->health);
  if (proxy->elector_open)
    election_close(&program->election); /* is_leader is false from here on */
  route_to_nobody(&proxy->route);
  route_close(&proxy->route);
  conns_end_held(proxy);
}

static void on_signal(uv_signal_t* handle, int signum) {
  program_t* program = handle->data;
  (void)signum;
  if (program->proxy.ending)
    conns_reset(&program->proxy);
  else
    end_program(program);
}

static void close_handle(uv_handle_t* handle, void* arg) {
  (void)arg;
  if (!uv_is_closing(handle))
    uv_close(handle, NULL);
}

/* --- setting up ----------------------------------------------------------------------------- */

static int complain(const char* option, const char* value, int err) {
  fprintf(stderr, "example-tcp-proxy: %s %s: %s\n", option, value, uv_strerror(err));
  return err;
}

static int open_listeners(program_t* program) {
  const options_t* options = &program->proxy.options;
  int err = listener_open(&program->clients, &program->proxy, options->listen, false);
  if (err != 0)
    return complain("--listen", options->listen, err);
  err = listener_open(&program->peers, &program->proxy, options->peer_listen, true);
  if (err != 0)
    return complain("--peer-listen", options->peer_listen, err);
  if (options->metrics_listen == NULL)
    return 0;
  err = metrics_open(&program->metrics, &program->proxy, options->metrics_listen);
  return err != 0 ? complain("--metrics-listen", options->metrics_listen, err) : 0;
}

static void print_addresses(const program_t* program) {
  char clients[ADDR_TEXT_SIZE], peers[ADDR_TEXT_SIZE], metrics[ADDR_TEXT_SIZE];
  addr_format(&program->clients.addr, clients);
  addr_format(&program->peers.addr, peers);
  printf("listening: clients %s, proxies %s", clients, peers);
  if (program->metrics.open) {
    addr_format(&program->metrics.addr, metrics);
    printf(", metrics %s", metrics);
  }
  printf("\n");
}

static int start(program_t* program) {
  static const int signums[] = {SIGTERM, SIGINT};
  proxy_t* proxy = &program->proxy;
  char addr[ADDR_TEXT_SIZE];
  int err = route_init(&proxy->route, proxy);
  for (size_t i = 0; err == 0 && i < 2; i++) {
    program->signals[i].data = program;
    err = uv_signal_init(&program->loop, &program->signals[i]);
    if (err == 0)
      err = uv_signal_start(&program->signals[i], on_signal, signums[i]);
  }
  if (err != 0)
    return complain("signals", "", err);
  err = open_listeners(program);
  if (err != 0)
    return err;
  addr_format(&program->peers.addr, addr);
  const char* advertise = proxy->options.advertise;
  err = election_start(&program->election, proxy, advertise != NULL ? advertise : addr);
  if (err == 0)
    err = health_start(&program->health, &program->election);
  if (err == 0)
    print_addresses(program);
  return err;
}

/* Each connection takes two sockets, and the store must always find one: a proxy that ran out of
 * open files would lose its leadership to whoever opens enough connections. */
static int fit_connections(options_t* options) {
  const rlim_t others = 64 + 2 * TUBES_MAX;
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return UV_EIO;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
  rlim_t most = limit.rlim_cur == RLIM_INFINITY ? UINT32_MAX
                : limit.rlim_cur > others + 2   ? (limit.rlim_cur - others) / 2
                                                : 1;
  if (options->max_connections > most) {
    fprintf(
        stderr,
        "example-tcp-proxy: --max-connections %u: %llu open files allow no more than %llu: raise "
        "the limit (ulimit -n), or lower this\n",
        options->max_connections, (unsigned long long)limit.rlim_cur, (unsigned long long)most);
    return UV_EMFILE;
  }
  if (options->max_connections == 0)
    options->max_connections = most < CONNECTIONS_DEFAULT ? (uint32_t)most : CONNECTIONS_DEFAULT;
  return 0;
}

int main(int argc, char** argv) {
  static program_t program; /* its handles must not move */
  proxy_t* proxy = &program.proxy;
  int status = 0;
  if (options_read(&proxy->options, argc, argv, &status) != 0)
    return status;
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (fit_connections(&proxy->options) != 0)
    return 2;
  (void)signal(SIGPIPE, SIG_IGN); /* splice has no MSG_NOSIGNAL */
  if (uv_loop_init(&program.loop) != 0)
    return 1;
  proxy->loop = &program.loop;
  proxy->buffers.size = proxy->options.buffer_bytes;
  if (start(&program) != 0) {
    status = 1;
    end_program(&program);
  }
  (void)uv_run(&program.loop, UV_RUN_DEFAULT);
  uv_walk(&program.loop, close_handle, NULL);
  (void)uv_run(&program.loop, UV_RUN_DEFAULT);
  buffers_end(&proxy->buffers);
  tubes_end(&proxy->tubes);
  return uv_loop_close(&program.loop) != 0 ? 1 : status;
}
