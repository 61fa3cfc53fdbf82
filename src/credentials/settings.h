/* credentials/settings.h: the settings of a chain: its options and a copy of the variables that its
 * cloud reads, made when the chain is opened.
 *
 * An empty variable counts as unset. Some of the values are secrets: all are wiped. */
#ifndef S3L_CREDS_SETTINGS_H
#define S3L_CREDS_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "http/proxy.h"
#include "s3lect/credentials.h"

/* The variables of each cloud, and the fields of s3l_settings_t that hold them. */
#define S3L_SETTINGS_AWS(XX)                                                                       \
  XX(access_key, "AWS_ACCESS_KEY_ID")                                                              \
  XX(secret, "AWS_SECRET_ACCESS_KEY")                                                              \
  XX(token, "AWS_SESSION_TOKEN")                                                                   \
  XX(old_token, "AWS_SECURITY_TOKEN")                                                              \
  XX(env_profile, "AWS_PROFILE")                                                                   \
  XX(env_default_profile, "AWS_DEFAULT_PROFILE")                                                   \
  XX(config_file, "AWS_CONFIG_FILE")                                                               \
  XX(credentials_file, "AWS_SHARED_CREDENTIALS_FILE")                                              \
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

#define S3L_SETTINGS_AZURE(XX)                                                                     \
  XX(tenant_id, "AZURE_TENANT_ID")                                                                 \
  XX(client_id, "AZURE_CLIENT_ID")                                                                 \
  XX(client_secret, "AZURE_CLIENT_SECRET")                                                         \
  XX(client_certificate, "AZURE_CLIENT_CERTIFICATE_PATH")                                          \
  XX(authority_host, "AZURE_AUTHORITY_HOST")                                                       \
  XX(token_file, "AZURE_FEDERATED_TOKEN_FILE")                                                     \
  XX(identity_endpoint, "IDENTITY_ENDPOINT")                                                       \
  XX(identity_header, "IDENTITY_HEADER")                                                           \
  XX(imds_host, "AZURE_POD_IDENTITY_AUTHORITY_HOST")                                               \
  XX(selected, "AZURE_TOKEN_CREDENTIALS")

#define S3L_SETTINGS_GOOGLE(XX)                                                                    \
  XX(file, "GOOGLE_APPLICATION_CREDENTIALS")                                                       \
  XX(config, "CLOUDSDK_CONFIG")                                                                    \
  XX(metadata_host, "GCE_METADATA_HOST")                                                           \
  XX(no_metadata, "NO_GCE_CHECK")

#define S3L_SETTINGS_VARIABLES_MAX 32 /* of one cloud */

#define XX(field, name)            char* field;
typedef struct s3l_settings_s {
  /* Copies of the variables of the chain's cloud; NULL: not set. */
  union {
    char* variables[S3L_SETTINGS_VARIABLES_MAX];
    struct {
      S3L_SETTINGS_AWS(XX)
    };
    struct {
      S3L_SETTINGS_AZURE(XX)
    } azure;
    struct {
      S3L_SETTINGS_GOOGLE(XX)
    } google;
  };
  char* home; /* HOME, or what the system says; NULL: there is none */

  /* From the options. */
  uint32_t sources;
  char* opt_profile;
  char* opt_region;
  char* opt_ca_file;
  s3l_proxy_rules_t proxies; /* for services that are not the machine's own */

  /* From both; of AWS but for ca_file. */
  const char* profile; /* never NULL */
  bool profile_named;  /* by the option or the environment; then it must exist */
  const char* region;  /* never NULL */
  bool region_named;   /* else it is a guess, and the region of a profile is better */
  const char* ca_file; /* or NULL */
  char* config_path;   /* NULL if there is no home folder */
  char* credentials_path;

  /* Constants, which tests change. */
  const char* container_host; /* for the relative URI */
  const char* metadata_host;  /* of Google */
  uint32_t service_timeout_ms;
  uint32_t remote_timeout_ms; /* of services that are not the machine's own */
  uint32_t retry_delay_ms;    /* between attempts */
  uint32_t process_timeout_ms;
  int64_t (*wall_ms)(void);
} s3l_settings_t;
#undef XX

/** Copies the options and the variables, whose names are in the order of the cloud's fields.
 * Errors, with nothing to clean up: S3LECT_EOPTION, UV_EINVAL and UV_ENOTSUP (the options' size),
 * UV_ENOMEM. */
int s3l_settings_init(s3l_settings_t* settings, const char* const* names, size_t names_len,
                      const s3lect_credentials_chain_options_t* options, s3lect_error_t* error);

/** The same for AWS, with the choice of profile, region and files. */
int s3l_settings_aws(s3l_settings_t* settings, const s3lect_credentials_chain_options_t* options,
                     s3lect_error_t* error);

void s3l_settings_free(s3l_settings_t* settings);

/** "true", in any letter case. */
bool s3l_settings_is_true(const char* value);

#endif
