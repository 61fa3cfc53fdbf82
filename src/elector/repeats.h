/* elector/repeats.h: errors that repeat at every look are told to the application once, then at
 * distances that double, up to an hour. An error that is new, or that has not occurred for a while,
 * is told at once. */
#ifndef S3L_REPEATS_H
#define S3L_REPEATS_H

#include <stdbool.h>
#include <stdint.h>

#define S3L_REPEATS_MAX 4 /* different errors that are remembered */

/** All zero at first. Times are seconds of lease time. */
typedef struct s3l_repeats_s {
  struct {
    uint32_t what; /* hash of the error and its message */
    uint32_t seen, next, gap;
  } at[S3L_REPEATS_MAX];
} s3l_repeats_t;

/** Notes that an error occurs at `now_ns`; returns whether it is to be told. It counts as a
 * repetition if it occurred less than `forget_ns` ago. Digits in `message` are ignored. */
bool s3l_repeats_tell(s3l_repeats_t* repeats, int error, const char* message, int64_t now_ns,
                      int64_t forget_ns);

#endif
