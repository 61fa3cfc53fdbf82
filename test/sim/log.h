/* sim/log.h: what a run prints: lines of text and marks for a picture.
 *
 * A line is one event into a core or one effect out of it, in the words of core/trace.h:
 *
 *     12345.678 n2 > done ok "etag"         an event (ms since the run began)
 *     12345.678 n2 < notify started ...     an effect
 *     12346.000 store: n2's write lands     what happens around the nodes */
#ifndef SIM_LOG_H
#define SIM_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/core.h"

typedef enum {
  SIM_MARK_VALID = 0, /* is_leader would be yes; `text`: epoch */
  SIM_MARK_LEADING,   /* told that it leads */
  SIM_MARK_WRITE,     /* sent .. done; `text`: how it ended */
  SIM_MARK_READ,
  SIM_MARK_LANDED,
  SIM_MARK_FAULT,
  SIM_MARK_DOWN,
  SIM_MARK_PAUSE,
} sim_mark_kind_t;

typedef struct sim_mark_s {
  s3l_ns_t from, to;
  int node; /* -1: the store, or everybody */
  sim_mark_kind_t kind;
  char text[40];
} sim_mark_t;

typedef struct sim_log_s {
  FILE* lines;   /* NULL: none */
  s3l_ns_t from; /* earlier lines are left out */
  bool marking;
  sim_mark_t* marks;
  size_t marks_len, marks_cap;
} sim_log_t;

void sim_log_line(sim_log_t* log, s3l_ns_t t, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
void sim_log_event(sim_log_t* log, s3l_ns_t t, unsigned node, const s3l_event_t* event);
void sim_log_effects(sim_log_t* log, s3l_ns_t t, unsigned node, s3l_ns_t boot,
                     const s3l_effects_t* effects);
void sim_log_mark(sim_log_t* log, sim_mark_kind_t kind, int node, s3l_ns_t from, s3l_ns_t to,
                  const char* text);
/** Ends the last mark of that kind and node, if it goes beyond t. */
void sim_log_cut(sim_log_t* log, sim_mark_kind_t kind, int node, s3l_ns_t t);
void sim_log_free(sim_log_t* log);

#endif
