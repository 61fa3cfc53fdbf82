/* problem.h (L7): what is wrong with options, told to people; and option structs of other versions.
 *
 * A problem is one line that names the option, its value and the mend, in memory of the caller's.
 */
#ifndef S3L_PROBLEM_H
#define S3L_PROBLEM_H

#include <stddef.h>
#include <stdint.h>

typedef struct s3l_problem_s {
  char* message; /* may be NULL */
  size_t size;
} s3l_problem_t;

/** Begins with no problem: an empty line. */
s3l_problem_t s3l_problem(char* message, size_t size);

/** Writes the line, cut to what fits; returns `code`. */
int s3l_problem_say(s3l_problem_t* p, int code, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

/** Copies an option struct, which begins with its size, as s3l_sized_copy does; out's size is its
 * own then. `type` is its name without "_t". Errors: UV_EINVAL, UV_ENOTSUP. */
int s3l_options_copy(s3l_problem_t* p, const char* type, const void* in, void* out, size_t out_size,
                     size_t oldest);

/** Refuses a duration over S3L_DURATION_MS_MAX (core/record.h). */
int s3l_check_duration(s3l_problem_t* p, const char* name, uint32_t ms);

/** Refuses to be given something twice, as NAME_file (a path) and as NAME_pem (the text). */
int s3l_check_pem_pair(s3l_problem_t* p, const char* name, const char* file, const char* text);

#endif
