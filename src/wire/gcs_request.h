/* wire/gcs_request.h: writes one request of Google Cloud Storage's XML API as an HTTP/1.1 request.
 *
 * The API takes x-goog-* headers and, as "simple migration", x-amz-* headers; it ignores S3's
 * conditions on writes and refuses requests with headers of both kinds. So all headers here are
 * x-goog-*, and the condition of a write is the object's generation: a number that the store gives
 * to each write, and never twice.
 *
 * Requests with an HMAC key are signed with GOOG4-HMAC-SHA256, conditions included. Requests with
 * an OAuth token have it as their authorization, and no signature.
 *
 * The API has no condition of a read on the generation: a reader compares the generation that the
 * reply names. Objects are written with "cache-control: no-store": otherwise the store's own caches
 * serve an object that everybody may read for an hour after it has changed. */
#ifndef S3L_WIRE_GCS_REQUEST_H
#define S3L_WIRE_GCS_REQUEST_H

#include "wire/draft.h"

/** Writes the request for `time_ms`. Of `target` it uses host, bucket, user agent, origin and proxy
 * authorization. `keys` are an HMAC key (access_key, secret) or a token alone. `request` may be a
 * GET, a PUT, a DELETE or a LIST (not of versions); its if_match is the generation that the object
 * must have, "0" for none, and only writes may have it. Returns as s3l_s3_request_write. */
int s3l_gcs_request_write(s3l_signer_t* signer, const s3l_s3_target_t* target,
                          const s3l_s3_keys_t* keys, const s3l_s3_request_t* request,
                          int64_t time_ms, char* buf, size_t cap, size_t* len);

/** Whether the text is a generation: digits of a number up to 2^63 - 1, without leading zeros, and
 * not "0", which stands for no object. */
bool s3l_gcs_is_generation(s3l_span_t text);

#endif
