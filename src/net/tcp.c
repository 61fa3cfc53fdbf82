/* net/tcp.c: see tcp.h. */
#include "net/tcp.h"

#include <stddef.h>

#include "util/list.h"
#include "util/mem.h"

typedef struct tcp_s {
  uv_tcp_t uv;
  uv_close_cb close_cb;
} tcp_t;

uv_tcp_t* s3l_tcp_new(uv_loop_t* loop) {
  tcp_t* t = s3l_calloc(1, sizeof(*t));
  if (t == NULL)
    return NULL;
  if (uv_tcp_init(loop, &t->uv) != 0) {
    s3l_free(t);
    return NULL;
  }
  /* Without a socket yet this sets a flag, and cannot fail. */
  (void)uv_tcp_nodelay(&t->uv, 1);
  return &t->uv;
}

static void on_closed(uv_handle_t* handle) {
  tcp_t* t = S3L_CONTAINER_OF(handle, tcp_t, uv);
  if (t->close_cb != NULL)
    t->close_cb(handle);
  s3l_free(t);
}

void s3l_tcp_close(uv_tcp_t* tcp, uv_close_cb cb) {
  tcp_t* t = S3L_CONTAINER_OF(tcp, tcp_t, uv);
  t->close_cb = cb;
  uv_close((uv_handle_t*)tcp, on_closed);
}
