/* creds/process: programs that print keys, through a profile and the chain: good ones, and all the
 * ways in which they fail. Whether a program is still there shows in a pipe that it has inherited.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "credentials/process.h"
#include "lib/creds_rig.h"
#include "lib/test.h"
#include "lib/wait.h"

#define KEYS "\"Version\":1,\"AccessKeyId\":\"AK\",\"SecretAccessKey\":\"SK\""
#define SAID "shared files: credential_process "

static s3l_creds_rig_t rig;

/* A chain whose profile runs this. */
static void open_with(const char* command) {
  char config[16384];
  s3l_creds_rig_init(&rig, NULL, 0);
  int n = snprintf(config, sizeof(config), "[profile p]\ncredential_process = %s\n", command);
  assert_true(n > 0 && (size_t)n < sizeof(config));
  s3l_creds_rig_set_file(&rig, "AWS_CONFIG_FILE", "config", config);
  s3l_creds_rig_start(&rig, "p", 0);
}

static void gets(const char* command) {
  open_with(command);
  s3l_creds_rig_got(&rig, "AK");
}

static void fails(const char* command, const char* why) {
  char want[1024];
  open_with(command);
  snprintf(want, sizeof(want), SAID "%s", why);
  s3l_creds_rig_failed(&rig, want);
}

/* One that prints this text and nothing else. */
static void printed(const char* text, const char* why) {
  char command[512], want[256];
  snprintf(command, sizeof(command), "printf %%s '%s'", text);
  snprintf(want, sizeof(want), "ran, but %s", why);
  fails(command, want);
}

/* ---- A pipe whose one end the programs have ---- */

typedef struct watch_s {
  uv_pipe_t pipe;
  int theirs;
  char buf[64];
  unsigned came;
  unsigned ended;
} watch_t;

static watch_t watch;

static void on_alloc(uv_handle_t* handle, size_t hint, uv_buf_t* buf) {
  *buf = uv_buf_init(watch.buf, sizeof(watch.buf));
}

static void on_read(uv_stream_t* stream, ssize_t n, const uv_buf_t* buf) {
  if (n > 0) {
    watch.came += (unsigned)n;
    return;
  }
  assert_int_equal(n, UV_EOF);
  watch.ended = 1;
  uv_close((uv_handle_t*)stream, NULL);
}

static void make_pipe(int fds[2]) {
  assert_int_equal(pipe(fds), 0);
}

static void watch_open(void) {
  int fds[2];
  make_pipe(fds);
  assert_int_equal(fcntl(fds[0], F_SETFD, FD_CLOEXEC), 0);
  watch = (watch_t){.theirs = fds[1]};
  assert_int_equal(uv_pipe_init(&rig.loop, &watch.pipe, 0), 0);
  assert_int_equal(uv_pipe_open(&watch.pipe, fds[0]), 0);
  assert_int_equal(uv_read_start((uv_stream_t*)&watch.pipe, on_alloc, on_read), 0);
}

/* Nobody has the other end any more. */
static void watch_wait_end(void) {
  close(watch.theirs);
  s3l_wait_count(&rig.loop, &watch.ended, 1, "all programs to be gone");
}

/* ---- Words ---- */

static void check_split(const char* command, const char* want) {
  char text[256], joined[300] = "";
  char* words[9];
  snprintf(text, sizeof(text), "%s", command);
  int n = s3l_process_split(text, words, 8);
  for (int i = 0; i < n; i++) {
    strcat(joined, words[i]);
    strcat(joined, "|");
  }
  if (n >= 0)
    assert_null(words[n]);
  assert_string_equal(n < 0 ? "-1" : joined, want);
}

static void splits_words(void** state) {
  check_split("", "");
  check_split(" \t\n", "");
  check_split("a", "a|");
  check_split("  /bin/a  b\tc\n", "/bin/a|b|c|");
  check_split("a 'b c' \"d e\"", "a|b c|d e|");
  check_split("a'b'\"c\"d", "abcd|");
  check_split("a '' \"\"", "a|||");
  check_split("'a\"b' \"c'd\"", "a\"b|c'd|");
  check_split("a\\ b \\\"c\\'", "a b|\"c'|");
  check_split("\"a\\\"b\\\\c\\d\" 'e\\f'", "a\"b\\c\\d|e\\f|");
  check_split("a\\", "a\\|");
  check_split("$HOME `x` *;&", "$HOME|`x`|*;&|"); /* no shell */
  check_split("a 'b", "-1");
  check_split("a \"b\\\"", "-1");
  check_split("1 2 3 4 5 6 7 8", "1|2|3|4|5|6|7|8|");
  check_split("1 2 3 4 5 6 7 8 9", "-1");
}

