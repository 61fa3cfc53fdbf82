#include "sim/svg.h"

#include <math.h>
#include <stdio.h>

#include "sim/observe.h"

#define LEFT  90.0
#define WIDTH 1000.0
#define LANE  64.0
#define TOP   44.0

typedef struct svg_s {
  FILE* f;
  s3l_ns_t from, to;
  int nodes;
} svg_t;

void sim_close_marks(sim_world_t* w) {
  for (unsigned i = 0; i < w->plan->nodes_len; i++)
    if (w->oracle.nodes[i].started)
      sim_log_mark(w->log, SIM_MARK_LEADING, (int)i, w->nodes[i].led_from, w->t, "");
}

static double x_of(const svg_t* s, s3l_ns_t t) {
  if (t < s->from)
    t = s->from;
  if (t > s->to)
    t = s->to;
  return LEFT + WIDTH * (double)(t - s->from) / (double)(s->to - s->from);
}

/* The store's lane is the last one. */
static double y_of(const svg_t* s, int node) {
  return TOP + LANE * (node < 0 ? s->nodes : node);
}

static void bar(svg_t* s, const sim_mark_t* m, double y, double h, const char* style,
                const char* title) {
  double x = x_of(s, m->from);
  double w = x_of(s, m->to) - x;
  fprintf(s->f,
          "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" %s><title>%s</title>"
          "</rect>\n",
          x, y, w < 0.8 ? 0.8 : w, h, style, title);
}

static void line(svg_t* s, double x, double y1, double y2, const char* style) {
  fprintf(s->f, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x, y1, x, y2,
          style);
}

static void text(svg_t* s, double x, double y, const char* style, const char* what) {
  fprintf(s->f, "<text x=\"%.1f\" y=\"%.1f\" %s>%s</text>\n", x, y, style, what);
}

static void draw_request(svg_t* s, const sim_mark_t* m, double y) {
  bool ok = m->text[0] == 'o';
  bool uncertain = m->text[0] == 'u';
  const char* style = m->kind == SIM_MARK_READ ? (ok ? "fill=\"#9db8d9\"" : "fill=\"#c9a0a0\"")
                      : ok                     ? "fill=\"#1f5fa8\""
                      : uncertain              ? "fill=\"#e08a00\""
                                               : "fill=\"#c03030\"";
  bar(s, m, m->kind == SIM_MARK_READ ? y + 44 : y + 34, 8, style, m->text);
}

static void draw_mark(svg_t* s, const sim_mark_t* m) {
  if (m->to < s->from || m->from > s->to)
    return;
  double y = y_of(s, m->node);
  switch (m->kind) {
  case SIM_MARK_VALID:
    bar(s, m, y + 8, 22, "fill=\"#58b368\" fill-opacity=\"0.35\"", "validity");
    break;
  case SIM_MARK_LEADING:
    bar(s, m, y + 14, 10, "fill=\"#1d7a35\"", "told that it leads");
    break;
  case SIM_MARK_WRITE:
  case SIM_MARK_READ:
    draw_request(s, m, y);
    break;
  case SIM_MARK_LANDED:
    line(s, x_of(s, m->from), y + 42, y_of(s, -1) + 20,
         "stroke=\"#1f5fa8\" stroke-width=\"0.7\" stroke-dasharray=\"2 3\"");
    fprintf(s->f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"#1f5fa8\"/>\n", x_of(s, m->from),
            y_of(s, -1) + 22);
    break;
  case SIM_MARK_DOWN:
    bar(s, m, y + 4, LANE - 8, "fill=\"#666\" fill-opacity=\"0.35\"", "down");
    text(s, x_of(s, m->from) + 3, y + LANE - 7, "class=\"small\"", m->text);
    break;
  case SIM_MARK_PAUSE:
  case SIM_MARK_FAULT:
    bar(s, m, y + 4, LANE - 8, "fill=\"#d05050\" fill-opacity=\"0.16\"", m->text);
    text(s, x_of(s, m->from) + 3, y + LANE - 7, "class=\"small\"", m->text);
    break;
  }
}

