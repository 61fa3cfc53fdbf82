/* credentials/provider: the library's providers behind the public interface: fixed keys, and a
 * chain that is asked once for all, by requesters and by stores; closing while questions are under
 * way.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/creds_rig.h"
#include "lib/heap.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect.h"

static uv_loop_t loop;

/* ---- Questions ---- */

typedef struct question_s {
  s3lect_credentials_req_t req;
  unsigned done;
  int status;
  char access_key[64];
  char token[64];
  char message[1100];
  void (*then)(struct question_s* q);
} question_t;

static s3lect_credentials_provider_t theirs;
static unsigned theirs_closed;

static void on_credentials(s3lect_credentials_req_t* req, int status,
                           const s3lect_credentials_t* credentials, const char* message) {
  question_t* q = req->data;
  q->done++;
  q->status = status;
  assert_true((status == 0) == (credentials != NULL));
  q->access_key[0] = q->token[0] = q->message[0] = '\0';
  if (status == 0) {
    assert_int_equal(credentials->size, sizeof(*credentials));
    snprintf(q->access_key, sizeof(q->access_key), "%s", credentials->access_key_id);
    snprintf(q->token, sizeof(q->token), "%s",
             credentials->session_token != NULL ? credentials->session_token : "");
  } else if (message != NULL) {
    snprintf(q->message, sizeof(q->message), "%s", message);
  }
  if (q->then != NULL)
    q->then(q);
}

static void question(question_t* q) {
  unsigned before = q->done;
  memset(&q->req, 0, sizeof(q->req));
  q->req.data = q;
  q->req.cb = on_credentials;
  assert_int_equal(theirs.ops->get(&theirs, &q->req), 0);
  assert_int_equal(q->done, before); /* never inside */
}

static void on_theirs_closed(s3lect_credentials_provider_t* provider) {
  assert_ptr_equal(provider, &theirs);
  theirs_closed++;
}

static void begin_close(void) {
  theirs_closed = 0;
  s3lect_credentials_close(&theirs, on_theirs_closed);
  assert_int_equal(theirs_closed, 0);
}

static void close_theirs(void) {
  begin_close();
  s3l_wait_count(&loop, &theirs_closed, 1, "the provider to be closed");
  s3l_wait_loop_end(&loop);
}

static void fixed_keys_are_given_to_all(void** state) {
  question_t q[3] = {{.done = 0}};
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(s3lect_credentials_static_init(&loop, &theirs, "", "SK", NULL, NULL),
                   S3LECT_ECREDENTIALS);
  assert_int_equal(s3lect_credentials_static_init(&loop, &theirs, "AK", NULL, NULL, NULL),
                   S3LECT_ECREDENTIALS);
  assert_int_equal(s3lect_credentials_static_init(&loop, &theirs, "AK", "S K", NULL, NULL),
                   S3LECT_ECREDENTIALS);
  assert_int_equal(s3lect_credentials_static_init(&loop, &theirs, "AK", "SK", "T", NULL), 0);
  for (int i = 0; i < 3; i++)
    question(&q[i]);
  theirs.ops->cancel(&theirs, &q[1].req);
  assert_int_equal(q[1].done, 0);
  for (int i = 0; i < 3; i++)
    s3l_wait_count(&loop, &q[i].done, 1, "an answer");
  assert_string_equal(q[0].access_key, "AK");
  assert_string_equal(q[2].token, "T");
  assert_int_equal(q[1].status, UV_ECANCELED);
  theirs.ops->cancel(&theirs, &q[0].req); /* over */
  s3lect_credentials_req_t none = {.cb = NULL};
  assert_int_equal(theirs.ops->get(&theirs, &none), UV_EINVAL);
  close_theirs();
  for (int i = 0; i < 3; i++)
    assert_int_equal(q[i].done, 1);
}

static void open_fixed(void) {
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(s3lect_credentials_static_init(&loop, &theirs, "AK", "SK", NULL, NULL), 0);
}

static void ask_again(question_t* q) {
  if (q->done == 1)
    question(q);
}

static void a_request_can_be_used_again_inside(void** state) {
  question_t q = {.then = ask_again};
  open_fixed();
  question(&q);
  s3l_wait_count(&loop, &q.done, 2, "both answers");
  assert_string_equal(q.access_key, "AK");
  close_theirs();
}

static void close_inside(question_t* q) {
  begin_close();
}

