#include "credentials/credentials.h"

#include <string.h>

#include "util/error.h"
#include "util/list.h"
#include "util/mem.h"

typedef struct block_s {
  s3lect_credentials_t credentials; /* points into text */
  size_t text_size;
  char text[];
} block_t;

/* What is wrong; the value itself is a secret and not shown. */
static const char* find_fault(s3l_span_t access_key, s3l_span_t secret, s3l_span_t token) {
  bool is_token = access_key.n == 0 && secret.n == 0 && token.n > 0;
  if (access_key.n == 0 && !is_token)
    return "there is no access key";
  if (secret.n == 0 && !is_token)
    return "there is no secret access key";
  if (access_key.n > S3L_CREDS_ACCESS_KEY_MAX || secret.n > S3L_CREDS_SECRET_MAX)
    return "the access key or its secret is too long to be one";
  if (token.n > S3L_CREDS_TOKEN_MAX)
    return is_token ? "the token is too long to be one" : "the session token is too long to be one";
  if (!s3l_span_is_visible(access_key) || !s3l_span_is_visible(secret) ||
      !s3l_span_is_visible(token))
    return is_token ? "the token holds a blank, a line end or another character that no token has"
                    : "a key holds a blank, a line end or another character that no key has";
  return NULL;
}

static const char* put(char** at, s3l_span_t s) {
  char* start = *at;
  if (s.n > 0)
    memcpy(start, s.p, s.n);
  start[s.n] = '\0';
  *at += s.n + 1;
  return start;
}

int s3l_creds_new(s3l_span_t access_key, s3l_span_t secret, s3l_span_t token, int64_t expires_ms,
                  s3lect_credentials_t** out, s3lect_error_t* error) {
  const char* fault = find_fault(access_key, secret, token);
  if (fault != NULL)
    return s3l_error_say(error, S3LECT_ECREDENTIALS, "", NULL, "%s", fault);
  size_t size = access_key.n + secret.n + token.n + 3;
  block_t* b = s3l_malloc(sizeof *b + size);
  if (b == NULL)
    return s3l_error_end(error, UV_ENOMEM);
  char* at = b->text;
  b->text_size = size;
  b->credentials = (s3lect_credentials_t){.size = sizeof b->credentials,
                                          .access_key_id = put(&at, access_key),
                                          .secret_access_key = put(&at, secret),
                                          .session_token = token.n > 0 ? put(&at, token) : NULL,
                                          .expires_ms = expires_ms};
  *out = &b->credentials;
  return 0;
}

bool s3l_creds_can_sign(const s3lect_credentials_t* credentials) {
  return credentials->access_key_id[0] != '\0';
}

int s3l_creds_new_keys(s3l_span_t access_key, s3l_span_t secret, s3l_span_t token,
                       int64_t expires_ms, s3lect_credentials_t** out, s3lect_error_t* error) {
  if (access_key.n == 0 && secret.n == 0 && token.n > 0)
    return s3l_error_say(error, S3LECT_ECREDENTIALS, "", NULL, S3L_CREDS_CANNOT_SIGN);
  return s3l_creds_new(access_key, secret, token, expires_ms, out, error);
}

void s3l_creds_free(s3lect_credentials_t* credentials) {
  if (credentials == NULL)
    return;
  block_t* b = S3L_CONTAINER_OF(credentials, block_t, credentials);
  s3l_wipe(b->text, b->text_size);
  s3l_free(b);
}
