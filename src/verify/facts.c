/* verify/facts.c: what the ops of a run mean, and what is known of the main object; see
 * verify_checks.h. */
#include <stdio.h>
#include <string.h>

#include "verify/checks.h"

/* ---- What ops mean ---- */

bool s3l_verify_is_refused(const s3l_verify_op_t* op) {
  return op->status == S3LECT_EPRECONDITION || op->status == S3LECT_ECONFLICT ||
         op->status == S3LECT_ENOTFOUND;
}

/* What the store said, for people: its words, or ours. */
const char* s3l_verify_said(const s3l_verify_op_t* op) {
  return op->message[0] != '\0' ? op->message : s3lect_strerror(op->status);
}

/* "412", or the error's name where there was no reply. */
const char* s3l_verify_status(const s3l_verify_op_t* op, char out[24]) {
  if (op->http_status != 0)
    (void)snprintf(out, 24, "%d", op->http_status);
  else
    (void)snprintf(out, 24, "%s", op->status == 0 ? "done" : s3lect_err_name(op->status));
  return out;
}

/* An op that tells nothing about its check. */
void s3l_verify_give_up(s3l_verify_run_t* run, s3l_verify_check_t check,
                        const s3l_verify_op_t* op) {
  s3l_verify_see(run, check, S3LECT_CHECK_INCONCLUSIVE, "%s", s3l_verify_said(op));
  s3l_verify_end(run, op->status);
}

/* ---- What is known of the main object ---- */

void s3l_verify_note_etag(s3l_verify_run_t* run, const char* etag) {
  for (size_t i = 0; i < run->etags_len; i++) {
    if (strcmp(run->etags[i], etag) == 0) {
      s3l_verify_see(run, S3L_CHECK_FRESH_ETAG, S3LECT_CHECK_FAILED,
                     "different bodies have the same ETag %.80s", etag);
      return;
    }
  }
  if (run->etags_len < S3L_VERIFY_ETAGS_MAX)
    memcpy(run->etags[run->etags_len++], etag, S3LECT_ETAG_SIZE);
  s3l_verify_see(run, S3L_CHECK_FRESH_ETAG, S3LECT_CHECK_PASSED, "%zu bodies, %zu ETags",
                 run->etags_len, run->etags_len);
}

/* A write to the main object has been carried out. */
void s3l_verify_set_now(s3l_verify_run_t* run, const char* etag, const char* body) {
  if (strcmp(run->now_etag, etag) != 0)
    memcpy(run->old_etag, run->now_etag, sizeof(run->old_etag));
  memcpy(run->now_etag, etag, sizeof(run->now_etag));
  memcpy(run->now_body, body, sizeof(run->now_body));
}

void s3l_verify_confirm(s3l_verify_run_t* run, const s3l_verify_op_t* op) {
  s3l_verify_note_etag(run, op->etag);
  if (op->key == S3L_KEY_MAIN)
    s3l_verify_set_now(run, op->etag, op->body);
}

bool s3l_verify_tells_nothing(const s3l_verify_op_t* op) {
  return op->status != 0 && op->status != S3LECT_ENOTFOUND && op->status != S3LECT_ENOTMODIFIED &&
         op->status != S3LECT_ETOOBIG && op->status != S3LECT_EETAG;
}