static void closing_ends_questions(void** state) {
  question_t q[3] = {{.done = 0}};
  open_fixed();
  question(&q[0]);
  question(&q[1]);
  begin_close();
  memset(&q[2].req, 0, sizeof(q[2].req));
  q[2].req.cb = on_credentials;
  assert_int_equal(theirs.ops->get(&theirs, &q[2].req), UV_ECANCELED);
  s3l_wait_count(&loop, &theirs_closed, 1, "the provider to be closed");
  for (int i = 0; i < 2; i++) {
    assert_int_equal(q[i].done, 1);
    assert_int_equal(q[i].status, UV_ECANCELED);
  }
  assert_int_equal(q[2].done, 0);
  s3l_wait_loop_end(&loop);
  /* Inside an answer; those behind it are still answered. */
  memset(q, 0, sizeof(q));
  open_fixed();
  q[0].then = close_inside;
  question(&q[0]);
  question(&q[1]);
  s3l_wait_count(&loop, &theirs_closed, 1, "the provider to be closed");
  assert_int_equal(q[1].done, 1);
  s3l_wait_loop_end(&loop);
}

/* ---- A chain, and stores that share it ---- */

static s3l_creds_rig_t rig; /* for its server, files and environment; the loop is its own */

static const char object[] =
    "HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx";

#define EXPIRES_LATE                                                                               \
  "{\"AccessKeyId\":\"CK\",\"SecretAccessKey\":\"SK\",\"Token\":\"T\","                            \
  "\"Expiration\":\"2099-01-01T00:00:00Z\"}"

static void open_theirs(const s3l_step_t* const* scripts, size_t n) {
  s3l_script_server_t* server = &rig.server;
  char url[96];
  s3l_creds_rig_clear_environment();
  memset(&rig, 0, sizeof(rig));
  assert_int_equal(uv_loop_init(&loop), 0);
  *server = (s3l_script_server_t){.scripts = scripts, .scripts_len = n, .unref = true};
  s3l_script_server_start(server, &loop);
  snprintf(url, sizeof(url), "http://127.0.0.1:%u/c", (unsigned)server->port);
  setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url, 1);
  assert_int_equal(s3lect_credentials_chain_init(&loop, &theirs, NULL, NULL), 0);
}

static void a_chain_is_asked_once_for_all(void** state) {
  question_t q[3] = {{.done = 0}};
  open_theirs(S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("GET /c "), S3L_EXPECT("\r\n\r\n"),
                                     S3L_SEND(S3L_OK(EXPIRES_LATE)))),
              1);
  for (int i = 0; i < 3; i++)
    question(&q[i]);
  for (int i = 0; i < 3; i++) {
    s3l_wait_count(&loop, &q[i].done, 1, "an answer");
    assert_string_equal(q[i].access_key, "CK");
  }
  question(&q[0]);
  s3l_wait_count(&loop, &q[0].done, 2, "an answer");
  assert_string_equal(q[0].access_key, "CK");
  assert_int_equal(rig.server.accepted, 1);
  assert_int_equal(rig.server.strays, 0);
  s3l_script_server_close(&rig.server);
  close_theirs();
}

static void a_chain_tells_why_it_has_none(void** state) {
  question_t q = {.done = 0};
  open_theirs(S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"),
                                     S3L_SEND(S3L_ANSWER("403 Forbidden", "{\"code\":\"No\"}")))),
              1);
  question(&q);
  s3l_wait_count(&loop, &q.done, 1, "an answer");
  assert_int_equal(q.status, S3LECT_ECREDENTIALS);
  assert_non_null(strstr(q.message, "environment: AWS_ACCESS_KEY_ID is not set; web identity: "));
  assert_non_null(strstr(q.message, " answered 403: No"));
  s3l_script_server_close(&rig.server);
  close_theirs();
}

static void a_chain_is_closed_while_it_asks(void** state) {
  question_t q = {.done = 0};
  open_theirs(S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_DEAF)), 1);
  question(&q);
  while (rig.server.accepted == 0)
    s3l_turn(&loop);
  begin_close();
  s3l_wait_count(&loop, &theirs_closed, 1, "the provider to be closed");
  assert_int_equal(q.done, 1);
  assert_int_equal(q.status, UV_ECANCELED);
  s3l_script_server_close(&rig.server);
  s3l_wait_loop_end(&loop);
}

/* The environment's keys come in the very turn in which the provider is closed. */
static void a_chain_is_closed_as_it_answers(void** state) {
  question_t q = {.done = 0};
  s3l_creds_rig_clear_environment();
  setenv("AWS_ACCESS_KEY_ID", "AK", 1);
  setenv("AWS_SECRET_ACCESS_KEY", "SK", 1);
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(s3lect_credentials_chain_init(&loop, &theirs, NULL, NULL), 0);
  question(&q);
  begin_close();
  s3l_wait_count(&loop, &theirs_closed, 1, "the provider to be closed");
  s3l_wait_loop_end(&loop);
  assert_int_equal(q.done, 1);
  assert_int_equal(theirs_closed, 1);
}

