/* util/json.c: jsmn finds the tokens; it accepts much that is not JSON ("{,}", "[1 2]", bad
 * numbers, raw control characters), so that a check of the grammar runs over the text first. */
#include "util/json.h"

#include <string.h>

#include "s3lect/errno.h"
#include "util/assert.h"
#include "util/hex.h"
#include "util/utf8.h"

#define JSMN_STATIC
#define JSMN_STRICT
#include <jsmn.h>

enum { TYPE_OBJECT, TYPE_ARRAY, TYPE_STRING, TYPE_NUMBER, TYPE_TRUE, TYPE_FALSE, TYPE_NULL };

#define NAME_MAX_BYTES 64
#define REPLACEMENT    0xFFFDu

/* ---- Grammar: each check takes its piece off the front of the span, or fails. ---- */

static void skip(s3l_span_t* s, size_t n) {
  s->p += n;
  s->n -= n;
}

static void skip_white(s3l_span_t* s) {
  while (s->n > 0 && (s->p[0] == ' ' || s->p[0] == '\t' || s->p[0] == '\n' || s->p[0] == '\r'))
    skip(s, 1);
}

static bool check_char(s3l_span_t* s, char c) {
  if (s->n == 0 || s->p[0] != c)
    return false;
  skip(s, 1);
  return true;
}

static bool check_word(s3l_span_t* s, s3l_span_t word) {
  if (!s3l_span_starts_with(*s, word))
    return false;
  skip(s, word.n);
  return true;
}

static bool check_escape(s3l_span_t* s) {
  static const char simple[] = "\"\\/bfnrt";
  if (s->n < 2)
    return false;
  char c = s->p[1];
  if (c == 'u') {
    if (s->n < 6)
      return false;
    for (int i = 2; i < 6; i++) {
      if (s3l_hex_digit(s->p[i]) < 0)
        return false;
    }
    skip(s, 6);
    return true;
  }
  if (memchr(simple, c, sizeof(simple) - 1) == NULL)
    return false;
  skip(s, 2);
  return true;
}

static bool check_string(s3l_span_t* s) {
  if (!check_char(s, '"'))
    return false;
  while (s->n > 0) {
    unsigned char c = (unsigned char)s->p[0];
    if (c == '"') {
      skip(s, 1);
      return true;
    }
    if (c == '\\') {
      if (!check_escape(s))
        return false;
      continue;
    }
    size_t n = c < 0x20 ? 0 : c < 0x80 ? 1 : s3l_utf8_length(*s);
    if (n == 0)
      return false;
    skip(s, n);
  }
  return false;
}

static bool check_digits(s3l_span_t* s) {
  size_t n = 0;
  while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9')
    n++;
  skip(s, n);
  return n > 0;
}

static bool check_number(s3l_span_t* s) {
  (void)check_char(s, '-');
  if (!check_char(s, '0') && !check_digits(s))
    return false;
  if (check_char(s, '.') && !check_digits(s))
    return false;
  if (check_char(s, 'e') || check_char(s, 'E')) {
    if (!check_char(s, '+'))
      (void)check_char(s, '-');
    return check_digits(s);
  }
  return true;
}

static bool check_value(s3l_span_t* s, int depth);

static bool check_object(s3l_span_t* s, int depth) {
  if (!check_char(s, '{'))
    return false;
  skip_white(s);
  if (check_char(s, '}'))
    return true;
  do {
    skip_white(s);
    if (!check_string(s))
      return false;
    skip_white(s);
    if (!check_char(s, ':') || !check_value(s, depth))
      return false;
    skip_white(s);
  } while (check_char(s, ','));
  return check_char(s, '}');
}

static bool check_array(s3l_span_t* s, int depth) {
  if (!check_char(s, '['))
    return false;
  skip_white(s);
  if (check_char(s, ']'))
    return true;
  do {
    if (!check_value(s, depth))
      return false;
    skip_white(s);
  } while (check_char(s, ','));
  return check_char(s, ']');
}

