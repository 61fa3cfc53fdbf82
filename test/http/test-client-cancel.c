/* Cancel and close in every phase of a request, from outside and from inside callbacks. */
#include <string.h>

#include "lib/http_rig.h"
#include "lib/hung_port.h"
#include "lib/test.h"

typedef enum { CANCEL, CLOSE } act_t;

/* Where in the life of a request the act comes. */
typedef enum {
  AT_ONCE,    /* in the same breath as submit */
  IN_COMPOSE, /* inside the compose callback */
  WAITING,    /* when the server has the request */
  IN_BODY     /* when a part of the reply is there */
} phase_t;

static struct {
  act_t act;
  s3l_rig_req_t* req;
} plan;

static void do_act(s3l_rig_t* rig) {
  if (plan.act == CANCEL)
    s3l_rig_cancel(plan.req);
  else if (rig->client != NULL)
    s3l_rig_close_client(rig);
}

static void act_in_compose(s3l_rig_req_t* r) {
  do_act(r->rig);
}

static void act_in_server(s3l_script_server_t* server) {
  do_act(server->data);
}

static const s3l_step_t plain[] = {S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK), S3L_SCRIPT_END};
static const s3l_step_t waiting[] = {S3L_EXPECT("\r\n\r\n"), S3L_CALL, S3L_SEND(S3L_RIG_OK),
                                     S3L_SCRIPT_END};
/* One byte per turn, so that the client has read a part when the call comes. */
static const s3l_step_t in_body[] = {
    S3L_EXPECT("\r\n\r\n"), S3L_SPLIT("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart", 1),
    S3L_CALL, S3L_SEND("whole"), S3L_SCRIPT_END};

static void run(phase_t phase, act_t act) {
  s3l_rig_t rig;
  s3l_rig_req_t r = {0};
  s3l_rig_req_t after = {0};
  const s3l_step_t* script = phase == WAITING ? waiting : phase == IN_BODY ? in_body : plain;
  bool may_be_sent = phase >= WAITING;
  s3l_rig_init(&rig, S3L_SCRIPTS(script, plain), 2);
  rig.server.on_call = act_in_server;
  plan.act = act;
  plan.req = &r;
  if (phase == IN_COMPOSE)
    r.in_compose = act_in_compose;
  s3l_rig_start(&rig);
  s3l_rig_submit(&rig, &r);
  if (phase == AT_ONCE)
    do_act(&rig);
  assert_int_equal(r.done, 0);
  s3l_rig_wait(&rig, &r);
  if (act == CANCEL) {  /* the client is as good as before */
    s3l_rig_cancel(&r); /* no-op */
    s3l_rig_do(&rig, &after);
    assert_int_equal(after.status, 0);
  }
  s3l_rig_end(&rig);
  assert_int_equal(r.done, 1);
  assert_int_equal(r.sent, may_be_sent);
  assert_int_equal(r.status, UV_ECANCELED);
}

static void test_cancel(void** state) {
  for (int phase = AT_ONCE; phase <= IN_BODY; phase++)
    run((phase_t)phase, CANCEL);
}

static void test_close(void** state) {
  run(AT_ONCE, CLOSE);
  run(WAITING, CLOSE);
  run(IN_BODY, CLOSE);
}

/* While the connect hangs. */
static void test_dialing(void** state) {
  s3l_hung_port_t hung;
  s3l_hung_port_open(&hung, "127.0.0.1", 0);
  for (int act = CANCEL; act <= CLOSE; act++) {
    s3l_rig_t rig;
    s3l_rig_req_t r = {0};
    s3l_rig_init(&rig, NULL, 0);
    rig.options.port = hung.port;
    s3l_rig_start(&rig);
    s3l_rig_submit(&rig, &r);
    for (int i = 0; i < 5; i++)
      (void)uv_run(&rig.loop, UV_RUN_NOWAIT);
    assert_int_equal(r.done, 0);
    plan.act = (act_t)act;
    plan.req = &r;
    do_act(&rig);
    assert_int_equal(r.done, 0);
    s3l_rig_wait(&rig, &r);
    s3l_rig_end(&rig);
    assert_int_equal(r.done, 1);
    assert_int_equal(r.status, UV_ECANCELED);
    assert_int_equal(r.sent, false);
  }
  s3l_hung_port_close(&hung);
}

/* Compose goes on after it has closed the client: the request is on its way, and is then cancelled.
 */
static void test_close_in_compose(void** state) {
  s3l_rig_t rig;
  s3l_rig_req_t r = {.in_compose = act_in_compose};
  s3l_rig_init(&rig, S3L_SCRIPTS(plain), 1);
  plan.act = CLOSE;
  s3l_rig_start(&rig);
  s3l_rig_submit(&rig, &r);
  s3l_rig_wait(&rig, &r);
  s3l_rig_end(&rig);
  assert_int_equal(r.done, 1);
  assert_int_equal(r.sent, true);
  assert_int_equal(r.status, UV_ECANCELED);
}