/* ---- Good ones ---- */

static void gets_keys(void** state) {
  open_with("printf %s '{" KEYS ",\"SessionToken\":\"T==\",\"Expiration\":\"" S3L_CREDS_RIG_END
            "\"}'");
  s3l_creds_rig_gets(&rig, "AK");
  assert_string_equal(rig.secret, "SK");
  assert_string_equal(rig.token, "T==");
  assert_true(rig.expires_ms == S3L_CREDS_RIG_NOW + 3600000);
  s3l_creds_rig_gets(&rig, "AK"); /* and runs it again */
  s3l_creds_rig_end(&rig);
  open_with("printf '%s\\n\\n' '{" KEYS ",\"SessionToken\":null,\"Expiration\":null}'");
  s3l_creds_rig_gets(&rig, "AK");
  assert_string_equal(rig.token, "");
  assert_true(rig.expires_ms == 0);
  s3l_creds_rig_end(&rig);
}

static void gives_nothing_on_standard_input(void** state) {
  gets("sh -c 'if read x; then exit 1; fi; echo \"$0\"' '{" KEYS "}'");
}

static void does_not_mind_standard_error(void** state) {
  gets("sh -c 'head -c 300000 /dev/zero >&2; echo \"$0\"' '{" KEYS "}'");
}

/* In pieces, with an output that ends before the program does. */
static void waits_for_the_program(void** state) {
  gets("sh -c 'printf %s \"$0\"; printf %s \"$1\"; exec >&- 2>&-; cd /' '{" KEYS "' '}'");
  fails("sh -c 'echo \"$0\"; exec >&- 2>&-; exit 4' '{" KEYS "}'", "exited with status 4");
}

/* What it leaves behind may have its output open for ever. */
static void does_not_wait_for_what_is_left_behind(void** state) {
  char command[256];
  int fds[2];
  make_pipe(fds);
  assert_int_equal(fcntl(fds[1], F_SETFD, FD_CLOEXEC), 0);
  snprintf(command, sizeof(command), "sh -c '(read x </proc/self/fd/%d) & echo \"$0\"' '{%s}'",
           fds[0], KEYS);
  gets(command);
  close(fds[1]); /* then it ends as well */
  close(fds[0]);
}

/* ---- Bad ones ---- */

static void names_how_it_ended(void** state) {
  fails("sh -c 'exit 3'", "exited with status 3");
  fails("sh -c 'echo no session >&2; echo more >&2; exit 1'", "exited with status 1: no session");
  fails("sh -c 'printf \"\\n\\n An error\\tof kind\\33[1m X\" >&2; exit 255'",
        "exited with status 255: An errorof kind[1m X");
  fails("sh -c 'kill -9 $$'", "was ended by signal 9");
  /* What it printed does not count then. */
  fails("sh -c 'echo \"$0\"; exit 1' '{" KEYS "}'", "exited with status 1");
}

static void names_what_cannot_be_started(void** state) {
  fails("/nonexistent/program --secret abc", "/nonexistent/program: no such file or directory");
  assert_null(strstr(rig.why, "abc")); /* arguments may be secrets */
  fails("/dev/null", "/dev/null: permission denied");
}

/* These are found before anything is started. */
static void names_bad_commands(void** state) {
  static char longest[9000];
  open_with("sh -c 'x");
  s3l_creds_rig_failed(&rig,
                       "shared files: credential_process has an open quote, or too many words");
  memset(longest, 'x', sizeof(longest) - 1);
  open_with(longest);
  s3l_creds_rig_failed(&rig, "shared files: credential_process is too long");
  open_with("#"); /* a value that is empty is none at all */
  s3l_creds_rig_failed(&rig, "shared files: the profile has no credentials");
}

static void names_bad_output(void** state) {
  printed("", "its output is not a JSON object");
  printed("keys: none", "its output is not a JSON object");
  printed("[1]", "its output is not a JSON object");
  printed("{" KEYS, "its output is not a JSON object");
  printed("{" KEYS "} {}", "its output is not a JSON object");
  printed("{\"AccessKeyId\":\"AK\",\"SecretAccessKey\":\"SK\"}",
          "its output must have \"Version\": 1");
  printed("{\"Version\":2,\"AccessKeyId\":\"AK\",\"SecretAccessKey\":\"SK\"}",
          "its output must have \"Version\": 1");
  printed("{\"Version\":1,\"AccessKeyId\":\"AK\"}", "there is no secret access key");
  printed("{\"Version\":1,\"SecretAccessKey\":\"SK\"}", "there is no access key");
  printed("{\"Version\":1,\"AccessKeyId\":\"A K\",\"SecretAccessKey\":\"SK\"}",
          "a key holds a blank, a line end or another character that no key has");
  printed("{\"Version\":1,\"AccessKeyId\":7,\"SecretAccessKey\":\"SK\"}",
          "a member of the JSON is not a string, or too long");
  printed("{" KEYS ",\"Expiration\":\"soon\"}", "the expiration is not an RFC 3339 time");
}