/* Recursion is bounded by S3L_JSON_DEPTH_MAX. */
static bool check_value(s3l_span_t* s, int depth) {
  skip_white(s);
  if (s->n == 0 || depth >= S3L_JSON_DEPTH_MAX)
    return false;
  switch (s->p[0]) {
  case '{':
    return check_object(s, depth + 1);
  case '[':
    return check_array(s, depth + 1);
  case '"':
    return check_string(s);
  case 't':
    return check_word(s, S3L_SPAN("true"));
  case 'f':
    return check_word(s, S3L_SPAN("false"));
  case 'n':
    return check_word(s, S3L_SPAN("null"));
  default:
    return check_number(s);
  }
}

static bool check_text(s3l_span_t s) {
  skip_white(&s);
  if (!check_object(&s, 1))
    return false;
  skip_white(&s);
  return s.n == 0;
}

/* ---- Tokens ---- */

static uint8_t token_type(const jsmntok_t* t, s3l_span_t text) {
  switch (t->type) {
  case JSMN_OBJECT:
    return TYPE_OBJECT;
  case JSMN_ARRAY:
    return TYPE_ARRAY;
  case JSMN_STRING:
    return TYPE_STRING;
  default:
    break;
  }
  switch (text.p[t->start]) {
  case 't':
    return TYPE_TRUE;
  case 'f':
    return TYPE_FALSE;
  case 'n':
    return TYPE_NULL;
  default:
    return TYPE_NUMBER;
  }
}

int s3l_json_parse(s3l_json_t* j, s3l_span_t text) {
  jsmn_parser parser;
  jsmntok_t found[S3L_JSON_TOKENS_MAX];
  j->count = 0;
  if (text.n > S3L_JSON_TEXT_MAX || !check_text(text))
    return S3LECT_ERECORD;
  jsmn_init(&parser);
  int count = jsmn_parse(&parser, text.p, text.n, found, S3L_JSON_TOKENS_MAX);
  if (count < 1)
    return S3LECT_ERECORD;
  for (int i = count - 1; i >= 0; i--) {
    s3l_json_token_t* t = &j->tokens[i];
    t->start = (uint32_t)found[i].start;
    t->end = (uint32_t)found[i].end;
    t->type = token_type(&found[i], text);
    t->next = (uint16_t)(i + 1);
    while (t->next < count && j->tokens[t->next].start < t->end)
      t->next = j->tokens[t->next].next;
  }
  j->text = text;
  j->count = (uint32_t)count;
  return 0;
}

static s3l_span_t token_text(const s3l_json_t* j, int token) {
  const s3l_json_token_t* t = &j->tokens[token];
  return (s3l_span_t){j->text.p + t->start, t->end - t->start};
}

/* ---- Strings ---- */

static uint32_t hex4(const char* p) {
  uint32_t v = 0;
  for (int i = 0; i < 4; i++)
    v = v << 4 | (uint32_t)s3l_hex_digit(p[i]);
  return v;
}

/* Code point of the \uXXXX at the front of s, together with its second half where there is one. */
static uint32_t take_unicode_escape(s3l_span_t* s) {
  uint32_t hi = hex4(s->p + 2);
  skip(s, 6);
  if (hi < 0xD800 || hi > 0xDFFF)
    return hi;
  if (hi > 0xDBFF || s->n < 6 || s->p[0] != '\\' || s->p[1] != 'u')
    return REPLACEMENT;
  uint32_t lo = hex4(s->p + 2);
  if (lo < 0xDC00 || lo > 0xDFFF)
    return REPLACEMENT;
  skip(s, 6);
  return 0x10000 + ((hi - 0xD800) << 10) + (lo - 0xDC00);
}

static uint32_t take_escape(s3l_span_t* s) {
  char c = s->p[1];
  if (c == 'u')
    return take_unicode_escape(s);
  skip(s, 2);
  switch (c) {
  case 'b':
    return '\b';
  case 'f':
    return '\f';
  case 'n':
    return '\n';
  case 'r':
    return '\r';
  case 't':
    return '\t';
  default:
    return (unsigned char)c;
  }
}

