/* s3lect/store_gcs.h: the store in Google Cloud Storage, by its XML API.
 *
 * The ETag of an object is its generation: a number that the store gives to each write, and never
 * twice. The store takes one write a second to an object (S3LECT_STORE_SLOW_WRITES), so electors
 * renew once a second at most. It has no condition for reads: one with S3LECT_IF_CHANGED transfers
 * the object, and ends with S3LECT_ENOTMODIFIED where the generation is the same. */
#ifndef S3LECT_STORE_GCS_H
#define S3LECT_STORE_GCS_H

#include "s3lect/store.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of the store in Google Cloud Storage. Zero or NULL means the default. Strings are
 * copied. */
typedef struct s3lect_store_gcs_options_s {
  size_t size;          /* set by s3lect_store_gcs_options_init */
  const char* bucket;   /* required */
  const char* endpoint; /* http[s]://host[:port]; NULL: STORAGE_EMULATOR_HOST, else
                           https://storage.googleapis.com. Tokens are sent over https only, and over
                           plain http to loopback addresses and to the emulator */
  /* The access ID and the secret of an HMAC key. NULL: `credentials`, GS_ACCESS_KEY_ID and
   * GS_SECRET_ACCESS_KEY, else Google's application default credentials, which give OAuth tokens;
   * an emulator that STORAGE_EMULATOR_HOST names gets the token "emulator" instead of those */
  const char* access_key_id;
  const char* secret_access_key;
  /* Of HMAC keys or of tokens (session_token alone); must be on the store's loop, and be closed
   * after the store. */
  s3lect_credentials_provider_t* credentials;
  const char* ca_file; /* PEM; NULL: the system's authorities */
  const char* proxy;   /* for Cloud Storage and for the services that give tokens, as that of
                          s3lect_store_s3_options_t */
  uint32_t connect_timeout_ms; /* these as those of s3lect_store_s3_options_t */
  uint32_t tls_timeout_ms;
  uint32_t first_byte_timeout_ms;
  uint32_t idle_timeout_ms;
  uint32_t max_connections;
} s3lect_store_gcs_options_t;

/** Sets every option to its default. `size` is sizeof(s3lect_store_gcs_options_t). */
S3LECT_EXTERN void s3lect_store_gcs_options_init(s3lect_store_gcs_options_t* options, size_t size);

/** Checks options without opening anything. Returns what s3lect_store_gcs_init would. */
S3LECT_EXTERN int s3lect_store_gcs_options_check(const s3lect_store_gcs_options_t* options,
                                                 s3lect_error_t* error);

/** Opens a store in Google Cloud Storage. It connects when the first request needs a connection.
 * The environment and the CA file are read in this call only. If no keys are given, the first
 * request looks for credentials; a request waits for them within its time-out, and ends with
 * S3LECT_ECREDENTIALS if there are none. A token that the store refuses is replaced, and the
 * request sent again, once; so is, with an HMAC key, a request for which this machine's clock is
 * too far off. Errors, with nothing to clean up: S3LECT_EOPTION, S3LECT_ECREDENTIALS (half an HMAC
 * key), S3LECT_ETLS (the CA file), UV_EINVAL (a struct size this library does not know), UV_ENOTSUP
 * (an option is set that only a newer library knows, or the library was built without this store),
 * UV_ENOMEM. After success the store must be closed. */
S3LECT_EXTERN int s3lect_store_gcs_init(uv_loop_t* loop, s3lect_store_t* store,
                                        const s3lect_store_gcs_options_t* options,
                                        s3lect_error_t* error);

#ifdef __cplusplus
}
#endif

#endif
