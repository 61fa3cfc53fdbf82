/* credentials/service.h: questions to a service that gives credentials: IMDS, a container's agent,
 * STS.
 *
 * - This module alone decides where secrets may go: https anywhere; plain http only to loopback and
 *   to AWS's link-local metadata addresses. Redirects are not followed.
 * - A proxy never sees secrets: what goes through one is https, through a tunnel.
 * - A question is one or more calls. A call is retried, with growing pauses, where that may help
 *   (no connection, 5xx, 429).
 * - Tokens and the connections' buffers are wiped.
 *
 * Lifecycle: init; then, for each question, begin; set_origin; read_token, if there is one in a
 * file; call; end. close between questions only. One question at a time. */
#ifndef S3L_CREDS_SERVICE_H
#define S3L_CREDS_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "credentials/credentials.h"
#include "credentials/settings.h"
#include "http/client.h"
#include "loop/file.h"
#include "util/buf.h"
#include "util/prng.h"
#include "util/url.h"

#define S3L_SERVICE_HOST_MAX 264 /* with brackets, port and NUL */
#define S3L_SERVICE_BODY_MAX 65536
#define S3L_SERVICE_WHY_MAX  1024 /* the longest host, code and message fit */

typedef struct s3l_service_s s3l_service_t;

typedef struct s3l_service_call_s {
  void* data;
  /* Writes the whole request; false if it cannot be written. */
  bool (*compose)(s3l_service_t* service, s3l_buf_t* b);
  /* Once, from the loop, never inside call. why NULL: a reply of status 200. Else what came
   * instead, for people; http_status may be 0. Valid during the call. It makes another call, or
   * ends the question. */
  void (*done)(s3l_service_t* service, const s3l_http_reply_t* reply, const char* why);
  uint32_t timeout_ms; /* of each attempt */
  uint32_t attempts;
  /* Whether a reply that is neither 200 nor a 5xx is worth another attempt; may be NULL. */
  bool (*is_transient)(s3l_service_t* service, const s3l_http_reply_t* reply);
} s3l_service_call_t;

struct s3l_service_s {
  const s3l_settings_t* settings;
  char host_header[S3L_SERVICE_HOST_MAX]; /* for compose */
  s3l_service_call_t call;                /* the one under way */
  s3l_file_t token_file;                  /* freed at the end of the question */
  char token[512];                        /* that the service itself gave; wiped likewise */
  s3l_buf_t why;                          /* of this question's failure; sources write into it */

  /* Private. */
  s3l_loop_t* loop;
  s3l_creds_cb ended;
  void* arg;
  const s3l_proxy_rules_t* proxies;
  s3l_http_client_t* client;
  unsigned clients; /* not yet closed */
  bool tls;
  s3l_http_req_t req;
  uint32_t attempt;
  s3l_deadline_t pause;
  s3l_prng_t prng;
  bool cancelled;
  void (*then)(s3l_service_t* service); /* after the token file */
  const char* token_name;
  const char* token_path;
  void (*close_cb)(void* arg);
  void* close_arg;
  char why_text[S3L_SERVICE_WHY_MAX];
};

/** `proxies`, not copied, are for https origins; NULL: all are reached directly, as machines' own
 * services must be. `ended` runs with `arg` at the end of each question. */
void s3l_service_init(s3l_service_t* service, const s3l_settings_t* settings,
                      const s3l_proxy_rules_t* proxies, s3l_creds_cb ended, void* arg);

/** Whether secrets may go there. */
bool s3l_service_allows(const s3l_url_t* url);

void s3l_service_begin(s3l_service_t* service, s3l_loop_t* loop);

/** Ends the question. With a status other than 0, `why` says the reason. */
void s3l_service_end(s3l_service_t* service, int status, s3lect_credentials_t* creds);

/** Adds to `why`, then ends the question with S3LECT_ECREDENTIALS. */
void s3l_service_fail(s3l_service_t* service, const char* text);

/** Ends the question by what done was given: the failure and the error in the reply's body. */
void s3l_service_fail_reply(s3l_service_t* service, const s3l_http_reply_t* reply, const char* why);

/** Points it at the origin of the URL `text`, which messages call `name`. Where the origin is
 * another one than before, the old client is closed behind the scenes. False: the question has
 * ended. */
bool s3l_service_set_origin(s3l_service_t* service, s3l_span_t text, const char* name,
                            s3l_url_t* url);

/** Reads a token of at most `max` bytes into token_file, then calls `then`. A failure ends the
 * question; messages begin with `name` and the path, which must stay. */
void s3l_service_read_token(s3l_service_t* service, const char* path, size_t max, const char* name,
                            void (*then)(s3l_service_t* service));

/** Calls the origin that it points at. Also from inside done. */
void s3l_service_call(s3l_service_t* service, const s3l_service_call_t* call);

/** "METHOD path HTTP/1.1", host, user agent; other headers must follow. */
void s3l_service_put_head(const s3l_service_t* service, s3l_buf_t* b, const char* method,
                          s3l_span_t path);

/** Done of a call for the JSON of IMDS and of containers' agents: ends the question.
 * least_life_ms: credentials that have ended already count as good for this time; 0: they do not.
 */
void s3l_service_end_json(s3l_service_t* service, const s3l_http_reply_t* reply, const char* why,
                          int64_t least_life_ms);

/** The question under way, if any, ends soon with UV_ECANCELED. */
void s3l_service_cancel(s3l_service_t* service);

/** Closes all, then calls cb: in this call if nothing is open. */
void s3l_service_close(s3l_service_t* service, void (*cb)(void* arg), void* arg);

#endif
