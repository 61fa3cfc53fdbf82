/* store/s3/redirect.h: where a temporary redirect (307) sends a request.
 *
 * A request carries credentials, so the store follows it to few places only: by the same scheme and
 * port, to the endpoint's own host or a subdomain of it (on AWS: to S3's host in the same region),
 * for the same object. The request is signed again, since the signature covers the host's name.
 * Redirects that name another region are handled in recovery.h. */
#ifndef S3L_STORE_S3_REDIRECT_H
#define S3L_STORE_S3_REDIRECT_H

#include <stdbool.h>

#include "store/s3/endpoint.h"
#include "util/span.h"

/** `location` is the header's value; `key` is empty for a listing. False: the store does not
 * follow. */
bool s3l_s3_redirect(const s3l_s3_endpoint_t* from, s3l_span_t location, s3l_span_t key,
                     s3l_s3_endpoint_t* to);

#endif
