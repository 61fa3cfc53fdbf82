/* test/lib/args.h: the command line of a test program, as a table of its options.
 *
 * What is wrong is said on standard error, with the option, its value and what to write in its
 * place; then the program exits with 2. */
#ifndef TEST_LIB_ARGS_H
#define TEST_LIB_ARGS_H

#include <stddef.h>
#include <stdint.h>

typedef struct s3l_arg_s {
  const char* name; /* "--seeds" */
  /* The type of what it sets: bool, const char*, unsigned or int64_t. */
  enum { S3L_ARG_FLAG, S3L_ARG_TEXT, S3L_ARG_UNSIGNED, S3L_ARG_INT64 } kind;
  size_t at; /* the place of that in the struct */
  uint64_t min, max;
  int64_t unit; /* INT64: the number is multiplied by it */
} s3l_arg_t;

/** Fills `to`, which has the defaults already. --help prints `help` and exits with 0. */
void s3l_args_read(const char* program, const char* help, const s3l_arg_t* rows, size_t rows_len,
                   void* to, int argc, char** argv);

_Noreturn void s3l_args_refuse(const char* option, const char* value, const char* mend);

uint64_t s3l_args_number(const char* option, const char* value, uint64_t min, uint64_t max);

/** "A..B", or "A" for A..A. */
void s3l_args_seeds(const char* value, uint64_t* first, uint64_t* last);

#endif