/* The text has passed check_string, so that no escape is cut short. */
static bool unescape(s3l_span_t s, char* out, size_t cap) {
  s3l_buf_t b;
  s3l_buf_init(&b, out, cap);
  for (;;) {
    const char* escape = s.n > 0 ? memchr(s.p, '\\', s.n) : NULL;
    size_t plain = escape != NULL ? (size_t)(escape - s.p) : s.n;
    s3l_buf_put(&b, (s3l_span_t){s.p, plain});
    skip(&s, plain);
    if (s.n == 0)
      break;
    char utf8[4];
    uint32_t code = take_escape(&s);
    if (code == 0)
      b.overflow = true;
    s3l_buf_put(&b, (s3l_span_t){utf8, s3l_utf8_encode(code, utf8)});
  }
  if (s3l_buf_cstr(&b) != NULL)
    return true;
  if (cap > 0)
    out[0] = '\0';
  return false;
}

/* Takes one character off a name and folds it as Go does: beside ASCII, two other letters have an
 * ASCII lower case, the long s and the Kelvin sign. */
static char take_folded(const char** p) {
  char c = *(*p)++;
  if (c >= 'A' && c <= 'Z')
    return (char)(c - 'A' + 'a');
  if (c == '\xC5' && **p == '\xBF') {
    *p += 1;
    return 's';
  }
  if (c == '\xE2' && (*p)[0] == '\x84' && (*p)[1] == '\xAA') {
    *p += 2;
    return 'k';
  }
  return c;
}

static bool name_matches(const s3l_json_t* j, int token, const char* name) {
  char buf[NAME_MAX_BYTES];
  const char* a = buf;
  s3l_span_t text = token_text(j, token);
  /* Most names differ in their first letter already. */
  if (text.n > 0 && (unsigned char)text.p[0] < 0x80 && text.p[0] != '\\' &&
      ((text.p[0] ^ name[0]) & 0x5F) != 0)
    return false;
  if (!unescape(text, buf, sizeof(buf)))
    return false;
  for (;;) {
    char ca = take_folded(&a);
    char cb = take_folded(&name);
    if (ca != cb)
      return false;
    if (ca == '\0')
      return true;
  }
}

/* ---- Look-up ---- */

int s3l_json_find(const s3l_json_t* j, int object, const char* name) {
  int found = -1;
  if (object < 0 || (uint32_t)object >= j->count || j->tokens[object].type != TYPE_OBJECT)
    return -1;
  int end = j->tokens[object].next;
  for (int key = object + 1; key < end; key = j->tokens[key + 1].next) {
    S3L_ASSERT(j->tokens[key].type == TYPE_STRING && key + 1 < end);
    if (j->tokens[key + 1].type != TYPE_NULL && name_matches(j, key, name))
      found = key + 1;
  }
  return found;
}

bool s3l_json_has(const s3l_json_t* j, int object, const char* name) {
  return s3l_json_find(j, object, name) >= 0;
}

int s3l_json_member(const s3l_json_t* j, int object, int value, char* name, size_t cap) {
  if (object < 0 || (uint32_t)object >= j->count || j->tokens[object].type != TYPE_OBJECT)
    return -1;
  int key = value < 0 ? object + 1 : j->tokens[value].next;
  if (key >= j->tokens[object].next)
    return -1;
  (void)unescape(token_text(j, key), name, cap);
  return key + 1;
}

int s3l_json_get_string(const s3l_json_t* j, int object, const char* name, char* out, size_t cap) {
  int token = s3l_json_find(j, object, name);
  if (cap > 0)
    out[0] = '\0';
  if (token < 0)
    return S3LECT_ENOTFOUND;
  if (j->tokens[token].type != TYPE_STRING || !unescape(token_text(j, token), out, cap))
    return S3LECT_ERECORD;
  return 0;
}

