/* The HTTP client moved to another origin: what waits goes to the new one, what is out is answered
 * by the old one, and nothing of the old one is used for the new. */
#include <string.h>

#include "lib/group_certs.h"
#include "lib/http_rig.h"
#include "lib/test.h"
#include "lib/tls_files.h"

static s3l_rig_t rig;
static s3l_script_server_t other;

static const s3l_step_t answering[] = {S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK),
                                       S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK),
                                       S3L_SCRIPT_END};
static const s3l_step_t calling[] = {S3L_EXPECT("\r\n\r\n"), S3L_CALL, S3L_SEND(S3L_RIG_OK),
                                     S3L_SCRIPT_END};
static const s3l_step_t silent[] = {S3L_SCRIPT_END};
static const s3l_step_t* const answers[] = {answering};

static void start(const s3l_step_t* const* script) {
  s3l_rig_init(&rig, script, 1);
  rig.options.max_connections = 1;
  other = (s3l_script_server_t){.scripts = answers, .scripts_len = 1};
  s3l_script_server_start(&other, &rig.loop);
  s3l_rig_start(&rig);
}

static void end(void) {
  s3l_script_server_close(&other);
  s3l_rig_end(&rig);
}

static void set_origin(void) {
  assert_int_equal(s3l_http_client_set_origin(rig.client, "127.0.0.1", other.port, NULL), 0);
}

static void assert_ok(const s3l_rig_req_t* r) {
  if (r->status != 0)
    fail_msg("status %d: %s", r->status, r->message);
  assert_int_equal(r->http_status, 200);
}

static void moves_between_requests(void** state) {
  s3l_rig_req_t r[3];
  memset(r, 0, sizeof(r));
  start(answers);
  s3l_rig_do(&rig, &r[0]);
  assert_int_equal(s3l_http_client_set_origin(rig.client, "", 1, NULL), UV_EINVAL); /* no change */
  s3l_rig_do(&rig, &r[1]);
  assert_int_equal(rig.server.accepted, 1);
  set_origin();
  s3l_rig_do(&rig, &r[2]);
  for (int i = 0; i < 3; i++)
    assert_ok(&r[i]);
  assert_int_equal(rig.server.accepted, 1);
  assert_int_equal(other.accepted, 1);
  end();
}

static void on_call(s3l_script_server_t* server) {
  set_origin();
}

/* The reply still comes, and the connection that it came on carries nothing else. */
static void moves_with_a_request_out(void** state) {
  const s3l_step_t* const script[] = {calling};
  s3l_rig_req_t r[2];
  memset(r, 0, sizeof(r));
  start(script);
  rig.server.on_call = on_call;
  s3l_rig_submit(&rig, &r[0]);
  s3l_rig_wait(&rig, &r[0]);
  s3l_rig_do(&rig, &r[1]);
  assert_ok(&r[0]);
  assert_ok(&r[1]);
  assert_int_equal(rig.server.accepted, 1);
  assert_int_equal(other.accepted, 1);
  s3l_rig_wait_for(&rig, &rig.server.ended, 1);
  end();
}

static void then_aim(s3l_rig_req_t* r) {
  set_origin();
  s3l_rig_submit(&rig, (s3l_rig_req_t*)rig.server.data);
}

/* From inside done, with one more that waits for a connection: both go to the new origin. */
static void moves_in_a_callback(void** state) {
  s3l_rig_req_t r[3];
  memset(r, 0, sizeof(r));
  start(answers);
  rig.server.data = &r[2];
  r[0].then = then_aim;
  s3l_rig_submit(&rig, &r[0]);
  s3l_rig_submit(&rig, &r[1]);
  s3l_rig_wait(&rig, &r[1]);
  s3l_rig_wait(&rig, &r[2]);
  for (int i = 0; i < 3; i++)
    assert_ok(&r[i]);
  assert_int_equal(rig.server.accepted, 1);
  assert_int_equal(other.accepted, 1);
  end();
}

/* Who waits for a connection that does not come is not lost with it. */
static void moves_while_it_connects(void** state) {
  const s3l_step_t* const script[] = {silent};
  s3l_rig_req_t r;
  memset(&r, 0, sizeof(r));
  s3l_rig_init(&rig, script, 1);
  rig.options.tls = true; /* the handshake stays without an answer */
  rig.options.ca_file = certs.ca;
  other = (s3l_script_server_t){.scripts = answers, .scripts_len = 1};
  assert_int_equal(s3l_tls_context_server(certs.good, certs.key, &other.tls, NULL), 0);
  s3l_script_server_start(&other, &rig.loop);
  s3l_rig_start(&rig);
  s3l_rig_submit(&rig, &r);
  s3l_rig_wait_for(&rig, &rig.server.accepted, 1);
  set_origin();
  s3l_rig_wait(&rig, &r);
  assert_ok(&r);
  assert_int_equal(other.accepted, 1);
  s3l_tls_context_t* tls = other.tls;
  end();
  s3l_tls_context_free(tls);
}

static void in_compose(s3l_rig_req_t* r) {
  assert_int_equal(s3l_http_client_set_origin(rig.client, "localhost", rig.server.port, NULL), 0);
}

/* One connection from its beginning to its end. */
static void do_alone(s3l_rig_req_t* r) {
  s3l_rig_do(&rig, r);
  s3l_rig_wait_alone(&rig);
}

/* A session of the old host's, even one that is handed out after the move, is never offered to the
 * new one: resumption would skip the look at its certificate. */
static void forgets_sessions(void** state) {
  s3l_rig_req_t r[4];
  memset(r, 0, sizeof(r));
  const s3l_step_t* const script[] = {
      S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK), S3L_CLOSE)};
  s3l_rig_init(&rig, script, 1);
  rig.options.tls = true;
  rig.options.ca_file = certs.ca;
  assert_int_equal(s3l_tls_context_server(certs.good, certs.key, &rig.server.tls, NULL), 0);
  s3l_rig_start(&rig);
  do_alone(&r[0]);
  do_alone(&r[1]);
  assert_int_equal(rig.server.resumed, 1); /* as long as it stays */
  r[2].in_compose = in_compose;            /* its tickets come after that */
  do_alone(&r[2]);
  assert_int_equal(rig.server.resumed, 2);
  do_alone(&r[3]);
  assert_int_equal(rig.server.resumed, 2);
  for (int i = 0; i < 4; i++)
    assert_ok(&r[i]);
  s3l_tls_context_t* tls = rig.server.tls;
  s3l_rig_end(&rig);
  s3l_tls_context_free(tls);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(moves_between_requests), cmocka_unit_test(moves_with_a_request_out),
      cmocka_unit_test(moves_in_a_callback),    cmocka_unit_test(moves_while_it_connects),
      cmocka_unit_test(forgets_sessions),
  };
  return cmocka_run_group_tests(tests, s3l_make_certs, s3l_remove_certs);
}
