/* util/ini.h: reads the configuration files of AWS's tools (~/.aws/config, ~/.aws/credentials).
 *
 * Vocabulary
 *   section    "[name]" and the lines up to the next section
 *   property   "name = value" at the start of a line
 *   nested     indented "name = value" lines below a property whose own value is empty
 *
 * Empty lines and lines that begin with '#' or ';' after blanks are ignored. A value ends before a
 * blank followed by '#' or ';' outside double quotes. An indented line below a value that is not
 * empty continues it: the span then includes the line end and the blanks between them. LF and CRLF
 * end lines; a UTF-8 byte order mark is skipped. Anything else is an error, with its line number.
 *
 * Items come in the file's order and point into its text. No heap. */
#ifndef S3L_UTIL_INI_H
#define S3L_UTIL_INI_H

#include <stdbool.h>
#include <stddef.h>

#include "util/span.h"

typedef struct s3l_ini_item_s {
  s3l_span_t section; /* trimmed text between the brackets */
  s3l_span_t parent;  /* of a nested property: the one above it; else p == NULL */
  s3l_span_t name;    /* p == NULL: this item is the section's head */
  s3l_span_t value;   /* trimmed; may be empty */
} s3l_ini_item_t;

typedef struct s3l_ini_s {
  s3l_span_t rest;
  s3l_span_t section;
  s3l_span_t parent;
  size_t line;       /* of the latest item, or of the error; from 1 */
  size_t lines;      /* read so far */
  const char* error; /* static text, or NULL */
} s3l_ini_t;

void s3l_ini_init(s3l_ini_t* ini, s3l_span_t text);

/** The next item; false at the end, and at an error. */
bool s3l_ini_next(s3l_ini_t* ini, s3l_ini_item_t* item);

#endif
