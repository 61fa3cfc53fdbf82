/* http/proxy.h (L3): which HTTP proxy to go through, as the environment has it.
 *
 *   HTTPS_PROXY, https_proxy   for https origins; the lower-case one wins
 *   http_proxy                 for http origins. HTTP_PROXY is not looked at: in a CGI program it
 *                              is a header that the client sent
 *   NO_PROXY, no_proxy         hosts to be reached directly: names ("example.com" is that host and
 *                              all below it, ".example.com" only those below), addresses, blocks
 *                              of addresses (10.0.0.0/8), each with ":port" or without; "*" is all
 *
 * As in Go, localhost and loopback addresses are never proxied by the environment's will. */
#ifndef S3L_HTTP_PROXY_H
#define S3L_HTTP_PROXY_H

#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/span.h"

/* RFC 1035: a name has at most 253 characters; a literal with a scope is shorter. */
#define S3L_HTTP_HOST_MAX 256

/* "Basic " and user:password, 255 bytes each, in base64. */
#define S3L_PROXY_AUTHORIZATION_MAX 700

typedef struct s3l_proxy_s {
  bool used;
  char host[S3L_HTTP_HOST_MAX]; /* without brackets */
  uint16_t port;
  char authorization[S3L_PROXY_AUTHORIZATION_MAX]; /* "" for none; a secret */
} s3l_proxy_t;

/** Reads "[http://][user:password@]host[:port]"; the port is 80 where none is given. False, with a
 * reason that fits behind "must" or "must not", if it is no such URL; it does not repeat the text,
 * which may hold a password. */
bool s3l_proxy_parse(s3l_span_t text, s3l_proxy_t* out, const char** reason);

/** What the environment says for an origin. False, with *name the variable that is wrong and
 * *reason as above. */
bool s3l_proxy_environment(bool tls, s3l_span_t host, uint16_t port, s3l_proxy_t* out,
                           const char** name, const char** reason);

/** Whether a NO_PROXY list names the origin. */
bool s3l_proxy_excludes(s3l_span_t list, s3l_span_t host, uint16_t port);

#endif
