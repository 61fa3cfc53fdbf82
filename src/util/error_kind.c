#include "util/error_kind.h"

#include <errno.h>

#include "s3lect/errno.h"

typedef enum { ANSWER, TRANSIENT, LASTING } kind_t;

static kind_t kind_of(int code) {
  switch (code) {
#define XX(name, value, kind, text)                                                                \
  case value:                                                                                      \
    return kind;
    S3LECT_ERRNO_MAP(XX)
#undef XX
  case 0:
  case -ECANCELED:
    return ANSWER;
  case -EINVAL:
  case -ENOSYS:  /* a user-written store without this operation */
  case -ENOBUFS: /* the request does not fit into a buffer of its connection */
    return LASTING;
  default:
    return TRANSIENT;
  }
}

bool s3l_error_is_transient(int code) {
  return kind_of(code) == TRANSIENT;
}

bool s3l_error_is_lasting(int code) {
  return kind_of(code) == LASTING;
}
