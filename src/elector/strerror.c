/* elector/strerror.c: error codes in words. libuv's own functions allocate, and leak, for a code
 * that they do not know, so that they are only asked about codes that they do. */
#include <uv.h>

#include "s3lect/errno.h"

static int known_to_uv(int err) {
  switch (err) {
#define XX(name, text) case UV_##name:
    UV_ERRNO_MAP(XX)
#undef XX
    return 1;
  default:
    return 0;
  }
}

const char* s3lect_strerror(int err) {
  switch (err) {
  case 0:
    return "success";
#define XX(name, value, kind, text)                                                                \
  case S3LECT_##name:                                                                              \
    return text;
    S3LECT_ERRNO_MAP(XX)
#undef XX
  case UV_EALREADY: /* libuv's text is about sockets */
    return "already done";
  default:
    return known_to_uv(err) ? uv_strerror(err) : "unknown error code";
  }
}

const char* s3lect_err_name(int err) {
  switch (err) {
  case 0:
    return "OK";
#define XX(name, value, kind, text)                                                                \
  case S3LECT_##name:                                                                              \
    return #name;
    S3LECT_ERRNO_MAP(XX)
#undef XX
  default:
    return known_to_uv(err) ? uv_err_name(err) : "UNKNOWN";
  }
}
