/* Two streams over a loopback connection, plain and under TLS: writes that the kernel does not take
 * at once, closing in the middle of them, pauses, and an end in one direction. */
#include <stdlib.h>
#include <string.h>

#include "lib/group_certs.h"
#include "lib/test.h"
#include "lib/tls_files.h"
#include "lib/wait.h"
#include "net/dial.h"
#include "net/stream.h"
#include "net/tcp.h"
#include "s3lect/errno.h"
#include "util/list.h"

#define BIG (8u << 20) /* more than the kernel buffers */

typedef struct side_s {
  s3l_stream_t stream;
  s3l_tls_context_t* tls;
  size_t received;
  uint32_t sum; /* of the bytes received, order included */
  unsigned ready;
  unsigned written;
  unsigned ended;
  unsigned closed;
  int status;   /* of written or ended */
  bool pausing; /* pauses itself in on_read */
} side_t;

static uv_loop_t loop;
static uv_tcp_t listener;
static s3l_loop_t* runtime;
static s3l_dial_t dial;
static side_t* client;
static side_t* server;
static char* data;
static char read_buf[S3L_STREAM_READ_MAX]; /* one for both */

static uint32_t add(uint32_t sum, const char* p, size_t n) {
  for (size_t i = 0; i < n; i++)
    sum = sum * 31 + (unsigned char)p[i];
  return sum;
}

static void on_ready(s3l_stream_t* s) {
  S3L_CONTAINER_OF(s, side_t, stream)->ready++;
}

static void on_read(s3l_stream_t* s, const char* p, size_t n) {
  side_t* side = S3L_CONTAINER_OF(s, side_t, stream);
  side->received += n;
  side->sum = add(side->sum, p, n);
  if (side->pausing)
    s3l_stream_pause(s);
}

static void on_end(s3l_stream_t* s, int status) {
  side_t* side = S3L_CONTAINER_OF(s, side_t, stream);
  side->ended++;
  side->status = status;
}

static void on_written(s3l_stream_t* s, int status) {
  side_t* side = S3L_CONTAINER_OF(s, side_t, stream);
  side->written++;
  side->status = status;
}

static void on_closed(s3l_stream_t* s) {
  S3L_CONTAINER_OF(s, side_t, stream)->closed++;
}

static void open_side(side_t* side, uv_tcp_t* tcp, const char* host) {
  side->stream.loop = runtime;
  side->stream.read_buf = read_buf;
  side->stream.on_ready = on_ready;
  side->stream.on_read = on_read;
  side->stream.on_end = on_end;
  side->stream.on_written = on_written;
  side->stream.on_closed = on_closed;
  assert_int_equal(s3l_stream_open(&side->stream, tcp, side->tls, host), 0);
  if (side->tls == NULL)
    side->ready++;
}

static void on_connection(uv_stream_t* l, int status) {
  uv_tcp_t* tcp = s3l_tcp_new(&loop);
  assert_int_equal(status, 0);
  assert_non_null(tcp);
  assert_int_equal(uv_accept(l, (uv_stream_t*)tcp), 0);
  open_side(server, tcp, NULL);
}

static void on_dialed(s3l_dial_t* d, int status, uv_tcp_t* tcp) {
  assert_int_equal(status, 0);
  open_side(client, tcp, client->tls != NULL ? "localhost" : NULL);
}

static void wait_for(const unsigned* counter) {
  while (*counter == 0)
    assert_true(s3l_turn(&loop) != 0 || *counter != 0);
}

static void connect_both(bool tls) {
  s3l_address_t a;
  int len = sizeof(a);
  client = calloc(1, sizeof(*client));
  server = calloc(1, sizeof(*server));
  data = malloc(BIG);
  assert_non_null(client);
  assert_non_null(server);
  assert_non_null(data);
  for (size_t i = 0; i < BIG; i++)
    data[i] = (char)(i * 2654435761u >> 24);
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(s3l_loop_join(&loop, &runtime), 0);
  if (tls) {
    assert_int_equal(s3l_tls_context_client(certs.ca, &client->tls, NULL), 0);
    assert_int_equal(s3l_tls_context_server(certs.good, certs.key, &server->tls, NULL), 0);
  }
  assert_true(s3l_address_parse("127.0.0.1", 0, &a));
  assert_int_equal(uv_tcp_init(&loop, &listener), 0);
  assert_int_equal(uv_tcp_bind(&listener, &a.sa, 0), 0);
  assert_int_equal(uv_listen((uv_stream_t*)&listener, 1, on_connection), 0);
  assert_int_equal(uv_tcp_getsockname(&listener, &a.sa, &len), 0);
  s3l_dial_start_addresses(&dial, runtime, &a, 1, on_dialed);
  wait_for(&client->ready);
  wait_for(&server->ready);
}

static void finish(void) {
  s3l_stream_close(&client->stream);
  s3l_stream_close(&client->stream); /* no-op */
  s3l_stream_close(&server->stream);
  uv_close((uv_handle_t*)&listener, NULL);
  s3l_loop_leave(runtime, NULL);
  uv_run(&loop, UV_RUN_DEFAULT);
  assert_int_equal(client->closed, 1);
  assert_int_equal(server->closed, 1);
  assert_int_equal(uv_loop_close(&loop), 0);
  s3l_tls_context_free(client->tls);
  s3l_tls_context_free(server->tls);
  free(client);
  free(server);
  free(data);
}

