/* http/proxy.h: which HTTP proxy to go through, as an option or the environment has it.
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

/** Which proxy is for which origin. They may hold passwords. */
typedef struct s3l_proxy_rules_s {
  const char* option; /* for all origins, "" for none; NULL: by the variables */
  const char* https;
  const char* https_name; /* of the variable */
  const char* http;
  const char* none; /* NO_PROXY */
} s3l_proxy_rules_t;

/** By an option, which may be NULL, and by the environment. What they point to is theirs. */
s3l_proxy_rules_t s3l_proxy_rules(const char* option);

/** A copy of one's own. Errors, with nothing to be freed: UV_ENOMEM. */
int s3l_proxy_rules_copy(const s3l_proxy_rules_t* rules, s3l_proxy_rules_t* out);

/** Wipes and frees a copy; zeroed ones are a no-op. */
void s3l_proxy_rules_free(s3l_proxy_rules_t* rules);

/** What is for an origin. False, with *name the option or variable that is wrong and *reason as
 * above. */
bool s3l_proxy_choose(const s3l_proxy_rules_t* rules, bool tls, s3l_span_t host, uint16_t port,
                      s3l_proxy_t* out, const char** name, const char** reason);

/** Whether a NO_PROXY list names the origin. */
bool s3l_proxy_excludes(s3l_span_t list, s3l_span_t host, uint16_t port);

#endif
