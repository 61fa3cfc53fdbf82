#include "store/file/key.h"

#include <string.h>

#include "util/buf.h"
#include "util/hex.h"

static bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.' || c == '~';
}

void s3l_file_path(const char* key, char out[S3L_FILE_PATH_MAX]) {
  static const char digits[] = "0123456789ABCDEF";
  s3l_buf_t b;
  size_t part = 0;
  s3l_buf_init(&b, out, S3L_FILE_PATH_MAX);
  for (const char* p = key; *p != '\0'; p++) {
    if (part + 3 > S3L_FILE_PART_MAX) {
      s3l_buf_puts(&b, "+/");
      part = 0;
    }
    if (is_plain(*p) && !(*p == '.' && part == 0)) {
      s3l_buf_putc(&b, *p);
      part++;
      continue;
    }
    s3l_buf_putc(&b, '%');
    s3l_buf_putc(&b, digits[(unsigned char)*p >> 4]);
    s3l_buf_putc(&b, digits[(unsigned char)*p & 15]);
    part += 3;
  }
  const char* whole = s3l_buf_cstr(&b);
  S3L_ASSERT(whole != NULL);
  (void)whole;
}

/* Decodes leniently, then encodes again: a path that this store made gives the same path. */
bool s3l_file_key(s3l_span_t path, char out[S3L_STORE_KEY_MAX + 1]) {
  char again[S3L_FILE_PATH_MAX];
  s3l_buf_t b;
  s3l_buf_init(&b, out, S3L_STORE_KEY_MAX + 1);
  for (size_t i = 0; i < path.n; i++) {
    uint8_t byte = (uint8_t)path.p[i];
    if (byte == '%' && i + 2 < path.n &&
        s3l_hex_decode((s3l_span_t){path.p + i + 1, 2}, &byte, 1)) {
      i += 2;
    } else if (byte == '+' && i + 1 < path.n && path.p[i + 1] == '/') {
      i++;
      continue;
    }
    if (byte == '\0')
      return false;
    s3l_buf_putc(&b, (char)byte);
  }
  if (path.n == 0 || s3l_buf_cstr(&b) == NULL)
    return false;
  s3l_file_path(out, again);
  return s3l_span_eq(path, s3l_span_cstr(again));
}
