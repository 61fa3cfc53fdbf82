/* elector/options.h: an elector's options: defaults, checks, and the core's view of them. */
#ifndef S3L_ELECTOR_OPTIONS_H
#define S3L_ELECTOR_OPTIONS_H

#include "core/core.h"
#include "s3lect/elector.h"

/** Copies what the caller's version of the struct holds, puts defaults in place of zeros and checks
 * the result. Errors: S3LECT_EOPTION, S3LECT_ETIMING, UV_EINVAL, UV_ENOTSUP (an option that this
 * library does not know is set). */
int s3l_elector_options_resolve(const s3lect_elector_options_t* in, s3lect_elector_options_t* out,
                                s3lect_error_t* error);

/** The second half of it: puts defaults in place of zeros and checks. Errors: S3LECT_EOPTION,
 * S3LECT_ETIMING. */
int s3l_elector_options_settle(s3lect_elector_options_t* o, s3lect_error_t* error);

/** The configuration of the core; id and addr are borrowed. `options` must have been resolved. */
s3l_core_config_t s3l_elector_options_core(const s3lect_elector_options_t* options, const char* id,
                                           const char* addr);

#endif
