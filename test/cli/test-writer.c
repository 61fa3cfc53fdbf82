/* The writer: never waits for its reader, never tears a line, tells when the reader has gone. And
 * the events' lines.
 *
 * ctest labels: tsan. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/events.h"
#include "cli/text.h"
#include "cli/writer.h"
#include "lib/test.h"
#include "lib/wait.h"

typedef struct test_s {
  uv_loop_t loop;
  cli_writer_t* writer;
  int fds[2];
  int err;
} test_t;

static test_t t;

static void on_error(void* arg, int err) {
  t.err = err;
}

static int begin(void** state) {
  memset(&t, 0, sizeof t);
  signal(SIGPIPE, SIG_IGN);
  assert_int_equal(pipe2(t.fds, O_CLOEXEC), 0);
  assert_int_equal(uv_loop_init(&t.loop), 0);
  assert_int_equal(cli_writer_open(&t.writer, &t.loop, t.fds[1], on_error, NULL), 0);
  return 0;
}

static int end(void** state) {
  uv_run(&t.loop, UV_RUN_DEFAULT);
  assert_int_equal(uv_loop_close(&t.loop), 0);
  close(t.fds[0]);
  close(t.fds[1]);
  return 0;
}

/* Reads up to `max` bytes, until the pipe's other end is closed. */
static size_t read_all(int fd, char* text, size_t max) {
  size_t len = 0;
  for (ssize_t n; len < max && (n = read(fd, text + len, max - len)) > 0;)
    len += (size_t)n;
  return len;
}

static void lines_come_out_as_they_went_in(void** state) {
  char text[64];
  assert_int_equal(cli_writer_line(t.writer, "one\n", 4), 0);
  assert_int_equal(read_all(t.fds[0], text, 4), 4);
  assert_memory_equal(text, "one\n", 4);
  assert_int_equal(cli_writer_line(t.writer, "two\n", 4), 0);
  cli_writer_close(t.writer, 60000); /* writes what is left */
  assert_int_equal(read_all(t.fds[0], text, 4), 4);
  assert_memory_equal(text, "two\n", 4);
}

static void a_full_pipe_drops_whole_lines(void** state) {
  enum { LINE = 1000, CAP = 2 * 1024 * 1024 };
  static char line[LINE], text[CAP];
  memset(line, 'x', LINE);
  line[LINE - 1] = '\n';
  size_t taken = 0;
  /* Nobody reads. The thread takes one batch out; then the queue fills up for good. */
  for (int full = 0; full < 5000; full++)
    if (cli_writer_line(t.writer, line, LINE) == 0)
      taken++;
  assert_true(taken >= CLI_WRITER_CAPACITY / LINE && taken < 5000);
  assert_int_equal(cli_writer_line(t.writer, line, LINE), UV_ENOBUFS);
  size_t len = read_all(t.fds[0], text, taken * LINE);
  assert_int_equal(len, taken * LINE);
  for (size_t i = 0; i < taken; i++)
    assert_memory_equal(text + i * LINE, line, LINE);
  /* There is room again. */
  assert_int_equal(cli_writer_line(t.writer, "end\n", 4), 0);
  cli_writer_close(t.writer, 60000);
  assert_int_equal(read_all(t.fds[0], text, 4), 4);
  assert_memory_equal(text, "end\n", 4);
}

static void a_reader_that_has_gone_is_told(void** state) {
  close(t.fds[0]);
  assert_int_equal(cli_writer_line(t.writer, "x\n", 2), 0);
  static uv_timer_t keep; /* the writer itself keeps no loop alive */
  assert_int_equal(uv_timer_init(&t.loop, &keep), 0);
  assert_int_equal(uv_timer_start(&keep, (uv_timer_cb)uv_unref, 600000, 0), 0);
  while (t.err == 0)
    s3l_turn(&t.loop);
  assert_int_equal(t.err, UV_EPIPE);
  assert_int_equal(cli_writer_line(t.writer, "x\n", 2), UV_ENOBUFS);
  uv_close((uv_handle_t*)&keep, NULL);
  cli_writer_close(t.writer, 60000);
  t.fds[0] = dup(t.fds[1]);
}

