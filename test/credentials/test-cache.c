/* creds/cache over a source that the test plays, on a wall clock that the test sets: one question
 * for many, replacement ahead of the end, old sets while they are good, failures. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "credentials/cache.h"
#include "lib/heap.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect/errno.h"
#include "util/mem.h"

#define MINUTE 60000
#define START  1700000000000

static int64_t wall_ms;
static int64_t set_ms; /* somebody set the wall clock ahead by this */

static int64_t test_lease(void) {
  return wall_ms;
}

static int64_t test_wall(void) {
  return wall_ms + set_ms;
}

/* A provider that holds the question until the test answers it. */
typedef struct source_s {
  s3lect_credentials_provider_t provider;
  s3lect_credentials_req_t* req;
  unsigned asked;
  unsigned closed;
} source_t;

static int source_get(s3lect_credentials_provider_t* provider, s3lect_credentials_req_t* req) {
  source_t* s = S3L_CONTAINER_OF(provider, source_t, provider);
  assert_null(s->req); /* one at a time */
  s->req = req;
  s->asked++;
  return 0;
}

static void source_cancel(s3lect_credentials_provider_t* provider, s3lect_credentials_req_t* req) {
  source_t* s = S3L_CONTAINER_OF(provider, source_t, provider);
  assert_ptr_equal(s->req, req);
  s->req = NULL;
  req->cb(req, UV_ECANCELED, NULL, NULL);
}

static void source_close(s3lect_credentials_provider_t* provider, s3lect_credentials_close_cb cb) {
  source_t* s = S3L_CONTAINER_OF(provider, source_t, provider);
  assert_null(s->req);
  s->closed++;
  if (cb != NULL)
    cb(provider);
}

static const s3lect_credentials_ops_t source_ops = {
    .get = source_get, .cancel = source_cancel, .close = source_close};

typedef struct waiter_s {
  s3l_creds_wait_t wait;
  unsigned done;
  int status;
} waiter_t;

static void on_wait(s3l_creds_wait_t* wait, int status, const char* why) {
  waiter_t* w = S3L_CONTAINER_OF(wait, waiter_t, wait);
  assert_true((why == NULL) == (status == 0 || status == UV_ECANCELED));
  w->done++;
  w->status = status;
}

typedef struct rig_s {
  uv_loop_t loop;
  source_t source;
  s3l_creds_user_t user;
  s3l_creds_cache_t* cache;
  waiter_t waiters[4];
  unsigned closed;
} rig_t;

static rig_t rig;

static void rig_open(const s3l_creds_cache_options_t* options) {
  memset(&rig, 0, sizeof(rig));
  wall_ms = START;
  set_ms = 0;
  rig.source.provider.ops = &source_ops;
  rig.source.provider.loop = &rig.loop;
  assert_int_equal(uv_loop_init(&rig.loop), 0);
  assert_int_equal(s3l_creds_cache_open(&rig.source.provider, true, options, &rig.cache), 0);
  rig.user = (s3l_creds_user_t){.cache = rig.cache, .waited = on_wait};
}

static const s3l_creds_cache_options_t quiet = {.ahead_ms = 5 * MINUTE,
                                                .jitter_ms = MINUTE,
                                                .retry_ms = 3600000, /* left alone for long */
                                                .retry_max_ms = 3600000,
                                                .retry_none_ms = 3600000,
                                                .wall_ms = test_wall,
                                                .lease_ms = test_lease};
static const s3l_creds_cache_options_t eager = {
    .ahead_ms = 5 * MINUTE, .jitter_ms = MINUTE, .wall_ms = test_wall, .lease_ms = test_lease};

static void on_closed(void* arg) {
  ++*(unsigned*)arg;
}

static void rig_close(void) {
  s3l_creds_cache_close(rig.cache, on_closed, &rig.closed);
  s3l_wait_count(&rig.loop, &rig.closed, 1, "the cache to be closed");
  assert_int_equal(rig.source.closed, 1);
  s3l_wait_loop_end(&rig.loop);
}

