#include "text.h"

#include <inttypes.h>
#include <s3lect.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "util/buf.h"

static const char* program_name = "s3lect";
static cli_writer_t* say_writer;
static unsigned say_dropped; /* lines, since the last that was written */

void cli_say_name(const char* name) {
  program_name = name;
}

void cli_say_through(cli_writer_t* writer) {
  say_writer = writer;
}

/* stderr that is gone or full is no reason to stop, or to wait. */
static void put_line(const char* line, size_t len) {
  char gap[CLI_MESSAGE_SIZE];
  if (say_writer == NULL) {
    /* One write keeps the line whole among those of other processes. */
    ssize_t written = write(STDERR_FILENO, line, len);
    (void)written;
    return;
  }
  if (say_dropped > 0) {
    int n = snprintf(gap, sizeof gap, "%s: messages dropped because nobody reads them: %u\n",
                     program_name, say_dropped);
    if (n > 0 && cli_writer_line(say_writer, gap, (size_t)n) == 0)
      say_dropped = 0;
  }
  if (say_dropped > 0 || cli_writer_line(say_writer, line, len) != 0)
    say_dropped++;
}

void cli_format_args(char* text, size_t size, const char* format, va_list args) {
  text[0] = '\0';
  s3l_buf_cut(text, size, vsnprintf(text, size, format, args));
}

void cli_format(char* text, size_t size, const char* format, ...) {
  va_list args;
  va_start(args, format);
  cli_format_args(text, size, format, args);
  va_end(args);
}

void cli_say(const char* format, ...) {
  char line[CLI_LINE_SIZE];
  va_list args;
  cli_format(line, sizeof line, "%s: ", program_name);
  size_t len = strlen(line);
  va_start(args, format);
  cli_format_args(line + len, sizeof line - 1 - len, format, args);
  va_end(args);
  len += strlen(line + len);
  cli_plain(line, len);
  line[len++] = '\n';
  put_line(line, len);
}

void cli_say_error(const cli_word_t* words, const char* before, const s3lect_error_t* error) {
  while (words->member != NULL && strcmp(words->member, error->option) != 0)
    words++;
  if (words->member != NULL)
    cli_say("%s%s%s", before, words->option, error->text + strlen(error->option));
  else
    cli_say("%s%s", before, error->text);
}

void cli_plain(char* text, size_t len) {
  for (size_t i = 0; i < len; i++) {
    unsigned char c = (unsigned char)text[i];
    bool c1 = c == 0xc2 && i + 1 < len && ((unsigned char)text[i + 1] & 0xe0u) == 0x80u;
    if (c1)
      text[i + 1] = '?';
    if (c1 || c < 0x20 || c == 0x7f)
      text[i] = '?';
  }
}

void cli_time(int64_t unix_ms, char out[CLI_TIME_SIZE]) {
  int64_t seconds = unix_ms / 1000;
  int64_t ms = unix_ms % 1000;
  if (ms < 0) {
    ms += 1000;
    seconds -= 1;
  }
  time_t when = (time_t)seconds;
  struct tm tm;
  if (gmtime_r(&when, &tm) == NULL || tm.tm_year < -1900 || tm.tm_year > 8099) {
    snprintf(out, CLI_TIME_SIZE, "0001-01-01T00:00:00.000Z");
    return;
  }
  snprintf(out, CLI_TIME_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ",
           (unsigned)(tm.tm_year + 1900) % 10000u, (unsigned)(tm.tm_mon + 1) % 100u,
           (unsigned)tm.tm_mday % 100u, (unsigned)tm.tm_hour % 100u, (unsigned)tm.tm_min % 100u,
           (unsigned)tm.tm_sec % 100u, (unsigned)ms % 1000u);
}

void cli_span(int64_t ms, char out[CLI_SPAN_SIZE]) {
  if (ms < 0)
    ms = 0;
  int64_t s = ms / 1000;
  if (ms < 1000)
    snprintf(out, CLI_SPAN_SIZE, "%" PRId64 " ms", ms);
  else if (s < 60)
    snprintf(out, CLI_SPAN_SIZE, "%" PRId64 ".%" PRId64 " s", s, ms % 1000 / 100);
  else if (s < 3600)
    snprintf(out, CLI_SPAN_SIZE, "%" PRId64 " min %" PRId64 " s", s / 60, s % 60);
  else if (s < 86400)
    snprintf(out, CLI_SPAN_SIZE, "%" PRId64 " h %" PRId64 " min", s / 3600, s % 3600 / 60);
  else
    snprintf(out, CLI_SPAN_SIZE, "%" PRId64 " d %" PRId64 " h", s / 86400, s % 86400 / 3600);
}

