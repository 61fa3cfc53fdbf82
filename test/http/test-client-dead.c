/* A connection that died while it was idle, as when a server or a NAT gateway ends what it has not
 * seen used for a while: the client finds it dead before it sends on it, so that no write is lost
 * there. The client's loop would learn of the end too, but only at its next poll. */
#include <poll.h>
#include <string.h>

#include "http/conn.h"
#include "lib/clocks.h"
#include "lib/http_rig.h"
#include "lib/test.h"

#define SECOND_NS INT64_C(1000000000)
#define WRITE     "PUT / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx"

static s3l_rig_t rig;

static const s3l_step_t* const once = S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK));

static void close_in_order(s3l_test_conn_t* conn) {
  s3l_test_conn_close(conn);
}

static void reset(s3l_test_conn_t* conn) {
  s3l_test_conn_cut(conn, true);
}

static void say_timeout(s3l_test_conn_t* conn) {
  static const char reply[] = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n";
  s3l_test_conn_send(conn, reply, sizeof(reply) - 1);
}

static s3l_list_t* idle(void) {
  return &((s3l_conn_pool_t*)rig.client)->idle;
}

/* Until the client's kernel has received what the servers' ends did. */
static void wait_for_kernel(void) {
  for (s3l_list_t* l = idle()->next; l != idle(); l = l->next) {
    s3l_conn_t* conn = S3L_CONTAINER_OF(l, s3l_conn_t, link);
    struct pollfd fd = {.fd = conn->stream.fd, .events = POLLIN};
    assert_int_equal(poll(&fd, 1, -1), 1);
  }
}

/* Two connections become idle and are ended by the server. A write that is submitted before the
 * loop polls goes on a third one. */
static void write_after(void (*end)(s3l_test_conn_t* conn)) {
  s3l_rig_req_t warm[2];
  s3l_rig_req_t write = {.text = WRITE};
  memset(warm, 0, sizeof(warm));
  s3l_rig_init(&rig, S3L_SCRIPTS(once), 1);
  rig.options.max_connections = 2;
  s3l_rig_start(&rig);
  for (int i = 0; i < 2; i++)
    s3l_rig_submit(&rig, &warm[i]);
  for (int i = 0; i < 2; i++)
    s3l_rig_wait(&rig, &warm[i]);
  assert_int_equal(rig.server.accepted, 2);
  s3l_list_t* conns = &rig.server.tcp.conns;
  for (s3l_list_t *l = conns->next, *next; l != conns; l = next) {
    next = l->next;
    end(S3L_CONTAINER_OF(l, s3l_test_conn_t, link));
  }
  wait_for_kernel();
  s3l_clocks_skip(SECOND_NS);
  s3l_rig_do(&rig, &write);
  assert_int_equal(write.status, 0);
  assert_int_equal(write.http_status, 200);
  assert_int_equal(write.composed, 1);
  assert_int_equal(rig.server.accepted, 3);
  s3l_rig_end(&rig);
}

static void test_dead_connections(void** state) {
  if (!s3l_clocks_move())
    skip();
  write_after(close_in_order);
  write_after(reset);
  write_after(say_timeout);
}

/* One that lives is used again, however long it was idle. */
static void test_living_connection(void** state) {
  s3l_rig_req_t warm = {0}, write = {.text = WRITE};
  if (!s3l_clocks_move())
    skip();
  s3l_rig_init(&rig,
               S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK),
                                      S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK))),
               1);
  s3l_rig_start(&rig);
  s3l_rig_do(&rig, &warm);
  s3l_clocks_skip(SECOND_NS);
  s3l_rig_do(&rig, &write);
  assert_int_equal(write.status, 0);
  assert_int_equal(rig.server.accepted, 1);
  s3l_rig_end(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_dead_connections),
      cmocka_unit_test(test_living_connection),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
