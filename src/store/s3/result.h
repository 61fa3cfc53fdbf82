/* store/s3/result.h: judges a reply of S3. */
#ifndef S3L_STORE_S3_RESULT_H
#define S3L_STORE_S3_RESULT_H

#include "store/remote.h"
#include "store/s3/endpoint.h"

/** Makes the result of a reply. `region` is the one that the request was signed for: a refusal that
 * names another region is about the region, and puts its name into `named`, else "". */
void s3l_s3_read(s3l_remote_t* remote, s3l_remote_req_t* rr, const s3l_http_reply_t* reply,
                 s3l_span_t region, char named[S3L_S3_REGION_MAX], s3lect_store_result_t* result);

/** Reads the body of a listing. */
int s3l_s3_list(s3l_remote_t* remote, s3l_remote_req_t* rr, s3l_span_t body,
                s3lect_store_result_t* result);

#endif
