/* cli/terminal.h (L8): output for people.
 *
 * On a terminal, commands print lines that people read, in colours unless NO_COLOR is set or TERM
 * is "dumb" or missing, and `watch` keeps a live view, unless TERM is. Everywhere else, and with
 * --json, they print JSON. Whatever a bucket or a peer has said passes cli_visible first: a control
 * sequence in a leader's ID must not reach a terminal. */
#ifndef S3L_CLI_TERMINAL_H
#define S3L_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "options.h"

typedef struct cli_terminal_s {
  bool color;
  bool live; /* it can move its cursor */
} cli_terminal_t;

typedef enum { CLI_PLAIN, CLI_GOOD, CLI_WARN, CLI_BAD, CLI_STRONG, CLI_FAINT } cli_style_t;

/** What standard output is: NULL if JSON is due, because it is no terminal or --json is given.
 * Static. */
const cli_terminal_t* cli_terminal(const cli_options_t* options);

/** The sequence that begins a style, and with CLI_PLAIN the one that ends it. "" without colours,
 * and with NULL. */
const char* cli_style(const cli_terminal_t* terminal, cli_style_t style);

/** Its height in lines, 24 if it does not say. */
unsigned cli_terminal_rows(void);

/** Makes foreign text safe for a terminal, in place: control characters, invalid UTF-8 and the
 * characters that change the direction of writing become '?'. */
void cli_visible(char* text);

/** One line for people, with the time (UTC): "12:34:56  leading   epoch 42". `text` may be foreign:
 * it is made visible. Returns the line's length; a text that does not fit is cut. */
size_t cli_terminal_line(const cli_terminal_t* terminal, cli_style_t style, const char* word,
                         const char* text, char* line, size_t size);

#endif