int s3l_json_get_u64(const s3l_json_t* j, int object, const char* name, uint64_t* out) {
  int token = s3l_json_find(j, object, name);
  if (token < 0)
    return S3LECT_ENOTFOUND;
  if (j->tokens[token].type != TYPE_NUMBER || !s3l_span_to_u64(token_text(j, token), out))
    return S3LECT_ERECORD;
  return 0;
}

int s3l_json_get_i64(const s3l_json_t* j, int object, const char* name, int64_t* out) {
  uint64_t v;
  int token = s3l_json_find(j, object, name);
  if (token < 0)
    return S3LECT_ENOTFOUND;
  s3l_span_t s = token_text(j, token);
  if (j->tokens[token].type != TYPE_NUMBER)
    return S3LECT_ERECORD;
  bool negative = s.p[0] == '-';
  if (negative)
    skip(&s, 1);
  if (!s3l_span_to_u64(s, &v) || v > (uint64_t)INT64_MAX + (negative ? 1 : 0))
    return S3LECT_ERECORD;
  *out = !negative ? (int64_t)v : v == 0 ? 0 : -(int64_t)(v - 1) - 1;
  return 0;
}

int s3l_json_get_bool(const s3l_json_t* j, int object, const char* name, bool* out) {
  int token = s3l_json_find(j, object, name);
  if (token < 0)
    return S3LECT_ENOTFOUND;
  uint8_t type = j->tokens[token].type;
  if (type != TYPE_TRUE && type != TYPE_FALSE)
    return S3LECT_ERECORD;
  *out = type == TYPE_TRUE;
  return 0;
}

int s3l_json_get_object(const s3l_json_t* j, int object, const char* name, int* token) {
  int found = s3l_json_find(j, object, name);
  if (found < 0)
    return S3LECT_ENOTFOUND;
  if (j->tokens[found].type != TYPE_OBJECT)
    return S3LECT_ERECORD;
  *token = found;
  return 0;
}

/* ---- Writing ---- */

static void put_escape(s3l_buf_t* b, uint32_t code) {
  unsigned char be[2] = {(unsigned char)(code >> 8), (unsigned char)code};
  char hex[4];
  s3l_hex_encode(be, 2, hex);
  s3l_buf_puts(b, "\\u");
  s3l_buf_put(b, (s3l_span_t){hex, 4});
}

/* How many bytes at the front stand for themselves: most strings are nothing else. */
static size_t plain_length(s3l_span_t s) {
  size_t n = 0;
  while (n < s.n && s.p[n] >= 0x20 && s.p[n] < 0x7F && s.p[n] != '"' && s.p[n] != '\\' &&
         s.p[n] != '<' && s.p[n] != '>' && s.p[n] != '&')
    n++;
  return n;
}

void s3l_json_put_string(s3l_buf_t* b, s3l_span_t s) {
  s3l_buf_putc(b, '"');
  for (;;) {
    size_t plain = plain_length(s);
    s3l_buf_put(b, (s3l_span_t){s.p, plain});
    skip(&s, plain);
    if (s.n == 0)
      break;
    char c = s.p[0];
    size_t n = s3l_utf8_length(s);
    if (n == 0) {
      put_escape(b, REPLACEMENT);
      n = 1;
    } else if (c == '"' || c == '\\') {
      s3l_buf_putc(b, '\\');
      s3l_buf_putc(b, c);
    } else if (c == '\n' || c == '\r' || c == '\t') {
      s3l_buf_puts(b, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
    } else if (n == 1 && ((unsigned char)c < 0x20 || c == '<' || c == '>' || c == '&')) {
      put_escape(b, (unsigned char)c);
    } else if (s3l_span_starts_with(s, S3L_SPAN("\xE2\x80\xA8"))) {
      put_escape(b, 0x2028);
    } else if (s3l_span_starts_with(s, S3L_SPAN("\xE2\x80\xA9"))) {
      put_escape(b, 0x2029);
    } else {
      s3l_buf_put(b, (s3l_span_t){s.p, n});
    }
    skip(&s, n);
  }
  s3l_buf_putc(b, '"');
}
