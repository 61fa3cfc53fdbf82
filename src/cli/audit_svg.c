/* cli/audit_svg.c: a picture of leaderships: a lane for each candidate, time to the right. What is
 * certain is dark, what may be is pale, and what is wrong is red. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "audit.h"
#include "options.h"
#include "terminal.h"
#include "text.h"
#include "util/timefmt.h"

#define LEFT      180.0
#define WIDTH     1000.0
#define LANE      28.0
#define TOP       40.0
#define LANES_MAX 200
#define TICKS     8

typedef struct svg_s {
  FILE* file;
  const s3lect_audit_t* audit;
  const s3lect_audit_report_t* report;
  int64_t from_ms, to_ms;
  size_t lanes[LANES_MAX]; /* the first leadership of each candidate */
  size_t lanes_len;
} svg_t;

static double x_of(const svg_t* svg, int64_t ms) {
  return LEFT + WIDTH * (double)(ms - svg->from_ms) / (double)(svg->to_ms - svg->from_ms);
}

/* Foreign text, for XML. */
static void put_text(FILE* file, const char* id) {
  char text[S3LECT_ID_SIZE];
  memcpy(text, id, sizeof text);
  cli_visible(text);
  for (const char* p = text; *p != '\0'; p++) {
    if (*p == '<' || *p == '>' || *p == '&' || *p == '"')
      fprintf(file, "&#%d;", *p);
    else
      fputc(*p, file);
  }
}

/* Candidates beyond the last lane share it. */
static size_t lane_of(svg_t* svg, size_t at) {
  const s3lect_leadership_t* l = s3lect_audit_leadership(svg->audit, at);
  for (size_t i = 0; i < svg->lanes_len; i++)
    if (strcmp(s3lect_audit_leadership(svg->audit, svg->lanes[i])->id, l->id) == 0)
      return i;
  if (svg->lanes_len == LANES_MAX)
    return LANES_MAX - 1;
  svg->lanes[svg->lanes_len] = at;
  return svg->lanes_len++;
}

static void put_bar(const svg_t* svg, size_t lane, int64_t from, int64_t to, const char* style) {
  double x = x_of(svg, from), width = x_of(svg, to) - x;
  fprintf(svg->file, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" %s", x,
          TOP + LANE * (double)lane + 5, width < 1 ? 1 : width, LANE - 10, style);
}

static void put_leadership(svg_t* svg, size_t at) {
  const s3lect_leadership_t* l = s3lect_audit_leadership(svg->audit, at);
  size_t lane = lane_of(svg, at);
  char from[S3L_TIME_RFC3339_SIZE];
  (void)s3l_time_format_rfc3339_ms(l->from_ms, from);
  if (l->latest_ms > l->until_ms) {
    put_bar(svg, lane, l->until_ms, l->latest_ms, "fill=\"#58b368\" fill-opacity=\"0.35\"");
    fprintf(svg->file, "/>\n");
  }
  put_bar(svg, lane, l->from_ms, l->until_ms, "fill=\"#1d7a35\"");
  fprintf(svg->file, "><title>");
  put_text(svg->file, l->id);
  fprintf(svg->file, ", epoch %" PRIu64 ", from %s</title></rect>\n", l->epoch, from);
}

static void put_finding(svg_t* svg, const s3lect_finding_t* f) {
  const s3lect_leadership_t* second = s3lect_audit_leadership(svg->audit, f->second);
  bool maybe = f->kind == S3LECT_FINDING_POSSIBLE_OVERLAP;
  int64_t from = second->from_ms, to = from + (f->ms > 0 ? f->ms : 0);
  double x = x_of(svg, from), width = x_of(svg, to) - x;
  fprintf(svg->file,
          "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\" "
          "fill-opacity=\"0.3\"/>\n",
          x, TOP, width < 1.5 ? 1.5 : width, LANE * (double)svg->lanes_len,
          maybe ? "#e08a00" : "#d02020");
}

static void put_axis(const svg_t* svg) {
  double bottom = TOP + LANE * (double)svg->lanes_len;
  for (int i = 0; i <= TICKS; i++) {
    char time[S3L_TIME_RFC3339_SIZE];
    int64_t ms = svg->from_ms + (svg->to_ms - svg->from_ms) * i / TICKS;
    (void)s3l_time_format_rfc3339_ms(ms, time);
    fprintf(svg->file,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ccc\"/>\n"
            "<text x=\"%.1f\" y=\"%.1f\" class=\"axis\">%.12s</text>\n",
            x_of(svg, ms), TOP, x_of(svg, ms), bottom, x_of(svg, ms), bottom + 16,
            time + strlen("2024-10-27T"));
  }
}

static void put_picture(svg_t* svg) {
  const s3lect_audit_report_t* report = svg->report;
  char day[S3L_TIME_RFC3339_SIZE];
  (void)s3l_time_format_rfc3339_ms(svg->from_ms, day);
  double height = TOP + LANE * (double)svg->lanes_len + 30;
  fprintf(svg->file,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
          "font-family=\"sans-serif\" font-size=\"12\">\n"
          "<style>.axis{font-size:10px;fill:#555;text-anchor:middle}</style>\n"
          "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
          "<text x=\"10\" y=\"22\" font-size=\"14\">%.10s: %zu leaderships, %zu overlaps, %zu "
          "possible</text>\n",
          LEFT + WIDTH + 60, height, day, report->leaderships, report->overlaps,
          report->possible_overlaps);
  put_axis(svg);
  for (size_t i = 0; i < svg->lanes_len; i++) {
    fprintf(svg->file, "<text x=\"10\" y=\"%.1f\">", TOP + LANE * (double)i + LANE / 2 + 4);
    put_text(svg->file, s3lect_audit_leadership(svg->audit, svg->lanes[i])->id);
    fprintf(svg->file, "</text>\n");
  }
  for (size_t i = 0; i < report->leaderships; i++)
    put_leadership(svg, i);
  for (size_t i = 0; i < report->findings; i++)
    put_finding(svg, s3lect_audit_finding(svg->audit, i));
  fprintf(svg->file, "</svg>\n");
}

int cli_audit_draw(const s3lect_audit_t* audit, const s3lect_audit_report_t* report,
                   const char* path) {
  svg_t svg = {.audit = audit, .report = report, .from_ms = INT64_MAX, .to_ms = INT64_MIN};
  for (size_t i = 0; i < report->leaderships; i++) {
    const s3lect_leadership_t* l = s3lect_audit_leadership(audit, i);
    if (l->from_ms < svg.from_ms)
      svg.from_ms = l->from_ms;
    if (l->latest_ms > svg.to_ms)
      svg.to_ms = l->latest_ms;
    (void)lane_of(&svg, i);
  }
  if (svg.to_ms <= svg.from_ms)
    svg.to_ms = svg.from_ms + 1;
  svg.file = fopen(path, "we");
  if (svg.file != NULL)
    put_picture(&svg);
  bool failed = svg.file == NULL || ferror(svg.file) != 0;
  if (svg.file != NULL && fclose(svg.file) != 0)
    failed = true;
  if (failed)
    cli_say("--svg %.200s cannot be written: %s", path, strerror(errno));
  return failed ? CLI_EXIT_FAILED : 0;
}
