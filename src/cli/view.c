#include "view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

#define COLUMNS    4
#define CELL_SIZE  640
#define COLUMN_MAX 60 /* characters; what is longer moves the rest of its row */
#define VALUE_SIZE 96 /* bytes of a value that are shown at the end of its row */
#define BAR_WIDTH  20
#define MORE_SIZE  40         /* bytes of the line "(N more)" */
#define NO_WRAP    "\x1b[?7l" /* a line that is too long is cut, so that the height is known */
#define WRAP       "\x1b[?7h"

static const char* const titles[COLUMNS] = {"election", "state", "leader", "epoch"};

static void put_cells(const cli_view_row_t* row, char cells[COLUMNS][CELL_SIZE]) {
  bool has_addr = row->addr[0] != '\0';
  snprintf(cells[0], CELL_SIZE, "%s", row->election);
  snprintf(cells[1], CELL_SIZE, "%s", row->state);
  snprintf(cells[2], CELL_SIZE, "%s%s%s%s", row->leader[0] != '\0' ? row->leader : "-",
           has_addr ? " (" : "", row->addr, has_addr ? ")" : "");
  if (row->epoch != 0)
    snprintf(cells[3], CELL_SIZE, "%" PRIu64, row->epoch);
  else
    snprintf(cells[3], CELL_SIZE, "-");
  for (size_t i = 0; i < COLUMNS; i++)
    cli_visible(cells[i]);
}

/* In characters, not in bytes. */
static int width_of(const char* text) {
  int n = 0;
  for (; *text != '\0'; text++)
    n += (*text & 0xc0) != 0x80;
  return n;
}

static void put_cell(s3l_buf_t* b, const char* text, int width) {
  s3l_buf_puts(b, text);
  for (int n = width_of(text); n < width + 2; n++)
    s3l_buf_putc(b, ' ');
}

static cli_style_t style_of(const cli_view_row_t* row) {
  bool led = strcmp(row->state, "led") == 0;
  if (!led)
    return strcmp(row->state, "expired") == 0 ? CLI_BAD : CLI_WARN;
  return CLI_GOOD;
}

static void put_bar(const cli_terminal_t* terminal, s3l_buf_t* b, const cli_view_row_t* row) {
  int64_t left = row->left_ms > 0 ? row->left_ms : 0;
  if (row->timeout_ms <= 0)
    return;
  if (left > row->timeout_ms)
    left = row->timeout_ms;
  int full = (int)((left * BAR_WIDTH + row->timeout_ms - 1) / row->timeout_ms);
  cli_style_t style = full > BAR_WIDTH / 3 ? CLI_GOOD : full > 0 ? CLI_WARN : CLI_BAD;
  s3l_buf_puts(b, "  [");
  s3l_buf_puts(b, cli_style(terminal, style));
  for (int i = 0; i < BAR_WIDTH; i++)
    s3l_buf_putc(b, i < full ? '#' : '.');
  s3l_buf_puts(b, cli_style(terminal, CLI_PLAIN));
  s3l_buf_putc(b, ']');
}

static void put_row(const cli_terminal_t* terminal, s3l_buf_t* b, const cli_view_row_t* row,
                    const int widths[COLUMNS], bool bars) {
  char cells[COLUMNS][CELL_SIZE], span[CLI_SPAN_SIZE] = "-";
  put_cells(row, cells);
  for (size_t i = 0; i < COLUMNS; i++) {
    if (i == 1)
      s3l_buf_puts(b, cli_style(terminal, style_of(row)));
    put_cell(b, cells[i], widths[i]);
    if (i == 1)
      s3l_buf_puts(b, cli_style(terminal, CLI_PLAIN));
  }
  if (row->age_ms >= 0)
    cli_span(row->age_ms, span);
  s3l_buf_puts(b, span);
  if (bars && row->age_ms >= 0) {
    for (int n = width_of(span); n < 7; n++)
      s3l_buf_putc(b, ' ');
    put_bar(terminal, b, row);
  }
  if (row->value[0] != '\0' && strcmp(row->state, "led") == 0) {
    char value[VALUE_SIZE];
    snprintf(value, sizeof value, "%s", row->value);
    cli_visible(value);
    s3l_buf_puts(b, "  ");
    s3l_buf_puts(b, value);
  }
  s3l_buf_putc(b, '\n');
}

static void measure(const cli_view_row_t* rows, size_t len, int widths[COLUMNS]) {
  for (size_t i = 0; i < COLUMNS; i++)
    widths[i] = width_of(titles[i]);
  for (size_t k = 0; k < len; k++) {
    char cells[COLUMNS][CELL_SIZE];
    put_cells(&rows[k], cells);
    for (size_t i = 0; i < COLUMNS; i++) {
      int width = width_of(cells[i]);
      if (width > widths[i])
        widths[i] = width < COLUMN_MAX ? width : COLUMN_MAX;
    }
  }
}

size_t cli_view_table(const cli_terminal_t* terminal, const cli_view_row_t* rows, size_t len,
                      size_t max, bool bars, char* out, size_t size) {
  int widths[COLUMNS];
  size_t shown = len < max ? len : max;
  s3l_buf_t b;
  s3l_buf_init(&b, out, size);
  measure(rows, shown, widths);
  s3l_buf_puts(&b, cli_style(terminal, CLI_FAINT));
  for (size_t i = 0; i < COLUMNS; i++)
    put_cell(&b, titles[i], widths[i]);
  s3l_buf_puts(&b, bars ? "age      left" : "age");
  s3l_buf_puts(&b, cli_style(terminal, CLI_PLAIN));
  s3l_buf_putc(&b, '\n');
  for (size_t k = 0; k < shown; k++) {
    size_t before = b.len;
    put_row(terminal, &b, &rows[k], widths, bars);
    if (b.overflow || b.cap - b.len < MORE_SIZE) {
      b.len = before;
      b.overflow = false;
      shown = k;
    }
  }
  if (shown < len)
    s3l_buf_printf(&b, "(%zu more)\n", len - shown);
  return b.overflow ? 0 : b.len;
}

int cli_view_erase(cli_view_t* view, cli_writer_t* writer) {
  char up[32];
  if (view->height == 0)
    return 0;
  int n = snprintf(up, sizeof up, "\x1b[%uA\r\x1b[J", view->height);
  int r = cli_writer_line(writer, up, (size_t)n);
  if (r == 0)
    view->height = 0;
  return r;
}

int cli_view_draw(cli_view_t* view, cli_writer_t* writer, const cli_view_row_t* rows, size_t len) {
  static char frame[CLI_VIEW_SIZE];
  const size_t n = sizeof NO_WRAP - 1;
  unsigned lines = cli_terminal_rows();
  size_t max = lines > 4 ? lines - 3 : 1;
  memcpy(frame, NO_WRAP, n);
  size_t table = cli_view_table(view->terminal, rows, len, max, true, frame + n,
                                sizeof frame - n - sizeof WRAP);
  memcpy(frame + n + table, WRAP, sizeof WRAP - 1);
  if (cli_view_erase(view, writer) != 0)
    return UV_ENOBUFS;
  int r = cli_writer_line(writer, frame, n + table + sizeof WRAP - 1);
  for (const char* p = frame; r == 0 && p < frame + n + table; p++)
    view->height += *p == '\n';
  return r;
}
