/* test/lib/s3proc_case.h: the s3proc_t of a program's tests, and cmocka's set-ups and tear-down of
 * it.
 */
#ifndef TEST_LIB_S3PROC_CASE_H
#define TEST_LIB_S3PROC_CASE_H

#include "lib/s3proc.h"

static s3proc_t s3;

/* A store without a lockfile. */
static inline int begin_empty(void** state) {
  (void)state;
  s3proc_begin(&s3, S3L_BUILD_DIR, NULL);
  return 0;
}

/* One with a released record. */
static inline int begin_seeded(void** state) {
  (void)state;
  s3proc_begin(&s3, S3L_BUILD_DIR, NULL);
  s3proc_seed(&s3);
  return 0;
}

static inline int begin_file(void** state) {
  (void)state;
  s3proc_begin_file(&s3, S3L_BUILD_DIR);
  return 0;
}

static inline int end(void** state) {
  (void)state;
  s3proc_end(&s3);
  return 0;
}

#endif
