/* elector/option_checks.h: checks that options of several structs share. */
#ifndef S3L_OPTION_CHECKS_H
#define S3L_OPTION_CHECKS_H

#include <stdint.h>

#include "util/error.h"

/** Refuses a duration over S3L_DURATION_MS_MAX (core/record.h). */
int s3l_check_duration(s3lect_error_t* error, const char* option, uint32_t ms);

/** Refuses to be given something twice, as NAME_file (a path) and as NAME_pem (the text). */
int s3l_check_pem_pair(s3lect_error_t* error, const char* pem_option, const char* file,
                       const char* text);

#endif
