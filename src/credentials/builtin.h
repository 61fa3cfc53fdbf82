/* credentials/builtin.h: the public providers that the library itself opens. */
#ifndef S3L_CREDS_BUILTIN_H
#define S3L_CREDS_BUILTIN_H

#include "credentials/credentials.h"
#include "s3lect/credentials.h"

/** The internal provider within a public one that the library opened, so that a store asks it
 * without a detour; NULL for the user's own. It stays with the public one. */
s3l_creds_provider_t* s3l_creds_builtin(const s3lect_credentials_provider_t* provider);

#endif
