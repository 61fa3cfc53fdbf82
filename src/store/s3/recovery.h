/* store/s3/recovery.h: what an S3 store learns from being refused, so that the same request,
 * signed anew, is taken: the bucket's region, and how far this machine's clock is off.
 *
 * Only replies that say the request had no effect are mended, so that a write is never carried out
 * twice. A request is sent again once for each of the two at most; what was learned stays, so that
 * later requests are right at once. Whatever is learned is news for the operator, told once. */
#ifndef S3L_S3_RECOVERY_H
#define S3L_S3_RECOVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "store/s3/endpoint.h"
#include "store/s3/result.h"

typedef struct s3l_recovery_s {
  s3l_s3_endpoint_t endpoint; /* as it is known now */
  s3l_s3_endpoint_t next;     /* after S3L_RECOVERY_MOVED: what it is to become */
  s3l_s3_endpoint_t home;     /* what it becomes again when nobody is away any more */
  uint32_t away;              /* requests that were redirected and have not ended */
  uint32_t moves;             /* how often it has changed */
  int64_t clock_offset_ms;    /* of the store's clock from ours, where that was found wrong; or 0 */
  char old_region[S3L_S3_REGION_MAX];
  bool region_news;
  bool clock_news;
  bool weak_told;
} s3l_recovery_t;

/** What a request was signed with; part of its state, zeroed before it is first sent. */
typedef struct s3l_recovery_req_s {
  int64_t clock_offset_ms;
  uint32_t moves;  /* how often the endpoint had moved by then */
  bool moved;      /* it has been sent again for the region, */
  bool reclocked;  /* for the clock, */
  bool redirected; /* elsewhere, for this once */
} s3l_recovery_req_t;

typedef enum {
  S3L_RECOVERY_NO,    /* it would not help */
  S3L_RECOVERY_AGAIN, /* sign and send it again */
  S3L_RECOVERY_MOVED  /* the same, after s3l_recovery_move */
} s3l_recovery_answer_t;

/** The request is signed with what is known now. */
void s3l_recovery_sign(const s3l_recovery_t* mend, s3l_recovery_req_t* req);

/** The region that the request was signed for; n == 0 if that was before the one before. */
s3l_span_t s3l_recovery_region(const s3l_recovery_t* mend, const s3l_recovery_req_t* req);

/** The request ended so; `now_ms` is this machine's wall clock. Where the answer is NO, the result
 * may have got a better reason why. */
s3l_recovery_answer_t s3l_recovery_refused(s3l_recovery_t* mend, s3l_recovery_req_t* req,
                                           s3lect_store_result_t* result, s3l_s3_scratch_t* scratch,
                                           int64_t now_ms);

/** Takes the next endpoint. */
void s3l_recovery_move(s3l_recovery_t* mend);

/** A request goes elsewhere for this once, unless others do already: then it goes with them. */
void s3l_recovery_away(s3l_recovery_t* mend, s3l_recovery_req_t* req, const s3l_s3_endpoint_t* to);

/** A request has ended. True if it was the last one away: then the endpoint is what it was. */
bool s3l_recovery_back(s3l_recovery_t* mend, s3l_recovery_req_t* req);

/** Puts one piece of news into a result that has no message of its own, if there is any. */
void s3l_recovery_tell(s3l_recovery_t* mend, s3lect_store_result_t* result,
                       s3l_s3_scratch_t* scratch);

#endif