static void test_big_write(void** state) {
  for (int tls = 0; tls <= 1; tls++) {
    bool handed;
    connect_both(tls);
    assert_int_equal(s3l_stream_write(&client->stream, data, BIG, &handed), S3L_STREAM_PENDING);
    assert_true(handed);
    assert_int_equal(client->written, 0);
    wait_for(&client->written);
    assert_int_equal(client->status, 0);
    while (server->received < BIG)
      s3l_turn(&loop);
    assert_int_equal(server->received, BIG);
    assert_int_equal(server->sum, add(0, data, BIG));
    /* and a small one after it, the other way */
    assert_int_equal(s3l_stream_write(&server->stream, data, 10, &handed), S3L_STREAM_WRITTEN);
    while (client->received < 10)
      s3l_turn(&loop);
    assert_int_equal(client->written, 1);
    finish();
  }
}

/* No callback but on_closed comes after close, the write's neither. */
static void test_close_in_write(void** state) {
  for (int tls = 0; tls <= 1; tls++) {
    bool handed;
    connect_both(tls);
    assert_int_equal(s3l_stream_write(&client->stream, data, BIG, &handed), S3L_STREAM_PENDING);
    s3l_stream_close(&client->stream);
    wait_for(&server->ended);
    assert_true(server->received < BIG);
    if (tls) /* cut off in a record: never taken for an end in good order */
      assert_int_equal(server->status, S3LECT_ETLS);
    assert_int_equal(client->written, 0);
    assert_int_equal(client->ended, 0);
    finish();
  }
}

/* A close in good order reaches the other side as one. */
static void test_end(void** state) {
  for (int tls = 0; tls <= 1; tls++) {
    connect_both(tls);
    s3l_stream_close(&client->stream);
    wait_for(&server->ended);
    assert_int_equal(server->status, UV_EOF);
    assert_int_equal(server->ended, 1);
    finish();
  }
}

/* Writing to a peer that has gone gives an error, and no signal. */
static void test_peer_gone(void** state) {
  for (int tls = 0; tls <= 1; tls++) {
    bool handed = true;
    int rc = S3L_STREAM_WRITTEN;
    connect_both(tls);
    s3l_stream_close(&server->stream);
    wait_for(&client->ended);
    for (int i = 0; i < 100 && rc == S3L_STREAM_WRITTEN; i++) { /* the first meets a reset */
      rc = s3l_stream_write(&client->stream, data, 10, &handed);
      uv_run(&loop, UV_RUN_NOWAIT);
    }
    assert_true(rc == UV_EPIPE || rc == UV_ECONNRESET);
    assert_false(handed);
    finish();
  }
}

/* The same where a part of the write still waits: the peer ends its side, and then resets. */
static void test_peer_gone_in_write(void** state) {
  for (int tls = 0; tls <= 1; tls++) {
    bool handed;
    connect_both(tls);
    s3l_stream_pause(&server->stream);
    assert_int_equal(s3l_stream_write(&client->stream, data, BIG, &handed), S3L_STREAM_PENDING);
    s3l_stream_shutdown(&server->stream);
    wait_for(&client->ended);
    assert_int_equal(client->status, UV_EOF);
    s3l_stream_close(&server->stream);
    wait_for(&client->written);
    assert_true(client->status == UV_EPIPE || client->status == UV_ECONNRESET);
    finish();
  }
}

/* One piece for each resume, and all of them in the end. */
static void test_pause(void** state) {
  for (int tls = 0; tls <= 1; tls++) {
    bool handed;
    connect_both(tls);
    server->pausing = true;
    assert_int_equal(s3l_stream_write(&client->stream, data, BIG, &handed), S3L_STREAM_PENDING);
    while (server->received < BIG) {
      size_t before = server->received;
      s3l_stream_resume(&server->stream);
      uv_run(&loop, UV_RUN_NOWAIT);
      assert_true(server->received - before <= S3L_STREAM_READ_MAX);
    }
    assert_int_equal(server->sum, add(0, data, BIG));
    s3l_stream_close(&client->stream); /* the end waits, too */
    wait_for(&client->closed);
    assert_int_equal(server->ended, 0);
    s3l_stream_resume(&server->stream);
    wait_for(&server->ended);
    assert_int_equal(server->status, UV_EOF);
    s3l_stream_resume(&server->stream); /* no-op */
    finish();
  }
}

/* One side is done, the other goes on. */
static void test_shutdown(void** state) {
  for (int tls = 0; tls <= 1; tls++) {
    bool handed;
    connect_both(tls);
    assert_int_equal(s3l_stream_write(&client->stream, data, 10, &handed), S3L_STREAM_WRITTEN);
    s3l_stream_shutdown(&client->stream);
    wait_for(&server->ended);
    assert_int_equal(server->status, UV_EOF);
    assert_int_equal(server->received, 10);
    assert_int_equal(s3l_stream_write(&server->stream, data, 20, &handed), S3L_STREAM_WRITTEN);
    s3l_stream_shutdown(&server->stream);
    wait_for(&client->ended);
    assert_int_equal(client->status, UV_EOF);
    assert_int_equal(client->received, 20);
    finish();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_big_write),
      cmocka_unit_test(test_close_in_write),
      cmocka_unit_test(test_end),
      cmocka_unit_test(test_peer_gone),
      cmocka_unit_test(test_peer_gone_in_write),
      cmocka_unit_test(test_pause),
      cmocka_unit_test(test_shutdown),
  };
  return cmocka_run_group_tests(tests, s3l_make_certs, s3l_remove_certs);
}
