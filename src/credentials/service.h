/* credentials/service.h: questions to a service that gives credentials: IMDS, a container's agent
 * (metadata.h), STS (sts.h), a token service (oauth.h).
 *
 * - This module alone decides where secrets may go: https anywhere; plain http only to loopback, to
 *   the link-local metadata addresses of AWS, which Azure and Google share, and where the flags of
 *   an origin allow more. Redirects are not followed.
 * - A proxy never sees secrets: what goes through one is https, through a tunnel.
 * - A question is one or more calls. A call is retried, with growing pauses, where that may help
 *   (no connection, 5xx, 429). The last one is answered by the credentials.
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

#define S3L_SERVICE_HOST_MAX  264 /* with brackets, port and NUL */
#define S3L_SERVICE_BODY_MAX  65536
#define S3L_SERVICE_TOKEN_MAX 20000 /* of a token in a file; a form has room for it */
#define S3L_SERVICE_FORM      "application/x-www-form-urlencoded"

typedef struct s3l_service_s s3l_service_t;

typedef struct s3l_service_call_s {
  /* Writes the whole request; false if it cannot be written. */
  bool (*compose)(s3l_service_t* service, s3l_buf_t* b);
  /* Reads the credentials of the last call's reply, whose status is 200, as in reply.h. */
  int (*parse)(const s3l_http_reply_t* reply, int64_t now_ms, s3lect_credentials_t** out,
               s3l_buf_t* why);
  int64_t least_life_ms; /* credentials that have ended already count as good for this time; 0:
                            they do not */
  /* In place of parse, of a call that is not the last: runs once, from the loop, never inside call,
   * with whatever came. It makes another call, or ends the question. */
  void (*done)(s3l_service_t* service, const s3l_http_reply_t* reply);
  /* Whether a reply that is neither 200 nor a 5xx is worth another attempt; may be NULL. */
  bool (*is_transient)(s3l_service_t* service, const s3l_http_reply_t* reply);
  const char* absent; /* where no reply means that there is no such service, it is not worth another
                         attempt: what its message ends with. Else NULL */
} s3l_service_call_t;

struct s3l_service_s {
  const s3l_settings_t* settings;
  s3l_buf_t* why;    /* the question's message, to which failures are added */
  s3l_span_t secret; /* that requests hold, set by the source; an error of the service that repeats
                        it is not shown. n == 0 at the start of a question */
  void* data;        /* the source's */

  /* Private. */
  s3l_loop_t* loop;
  s3l_creds_cb ended;
  void* arg;
  const s3l_proxy_rules_t* proxies; /* of the origin */
  s3l_http_client_t* client;
  unsigned clients; /* not yet closed */
  bool tls;
  s3l_http_req_t req;
  const s3l_service_call_t* call; /* the one under way */
  uint32_t timeout_ms;            /* of each attempt */
  uint32_t attempt;
  uint32_t attempts;
  s3l_deadline_t pause;
  int64_t clock_offset_ms; /* from this machine's clock to the service's, if it is far; or 0 */
  bool reclocked;          /* found in this question */
  s3l_prng_t prng;
  bool cancelled;
  void (*then)(s3l_service_t* service); /* after the token file */
  const char* token_name;
  const char* token_path;
  void (*close_cb)(void* arg);
  void* close_arg;

  /* Not private. */
  s3l_file_t token_file;                  /* freed at the end of the question */
  char host_header[S3L_SERVICE_HOST_MAX]; /* for compose */
  char role[128];                         /* that the service named */
  char token[512];                        /* that the service itself gave; wiped likewise */
  char path[2048];                        /* of the origin's URL, with its query; may be empty */
};

/** `ended` runs with `arg` at the end of each question. */
void s3l_service_init(s3l_service_t* service, const s3l_settings_t* settings, s3l_buf_t* why,
                      s3l_creds_cb ended, void* arg);

/** Whether secrets may go there. */
bool s3l_service_allows(const s3l_url_t* url);

/** Prepares for the calls of another question. */
void s3l_service_begin(s3l_service_t* service, s3l_loop_t* loop);

/** The service's time as far as it is known, for signatures. */
int64_t s3l_service_now_ms(const s3l_service_t* service);

/** Whether the reply to a signed request tells that the clocks differ by `least_ms` or more, for
 * the first time in this question: then another signature may be good. */
bool s3l_service_reclock(s3l_service_t* service, const s3l_http_reply_t* reply, int64_t least_ms);

/** Ends the question. With a status other than 0, `why` says the reason. */
void s3l_service_end(s3l_service_t* service, int status, s3lect_credentials_t* creds);

/** Adds to `why`, then ends the question with S3LECT_ECREDENTIALS. */
void s3l_service_fail(s3l_service_t* service, const char* text);

/** Whether the reply has the status 200. */
bool s3l_service_is_good(const s3l_http_reply_t* reply);

/** Ends the question by a reply that is not good: what came instead, and then `note`, or, if that
 * is NULL, the error in the reply's body. */
void s3l_service_fail_reply(s3l_service_t* service, const s3l_http_reply_t* reply,
                            const char* note);

typedef struct s3l_service_origin_s {
  s3l_span_t url;
  const char* name;                 /* that messages have for it */
  bool query;                       /* it may have one */
  bool link_local;                  /* plain http may go to any address of 169.254.0.0/16 */
  bool google_metadata;             /* plain http may go to metadata.google.internal: requests hold
                                       no secret, since a name leads where DNS says */
  const s3l_proxy_rules_t* proxies; /* for https; not copied. NULL: it is reached directly, as
                                       machines' own services must be */
} s3l_service_origin_t;

/** Points it at an origin. Where that is another one than before, the old client is closed behind
 * the scenes. False: the question has ended. */
bool s3l_service_set_origin(s3l_service_t* service, const s3l_service_origin_t* origin);

/** Reads a token of at most `max` bytes into token_file, then calls `then`. A failure ends the
 * question; messages begin with `name` and the path, which must stay. */
void s3l_service_read_token(s3l_service_t* service, const char* path, size_t max, const char* name,
                            void (*then)(s3l_service_t* service));

/** Calls the origin that it points at, with a time-out for each attempt. Also from inside done. */
void s3l_service_call(s3l_service_t* service, const s3l_service_call_t* call, uint32_t timeout_ms,
                      uint32_t attempts);

/** "METHOD path HTTP/1.1", host, user agent; other headers must follow. The path is the origin's,
 * with `more` and `last` behind it. */
void s3l_service_put_head(const s3l_service_t* service, s3l_buf_t* b, const char* method,
                          const char* more, const char* last);

/** Whether a header may hold it: another value would smuggle other headers in. */
bool s3l_service_is_header_value(s3l_span_t value);

/** The head of a POST of a form, without the empty line after it. */
void s3l_service_put_form_head(const s3l_service_t* service, s3l_buf_t* b, const char* accept,
                               size_t length);

/** A whole POST. put_form writes the form, which may be long and a secret, to the place from which
 * it goes out. False if it does not fit. */
bool s3l_service_put_form(s3l_service_t* service, s3l_buf_t* b, const char* accept,
                          void (*put_form)(s3l_service_t* service, s3l_buf_t* b));

/** The question under way, if any, ends soon with UV_ECANCELED. */
void s3l_service_cancel(s3l_service_t* service);

/** Closes all, then calls cb: in this call if nothing is open. */
void s3l_service_close(s3l_service_t* service, void (*cb)(void* arg), void* arg);

#endif
