/* store/s3/options.h: options and environment of the S3 store, checked and put together. */
#ifndef S3L_STORE_S3_OPTIONS_H
#define S3L_STORE_S3_OPTIONS_H

#include <stdbool.h>

#include "s3lect/store.h"
#include "store/remote_options.h"
#include "store/s3/endpoint.h"
#include "store/s3/headers.h"
#include "util/error.h"

/** The checked configuration of a store. Pointers lead into the options, the environment, or the
 * struct itself, which therefore must not be copied. */
typedef struct s3l_s3_config_s {
  s3l_remote_config_t remote;
  s3l_s3_endpoint_t endpoint;
  s3l_s3_headers_t headers;
} s3l_s3_config_t;

/** Checks options and environment. Errors: S3LECT_EOPTION, S3LECT_ECREDENTIALS, S3LECT_ETLS (the CA
 * file cannot be read; its contents are not checked here), UV_EINVAL, UV_ENOTSUP. */
int s3l_s3_configure(const s3lect_store_s3_options_t* options, s3l_s3_config_t* config,
                     s3lect_error_t* error);

#endif
