/* elector/validity.h: until when this elector is leader, as other threads see it.
 *
 * Invariants
 *   - published validity is never later than the core's, and 0 from the moment at which the
 *     application has asked to stop or resign;
 *   - once a validity has passed, no thread sees a later one of the same epoch: whoever finds that
 *     it has passed, reader or publisher, ends it by compare-and-swap. */
#ifndef S3L_VALIDITY_H
#define S3L_VALIDITY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct s3l_validity_s {
  /* Read by any thread; written by the loop's. */
  _Atomic int64_t until; /* in lease time; 0: not leader */
  _Atomic uint64_t epoch;

  int64_t shown;        /* what was published last ... */
  uint64_t shown_epoch; /* ... and its epoch, where it was not 0 */
} s3l_validity_t;

/** The published validity, 0 if it is over. Any thread. */
int64_t s3l_validity_until(s3l_validity_t* validity);

/** Publishes the core's epoch and validity, 0 if there is none. False if the validity came too
 * late: the one before is over, and other threads may have seen its end. */
bool s3l_validity_publish(s3l_validity_t* validity, uint64_t epoch, int64_t until);

/** Publishes 0, until the next s3l_validity_publish. */
void s3l_validity_withdraw(s3l_validity_t* validity);

#endif
