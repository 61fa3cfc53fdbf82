/* bench/failover_svg.c: the results, as a picture: a histogram for each mode and series, with what
 * the 99th percentile is and what it may be. */
#include <math.h>
#include <stdio.h>

#include "bench/failover.h"

#define BINS   60
#define LEFT   24.0
#define TOP    64.0
#define WIDTH  440.0
#define HEIGHT 110.0
#define GAP_X  48.0
#define GAP_Y  72.0

typedef struct plot_s {
  FILE* f;
  double x, y;     /* upper left corner */
  double from, to; /* ms */
} plot_t;

static double x_of(const plot_t* p, double ms) {
  return p->x + WIDTH * (ms - p->from) / (p->to - p->from);
}

static void mark(const plot_t* p, double ms, const char* style, const char* what, double below) {
  double x = x_of(p, ms);
  bool left = x > p->x + WIDTH * 0.75;
  fprintf(p->f, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x, p->y, x,
          p->y + HEIGHT, style);
  fprintf(p->f, "<text x=\"%.1f\" y=\"%.1f\" class=\"mark\"%s>%s %.0f</text>\n",
          left ? x - 4 : x + 4, p->y + below, left ? " text-anchor=\"end\"" : "", what, ms);
}

static void draw_axis(const plot_t* p) {
  double span = p->to - p->from;
  double step = pow(10, floor(log10(span / 4)));
  if (span / step > 20)
    step *= 5;
  else if (span / step > 10)
    step *= 2;
  fprintf(p->f, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#555\"/>\n", p->x,
          p->y + HEIGHT, p->x + WIDTH, p->y + HEIGHT);
  for (double at = ceil(p->from / step) * step; at <= p->to; at += step)
    fprintf(p->f,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#555\"/>\n"
            "<text x=\"%.1f\" y=\"%.1f\" class=\"axis\" text-anchor=\"middle\">%g</text>\n",
            x_of(p, at), p->y + HEIGHT, x_of(p, at), p->y + HEIGHT + 4, x_of(p, at),
            p->y + HEIGHT + 16, at);
  fprintf(p->f, "<text x=\"%.1f\" y=\"%.1f\" class=\"axis\" text-anchor=\"end\">ms</text>\n",
          p->x + WIDTH, p->y + HEIGHT + 30);
}

static void draw_bars(const plot_t* p, const failover_samples_t* s) {
  unsigned count[BINS] = {0};
  unsigned most = 1;
  for (size_t i = 0; i < s->len; i++) {
    double at = (s->ms[i] - p->from) / (p->to - p->from) * BINS;
    unsigned* bin = &count[at < 0 ? 0 : at < BINS ? (size_t)at : BINS - 1];
    if (++*bin > most)
      most = *bin;
  }
  for (size_t i = 0; i < BINS; i++) {
    double h = (HEIGHT - 26) * count[i] / most;
    if (count[i] > 0)
      fprintf(p->f,
              "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#1f5fa8\">"
              "<title>%u</title></rect>\n",
              p->x + WIDTH / BINS * (double)i, p->y + HEIGHT - h, WIDTH / BINS - 0.8, h, count[i]);
  }
}

static void draw_plot(FILE* f, const failover_result_t* r, failover_series_t series, double x,
                      double y) {
  static const char* const names[] = {
      "hand-over: SIGTERM, stopped_leading to started_leading",
      "crash: SIGKILL, legal take-over to started_leading",
      "crash: SIGKILL, the kill to started_leading",
  };
  const failover_samples_t* s = &r->series[series];
  double most = fmax(failover_percentile(s, 1), s->budget_ms);
  plot_t p = {f, x, y, 0, most * 1.04 + 1};
  if (s->budget_ms <= 0) /* a wait above all: what lies before it says nothing */
    p.from = floor(failover_percentile(s, 0) / 500) * 500;
  fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" class=\"name\">%s (%zu)</text>\n", x, y - 8,
          names[series], s->len);
  fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#f6f6f6\"/>\n", x,
          y, WIDTH, HEIGHT);
  draw_bars(&p, s);
  draw_axis(&p);
  mark(&p, failover_percentile(s, 0.5), "stroke=\"#1d7a35\"", "median", 12);
  mark(&p, failover_percentile(s, 0.99), "stroke=\"#e08a00\"", "p99", 24);
  if (s->budget_ms > 0)
    mark(&p, s->budget_ms, "stroke=\"#c03030\" stroke-dasharray=\"4 3\"", "budget", 36);
}

bool failover_svg(const char* path, const failover_result_t* results, size_t len) {
  FILE* f = fopen(path, "we");
  if (f == NULL)
    return false;
  double width = LEFT * 2 + (WIDTH + GAP_X) * (double)len - GAP_X;
  double height = TOP + (HEIGHT + GAP_Y) * (int)FAILOVER_SERIES - 24;
  fprintf(f,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
          "viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" font-size=\"12\">\n"
          "<style>.mode{font-size:15px;font-weight:bold}.axis{font-size:11px;fill:#555}"
          ".mark{font-size:11px}.name{fill:#333}</style>\n"
          "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
          width, height, width, height);
  for (size_t i = 0; i < len; i++) {
    double x = LEFT + (WIDTH + GAP_X) * (double)i;
    fprintf(f, "<text x=\"%.1f\" y=\"22\" class=\"mode\">%s, store round trip %.0f ms</text>\n", x,
            results[i].peer_mode ? "Peer mode" : "Storage mode", results[i].round_trip_ms);
    for (int k = 0; k < FAILOVER_SERIES; k++)
      draw_plot(f, &results[i], (failover_series_t)k, x, TOP + (HEIGHT + GAP_Y) * k);
  }
  fprintf(f, "</svg>\n");
  bool ok = ferror(f) == 0;
  return fclose(f) == 0 && ok;
}
