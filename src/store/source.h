/* store/source.h: where the value of an option comes from: the option itself or the environment. An
 * empty value counts as not set. */
#ifndef S3L_STORE_SOURCE_H
#define S3L_STORE_SOURCE_H

/** A value with the name of its source, for error messages. */
typedef struct s3l_source_s {
  const char* name;
  const char* value; /* NULL: not set */
} s3l_source_t;

/** The string, or NULL if it is empty. */
const char* s3l_set_or_null(const char* s);

/** The option if it is set, else the first of two environment variables (or NULL) that is. */
s3l_source_t s3l_source_choose(const char* option_name, const char* option, const char* env1,
                               const char* env2);

#endif
