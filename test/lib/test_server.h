/* The TCP and TLS server under the test servers, on the caller's loop. It moves bytes, and its
 * owner interprets them: fakes3 (HTTP, S3), script_server (scripts), proxy_server (forwards them).
 *
 * It shares no code with src/net and src/http, which it tests, and uses libc's heap and OpenSSL
 * directly, so that it does not disturb tests that count or fail the library's allocations. If it
 * gets no memory or no handle, the program ends. fakes3/fakes3.h lists the functions of libuv that
 * it calls, for simulators.
 *
 * Lifecycle: set the options, listen, close. The server's memory may be freed when `open` is 0;
 * on_quiet runs whenever `open` has decreased. The server frees a connection after on_closed. */
#ifndef S3L_TEST_SERVER_H
#define S3L_TEST_SERVER_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "util/list.h"

typedef struct s3l_test_server_s s3l_test_server_t;

typedef struct s3l_test_conn_s {
  s3l_list_t link;
  s3l_test_server_t* server;
  uv_tcp_t tcp;
  uv_timer_t linger;
  uv_connect_t connect;
  uv_shutdown_t shutdown;
  int handles;   /* not closed yet */
  SSL* ssl;      /* NULL: plain */
  bool begun;    /* the first byte has been received */
  bool ready;    /* connected; with TLS, the handshake is complete */
  bool paused;   /* reading has stopped */
  bool deaf;     /* received bytes are discarded */
  bool closing;  /* of the callbacks only on_closed still runs */
  bool reset;    /* reset the connection when all is sent */
  size_t unsent; /* bytes that the kernel has not taken yet */
} s3l_test_conn_t;

struct s3l_test_server_s {
  /* Set before listening. Of the callbacks only on_data and on_end are required. */
  uv_loop_t* loop;
  SSL_CTX* tls;     /* NULL: plain; the owner's */
  size_t conn_size; /* of the owner's connections, which begin with an s3l_test_conn_t */
  bool unref;       /* the server does not keep the loop alive */
  void* data;
  void (*on_open)(s3l_test_conn_t* conn); /* accepted; `tls` may still be set */
  /* Whether a connection to a TLS port begins with TLS; NULL: always. May close the connection. */
  bool (*wants_tls)(s3l_test_conn_t* conn, char first);
  void (*on_ready)(s3l_test_conn_t* conn);
  void (*on_data)(s3l_test_conn_t* conn, const char* p, size_t n);
  /* UV_EPROTO: TLS has ended, in order or not, but TCP has not. */
  void (*on_end)(s3l_test_conn_t* conn, int status);
  void (*on_sent)(s3l_test_conn_t* conn); /* `unsent` has become 0 */
  void (*on_closed)(s3l_test_conn_t* conn);
  void (*on_quiet)(s3l_test_server_t* server);

  /* For the owner to read. */
  uint16_t port;
  unsigned accepted;
  size_t open; /* the listener and the connections that are not closed yet */
  s3l_list_t conns;
  size_t conns_n;
  uv_tcp_t* listener; /* NULL: not listening */

  char buf[16 * 1024]; /* what is being read */
};

/** Call first, once. */
void s3l_test_server_init(s3l_test_server_t* server, uv_loop_t* loop, size_t conn_size);

/** Listens; replaces port 0 in `address` by the one that was chosen. 0 or a UV_* code. */
int s3l_test_server_listen(s3l_test_server_t* server, struct sockaddr_storage* address);

/** Stops listening; connections stay. */
void s3l_test_server_unlisten(s3l_test_server_t* server);

/** Stops listening and closes all connections, or resets them. */
void s3l_test_server_close(s3l_test_server_t* server, bool reset);

/** Opens a plain connection to another server; on_ready or on_end follows. */
s3l_test_conn_t* s3l_test_server_dial(s3l_test_server_t* server, const struct sockaddr* to);

void s3l_test_conn_send(s3l_test_conn_t* conn, const char* p, size_t n);
void s3l_test_conn_pause(s3l_test_conn_t* conn, bool pause);

/** Shuts down the sending side when all is sent; on_data still runs. */
void s3l_test_conn_shutdown(s3l_test_conn_t* conn);

/** Sends close_notify with TLS, and closes at once. */
void s3l_test_conn_close(s3l_test_conn_t* conn);

/** Resets the connection when all is sent; never within this call. */
void s3l_test_conn_reset_sent(s3l_test_conn_t* conn);

/** Closes without close_notify; `reset`: with a TCP reset. */
void s3l_test_conn_cut(s3l_test_conn_t* conn, bool reset);

/** Closes so that all that was sent arrives: discards input until the client closes, or for 2 s. */
void s3l_test_conn_linger(s3l_test_conn_t* conn);

#endif
