/* store/remote_options.h: the options that all stores behind HTTP have: connections, certificates,
 * proxy, the caller's credentials. */
#ifndef S3L_STORE_REMOTE_OPTIONS_H
#define S3L_STORE_REMOTE_OPTIONS_H

#include <stdbool.h>

#include "http/client.h"
#include "s3lect/credentials.h"
#include "s3lect/store.h"
#include "store/source.h"
#include "util/error.h"
#include "util/url.h"

#define S3L_REMOTE_CONNECT_MS  1000
#define S3L_REMOTE_TLS_MS      2000
#define S3L_REMOTE_IDLE_MS     60000 /* longer than a follower's longest interval */
#define S3L_REMOTE_CONNECTIONS 64

/** The defaults of the public options. */
#define S3L_REMOTE_DEFAULTS                                                                        \
  .connect_timeout_ms = S3L_REMOTE_CONNECT_MS, .tls_timeout_ms = S3L_REMOTE_TLS_MS,                \
  .idle_timeout_ms = S3L_REMOTE_IDLE_MS, .max_connections = S3L_REMOTE_CONNECTIONS

#define S3L_REMOTE_HOST_MAX        254 /* with its NUL */
#define S3L_REMOTE_HOST_HEADER_MAX (S3L_REMOTE_HOST_MAX + 8)
#define S3L_REMOTE_BUCKET_MAX      256 /* with its NUL */

/** Their values in a store's options. */
typedef struct s3l_remote_options_s {
  const char* proxy;
  s3l_source_t ca_file;
  uint32_t connect_timeout_ms;
  uint32_t tls_timeout_ms;
  uint32_t first_byte_timeout_ms;
  uint32_t idle_timeout_ms;
  uint32_t max_connections;
  s3lect_credentials_provider_t* credentials;
} s3l_remote_options_t;

/* The members that have the same names in the public options. */
#define S3L_REMOTE_OPTIONS_OF(o)                                                                   \
  .proxy = (o)->proxy, .connect_timeout_ms = (o)->connect_timeout_ms,                              \
  .tls_timeout_ms = (o)->tls_timeout_ms, .first_byte_timeout_ms = (o)->first_byte_timeout_ms,      \
  .idle_timeout_ms = (o)->idle_timeout_ms, .max_connections = (o)->max_connections,                \
  .credentials = (o)->credentials

/** The checked options. Pointers lead into the options, the environment, or the struct itself,
 * which therefore must not be copied. */
typedef struct s3l_remote_config_s {
  s3l_http_client_options_t http;
  char host[S3L_REMOTE_HOST_MAX]; /* what is connected to, without brackets */
  char host_header[S3L_REMOTE_HOST_HEADER_MAX];
  s3l_proxy_rules_t proxies;                  /* for other hosts */
  s3l_proxy_t proxy;                          /* for the endpoint; may hold a password: wipe it */
  s3lect_credentials_provider_t* credentials; /* the caller's, or NULL: */
  const char* access_key;                     /* keys, or a token alone; all NULL: */
  const char* secret;
  const char* token;
  s3lect_credentials_chain_options_t chain; /* for the dialect's own chain */

  /* Set by the dialect, or NULL. */
  const char* bucket; /* how the path of each request begins; copied */
} s3l_remote_config_t;

/** Notes where requests go. False: the host's name is too long. */
bool s3l_remote_set_host(s3l_remote_config_t* config, s3l_span_t host, uint16_t port, bool tls);

/** Checks the options. `config` is zeroed but for its host and bucket. Errors: S3LECT_EOPTION,
 * S3LECT_ETLS (the CA file cannot be read; its contents are not checked here). */
int s3l_remote_configure(const s3l_remote_options_t* options, s3l_remote_config_t* config,
                         s3lect_error_t* error);

/** For options_check: whether the certificates can be loaded. Errors: S3LECT_ETLS, UV_ENOMEM. */
int s3l_remote_check_tls(const s3l_remote_config_t* config);

/** The URL as messages show it; NULL if it may hold a password (user@) or, as a query, a signature.
 */
const char* s3l_remote_shown(const char* url);

/** Parses an endpoint http[s]://host[:port], which is not NULL. Errors: S3LECT_EOPTION. */
int s3l_remote_parse_endpoint(s3l_source_t endpoint, s3l_url_t* url, s3lect_error_t* error);

/** Checks a secret of at most `max` bytes, or none (value NULL). Messages do not show it. Errors:
 * S3LECT_EOPTION. */
int s3l_remote_check_secret(s3l_source_t secret, size_t max, s3lect_error_t* error);

/** Checks a pair of keys, of which at least one is set. Errors: as before, and S3LECT_ECREDENTIALS
 * (the other one is not). */
int s3l_remote_check_keys(s3l_source_t access_key, s3l_source_t secret, s3lect_error_t* error);

/** S3LECT_EOPTION, with what is wrong of the option `name`. */
int s3l_remote_refuse(s3lect_error_t* error, const char* name, const char* reason);

#endif
