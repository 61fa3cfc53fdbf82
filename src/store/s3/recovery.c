#include "store/s3/recovery.h"

#include <string.h>

#include "util/assert.h"
#include "util/buf.h"
#include "util/skew.h"

void s3l_recovery_sign(const s3l_recovery_t* m, s3l_recovery_req_t* req) {
  req->region_changes = m->region_changes;
  req->clock_offset_ms = m->clock_offset_ms;
}

/* ---- The region ---- */

s3l_span_t s3l_recovery_region(const s3l_recovery_t* m, const s3l_recovery_req_t* req) {
  uint32_t since = m->region_changes - req->region_changes;
  return s3l_span_cstr(since == 0 ? m->endpoint.region : since == 1 ? m->old_region : NULL);
}

static s3l_recovery_answer_t recover_region(s3l_recovery_t* m, s3l_recovery_req_t* req,
                                            s3lect_store_result_t* r, s3l_s3_scratch_t* scratch) {
  bool outdated = req->region_changes != m->region_changes;
  if (req->region_retried) {
    char region[S3L_S3_REGION_MAX];
    (void)s3l_span_copy(s3l_recovery_region(m, req), region, sizeof(region));
    r->status = S3LECT_EREGION;
    s3l_s3_amend(r, scratch, "this is what it says in region", region);
    s3l_s3_amend(r, scratch, "which it had named itself:",
                 "set AWS_REGION (or the option region) to the bucket's, and check the endpoint");
    return S3L_RECOVERY_NO;
  }
  req->region_retried = true;
  if (outdated)
    return S3L_RECOVERY_AGAIN; /* another request has learned the region meanwhile */
  m->next = m->endpoint;
  bool can = s3l_s3_endpoint_move(&m->next, s3l_span_cstr(scratch->region));
  return can ? S3L_RECOVERY_REGION : S3L_RECOVERY_NO;
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

/* ---- The clock ---- */

static s3l_recovery_answer_t recover_clock(s3l_recovery_t* m, s3l_recovery_req_t* req,
                                           int64_t store_ms, int64_t now_ms, int64_t least_ms) {
  bool outdated = req->clock_offset_ms != m->clock_offset_ms;
  if (req->clock_retried || store_ms == 0)
    return S3L_RECOVERY_NO;
  if (!s3l_skew_learn(&m->clock_offset_ms, store_ms, now_ms, least_ms)) {
    req->clock_retried = outdated;
    return outdated ? S3L_RECOVERY_AGAIN : S3L_RECOVERY_NO;
  }
  req->clock_retried = true;
  m->clock_notice = true;
  return S3L_RECOVERY_AGAIN;
}

s3l_recovery_answer_t s3l_recovery_refused(s3l_recovery_t* m, s3l_recovery_req_t* req,
                                           s3lect_store_result_t* r, s3l_s3_scratch_t* scratch,
                                           int64_t now_ms) {
  if (r->outcome != S3LECT_NOT_APPLIED)
    return S3L_RECOVERY_NO;
  switch (scratch->recovery) {
  case S3L_S3_RECOVER_REGION:
    return recover_region(m, req, r, scratch);
  case S3L_S3_RECOVER_CLOCK:
    return recover_clock(m, req, r->store_time_ms, now_ms, S3L_SKEW_MIN_MS);
  case S3L_S3_RECOVER_SKEW_PERHAPS:
    return recover_clock(m, req, r->store_time_ms, now_ms, S3L_SKEW_PERHAPS_MS);
  default:
    return S3L_RECOVERY_NO;
  }
}

/* ---- Notices ---- */

static void tell_region(const s3l_recovery_t* m, s3l_buf_t* b) {
  s3l_buf_puts(b, "the bucket is in region ");
  s3l_buf_puts(b, m->endpoint.region);
  s3l_buf_puts(b, ", not in ");
  s3l_buf_puts(b, m->old_region);
  s3l_buf_puts(b, ": requests go there now; set AWS_REGION (or the option region) to it, which "
                  "saves finding out");
}

static void tell_clock(const s3l_recovery_t* m, s3l_buf_t* b) {
  int64_t s = m->clock_offset_ms / 1000;
  if (s == 0) {
    s3l_buf_puts(b, "this machine's clock is right again: requests are signed with its time");
    return;
  }
  s3l_buf_puts(b, "this machine's clock is ");
  s3l_buf_i64(b, s < 0 ? -s : s);
  s3l_buf_puts(b, s < 0 ? " s ahead of the store's" : " s behind the store's");
  s3l_buf_puts(b, ": requests are signed with the store's time; set the clock (NTP)");
}

void s3l_recovery_tell(s3l_recovery_t* m, s3lect_store_result_t* r, s3l_s3_scratch_t* scratch) {
  s3l_buf_t b;
  if (r->message != NULL)
    return;
  s3l_buf_init(&b, scratch->message, sizeof(scratch->message));
  if (m->region_notice) {
    m->region_notice = false;
    r->notice = S3LECT_EREGION;
    tell_region(m, &b);
  } else if (m->clock_notice) {
    m->clock_notice = false;
    r->notice = S3LECT_ESKEW;
    tell_clock(m, &b);
  } else if ((r->notes & S3LECT_NOTE_ETAG_WEAK) != 0 && !m->weak_told) {
    m->weak_told = true;
    r->notice = S3LECT_EETAG;
    s3l_buf_puts(&b, "ETags come weak (W/\"...\"), since a proxy on the way rewrites replies; they "
                     "are used as strong ones: switch its compression off, or go around it");
  }
  if (r->notice != 0)
    r->message = s3l_buf_cstr(&b);
}