static void draw_frame(svg_t* s) {
  double height = TOP + LANE * (s->nodes + 1) + 40;
  fprintf(s->f,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
          "viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" font-size=\"13\">\n"
          "<style>.small{font-size:10px;fill:#802020}.axis{font-size:11px;fill:#555}</style>\n"
          "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
          LEFT + WIDTH + 20, height, LEFT + WIDTH + 20, height);
  for (int i = 0; i <= s->nodes; i++) {
    char name[16] = "store";
    if (i < s->nodes)
      snprintf(name, sizeof name, "node %d", i);
    fprintf(s->f, "<rect x=\"%.0f\" y=\"%.1f\" width=\"%.0f\" height=\"%.1f\" fill=\"%s\"/>\n",
            LEFT, TOP + LANE * i, WIDTH, LANE, i % 2 == 0 ? "#f6f6f6" : "#ffffff");
    text(s, 12, TOP + LANE * i + LANE / 2 + 4, "", name);
  }
}

static void draw_axis(svg_t* s) {
  double seconds = (double)(s->to - s->from) / 1e9;
  double step = pow(10, floor(log10(seconds / 5)));
  if (seconds / step > 25)
    step *= 5;
  else if (seconds / step > 12)
    step *= 2;
  double y = TOP + LANE * (s->nodes + 1);
  for (double at = ceil((double)s->from / 1e9 / step) * step; at * 1e9 <= (double)s->to;
       at += step) {
    char label[32];
    double x = x_of(s, (s3l_ns_t)(at * 1e9));
    snprintf(label, sizeof label, "%g s", at);
    line(s, x, TOP, y, "stroke=\"#ddd\"");
    text(s, x + 2, y + 14, "class=\"axis\"", label);
  }
}

static void draw_legend(svg_t* s) {
  static const struct {
    const char* style;
    const char* what;
  } rows[] = {{"fill=\"#58b368\" fill-opacity=\"0.35\"", "validity: is_leader"},
              {"fill=\"#1d7a35\"", "told that it leads"},
              {"fill=\"#1f5fa8\"", "PUT"},
              {"fill=\"#e08a00\"", "PUT, reply lost"},
              {"fill=\"#c03030\"", "PUT refused or failed"},
              {"fill=\"#9db8d9\"", "GET"},
              {"fill=\"#c9a0a0\"", "GET failed"}};
  double x = LEFT;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    fprintf(s->f, "<rect x=\"%.0f\" y=\"14\" width=\"14\" height=\"12\" %s/>\n", x, rows[i].style);
    text(s, x + 18, 24, "class=\"axis\"", rows[i].what);
    x += 142;
  }
}

static void draw_violations(svg_t* s, const oracle_t* o) {
  for (int i = 0; i < ORACLE_CHECKS_END; i++) {
    const oracle_violation_t* v = &o->violations[i];
    if (!v->found || v->at < s->from || v->at > s->to)
      continue;
    double x = x_of(s, v->at);
    line(s, x, TOP - 10, TOP + LANE * (s->nodes + 1), "stroke=\"#d00000\" stroke-width=\"2\"");
    text(s, x - 4, TOP - 2, "text-anchor=\"end\" fill=\"#d00000\" font-weight=\"bold\"",
         oracle_check_name((oracle_check_t)i));
  }
}

bool sim_svg_write(const char* path, const sim_world_t* w, const sim_log_t* log, s3l_ns_t from,
                   s3l_ns_t to) {
  svg_t s = {.f = fopen(path, "w"), .from = from, .to = to, .nodes = (int)w->plan->nodes_len};
  if (s.f == NULL)
    return false;
  draw_frame(&s);
  draw_axis(&s);
  draw_legend(&s);
  /* What lasts long lies below what is short. */
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < log->marks_len; i++) {
      bool back = log->marks[i].kind >= SIM_MARK_FAULT;
      if (back == (pass == 0))
        draw_mark(&s, &log->marks[i]);
    }
  draw_violations(&s, &w->oracle);
  fprintf(s.f, "</svg>\n");
  bool ok = ferror(s.f) == 0;
  return fclose(s.f) == 0 && ok;
}