static s3lect_event_t event_of(s3lect_event_kind_t kind) {
  return (s3lect_event_t){.size = sizeof(s3lect_event_t),
                          .kind = (int32_t)kind,
                          .epoch = 7,
                          .valid_until_ns = 123,
                          .leader_id = "lead",
                          .leader_addr = "",
                          .message = "",
                          .takeover_allowed_ns = 99};
}

static void each_kind_has_its_fields(void** state) {
  char line[CLI_EVENT_LINE];
  s3lect_event_t event = event_of(S3LECT_EVENT_STARTED_LEADING);
  assert_true(cli_event_format(&event, "me", line) > 0);
  static const char head[] = "{\"event\":\"started_leading\",\"id\":\"me\",\"epoch\":7,"
                             "\"leader\":\"lead\",\"boottime_ns\":";
  assert_memory_equal(line, head, sizeof head - 1);
  assert_non_null(strstr(line, ",\"lease_ns\":"));
  const char* rest = strstr(line, ",\"valid_until_ns\":123,\"legal_ns\":99,\"time\":\"");
  assert_non_null(rest);
  assert_string_equal(rest + strlen(rest) - 4, "Z\"}\n");

  event = event_of(S3LECT_EVENT_NEW_LEADER);
  assert_true(cli_event_format(&event, "me", line) > 0);
  assert_non_null(strstr(line, ",\"legal_ns\":99,"));

  event = event_of(S3LECT_EVENT_STOPPED_LEADING);
  event.reason = S3LECT_REASON_LOST;
  assert_true(cli_event_format(&event, "me", line) > 0);
  assert_non_null(strstr(line, "\"leader\":\"lead\",\"reason\":\"lost\",\"boottime_ns\":"));
  assert_null(strstr(line, "legal_ns"));

  event = event_of(S3LECT_EVENT_ERROR);
  event.error = S3LECT_EDUPID;
  event.message = "a \"quoted\"\nmessage";
  assert_true(cli_event_format(&event, "me", line) > 0);
  assert_non_null(strstr(line, "\"error\":\"EDUPID\",\"message\":\"a \\\"quoted\\\"\\nmessage\","));
}

static void the_longest_line_fits(void** state) {
  char line[CLI_EVENT_LINE], id[S3LECT_ID_SIZE], message[4096];
  memset(id, 1, sizeof id);
  id[sizeof id - 1] = '\0';
  memset(message, 1, sizeof message);
  message[sizeof message - 1] = '\0';
  s3lect_event_t event = event_of(S3LECT_EVENT_ERROR);
  event.epoch = UINT64_MAX;
  event.valid_until_ns = INT64_MIN;
  event.leader_id = id;
  event.message = message;
  event.error = S3LECT_EPRECONDITION;
  size_t len = cli_event_format(&event, id, line);
  assert_true(len > 0);
  assert_int_equal(line[len - 1], '\n');
}

typedef struct reader_s {
  int fd;
  size_t len;
  char text[2 * 1024 * 1024];
} reader_t;

static void reader_main(void* arg) {
  reader_t* reader = arg;
  reader->len +=
      read_all(reader->fd, reader->text + reader->len, sizeof reader->text - 1 - reader->len);
  reader->text[reader->len] = '\0';
}

static void dropped_events_are_told(void** state) {
  static reader_t reader;
  cli_events_t events = {.writer = t.writer, .id = "me"};
  s3lect_event_t event = event_of(S3LECT_EVENT_RENEWED);
  unsigned put = 0;
  for (; events.dropped < 3; put++)
    cli_events_put(&events, &event);
  assert_true(put > CLI_WRITER_CAPACITY / 512);
  /* Once somebody reads again there is room, first for the notice of the gap. */
  reader.fd = t.fds[0];
  for (; events.dropped > 0; put++) {
    reader.len += read_all(reader.fd, reader.text + reader.len, 4096);
    cli_events_put(&events, &event);
  }
  uv_thread_t thread;
  assert_int_equal(uv_thread_create(&thread, reader_main, &reader), 0);
  cli_writer_close(t.writer, 60000);
  close(t.fds[1]);
  uv_thread_join(&thread);
  t.fds[1] = dup(t.fds[0]);

  const char* told = strstr(reader.text, "\"error\":\"ENOBUFS\"");
  assert_non_null(told);
  const char* count = strstr(told, "nobody reads them: ");
  assert_non_null(count);
  unsigned long dropped = strtoul(count + strlen("nobody reads them: "), NULL, 10);
  unsigned long lines = 0;
  for (const char* p = reader.text; (p = strstr(p, "\"event\":\"renewed\"")) != NULL; p++)
    lines++;
  assert_int_equal(lines + dropped, put);
}

