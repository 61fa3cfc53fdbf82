#include "util/xml.h"

#include <stdint.h>
#include <string.h>

#include "util/buf.h"
#include "util/hex.h"
#include "util/utf8.h"

typedef struct tag_s {
  s3l_span_t name; /* local */
  bool closing;    /* </a> */
  bool empty;      /* <a/> */
} tag_t;

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Moves behind the next `end`; false where there is none. */
static bool skip_behind(s3l_span_t* s, s3l_span_t end) {
  while (s->n >= end.n) {
    if (s3l_span_starts_with(*s, end)) {
      s3l_span_skip(s, end.n);
      return true;
    }
    s3l_span_skip(s, 1);
  }
  return false;
}

/* Behind the '<': steps over what is no element. Returns 1 if it did, 0 if an element begins here,
 * -1 at a cut-off end. */
static int skip_other_markup(s3l_span_t* s) {
  if (s->n == 0 || (s->p[0] != '!' && s->p[0] != '?'))
    return 0;
  if (s3l_span_starts_with(*s, S3L_SPAN("!--")))
    return skip_behind(s, S3L_SPAN("-->")) ? 1 : -1;
  if (s3l_span_starts_with(*s, S3L_SPAN("![CDATA[")))
    return skip_behind(s, S3L_SPAN("]]>")) ? 1 : -1;
  if (s3l_span_starts_with(*s, S3L_SPAN("?")))
    return skip_behind(s, S3L_SPAN("?>")) ? 1 : -1;
  if (s3l_span_starts_with(*s, S3L_SPAN("!")))
    return skip_behind(s, S3L_SPAN(">")) ? 1 : -1;
  return 0;
}

static bool ends_name(char c) {
  return c <= '>' && (c == '>' || c == '/' || is_space(c));
}

/* A name, without its prefix. */
static s3l_span_t take_name(s3l_span_t* s) {
  size_t n = 0;
  size_t local = 0;
  while (n < s->n && !ends_name(s->p[n]))
    if (s->p[n++] == ':')
      local = n;
  s3l_span_t name = {s->p + local, n - local};
  s3l_span_skip(s, n);
  return name;
}

/* Reads the tag behind a '<', its attributes included. */
static bool take_tag(s3l_span_t* s, tag_t* tag) {
  tag->closing = s->n > 0 && s->p[0] == '/';
  tag->empty = false;
  if (tag->closing)
    s3l_span_skip(s, 1);
  tag->name = take_name(s);
  char quote = '\0';
  for (; s->n > 0; s3l_span_skip(s, 1)) {
    char c = s->p[0];
    if (quote != '\0') {
      quote = c == quote ? '\0' : quote;
    } else if (c == '"' || c == '\'') {
      quote = c;
      tag->empty = false;
    } else if (c == '>') {
      s3l_span_skip(s, 1);
      return true;
    } else {
      tag->empty = c == '/';
    }
  }
  return false;
}

/* Moves behind the next tag; *start is where its '<' was. */
static bool next_tag(s3l_span_t* s, tag_t* tag, const char** start) {
  for (;;) {
    const char* lt = s->n > 0 ? memchr(s->p, '<', s->n) : NULL;
    if (lt == NULL)
      return false;
    *start = lt;
    s3l_span_skip(s, (size_t)(lt - s->p) + 1);
    int other = skip_other_markup(s);
    if (other < 0)
      return false;
    if (other == 0)
      return take_tag(s, tag);
  }
}

/* Moves behind the tag that closes the element; elements of the same name may nest. */
static bool find_close(s3l_span_t* s, s3l_span_t name, const char** start) {
  tag_t tag;
  size_t open = 1;
  while (next_tag(s, &tag, start)) {
    if (!s3l_span_eq(tag.name, name) || tag.empty)
      continue;
    open += tag.closing ? (size_t)-1 : 1;
    if (open == 0)
      return true;
  }
  return false;
}

