/* wire/aws_host.h: regions, and the names of hosts that follow from them at AWS. */
#ifndef S3L_WIRE_AWS_HOST_H
#define S3L_WIRE_AWS_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "util/span.h"

/** What hosts of the region end with: ".amazonaws.com", in China ".amazonaws.com.cn", ... A name
 * that is no region's gives the first. */
s3l_span_t s3l_aws_suffix(s3l_span_t region);

/** Whether it looks like one of AWS's: "eu-central-1". Such a name is one label of a host's name,
 * so that a host made from it lies below AWS's own suffix. */
bool s3l_aws_is_region(s3l_span_t name);

/** The region in a name of S3's hosts: BUCKET.s3.REGION.amazonaws.com, s3-REGION.amazonaws.com,
 * s3.dualstack.REGION, and us-east-1 for s3.amazonaws.com. p == NULL if there is none in it. It
 * leads into the host's name, or is static. */
s3l_span_t s3l_aws_region_of_host(s3l_span_t host);

#endif
