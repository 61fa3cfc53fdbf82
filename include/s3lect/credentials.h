/* s3lect/credentials.h: the sources of a store's keys and tokens.
 *
 * Vocabulary
 *   credentials  keys (access key, secret and, for temporary keys, a session token) or a token
 *                alone, and an expiration time
 *   provider     a handle on one loop that gets credentials when it is asked
 *   chain        a provider that asks the sources of AWS's SDKs, in their order
 *
 * Most programs do not need this header: a store without keys in its options has its own chain.
 * s3lect_credentials_chain_init makes a chain that several stores share, or that asks fewer
 * sources. Programs with another secret store fill in s3lect_credentials_ops_t and pass the
 * provider in the store's options. The store keeps the credentials, and asks again before they
 * expire.
 *
 * Secrets are never logged, and wiped from memory after use. They are sent over plain HTTP only to
 * loopback and to link-local metadata addresses of the clouds. */
#ifndef S3LECT_CREDENTIALS_H
#define S3LECT_CREDENTIALS_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "s3lect/errno.h"
#include "s3lect/export.h"

#ifdef __cplusplus
extern "C" {
#endif

#define S3LECT_CREDENTIALS_VERSION 1

typedef struct s3lect_credentials_s s3lect_credentials_t;
typedef struct s3lect_credentials_provider_s s3lect_credentials_provider_t;
typedef struct s3lect_credentials_req_s s3lect_credentials_req_t;
typedef struct s3lect_credentials_ops_s s3lect_credentials_ops_t;

/** One set of credentials: keys, with which a store signs requests, or a token alone, which it
 * sends: a bearer token, or the query of a shared access signature of Azure. The S3 store needs
 * keys, and ends its requests with S3LECT_ECREDENTIALS where it is given a token alone. */
struct s3lect_credentials_s {
  size_t size;               /* sizeof(s3lect_credentials_t), as the provider was compiled */
  const char* access_key_id; /* NULL or "" for a token alone, as is secret_access_key */
  const char* secret_access_key;
  const char* session_token; /* NULL for keys that are not temporary */
  int64_t expires_ms;        /* Unix time in ms; 0: they do not expire */
};

/** Ends a request: exactly once, always from the loop, never inside the call that started or
 * cancelled it. With status 0, `credentials` are valid during the call. Else status is an error
 * code, `credentials` is NULL, and `message` is NULL or one line for people, without secrets, since
 * it may be logged. The callback may use the request again, or free it. */
typedef void (*s3lect_credentials_cb)(s3lect_credentials_req_t* req, int status,
                                      const s3lect_credentials_t* credentials, const char* message);
/** The provider is closed. Its memory belongs to the caller again. */
typedef void (*s3lect_credentials_close_cb)(s3lect_credentials_provider_t* provider);

/** One request. The caller zeroes it and sets cb. */
struct s3lect_credentials_req_s {
  void* data; /* the caller's; never touched */
  s3lect_credentials_cb cb;
  s3lect_credentials_provider_t* provider; /* read-only; set by the provider */
  uint64_t internal[16];                   /* the provider's scratch space */
};

/** The functions of a provider.
 *   get     returns 0 and later calls req->cb once, or returns an error and never calls it. A store
 *           calls it before the last credentials expire, and again after failures; it has at most
 *           one request under way
 *   cancel  makes a request end soon with UV_ECANCELED
 *   close   cancels the requests under way, releases everything, then calls cb, if it is not NULL
 */
struct s3lect_credentials_ops_s {
  uint32_t version; /* S3LECT_CREDENTIALS_VERSION */
  int (*get)(s3lect_credentials_provider_t* provider, s3lect_credentials_req_t* req);
  void (*cancel)(s3lect_credentials_provider_t* provider, s3lect_credentials_req_t* req);
  void (*close)(s3lect_credentials_provider_t* provider, s3lect_credentials_close_cb cb);
};

/** A provider handle of fixed size. The caller allocates it, must not move or copy it, and may
 * reuse its memory only in or after the close callback. It is used from its loop's thread only, and
 * closed after the stores that use it. */
struct s3lect_credentials_provider_s {
  void* data;                          /* the caller's */
  uv_loop_t* loop;                     /* read-only */
  const s3lect_credentials_ops_t* ops; /* set by the provider's init function */
  void* internal;                      /* the provider's */
  void* reserved[8];
};

/** Closes a provider. Requests under way end with UV_ECANCELED first. No store may be using it any
 * more.
 * Close may be called once; `cb` (may be NULL) runs exactly once, from the loop, as the handle's
 * last callback, and the handle's memory is the caller's again. */
S3LECT_EXTERN void s3lect_credentials_close(s3lect_credentials_provider_t* provider,
                                            s3lect_credentials_close_cb cb);

/** Opens a provider of fixed credentials, which are copied: keys, whose `session_token` may be
 * NULL, or a token alone, with NULL or "" for both keys. Errors, with nothing to clean up:
 * S3LECT_ECREDENTIALS (no credentials, or none that can be), UV_ENOMEM. */
S3LECT_EXTERN int s3lect_credentials_static_init(uv_loop_t* loop,
                                                 s3lect_credentials_provider_t* provider,
                                                 const char* access_key_id,
                                                 const char* secret_access_key,
                                                 const char* session_token, s3lect_error_t* error);

/** The sources of a chain, in the order in which they are asked. */
#define S3LECT_CREDENTIALS_ENVIRONMENT 0x01u /* AWS_ACCESS_KEY_ID, ... */
#define S3LECT_CREDENTIALS_WEB_IDENTITY                                                            \
  0x02u                                    /* AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN (STS)      \
                                            */
#define S3LECT_CREDENTIALS_PROFILE   0x04u /* ~/.aws/config and ~/.aws/credentials */
#define S3LECT_CREDENTIALS_CONTAINER 0x08u /* AWS_CONTAINER_CREDENTIALS_*_URI (ECS, EKS) */
#define S3LECT_CREDENTIALS_INSTANCE  0x10u /* the EC2 instance's role (IMDSv2) */
#define S3LECT_CREDENTIALS_ALL       0x1fu

/** Options of a chain. Zero or NULL means the default. Strings are copied. */
typedef struct s3lect_credentials_chain_options_s {
  size_t size;         /* set by s3lect_credentials_chain_options_init */
  uint32_t sources;    /* S3LECT_CREDENTIALS_*; 0: all, or the profile only if one is named */
  const char* profile; /* NULL: AWS_PROFILE, AWS_DEFAULT_PROFILE, else "default" */
  const char* region;  /* of STS; NULL: AWS_REGION, AWS_DEFAULT_REGION, else us-east-1 */
  const char* ca_file; /* PEM, for STS and container services over https; NULL: AWS_CA_BUNDLE, else
                          the system's authorities */
  const char*
      proxy; /* for STS, as that of s3lect_store_s3_options_t; other services are never proxied */
} s3lect_credentials_chain_options_t;

/** Sets every option to its default. `size` is sizeof(s3lect_credentials_chain_options_t). */
S3LECT_EXTERN void
s3lect_credentials_chain_options_init(s3lect_credentials_chain_options_t* options, size_t size);

/** Opens a chain. It asks its sources in turn, up to the first one that is configured. If that one
 * fails, the search ends, so that the process never acts under another identity than the configured
 * one. The chain keeps the credentials, and replaces them before they expire. It reads the
 * environment in this call only; it reads files, asynchronously, whenever it needs credentials.
 * `options` may be NULL. Errors, with
 * nothing to clean up: S3LECT_EOPTION, UV_EINVAL (a struct size this library does not know),
 * UV_ENOTSUP (an option is set that only a newer library knows), UV_ENOMEM. */
S3LECT_EXTERN int s3lect_credentials_chain_init(uv_loop_t* loop,
                                                s3lect_credentials_provider_t* provider,
                                                const s3lect_credentials_chain_options_t* options,
                                                s3lect_error_t* error);

#ifdef __cplusplus
}
#endif

#endif