static void bounds_the_output(void** state) {
  fails("head -c 1000000 /dev/zero", "printed more than 64 KiB");
  fails("cat /dev/zero", "printed more than 64 KiB"); /* it is killed */
}

/* ---- Ones that do not end ---- */

/* It and a second program that it has started hold the pipe, and say so. */
static void open_with_two_that_hang(void) {
  char config[512];
  s3l_creds_rig_init(&rig, NULL, 0);
  watch_open();
  snprintf(config, sizeof(config),
           "[profile p]\ncredential_process = sh -c 'sh -c \"echo x >/proc/self/fd/%d; sleep 600\" "
           "& wait'\n",
           watch.theirs);
  s3l_creds_rig_set_file(&rig, "AWS_CONFIG_FILE", "config", config);
  s3l_creds_rig_configure(&rig, "p", 0);
}

static void kills_what_takes_too_long(void** state) {
  open_with_two_that_hang();
  rig.settings.process_timeout_ms = 50;
  s3l_creds_rig_open(&rig);
  s3l_creds_rig_fails(&rig, SAID "did not end within 50 ms");
  watch_wait_end();
  s3l_creds_rig_end(&rig);
}

static void kills_it_when_it_is_closed(void** state) {
  open_with_two_that_hang();
  s3l_creds_rig_open(&rig);
  s3l_creds_rig_ask(&rig);
  s3l_wait_count(&rig.loop, &watch.came, 1, "the second program to run");
  close(watch.theirs);
  s3l_creds_rig_end(&rig); /* runs the loop until nothing is left in it: the pipe has ended, too */
  assert_int_equal(watch.ended, 1);
  assert_int_equal(rig.done, 0);
}

/* ---- By itself ---- */

typedef struct direct_s {
  unsigned done;
  unsigned left;
  s3l_task_t leave;
  int status;
} direct_t;

static void on_left(s3l_task_t* task) {
  S3L_CONTAINER_OF(task, direct_t, leave)->left++;
}

static void on_direct(void* arg, int status, s3lect_credentials_t* creds) {
  direct_t* d = arg;
  assert_true((status == 0) == (creds != NULL));
  s3l_creds_free(creds);
  d->status = status;
  d->done++;
}

static void cancelling_is_told(void** state) {
  s3l_process_t* p;
  char text[100];
  s3l_buf_t why;
  direct_t d = {.done = 0};
  s3l_loop_t* runtime;
  uv_loop_t loop;
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(s3l_loop_join(&loop, &runtime), 0);
  s3l_buf_init(&why, text, sizeof(text));
  assert_int_equal(
      s3l_process_start(runtime, S3L_SPAN("sleep 600"), 600000, on_direct, &d, &why, &p), 0);
  s3l_process_cancel(p);
  s3l_process_cancel(p);
  assert_int_equal(d.done, 0); /* never inside */
  s3l_wait_count(&loop, &d.done, 1, "the end of the program");
  assert_int_equal(d.status, UV_ECANCELED);
  s3l_task_init(&d.leave, on_left);
  s3l_loop_leave(runtime, &d.leave);
  s3l_wait_count(&loop, &d.left, 1, "the runtime to be left");
  s3l_wait_loop_end(&loop);
  assert_int_equal(d.done, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(splits_words),
      cmocka_unit_test(gets_keys),
      cmocka_unit_test(gives_nothing_on_standard_input),
      cmocka_unit_test(does_not_mind_standard_error),
      cmocka_unit_test(waits_for_the_program),
      cmocka_unit_test(does_not_wait_for_what_is_left_behind),
      cmocka_unit_test(names_how_it_ended),
      cmocka_unit_test(names_what_cannot_be_started),
      cmocka_unit_test(names_bad_commands),
      cmocka_unit_test(names_bad_output),
      cmocka_unit_test(bounds_the_output),
      cmocka_unit_test(kills_what_takes_too_long),
      cmocka_unit_test(kills_it_when_it_is_closed),
      cmocka_unit_test(cancelling_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
