/* util/ini.h: reads the files that AWS's tools share (~/.aws/config, ~/.aws/credentials).
 *
 * Vocabulary
 *   section    "[name]" and what follows it, up to the next one
 *   property   "name = value" at the start of a line
 *   nested     indented "name = value" lines below a property whose own value is empty
 *
 * Blank lines, and lines whose first character but blanks is '#' or ';', count for nothing. A value
 * ends before a blank followed by '#' or ';', unless that stands between double quotes. An indented
 * line below a value that is not empty goes on with it: the span then has the line's end and the
 * blanks in it, as they stand in the file. LF and CRLF end lines; a UTF-8 byte order mark is
 * skipped. Anything else is an error, named with its line.
 *
 * Items come in the file's order and point into its text. No heap. */
#ifndef S3L_UTIL_INI_H
#define S3L_UTIL_INI_H

#include <stdbool.h>
#include <stddef.h>

#include "util/span.h"

typedef struct s3l_ini_item_s {
  s3l_span_t section; /* trimmed text between the brackets */
  s3l_span_t parent;  /* of a nested one: the property it stands below; else p == NULL */
  s3l_span_t name;    /* p == NULL: this is the head of the section itself */
  s3l_span_t value;   /* trimmed; may be empty */
} s3l_ini_item_t;

typedef struct s3l_ini_s {
  s3l_span_t rest;
  s3l_span_t section;
  s3l_span_t parent;
  size_t line;       /* of the latest item, from 1; of the error, if there is one */
  size_t lines;      /* read so far */
  const char* error; /* static text, or NULL */
} s3l_ini_t;

void s3l_ini_init(s3l_ini_t* ini, s3l_span_t text);

/** The next item; false at the end, and at an error. */
bool s3l_ini_next(s3l_ini_t* ini, s3l_ini_item_t* item);

#endif
