#include "store/s3/recovery.h"

#include <string.h>

#include "util/assert.h"
#include "util/buf.h"

void s3l_recovery_sign(const s3l_recovery_t* m, s3l_recovery_req_t* req) {
  req->region_changes = m->region_changes;
}

/* ---- The region ---- */

s3l_span_t s3l_recovery_region(const s3l_recovery_t* m, const s3l_recovery_req_t* req) {
  uint32_t since = m->region_changes - req->region_changes;
  return s3l_span_cstr(since == 0 ? m->endpoint.region : since == 1 ? m->old_region : NULL);
}

s3l_recovery_answer_t s3l_recovery_refused(s3l_recovery_t* m, s3l_recovery_req_t* req,
                                           s3l_remote_t* remote, s3lect_store_result_t* r) {
  bool outdated = req->region_changes != m->region_changes;
  if (req->region_retried) {
    char region[S3L_S3_REGION_MAX];
    (void)s3l_span_copy(s3l_recovery_region(m, req), region, sizeof(region));
    r->status = S3LECT_EREGION;
    s3l_remote_amend(r, remote, "this is what it says in region", region);
    s3l_remote_amend(
        r, remote, "which it had named itself:",
        "set AWS_REGION (or the option region) to the bucket's, and check the endpoint");
    return S3L_RECOVERY_NO;
  }
  req->region_retried = true;
  if (outdated)
    return S3L_RECOVERY_AGAIN; /* another request has learned the region meanwhile */
  m->next = m->endpoint;
  return s3l_s3_endpoint_move(&m->next, s3l_span_cstr(m->named)) ? S3L_RECOVERY_REGION
                                                                 : S3L_RECOVERY_NO;
}

void s3l_recovery_change_region(s3l_recovery_t* m) {
  memcpy(m->old_region, m->endpoint.region, sizeof(m->old_region));
  m->endpoint = m->next;
  m->region_changes++;
  m->region_notice = true;
  if (m->redirected > 0)
    (void)s3l_s3_endpoint_move(&m->own, s3l_span_cstr(m->endpoint.region));
}

/* ---- Redirects ---- */

const s3l_s3_endpoint_t* s3l_recovery_own(const s3l_recovery_t* m) {
  return m->redirected > 0 ? &m->own : &m->endpoint;
}

void s3l_recovery_redirect(s3l_recovery_t* m, s3l_recovery_req_t* req,
                           const s3l_s3_endpoint_t* to) {
  req->redirected = true;
  if (m->redirected++ > 0)
    return;
  m->own = m->endpoint;
  m->endpoint = *to;
}

bool s3l_recovery_redirect_end(s3l_recovery_t* m, const s3l_recovery_req_t* req) {
  if (!req->redirected)
    return false;
  S3L_ASSERT(m->redirected > 0);
  if (--m->redirected > 0)
    return false;
  m->endpoint = m->own;
  return true;
}

/* ---- Notices ---- */

int s3l_recovery_notice(s3l_recovery_t* m, s3l_buf_t* b) {
  if (!m->region_notice)
    return 0;
  m->region_notice = false;
  s3l_buf_puts(b, "the bucket is in region ");
  s3l_buf_puts(b, m->endpoint.region);
  s3l_buf_puts(b, ", not in ");
  s3l_buf_puts(b, m->old_region);
  s3l_buf_puts(b, ": requests go there now; set AWS_REGION (or the option region) to it, which "
                  "saves finding out");
  return S3LECT_EREGION;
}
