#include "store/option_text.h"

#define SHOWN_MAX 128 /* bytes of a value */

static void put_value(s3l_buf_t* b, const char* value) {
  s3l_buf_puts(b, " \"");
  for (size_t i = 0; value[i] != '\0' && i < SHOWN_MAX; i++)
    s3l_buf_putc(b, (unsigned char)value[i] < 0x20 || value[i] == 0x7f ? '?' : value[i]);
  s3l_buf_putc(b, '"');
}

int s3l_option_fail(s3l_buf_t* message, int err, const char* name, const char* value,
                    const char* reason) {
  s3l_buf_puts(message, name);
  if (value != NULL)
    put_value(message, value);
  s3l_buf_puts(message, ": ");
  s3l_buf_puts(message, reason);
  return err;
}
