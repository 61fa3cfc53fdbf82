#include "value.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "text.h"
#include "util/utf8.h"

/* Reads a whole file of fewer than `size` bytes, at most. Returns its length, `size` if it is
 * longer, or -1. */
static ssize_t read_file(const char* name, char* text, size_t size) {
  int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  size_t len = 0;
  ssize_t n = fd < 0 ? -1 : 1;
  while (n > 0 && len < size) {
    n = read(fd, text + len, size - len);
    if (n > 0)
      len += (size_t)n;
    else if (n < 0 && errno == EINTR)
      n = 1;
  }
  int err = errno;
  if (fd >= 0)
    close(fd);
  errno = err;
  return n < 0 ? -1 : (ssize_t)len;
}

int cli_value_read(const cli_options_t* options, char value[S3LECT_VALUE_SIZE],
                   s3lect_error_t* error) {
  char text[S3LECT_VALUE_SIZE + 1]; /* a longest one with its newline, and one byte more */
  const char* name = options->value_file != NULL ? "--value-file" : "--value";
  const char* given = options->value_file != NULL ? options->value_file : options->value;
  size_t len = 0;
  value[0] = '\0';
  if (given == NULL)
    return 0;
  if (options->value_file != NULL) {
    ssize_t n = read_file(given, text, sizeof text);
    if (n < 0)
      return cli_refuse(error, "--value-file %.200s cannot be read: %s", given, strerror(errno));
    len = (size_t)n - (n > 0 && text[n - 1] == '\n');
    given = text;
  } else {
    len = strlen(given);
  }
  if (len >= S3LECT_VALUE_SIZE)
    return cli_refuse(error, "%s is too long: a value has at most %d bytes", name,
                      S3LECT_VALUE_SIZE - 1);
  if (!s3l_utf8_is_valid((s3l_span_t){given, len}) || memchr(given, '\0', len) != NULL)
    return cli_refuse(error, "%s is no text: a value is UTF-8 without NUL", name);
  memcpy(value, given, len);
  value[len] = '\0';
  return 0;
}
