/* test/lib/verify_rig.h: a run of s3lect_verify_start that records its report. */
#ifndef S3L_TEST_VERIFY_RIG_H
#define S3L_TEST_VERIFY_RIG_H

#include "s3lect/verify.h"

#define S3L_VERIFY_CHECKS_MAX 24

typedef struct s3l_verify_rig_s {
  s3lect_verify_t verify;
  unsigned done;                 /* how often the callback ran */
  s3lect_verify_report_t report; /* its pointers lead to the copies below */
  s3lect_check_t checks[S3L_VERIFY_CHECKS_MAX];
  char texts[16384];
  size_t texts_len;
} s3l_verify_rig_t;

/** Starts a run, and returns what s3lect_verify_start does. */
int s3l_verify_rig_try(s3l_verify_rig_t* rig, const s3lect_verify_options_t* options);

/** Starts a run, which must be accepted. */
void s3l_verify_rig_start(s3l_verify_rig_t* rig, const s3lect_verify_options_t* options);

/** Starts one and waits for its end. */
void s3l_verify_rig_run(s3l_verify_rig_t* rig, const s3lect_verify_options_t* options);

/** The verdict of the check of that name; fails the test if there is none. */
int s3l_verify_rig_check(const s3l_verify_rig_t* rig, const char* name);

/** Asserts that exactly the named checks (ends with NULL) have failed, and that the reason is the
 * first one's; prints the whole table otherwise. If the first is "list", the reason is that of the
 * verdict on epoch files. */
void s3l_verify_rig_failed(const s3l_verify_rig_t* rig, const char* const* names);

void s3l_verify_rig_print(const s3l_verify_rig_t* rig);

#endif
