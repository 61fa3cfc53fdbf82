/* core/trace.h: one line of text for each thing that a core is told and decides.
 *
 * Used by the trace hook, the golden traces and the simulator's reports, which thereby look alike:
 *
 *   start
 *   read if-changed "etag"            write if-absent epoch=7 n=1
 *   done ok "etag"                    done EPRECONDITION
 *   notify started epoch=7 valid=+14.849s
 *   probe wait=7000
 *   peer leading epoch=7 n=3 valid=12000 "etag" authenticated held */
#ifndef S3L_CORE_TRACE_H
#define S3L_CORE_TRACE_H

#include "core/state.h"

#define S3L_TRACE_SIZE 256 /* a longer line is cut */

/** Writes the line with its NUL; returns its length. */
size_t s3l_trace_event(const s3l_event_t* event, char* buf, size_t cap);
/** `now` is that of the step: instants are written relative to it. */
size_t s3l_trace_effect(const s3l_effect_t* effect, const s3lect_record_t* record, s3l_ns_t now,
                        char* buf, size_t cap);

#endif