#define STORES 3

static s3l_creds_use_t uses[STORES];

/* Stores borrow a provider of the library: one question for all, and it outlives them. */
static void stores_share_a_chain(void** state) {
  const s3l_step_t* const scripts[] = {
      S3L_SCRIPT(S3L_EXPECT("GET /c "), S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_OK(EXPIRES_LATE))),
      S3L_SCRIPT(S3L_EXPECT("Credential=CK/"), S3L_EXPECT("\r\n\r\n"), S3L_SEND(object),
                 S3L_CLOSE)};
  question_t q = {.done = 0};
  open_theirs(scripts, 2);
  const s3lect_store_s3_options_t o = s3l_creds_use_options(rig.server.port, &theirs);
  for (int i = 0; i < STORES; i++)
    s3l_creds_use_open(&uses[i], &loop, &o);
  for (int i = 0; i < STORES; i++)
    s3l_creds_use_ends(&uses[i], 0, "");
  assert_int_equal(rig.server.accepted, 1 + STORES);
  for (int i = 0; i < STORES; i++)
    s3l_creds_use_close(&uses[i]);
  question(&q);
  s3l_wait_count(&loop, &q.done, 1, "an answer");
  assert_string_equal(q.access_key, "CK");
  assert_int_equal(rig.server.failures, 0);
  s3l_script_server_close(&rig.server);
  close_theirs();
}

/* A store with a chain of its own, and the public chain, closed after each number of turns. */
static void closes_at_every_moment(void** state) {
  const s3l_step_t* const scripts[] = {
      S3L_SCRIPT(S3L_EXPECT("GET /c "), S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_OK(EXPIRES_LATE))),
      S3L_SCRIPT(S3L_EXPECT("GET /c "), S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_OK(EXPIRES_LATE))),
      S3L_SCRIPT(S3L_EXPECT("Credential=CK/"), S3L_EXPECT("\r\n\r\n"), S3L_SEND(object),
                 S3L_CLOSE)};
  bool over = false;
  unsigned turns = 0;
  for (; !over; turns++) {
    question_t q = {.done = 0};
    open_theirs(scripts, 3);
    const s3lect_store_s3_options_t o = s3l_creds_use_options(rig.server.port, NULL);
    question(&q);
    s3l_creds_use_open(&uses[0], &loop, &o);
    for (unsigned i = 0; i < turns && uses[0].r.done == 0; i++)
      s3l_turn(&loop);
    over = uses[0].r.done > 0 && q.done > 0;
    begin_close();
    s3l_creds_use_close(&uses[0]);
    s3l_wait_count(&loop, &theirs_closed, 1, "the provider to be closed");
    assert_int_equal(q.done, 1);
    assert_int_equal(uses[0].r.done, 1);
    s3l_script_server_close(&rig.server);
    s3l_wait_loop_end(&loop);
  }
  assert_true(turns > 4);
}

static void opens_without_memory(void** state) {
  s3l_creds_rig_clear_environment();
  for (int chain = 0; chain < 2; chain++) {
    bool failed = true;
    for (size_t at = 0; failed; at++) {
      assert_int_equal(uv_loop_init(&loop), 0);
      s3l_heap_install();
      s3l_heap_fail_at(at, false);
      int err = chain ? s3lect_credentials_chain_init(&loop, &theirs, NULL, NULL)
                      : s3lect_credentials_static_init(&loop, &theirs, "AK", "SK", "T", NULL);
      failed = s3l_heap_fail_end();
      assert_int_equal(err, failed ? UV_ENOMEM : 0);
      if (err == 0)
        close_theirs();
      else
        assert_int_equal(uv_loop_close(&loop), 0);
      s3l_heap_remove();
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fixed_keys_are_given_to_all),
      cmocka_unit_test(a_request_can_be_used_again_inside),
      cmocka_unit_test(closing_ends_questions),
      cmocka_unit_test(a_chain_is_asked_once_for_all),
      cmocka_unit_test(a_chain_tells_why_it_has_none),
      cmocka_unit_test(a_chain_is_closed_while_it_asks),
      cmocka_unit_test(a_chain_is_closed_as_it_answers),
      cmocka_unit_test(stores_share_a_chain),
      cmocka_unit_test(closes_at_every_moment),
      cmocka_unit_test(opens_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
