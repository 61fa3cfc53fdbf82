/* credentials/cache over a caller's own provider, by itself and under a store: what it gives, how
 * it fails, closing while it is asked, and ones that do not keep their contract. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "credentials/cache.h"
#include "lib/creds_rig.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect.h"

/* ---- A provider that the test plays ---- */

typedef enum { LATER, INSIDE, TWICE, REFUSES, INSIDE_AND_REFUSES } manner_t;

typedef struct mine_s {
  s3lect_credentials_provider_t provider;
  manner_t manner;
  s3lect_credentials_req_t* req; /* under way */
  bool cancels_inside;
  unsigned asked;
  unsigned cancelled;
  unsigned closed;
} mine_t;

static mine_t mine;
static uv_loop_t loop;

static void answer(s3lect_credentials_req_t* req, const char* access_key) {
  const s3lect_credentials_t c = {.size = sizeof(c),
                                  .access_key_id = access_key,
                                  .secret_access_key = "SK",
                                  .session_token = "T"};
  req->cb(req, 0, &c, NULL);
}

static int mine_get(s3lect_credentials_provider_t* provider, s3lect_credentials_req_t* req) {
  mine_t* m = provider->data;
  assert_null(m->req); /* one question at a time */
  assert_ptr_equal(req->provider, provider);
  m->asked++;
  switch (m->manner) {
  case LATER:
    m->req = req;
    return 0;
  case TWICE:
  case INSIDE:
    answer(req, "AK");
    if (m->manner == TWICE)
      answer(req, "A2");
    return 0;
  case INSIDE_AND_REFUSES:
    answer(req, "AK");
    return UV_EPERM;
  case REFUSES:
    break;
  }
  return UV_EPERM;
}

static void mine_cancel(s3lect_credentials_provider_t* provider, s3lect_credentials_req_t* req) {
  mine_t* m = provider->data;
  m->cancelled++;
  assert_ptr_equal(m->req, req);
  if (!m->cancels_inside)
    return; /* the test does it */
  m->req = NULL;
  req->cb(req, UV_ECANCELED, NULL, NULL);
}

static void mine_close(s3lect_credentials_provider_t* provider, s3lect_credentials_close_cb cb) {
  mine_t* m = provider->data;
  m->closed++;
  cb(provider);
}

static const s3lect_credentials_ops_t mine_ops = {.version = S3LECT_CREDENTIALS_VERSION,
                                                  .get = mine_get,
                                                  .cancel = mine_cancel,
                                                  .close = mine_close};

static s3lect_credentials_req_t* take_req(void) {
  s3lect_credentials_req_t* req = mine.req;
  assert_non_null(req);
  mine.req = NULL;
  return req;
}

static void give(const s3lect_credentials_t* credentials) {
  s3lect_credentials_req_t* req = take_req();
  req->cb(req, 0, credentials, NULL);
}

static void refuse(const char* why) {
  s3lect_credentials_req_t* req = take_req();
  req->cb(req, UV_EACCES, NULL, why);
}

/* ---- A cache over it ---- */

typedef struct asker_s {
  s3l_creds_wait_t wait;
  unsigned done;
  unsigned cancelled;
  int status;
  char access_key[64];
  char why[600];
} requester_t;

static requester_t requester;
static s3l_creds_user_t user;
static unsigned cache_closed;

static void on_waited(s3l_creds_wait_t* wait, int status, const char* why) {
  requester_t* a = S3L_CONTAINER_OF(wait, requester_t, wait);
  if (status == UV_ECANCELED) {
    a->cancelled++;
    return;
  }
  a->done++;
  a->status = status;
  const s3lect_credentials_t* creds = s3l_creds_cache_get(user.cache);
  assert_true((status == 0) == (creds != NULL));
  snprintf(a->access_key, sizeof(a->access_key), "%s", status == 0 ? creds->access_key_id : "");
  snprintf(a->why, sizeof(a->why), "%s", status != 0 ? why : "");
}

/* The cache asks again at once after a failure. */
static void begin(manner_t manner) {
  s3l_creds_cache_options_t options = s3l_creds_cache_defaults;
  options.retry_ms = 0;
  mine = (mine_t){.manner = manner};
  requester = (requester_t){.done = 0};
  cache_closed = 0;
  assert_int_equal(uv_loop_init(&loop), 0);
  mine.provider.data = &mine;
  mine.provider.loop = &loop;
  mine.provider.ops = &mine_ops;
  user.waited = on_waited;
  assert_int_equal(s3l_creds_cache_open(&mine.provider, false, &options, &user.cache), 0);
}

static void ask(void) {
  unsigned before = requester.done;
  s3l_creds_cache_refused(user.cache); /* so that the provider is asked */
  assert_int_equal(s3l_creds_wait(&user, &requester.wait, S3L_CLOCK_NEVER), 0);
  assert_int_equal(requester.done, before); /* never inside */
}

