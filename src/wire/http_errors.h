/* wire/http_errors.h: replies whose meaning does not depend on the protocol of the store, mostly
 * those of proxies and gateways. They are rows as in wire/s3_errors.h, and come after the rows of
 * the store's own table (store_reply.c).
 *
 * A reply that may be sent after the effect (5xx, time-outs of proxies) is UNCERTAIN. */
#ifndef S3L_WIRE_HTTP_ERRORS_H
#define S3L_WIRE_HTTP_ERRORS_H

/* clang-format off */
#define S3L_HTTP_ERRORS(XX)                                                                        \
  XX(401, 401, NULL, ANY, EDENIED, NOT_APPLIED, NOTHING,                                           \
     "a server before the store requires its own login: check the endpoint and the proxies")       \
  /* A gateway without a route, or a web server: the store has said nothing about the object. */   \
  XX(404, 404, NULL, ANY, ESERVER, UNCERTAIN, NOTHING,                                             \
     "this 404 says nothing about the object: check the endpoint, and the proxies before it")      \
  /* A proxy gave up on the store, which may still carry the request out. Tigris sheds load with   \
   * 408, and tells of lost replies with 499. */                                                   \
  XX(408, 408, NULL, ANY, ESERVER, UNCERTAIN, NOTHING,                                             \
     "the store, or a proxy before it, gave up waiting: look at the store's load and at the "      \
     "network")                                                                                    \
  XX(499, 499, NULL, ANY, ESERVER, UNCERTAIN, NOTHING,                                             \
     "a proxy before the store lost the request: look at its log")                                 \
  XX(407, 407, NULL, ANY, EPROXY, NOT_APPLIED, NOTHING,                                            \
     "the HTTP proxy wants a user and a password: set http://USER:PASSWORD@HOST:PORT in "          \
     "HTTPS_PROXY or http_proxy")                                                                  \
  XX(409, 409, NULL, ANY, ECONFLICT, SETTLED, NOTHING,                                             \
     "another write was in progress, which is normal in an election; nothing to do")               \
  XX(412, 412, NULL, ANY, EPRECONDITION, SETTLED, NOTHING,                                         \
     "another process wrote first, which is normal in an election; nothing to do")                 \
  XX(429, 429, NULL, ANY, ETHROTTLED, NOT_APPLIED, NOTHING,                                        \
     "too many requests: lengthen the intervals; some stores (R2, GCS) allow one write a second "  \
     "to a key")                                                                                   \
  XX(405, 405, NULL, ANY, EREFUSED, NOT_APPLIED, NOTHING,                                          \
     "the endpoint does not accept this method: check that it is an object store, not a web site") \
  XX(411, 411, NULL, ANY, EREFUSED, NOT_APPLIED, NOTHING,                                          \
     "a proxy has removed the length from the request: bypass that proxy")                         \
  XX(400, 499, NULL, ANY, EREFUSED, NOT_APPLIED, NOTHING,                                          \
     "the store does not accept the request; the store's message says why")                        \
  XX(501, 501, NULL, ANY, EUNSUPPORTED, NOT_APPLIED, NOTHING,                                      \
     "the store does not implement conditional writes (or another header of the request): use "    \
     "another store; s3lect verify says which protocols this store supports")                      \
  XX(502, 502, NULL, ANY, ESERVER, UNCERTAIN, NOTHING,                                             \
     "a proxy could not reach the store; if this continues, look at the proxy")                    \
  XX(504, 504, NULL, ANY, ESERVER, UNCERTAIN, NOTHING,                                             \
     "a proxy got no answer from the store in time; if this continues, look at the proxy")         \
  XX(500, 599, NULL, ANY, ESERVER, UNCERTAIN, NOTHING,                                             \
     "the store failed; if this continues, look at the store's own health")
/* clang-format on */

#endif
