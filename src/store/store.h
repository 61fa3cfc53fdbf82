/* store/store.h: what the stores of this library have in common. */
#ifndef S3L_STORE_STORE_H
#define S3L_STORE_STORE_H

#include "s3lect/store.h"
#include "util/assert.h"

#define S3L_STORE_KEY_MAX          1024 /* bytes: the S3 limit */
#define S3L_STORE_BODY_MAX_DEFAULT 65536

typedef enum {
  S3L_STORE_GET = 0,
  S3L_STORE_PUT = 1,
  S3L_STORE_DEL = 2,
  S3L_STORE_LIST = 3,
} s3l_store_op_t;

/** The bound on a body that is read: the request's, or the default. */
uint32_t s3l_store_body_max(const s3lect_store_req_t* req);

/** A result of that status and outcome with all else zero. */
s3lect_store_result_t s3l_store_result(int status, int outcome);

/** The request's scratch space as untyped memory. It is a function in another file, so that the
 * compiler cannot assume the array type of the public header (strict aliasing). */
void* s3l_store_req_scratch(s3lect_store_req_t* req);

/** A store's own state of one request, kept in the request's scratch space. */
#define S3L_STORE_REQ_STATE(req, type) ((type*)s3l_store_req_scratch(req))
#define S3L_STORE_REQ_STATE_FITS(type)                                                             \
  S3L_STATIC_ASSERT(sizeof(type) <= sizeof(((s3lect_store_req_t*)0)->internal),                    \
                    "a request's state must fit in its scratch space")

#endif
