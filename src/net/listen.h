/* net/listen.h: a listening TCP socket.
 *
 * Not uv_listen: that takes all connections that wait in one go, which a flood can make last, and
 * where file descriptors have run out it throws waiting connections away, or spins. Here each turn
 * of the loop takes S3L_LISTEN_ACCEPTS at most, and what has run out is waited for.
 *
 * Addresses are numeric: nothing is looked up, since a listening socket must not depend on DNS.
 *
 * Lifecycle: parse, open and start; close; the memory is free in on_closed. The port is let go of
 * inside close. */
#ifndef S3L_NET_LISTEN_H
#define S3L_NET_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "loop/loop.h"
#include "net/dial.h"
#include "util/span.h"

/* Connections taken in one turn of the loop. */
#define S3L_LISTEN_ACCEPTS 32

/* How long it pauses when there is no descriptor, or no memory, for another connection. */
#define S3L_LISTEN_PAUSE_MS 100

/* As node and nginx have it; the kernel's own bound (somaxconn) may be lower. */
#define S3L_LISTEN_BACKLOG 511

typedef struct s3l_listener_s s3l_listener_t;

struct s3l_listener_s {
  /* Set by the owner before start. */
  /* false: the connection, from this address, is closed at once */
  bool (*admit)(s3l_listener_t* l, const s3l_address_t* from);
  void (*on_accept)(s3l_listener_t* l, uv_tcp_t* tcp,
                    const s3l_address_t* from);   /* given back with s3l_tcp_close */
  void (*on_pause)(s3l_listener_t* l, int error); /* UV_EMFILE, ...: it pauses */
  void (*on_closed)(s3l_listener_t* l);

  /* For the owner to read, once started. */
  s3l_address_t address; /* with the port that was given for port 0 */

  /* Private. */
  s3l_loop_t* loop;
  s3l_deadline_t resume;
  uv_poll_t poll;
  int fd;
  bool closing;
};

/** Reads "10.0.0.1:8443", "[::1]:8443", "localhost:8443" (127.0.0.1), or ":8443" and "*:8443" (all
 * addresses of the machine, of both families where it has both). Port 0: a free one. On failure
 * *reason is text that fits behind the value. */
bool s3l_listen_parse(s3l_span_t text, s3l_address_t* out, const char** reason);

/** Binds the socket. Errors, with nothing to close: UV_EADDRINUSE, UV_EACCES, UV_EADDRNOTAVAIL, ...
 */
int s3l_listen_open(s3l_listener_t* l, const s3l_address_t* address);

/** Accepts connections on a socket that is open; on failure it is closed. */
int s3l_listen_start(s3l_listener_t* l, s3l_loop_t* loop);

/** Closes a socket that is open and has not been started. */
void s3l_listen_drop(s3l_listener_t* l);

/** Whether it keeps the loop alive (default yes). */
void s3l_listen_ref(s3l_listener_t* l, bool keep_alive);

void s3l_listen_close(s3l_listener_t* l);

#endif
