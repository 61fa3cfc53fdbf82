/* cli/events.h (L8): the elector's events as JSON lines, or as lines for people. */
#ifndef S3L_CLI_EVENTS_H
#define S3L_CLI_EVENTS_H

#include <s3lect.h>

#include "view.h"
#include "writer.h"

/* Longest line: two IDs of which every byte is escaped, a message of CLI_EVENT_MESSAGE bytes
 * likewise, and the names and numbers. */
#define CLI_EVENT_LINE    12288
#define CLI_EVENT_MESSAGE 1024 /* as long as the longest of a store */

/** Writes an event as one line of JSON into `line`. Returns its length, 0 if it did not fit. */
size_t cli_event_format(const s3lect_event_t* event, const char* id, char line[CLI_EVENT_LINE]);

typedef struct cli_events_s {
  cli_writer_t* writer;
  const char* id;
  const cli_terminal_t* terminal; /* the lines are for people; NULL: JSON */
  cli_view_t* view;               /* stands below the lines; or NULL */
  unsigned dropped; /* lines for which there was no room, since the last that was written */
} cli_events_t;

/** Queues an event. After lines had to be dropped, an error event (ENOBUFS) says how many. */
void cli_events_put(cli_events_t* events, const s3lect_event_t* event);

/** Queues a line, above the view if there is one. Returns 0, or UV_ENOBUFS if there is no room. */
int cli_events_line(cli_events_t* events, const char* line, size_t len);

#endif
