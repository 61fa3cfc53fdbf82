/* util/json.c: jsmn finds the tokens. It accepts much that is not JSON ("{,}", "[1 2]", "01", raw
 * control characters), so each token and the text between the tokens is checked afterwards. */
#include "util/json.h"

#include <string.h>

#include "s3lect/errno.h"
#include "util/assert.h"
#include "util/hex.h"
#include "util/utf8.h"

#define JSMN_STATIC
#define JSMN_STRICT
#include <jsmn.h>

enum { TYPE_OBJECT, TYPE_ARRAY, TYPE_STRING, TYPE_NUMBER, TYPE_BOOL, TYPE_NULL };

#define NAME_MAX_BYTES 64
#define REPLACEMENT    0xFFFDu

static s3l_span_t token_text(const s3l_json_t* j, int token) {
  const s3l_json_token_t* t = &j->tokens[token];
  return (s3l_span_t){j->text.p + t->start, t->end - t->start};
}

/* ---- Checking ---- */

/* jsmn has checked the escapes. */
static bool string_is_valid(s3l_span_t s) {
  while (s.n > 0) {
    unsigned char c = (unsigned char)s.p[0];
    size_t n = c < 0x20 ? 0 : c < 0x80 ? 1 : s3l_utf8_length(s);
    if (n == 0)
      return false;
    s3l_span_skip(&s, n);
  }
  return true;
}

static bool take_digits(s3l_span_t* s) {
  size_t n = 0;
  while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9')
    n++;
  s3l_span_skip(s, n);
  return n > 0;
}

static bool number_is_valid(s3l_span_t s) {
  (void)s3l_span_take(&s, '-');
  if (!s3l_span_take(&s, '0') && !take_digits(&s))
    return false;
  if (s3l_span_take(&s, '.') && !take_digits(&s))
    return false;
  if (s3l_span_take(&s, 'e') || s3l_span_take(&s, 'E')) {
    if (!s3l_span_take(&s, '+'))
      (void)s3l_span_take(&s, '-');
    if (!take_digits(&s))
      return false;
  }
  return s.n == 0;
}

/* Whether the text from `from` up to `to` is `mark` ('\0': nothing) with white space around it. */
static bool is_gap(const s3l_json_t* j, size_t from, size_t to, char mark) {
  for (size_t i = from; i < to; i++) {
    char c = j->text.p[i];
    if (mark != '\0' && c == mark)
      mark = '\0';
    else if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
      return false;
  }
  return mark == '\0';
}

/* The token's place in the text, a string's with its quotes. */
static size_t start_of(const s3l_json_t* j, int token) {
  return j->tokens[token].start - (j->tokens[token].type == TYPE_STRING ? 1u : 0u);
}

static size_t end_of(const s3l_json_t* j, int token) {
  return j->tokens[token].end + (j->tokens[token].type == TYPE_STRING ? 1u : 0u);
}

static bool value_is_valid(s3l_json_t* j, int token, int depth);

/* The commas, colons, names and values of an object or array. */
static bool content_is_valid(s3l_json_t* j, int token, int depth) {
  const s3l_json_token_t* t = &j->tokens[token];
  size_t at = t->start + 1;
  int child = token + 1;
  for (; child < (int)j->count && j->tokens[child].start < t->end; child = j->tokens[child].next) {
    if (!is_gap(j, at, start_of(j, child), child > token + 1 ? ',' : '\0'))
      return false;
    if (t->type == TYPE_OBJECT) {
      int name = child++;
      if (j->tokens[name].type != TYPE_STRING || !value_is_valid(j, name, depth) ||
          child == (int)j->count || !is_gap(j, end_of(j, name), start_of(j, child), ':'))
        return false;
    }
    if (!value_is_valid(j, child, depth))
      return false;
    at = end_of(j, child);
  }
  j->tokens[token].next = (uint16_t)child;
  return is_gap(j, at, t->end - 1, '\0');
}

/* Sets `next` on the way. Recursion is bounded by S3L_JSON_DEPTH_MAX. */
static bool value_is_valid(s3l_json_t* j, int token, int depth) {
  s3l_json_token_t* t = &j->tokens[token];
  s3l_span_t text = token_text(j, token);
  t->next = (uint16_t)(token + 1);
  switch (t->type) {
  case TYPE_STRING:
    return string_is_valid(text);
  case TYPE_NUMBER:
    return number_is_valid(text);
  case TYPE_BOOL:
    return s3l_span_eq(text, S3L_SPAN("true")) || s3l_span_eq(text, S3L_SPAN("false"));
  case TYPE_NULL:
    return s3l_span_eq(text, S3L_SPAN("null"));
  default:
    return depth < S3L_JSON_DEPTH_MAX && content_is_valid(j, token, depth + 1);
  }
}

