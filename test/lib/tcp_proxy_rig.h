/* test/lib/tcp_proxy_rig.h: examples/tcp-proxy as processes, and sockets that act as their clients
 * and backends.
 *
 * All sockets are blocking; a wait of more than PROC_PATIENCE_MS fails the test. */
#ifndef TEST_LIB_TCP_PROXY_RIG_H
#define TEST_LIB_TCP_PROXY_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/s3proc.h"

#define TCP_PROXY(build_dir) build_dir "/examples/tcp-proxy/example-tcp-proxy"

typedef struct tcp_proxy_s {
  proc_t* proc;
  const char* id;
  int clients, peers, metrics; /* ports */
} tcp_proxy_t;

/** Starts one that goes by the store of `s3`, on ports of its own, and waits until it listens.
 * `more` ends with NULL, or is NULL; `env` as in proc_spawn. */
void tcp_proxy_start(s3proc_t* s3, tcp_proxy_t* proxy, const char* id, int backend,
                     const char* const* more, const char* const* env);
/** Waits until it leads and reaches its backend; returns its epoch. */
uint64_t tcp_proxy_leads(tcp_proxy_t* proxy);
/** Waits until it has reached the leader's proxy, of that epoch. */
void tcp_proxy_follows(tcp_proxy_t* proxy, const tcp_proxy_t* leader, uint64_t epoch);
/** A number of its page of metrics: a whole name, labels included. */
uint64_t tcp_proxy_metric(const tcp_proxy_t* proxy, const char* name);
/** Waits until that number is as large. */
void tcp_proxy_await_metric(s3proc_t* s3, const tcp_proxy_t* proxy, const char* name,
                            uint64_t value);
/** Ends it with SIGTERM: it must end well. */
void tcp_proxy_stop(tcp_proxy_t* proxy);
/** Replaces the record by that of a leader at 127.0.0.1:`port`. */
void tcp_proxy_put_leader(s3proc_t* s3, int port, uint64_t epoch);

/** Two proxies on one lockfile in a file: a leads, b follows. Each has a listening backend. */
typedef struct tcp_proxy_pair_s {
  s3proc_t s3;
  tcp_proxy_t leader, follower;
  int backend, idle_backend; /* the leader's and the follower's */
  uint64_t epoch;
} tcp_proxy_pair_t;

void tcp_proxy_pair_begin(tcp_proxy_pair_t* pair, const char* build_dir,
                          const char* const* leader_more, const char* const* follower_more);
/** No connection must have reached the follower's backend. */
void tcp_proxy_pair_end(tcp_proxy_pair_t* pair);

/** A connection through a proxy: both of its ends. */
typedef struct tcp_proxy_link_s {
  int client, upstream;
} tcp_proxy_link_t;

/** Connects by that proxy; the connection must arrive at the backend. */
tcp_proxy_link_t tcp_proxy_connect(const tcp_proxy_t* proxy, int backend);
void tcp_proxy_close_link(tcp_proxy_link_t link);

/** A socket that listens on loopback, on a port of its own, with a backlog of `backlog`. */
int sock_listen(int* port, int backlog);
int sock_listen_at(int port, int backlog);
/** A port that was free just now. */
int sock_free_port(void);
int sock_accept(int listener);
/** The next connection on which a client sends something. Proxies probe their backends by
 * connections on which they send nothing; these are closed. */
int sock_accept_speaking(int listener);
/** Whether no connection is waiting to be accepted. */
bool sock_none_waits(int listener);
/** Connected to loopback, or -1 if that was refused. */
int sock_connect(int port);
void sock_send(int fd, const void* bytes, size_t len);
/** Exactly so many bytes. */
void sock_recv(int fd, void* bytes, size_t len);
/** Exactly this text. */
void sock_expect(int fd, const char* text);
/** Sends `text`, and expects it on the other socket, with nothing around it. */
void sock_expect_text(int from, int to, const char* text);
typedef enum { SOCK_END, SOCK_RESET, SOCK_DATA } sock_event_t;
/** Waits for what comes next: the end (FIN), a reset, or bytes, which are left there. */
sock_event_t sock_next(int fd);
/** The same without waiting: whether nothing has come. */
bool sock_is_quiet(int fd);
void sock_end_sending(int fd);
void sock_reset(int fd);

#endif
