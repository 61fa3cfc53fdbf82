/* wire/s3_request.h: writes one signed S3 request as an HTTP/1.1 request.
 *
 * Every header that decides what the store does is signed, conditions included: if a middlebox
 * strips If-Match, the store refuses the request instead of writing unconditionally. The body is
 * hashed and sent with Content-Length: no chunks, no Expect, no checksums in trailers. Values with
 * CR, LF or NUL are refused (header injection). */
#ifndef S3L_WIRE_S3_REQUEST_H
#define S3L_WIRE_S3_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "wire/draft.h"

/** Writes the request, signed for `time_ms`. 0 and *len; S3LECT_EOPTION if a value cannot be sent,
 * or S3LECT_ETOOBIG if it does not fit. */
int s3l_s3_request_write(s3l_signer_t* signer, const s3l_s3_target_t* target,
                         const s3l_s3_keys_t* keys, const s3l_s3_request_t* request,
                         int64_t time_ms, char* buf, size_t cap, size_t* len);

#endif
