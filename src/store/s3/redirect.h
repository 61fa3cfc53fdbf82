/* store/s3/redirect.h: where a 307 sends a request, for this once.
 *
 * A request carries what opens the bucket, so it follows to few places only: by the same scheme, to
 * the endpoint's own host or one below it (of AWS: S3's host in the same region), for the same
 * object. There it is signed anew, since the host's name is part of the signature. Redirects that
 * name another region are no matter of this file: that is learned for good (s3_mend.h). */
#ifndef S3L_STORE_S3_REDIRECT_H
#define S3L_STORE_S3_REDIRECT_H

#include <stdbool.h>

#include "store/s3/endpoint.h"
#include "util/span.h"

/** `location` is the header's value, `key` empty for a listing. False: not to be followed. */
bool s3l_s3_redirect(const s3l_s3_endpoint_t* from, s3l_span_t location, s3l_span_t key,
                     s3l_s3_endpoint_t* to);

#endif
