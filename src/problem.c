#include "problem.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "core/record.h"
#include "s3lect/errno.h"
#include "util/sized.h"

s3l_problem_t s3l_problem(char* message, size_t size) {
  s3l_problem_t p = {message, message != NULL ? size : 0};
  if (p.size > 0)
    message[0] = '\0';
  return p;
}

int s3l_problem_say(s3l_problem_t* p, int code, const char* format, ...) {
  if (p->size > 0) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(p->message, p->size, format, args);
    va_end(args);
  }
  return code;
}

int s3l_options_copy(s3l_problem_t* p, const char* type, const void* in, void* out, size_t out_size,
                     size_t oldest) {
  size_t size;
  memcpy(&size, in, sizeof size);
  switch (s3l_sized_copy(out, out_size, in, size, oldest)) {
  case S3L_SIZED_OK:
    memcpy(out, &out_size, sizeof out_size);
    return 0;
  case S3L_SIZED_NEWER:
    return s3l_problem_say(p, UV_ENOTSUP, "size: an option is set that this version does not know");
  default:
    return s3l_problem_say(p, UV_EINVAL, "size: %zu is not a size of %s_t; call %s_init first",
                           size, type, type);
  }
}

int s3l_check_duration(s3l_problem_t* p, const char* name, uint32_t ms) {
  if (ms > S3L_DURATION_MS_MAX)
    return s3l_problem_say(p, S3LECT_EOPTION, "%s: %" PRIu32 " ms is over the limit of four weeks",
                           name, ms);
  return 0;
}

int s3l_check_pem_pair(s3l_problem_t* p, const char* name, const char* file, const char* text) {
  if (file != NULL && text != NULL)
    return s3l_problem_say(p, S3LECT_EOPTION, "%s_pem: given beside %s_file; give one of them",
                           name, name);
  return 0;
}
