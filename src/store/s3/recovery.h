/* store/s3/recovery.h: what an S3 store learns when a request is refused, so that the same request,
 * signed again, is accepted: the bucket's region. (How far this machine's clock is off is learned
 * in store/remote.c.)
 *
 * A request is sent again only if the reply says that it had no effect, so that no write is carried
 * out twice, and at most once for this reason. The store keeps what it has learned, so that later
 * requests are right at once. Each discovery is a notice for the operator, reported once.
 *
 * A temporary redirect (307) is followed once for each request. While redirected requests are under
 * way, all requests go to the redirect's endpoint: the HTTP client has one origin at a time. */
#ifndef S3L_S3_RECOVERY_H
#define S3L_S3_RECOVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "store/remote.h"
#include "store/s3/endpoint.h"

typedef struct s3l_recovery_s {
  s3l_s3_endpoint_t endpoint; /* the current one */
  s3l_s3_endpoint_t next;     /* after S3L_RECOVERY_REGION: the one to change to */
  s3l_s3_endpoint_t own;      /* during a redirect: the one without it */
  uint32_t redirected;        /* redirected requests under way */
  uint32_t region_changes;
  char named[S3L_S3_REGION_MAX]; /* another region that the reply names, or "" */
  char old_region[S3L_S3_REGION_MAX];
  bool region_notice;
} s3l_recovery_t;

/** What a request was signed with; part of its state, zeroed before it is first sent. */
typedef struct s3l_recovery_req_s {
  uint32_t region_changes; /* how often the region had changed by then */
  bool region_retried;     /* the request has been sent again for the region, */
  bool redirected;         /* for a redirect */
} s3l_recovery_req_t;

typedef enum {
  S3L_RECOVERY_NO,     /* sending again would not help */
  S3L_RECOVERY_AGAIN,  /* sign and send the request again */
  S3L_RECOVERY_REGION, /* the same, after s3l_recovery_change_region */
} s3l_recovery_answer_t;

/** Notes that the request is signed with what is known now. */
void s3l_recovery_sign(const s3l_recovery_t* recovery, s3l_recovery_req_t* req);

/** The region that the request was signed for; empty if the region has changed twice since. */
s3l_span_t s3l_recovery_region(const s3l_recovery_t* recovery, const s3l_recovery_req_t* req);

/** Decides about a request whose refusal, `result`, is about the region. If the answer is NO, the
 * result may have a better message afterwards. */
s3l_recovery_answer_t s3l_recovery_refused(s3l_recovery_t* recovery, s3l_recovery_req_t* req,
                                           s3l_remote_t* remote, s3lect_store_result_t* result);

/** Changes to the next endpoint. */
void s3l_recovery_change_region(s3l_recovery_t* recovery);

/** The endpoint that requests go to without a redirect. */
const s3l_s3_endpoint_t* s3l_recovery_own(const s3l_recovery_t* recovery);

/** Redirects a request to `to`; or, during another redirect, to that redirect's endpoint. */
void s3l_recovery_redirect(s3l_recovery_t* recovery, s3l_recovery_req_t* req,
                           const s3l_s3_endpoint_t* to);

/** Ends a request. True if it was the last redirected one: the endpoint is the own one again. */
bool s3l_recovery_redirect_end(s3l_recovery_t* recovery, const s3l_recovery_req_t* req);

/** Takes the notice of a region that was learned, as s3l_remote_dialect_t has it. */
int s3l_recovery_notice(s3l_recovery_t* recovery, s3l_buf_t* text);

#endif
