/* wire/aws_host.h: AWS regions, and the host names that contain them. */
#ifndef S3L_WIRE_AWS_HOST_H
#define S3L_WIRE_AWS_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "util/span.h"

/** The suffix of the region's hosts: ".amazonaws.com", in China ".amazonaws.com.cn", ... For a name
 * that is not a region's, the first of them. */
s3l_span_t s3l_aws_suffix(s3l_span_t region);

/** Whether the name looks like an AWS region's: "eu-central-1". Such a name is a single DNS label,
 * so that a host name built from it stays below AWS's suffix. */
bool s3l_aws_is_region(s3l_span_t name);

/** The region in the name of an S3 host: BUCKET.s3.REGION.amazonaws.com, s3-REGION.amazonaws.com,
 * s3.dualstack.REGION, and us-east-1 for s3.amazonaws.com. p == NULL if it has none. The span
 * points into `host` or to static text. */
s3l_span_t s3l_aws_region_of_host(s3l_span_t host);

#endif
