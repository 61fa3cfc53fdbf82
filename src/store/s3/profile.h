/* store/s3/profile.h: what a profile in ~/.aws/config and ~/.aws/credentials says of the endpoint
 * of S3. */
#ifndef S3L_STORE_S3_PROFILE_H
#define S3L_STORE_S3_PROFILE_H

#include "store/source.h"
#include "util/error.h"

#define S3L_S3_PROPERTY_MAX      512 /* with its NUL */
#define S3L_S3_PROPERTY_NAME_MAX 100

/** A property of a profile. */
typedef struct s3l_s3_property_s {
  char value[S3L_S3_PROPERTY_MAX];     /* "": not set */
  char name[S3L_S3_PROPERTY_NAME_MAX]; /* "region of profile default", for error messages */
} s3l_s3_property_t;

/** What a profile says of the endpoint of S3. */
typedef struct s3l_s3_profile_s {
  s3l_s3_property_t region;
  s3l_s3_property_t endpoint;
  s3l_s3_property_t dualstack;
} s3l_s3_profile_t;

/** The source, or if that is not set the property. */
s3l_source_t s3l_s3_or_property(s3l_source_t source, const s3l_s3_property_t* property);

/** Reads the two files now; each must be a regular file of up to 1 MiB. `name` NULL or "": the
 * profile that the environment names, else "default". A file that is missing or cannot be read
 * counts as empty, unless the profile was named. Errors: S3LECT_EOPTION, UV_ENOMEM. */
int s3l_s3_profile_read(const char* name, s3l_s3_profile_t* out, s3lect_error_t* error);

#endif
