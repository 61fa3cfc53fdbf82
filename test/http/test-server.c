/* The HTTP server: requests and answers, what it refuses, held exchanges, and its closing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/server_rig.h"
#include "lib/test.h"
#include "lib/wait.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

static s3l_server_rig_t rig;

static s3l_caller_t* start(void) {
  s3l_server_rig_start(&rig);
  s3l_caller_t* raw = s3l_caller_new(&rig, NULL);
  s3l_caller_open(raw);
  return raw;
}

static void end(s3l_caller_t* raw) {
  s3l_caller_free(raw);
  s3l_server_rig_end(&rig);
}

/* Several requests on one connection, each answered as it should be. */
static void test_answers(void** state) {
  s3l_server_rig_init(&rig);
  s3l_caller_t* raw = start();
  s3l_caller_talk(raw, GET("/"), "\r\n\r\nhello", false);
  assert_ptr_equal(strstr(raw->text, "HTTP/1.1 200 OK\r\nDate: "), raw->text);
  assert_non_null(strstr(raw->text, " GMT\r\nCache-Control: no-store\r\n"
                                    "Content-Type: text/plain\r\nContent-Length: 5\r\n"
                                    "ETag: \"e\"\r\n\r\nhello"));
  s3l_caller_talk(raw, "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n", "Content-Length: 5\r\nETag", false);
  s3l_caller_talk(raw, GET("/nothing?q"), "HTTP/1.1 404 Not Found\r\n", false);
  assert_null(strstr(raw->text, "hello")); /* the HEAD had no body */
  assert_string_equal(rig.path, "/nothing");
  s3l_caller_talk(raw, "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
                  "\r\n\r\nMethod Not Allowed\n", false);
  assert_non_null(strstr(raw->text, "\r\nAllow: GET, HEAD\r\n"));
  s3l_caller_talk(raw, GET("/header"), "HTTP/1.1 500 ", true); /* the owner's mistake */
  assert_null(strstr(raw->text, "b\r\nc"));
  assert_int_equal(rig.requests, 5);
  assert_int_equal(s3l_server_rig_stats(&rig).requests, 5);
  end(raw);
}

