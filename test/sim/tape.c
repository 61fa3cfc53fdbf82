#include "sim/tape.h"

#include <stdarg.h>
#include <stdlib.h>

#include "core/trace.h"

#define MARKS_MAX (1u << 20)

static bool wants(const sim_tape_t* tape, s3l_ns_t t) {
  return tape != NULL && tape->lines != NULL && t >= tape->from;
}

static void stamp(FILE* f, s3l_ns_t t) {
  fprintf(f, "%9lld.%03lld ", (long long)(t / S3L_MS), (long long)(t % S3L_MS / 1000));
}

void sim_tape_line(sim_tape_t* tape, s3l_ns_t t, const char* format, ...) {
  if (!wants(tape, t))
    return;
  stamp(tape->lines, t);
  va_list args;
  va_start(args, format);
  vfprintf(tape->lines, format, args);
  va_end(args);
  fputc('\n', tape->lines);
}

void sim_tape_event(sim_tape_t* tape, s3l_ns_t t, unsigned node, const s3l_event_t* event) {
  if (!wants(tape, t))
    return;
  char text[S3L_TRACE_SIZE];
  (void)s3l_trace_event(event, text, sizeof text);
  sim_tape_line(tape, t, "n%u > %s", node, text);
}

void sim_tape_effects(sim_tape_t* tape, s3l_ns_t t, unsigned node, s3l_ns_t boot,
                      const s3l_effects_t* effects) {
  if (!wants(tape, t))
    return;
  for (size_t i = 0; i < effects->len; i++) {
    char text[S3L_TRACE_SIZE];
    (void)s3l_trace_effect(&effects->at[i], &effects->record, boot, text, sizeof text);
    sim_tape_line(tape, t, "n%u < %s", node, text);
  }
}

void sim_tape_mark(sim_tape_t* tape, sim_mark_kind_t kind, int node, s3l_ns_t from, s3l_ns_t to,
                   const char* text) {
  if (tape == NULL || !tape->marking)
    return;
  if (tape->marks_len == tape->marks_cap) {
    size_t cap = tape->marks_cap == 0 ? 1024 : tape->marks_cap * 2;
    sim_mark_t* marks = cap > MARKS_MAX ? NULL : realloc(tape->marks, cap * sizeof *marks);
    if (marks == NULL)
      return;
    tape->marks = marks;
    tape->marks_cap = cap;
  }
  sim_mark_t* m = &tape->marks[tape->marks_len++];
  *m = (sim_mark_t){.from = from, .to = to, .node = node, .kind = kind};
  snprintf(m->text, sizeof m->text, "%s", text);
}

void sim_tape_cut(sim_tape_t* tape, sim_mark_kind_t kind, int node, s3l_ns_t t) {
  if (tape == NULL)
    return;
  for (size_t i = tape->marks_len; i-- > 0;) {
    sim_mark_t* m = &tape->marks[i];
    if (m->node == node && m->kind == kind) {
      if (m->to > t)
        m->to = t;
      return;
    }
  }
}

void sim_tape_free(sim_tape_t* tape) {
  free(tape->marks);
  tape->marks = NULL;
  tape->marks_len = tape->marks_cap = 0;
}
