/* wire/http1_fields.h: gathers the header fields of one message from the pieces that llhttp
 * gives; shared by the parsers of replies and of requests.
 *
 * Names and values are stored one after the other in the owner's memory, so that the spans outlive
 * what was fed. Text of the owner's own (a request's target) may be put there too, between start
 * and the first name. */
#ifndef S3L_WIRE_HTTP1_FIELDS_H
#define S3L_WIRE_HTTP1_FIELDS_H

#include <stddef.h>

#include "wire/http1.h"

typedef struct s3l_http1_fields_s {
  s3l_http_header_t* headers; /* S3L_HTTP_HEADERS_MAX of them */
  size_t headers_len;         /* complete ones */
  char* text;
  size_t text_cap;
  size_t text_len;
  size_t name_at; /* where in text the field being read begins */
  size_t value_at;
  const char* reason; /* static text about the last error */
} s3l_http1_fields_t;

#define S3L_HTTP1_HEAD_LONG "the head is too long"

void s3l_http1_fields_start(s3l_http1_fields_t* f, s3l_http_header_t* headers, char* text,
                            size_t text_cap);

/** A piece of the owner's text, of a name or of a value. Errors: S3LECT_ETOOBIG. */
int s3l_http1_fields_put(s3l_http1_fields_t* f, const char* at, size_t n);

/** The owner's text is complete; names follow. */
void s3l_http1_fields_begin(s3l_http1_fields_t* f);

/** Errors: S3LECT_EBADREPLY (there is none). */
int s3l_http1_fields_name_done(s3l_http1_fields_t* f);

/** Errors: S3LECT_ETOOBIG (there are too many). */
int s3l_http1_fields_value_done(s3l_http1_fields_t* f);

#endif
