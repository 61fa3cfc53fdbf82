/* credentials/azure.h: the chain of Azure's SDKs, as far as it needs no person: environment (a
 * client secret), workload identity (a federated token in a file) and managed identity (App Service
 * and its relatives, else IMDS). Each gives a bearer token for storage. */
#ifndef S3L_CREDS_AZURE_H
#define S3L_CREDS_AZURE_H

#include "credentials/chain.h"

extern const s3l_chain_kind_t s3l_chain_azure;

/** Azure's chain under a cache. Of the settings only ca_file and proxy count. Errors:
 * S3LECT_EOPTION (also of AZURE_TOKEN_CREDENTIALS), UV_ENOMEM. */
int s3l_creds_azure(uv_loop_t* loop, const s3lect_credentials_chain_options_t* settings,
                    s3l_creds_cache_t** out, s3lect_error_t* error);

#endif
