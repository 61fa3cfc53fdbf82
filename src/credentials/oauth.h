/* credentials/oauth.h: a request to a token service, in the words of OAuth 2.0: a POST of a form
 * (RFC 6749), or, to a service of the machine itself, a GET with a query and one header. The
 * credentials are the token of the answer alone (reply.h).
 *
 * The source keeps an s3l_oauth_t and makes it the service's `data`; then, for each request:
 * s3l_oauth_begin, s3l_oauth_add, s3l_service_call. The values must stay until the question ends.
 */
#ifndef S3L_CREDS_OAUTH_H
#define S3L_CREDS_OAUTH_H

#include "credentials/service.h"

#define S3L_OAUTH_FIELDS_MAX 8
#define S3L_OAUTH_ATTEMPTS   3

typedef struct s3l_oauth_s {
  struct {
    const char* name;
    s3l_span_t value;
  } fields[S3L_OAUTH_FIELDS_MAX];
  unsigned fields_len;
  const char* header; /* the name of the header of a GET; NULL: a POST */
  s3l_span_t header_value;
} s3l_oauth_t;

/** Empties the request. `header` NULL: it is a POST of a form; else a GET with that header,
 * whose value must be visible. */
void s3l_oauth_begin(s3l_oauth_t* oauth, const char* header, s3l_span_t header_value);

/** Adds a field, which is left out if its value has n == 0. */
void s3l_oauth_add(s3l_oauth_t* oauth, const char* name, s3l_span_t value);

/** Writes the request of service->data, which is an s3l_oauth_t; for calls of the source's own. */
bool s3l_oauth_compose(s3l_service_t* service, s3l_buf_t* b);

/** The request of service->data, whose reply ends the question. */
extern const s3l_service_call_t s3l_oauth_call;

#endif
