/* credentials/user.h: a provider that the user has written, as a source. */
#ifndef S3L_CREDS_USER_H
#define S3L_CREDS_USER_H

#include "credentials/credentials.h"
#include "s3lect/credentials.h"

/** The provider stays the user's: closing the source does not close it. Errors: UV_ENOMEM. */
int s3l_creds_user(s3lect_credentials_provider_t* provider, s3l_creds_source_t** out);

#endif
