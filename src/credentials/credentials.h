/* credentials/credentials.h: one set of credentials in memory.
 *
 * Vocabulary
 *   credentials  keys (access key, secret and, for temporary keys, a session token) or a token
 *                alone (a bearer token, or a shared access signature), and an end
 *   provider     s3lect/credentials.h: gets one set when it is asked; the user's, or the chain of
 *                a cloud's SDKs (chain.h)
 *   cache        keeps what a provider gave, and has it at hand (cache.h); it is what stores ask,
 *                and what is behind the public providers of the library (provider.h)
 *   source       one of those that the chain asks: a file, a service, a program
 *
 * The owner of credentials wipes them when it frees them. They are never logged. */
#ifndef S3L_CREDS_CREDS_H
#define S3L_CREDS_CREDS_H

#include <stdbool.h>
#include <stdint.h>

#include "s3lect/credentials.h"
#include "util/span.h"

#define S3L_CREDS_ACCESS_KEY_MAX 128
#define S3L_CREDS_SECRET_MAX     255
#define S3L_CREDS_TOKEN_MAX      8192

/** Ends the work of a source, once. status 0: `credentials` belong to the callee. Else the source
 * has added the reason, without secrets, to the message of its caller. */
typedef void (*s3l_creds_cb)(void* arg, int status, s3lect_credentials_t* credentials);

/** Copies the texts into one block: a pair of keys, whose token.n may be 0, or a token alone, whose
 * keys have n == 0 and become "". Errors: UV_ENOMEM; S3LECT_ECREDENTIALS (they are none that can
 * be). */
int s3l_creds_new(s3l_span_t access_key, s3l_span_t secret, s3l_span_t token, int64_t expires_ms,
                  s3lect_credentials_t** out, s3lect_error_t* error);

/* Why a token alone is refused by those who sign. */
#define S3L_CREDS_CANNOT_SIGN "there is no access key, only a token, which cannot sign requests"

/** Whether these are keys, which can sign; else they are a token alone. */
bool s3l_creds_can_sign(const s3lect_credentials_t* credentials);

/** As s3l_creds_new, but refuses a token alone. */
int s3l_creds_new_keys(s3l_span_t access_key, s3l_span_t secret, s3l_span_t token,
                       int64_t expires_ms, s3lect_credentials_t** out, s3lect_error_t* error);

/** Wipes and frees what s3l_creds_new made; NULL is a no-op. */
void s3l_creds_free(s3lect_credentials_t* credentials);

#endif
