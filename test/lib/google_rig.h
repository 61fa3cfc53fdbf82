/* Shared by the tests of Google's sources: the rig of credentials with Google's chain, files of
 * each type whose URLs are those of the rig's server, and what the server expects and answers. */
#ifndef S3L_TEST_GOOGLE_RIG_H
#define S3L_TEST_GOOGLE_RIG_H

#include "credentials/google.h"
#include "lib/creds_rig.h"
#include "lib/google_files.h"

#define G_VARIABLE "GOOGLE_APPLICATION_CREDENTIALS: "
#define G_SCOPE    "https://www.googleapis.com/auth/devstorage.read_write"

/* What the token services answer. */
#define G_TOKEN(token)                                                                             \
  S3L_OK("{\"access_token\":\"" token "\",\"expires_in\":3599,\"token_type\":\"Bearer\"}")
#define G_IAM_TOKEN(token)                                                                         \
  S3L_OK("{\"accessToken\":\"" token "\",\"expireTime\":\"" S3L_CREDS_RIG_END "\"}")
#define G_METADATA(status, body) s3l_creds_rig_reply(status, "Metadata-Flavor: Google\r\n", body)
#define G_TOKEN_BODY(token)                                                                        \
  "{\"access_token\":\"" token "\",\"expires_in\":3599,\"token_type\":\"Bearer\"}"

#define G_POST(path)                                                                               \
  S3L_EXPECT("POST " path " HTTP/1.1\r\n"),                                                        \
      S3L_EXPECT("content-type: application/x-www-form-urlencoded\r\n"), S3L_EXPECT("\r\n\r\n")
#define G_GET_TOKEN                                                                                \
  S3L_EXPECT("GET /computeMetadata/v1/instance/service-accounts/default/token?scopes="             \
             "https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fdevstorage.read_write HTTP/1.1\r\n"),      \
      S3L_EXPECT("metadata-flavor: Google\r\n\r\n")
#define G_USER_FORM                                                                                \
  "grant_type=refresh_token&client_id=id.apps.example&client_secret=GOCSPX-client%2Fsecret%2B1"    \
  "&refresh_token=1%2F%2F0refresh-token_2"
#define G_EXCHANGE_FORM(scope, token)                                                              \
  "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&requested_token_type="     \
  "urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token&scope=https%3A%2F%2Fwww.googleapis."    \
  "com%2Fauth%2F" scope "&audience=%2F%2Fiam.googleapis.com%2Fprojects%2F1%2Flocations%2Fglobal"   \
  "%2FworkloadIdentityPools%2Fpool%2Fproviders%2Fp&subject_token_type=urn%3Aietf%3Aparams%3Aoauth" \
  "%3Atoken-type%3Ajwt&subject_token=" token
#define G_IMPERSONATION S3L_EXPECT("POST /v1/elector@x:generateAccessToken HTTP/1.1\r\n")
#define EXTERNAL        "/sts", "", ""

#define G_BEGIN(...)    s3l_google_begin(S3L_CREDS_RIG_SCRIPTS(__VA_ARGS__))

/* A member of a file. */
#define G_IMPERSONATES                                                                             \
  ",\"service_account_impersonation_url\":\"%s/v1/elector@x:generateAccessToken\""

extern s3l_creds_rig_t s3l_google_rig;

/** Begins a rig with that server, and with Google's chain. */
void s3l_google_begin(const s3l_step_t* const* scripts, size_t n);

/** Opens the chain, whose metadata server is the rig's, or on a port where nobody listens. */
void s3l_google_open(void);

/** Writes the file for GOOGLE_APPLICATION_CREDENTIALS. Up to three %s in it become the server. */
void s3l_google_write(const char* name, const char* form);

/** The same with an external account, whose token_url is /sts. */
void s3l_google_write_external(const char* source, const char* more);

/** The same with a file that holds the subject token; `format` is "", or a member with a comma. */
void s3l_google_write_token_file(const char* format, const char* token);

/** Asks, and must get this token, and no keys. */
void s3l_google_gets(const char* token);

/** Opens the chain, and must get this token, or fail so; then the end. */
void s3l_google_got(const char* token);
void s3l_google_failed(const char* why);

#endif
