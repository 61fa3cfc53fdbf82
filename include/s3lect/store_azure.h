/* s3lect/store_azure.h: a store in Azure Blob Storage. */
#ifndef S3LECT_STORE_AZURE_H
#define S3LECT_STORE_AZURE_H

#include "s3lect/store.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of the Azure store. Zero or NULL means the default. Strings are copied. */
typedef struct s3lect_store_azure_options_s {
  size_t size;             /* sizeof(s3lect_store_azure_options_t), set by
                              s3lect_store_azure_options_init */
  const char* account;     /* the storage account; NULL: the connection string's, else
                              AZURE_STORAGE_ACCOUNT */
  const char* container;   /* required; must exist */
  const char* endpoint;    /* http[s]://host[:port][/path], for emulators, custom domains and
                              sovereign clouds; NULL: the connection string's, else
                              https://ACCOUNT.blob.core.windows.net. The account's name comes first in
                              the path if the host is an address or localhost and the endpoint has no
                              path */
  const char* account_key; /* base64. At most one of this and the next three may be set. If none
                              is: AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_KEY,
                              AZURE_STORAGE_SAS_TOKEN, else Entra's identity of the process
                              (docs/credentials.md) */
  const char* sas_token;   /* a shared access signature, with or without its '?' */
  const char*
      connection_string; /* "DefaultEndpointsProtocol=https;AccountName=...;AccountKey=..." */
  /* Gives tokens of Entra, or an account's name and key as a pair; must be on the store's loop, and
   * be closed after the store. */
  s3lect_credentials_provider_t* credentials;
  const char* ca_file;            /* PEM; NULL: the system's authorities */
  const char* proxy;              /* as in s3lect_store_s3_options_t */
  uint32_t connect_timeout_ms;    /* TCP and DNS; default 1000 */
  uint32_t tls_timeout_ms;        /* TLS handshake; default 2000 */
  uint32_t first_byte_timeout_ms; /* request sent to first byte of reply; 0: the request's own */
  uint32_t idle_timeout_ms;       /* an unused connection is closed after this; default 60000 */
  uint32_t max_connections;       /* default 64, at most 1024, as in s3lect_store_s3_options_t */
} s3lect_store_azure_options_t;

/** Sets every option to its default. `size` is sizeof(s3lect_store_azure_options_t). */
S3LECT_EXTERN void s3lect_store_azure_options_init(s3lect_store_azure_options_t* options,
                                                   size_t size);

/** Checks options without opening anything. Returns what s3lect_store_azure_init would. */
S3LECT_EXTERN int s3lect_store_azure_options_check(const s3lect_store_azure_options_t* options,
                                                   s3lect_error_t* error);

/** Opens a store whose objects are block blobs of one container of Azure Blob Storage. It connects
 * when the first request needs a connection. The environment and the CA file are read in this call
 * only.
 *
 * Requests are signed with the account key (Shared Key), or carry a shared access signature or a
 * token. The latter two are secrets: they go only over https, or over http to this machine. If the
 * store refuses a signature and this machine's clock differs from the store's by more than 5
 * minutes, requests are signed with the store's time, which is reported once as a notice.
 *
 * Listings of Azure begin at the start of the prefix, so a listing after a key may need several
 * requests of 1000 keys each, all within the request's time-out. There are no versions.
 *
 * Errors, with nothing to clean up: S3LECT_EOPTION, S3LECT_ETLS (the CA file), UV_EINVAL (a struct
 * size this library does not know), UV_ENOTSUP (an option is set that only a newer library knows,
 * or this library was built without the store), UV_ENOMEM. After success the store must be closed.
 */
S3LECT_EXTERN int s3lect_store_azure_init(uv_loop_t* loop, s3lect_store_t* store,
                                          const s3lect_store_azure_options_t* options,
                                          s3lect_error_t* error);

#ifdef __cplusplus
}
#endif

#endif