static uint8_t token_type(const jsmntok_t* t, s3l_span_t text) {
  char c = text.p[t->start];
  if (t->type != JSMN_PRIMITIVE)
    return t->type == JSMN_STRING ? TYPE_STRING : t->type == JSMN_ARRAY ? TYPE_ARRAY : TYPE_OBJECT;
  return c == 'n' ? TYPE_NULL : c == 't' || c == 'f' ? TYPE_BOOL : TYPE_NUMBER;
}

int s3l_json_parse(s3l_json_t* j, s3l_span_t text) {
  jsmn_parser parser;
  jsmntok_t found[S3L_JSON_TOKENS_MAX];
  j->count = 0;
  if (text.n > S3L_JSON_TEXT_MAX)
    return S3LECT_ERECORD;
  jsmn_init(&parser);
  int count = jsmn_parse(&parser, text.p, text.n, found, S3L_JSON_TOKENS_MAX);
  if (count < 1)
    return S3LECT_ERECORD;
  j->text = text;
  j->count = (uint32_t)count;
  for (int i = 0; i < count; i++)
    j->tokens[i] = (s3l_json_token_t){.start = (uint32_t)found[i].start,
                                      .end = (uint32_t)found[i].end,
                                      .type = token_type(&found[i], text)};
  if (j->tokens[0].type == TYPE_OBJECT && value_is_valid(j, 0, 0) &&
      is_gap(j, 0, j->tokens[0].start, '\0') && is_gap(j, j->tokens[0].end, text.n, '\0'))
    return 0;
  j->count = 0;
  return S3LECT_ERECORD;
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
  s3l_span_skip(s, 6);
  if (hi < 0xD800 || hi > 0xDFFF)
    return hi;
  if (hi > 0xDBFF || s->n < 6 || s->p[0] != '\\' || s->p[1] != 'u')
    return REPLACEMENT;
  uint32_t lo = hex4(s->p + 2);
  if (lo < 0xDC00 || lo > 0xDFFF)
    return REPLACEMENT;
  s3l_span_skip(s, 6);
  return 0x10000 + ((hi - 0xD800) << 10) + (lo - 0xDC00);
}

