/* store/s3/result.h: from an HTTP reply to a store result. */
#ifndef S3L_STORE_S3_RESULT_H
#define S3L_STORE_S3_RESULT_H

#include "http/client.h"
#include "s3lect/store.h"
#include "util/span.h"
#include "wire/s3_reply.h"

#define S3L_S3_MESSAGE_MAX 1024

/** What a result points to while its callback runs. */
typedef struct s3l_s3_scratch_s {
  char etag[S3LECT_ETAG_SIZE];
  char message[S3L_S3_MESSAGE_MAX];
  s3l_s3_recovery_t recovery; /* what may help before the request is sent again */
  char region[64];            /* another region that the reply names, or "" */
  bool names_requests;        /* the store's replies have had request IDs so far */
  void* listing;              /* entries and the text that they point to; NULL: none yet */
  size_t listing_size;
} s3l_s3_scratch_t;

/* A larger block is freed after the listing. */
#define S3L_S3_LISTING_KEEP 8192

/** Makes the store's result of an HTTP reply. `region` is the one that the request was signed for:
 * a refusal that names another region is about the region. `scratch` is zeroed before its first
 * use. */
s3lect_store_result_t s3l_s3_result(const s3lect_store_req_t* req, s3l_s3_op_t op,
                                    const s3l_http_reply_t* reply, s3l_span_t region,
                                    s3l_s3_scratch_t* scratch);

/** Appends "; NAME REASON" to the result's message, if it fits. */
void s3l_s3_amend(s3lect_store_result_t* result, s3l_s3_scratch_t* scratch, const char* name,
                  const char* reason);

/** Ends the use of a result: frees a large listing, and keeps a small one for the next result. */
void s3l_s3_scratch_trim(s3l_s3_scratch_t* scratch);
/** Frees everything. */
void s3l_s3_scratch_free(s3l_s3_scratch_t* scratch);

#endif
