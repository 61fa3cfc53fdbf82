/* util/json.h: strict reading of small JSON objects, and writing of JSON strings.
 *
 * Vocabulary
 *   token   one value of the text, known by its index; the root object is S3L_JSON_ROOT
 *   member  a name and its value within an object
 *
 * What is accepted is RFC 8259, narrowed: the root is one object with nothing but white space
 * around it, UTF-8 is valid, nesting and the number of values are bounded. Members are looked up as
 * Go's encoding/json does: names match whatever their letter case, of several the last one wins,
 * and a member that is null counts as absent. The text must outlive the parsed form. No heap. */
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

/** Its members are json.c's own. About 3 KiB: fit for the stack. */
typedef struct s3l_json_s {
  s3l_span_t text;
  uint32_t count;
  s3l_json_token_t tokens[S3L_JSON_TOKENS_MAX];
} s3l_json_t;

/** 0 or S3LECT_ERECORD; after that `j` holds nothing. */
int s3l_json_parse(s3l_json_t* j, s3l_span_t text);

/** Token of the member's value, or -1 where there is none (or null). */
int s3l_json_find(const s3l_json_t* j, int object, const char* name);

bool s3l_json_has(const s3l_json_t* j, int object, const char* name);

/** Walks an object's members in their order: `value` is -1 at first and then what the last call
 * returned, the token of a member's value. -1 behind the last one. A name that does not fit is
 * given as the empty string. */
int s3l_json_member(const s3l_json_t* j, int object, int value, char* name, size_t cap);

/* Getters: 0; S3LECT_ENOTFOUND where the member is absent or null, S3LECT_ERECORD where it has
 * another type, is out of range or does not fit; then *out is untouched (of a string: empty). */

/** Unescaped, as UTF-8 with a terminating NUL. A NUL within it is an error; half of a surrogate
 * pair becomes U+FFFD, as in Go. */
int s3l_json_get_string(const s3l_json_t* j, int object, const char* name, char* out, size_t cap);

/** Numbers must be written as integers: no fraction, no exponent. */
int s3l_json_get_u64(const s3l_json_t* j, int object, const char* name, uint64_t* out);
int s3l_json_get_i64(const s3l_json_t* j, int object, const char* name, int64_t* out);
int s3l_json_get_bool(const s3l_json_t* j, int object, const char* name, bool* out);

/** A nested object's token, to look into with the functions above. */
int s3l_json_get_object(const s3l_json_t* j, int object, const char* name, int* token);

/** Writes the string with its quotes. Like Go, it also escapes <, >, & and U+2028/9, so that the
 * text is safe within HTML, and puts U+FFFD in place of invalid UTF-8. */
void s3l_json_put_string(s3l_buf_t* b, s3l_span_t s);

#endif
