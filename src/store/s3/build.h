/* store/s3/build.h: what the files that check the options of the S3 store share. */
#ifndef S3L_STORE_S3_BUILD_H
#define S3L_STORE_S3_BUILD_H

#include "store/s3/options.h"
#include "store/s3/profile.h"

typedef struct s3l_s3_build_s {
  const s3lect_store_s3_options_t* o; /* of this library's size */
  s3l_s3_config_t* c;
  s3lect_error_t* error;
  s3l_s3_profile_t profile; /* zero where it was not needed */
} s3l_s3_build_t;

/** An option's value together with the name of where it came from. */
typedef struct s3l_s3_source_s {
  const char* name;
  const char* value; /* NULL: not set */
} s3l_s3_source_t;

/** NULL for an empty string, too. */
const char* s3l_s3_set_or_null(const char* s);

/** The option, else the first of two environment variables that is set. */
s3l_s3_source_t s3l_s3_choose(const char* option_name, const char* option, const char* env1,
                              const char* env2);

/** In s3_endpoint.c: bucket, region, endpoint, addressing. */
int s3l_s3_build_endpoint(s3l_s3_build_t* b);

#endif
