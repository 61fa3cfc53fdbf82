#include "sim/log.h"

#include <stdarg.h>
#include <stdlib.h>

#include "core/trace.h"

#define MARKS_MAX (1u << 20)

static bool wants(const sim_log_t* log, s3l_ns_t t) {
  return log != NULL && log->lines != NULL && t >= log->from;
}

static void stamp(FILE* f, s3l_ns_t t) {
  fprintf(f, "%9lld.%03lld ", (long long)(t / S3L_MS), (long long)(t % S3L_MS / 1000));
}

void sim_log_line(sim_log_t* log, s3l_ns_t t, const char* format, ...) {
  if (!wants(log, t))
    return;
  stamp(log->lines, t);
  va_list args;
  va_start(args, format);
  vfprintf(log->lines, format, args);
  va_end(args);
  fputc('\n', log->lines);
}

void sim_log_event(sim_log_t* log, s3l_ns_t t, unsigned node, const s3l_event_t* event) {
  if (!wants(log, t))
    return;
  char text[S3L_TRACE_SIZE];
  (void)s3l_trace_event(event, text, sizeof text);
  sim_log_line(log, t, "n%u > %s", node, text);
}

void sim_log_effects(sim_log_t* log, s3l_ns_t t, unsigned node, s3l_ns_t boot,
                     const s3l_effects_t* effects) {
  if (!wants(log, t))
    return;
  for (size_t i = 0; i < effects->len; i++) {
    char text[S3L_TRACE_SIZE];
    (void)s3l_trace_effect(&effects->at[i], &effects->record, boot, text, sizeof text);
    sim_log_line(log, t, "n%u < %s", node, text);
  }
}

void sim_log_mark(sim_log_t* log, sim_mark_kind_t kind, int node, s3l_ns_t from, s3l_ns_t to,
                  const char* text) {
  if (log == NULL || !log->marking)
    return;
  if (log->marks_len == log->marks_cap) {
    size_t cap = log->marks_cap == 0 ? 1024 : log->marks_cap * 2;
    sim_mark_t* marks = cap > MARKS_MAX ? NULL : realloc(log->marks, cap * sizeof *marks);
    if (marks == NULL)
      return;
    log->marks = marks;
    log->marks_cap = cap;
  }
  sim_mark_t* m = &log->marks[log->marks_len++];
  *m = (sim_mark_t){.from = from, .to = to, .node = node, .kind = kind};
  snprintf(m->text, sizeof m->text, "%s", text);
}

void sim_log_cut(sim_log_t* log, sim_mark_kind_t kind, int node, s3l_ns_t t) {
  if (log == NULL)
    return;
  for (size_t i = log->marks_len; i-- > 0;) {
    sim_mark_t* m = &log->marks[i];
    if (m->node == node && m->kind == kind) {
      if (m->to > t)
        m->to = t;
      return;
    }
  }
}

void sim_log_free(sim_log_t* log) {
  free(log->marks);
  log->marks = NULL;
  log->marks_len = log->marks_cap = 0;
}
