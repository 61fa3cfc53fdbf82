/* credentials/provider.h: the public providers that the library itself opens. */
#ifndef S3L_CREDS_PROVIDER_H
#define S3L_CREDS_PROVIDER_H

#include "credentials/cache.h"

/** The cache behind a provider that the library opened, so that stores share it; NULL for the
 * user's own. It stays with the provider. */
s3l_creds_cache_t* s3l_creds_provider_cache(const s3lect_credentials_provider_t* provider);

#endif
