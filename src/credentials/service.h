/* credentials/service.h: calls to a service that gives credentials: IMDS, a container's agent,
 * STS.
 *
 * - The one place that decides where secrets may go: https anywhere; plain http only to loopback
 *   and to AWS's link-local metadata addresses. Redirects are not followed.
 * - A proxy sees secrets in no form: what is proxied is https, through a tunnel.
 * - One call at a time, tried again after a pause where that may help (no connection, 5xx, 429).
 * - The connections' buffers are wiped.
 *
 * Lifecycle: init; aim, then call, any number of times; close. Where a new aim is another origin,
 * the client of the old one is closed behind the scenes. */
#ifndef S3L_CREDS_SERVICE_H
#define S3L_CREDS_SERVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "http/client.h"
#include "util/buf.h"
#include "util/url.h"

#define S3L_SERVICE_HOST_MAX 264 /* with brackets, port and NUL */
#define S3L_SERVICE_BODY_MAX 65536
#define S3L_SERVICE_WHY_MAX  1024 /* the longest host, code and message fit */

typedef struct s3l_service_s s3l_service_t;

typedef struct s3l_service_call_s {
  void* data;
  /* Writes the whole request; false if it cannot be written. */
  bool (*compose)(s3l_service_t* service, s3l_buf_t* b);
  /* Once, from the loop, never inside call. A reply of status 200, or `why` tells people what came
   * instead (reply is then what there was of it: its http_status may be 0). Valid during the call.
   */
  void (*done)(s3l_service_t* service, bool ok, const s3l_http_reply_t* reply, const char* why);
  uint32_t timeout_ms; /* of each attempt */
  uint32_t attempts;
  uint32_t delay_ms; /* between them */
  /* Whether a reply that is neither 200 nor a 5xx is worth another attempt; may be NULL. */
  bool (*passing)(s3l_service_t* service, const s3l_http_reply_t* reply);
} s3l_service_call_t;

struct s3l_service_s {
  char host_header[S3L_SERVICE_HOST_MAX]; /* for compose */
  s3l_service_call_t call;                /* the one under way */

  /* Private. */
  uv_loop_t* loop;
  const char* ca_file;
  const s3l_proxy_rules_t* proxies;
  s3l_http_client_t* client;
  unsigned clients; /* not yet closed */
  bool tls;
  s3l_http_req_t req;
  uv_timer_t timer;
  bool has_timer;
  unsigned attempt;
  bool busy;
  bool closing;
  void (*close_cb)(void* arg);
  void* close_arg;
  char why[S3L_SERVICE_WHY_MAX];
};

/** `ca_file` may be NULL and is not copied. `proxies`, not copied either, are for https origins;
 * NULL: all are reached directly, as machines' own services must be. */
void s3l_service_init(s3l_service_t* service, uv_loop_t* loop, const char* ca_file,
                      const s3l_proxy_rules_t* proxies);

/** Whether secrets may go there. */
bool s3l_service_allows(const s3l_url_t* url);

/** Points it at an origin. On failure `why` has one line: S3LECT_ECREDENTIALS (not allowed),
 * S3LECT_EOPTION (the proxy), S3LECT_ETLS (the CA file), UV_ENOMEM. */
int s3l_service_aim(s3l_service_t* service, const s3l_url_t* url, s3l_buf_t* why);

/** Calls the origin that was aimed at. Also from inside done. */
void s3l_service_call(s3l_service_t* service, const s3l_service_call_t* call);

/** "METHOD path HTTP/1.1", host, user agent; then headers are to follow. */
void s3l_service_put_head(const s3l_service_t* service, s3l_buf_t* b, const char* method,
                          s3l_span_t path);

/** Unix time that stands here for the service's `time_ms`: its clock may be wrong, or ours. */
int64_t s3l_service_local_ms(const s3l_http_reply_t* reply, int64_t time_ms, int64_t now_ms);

/** Drops the call (done will not run), closes all, then calls cb: at once if nothing is open. */
void s3l_service_close(s3l_service_t* service, void (*cb)(void* arg), void* arg);

#endif
