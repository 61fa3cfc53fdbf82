/* util/skew.h: a wall clock of this machine that is wrong, found out by the one of a service
 * that refuses signatures of another time. */
#ifndef S3L_UTIL_SKEW_H
#define S3L_UTIL_SKEW_H

#include <stdbool.h>
#include <stdint.h>

#define S3L_SKEW_MIN_MS     (60 * 1000)     /* nearer than that the clock is not what is wrong */
#define S3L_SKEW_PERHAPS_MS (5 * 60 * 1000) /* of a refusal that may have other causes */

/** Whether ours, corrected by `*offset_ms`, is `least_ms` or more off the service's; if so,
 * `*offset_ms` is from now on what corrects it: 0 where it is right again by itself. All are Unix
 * time; `service_ms` 0: not known. */
bool s3l_skew_learn(int64_t* offset_ms, int64_t service_ms, int64_t now_ms, int64_t least_ms);

#endif
