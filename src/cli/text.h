/* cli/text.h (L8): text for people and programs: messages, times, JSON.
 *
 * Everything writes into buffers of the caller's, bounded, with a terminating NUL; nothing depends
 * on the locale. */
#ifndef S3L_CLI_TEXT_H
#define S3L_CLI_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <s3lect.h>

#include "writer.h"

#define CLI_TIME_SIZE    32 /* "2024-10-27T10:30:45.123Z" and its NUL, with room for odd years */
#define CLI_SPAN_SIZE    32 /* "3 d 4 h" and the like */
#define CLI_MESSAGE_SIZE 512
#define CLI_LINE_SIZE    1200 /* a line on stderr: the longest message of an event and its prefix */

/** Like vsnprintf, but a text that does not fit is cut behind a word and ends with "...". `size` is
 * at least 8. */
void cli_format_args(char* text, size_t size, const char* format, va_list args);
void cli_format(char* text, size_t size, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

/** Names the program in messages: "s3lect run". Static storage, or the caller's for good. */
void cli_say_name(const char* name);

/** Has messages go through a writer of stderr, so that nothing on the loop waits for its reader;
 * NULL: straight to stderr again. What the writer has no room for is dropped and counted. */
void cli_say_through(cli_writer_t* writer);

/** One line on stderr, "s3lect run: ...", in one write(2). */
void cli_say(const char* format, ...) __attribute__((format(printf, 1, 2)));

/** What the library calls an option, and people who use the command. */
typedef struct cli_word_s {
  const char* member; /* NULL: the last row */
  const char* option;
} cli_word_t;

/** One line on stderr, `before` and then what is wrong, with the option's name from `words`. */
void cli_say_error(const cli_word_t* words, const char* before, const s3lect_error_t* error);

/** Makes text that others wrote fit for a terminal: control characters become '?', in place. */
void cli_plain(char* text, size_t len);

/** RFC 3339 in UTC with milliseconds. */
void cli_time(int64_t unix_ms, char out[CLI_TIME_SIZE]);

/** A length of time for people: "850 ms", "4.2 s", "3 min 5 s", "2 h 10 min", "3 d 4 h". */
void cli_span(int64_t ms, char out[CLI_SPAN_SIZE]);

/** Unix time in ms by this machine's wall clock: for display only. */
int64_t cli_wall_ms(void);

/** One JSON object on one line, built field by field. What does not fit sets `full`. */
typedef struct cli_json_s {
  char* out;
  size_t cap;
  size_t len;
  bool full;
} cli_json_t;

void cli_json_open(cli_json_t* json, char* out, size_t cap);
/** `value` is made valid UTF-8: what is not becomes U+FFFD. */
void cli_json_string(cli_json_t* json, const char* name, const char* value);
void cli_json_u64(cli_json_t* json, const char* name, uint64_t value);
void cli_json_i64(cli_json_t* json, const char* name, int64_t value);
/** The members boottime_ns and lease_ns: now. */
void cli_json_clocks(cli_json_t* json);
/** A member that is an array; its elements are objects, begun with cli_json_object. Each is ended
 * with its own bracket. */
void cli_json_array(cli_json_t* json, const char* name);
void cli_json_object(cli_json_t* json);
void cli_json_end(cli_json_t* json, char bracket);
/** Ends the object with "}\n". False if it did not fit. */
bool cli_json_close(cli_json_t* json);

#endif
