/* credentials/chain.h: the source that asks the sources of AWS's SDKs in their order:
 * environment, web identity, profile, container, instance.
 *
 * A source that is not configured is passed over. One that is configured, but fails, ends the
 * search: to go on could end in another identity than the one that was meant. A profile that is
 * named must exist; the default one need not. What was tried, and why it gave nothing, is in the
 * message of the failure. */
#ifndef S3L_CREDS_CHAIN_H
#define S3L_CREDS_CHAIN_H

#include "credentials/credentials.h"
#include "credentials/settings.h"

/** Takes what the settings own over, on failure too. Errors: UV_ENOMEM. */
int s3l_creds_chain_source(uv_loop_t* loop, s3l_settings_t* settings, s3l_creds_source_t** out);

/** A chain under a cache. Errors: S3LECT_EOPTION, UV_ENOMEM. */
int s3l_creds_chain(uv_loop_t* loop, const s3lect_credentials_chain_options_t* options,
                    s3l_creds_provider_t** out, s3lect_error_t* error);

#endif
