/* credentials/aws.h: the chain of AWS's SDKs: environment, web identity, profile, container,
 * instance.
 *
 * A profile that is named must exist; the default one need not. */
#ifndef S3L_CREDS_AWS_H
#define S3L_CREDS_AWS_H

#include "credentials/chain.h"

extern const s3l_chain_kind_t s3l_chain_aws;

/** AWS's chain under a cache. Errors: S3LECT_EOPTION, UV_ENOMEM. */
int s3l_creds_aws(uv_loop_t* loop, const s3lect_credentials_chain_options_t* options,
                  s3l_creds_cache_t** out, s3lect_error_t* error);

#endif
