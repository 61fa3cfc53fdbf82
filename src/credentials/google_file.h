/* credentials/google_file.h: reads the files of Google's application default credentials, and
 * writes what is made of them.
 *
 * Vocabulary
 *   account        the object with the secrets: the file's root, or source_credentials in a file of
 *                  the type impersonated_service_account
 *   subject token  the token of another issuer that Google's STS exchanges (external_account)
 *   assertion      the JWT that a service account's key signs
 *   impersonation  the last call, in which the account's token asks for one of a service account
 *
 * What is read is copied, unescaped, into the parsed form, which holds secrets: its owner wipes it.
 */
#ifndef S3L_CREDS_GOOGLE_FILE_H
#define S3L_CREDS_GOOGLE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"

#define S3L_GOOGLE_FILE_MAX 65536
#define S3L_GOOGLE_TEXT_MAX 32768

typedef enum s3l_google_type_e {
  S3L_GOOGLE_SERVICE_ACCOUNT, /* shows an assertion */
  S3L_GOOGLE_USER,            /* shows a refresh token */
  S3L_GOOGLE_EXTERNAL         /* shows a subject token */
} s3l_google_type_t;

typedef struct s3l_google_file_s {
  s3l_google_type_t type; /* of the account */
  const char* token_url;
  /* Of a service account. */
  const char* email;
  const char* key; /* PEM */
  const char* key_id;
  /* Of a user. */
  const char* client_id;
  const char* client_secret;
  const char* refresh_token;
  /* Of an external account. */
  const char* audience;
  const char* subject_type;
  const char* path;    /* of the file that has the subject token; NULL: it comes from the URL */
  const char* url;     /* or NULL */
  const char* headers; /* to the URL: lines with their ends */
  const char* member;  /* that holds the token, in JSON; "": the token is the whole text */
  /* Of an impersonation. */
  const char* impersonation_url; /* "": none */
  const char* delegates;         /* the accounts between the two, in JSON; "": none */
  uint64_t life_s;               /* of the token; 0: IAM's default */

  size_t used; /* of text */
  char text[S3L_GOOGLE_TEXT_MAX];
} s3l_google_file_t;

/* Each returns 0, or S3LECT_ECREDENTIALS with a line in `why`, which shows nothing of the file but
 * its type. */

int s3l_google_file_parse(s3l_google_file_t* file, s3l_span_t text, s3l_buf_t* why);

/** Makes the assertion for that Unix time. It is valid until the next call, or wiped. */
int s3l_google_assertion(s3l_google_file_t* file, int64_t now_ms, s3l_span_t* out, s3l_buf_t* why);

/** Takes the subject token out of what came from its source. It is valid likewise. */
int s3l_google_subject(s3l_google_file_t* file, s3l_span_t text, s3l_span_t* out, s3l_buf_t* why);

#define S3L_GOOGLE_SCOPE "https://www.googleapis.com/auth/devstorage.read_write"

/** The scope of the account's token: S3L_GOOGLE_SCOPE, or what an impersonation needs. */
const char* s3l_google_scope(const s3l_google_file_t* file);

/** Writes the JSON that asks for the token of the impersonated account. */
void s3l_google_put_impersonation(const s3l_google_file_t* file, s3l_buf_t* b);

#endif
