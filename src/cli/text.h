/* cli/text.h (L8): messages on stderr, times for people, JSON lines. Texts are written into the
 * caller's buffers, bounded, with a NUL; nothing depends on the locale. */
#ifndef S3L_CLI_TEXT_H
#define S3L_CLI_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <s3lect.h>

#include "util/json.h"
#include "writer.h"

#define CLI_SPAN_SIZE    32 /* "3 d 4 h" and the like */
#define CLI_MESSAGE_SIZE 512
#define CLI_LINE_SIZE    1200 /* a line on stderr: the longest message of an event and its prefix */

/** Like snprintf, but a text that does not fit is cut after a word and ends with "...". `size` is
 * at least 8. */
void cli_format(char* text, size_t size, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

/** Begins messages with "s3lect COMMAND: ". */
void cli_say_name(const char* command);

/** Sends messages through a writer of stderr, so that the loop does not wait for its reader; NULL:
 * directly to stderr again. Messages for which the writer has no room are dropped and counted. */
void cli_say_through(cli_writer_t* writer);

/** One line on stderr, "s3lect run: ...", in one write(2). */
void cli_say(const char* format, ...) __attribute__((format(printf, 1, 2)));

/** The same for what is no failure of the command: nothing after cli_be_quiet. */
void cli_note(const char* format, ...) __attribute__((format(printf, 1, 2)));
void cli_be_quiet(void);

/** Flushes stdout. Returns 0, or CLI_EXIT_FAILED after a line on stderr. */
int cli_flush(void);

/** Describes an option that the command refuses, in one line that names it. Returns S3LECT_EOPTION.
 */
int cli_refuse(s3lect_error_t* error, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

/** A length of time for people: "850 ms", "4.2 s", "3 min 5 s", "2 h 10 min", "3 d 4 h". */
void cli_span(int64_t ms, char out[CLI_SPAN_SIZE]);

/** Unix time in ms by this machine's wall clock, for display only. */
int64_t cli_wall_ms(void);

/* JSON lines: one object, whose members are written with util/json.h. */

void cli_json_open(s3l_buf_t* json, char* line, size_t size);
/** The members boottime_ns and lease_ns: now. */
void cli_json_clocks(s3l_buf_t* json);
/** RFC 3339 in UTC, with milliseconds. */
void cli_json_time(s3l_buf_t* json, const char* name, int64_t unix_ms);
/** Ends the line. Returns its length, or 0 if it did not fit. */
size_t cli_json_close(s3l_buf_t* json);

#endif