/* Messages wait for nobody either: those that find no room are counted. */
static void dropped_messages_are_told(void** state) {
  static reader_t reader;
  enum { SAID = 20000 };
  cli_say_through(t.writer);
  for (int i = 0; i < SAID; i++)
    cli_say("message %d, with enough text to fill the queue soon", i);
  reader = (reader_t){.fd = t.fds[0]};
  uv_thread_t thread;
  assert_int_equal(uv_thread_create(&thread, reader_main, &reader), 0);
  /* The thread takes the whole queue at once: the second one leaves half of it free. */
  static char room[CLI_WRITER_CAPACITY];
  memset(room, '.', sizeof room);
  while (cli_writer_line(t.writer, room, sizeof room) != 0)
    continue;
  while (cli_writer_line(t.writer, room, sizeof room / 2) != 0)
    continue;
  cli_say("the last one");
  cli_say_through(NULL);
  cli_writer_close(t.writer, 60000);
  close(t.fds[1]);
  uv_thread_join(&thread);
  t.fds[1] = dup(t.fds[0]);

  static const char gap[] = "s3lect: messages dropped because nobody reads them: ";
  unsigned long dropped = 0;
  for (const char* p = reader.text; (p = strstr(p, gap)) != NULL; p++)
    dropped += strtoul(p + strlen(gap), NULL, 10);
  assert_true(dropped > 0);
  unsigned long lines = 0;
  for (const char* p = reader.text; (p = strstr(p, "s3lect: message ")) != NULL; p++)
    lines++;
  assert_int_equal(lines + dropped, SAID);
  assert_non_null(strstr(reader.text, "s3lect: the last one"));
}

/* A message that is longer than a line ends behind a word, with a mark. */
static void a_long_message_is_cut_behind_a_word(void** state) {
  static char words[2000], text[CLI_LINE_SIZE * 2];
  for (size_t i = 0; i < sizeof words - 1; i++)
    words[i] = "words of a long message "[i % 24];
  cli_say_through(t.writer);
  cli_say("%s", words);
  cli_say_through(NULL);
  cli_writer_close(t.writer, 60000);
  close(t.fds[1]);
  size_t len = read_all(t.fds[0], text, sizeof text - 1);
  t.fds[1] = dup(t.fds[0]);
  text[len] = '\0';
  assert_true(len > CLI_LINE_SIZE - 40 && len < CLI_LINE_SIZE);
  assert_string_equal(text + len - 4, "...\n");
  size_t body = len - 4 - strlen("s3lect: ");
  assert_memory_equal(text + strlen("s3lect: "), words, body);
  assert_int_equal(words[body], ' ');
}

static void times_for_people(void** state) {
  char span[CLI_SPAN_SIZE];
  static const struct {
    int64_t ms;
    const char* text;
  } spans[] = {{-5, "0 ms"},           {999, "999 ms"},      {1000, "1.0 s"},
               {59999, "59.9 s"},      {60000, "1 min 0 s"}, {3599999, "59 min 59 s"},
               {3600000, "1 h 0 min"}, {90000000, "1 d 1 h"}};
  for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
    cli_span(spans[i].ms, span);
    assert_string_equal(span, spans[i].text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
      T(lines_come_out_as_they_went_in),
      T(a_full_pipe_drops_whole_lines),
      T(a_reader_that_has_gone_is_told),
      cmocka_unit_test(each_kind_has_its_fields),
      cmocka_unit_test(the_longest_line_fits),
      T(dropped_events_are_told),
      T(dropped_messages_are_told),
      T(a_long_message_is_cut_behind_a_word),
      cmocka_unit_test(times_for_people),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
