/* admit.h (L7): verify_on_start: an elector does not stand until its store has been found fit.
 *
 * Lives between the public handle and the core, which knows nothing of it: a start that was asked
 * for is held back until the quick part of s3lect_verify has passed. A store that is found unfit
 * ends the standing; one that could not be examined is examined again after the frequent interval,
 * like any other failing poll. Once passed, it stays so for the elector's life. */
#ifndef S3L_ADMIT_H
#define S3L_ADMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "s3lect/verify.h"

struct s3l_driver_s;

typedef struct s3l_admit_s {
  bool passed;
  bool running;     /* `verify` is under way */
  int error;        /* of the last run; 0 if there was none, or none since */
  int64_t retry_at; /* lease time; not before then */
  uint32_t retry_ms;
  s3lect_verify_t verify;
} s3l_admit_t;

/** Whether the start that was asked for may go ahead now; else begins to find out, or waits. */
bool s3l_admit_is_open(struct s3l_driver_s* driver);

/** When s3l_admit_is_open wants to be asked again; S3L_NEVER if it will wake the driver itself. */
int64_t s3l_admit_deadline(const struct s3l_driver_s* driver);

/** Whether the store is being examined: the driver must live until that has ended. */
bool s3l_admit_is_busy(const struct s3l_driver_s* driver);

/** Why the elector was not admitted, or 0. */
int s3l_admit_error(const struct s3l_driver_s* driver);

/** The start has been called off. */
void s3l_admit_cancel(struct s3l_driver_s* driver);

#endif
