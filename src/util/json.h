/* util/json.h: a strict reader of small JSON objects, and a writer.
 *
 * Vocabulary
 *   token   one value of the text, known by its index; the root object is S3L_JSON_ROOT
 *   member  a name and its value within an object
 *
 * The reader accepts RFC 8259, narrowed: the root is one object with only white space around it,
 * the text is valid UTF-8, and nesting and the number of values are bounded. It looks members up as
 * Go's encoding/json does: letter case does not matter, the last of several equal names counts, and
 * a member that is null counts as absent. The text must outlive the parsed form. No heap. */
#ifndef S3L_UTIL_JSON_H
#define S3L_UTIL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/span.h"

#define S3L_JSON_TOKENS_MAX 256
#define S3L_JSON_DEPTH_MAX  32
#define S3L_JSON_TEXT_MAX   (1u << 20)
#define S3L_JSON_ROOT       0

typedef struct s3l_json_token_s {
  uint32_t start; /* of a string: after its quote */
  uint32_t end;
  uint16_t next; /* index of the first token behind this one and all within it */
  uint8_t type;
} s3l_json_token_t;

/** Private to json.c. About 3 KiB, which fits on the stack. */
typedef struct s3l_json_s {
  s3l_span_t text;
  uint32_t count;
  s3l_json_token_t tokens[S3L_JSON_TOKENS_MAX];
} s3l_json_t;

/** Returns 0, or S3LECT_ERECORD and leaves `j` empty. */
int s3l_json_parse(s3l_json_t* j, s3l_span_t text);

/** Whether there is such a member, and it is not null. */
bool s3l_json_has(const s3l_json_t* j, int object, const char* name);

/** Walks an object's members in their order. `value` is -1 at first, then the result of the last
 * call: the token of a member's value, or -1 after the last member. A name that does not fit
 * becomes the empty string. */
int s3l_json_member(const s3l_json_t* j, int object, int value, char* name, size_t cap);

/* Getters return 0, S3LECT_ENOTFOUND if the member is absent or null, or S3LECT_ERECORD if it has
 * another type, is out of range or does not fit. On an error they leave *out untouched, or make a
 * string empty. */

/** Unescaped, as UTF-8 with a terminating NUL. A NUL within it is an error; half of a surrogate
 * pair becomes U+FFFD, as in Go. */
int s3l_json_get_string(const s3l_json_t* j, int object, const char* name, char* out, size_t cap);

/** Numbers must be written as integers: no fraction, no exponent. */
int s3l_json_get_u64(const s3l_json_t* j, int object, const char* name, uint64_t* out);
int s3l_json_get_i64(const s3l_json_t* j, int object, const char* name, int64_t* out);
int s3l_json_get_bool(const s3l_json_t* j, int object, const char* name, bool* out);

/** A nested object's token, to look into with the functions above. */
int s3l_json_get_object(const s3l_json_t* j, int object, const char* name, int* token);

/** The text of a value of any type, a string's without its quotes. */
int s3l_json_get_text(const s3l_json_t* j, int object, const char* name, s3l_span_t* text);

/* ---- Writing, into a buffer: the caller puts the brackets. ---- */

/** Writes the string with its quotes. Like Go, it also escapes <, >, & and U+2028/9, so that the
 * text is safe within HTML, and replaces invalid UTF-8 by U+FFFD. It also escapes
 * DEL and U+0080..9F, which drive terminals. */
void s3l_json_put_string(s3l_buf_t* b, s3l_span_t s);

/** Writes a comma, unless this is the first member or element, and the member's name (NULL for an
 * element of an array). The name is not escaped. */
void s3l_json_key(s3l_buf_t* b, const char* name);

/* A whole member. */
void s3l_json_string(s3l_buf_t* b, const char* name, const char* value);
void s3l_json_u64(s3l_buf_t* b, const char* name, uint64_t value);
void s3l_json_i64(s3l_buf_t* b, const char* name, int64_t value);

#endif
