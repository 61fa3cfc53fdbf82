/* cli/view.h (L8): a table of elections that stands at the end of a terminal's output and is drawn
 * again and again, while lines of events go by above it. */
#ifndef S3L_CLI_VIEW_H
#define S3L_CLI_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "terminal.h"
#include "writer.h"

#define CLI_VIEW_SIZE 65536 /* bytes of a frame; rows that do not fit are left out */

/** One election as a row shows it. The texts may be foreign. */
typedef struct cli_view_row_s {
  const char* election;
  const char* state; /* "led", ... as in `status` */
  const char* leader;
  const char* addr;
  const char* value; /* what the leader publishes, or "" */
  uint64_t epoch;
  int64_t age_ms;  /* since the last renewal; -1: unknown */
  int64_t left_ms; /* until others may take over */
  int64_t timeout_ms;
} cli_view_row_t;

typedef struct cli_view_s {
  const cli_terminal_t* terminal;
  unsigned height; /* lines that the last frame has left on the terminal */
} cli_view_t;

/** Writes rows as a table, each of which ends with a newline: at most `max` of them, then a line
 * that says how many more there are. With `bars`, the time left is a bar. Returns the length. */
size_t cli_view_table(const cli_terminal_t* terminal, const cli_view_row_t* rows, size_t len,
                      size_t max, bool bars, char* out, size_t size);

/** Replaces the last frame by these rows. Returns 0, or UV_ENOBUFS if the writer has no room. */
int cli_view_draw(cli_view_t* view, cli_writer_t* writer, const cli_view_row_t* rows, size_t len);

/** Removes the last frame; the cursor is where it began. Returns as cli_view_draw. */
int cli_view_erase(cli_view_t* view, cli_writer_t* writer);

#endif
