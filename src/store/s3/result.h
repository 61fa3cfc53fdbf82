/* store/s3/result.h: from an HTTP reply to a store result. */
#ifndef S3L_STORE_S3_RESULT_H
#define S3L_STORE_S3_RESULT_H

#include "http/client.h"
#include "s3lect/store.h"
#include "util/span.h"
#include "wire/s3_reply.h"

#define S3L_S3_MESSAGE_MAX 1024

/** What a result points to, for as long as its callback runs. */
typedef struct s3l_s3_scratch_s {
  char etag[S3LECT_ETAG_SIZE];
  char message[S3L_S3_MESSAGE_MAX];
  s3l_s3_recovery_t recovery; /* what may be put right before the request is sent again */
  char region[64];            /* the one that the reply names, if it is not the one asked, or "" */
  bool names_requests;        /* this store's replies have an ID of the request; kept */
  void* listing;              /* entries and the text that they point to; NULL: none yet */
  size_t listing_size;
} s3l_s3_scratch_t;

/* A larger block of entries is not kept for the next listing. */
#define S3L_S3_LISTING_KEEP 8192

/** `region` is the one that was asked: a reply that names another is about that. `scratch` is all
 * zero before its first use. */
s3lect_store_result_t s3l_s3_result(const s3lect_store_req_t* req, s3l_s3_op_t op,
                                    const s3l_http_reply_t* reply, s3l_span_t region,
                                    s3l_s3_scratch_t* scratch);

/** Says one thing more in the result's message: "; NAME REASON". What does not fit is left out. */
void s3l_s3_amend(s3lect_store_result_t* result, s3l_s3_scratch_t* scratch, const char* name,
                  const char* reason);

/** The result is of no use any more. What it pointed to is kept for the next one, where that is not
 * much. */
void s3l_s3_scratch_trim(s3l_s3_scratch_t* scratch);
/** Frees all, for good. */
void s3l_s3_scratch_free(s3l_s3_scratch_t* scratch);

#endif