/* As a store does it: a request that finds none waits. */
static const s3lect_credentials_t* get(int waiter) {
  const s3lect_credentials_t* creds = s3l_creds_cache_get(rig.cache);
  if (creds == NULL && waiter >= 0)
    assert_int_equal(s3l_creds_wait(&rig.user, &rig.waiters[waiter].wait, S3L_CLOCK_NEVER), 0);
  return creds;
}

static void answer(const char* access_key, int64_t life_ms) {
  s3lect_credentials_req_t* req = rig.source.req;
  const s3lect_credentials_t creds = {.size = sizeof(creds),
                                      .access_key_id = access_key,
                                      .secret_access_key = "secret",
                                      .session_token = "token",
                                      .expires_ms = life_ms == 0 ? 0 : test_wall() + life_ms};
  assert_non_null(req);
  rig.source.req = NULL;
  req->cb(req, 0, &creds, NULL);
}

static void answer_failure(int status, const char* why) {
  s3lect_credentials_req_t* req = rig.source.req;
  assert_non_null(req);
  rig.source.req = NULL;
  req->cb(req, status, NULL, why);
}

/* With a first set that lives so long. */
static void open_with_keys(const s3l_creds_cache_options_t* options, int64_t life_ms) {
  rig_open(options);
  assert_null(get(0));
  answer("A1", life_ms);
}

static void asks_once_for_many(void** state) {
  rig_open(&quiet);
  assert_null(get(-1));
  assert_int_equal(rig.source.asked, 0); /* nobody waits */
  for (int i = 0; i < 3; i++)
    assert_null(get(i));
  assert_int_equal(rig.source.asked, 1);
  s3l_creds_wait_cancel(&rig.waiters[1].wait);
  assert_int_equal(rig.waiters[1].done, 0); /* never inside */
  answer("AK", 60 * MINUTE);
  assert_int_equal(rig.waiters[0].done, 1);
  assert_int_equal(rig.waiters[1].done, 1);
  assert_int_equal(rig.waiters[1].status, UV_ECANCELED);
  assert_int_equal(rig.waiters[2].done, 1);
  assert_int_equal(rig.waiters[0].status, 0);
  assert_string_equal(get(3)->access_key_id, "AK");
  assert_string_equal(get(-1)->session_token, "token");
  assert_int_equal(rig.waiters[3].done, 0); /* it had not to wait */
  assert_int_equal(rig.source.asked, 1);
  rig_close();
}

static void replaces_ahead_of_the_end(void** state) {
  open_with_keys(&quiet, 60 * MINUTE);
  wall_ms = START + 53 * MINUTE;
  assert_string_equal(get(-1)->access_key_id, "A1");
  assert_int_equal(rig.source.asked, 1);
  wall_ms = START + 55 * MINUTE; /* 5 min before the end, at the latest */
  for (int i = 0; i < 3; i++)
    assert_string_equal(get(-1)->access_key_id, "A1"); /* it serves meanwhile */
  assert_int_equal(rig.source.asked, 2);
  answer("A2", 60 * MINUTE);
  assert_string_equal(get(-1)->access_key_id, "A2");
  rig_close();
}

/* Whoever sets the wall clock does not end keys that are good, nor make them last longer. */
static void ends_in_lease_time(void** state) {
  open_with_keys(&quiet, 60 * MINUTE);
  set_ms = 120 * MINUTE;
  assert_string_equal(get(-1)->access_key_id, "A1");
  set_ms = -120 * MINUTE;
  assert_int_equal(rig.source.asked, 1);
  wall_ms = START + 55 * MINUTE;
  assert_string_equal(get(-1)->access_key_id, "A1");
  assert_int_equal(rig.source.asked, 2);
  answer("A2", 60 * MINUTE); /* its own end, by the clock that was set back */
  wall_ms = START + 100 * MINUTE;
  assert_string_equal(get(-1)->access_key_id, "A2");
  rig_close();
}

/* After keys that end come some that do not, or that say so with any number. */
static void ends_never(void** state) {
  static const int64_t lives[] = {0, INT64_MAX - START - 600 * MINUTE, INT64_C(1000000) * MINUTE};
  for (size_t i = 0; i < sizeof(lives) / sizeof(lives[0]); i++) {
    open_with_keys(&quiet, 60 * MINUTE);
    wall_ms = START + 55 * MINUTE;
    assert_string_equal(get(-1)->access_key_id, "A1");
    answer("A2", lives[i]);
    wall_ms = START + 500 * MINUTE;
    assert_string_equal(get(-1)->access_key_id, "A2");
    assert_int_equal(rig.source.asked, 2);
    rig_close();
  }
}

