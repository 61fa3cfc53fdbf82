/* credentials/aws.h: the chain of AWS's SDKs: environment, web identity, profile, container,
 * instance.
 *
 * A profile that is named must exist; the default one need not. */
#ifndef S3L_CREDS_AWS_H
#define S3L_CREDS_AWS_H

#include "credentials/chain.h"

extern const s3l_chain_kind_t s3l_chain_aws;

#endif
