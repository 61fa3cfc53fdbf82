/* util/skew.h: detects that this machine's wall clock is wrong, by the clock of a service that
 * refuses signatures of another time. */
#ifndef S3L_UTIL_SKEW_H
#define S3L_UTIL_SKEW_H

#include <stdbool.h>
#include <stdint.h>

#define S3L_SKEW_MIN_MS     (60 * 1000)     /* smaller differences are not the cause of a refusal */
#define S3L_SKEW_PERHAPS_MS (5 * 60 * 1000) /* for a refusal that may have other causes */

/** Whether our clock, corrected by `*offset_ms`, differs from the service's by `least_ms` or more.
 * If so, sets `*offset_ms` to the new correction: 0 if our clock is right again. Times are Unix
 * time; `service_ms` 0: unknown. */
bool s3l_skew_learn(int64_t* offset_ms, int64_t service_ms, int64_t now_ms, int64_t least_ms);

#endif