/* Nobody asks for hours, and still there are good ones when they are needed. */
static void replaces_by_itself(void** state) {
  open_with_keys(&quiet, 40); /* three quarters of its life on the loop's clock, less jitter */
  wall_ms += 40;
  s3l_wait_count(&rig.loop, &rig.source.asked, 2, "the timer to ask the source");
  answer("A2", 60 * MINUTE);
  assert_string_equal(get(-1)->access_key_id, "A2");
  rig_close();
}

static void short_lives_are_used(void** state) {
  open_with_keys(&quiet, 4 * MINUTE); /* shorter than the usual advance */
  wall_ms = START + 2 * MINUTE - 1;
  assert_string_equal(get(-1)->access_key_id, "A1");
  assert_int_equal(rig.source.asked, 1);
  wall_ms = START + 3 * MINUTE;
  assert_string_equal(get(-1)->access_key_id, "A1");
  assert_int_equal(rig.source.asked, 2);
  answer("A2", 60 * MINUTE);
  rig_close();
}

static void old_ones_serve_until_their_end(void** state) {
  open_with_keys(&eager, 60 * MINUTE);
  wall_ms = START + 56 * MINUTE;
  for (unsigned i = 2; i < 5; i++) {
    assert_string_equal(get(-1)->access_key_id, "A1");
    assert_int_equal(rig.source.asked, i); /* tried again */
    answer_failure(S3LECT_ECREDENTIALS, "no luck");
    assert_string_equal(s3l_creds_cache_why(rig.cache), ""); /* nobody has to know */
  }
  wall_ms = START + 60 * MINUTE;
  assert_null(get(-1));
  assert_string_equal(s3l_creds_cache_why(rig.cache), "no luck");
  assert_null(get(1));
  answer_failure(S3LECT_ECREDENTIALS, "none at all");
  assert_int_equal(rig.waiters[1].done, 1);
  assert_int_equal(rig.waiters[1].status, S3LECT_ECREDENTIALS);
  assert_string_equal(s3l_creds_cache_why(rig.cache), "none at all");
  assert_null(get(2));
  answer("A2", 60 * MINUTE);
  assert_int_equal(rig.waiters[2].status, 0);
  assert_string_equal(get(-1)->access_key_id, "A2");
  rig_close();
}

static void leaves_a_failed_source_alone(void** state) {
  rig_open(&quiet);
  assert_null(get(0));
  answer_failure(S3LECT_ECREDENTIALS, "no luck");
  assert_int_equal(rig.waiters[0].status, S3LECT_ECREDENTIALS);
  assert_null(get(1));
  assert_null(get(2));
  assert_int_equal(rig.waiters[1].done, 0); /* never inside get */
  s3l_wait_count(&rig.loop, &rig.waiters[2].done, 1, "those who ask meanwhile to hear of it");
  assert_int_equal(rig.waiters[1].done, 1);
  assert_int_equal(rig.waiters[1].status, S3LECT_ECREDENTIALS);
  assert_int_equal(rig.source.asked, 1);
  rig_close();
}

static void refuses_expired_ones(void** state) {
  open_with_keys(&eager, -1);
  assert_int_equal(rig.waiters[0].status, S3LECT_ECREDENTIALS);
  assert_string_equal(s3l_creds_cache_why(rig.cache),
                      "the credentials that came have expired already");
  assert_null(get(1));
  answer("A1", 0); /* those never end */
  assert_int_equal(rig.waiters[1].status, 0);
  wall_ms += (int64_t)100000 * 60 * MINUTE;
  assert_string_equal(get(-1)->access_key_id, "A1");
  rig_close();
}

/* What the store refuses is replaced, even if it has just come: a service may give old ones. But
 * when the next set is refused as well, it is not its age. */