int64_t cli_wall_ms(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0)
    return 0;
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void json_put(cli_json_t* json, const char* bytes, size_t n) {
  /* Two bytes and the NUL are kept back for the end. */
  if (json->full || n + 3 > json->cap - json->len) {
    json->full = true;
    return;
  }
  memcpy(json->out + json->len, bytes, n);
  json->len += n;
}

/* A comma, unless this is the first member of an object or array. */
static void json_comma(cli_json_t* json) {
  char last = json->len > 0 ? json->out[json->len - 1] : '{';
  if (last != '{' && last != '[')
    json_put(json, ",", 1);
}

static void json_name(cli_json_t* json, const char* name) {
  json_comma(json);
  json_put(json, "\"", 1);
  json_put(json, name, strlen(name));
  json_put(json, "\":", 2);
}

/* Length of the UTF-8 character at s (n bytes left), 0 if there is no valid one. */
static size_t utf8_length(const unsigned char* s, size_t n) {
  size_t length;
  uint32_t code, least;
  if (s[0] < 0x80)
    return 1;
  if (s[0] >= 0xc2 && s[0] <= 0xdf)
    length = 2, code = s[0] & 0x1fu, least = 0x80;
  else if (s[0] >= 0xe0 && s[0] <= 0xef)
    length = 3, code = s[0] & 0x0fu, least = 0x800;
  else if (s[0] >= 0xf0 && s[0] <= 0xf4)
    length = 4, code = s[0] & 0x07u, least = 0x10000;
  else
    return 0;
  if (length > n)
    return 0;
  for (size_t i = 1; i < length; i++) {
    if ((s[i] & 0xc0u) != 0x80u)
      return 0;
    code = code << 6 | (s[i] & 0x3fu);
  }
  bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < least || code > 0x10ffff || surrogate ? 0 : length;
}

void cli_json_open(cli_json_t* json, char* out, size_t cap) {
  *json = (cli_json_t){.out = out, .cap = cap, .full = cap < 4};
  json_put(json, "{", 1);
}

void cli_json_string(cli_json_t* json, const char* name, const char* value) {
  const unsigned char* s = (const unsigned char*)value;
  size_t n = strlen(value);
  json_name(json, name);
  json_put(json, "\"", 1);
  for (size_t i = 0; i < n;) {
    size_t length = utf8_length(s + i, n - i);
    if (length == 0) {
      json_put(json, "\xef\xbf\xbd", 3);
      length = 1;
    } else if (length > 1) {
      json_put(json, value + i, length);
    } else if (s[i] == '"' || s[i] == '\\') {
      char escaped[2] = {'\\', value[i]};
      json_put(json, escaped, 2);
    } else if (s[i] < 0x20 || s[i] == 0x7f) {
      char escaped[8];
      snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned)s[i]);
      json_put(json, escaped, 6);
    } else {
      json_put(json, value + i, 1);
    }
    i += length;
  }
  json_put(json, "\"", 1);
}

void cli_json_u64(cli_json_t* json, const char* name, uint64_t value) {
  char digits[24];
  json_name(json, name);
  int n = snprintf(digits, sizeof digits, "%" PRIu64, value);
  json_put(json, digits, (size_t)n);
}

void cli_json_i64(cli_json_t* json, const char* name, int64_t value) {
  char digits[24];
  json_name(json, name);
  int n = snprintf(digits, sizeof digits, "%" PRId64, value);
  json_put(json, digits, (size_t)n);
}

void cli_json_clocks(cli_json_t* json) {
  struct timespec boottime = {0};
  (void)clock_gettime(CLOCK_BOOTTIME, &boottime);
  cli_json_i64(json, "boottime_ns", (int64_t)boottime.tv_sec * 1000000000 + boottime.tv_nsec);
  cli_json_i64(json, "lease_ns", s3lect_now_ns());
}

void cli_json_array(cli_json_t* json, const char* name) {
  json_name(json, name);
  json_put(json, "[", 1);
}

void cli_json_object(cli_json_t* json) {
  json_comma(json);
  json_put(json, "{", 1);
}

void cli_json_end(cli_json_t* json, char bracket) {
  json_put(json, &bracket, 1);
}

bool cli_json_close(cli_json_t* json) {
  if (json->cap < 4)
    return false;
  memcpy(json->out + json->len, "}\n", 3);
  json->len += 2;
  return !json->full;
}
