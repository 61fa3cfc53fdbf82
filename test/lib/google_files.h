/* Files of Google's application default credentials, as gcloud writes them; `url` is where the
 * token is asked for. */
#ifndef S3L_TEST_GOOGLE_FILES_H
#define S3L_TEST_GOOGLE_FILES_H

#include "lib/rsa_key.h"

#define S3L_GOOGLE_EMAIL   "elector@project.iam.gserviceaccount.com"
#define S3L_GOOGLE_SECRET  "GOCSPX-client/secret+1"
#define S3L_GOOGLE_REFRESH "1//0refresh-token_2"

#define S3L_GOOGLE_KEY_FILE(url)                                                                   \
  "{\"type\":\"service_account\",\"project_id\":\"project\",\"private_key_id\":\"k1\","            \
  "\"private_key\":\"" S3L_RSA_KEY("\\n") "\",\"client_email\":\"" S3L_GOOGLE_EMAIL                \
                                          "\",\"token_uri\":\"" url                                \
                                          "\",\"universe_domain\":\"googleapis.com\"}"
#define S3L_GOOGLE_USER_FILE(url)                                                                  \
  "{\"type\":\"authorized_user\",\"client_id\":\"id.apps.example\",\"client_secret\":"             \
  "\"" S3L_GOOGLE_SECRET "\",\"refresh_token\":\"" S3L_GOOGLE_REFRESH                              \
  "\",\"quota_project_id\":\"p\","                                                                 \
  "\"token_uri\":\"" url "\"}"
/* `source` is the content of credential_source, `more` further members with a comma before them. */
#define S3L_GOOGLE_EXTERNAL_FILE(url, source, more)                                                \
  "{\"type\":\"external_account\",\"audience\":\"//iam.googleapis.com/projects/1/locations/"       \
  "global/"                                                                                        \
  "workloadIdentityPools/pool/providers/p\",\"subject_token_type\":"                               \
  "\"urn:ietf:params:oauth:token-type:jwt\",\"token_url\":\"" url                                  \
  "\",\"credential_source\":{" source "}" more "}"
#define S3L_GOOGLE_IMPERSONATED_FILE(url, account, more)                                           \
  "{\"type\":\"impersonated_service_account\",\"service_account_impersonation_url\":\"" url        \
  "\",\"source_credentials\":" account more "}"

#endif
