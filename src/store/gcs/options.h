/* store/gcs/options.h: options and environment of the store in Google Cloud Storage, checked and
 * put together. */
#ifndef S3L_STORE_GCS_OPTIONS_H
#define S3L_STORE_GCS_OPTIONS_H

#include "s3lect/store_gcs.h"
#include "store/remote_options.h"

#define S3L_GCS_BUCKET_MAX 223 /* with its NUL */

#define S3L_GCS_EMULATOR   "STORAGE_EMULATOR_HOST"
#define S3L_GCS_CLEAR_TOKEN                                                                        \
  "tokens are not sent over plain http, but for loopback addresses; use https, "                   \
  "or " S3L_GCS_EMULATOR " for an emulator"

/** The checked configuration of a store. Pointers lead into the options, the environment, or the
 * struct itself, which therefore must not be copied. */
typedef struct s3l_gcs_config_s {
  s3l_remote_config_t remote;
  bool emulator;    /* STORAGE_EMULATOR_HOST names it */
  bool takes_token; /* a token may be sent to it */
} s3l_gcs_config_t;

/** Checks options and environment. Errors: S3LECT_EOPTION, S3LECT_ECREDENTIALS, S3LECT_ETLS (the CA
 * file cannot be read; its contents are not checked here), UV_EINVAL, UV_ENOTSUP. */
int s3l_gcs_configure(const s3lect_store_gcs_options_t* options, s3l_gcs_config_t* config,
                      s3lect_error_t* error);

#endif
