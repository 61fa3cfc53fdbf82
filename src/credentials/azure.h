/* credentials/azure.h: the chain of Azure's SDKs, as far as it needs no person: environment (a
 * client secret), workload identity (a federated token in a file) and managed identity (App Service
 * and its relatives, else IMDS). Each gives a bearer token for storage. */
#ifndef S3L_CREDS_AZURE_H
#define S3L_CREDS_AZURE_H

#include "credentials/chain.h"

extern const s3l_chain_kind_t s3l_chain_azure;

#endif
