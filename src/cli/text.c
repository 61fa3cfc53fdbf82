#include "text.h"

#include <inttypes.h>
#include <s3lect.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "options.h"
#include "util/timefmt.h"

static char program_name[32] = "s3lect";
static cli_writer_t* say_writer;
static unsigned say_dropped; /* lines, since the last that was written */
static bool say_no_notes;

void cli_say_name(const char* command) {
  snprintf(program_name, sizeof program_name, "s3lect %s", command);
}

void cli_say_through(cli_writer_t* writer) {
  say_writer = writer;
}

/* If stderr is gone or full, the message is lost: the program neither stops nor waits. */
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

static void cli_format_args(char* text, size_t size, const char* format, va_list args) {
  text[0] = '\0';
  s3l_buf_cut(text, size, vsnprintf(text, size, format, args));
}

void cli_format(char* text, size_t size, const char* format, ...) {
  va_list args;
  va_start(args, format);
  cli_format_args(text, size, format, args);
  va_end(args);
}

static void say_args(const char* format, va_list args) {
  char line[CLI_LINE_SIZE];
  cli_format(line, sizeof line, "%s: ", program_name);
  size_t len = strlen(line);
  cli_format_args(line + len, sizeof line - 1 - len, format, args);
  len += strlen(line + len);
  s3l_buf_line(line);
  line[len++] = '\n';
  put_line(line, len);
}

void cli_say(const char* format, ...) {
  va_list args;
  va_start(args, format);
  say_args(format, args);
  va_end(args);
}

void cli_note(const char* format, ...) {
  va_list args;
  if (say_no_notes)
    return;
  va_start(args, format);
  say_args(format, args);
  va_end(args);
}

void cli_be_quiet(void) {
  say_no_notes = true;
}

int cli_flush(void) {
  if (fflush(stdout) == 0)
    return 0;
  cli_say("cannot write to standard output");
  return CLI_EXIT_FAILED;
}

int cli_refuse(s3lect_error_t* error, const char* format, ...) {
  va_list args;
  *error = (s3lect_error_t){.code = S3LECT_EOPTION};
  va_start(args, format);
  cli_format_args(error->text, sizeof error->text, format, args);
  va_end(args);
  return error->code;
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

void cli_json_open(s3l_buf_t* json, char* line, size_t size) {
  s3l_buf_init(json, line, size);
  s3l_buf_putc(json, '{');
}

void cli_json_clocks(s3l_buf_t* json) {
  struct timespec boottime = {0};
  (void)clock_gettime(CLOCK_BOOTTIME, &boottime);
  s3l_json_i64(json, "boottime_ns", (int64_t)boottime.tv_sec * 1000000000 + boottime.tv_nsec);
  s3l_json_i64(json, "lease_ns", s3lect_now_ns());
}

void cli_json_time(s3l_buf_t* json, const char* name, int64_t unix_ms) {
  char time[S3L_TIME_RFC3339_SIZE];
  (void)s3l_time_format_rfc3339_ms(unix_ms, time);
  s3l_json_string(json, name, time);
}

size_t cli_json_close(s3l_buf_t* json) {
  s3l_buf_puts(json, "}\n");
  return s3l_buf_cstr(json) != NULL ? json->len : 0;
}
