/* end: one socket, watched on the loop.
 *
 * The proxy reads and writes its sockets itself and has libuv tell when they are ready (uv_poll_t),
 * in place of handing bytes to uv_write: what is queued there is written later, by the loop,
 * without a question. Here the last thing before each byte that goes to a backend is the question
 * whether this process still leads. */
#ifndef TCP_PROXY_END_H
#define TCP_PROXY_END_H

#include <stdbool.h>
#include <uv.h>

#include "addr.h"

typedef struct end_s end_t;
/** `error`: the socket has failed, and is watched no more; what came before may still be read. */
typedef void (*end_cb)(end_t* end, int error, int events);

struct end_s {
  uv_poll_t poll;
  void* owner;
  void* pass; /* pass.c's */
  end_cb cb;
  int fd;
  int events; /* that are watched */
  bool near;  /* the other side is on this machine */
  bool told;  /* pass.c's: of a failure, or of urgent data, while nothing else was wanted */
};

/** Takes the socket over; closes it on an error. */
int end_open(end_t* end, uv_loop_t* loop, int fd, void* owner);
/** What to watch from here on: UV_READABLE, UV_WRITABLE, UV_DISCONNECT; 0: nothing. */
void end_watch(end_t* end, int events, end_cb cb);
/** Closes the socket now, and the handle, which ends with `cb` (handle->data is the owner). A reset
 * also throws away what the kernel has not sent yet, and tells the other side that this was no
 * regular end. */
void end_close(end_t* end, bool reset, uv_close_cb cb);
/** Tells the other side of a socket that this is no regular end, and closes it. */
void end_reset_fd(int fd);

/** A listening socket, or a negative code. */
int end_listen(const addr_t* addr);
/** The address that a socket is bound to, or connected to. */
void end_local(int fd, addr_t* addr);
void end_remote(int fd, addr_t* addr);
/** What every connection is set to; `peer` is the other side. */
void end_tune(end_t* end, const addr_t* peer);
/** Right before each of many reads of as much as there is: see end.c. */
void end_expect_much(end_t* end);

#endif
