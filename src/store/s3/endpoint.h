/* store/s3/endpoint.h: where the requests of an S3 store go: region, host and addressing style.
 *
 * AWS's host follows from the region, so a change of region changes the host. A custom endpoint
 * keeps its host; only the region in signatures changes. */
#ifndef S3L_STORE_S3_ENDPOINT_H
#define S3L_STORE_S3_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "s3lect/store.h"
#include "util/error.h"
#include "util/span.h"

#define S3L_S3_HOST_MAX   254 /* with its NUL */
#define S3L_S3_BUCKET_MAX 256 /* with its NUL */
#define S3L_S3_REGION_MAX 64  /* with its NUL */

typedef struct s3l_s3_endpoint_s {
  bool aws;       /* AWS's own host in the region */
  bool dualstack; /* of AWS: the host that has IPv6 addresses too */
  bool express;   /* the bucket is a directory bucket (S3 Express One Zone) */
  bool path_style;
  bool tls;
  uint16_t port;
  char host[S3L_S3_HOST_MAX];            /* what is connected to */
  char host_header[S3L_S3_HOST_MAX + 8]; /* the same with brackets and port where they belong */
  char bucket[S3L_S3_BUCKET_MAX];
  char region[S3L_S3_REGION_MAX];
} s3l_s3_endpoint_t;

/** Builds the endpoint from options, environment and profile. `out` is zeroed. Errors:
 * S3LECT_EOPTION, UV_ENOMEM. */
int s3l_s3_endpoint_build(const s3lect_store_s3_options_t* options, s3l_s3_endpoint_t* out,
                          s3lect_error_t* error);

/** Whether `name` can be a region. Stores other than AWS name theirs as they like. */
bool s3l_s3_is_region(s3l_span_t name);

/** Changes the region. False, with nothing changed, if `region` is not a region, if it is in
 * another partition of AWS, where the credentials are not valid, or if the bucket is a directory
 * bucket, whose name tells the zone. */
bool s3l_s3_endpoint_move(s3l_s3_endpoint_t* endpoint, s3l_span_t region);

/** Where a temporary redirect (307) sends a request. A request carries credentials, so the store
 * follows it to few places only: by the same scheme and port, to the endpoint's own host or a
 * subdomain of it (on AWS: to S3's host in the same region), for the same object. The request is
 * signed again, since the signature covers the host's name. Redirects that name another region are
 * handled in recovery.h. A directory bucket has one host only. `location` is the header's value;
 * `key` is empty for a listing. False: the store does not follow. */
bool s3l_s3_redirect(const s3l_s3_endpoint_t* from, s3l_span_t location, s3l_span_t key,
                     s3l_s3_endpoint_t* to);

#endif
