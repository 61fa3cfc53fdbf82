#include "elector/option_checks.h"

#include <inttypes.h>
#include <stddef.h>

#include "core/record.h"

int s3l_check_duration(s3lect_error_t* error, const char* option, uint32_t ms) {
  if (ms > S3L_DURATION_MS_MAX)
    return s3l_error_say(error, S3LECT_EOPTION, option, NULL,
                         "%" PRIu32 " ms is over the limit of four weeks", ms);
  return 0;
}

int s3l_check_pem_pair(s3lect_error_t* error, const char* pem_option, const char* file,
                       const char* text) {
  if (file != NULL && text != NULL)
    return s3l_error_say(error, S3LECT_EOPTION, pem_option, NULL,
                         "given as a file, too; give one of them");
  return 0;
}