static void on_cache_closed(void* arg) {
  cache_closed++;
}

static void close_cache(void) {
  s3l_creds_cache_close(user.cache, on_cache_closed, NULL);
}

static void end(void) {
  close_cache();
  s3l_wait_count(&loop, &cache_closed, 1, "the cache to be closed");
  assert_int_equal(mine.closed, 0); /* it is the caller's */
  s3l_wait_loop_end(&loop);
}

static void takes_what_comes(void** state) {
  static const s3lect_credentials_t later = {.size = sizeof(later) + 64, /* of a newer caller */
                                             .access_key_id = "A2",
                                             .secret_access_key = "SK",
                                             .session_token = "",
                                             .expires_ms = 0};
  begin(LATER);
  ask();
  answer(take_req(), "AK");
  assert_int_equal(requester.done, 1);
  assert_string_equal(requester.access_key, "AK");
  ask();
  give(&later);
  assert_string_equal(requester.access_key, "A2");
  end();
}

static void refuses_what_is_none(void** state) {
  s3lect_credentials_t c = {.size = sizeof(c), .access_key_id = "AK"};
  begin(LATER);
  ask();
  give(NULL);
  assert_int_equal(requester.status, S3LECT_ECREDENTIALS);
  assert_string_equal(requester.why, "there is no access key");
  ask();
  give(&c);
  assert_string_equal(requester.why, "there is no secret access key");
  c.secret_access_key = "S\nK";
  ask();
  give(&c);
  assert_string_equal(requester.why,
                      "a key holds a blank, a line end or another character that no key has");
  c.size = offsetof(s3lect_credentials_t, secret_access_key); /* the rest is not read */
  ask();
  give(&c);
  assert_string_equal(requester.why, "there is no secret access key");
  end();
}

static void passes_failures_on(void** state) {
  begin(LATER);
  ask();
  refuse("the vault is sealed");
  assert_int_equal(requester.status, S3LECT_ECREDENTIALS);
  assert_string_equal(requester.why, "the vault is sealed");
  ask();
  refuse(NULL);
  assert_string_equal(requester.why, "permission denied");
  end();
}

static void a_refusal_is_told_later(void** state) {
  begin(REFUSES);
  for (unsigned i = 1; i < 3; i++) {
    ask();
    s3l_wait_count(&loop, &requester.done, i, "the refusal");
    assert_int_equal(requester.status, S3LECT_ECREDENTIALS);
    assert_string_equal(requester.why, "operation not permitted");
  }
  ask();
  end(); /* while it is still to be told */
  assert_int_equal(requester.done, 2);
  assert_int_equal(requester.cancelled, 1);
}

/* Against the contract; the keys come all the same, later, and once. */
static void an_answer_inside_get_is_told_later(void** state) {
  for (int i = 0; i < 2; i++) {
    begin(i == 0 ? INSIDE : TWICE);
    ask();
    s3l_wait_count(&loop, &requester.done, 1, "the keys");
    assert_string_equal(requester.access_key, "AK");
    ask();
    end(); /* with keys that are wiped */
    assert_int_equal(requester.done, 1);
    assert_int_equal(requester.cancelled, 1);
  }
  begin(INSIDE_AND_REFUSES);
  ask();
  s3l_wait_count(&loop, &requester.done, 1, "the refusal");
  assert_int_equal(requester.status, S3LECT_ECREDENTIALS);
  assert_string_equal(requester.why, "operation not permitted");
  end();
}

static void an_answer_nobody_waits_for_is_nothing(void** state) {
  begin(LATER);
  ask();
  s3lect_credentials_req_t* req = take_req();
  answer(req, "AK");
  answer(req, "A2");
  assert_int_equal(requester.done, 1);
  assert_string_equal(requester.access_key, "AK");
  end();
}

static void closing_waits_for_the_provider(void** state) {
  begin(LATER);
  ask();
  close_cache();
  s3l_wait_count(&loop, &mine.cancelled, 1, "the provider to be cancelled");
  uv_run(&loop, UV_RUN_NOWAIT);
  assert_int_equal(cache_closed, 0); /* it still has our request */
  s3lect_credentials_req_t* req = take_req();
  req->cb(req, UV_ECANCELED, NULL, NULL);
  s3l_wait_count(&loop, &cache_closed, 1, "the cache to be closed");
  assert_int_equal(requester.done, 0);
  assert_int_equal(requester.cancelled, 1);
  s3l_wait_loop_end(&loop);
  /* One that cancels inside cancel. */
  begin(LATER);
  mine.cancels_inside = true;
  ask();
  end();
  assert_int_equal(mine.cancelled, 1);
  assert_int_equal(requester.done, 0);
}

