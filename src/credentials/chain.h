/* credentials/chain.h: the provider that asks the sources of AWS's SDKs in their order:
 * environment, web identity, profile, container, instance.
 *
 * A source that is not configured is skipped. One that is configured, but fails, ends the search:
 * to go on could end in another identity than the intended one. A profile that is named must exist;
 * the default one need not. The message of a failure says what was tried, and why it gave nothing.
 */
#ifndef S3L_CREDS_CHAIN_H
#define S3L_CREDS_CHAIN_H

#include "credentials/cache.h"
#include "credentials/settings.h"

/** The bare chain: one question at a time. It frees its own memory after the close callback, which
 * runs inside close if nobody has asked. Takes over what the settings own, on failure too. Errors:
 * UV_ENOMEM. */
int s3l_creds_chain_provider(uv_loop_t* loop, s3l_settings_t* settings,
                             s3lect_credentials_provider_t** out);

/** A chain under a cache. Errors: S3LECT_EOPTION, UV_ENOMEM. */
int s3l_creds_chain(uv_loop_t* loop, const s3lect_credentials_chain_options_t* options,
                    s3l_creds_cache_t** out, s3lect_error_t* error);

#endif
