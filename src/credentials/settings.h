/* credentials/settings.h: the settings of a chain: its options and a copy of the environment, made
 * when the chain is opened.
 *
 * An empty variable counts as unset. Some of the values are secrets: all are wiped. */
#ifndef S3L_CREDS_SETTINGS_H
#define S3L_CREDS_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "http/proxy.h"
#include "s3lect/credentials.h"

/* The variables, and the fields of s3l_settings_t that hold them. */
#define S3L_SETTINGS_VARIABLES(XX)                                                                 \
  XX(access_key, "AWS_ACCESS_KEY_ID")                                                              \
  XX(secret, "AWS_SECRET_ACCESS_KEY")                                                              \
  XX(token, "AWS_SESSION_TOKEN")                                                                   \
  XX(old_token, "AWS_SECURITY_TOKEN")                                                              \
  XX(env_profile, "AWS_PROFILE")                                                                   \
  XX(env_default_profile, "AWS_DEFAULT_PROFILE")                                                   \
  XX(config_file, "AWS_CONFIG_FILE")                                                               \
  XX(credentials_file, "AWS_SHARED_CREDENTIALS_FILE")                                              \
  XX(home, "HOME")                                                                                 \
  XX(web_identity_token_file, "AWS_WEB_IDENTITY_TOKEN_FILE")                                       \
  XX(role_arn, "AWS_ROLE_ARN")                                                                     \
  XX(role_session_name, "AWS_ROLE_SESSION_NAME")                                                   \
  XX(endpoint_sts, "AWS_ENDPOINT_URL_STS")                                                         \
  XX(endpoint_all, "AWS_ENDPOINT_URL")                                                             \
  XX(ignore_endpoints, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")                                      \
  XX(env_region, "AWS_REGION")                                                                     \
  XX(env_default_region, "AWS_DEFAULT_REGION")                                                     \
  XX(container_relative, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")                                 \
  XX(container_full, "AWS_CONTAINER_CREDENTIALS_FULL_URI")                                         \
  XX(container_token, "AWS_CONTAINER_AUTHORIZATION_TOKEN")                                         \
  XX(container_token_file, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")                               \
  XX(imds_disabled, "AWS_EC2_METADATA_DISABLED")                                                   \
  XX(imds_endpoint, "AWS_EC2_METADATA_SERVICE_ENDPOINT")                                           \
  XX(imds_mode, "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE")                                          \
  XX(imds_timeout, "AWS_METADATA_SERVICE_TIMEOUT")                                                 \
  XX(imds_attempts, "AWS_METADATA_SERVICE_NUM_ATTEMPTS")                                           \
  XX(ca_bundle, "AWS_CA_BUNDLE")

typedef struct s3l_settings_s {
#define XX(field, name) char* field;
  S3L_SETTINGS_VARIABLES(XX)
#undef XX
  /* From the options. */
  uint32_t sources;
  char* opt_profile;
  char* opt_region;
  char* opt_ca_file;
  s3l_proxy_rules_t proxies; /* for STS */

  /* From both. */
  const char* profile; /* never NULL */
  bool profile_named;  /* by the option or the environment; then it must exist */
  const char* region;  /* never NULL */
  bool region_named;   /* else it is a guess, and the region of a profile is better */
  const char* ca_file; /* or NULL */
  char* config_path;   /* NULL if there is no home folder */
  char* credentials_path;

  /* Constants, which tests change. */
  const char* container_host; /* for the relative URI */
  uint32_t service_timeout_ms;
  uint32_t sts_timeout_ms;
  uint32_t retry_delay_ms; /* between attempts */
  uint32_t process_timeout_ms;
  int64_t (*wall_ms)(void);
} s3l_settings_t;

/** Copies the options and the environment. Errors, with nothing to clean up: S3LECT_EOPTION,
 * UV_ENOMEM. */
int s3l_settings_init(s3l_settings_t* settings, const s3lect_credentials_chain_options_t* options,
                      s3lect_error_t* error);

void s3l_settings_free(s3l_settings_t* settings);

/** "true", in any letter case. */
bool s3l_settings_is_true(const char* value);

#endif
