/* net/resolve.h: one name look-up through uv_getaddrinfo, that can be abandoned.
 *
 * getaddrinfo runs on libuv's thread pool and cannot be stopped once it runs. An abandoned look-up
 * therefore goes on by itself: it knows nothing of its owner any more and frees itself when it
 * ends. */
#ifndef S3L_NET_RESOLVE_H
#define S3L_NET_RESOLVE_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

typedef struct s3l_resolve_s s3l_resolve_t;

/** `found` is valid during the call only; NULL unless status is 0. Else status is UV_EAI_*. */
typedef void (*s3l_resolve_cb)(void* arg, int status, const struct addrinfo* found);

/** Looks up a host name for TCP. The callback runs later, once, unless the look-up is abandoned
 * before; then *out is gone. Errors: UV_ENOMEM, UV_EINVAL (a name that cannot be one). */
int s3l_resolve_start(uv_loop_t* loop, const char* host, uint16_t port, s3l_resolve_cb cb,
                      void* arg, s3l_resolve_t** out);

void s3l_resolve_abandon(s3l_resolve_t* r);

#endif
