#include "lib/args.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 32

static const char* program_name = "";

void s3l_args_refuse(const char* option, const char* value, const char* mend) {
  fprintf(stderr, "%s: %s%s%s: %s\n", program_name, option, value[0] != '\0' ? " " : "", value,
          mend);
  exit(2);
}

uint64_t s3l_args_number(const char* option, const char* value, uint64_t min, uint64_t max) {
  char* end;
  char mend[80];
  errno = 0;
  uint64_t v = strtoull(value, &end, 10);
  snprintf(mend, sizeof mend, "must be a number from %" PRIu64 " to %" PRIu64, min, max);
  if (errno != 0 || value[0] < '0' || value[0] > '9' || *end != '\0' || v < min || v > max)
    s3l_args_refuse(option, value, mend);
  return v;
}

void s3l_args_seeds(const char* value, uint64_t* first, uint64_t* last) {
  const uint64_t most = UINT64_MAX - 1; /* one behind the last is a number, too */
  char text[24];
  const char* dots = strstr(value, "..");
  size_t len = dots != NULL ? (size_t)(dots - value) : strlen(value);
  if (len >= sizeof text)
    s3l_args_refuse("--seeds", value, "must be A..B, or one number");
  memcpy(text, value, len);
  text[len] = '\0';
  *first = s3l_args_number("--seeds", text, 0, most);
  *last = dots != NULL ? s3l_args_number("--seeds", dots + 2, *first, most) : *first;
}

static void set(void* to, const s3l_arg_t* row, const char* value) {
  void* at = (char*)to + row->at;
  switch (row->kind) {
  case S3L_ARG_FLAG:
    *(bool*)at = true;
    break;
  case S3L_ARG_TEXT:
    *(const char**)at = value;
    break;
  case S3L_ARG_UNSIGNED:
    *(unsigned*)at = (unsigned)s3l_args_number(row->name, value, row->min, row->max);
    break;
  case S3L_ARG_INT64:
    *(int64_t*)at = (int64_t)s3l_args_number(row->name, value, row->min, row->max) * row->unit;
    break;
  }
}

void s3l_args_read(const char* program, const char* help, const s3l_arg_t* rows, size_t rows_len,
                   void* to, int argc, char** argv) {
  struct option table[ROWS_MAX + 2] = {{"help", no_argument, NULL, 1}};
  program_name = program;
  if (rows_len > ROWS_MAX)
    abort();
  for (size_t i = 0; i < rows_len; i++)
    table[i + 1] =
        (struct option){rows[i].name + 2, rows[i].kind != S3L_ARG_FLAG, NULL, (int)i + 2};
  for (int option; (option = getopt_long(argc, argv, "", table, NULL)) != -1;) {
    if (option == '?') { /* getopt_long has said what is wrong */
      fprintf(stderr, "%s: see --help\n", program);
      exit(2);
    }
    if (option == 1) {
      fputs(help, stdout);
      exit(0);
    }
    set(to, &rows[option - 2], optarg);
  }
  if (optind < argc)
    s3l_args_refuse(argv[optind], "", "this program takes options only; see --help");
}
