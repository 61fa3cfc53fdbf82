/* elector/preflight.h: verify_on_start: an elector does not stand until its store has been found
 * fit.
 *
 * Lives between the public handle and the core, which knows nothing of it: a start that was asked
 * for is held back until the quick part of s3lect_verify_start has passed. A store that is found
 * unfit ends the standing; one that could not be examined is examined again after the frequent
 * interval, like any other failing poll. Once passed, it stays so for the elector's life. */
#ifndef S3L_PREFLIGHT_H
#define S3L_PREFLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "s3lect/verify.h"

struct s3l_executor_s;

typedef struct s3l_preflight_s {
  bool passed;
  bool running;     /* `verify` is under way */
  int error;        /* of the last run; 0 if there was none, or none since */
  int64_t retry_at; /* lease time; not before then */
  uint32_t retry_ms;
  s3lect_verify_t verify;
} s3l_preflight_t;

/** Whether the start that was asked for may go ahead now; else begins to find out, or waits. */
bool s3l_preflight_is_open(struct s3l_executor_s* executor);

/** When s3l_preflight_is_open wants to be asked again; S3L_NEVER if it will wake the executor
 * itself. */
int64_t s3l_preflight_deadline(const struct s3l_executor_s* executor);

/** Whether the store is being examined: the executor must live until that has ended. */
bool s3l_preflight_is_busy(const struct s3l_executor_s* executor);

/** Why the elector was not admitted, or 0. */
int s3l_preflight_error(const struct s3l_executor_s* executor);

/** The start has been called off. */
void s3l_preflight_cancel(struct s3l_executor_s* executor);

#endif