bool s3l_xml_next(s3l_span_t* rest, const char* name, s3l_span_t* inner) {
  s3l_span_t s = *rest;
  s3l_span_t want = s3l_span_cstr(name);
  const char* start;
  tag_t tag;
  while (next_tag(&s, &tag, &start)) {
    if (tag.closing || !s3l_span_eq(tag.name, want))
      continue;
    *inner = (s3l_span_t){s.p, 0};
    if (!tag.empty) {
      if (!find_close(&s, want, &start))
        return false;
      inner->n = (size_t)(start - inner->p);
    }
    *rest = s;
    return true;
  }
  return false;
}

/* The UTF-8 of a code point that XML 1.0 allows; NUL and surrogates are not among them. */
static bool put_code_point(s3l_buf_t* b, uint32_t code) {
  if (code == 0 || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
    return false;
  char utf8[4];
  s3l_buf_put(b, (s3l_span_t){utf8, s3l_utf8_encode(code, utf8)});
  return true;
}

static bool put_numeric(s3l_buf_t* b, s3l_span_t digits) {
  uint32_t code = 0;
  uint32_t base = 10;
  if (digits.n > 0 && digits.p[0] == 'x') {
    base = 16;
    s3l_span_skip(&digits, 1);
  }
  if (digits.n == 0 || digits.n > 8)
    return false;
  for (size_t i = 0; i < digits.n; i++) {
    int v = s3l_hex_digit(digits.p[i]);
    if (v < 0 || (uint32_t)v >= base || code > 0x10FFFF)
      return false;
    code = code * base + (uint32_t)v;
  }
  return put_code_point(b, code);
}

/* The reference behind an '&', up to its ';'. */
static bool take_reference(s3l_span_t* s, s3l_buf_t* b) {
  static const struct {
    s3l_span_t name;
    char c;
  } named[] = {{{"lt", 2}, '<'},
               {{"gt", 2}, '>'},
               {{"amp", 3}, '&'},
               {{"quot", 4}, '"'},
               {{"apos", 4}, '\''}};
  const char* end = s->n > 0 ? memchr(s->p, ';', s->n) : NULL;
  if (end == NULL)
    return false;
  s3l_span_t name = {s->p, (size_t)(end - s->p)};
  s3l_span_skip(s, name.n + 1);
  if (name.n > 0 && name.p[0] == '#')
    return put_numeric(b, (s3l_span_t){name.p + 1, name.n - 1});
  for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
    if (s3l_span_eq(name, named[i].name)) {
      s3l_buf_putc(b, named[i].c);
      return true;
    }
  }
  return false;
}

static bool decode(s3l_span_t s, s3l_buf_t* b) {
  while (s.n > 0) {
    char c = s.p[0];
    if (c == '\0')
      return false;
    if (c == '&') {
      s3l_span_skip(&s, 1);
      if (!take_reference(&s, b))
        return false;
    } else if (c == '<') {
      const char* text = s.p + sizeof("<![CDATA[") - 1;
      if (!s3l_span_starts_with(s, S3L_SPAN("<![CDATA[")) || !skip_behind(&s, S3L_SPAN("]]>")))
        return false;
      s3l_buf_put(b, (s3l_span_t){text, (size_t)(s.p - text) - 3});
    } else {
      s3l_buf_putc(b, c);
      s3l_span_skip(&s, 1);
    }
  }
  return true;
}

bool s3l_xml_decode(s3l_span_t raw, char* out, size_t cap) {
  s3l_buf_t b;
  while (raw.n > 0 && is_space(raw.p[0]))
    s3l_span_skip(&raw, 1);
  while (raw.n > 0 && is_space(raw.p[raw.n - 1]))
    raw.n--;
  s3l_buf_init(&b, out, cap);
  if (decode(raw, &b) && s3l_buf_cstr(&b) != NULL && memchr(out, '\0', b.len) == NULL)
    return true;
  if (cap > 0)
    out[0] = '\0';
  return false;
}

bool s3l_xml_text(s3l_span_t doc, const char* name, char* out, size_t cap) {
  s3l_span_t inner;
  if (cap > 0)
    out[0] = '\0';
  return s3l_xml_next(&doc, name, &inner) && s3l_xml_decode(inner, out, cap);
}