/* Requests that end the connection with their answer, and such that do not. */
static void test_keep_alive(void** state) {
  static const struct {
    const char* request;
    const char* want;
    bool end;
  } cases[] = {
      {"GET / HTTP/1.0\r\n\r\n", "Connection: close\r\n", true},
      {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "Connection: keep-alive\r\n", false},
      {"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "Connection: close\r\n", true},
      {"GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n", "hello", false},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    s3l_server_rig_init(&rig);
    s3l_caller_t* raw = start();
    s3l_caller_talk(raw, cases[i].request, cases[i].want, cases[i].end);
    s3l_caller_expect(raw, "hello");
    if (cases[i].end)
      assert_int_equal(raw->status, UV_EOF);
    else
      s3l_caller_talk(raw, GET("/"), "hello", false);
    end(raw);
  }
}

static void test_refused(void** state) {
  static const struct {
    const char* request;
    const char* want;
  } cases[] = {
      {"\x16\x03\x01\x02\x01\x01\x01\x02\x02", "HTTP/1.1 400 Bad Request\r\n"},
      {"FROB / HTTP/1.1\r\n", "HTTP/1.1 400 "},
      {"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 "},
      {"GET / HTTP/2.0\r\nHost: x\r\n\r\n", "HTTP/1.1 505 HTTP Version Not Supported\r\n"},
      {"CONNECT h:1 HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 501 "},
      {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 16385\r\n\r\n", "HTTP/1.1 413 "},
      {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
       "HTTP/1.1 400 "},
      {"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n",
       "HTTP/1.1 417 "},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    s3l_server_rig_init(&rig);
    s3l_caller_t* raw = start();
    s3l_caller_talk(raw, cases[i].request, cases[i].want, true);
    assert_non_null(strstr(raw->text, "\r\nConnection: close\r\n"));
    assert_int_equal(raw->status, UV_EOF);
    assert_int_equal(rig.requests, 0);
    assert_int_equal(s3l_server_rig_stats(&rig).bad_requests, 1);
    end(raw);
  }
}

/* The answer arrives although the client goes on sending. */
static void test_oversized(void** state) {
  enum { SIZE = 60000 };
  char* bytes = malloc(SIZE);
  static const char* const starts[] = {"GET /", "GET / HTTP/1.1\r\nHost: x\r\nA: "};
  static const char* const wants[] = {"HTTP/1.1 414 ", "HTTP/1.1 431 "};
  assert_non_null(bytes);
  for (size_t i = 0; i < 2; i++) {
    memset(bytes, 'a', SIZE);
    memcpy(bytes, starts[i], strlen(starts[i]));
    s3l_server_rig_init(&rig);
    s3l_caller_t* raw = start();
    s3l_caller_send_bytes(raw, bytes, SIZE);
    s3l_caller_expect(raw, wants[i]);
    s3l_caller_expect_end(raw);
    assert_int_equal(raw->status, UV_EOF);
    end(raw);
  }
  free(bytes);
}

static void test_split(void** state) {
  static const char request[] = "POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab";
  s3l_server_rig_init(&rig);
  s3l_caller_t* raw = start();
  for (size_t i = 0; i < sizeof(request) - 1; i++) {
    s3l_caller_send_bytes(raw, &request[i], 1);
    (void)uv_run(&rig.loop, UV_RUN_NOWAIT);
  }
  s3l_caller_expect(raw, "HTTP/1.1 405 ");
  end(raw);
}

/* Requests sent ahead are answered one after the other; a held one holds up those behind it. */
static void test_pipelined(void** state) {
  s3l_server_rig_init(&rig);
  s3l_caller_t* raw = start();
  s3l_caller_send(raw, GET("/1") GET("/") GET("/hold") GET("/4"));
  s3l_caller_send(raw, GET("/5"));
  s3l_server_rig_wait_held(&rig, 1);
  s3l_caller_expect(raw, "hello");
  for (int i = 0; i < 5; i++)
    (void)uv_run(&rig.loop, UV_RUN_NOWAIT);
  assert_int_equal(rig.requests, 3);
  s3l_caller_forget(raw);
  s3l_server_rig_answer(&rig, "at last");
  s3l_caller_expect(raw, "at last");
  s3l_server_rig_wait(&rig, &rig.requests, 5);
  assert_string_equal(rig.path, "/5");
  s3l_caller_talk(raw, GET("/"), "hello", false);
  end(raw);
}

static void test_many_pipelined(void** state) {
  enum { COUNT = 1000 };
  static const char one[] = GET("/");
  char* bytes = malloc(COUNT * sizeof(one));
  size_t n = 0;
  assert_non_null(bytes);
  for (int i = 0; i < COUNT; i++, n += sizeof(one) - 1)
    memcpy(bytes + n, one, sizeof(one));
  s3l_server_rig_init(&rig);
  s3l_caller_t* raw = start();
  s3l_caller_send_bytes(raw, bytes, n);
  s3l_server_rig_wait(&rig, &rig.requests, COUNT);
  s3l_caller_talk(raw, GET("/end"), "404 Not Found", false);
  end(raw);
  free(bytes);
}

/* ---- held exchanges ---- */

static void test_held_answered(void** state) {
  s3l_server_rig_init(&rig);
  s3l_caller_t* raw = start();
  for (int i = 0; i < 3; i++) {
    s3l_caller_send(raw, GET("/hold"));
    s3l_server_rig_wait_held(&rig, 1);
    assert_int_equal(s3l_server_rig_stats(&rig).held, 1);
    s3l_server_rig_answer(&rig, i == 1 ? "" : "later");
    s3l_caller_expect(raw, i == 1 ? "Content-Length: 0\r\n\r\n" : "later");
    s3l_caller_forget(raw);
    assert_int_equal(s3l_server_rig_stats(&rig).held, 0);
  }
  assert_int_equal(rig.gone, 0);
  end(raw);
}

static void test_held_gone(void** state) {
  for (int way = 0; way < 3; way++) {
    s3l_server_rig_init(&rig);
    s3l_caller_t* raw = start();
    s3l_caller_send(raw, GET("/hold"));
    s3l_server_rig_wait_held(&rig, 1);
    if (way == 0)
      s3l_caller_close(raw);
    else if (way == 1)
      s3l_caller_reset(raw);
    else
      s3l_stream_shutdown(&raw->stream);
    s3l_server_rig_wait(&rig, &rig.gone, 1);
    s3l_server_rig_wait_connections(&rig, 0);
    assert_int_equal(s3l_server_rig_stats(&rig).gone, 1);
    assert_int_equal(s3l_server_rig_stats(&rig).held, 0);
    end(raw);
    assert_int_equal(rig.gone, 1);
  }
}

/* A client that says at once that it will send no more is answered; but nothing is held for it. */
static void test_half_closed(void** state) {
  for (int hold = 0; hold <= 1; hold++) {
    s3l_server_rig_init(&rig);
    s3l_caller_t* raw = start();
    s3l_caller_send(raw, hold ? GET("/hold") : GET("/"));
    s3l_stream_shutdown(&raw->stream);
    if (hold)
      s3l_server_rig_wait(&rig, &rig.gone, 1);
    else
      s3l_caller_expect(raw, "hello");
    s3l_caller_expect_end(raw);
    assert_int_equal(rig.requests, 1);
    end(raw);
  }
}

static void test_max_held(void** state) {
  s3l_caller_t* raws[3];
  s3l_server_rig_init(&rig);
  rig.options.max_held = 2;
  s3l_server_rig_start(&rig);
  for (int i = 0; i < 3; i++) {
    raws[i] = s3l_caller_new(&rig, NULL);
    s3l_caller_open(raws[i]);
    s3l_caller_send(raws[i], GET("/hold"));
    if (i < 2)
      s3l_server_rig_wait_held(&rig, (size_t)i + 1);
    else
      s3l_caller_expect(raws[i], "HTTP/1.1 503 ");
  }
  s3l_server_rig_answer(&rig, "one");
  s3l_caller_expect(raws[0], "one");
  s3l_caller_send(raws[2], GET("/hold")); /* there is a place again */
  s3l_server_rig_wait_held(&rig, 2);
  for (int i = 0; i < 3; i++)
    s3l_caller_free(raws[i]);
  s3l_server_rig_wait(&rig, &rig.gone, 2);
  s3l_server_rig_end(&rig);
}

/* ---- closing ---- */

static void test_close_while_held(void** state) {
  s3l_server_rig_init(&rig);
  s3l_caller_t* raw = start();
  s3l_caller_send(raw, GET("/hold"));
  s3l_server_rig_wait_held(&rig, 1);
  s3l_server_rig_close(&rig, 0);
  assert_int_equal(rig.gone, 0);
  s3l_server_rig_wait(&rig, &rig.closed, 1);
  assert_int_equal(rig.gone, 1);
  s3l_caller_expect_end(raw);
  end(raw);
}

/* Within the grace the owner answers, and the client reads it; what is idle is closed at once. */
static void test_close_gracefully(void** state) {
  s3l_server_rig_init(&rig);
  s3l_caller_t* raw = start();
  s3l_caller_t* idle = s3l_caller_new(&rig, NULL);
  s3l_caller_t* half = s3l_caller_new(&rig, NULL);
  s3l_caller_open(idle);
  s3l_caller_talk(idle, GET("/"), "hello", false);
  s3l_caller_open(half);
  s3l_caller_send(half, "GET / HT");
  s3l_caller_send(raw, GET("/hold"));
  s3l_server_rig_wait_held(&rig, 1);
  s3l_server_rig_close(&rig, S3L_WAIT_MS);
  s3l_caller_expect_end(idle);
  s3l_caller_expect_end(half);
  assert_int_equal(rig.closed, 0);
  s3l_server_rig_answer(&rig, "good-bye");
  s3l_caller_expect(raw, "good-bye");
  assert_non_null(strstr(raw->text, "Connection: close\r\n"));
  s3l_caller_expect_end(raw);
  s3l_caller_free(idle);
  s3l_caller_free(half);
  s3l_caller_free(raw);
  s3l_server_rig_wait(&rig, &rig.closed, 1);
  assert_int_equal(rig.gone, 0);
  s3l_server_rig_end(&rig);
}

/* The grace ends before the owner answers, and before a slow client has read its answer. */
static void test_close_after_grace(void** state) {
  s3l_server_rig_init(&rig);
  s3l_caller_t* raw = start();
  s3l_caller_t* slow = s3l_caller_new(&rig, NULL);
  slow->deaf = true;
  s3l_caller_open(slow);
  s3l_caller_send(slow, GET("/big"));
  s3l_caller_send(raw, GET("/hold"));
  s3l_server_rig_wait_held(&rig, 1);
  s3l_server_rig_wait(&rig, &rig.requests, 2);
  s3l_server_rig_close(&rig, 50);
  s3l_server_rig_wait(&rig, &rig.closed, 1);
  assert_int_equal(rig.gone, 1);
  s3l_caller_free(slow);
  end(raw);
}

static void close_in_request(s3l_server_rig_t* r, s3l_http_exchange_t* ex) {
  s3l_server_rig_close(r, S3L_WAIT_MS);
}

/* From within on_request: that request is answered, a queued one is told 503, none is shown. */
static void test_close_in_request(void** state) {
  s3l_server_rig_init(&rig);
  s3l_caller_t* raw = start();
  rig.before = close_in_request;
  s3l_caller_send(raw, GET("/") GET("/2"));
  s3l_caller_expect(raw, "hello");
  s3l_caller_expect_end(raw);
  assert_non_null(strstr(raw->text, "Connection: close\r\n"));
  assert_int_equal(rig.requests, 1);
  end(raw);
}

static void test_bad_options(void** state) {
  static const struct {
    const char* listen;
    uint32_t max_header_bytes;
    int rc;
    const char* why;
  } cases[] = {
      {"localhost", 0, S3LECT_EOPTION, "listen \"localhost\": must be ADDRESS:PORT"},
      {"example.com:80", 0, S3LECT_EOPTION, "names are not looked up"},
      {NULL, 0, S3LECT_EOPTION, "listen \"\": must be"},
      {"127.0.0.1:0", 100, S3LECT_EOPTION, "max_header_bytes: 100; it must be from 256 to 1048576"},
      {"192.0.2.1:0", 0, UV_EADDRNOTAVAIL, "listen \"192.0.2.1:0\": address not available"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    s3l_http_server_t* server = NULL;
    s3lect_error_t error = {0};
    s3l_server_rig_init(&rig);
    rig.options.listen = cases[i].listen;
    rig.options.max_header_bytes = cases[i].max_header_bytes;
    rig.options.error = &error;
    int rc = s3l_http_server_create(&rig.loop, &rig.options, &server);
    if (rc != cases[i].rc || strstr(error.text, cases[i].why) == NULL)
      fail_msg("%d: %s", rc, error.text);
    assert_null(server);
    s3l_wait_loop_end(&rig.loop);
    free(rig.big);
  }
}

/* In the background nothing of a server keeps the loop: not listening, not a connection that is
 * idle, nor one that is held; its end does. */
static void test_background(void** state) {
  s3l_server_rig_init(&rig);
  rig.options.background = true;
  s3l_server_rig_start(&rig);
  assert_false(uv_loop_alive(&rig.loop));
  s3l_caller_t* idle = s3l_caller_new(&rig, NULL);
  s3l_caller_t* held = s3l_caller_new(&rig, NULL);
  s3l_caller_open(idle);
  s3l_caller_talk(idle, GET("/"), "\r\n\r\nhello", false);
  s3l_caller_open(held);
  s3l_caller_send(held, GET("/hold"));
  s3l_server_rig_wait_held(&rig, 1);
  assert_true(uv_loop_alive(&rig.loop)); /* for the callers */
  s3l_stream_ref(&idle->stream, false);
  s3l_stream_ref(&held->stream, false);
  assert_int_equal(uv_run(&rig.loop, UV_RUN_DEFAULT), 0); /* returns, with both still there */
  assert_int_equal(s3l_server_rig_stats(&rig).connections, 2);
  s3l_server_rig_close(&rig, 0);
  assert_int_equal(uv_run(&rig.loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(rig.closed, 1);
  s3l_caller_free(idle);
  s3l_caller_free(held);
  s3l_server_rig_end(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_answers),
      cmocka_unit_test(test_keep_alive),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_oversized),
      cmocka_unit_test(test_split),
      cmocka_unit_test(test_pipelined),
      cmocka_unit_test(test_many_pipelined),
      cmocka_unit_test(test_held_answered),
      cmocka_unit_test(test_held_gone),
      cmocka_unit_test(test_half_closed),
      cmocka_unit_test(test_max_held),
      cmocka_unit_test(test_close_while_held),
      cmocka_unit_test(test_close_gracefully),
      cmocka_unit_test(test_close_after_grace),
      cmocka_unit_test(test_close_in_request),
      cmocka_unit_test(test_bad_options),
      cmocka_unit_test(test_background),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
