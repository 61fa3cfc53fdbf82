/* credentials/credentials.c: one set of credentials in memory: the struct and its texts in one
 * block, so that it is copied, and wiped, as a whole. */
#include "credentials/credentials.h"

#include <stdbool.h>
#include <string.h>
#include <uv.h>

#include "s3lect/errno.h"
#include "util/mem.h"

/* Fit for a header line: visible ASCII. */
static bool is_clean(s3l_span_t s) {
  for (size_t i = 0; i < s.n; i++) {
    if ((unsigned char)s.p[i] <= 0x20 || (unsigned char)s.p[i] >= 0x7f)
      return false;
  }
  return true;
}

/* What is wrong; the value itself is a secret and not shown. */
static const char* look(s3l_span_t access_key, s3l_span_t secret, s3l_span_t token) {
  if (access_key.n == 0)
    return "there is no access key";
  if (secret.n == 0)
    return "there is no secret access key";
  if (access_key.n > S3L_CREDS_ACCESS_KEY_MAX || secret.n > S3L_CREDS_SECRET_MAX)
    return "the access key or its secret is too long to be one";
  if (token.n > S3L_CREDS_TOKEN_MAX)
    return "the session token is too long to be one";
  if (!is_clean(access_key) || !is_clean(secret) || !is_clean(token))
    return "a key holds a blank, a line end or another character that no key has";
  return NULL;
}

static char* put(char** at, s3l_span_t s) {
  char* start = *at;
  memcpy(start, s.p, s.n);
  start[s.n] = '\0';
  *at += s.n + 1;
  return start;
}

int s3l_creds_new(s3l_span_t access_key, s3l_span_t secret, s3l_span_t token, int64_t expires_ms,
                  s3l_creds_t** out, const char** why) {
  *why = look(access_key, secret, token);
  if (*why != NULL)
    return S3LECT_ECREDENTIALS;
  s3l_creds_t* c = s3l_malloc(sizeof(*c) + access_key.n + secret.n + token.n + 3);
  if (c == NULL) {
    *why = "out of memory";
    return UV_ENOMEM;
  }
  char* at = (char*)(c + 1);
  c->access_key = put(&at, access_key);
  c->secret = put(&at, secret);
  c->token = token.n > 0 ? put(&at, token) : NULL;
  c->expires_ms = expires_ms;
  *out = c;
  return 0;
}

static void wipe(char* s) {
  if (s != NULL)
    s3l_wipe(s, strlen(s));
}

void s3l_creds_free(s3l_creds_t* c) {
  if (c == NULL)
    return;
  wipe(c->access_key);
  wipe(c->secret);
  wipe(c->token);
  s3l_free(c);
}
