/* verify/facts.c: what results mean, and what the run knows of the main object. */
#include <stdio.h>
#include <string.h>

#include "verify/run.h"

void s3l_verify_body(const s3l_verify_run_t* run, uint32_t n, char out[S3L_VERIFY_BODY_SIZE]) {
  (void)snprintf(out, S3L_VERIFY_BODY_SIZE, "{\"s3lectVerify\":\"%s\",\"write\":%u}\n", run->id,
                 (unsigned)n);
}

bool s3l_verify_is_refused(const s3l_verify_op_t* op) {
  return op->status == S3LECT_EPRECONDITION || op->status == S3LECT_ECONFLICT ||
         op->status == S3LECT_ENOTFOUND;
}

bool s3l_verify_tells_nothing(const s3l_verify_op_t* op) {
  return op->status != 0 && op->status != S3LECT_ENOTFOUND && op->status != S3LECT_ENOTMODIFIED &&
         op->status != S3LECT_ETOOBIG && op->status != S3LECT_EETAG;
}

const char* s3l_verify_said(const s3l_verify_op_t* op) {
  return op->message[0] != '\0' ? op->message : s3lect_strerror(op->status);
}

void s3l_verify_end(s3l_verify_run_t* run, int error) {
  if (run->over)
    return;
  run->over = true;
  run->error = error;
}

s3l_verify_move_t s3l_verify_give_up(s3l_verify_run_t* run, const s3l_verify_op_t* op) {
  s3l_verify_see(run, run->check, S3LECT_CHECK_INCONCLUSIVE, "%s", s3l_verify_said(op));
  s3l_verify_end(run, op->status);
  return S3L_VERIFY_CHECK_OVER;
}

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