/* ---- Under stores ---- */

static s3l_creds_use_t use;

static const char object[] =
    "HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx";

static s3l_script_server_t server;

static void open_store(const s3l_step_t* const* scripts) {
  server = (s3l_script_server_t){.scripts = scripts, .scripts_len = 1, .unref = true};
  s3l_script_server_start(&server, &loop);
  const s3lect_store_s3_options_t o = s3l_creds_use_options(server.port, &mine.provider);
  s3l_creds_use_open(&use, &loop, &o);
}

static void close_store(void) {
  s3l_creds_use_close(&use);
  s3l_script_server_close(&server);
  end();
}

static s3l_suite_req_t second;

static void start_second(void) {
  s3l_suite_prepare(&use.suite, &second, "k2");
  assert_int_equal(s3l_suite_start(&second, s3lect_store_get), 0);
}

/* The store keeps what it was given: many requests, one question. */
static void a_store_asks_once(void** state) {
  begin(LATER);
  open_store(S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("Credential=AK/"), S3L_EXPECT("\r\n\r\n"),
                                    S3L_SEND(object), S3L_CLOSE)));
  start_second();
  assert_int_equal(mine.asked, 1);
  answer(take_req(), "AK");
  s3l_creds_use_ends(&use, 0, "");
  s3l_suite_wait(&second);
  assert_int_equal(second.result.status, 0);
  s3l_creds_use_start(&use);
  s3l_creds_use_ends(&use, 0, "");
  assert_int_equal(mine.asked, 1);
  assert_int_equal(server.failures, 0);
  close_store();
}

static const s3l_step_t* const silent = (const s3l_step_t[]){S3L_SCRIPT_END};

static void a_store_tells_why_there_are_none(void** state) {
  begin(LATER);
  open_store(&silent);
  refuse("the vault is sealed");
  s3l_creds_use_ends(&use, S3LECT_ECREDENTIALS, "the vault is sealed");
  assert_int_equal(server.accepted, 0);
  close_store();
}

/* An empty key would sign, and the bucket's answer would not say what is wrong. */
static void a_store_refuses_a_token_alone(void** state) {
  const s3lect_credentials_t token = {.size = sizeof(token), .session_token = "T"};
  begin(LATER);
  open_store(S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"))));
  give(&token);
  s3l_creds_use_ends(&use, S3LECT_ECREDENTIALS, S3L_CREDS_CANNOT_SIGN);
  close_store();
  assert_int_equal(server.strays, 0);
}

/* The first request has the only connection, and the keys end before the second gets it. */
static void keys_may_end_while_a_request_is_queued(void** state) {
  s3lect_credentials_t c = {
      .size = sizeof(c), .access_key_id = "AK", .secret_access_key = "SK", .session_token = "T"};
  begin(LATER);
  mine.cancels_inside = true;
  open_store(S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("Credential=AK/"), S3L_DEAF)));
  start_second();
  c.expires_ms = s3l_clock_wall_ms() + 600;
  give(&c);
  s3l_wait_count(&loop, &mine.asked, 2, "the store to ask for others");
  refuse("the vault is sealed");
  while (s3l_clock_wall_ms() <= c.expires_ms)
    s3l_turn(&loop); /* the next question wakes it */
  assert_int_equal(use.r.done + second.done, 0);
  s3lect_store_cancel(&use.store, &use.r.req);
  s3l_suite_wait(&second);
  assert_int_equal(second.result.status, S3LECT_ECREDENTIALS);
  assert_string_equal(second.message, "the vault is sealed");
  close_store();
}

static void a_store_closes_while_it_asks(void** state) {
  begin(LATER);
  mine.cancels_inside = true;
  open_store(&silent);
  s3l_creds_use_close(&use);
  assert_int_equal(use.r.done, 1);
  assert_int_equal(use.r.result.status, UV_ECANCELED);
  assert_int_equal(mine.cancelled, 1);
  s3l_script_server_close(&server);
  end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(takes_what_comes),
      cmocka_unit_test(refuses_what_is_none),
      cmocka_unit_test(passes_failures_on),
      cmocka_unit_test(a_refusal_is_told_later),
      cmocka_unit_test(an_answer_inside_get_is_told_later),
      cmocka_unit_test(an_answer_nobody_waits_for_is_nothing),
      cmocka_unit_test(closing_waits_for_the_provider),
      cmocka_unit_test(a_store_asks_once),
      cmocka_unit_test(a_store_tells_why_there_are_none),
      cmocka_unit_test(a_store_refuses_a_token_alone),
      cmocka_unit_test(keys_may_end_while_a_request_is_queued),
      cmocka_unit_test(a_store_closes_while_it_asks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