static void refused_ones_are_replaced(void** state) {
  rig_open(&quiet);
  s3l_creds_cache_refused(rig.cache); /* there is none */
  assert_null(get(0));
  answer("A1", 60 * MINUTE);
  s3l_creds_cache_refused(rig.cache);
  assert_null(get(-1));
  assert_null(get(1));
  s3l_creds_cache_refused(rig.cache); /* by a second request */
  assert_int_equal(rig.source.asked, 2);
  answer("A2", 60 * MINUTE);
  assert_int_equal(rig.waiters[1].status, 0);
  s3l_creds_cache_refused(rig.cache);
  assert_string_equal(get(-1)->access_key_id, "A2");
  assert_int_equal(rig.source.asked, 2);
  rig_close();
}

/* They may have been refused for another reason. */
static void refused_ones_are_better_than_none(void** state) {
  open_with_keys(&quiet, 60 * MINUTE);
  s3l_creds_cache_refused(rig.cache);
  assert_null(get(1));
  answer_failure(S3LECT_ECREDENTIALS, "no luck");
  assert_int_equal(rig.waiters[1].status, 0);
  assert_string_equal(get(-1)->access_key_id, "A1");
  wall_ms = START + 60 * MINUTE; /* until their end */
  assert_null(get(-1));
  rig_close();
}

static void closing_ends_the_waiting(void** state) {
  rig_open(&quiet);
  assert_null(get(0));
  assert_null(get(1));
  s3l_creds_cache_close(rig.cache, on_closed, &rig.closed);
  assert_int_equal(rig.waiters[0].done, 0);
  s3l_wait_count(&rig.loop, &rig.closed, 1, "the cache to be closed");
  assert_int_equal(rig.waiters[0].done, 1);
  assert_int_equal(rig.waiters[0].status, UV_ECANCELED);
  assert_int_equal(rig.waiters[1].status, UV_ECANCELED);
  s3l_wait_loop_end(&rig.loop);
}

/* The provider's answer may be on its way when the cache is closed, and come before the cache has
 * cancelled the question. */
static void closes_once_though_an_answer_comes(void** state) {
  rig_open(&quiet);
  assert_null(get(0));
  s3l_creds_cache_close(rig.cache, on_closed, &rig.closed);
  answer("A1", 60 * MINUTE);
  assert_int_equal(rig.closed, 0); /* a request waits still */
  s3l_wait_count(&rig.loop, &rig.closed, 1, "the cache to be closed");
  assert_int_equal(rig.waiters[0].done, 1);
  assert_int_equal(rig.waiters[0].status, UV_ECANCELED);
  s3l_wait_loop_end(&rig.loop);
  assert_int_equal(rig.closed, 1);
  assert_int_equal(rig.source.closed, 1);
}

/* Nothing was asked: nothing is in the loop, and memory is given back at once. */
static void an_unused_one_closes_at_once(void** state) {
  rig_open(&quiet);
  s3l_creds_cache_close(rig.cache, on_closed, &rig.closed);
  assert_int_equal(rig.closed, 1);
  assert_int_equal(rig.source.closed, 1);
  assert_int_equal(uv_loop_close(&rig.loop), 0);
}

static void a_warm_one_allocates_nothing(void** state) {
  s3l_heap_install();
  open_with_keys(&quiet, 60 * MINUTE);
  size_t before = s3l_heap_count();
  for (int i = 0; i < 100; i++)
    assert_non_null(get(-1));
  assert_int_equal(s3l_heap_count(), before);
  rig_close();
  s3l_heap_remove();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(asks_once_for_many),
      cmocka_unit_test(replaces_ahead_of_the_end),
      cmocka_unit_test(ends_in_lease_time),
      cmocka_unit_test(ends_never),
      cmocka_unit_test(replaces_by_itself),
      cmocka_unit_test(short_lives_are_used),
      cmocka_unit_test(old_ones_serve_until_their_end),
      cmocka_unit_test(leaves_a_failed_source_alone),
      cmocka_unit_test(refuses_expired_ones),
      cmocka_unit_test(refused_ones_are_replaced),
      cmocka_unit_test(refused_ones_are_better_than_none),
      cmocka_unit_test(closing_ends_the_waiting),
      cmocka_unit_test(closes_once_though_an_answer_comes),
      cmocka_unit_test(an_unused_one_closes_at_once),
      cmocka_unit_test(a_warm_one_allocates_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
