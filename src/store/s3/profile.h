/* store/s3/profile.h: what the profile in ~/.aws/config and ~/.aws/credentials says about
 * where S3 is. */
#ifndef S3L_STORE_S3_PROFILE_H
#define S3L_STORE_S3_PROFILE_H

#include "util/error.h"

#define S3L_S3_PROFILE_VALUE_MAX 512 /* with its NUL */
#define S3L_S3_PROFILE_NAME_MAX  100

/** Each value with what to call it in a message; "" where it is not set. */
typedef struct s3l_s3_profile_s {
  char region[S3L_S3_PROFILE_VALUE_MAX];
  char region_name[S3L_S3_PROFILE_NAME_MAX];
  char endpoint[S3L_S3_PROFILE_VALUE_MAX];
  char endpoint_name[S3L_S3_PROFILE_NAME_MAX];
  char dualstack[S3L_S3_PROFILE_VALUE_MAX];
  char dualstack_name[S3L_S3_PROFILE_NAME_MAX];
} s3l_s3_profile_t;

/** Reads the files now, each if it is a regular file of up to 1 MiB. `name` NULL or "": what the
 * environment names, else "default". Files that are not there, or may not be read, say nothing,
 * unless the profile was named. Errors: S3LECT_EOPTION, UV_ENOMEM. */
int s3l_s3_profile_read(const char* name, s3l_s3_profile_t* out, s3lect_error_t* error);

#endif
