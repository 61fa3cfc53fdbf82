/* cli/events.h (L8): the elector's events as JSON lines. */
#ifndef S3L_CLI_EVENTS_H
#define S3L_CLI_EVENTS_H

#include <s3lect.h>

#include "writer.h"

/* Longest line: two IDs of which every byte is escaped, a message of CLI_EVENT_MESSAGE bytes
 * likewise, and the names and numbers. */
#define CLI_EVENT_LINE    12288
#define CLI_EVENT_MESSAGE 1024 /* as long as the longest of a store */

/** Writes an event as one line into `line`. Returns its length, 0 if it did not fit. */
size_t cli_event_format(const s3lect_event_t* event, const char* id, char line[CLI_EVENT_LINE]);

typedef struct cli_events_s {
  cli_writer_t* writer;
  const char* id;
  unsigned dropped; /* lines for which there was no room, since the last that was written */
} cli_events_t;

/** Queues an event. After lines had to be dropped, an error event (ENOBUFS) says how many. */
void cli_events_put(cli_events_t* events, const s3lect_event_t* event);

#endif
