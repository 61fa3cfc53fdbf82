/* net/tcp.h: uv_tcp_t on the heap, so that a connection can change hands while it is open. */
#ifndef S3L_NET_TCP_H
#define S3L_NET_TCP_H

#include <uv.h>

/** A TCP handle with TCP_NODELAY: what we exchange is small and answered at once, and waiting to
 * fill a segment only adds delay. NULL: out of memory (or of file descriptors). */
uv_tcp_t* s3l_tcp_new(uv_loop_t* loop);

/** Closes and frees it. `cb`, if not NULL, runs when it is closed and before it is freed; `data` of
 * the handle is then as it was set. */
void s3l_tcp_close(uv_tcp_t* tcp, uv_close_cb cb);

#endif
