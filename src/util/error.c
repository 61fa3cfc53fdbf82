#include "util/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/assert.h"
#include "util/buf.h"

#define VALUE_MAX 128 /* bytes of a value that are shown */

void s3l_error_clear(s3lect_error_t* error) {
  if (error != NULL)
    *error = (s3lect_error_t){.code = 0};
}

int s3l_error_say(s3lect_error_t* error, int code, const char* option, const char* value,
                  const char* format, ...) {
  if (error == NULL)
    return code;
  char* text = error->text;
  error->code = code;
  S3L_ASSERT(strlen(option) < sizeof error->option);
  memcpy(error->option, option, strlen(option) + 1);
  int n = 0;
  if (value != NULL)
    n = snprintf(text, sizeof error->text, "%s \"%.*s\": ", option, VALUE_MAX, value);
  else if (option[0] != '\0')
    n = snprintf(text, sizeof error->text, "%s: ", option);
  va_list args;
  va_start(args, format);
  (void)vsnprintf(text + n, sizeof error->text - (size_t)n, format, args);
  va_end(args);
  s3l_buf_line(text);
  return code;
}

int s3l_error_end(s3lect_error_t* error, int code) {
  if (error != NULL && code != 0 && error->code == 0) {
    error->code = code;
    (void)snprintf(error->text, sizeof error->text, "%s", s3lect_strerror(code));
  }
  return code;
}
