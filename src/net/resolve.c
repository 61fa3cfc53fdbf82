/* net/resolve.c: see resolve.h. */
#include "net/resolve.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <netdb.h>

#include "util/list.h"
#include "util/mem.h"

struct s3l_resolve_s {
  uv_getaddrinfo_t req;
  s3l_resolve_cb cb; /* NULL: abandoned */
  void* arg;
};

static void on_found(uv_getaddrinfo_t* req, int status, struct addrinfo* found) {
  s3l_resolve_t* r = S3L_CONTAINER_OF(req, s3l_resolve_t, req);
  s3l_resolve_cb cb = r->cb;
  void* arg = r->arg;
  s3l_free(r);
  if (cb != NULL)
    cb(arg, status, status == 0 ? found : NULL);
  uv_freeaddrinfo(found);
}

int s3l_resolve_start(uv_loop_t* loop, const char* host, uint16_t port, s3l_resolve_cb cb,
                      void* arg, s3l_resolve_t** out) {
  /* No AI_ADDRCONFIG: glibc does not count loopback addresses, so that "localhost" would lose ::1.
   * An address of a family that the machine lacks fails at once and the next one is tried. */
  struct addrinfo hints = {.ai_family = AF_UNSPEC,
                           .ai_socktype = SOCK_STREAM,
                           .ai_protocol = IPPROTO_TCP,
                           .ai_flags = AI_NUMERICSERV};
  char service[8];
  s3l_resolve_t* r = s3l_calloc(1, sizeof(*r));
  if (r == NULL)
    return UV_ENOMEM;
  r->cb = cb;
  r->arg = arg;
  snprintf(service, sizeof(service), "%u", (unsigned)port);
  int rc = uv_getaddrinfo(loop, &r->req, on_found, host, service, &hints);
  if (rc != 0) {
    s3l_free(r);
    return rc;
  }
  *out = r;
  return 0;
}

void s3l_resolve_abandon(s3l_resolve_t* r) {
  r->cb = NULL;
  (void)uv_cancel((uv_req_t*)&r->req); /* UV_EBUSY: it runs already, and frees itself at its end */
}
