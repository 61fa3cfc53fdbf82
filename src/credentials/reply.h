/* credentials/reply.h: reads the documents in which credentials come: the JSON of IMDS,
 * containers' agents and credential processes, the XML of STS, and the JSON of OAuth 2.0. */
#ifndef S3L_CREDS_REPLY_H
#define S3L_CREDS_REPLY_H

#include <stdint.h>

#include "credentials/credentials.h"
#include "http/client.h"
#include "util/buf.h"

/* Each returns 0, or S3LECT_ECREDENTIALS or UV_ENOMEM with one line in `why`, which shows nothing
 * of the document but an error's code and message. */

/** IMDS and containers. `now_ms` is the Unix time of this machine, `reply` has the service's. */
int s3l_reply_service_json(const s3l_http_reply_t* reply, int64_t now_ms,
                           s3lect_credentials_t** out, s3l_buf_t* why);

/** credential_process, version 1. */
int s3l_reply_process_json(s3l_span_t text, s3lect_credentials_t** out, s3l_buf_t* why);

int s3l_reply_service_xml(const s3l_http_reply_t* reply, int64_t now_ms, s3lect_credentials_t** out,
                          s3l_buf_t* why);

/** The answer of a token service (RFC 6749, section 5.1): access_token, which becomes a token
 * alone; token_type, if it is there, must be Bearer; expires_in in seconds, or else expires_on, a
 * Unix time. Each of the two may be a number or a string. */
int s3l_reply_token_json(const s3l_http_reply_t* reply, int64_t now_ms, s3lect_credentials_t** out,
                         s3l_buf_t* why);

/** The answer of Google's IAM to an impersonation: accessToken, which becomes a token alone, and
 * expireTime. */
int s3l_reply_impersonated_json(const s3l_http_reply_t* reply, int64_t now_ms,
                                s3lect_credentials_t** out, s3l_buf_t* why);

/** Appends ": CODE: MESSAGE" from the XML or JSON of an error reply, in one line; nothing if it has
 * neither. An error that repeats `secret` is not shown; n == 0: there is none. */
void s3l_reply_put_error(s3l_span_t body, s3l_span_t secret, s3l_buf_t* why);

#define S3L_PATH_SHOWN_MAX 200

/** Appends text from outside the process: at most `max` bytes of its first line that is not blank,
 * without control characters. */
void s3l_reply_put_shown(s3l_buf_t* b, s3l_span_t text, size_t max);

#endif
