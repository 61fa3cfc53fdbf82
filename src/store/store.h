/* store/store.h: what the stores of this library have in common. */
#ifndef S3L_STORE_STORE_H
#define S3L_STORE_STORE_H

#include "s3lect/store.h"
#include "util/assert.h"

#define S3L_STORE_KEY_MAX          1024 /* bytes: the S3 limit */
#define S3L_STORE_BODY_MAX_DEFAULT 65536

/** The bound on a body that is read: the request's, or the default. */
uint32_t s3l_store_body_max(const s3lect_store_req_t* req);

/** Why the request is not carried out on an object with this ETag (NULL: there is no object): 0,
 * S3LECT_ENOTFOUND, S3LECT_EPRECONDITION or S3LECT_ENOTMODIFIED. */
int s3l_store_check_condition(const s3lect_store_req_t* req, const char* etag);

/** Sets the result's status, and by it the outcome: S3LECT_SETTLED if the status is an answer about
 * the object, else S3LECT_NOT_APPLIED. */
void s3l_store_settle(s3lect_store_result_t* result, int status);

/** The request's scratch space as untyped memory. It is a function in another file, so that the
 * compiler cannot assume the array type of the public header (strict aliasing). */
void* s3l_store_req_scratch(s3lect_store_req_t* req);

/** A store's own state of one request, kept in the request's scratch space. */
#define S3L_STORE_REQ_STATE(req, type) ((type*)s3l_store_req_scratch(req))
#define S3L_STORE_REQ_STATE_FITS(type)                                                             \
  S3L_STATIC_ASSERT(sizeof(type) <= sizeof(((s3lect_store_req_t*)0)->internal),                    \
                    "a request's state must fit in its scratch space")

#endif