static uint32_t take_escape(s3l_span_t* s) {
  char c = s->p[1];
  if (c == 'u')
    return take_unicode_escape(s);
  s3l_span_skip(s, 2);
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

/* jsmn has checked that no escape is cut short. */
static bool unescape(s3l_span_t s, char* out, size_t cap) {
  s3l_buf_t b;
  s3l_buf_init(&b, out, cap);
  for (;;) {
    const char* escape = s.n > 0 ? memchr(s.p, '\\', s.n) : NULL;
    size_t plain = escape != NULL ? (size_t)(escape - s.p) : s.n;
    s3l_buf_put(&b, (s3l_span_t){s.p, plain});
    s3l_span_skip(&s, plain);
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

/* Takes one character off a name, folded as Go folds it: of the letters outside ASCII, the long s
 * and the Kelvin sign have an ASCII lower case. */
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

/* `wanted` has a NUL behind it. */
static bool name_matches(const s3l_json_t* j, int token, s3l_span_t wanted) {
  char buf[NAME_MAX_BYTES];
  const char* a = buf;
  const char* name = wanted.p;
  s3l_span_t text = token_text(j, token);
  /* Unescaping and folding make a name shorter, never longer. */
  if (text.n <= wanted.n)
    return text.n == wanted.n && s3l_span_ieq(text, wanted);
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

/* The first member's name, or -1 if the token is no object with members. */
static int first_name(const s3l_json_t* j, int object) {
  if (object < 0 || (uint32_t)object >= j->count || j->tokens[object].type != TYPE_OBJECT ||
      j->tokens[object].next == object + 1)
    return -1;
  return object + 1;
}

/* Token of the member's value, or -1 where there is none (or null). */
static int find(const s3l_json_t* j, int object, const char* name) {
  int found = -1;
  int key = first_name(j, object);
  s3l_span_t wanted = s3l_span_cstr(name);
  for (; key > 0 && key < j->tokens[object].next; key = j->tokens[key + 1].next) {
    if (j->tokens[key + 1].type != TYPE_NULL && name_matches(j, key, wanted))
      found = key + 1;
  }
  return found;
}

bool s3l_json_has(const s3l_json_t* j, int object, const char* name) {
  return find(j, object, name) >= 0;
}

int s3l_json_member(const s3l_json_t* j, int object, int value, char* name, size_t cap) {
  int key = value < 0 ? first_name(j, object) : j->tokens[value].next;
  if (key < 0 || key >= j->tokens[object].next)
    return -1;
  (void)unescape(token_text(j, key), name, cap);
  return key + 1;
}

/* Finds a member that must have the type. */
static int get(const s3l_json_t* j, int object, const char* name, int type, int* token) {
  *token = find(j, object, name);
  if (*token < 0)
    return S3LECT_ENOTFOUND;
  return j->tokens[*token].type == type ? 0 : S3LECT_ERECORD;
}

int s3l_json_get_string(const s3l_json_t* j, int object, const char* name, char* out, size_t cap) {
  int token;
  int r = get(j, object, name, TYPE_STRING, &token);
  if (cap > 0)
    out[0] = '\0';
  if (r != 0)
    return r;
  return unescape(token_text(j, token), out, cap) ? 0 : S3LECT_ERECORD;
}

int s3l_json_get_u64(const s3l_json_t* j, int object, const char* name, uint64_t* out) {
  int token;
  int r = get(j, object, name, TYPE_NUMBER, &token);
  if (r != 0)
    return r;
  return s3l_span_to_u64(token_text(j, token), out) ? 0 : S3LECT_ERECORD;
}

int s3l_json_get_i64(const s3l_json_t* j, int object, const char* name, int64_t* out) {
  int token;
  uint64_t v;
  int r = get(j, object, name, TYPE_NUMBER, &token);
  if (r != 0)
    return r;
  s3l_span_t s = token_text(j, token);
  bool negative = s3l_span_take(&s, '-');
  if (!s3l_span_to_u64(s, &v) || v > (uint64_t)INT64_MAX + (negative ? 1 : 0))
    return S3LECT_ERECORD;
  *out = !negative ? (int64_t)v : v == 0 ? 0 : -(int64_t)(v - 1) - 1;
  return 0;
}

int s3l_json_get_bool(const s3l_json_t* j, int object, const char* name, bool* out) {
  int token;
  int r = get(j, object, name, TYPE_BOOL, &token);
  if (r == 0)
    *out = token_text(j, token).p[0] == 't';
  return r;
}

int s3l_json_get_object(const s3l_json_t* j, int object, const char* name, int* token) {
  int found;
  int r = get(j, object, name, TYPE_OBJECT, &found);
  if (r == 0)
    *token = found;
  return r;
}

int s3l_json_get_text(const s3l_json_t* j, int object, const char* name, s3l_span_t* text) {
  int found = find(j, object, name);
  if (found < 0)
    return S3LECT_ENOTFOUND;
  *text = token_text(j, found);
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
  /* A bit for each character: not controls, '"', '&', '<', '>', '\\' and DEL. */
  static const uint32_t plain[8] = {0, 0xAFFFFFBB, 0xEFFFFFFF, 0x7FFFFFFF};
  size_t n = 0;
  for (; n < s.n; n++) {
    unsigned char c = (unsigned char)s.p[n];
    if ((plain[c >> 5] >> (c & 31) & 1) == 0)
      break;
  }
  return n;
}

void s3l_json_put_string(s3l_buf_t* b, s3l_span_t s) {
  s3l_buf_putc(b, '"');
  for (;;) {
    size_t plain = plain_length(s);
    s3l_buf_put(b, (s3l_span_t){s.p, plain});
    s3l_span_skip(&s, plain);
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
    } else if (n == 1 &&
               ((unsigned char)c < 0x20 || c == 0x7F || c == '<' || c == '>' || c == '&')) {
      put_escape(b, (unsigned char)c);
    } else if (n == 2 && (unsigned char)c == 0xC2 && (unsigned char)s.p[1] < 0xA0) {
      put_escape(b, (unsigned char)s.p[1]);
    } else if (s3l_span_starts_with(s, S3L_SPAN("\xE2\x80\xA8"))) {
      put_escape(b, 0x2028);
    } else if (s3l_span_starts_with(s, S3L_SPAN("\xE2\x80\xA9"))) {
      put_escape(b, 0x2029);
    } else {
      s3l_buf_put(b, (s3l_span_t){s.p, n});
    }
    s3l_span_skip(&s, n);
  }
  s3l_buf_putc(b, '"');
}

void s3l_json_key(s3l_buf_t* b, const char* name) {
  char last = b->len > 0 ? b->p[b->len - 1] : '{';
  if (last != '{' && last != '[')
    s3l_buf_putc(b, ',');
  if (name == NULL)
    return;
  s3l_buf_putc(b, '"');
  s3l_buf_puts(b, name);
  s3l_buf_puts(b, "\":");
}

void s3l_json_string(s3l_buf_t* b, const char* name, const char* value) {
  s3l_json_key(b, name);
  s3l_json_put_string(b, s3l_span_cstr(value));
}

void s3l_json_u64(s3l_buf_t* b, const char* name, uint64_t value) {
  s3l_json_key(b, name);
  s3l_buf_u64(b, value);
}

void s3l_json_i64(s3l_buf_t* b, const char* name, int64_t value) {
  s3l_json_key(b, name);
  s3l_buf_i64(b, value);
}
