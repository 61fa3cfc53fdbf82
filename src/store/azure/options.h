/* store/azure/options.h: options and environment of the Azure store, checked and put together. */
#ifndef S3L_STORE_AZURE_OPTIONS_H
#define S3L_STORE_AZURE_OPTIONS_H

#include "s3lect/store_azure.h"
#include "store/remote_options.h"

#define S3L_AZURE_ACCOUNT_MAX 64 /* with its NUL, as all of these */
#define S3L_AZURE_KEY_MAX     256
#define S3L_AZURE_SAS_MAX     4096

/** The checked configuration of a store. Pointers lead into the options, the environment, or the
 * struct itself, which therefore must not be copied. It holds secrets: wipe it. */
typedef struct s3l_azure_config_s {
  s3l_remote_config_t remote;
  char account[S3L_AZURE_ACCOUNT_MAX];
  char path[S3L_REMOTE_BUCKET_MAX]; /* before the blob's name, without '/' at its ends */
  char key[S3L_AZURE_KEY_MAX];      /* the account's, */
  char sas[S3L_AZURE_SAS_MAX];      /* or this. Neither: the caller's credentials, or Entra's */
} s3l_azure_config_t;

/** Checks options and environment. Errors: S3LECT_EOPTION, S3LECT_ETLS (the CA file cannot be
 * read), UV_EINVAL, UV_ENOTSUP. */
int s3l_azure_configure(const s3lect_store_azure_options_t* options, s3l_azure_config_t* config,
                        s3lect_error_t* error);

#endif
