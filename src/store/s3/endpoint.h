/* store/s3/endpoint.h: where the requests of an S3 store go: region, host and style.
 *
 * AWS's host follows from the region, so that a store that is told to ask in another region asks
 * another host; a custom endpoint stays where it is, and only signs for that region. */
#ifndef S3L_STORE_S3_ENDPOINT_H
#define S3L_STORE_S3_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "util/span.h"

#define S3L_S3_HOST_MAX   254 /* with its NUL */
#define S3L_S3_BUCKET_MAX 256 /* with its NUL */
#define S3L_S3_REGION_MAX 64  /* with its NUL */

typedef struct s3l_s3_endpoint_s {
  bool aws;       /* AWS's own host in the region */
  bool dualstack; /* of AWS: the host that has IPv6 addresses too */
  bool path_style;
  bool tls;
  uint16_t port;
  char host[S3L_S3_HOST_MAX];            /* what is connected to */
  char host_header[S3L_S3_HOST_MAX + 8]; /* the same with brackets and port where they belong */
  char bucket[S3L_S3_BUCKET_MAX];
  char region[S3L_S3_REGION_MAX];
} s3l_s3_endpoint_t;

/** Whether it can be a region's name, which stores that are not AWS choose as they like. */
bool s3l_s3_is_region(s3l_span_t name);

/** Goes on in another region. False, with nothing changed, if that is none, or, of AWS, lies in
 * another partition, where these credentials are worth nothing. */
bool s3l_s3_endpoint_move(s3l_s3_endpoint_t* endpoint, s3l_span_t region);

#endif
