#include "util/ini.h"

#include <string.h>

static bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

/* The line at the start of `rest`, without its end; *used is its length with it. */
static s3l_span_t peek_line(s3l_span_t rest, size_t* used) {
  const char* lf = rest.n > 0 ? memchr(rest.p, '\n', rest.n) : NULL;
  s3l_span_t line = {rest.p, lf != NULL ? (size_t)(lf - rest.p) : rest.n};
  *used = line.n + (lf != NULL ? 1 : 0);
  if (line.n > 0 && line.p[line.n - 1] == '\r')
    line.n--;
  return line;
}

static void skip_line(s3l_ini_t* ini, size_t used) {
  s3l_span_skip(&ini->rest, used);
  ini->lines++;
}

static bool fail(s3l_ini_t* ini, const char* error) {
  ini->error = error;
  ini->rest.n = 0;
  return false;
}

/* Empty, or only a comment. */
static bool is_void(s3l_span_t line) {
  s3l_span_t s = s3l_span_trim(line);
  return s.n == 0 || s.p[0] == '#' || s.p[0] == ';';
}

static s3l_span_t without_comment(s3l_span_t s) {
  bool quoted = false;
  for (size_t i = 0; i < s.n; i++) {
    if (s.p[i] == '"')
      quoted = !quoted;
    else if (!quoted && (s.p[i] == '#' || s.p[i] == ';') && (i == 0 || is_blank(s.p[i - 1])))
      return s3l_span_trim((s3l_span_t){s.p, i});
  }
  return s3l_span_trim(s);
}

static bool take_head(s3l_ini_t* ini, s3l_span_t line, s3l_ini_item_t* item) {
  const char* end = memchr(line.p, ']', line.n);
  if (end == NULL)
    return fail(ini, "a section's name must end with ']'");
  s3l_span_t behind = {end + 1, line.n - (size_t)(end + 1 - line.p)};
  if (!is_void(behind))
    return fail(ini, "nothing may stand behind the ']' of a section's name");
  ini->section = s3l_span_trim((s3l_span_t){line.p + 1, (size_t)(end - line.p) - 1});
  ini->parent = (s3l_span_t){NULL, 0};
  *item = (s3l_ini_item_t){.section = ini->section};
  return true;
}

/* The indented lines below a value belong to it. */
static void take_continuations(s3l_ini_t* ini, s3l_ini_item_t* item) {
  size_t used;
  while (ini->rest.n > 0) {
    s3l_span_t line = peek_line(ini->rest, &used);
    if (line.n == 0 || !is_blank(line.p[0]) || is_void(line))
      return;
    line = without_comment(line);
    item->value.n = (size_t)(line.p + line.n - item->value.p);
    skip_line(ini, used);
  }
}

static bool take_property(s3l_ini_t* ini, s3l_span_t line, bool nested, s3l_ini_item_t* item) {
  const char* equals = memchr(line.p, '=', line.n);
  if (equals == NULL)
    return fail(ini, nested ? "an indented line must be \"name = value\""
                            : "must be \"name = value\", a section in brackets, or a comment");
  if (ini->section.p == NULL)
    return fail(ini, "a property must stand in a section");
  item->section = ini->section;
  item->parent = nested ? ini->parent : (s3l_span_t){NULL, 0};
  item->name = s3l_span_trim((s3l_span_t){line.p, (size_t)(equals - line.p)});
  item->value = without_comment((s3l_span_t){equals + 1, line.n - (size_t)(equals + 1 - line.p)});
  if (item->name.n == 0)
    return fail(ini, "a property must have a name before its '='");
  if (nested)
    return true;
  ini->parent = item->value.n == 0 ? item->name : (s3l_span_t){NULL, 0};
  if (item->value.n > 0)
    take_continuations(ini, item);
  return true;
}

void s3l_ini_init(s3l_ini_t* ini, s3l_span_t text) {
  *ini = (s3l_ini_t){.rest = text};
  if (s3l_span_starts_with(text, S3L_SPAN("\xEF\xBB\xBF")))
    s3l_span_skip(&ini->rest, 3);
}

bool s3l_ini_next(s3l_ini_t* ini, s3l_ini_item_t* item) {
  size_t used;
  while (ini->rest.n > 0) {
    s3l_span_t line = peek_line(ini->rest, &used);
    skip_line(ini, used);
    ini->line = ini->lines;
    if (line.n > 0 && memchr(line.p, '\0', line.n) != NULL)
      return fail(ini, "must not hold a NUL");
    if (is_void(line))
      continue;
    bool indented = is_blank(line.p[0]);
    s3l_span_t text = s3l_span_trim(line);
    if (indented && ini->parent.p != NULL)
      return take_property(ini, text, true, item);
    return text.p[0] == '[' ? take_head(ini, text, item) : take_property(ini, text, false, item);
  }
  return false;
}
