/* util/timefmt.h: wall-clock times as text. A time is Unix milliseconds in an int64_t, in the
 * proleptic Gregorian calendar, years 0..9999; times before 1970 are negative. Leap seconds (:60)
 * are refused, as in Go. Nothing here reads a clock, a locale or a time zone. */
#ifndef S3L_UTIL_TIMEFMT_H
#define S3L_UTIL_TIMEFMT_H

#include <stdbool.h>
#include <stdint.h>

#include "util/span.h"

#define S3L_TIME_RFC3339_SIZE 32
#define S3L_TIME_HTTP_SIZE    32
#define S3L_TIME_AMZ_SIZE     17

/** Reads "2024-10-27T10:30:45[.123456789](Z|+hh:mm)", without what is finer than a millisecond. */
bool s3l_time_parse_rfc3339(s3l_span_t s, int64_t* ms);

/** Writes "2024-10-27T10:30:45.123Z", without the fraction where it is zero. False, with out[0] =
 * 0, outside years 0..9999. */
bool s3l_time_format_rfc3339(int64_t ms, char out[S3L_TIME_RFC3339_SIZE]);

/** Always writes the three digits of the fraction. */
bool s3l_time_format_rfc3339_ms(int64_t ms, char out[S3L_TIME_RFC3339_SIZE]);

/** Reads the three forms of RFC 9110 section 5.6.7. Two-digit years are 1970..2069. */
bool s3l_time_parse_http(s3l_span_t s, int64_t* ms);

/** Writes "Sun, 06 Nov 1994 08:49:37 GMT". */
bool s3l_time_format_http(int64_t ms, char out[S3L_TIME_HTTP_SIZE]);

/** "20241027T103045Z", as SigV4 has it. */
bool s3l_time_parse_amz(s3l_span_t s, int64_t* ms);
bool s3l_time_format_amz(int64_t ms, char out[S3L_TIME_AMZ_SIZE]);

#endif
