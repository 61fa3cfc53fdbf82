/* dial: a connection that is being made: to a backend, or to the leader's proxy, which is asked
 * before anything is passed on (header.h). */
#ifndef TCP_PROXY_DIAL_H
#define TCP_PROXY_DIAL_H

#include <uv.h>

#include "end.h"
#include "header.h"

typedef struct dial_s dial_t;
/** Runs once, unless dial_close comes first. 0: connected, and the other proxy leads; dial->end may
 * be used. Else why not: UV_ETIMEDOUT, UV_ECONNREFUSED, ...; UV_EPROTO: what is there is no proxy
 * of ours; UV_EAGAIN: it is, but does not lead, or reaches no backend. Still to be closed. */
typedef void (*dial_cb)(dial_t* dial, int err);

struct dial_s {
  end_t end; /* end.owner and timer.data are the owner */
  uv_timer_t timer;
  dial_cb cb;
  bool asks; /* an answer is wanted */
  uint64_t epoch;
  size_t out_len, in_len;
  uint8_t out[HEADER_MAX];
  uint8_t in[ANSWER_SIZE];
};

/** Connects. `header`: what to ask another proxy; NULL: nothing. After success dial_close must be
 * called. Errors, with nothing to close: the system's for a socket. */
int dial_start(dial_t* dial, uv_loop_t* loop, void* owner, const addr_t* to, uint32_t timeout_ms,
               const header_t* header, dial_cb cb);
/** Closes both handles; `cb` runs for each. */
void dial_close(dial_t* dial, bool reset, uv_close_cb cb);

/** Whether such an error is this process's own (no sockets, no ports, no memory) rather than the
 * other side's. */
bool dial_is_local_error(int err);

#endif