static void close_in_done(s3l_rig_req_t* r) {
  s3l_rig_close_client(r->rig);
}

/* Others wait in the queue, are on connections, or are being cancelled, when done closes the
 * client. */
static void test_close_in_done(void** state) {
  s3l_rig_t rig;
  s3l_rig_req_t r[4];
  for (int ending = 0; ending <= 1; ending++) {
    memset(r, 0, sizeof(r));
    s3l_rig_init(&rig, S3L_SCRIPTS(plain, S3L_SCRIPT(S3L_EXPECT("never"))), 2);
    rig.options.max_connections = 2;
    r[0].then = close_in_done;
    s3l_rig_start(&rig);
    for (int i = 0; i < 4; i++)
      s3l_rig_submit(&rig, &r[i]);
    if (ending) {
      s3l_rig_cancel(&r[0]);
      s3l_rig_cancel(&r[3]);
    }
    for (int i = 0; i < 4; i++)
      s3l_rig_wait(&rig, &r[i]);
    s3l_rig_end(&rig);
    for (int i = 0; i < 4; i++) {
      assert_int_equal(r[i].done, 1);
      if (i > 0 || ending)
        assert_int_equal(r[i].status, UV_ECANCELED);
    }
  }
}

/* After close nothing can be submitted, from callbacks neither. */
static void submit_in_done(s3l_rig_req_t* r) {
  s3l_http_req_t late = r->req;
  assert_int_equal(s3l_http_client_submit(r->req.client, &late), UV_ECANCELED);
}

static void test_submit_while_closing(void** state) {
  s3l_rig_t rig;
  s3l_rig_req_t r = {.then = submit_in_done};
  s3l_rig_init(&rig, S3L_SCRIPTS(plain), 1);
  s3l_rig_start(&rig);
  s3l_rig_submit(&rig, &r);
  s3l_http_client_t* client = rig.client;
  s3l_rig_close_client(&rig);
  s3l_http_req_t late = r.req;
  assert_int_equal(s3l_http_client_submit(client, &late), UV_ECANCELED);
  s3l_rig_wait(&rig, &r);
  s3l_rig_end(&rig);
  assert_int_equal(r.status, UV_ECANCELED);
  assert_int_equal(r.sent, false);
}

static s3l_rig_req_t* others[3];

static void cancel_others(s3l_rig_req_t* r) {
  for (size_t i = 0; i < 3; i++)
    s3l_rig_cancel(others[i]); /* one of them is r itself: over, so a no-op */
}

/* done cancels requests that are queued, under way, and its own. */
static void test_cancel_in_done(void** state) {
  s3l_rig_t rig;
  s3l_rig_req_t r[3];
  memset(r, 0, sizeof(r));
  s3l_rig_init(&rig, S3L_SCRIPTS(plain, S3L_SCRIPT(S3L_EXPECT("never"))), 2);
  rig.options.max_connections = 2;
  s3l_rig_start(&rig);
  for (size_t i = 0; i < 3; i++) {
    others[i] = &r[i];
    r[i].then = cancel_others;
    s3l_rig_submit(&rig, &r[i]);
  }
  for (int i = 0; i < 3; i++)
    s3l_rig_wait(&rig, &r[i]);
  s3l_rig_end(&rig);
  assert_int_equal(r[0].status, 0);
  for (int i = 0; i < 3; i++)
    assert_int_equal(r[i].done, 1);
  assert_int_equal(r[1].status, UV_ECANCELED);
  assert_int_equal(r[2].status, UV_ECANCELED);
}

static void test_close_unused(void** state) {
  s3l_rig_t rig;
  s3l_rig_init(&rig, NULL, 0);
  rig.options.port = 9;
  s3l_rig_start(&rig);
  s3l_rig_end(&rig);
}

/* A look-up cannot be stopped; the client does not wait for it. */
static void test_close_in_lookup(void** state) {
  s3l_rig_t rig;
  s3l_rig_req_t r = {0};
  s3l_rig_init(&rig, NULL, 0);
  rig.options.host = "no-such-host.invalid";
  rig.options.port = 9;
  s3l_rig_start(&rig);
  s3l_rig_submit(&rig, &r);
  (void)uv_run(&rig.loop, UV_RUN_NOWAIT);
  s3l_rig_end(&rig);
  assert_int_equal(r.done, 1);
  assert_int_equal(r.sent, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cancel),
      cmocka_unit_test(test_close),
      cmocka_unit_test(test_dialing),
      cmocka_unit_test(test_close_in_compose),
      cmocka_unit_test(test_close_in_done),
      cmocka_unit_test(test_cancel_in_done),
      cmocka_unit_test(test_submit_while_closing),
      cmocka_unit_test(test_close_unused),
      cmocka_unit_test(test_close_in_lookup),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
