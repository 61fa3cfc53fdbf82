/* The one TCP and TLS server of the tests, on the caller's loop. It moves bytes; its owner gives
 * them a meaning: fakes3 (HTTP, S3), script_server (scripts), proxy_server (bytes of another
 * connection).
 *
 * It shares no code with src/net and src/http, which it is to test, and uses libc's heap and
 * OpenSSL directly, so that it does not disturb tests that count or fail the library's allocations.
 * Where memory or a handle is missing the program ends.
 *
 * Lifecycle: fill in the options, listen, close; the server's memory may go when `open` is 0, which
 * on_quiet tells. A connection's memory is the server's: it goes after on_closed. */
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
  int handles;   /* that are not closed */
  SSL* ssl;      /* NULL: plain */
  bool begun;    /* its first byte is here */
  bool ready;    /* connected, and shaken hands */
  bool paused;   /* is not read from */
  bool deaf;     /* what comes is thrown away */
  bool closing;  /* only on_closed is still to come */
  bool reset;    /* is to be reset when all is sent */
  size_t unsent; /* bytes that the kernel has not taken yet */
  char buf[16 * 1024];
} s3l_test_conn_t;

struct s3l_test_server_s {
  /* Set before listening; of the callbacks only on_data and on_end must be there. */
  uv_loop_t* loop;
  SSL_CTX* tls;     /* NULL: plain; the owner's */
  size_t conn_size; /* of the owner's connections, which begin with an s3l_test_conn_t */
  bool unref;       /* nothing of the server keeps the loop alive */
  void* data;
  void (*on_open)(s3l_test_conn_t* conn); /* accepted; `tls` may still be set */
  /* Whether a connection to a TLS port begins TLS; NULL: each does. It may close the connection. */
  bool (*wants_tls)(s3l_test_conn_t* conn, char first);
  void (*on_ready)(s3l_test_conn_t* conn);
  void (*on_data)(s3l_test_conn_t* conn, const char* p, size_t n);
  /* UV_EPROTO: TLS has ended, well or badly, and TCP has not. */
  void (*on_end)(s3l_test_conn_t* conn, int status);
  void (*on_sent)(s3l_test_conn_t* conn); /* `unsent` has become 0 */
  void (*on_closed)(s3l_test_conn_t* conn);
  void (*on_quiet)(s3l_test_server_t* server);

  /* To be read. */
  uint16_t port;
  unsigned accepted;
  size_t open; /* listener and connections that are not closed yet */
  s3l_list_t conns;
  size_t conns_n;
  uv_tcp_t* listener; /* NULL: not listening */
};

/** Once, before all else. */
void s3l_test_server_init(s3l_test_server_t* server, uv_loop_t* loop, size_t conn_size);

/** Listens, and writes the port into `address` where that is 0. 0 or a UV_* code. */
int s3l_test_server_listen(s3l_test_server_t* server, struct sockaddr_storage* address);

/** Stops listening; connections stay. */
void s3l_test_server_unlisten(s3l_test_server_t* server);

/** Stops listening and closes all connections, or resets them. */
void s3l_test_server_close(s3l_test_server_t* server, bool reset);

/** A connection of the server's, but to somebody else, in plain: on_ready or on_end follows. */
s3l_test_conn_t* s3l_test_server_dial(s3l_test_server_t* server, const struct sockaddr* to);

void s3l_test_conn_send(s3l_test_conn_t* conn, const char* p, size_t n);
void s3l_test_conn_pause(s3l_test_conn_t* conn, bool pause);

/** Ends our direction when all is sent; what comes is still passed on. */
void s3l_test_conn_shutdown(s3l_test_conn_t* conn);

/** Says good-bye under TLS, and closes at once. */
void s3l_test_conn_close(s3l_test_conn_t* conn);

/** With a TCP reset, soon, when all is sent. */
void s3l_test_conn_reset_sent(s3l_test_conn_t* conn);

/** Closes without a good-bye under TLS, or with a TCP reset. */
void s3l_test_conn_cut(s3l_test_conn_t* conn, bool reset);

/** Closes such that what was sent arrives: stays, deaf, until the client closes too, or for 2 s. */
void s3l_test_conn_linger(s3l_test_conn_t* conn);

#endif
