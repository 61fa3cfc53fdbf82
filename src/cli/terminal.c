#include "terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "text.h"
#include "util/timefmt.h"
#include "util/utf8.h"

#define WORD_WIDTH 9

const cli_terminal_t* cli_terminal(const cli_options_t* options) {
  static cli_terminal_t terminal;
  const char* term = getenv("TERM");
  const char* no_color = getenv("NO_COLOR");
  if (options->json || isatty(STDOUT_FILENO) == 0)
    return NULL;
  terminal.live = term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0;
  terminal.color = terminal.live && (no_color == NULL || no_color[0] == '\0');
  return &terminal;
}

const char* cli_style(const cli_terminal_t* terminal, cli_style_t style) {
  static const char* const sequences[] = {
      [CLI_PLAIN] = "\x1b[0m", [CLI_GOOD] = "\x1b[32m",  [CLI_WARN] = "\x1b[33m",
      [CLI_BAD] = "\x1b[31m",  [CLI_STRONG] = "\x1b[1m", [CLI_FAINT] = "\x1b[2m"};
  return terminal != NULL && terminal->color ? sequences[style] : "";
}

unsigned cli_terminal_rows(void) {
  struct winsize size = {0};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

/* U+2028..202E and U+2066..2069: separators of lines, and directions of writing. */
static bool turns_text(const unsigned char* p) {
  return p[0] == 0xe2 && ((p[1] == 0x80 && p[2] >= 0xa8 && p[2] <= 0xae) ||
                          (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9));
}

void cli_visible(char* text) {
  s3l_buf_line(text);
  s3l_span_t rest = s3l_span_cstr(text);
  char* out = text;
  while (rest.n > 0) {
    size_t n = s3l_utf8_length(rest);
    if (n == 0 || (n == 3 && turns_text((const unsigned char*)rest.p)))
      *out++ = '?';
    else
      for (size_t i = 0; i < n; i++)
        *out++ = rest.p[i];
    s3l_span_skip(&rest, n > 0 ? n : 1);
  }
  *out = '\0';
}

size_t cli_terminal_line(const cli_terminal_t* terminal, cli_style_t style, const char* word,
                         const char* text, char* line, size_t size) {
  char visible[CLI_LINE_SIZE], time[S3L_TIME_RFC3339_SIZE];
  (void)s3l_time_format_rfc3339_ms(cli_wall_ms(), time);
  cli_format(visible, sizeof visible, "%s", text);
  cli_visible(visible);
  int n = snprintf(line, size, "%.8s  %s%-*s%s %s\n", time + strlen("2024-10-27T"),
                   cli_style(terminal, style), WORD_WIDTH, word, cli_style(terminal, CLI_PLAIN),
                   visible);
  return n > 0 && (size_t)n < size ? (size_t)n : 0;
}
