/* store/fenced: fenced objects on a store with one object that loses requests and replies, carries
 * writes out late, and whose ETags are digests of the body, as those of S3 are. That they work on
 * each real store is the suite's (s3l_suite_fences). */
#include "s3lect/fenced.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/heap.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "util/list.h"
#include "util/prng.h"

#define BODY_SIZE  256
#define TIMEOUT_MS 900000 /* it passes at once, and the machine never stops for so long */

/* ---- The store ---- */

/* What happens to a write, by turns; then OK. */
typedef enum {
  OK,
  LOST_REPLY,   /* carried out; its reply is lost */
  LOST_REQUEST, /* not carried out, and nobody knows */
  LATE,         /* its reply is lost, and it is carried out only when the test says so */
  THROTTLED,
  DENIED,
  SILENT, /* no reply until the time-out; not carried out */
  HELD,   /* as LATE, and the reply is lost only when the test says so */
} fate_t;

typedef struct job_s {
  uv_timer_t timer;
  s3lect_store_req_t* req;
  int status, outcome;
  bool answers_with_body;
  char etag[32]; /* of what a put has written */
} job_t;

typedef struct late_s {
  uint32_t condition;
  char etag[32], body[BODY_SIZE];
} late_t;

static struct {
  uv_loop_t loop;
  s3lect_store_t store;
  bool exists;
  char body[BODY_SIZE], etag[32];
  fate_t fates[8];
  size_t at;
  unsigned gets, puts, applied;
  late_t late[4];
  size_t late_len;
  job_t* held;
  unsigned events;    /* answers of the store, and ends of fenced requests */
  s3l_prng_t* random; /* fates are drawn */
  uint64_t newest;    /* epoch, as carried out: the oracle */
} s;

static uint64_t epoch_of(const char* body) {
  return strncmp(body, "s3lect-fence ", 13) == 0 ? strtoull(body + 13, NULL, 10) : 0;
}

static int apply(uint32_t condition, const char* etag, const char* body, size_t len) {
  if (condition == S3LECT_IF_ABSENT && s.exists)
    return S3LECT_EPRECONDITION;
  if (condition == S3LECT_IF_MATCH && (!s.exists || strcmp(etag, s.etag) != 0))
    return s.exists ? S3LECT_EPRECONDITION : S3LECT_ENOTFOUND;
  assert_true(len < BODY_SIZE);
  memmove(s.body, body, len);
  s.body[len] = '\0';
  uint64_t digest = 14695981039346656037U;
  for (const char* p = s.body; *p != '\0'; p++)
    digest = (digest ^ (uint8_t)*p) * 1099511628211U;
  snprintf(s.etag, sizeof s.etag, "\"%016llx\"", (unsigned long long)digest);
  s.exists = true;
  s.applied++;
  assert_true(epoch_of(s.body) >= s.newest); /* the promise */
  s.newest = epoch_of(s.body);
  return 0;
}

static void apply_late(void) {
  for (size_t i = 0; i < s.late_len; i++)
    (void)apply(s.late[i].condition, s.late[i].etag, s.late[i].body, strlen(s.late[i].body));
  s.late_len = 0;
}

static void on_timer_closed(uv_handle_t* timer) {
  free(timer->data);
}

static void on_timer(uv_timer_t* timer) {
  job_t* job = timer->data;
  s3lect_store_result_t r = {.size = sizeof r, .status = job->status, .outcome = job->outcome};
  uv_close((uv_handle_t*)timer, on_timer_closed);
  job->req->internal[0] = 0;
  s.events++;
  if (r.status == 0)
    r.etag = job->answers_with_body ? s.etag : job->etag;
  if (r.status == 0 && job->answers_with_body) {
    r.body = s.body;
    r.body_len = strlen(s.body);
    if (r.body_len > job->req->body_max)
      r = (s3lect_store_result_t){.size = sizeof r, .status = S3LECT_ETOOBIG, .etag = s.etag};
  }
  job->req->cb(job->req, &r);
}

static job_t* new_job(s3lect_store_req_t* req, int status, int outcome, bool body) {
  job_t* job = calloc(1, sizeof *job);
  assert_non_null(job);
  *job = (job_t){.req = req, .status = status, .outcome = outcome, .answers_with_body = body};
  memcpy(job->etag, s.etag, sizeof job->etag); /* others may have replaced it when this is told */
  assert_int_equal(uv_timer_init(&s.loop, &job->timer), 0);
  job->timer.data = job;
  memcpy(req->internal, &job, sizeof(void*));
  return job;
}

static void answer_in(s3lect_store_req_t* req, uint64_t ms, int status, int outcome, bool body) {
  job_t* job = new_job(req, status, outcome, body);
  if (s.random != NULL) /* so long that others read and write meanwhile */
    ms += s3l_prng_next(s.random) % 30;
  assert_int_equal(uv_timer_start(&job->timer, on_timer, ms, 0), 0);
}

static void answer_held(void) {
  assert_non_null(s.held);
  assert_int_equal(uv_timer_start(&s.held->timer, on_timer, 0, 0), 0);
  s.held = NULL;
}

static fate_t next_fate(void) {
  if (s.random != NULL)
    return (fate_t)(s3l_prng_next(s.random) % (THROTTLED + 3)) % (THROTTLED + 1);
  return s.at < sizeof s.fates / sizeof s.fates[0] ? s.fates[s.at++] : OK;
}

static int store_get(s3lect_store_t* store, s3lect_store_req_t* req) {
  (void)store;
  s.gets++;
  answer_in(req, 1, s.exists ? 0 : S3LECT_ENOTFOUND, S3LECT_SETTLED, true);
  return 0;
}

static int store_put(s3lect_store_t* store, s3lect_store_req_t* req) {
  fate_t fate = next_fate();
  (void)store;
  s.puts++;
  if ((fate == LATE || fate == HELD) && s.late_len < sizeof s.late / sizeof s.late[0]) {
    late_t* late = &s.late[s.late_len++];
    late->condition = req->condition;
    snprintf(late->etag, sizeof late->etag, "%s", req->etag != NULL ? req->etag : "");
    snprintf(late->body, sizeof late->body, "%.*s", (int)req->body_len, (const char*)req->body);
  }
  int status = fate == OK || fate == LOST_REPLY
                   ? apply(req->condition, req->etag, req->body, req->body_len)
                   : 0;
  if (fate == OK)
    answer_in(req, 1, status, S3LECT_SETTLED, false);
  else if (fate == THROTTLED || fate == DENIED)
    answer_in(req, 1, fate == DENIED ? S3LECT_EDENIED : S3LECT_ETHROTTLED, S3LECT_NOT_APPLIED,
              false);
  else if (fate == HELD)
    s.held = new_job(req, UV_ECONNRESET, S3LECT_UNCERTAIN, false);
  else if (fate == SILENT)
    answer_in(req, req->timeout_ms, UV_ETIMEDOUT, S3LECT_UNCERTAIN, false);
  else
    answer_in(req, 1, UV_ECONNRESET, S3LECT_UNCERTAIN, false);
  return 0;
}

static void store_cancel(s3lect_store_t* store, s3lect_store_req_t* req) {
  job_t* job;
  (void)store;
  memcpy(&job, req->internal, sizeof(void*));
  assert_non_null(job);
  job->status = UV_ECANCELED;
  job->outcome = S3LECT_UNCERTAIN;
  assert_int_equal(uv_timer_start(&job->timer, on_timer, 0, 0), 0);
}

static const s3lect_store_ops_t ops = {
    .version = S3LECT_STORE_VERSION, .get = store_get, .put = store_put, .cancel = store_cancel};

static int open_store(void** state) {
  (void)state;
  memset(&s, 0, sizeof s);
  assert_int_equal(uv_loop_init(&s.loop), 0);
  s.store.loop = &s.loop;
  s.store.ops = &ops;
  s3l_wait_pace(S3L_PACE_TIMERS);
  return 0;
}

static int close_store(void** state) {
  (void)state;
  s3l_wait_loop_end(&s.loop);
  return 0;
}

/* ---- Leaders ---- */

typedef struct leader_s {
  s3lect_fenced_t req;
  unsigned done;
  s3lect_fenced_result_t result;
  char body[BODY_SIZE], message[256], content[32];
} leader_t;

static void on_done(s3lect_fenced_t* req, const s3lect_fenced_result_t* result) {
  leader_t* l = req->data;
  l->done++;
  s.events++;
  l->result = *result;
  assert_non_null(result->message);
  assert_int_equal(result->status == 0, result->message[0] == '\0');
  snprintf(l->message, sizeof l->message, "%s", result->message);
  snprintf(l->body, sizeof l->body, "%.*s", (int)result->body_len,
           result->body != NULL ? result->body : "");
}

static void begin(leader_t* l, uint64_t epoch, const char* body) {
  l->req.data = l;
  l->req.key = "object";
  l->req.epoch = epoch;
  l->req.body = body;
  l->req.body_len = body != NULL ? strlen(body) : 0;
  l->req.timeout_ms = TIMEOUT_MS;
  l->req.cb = on_done;
  l->done = 0;
  assert_int_equal(body != NULL ? s3lect_fenced_put(&s.store, &l->req)
                                : s3lect_fenced_get(&s.store, &l->req),
                   0);
  assert_int_equal(l->done, 0);
}

static void end(leader_t* l) {
  s3l_wait_count(&s.loop, &l->done, 1, "the end of a fenced request");
}

static int put(leader_t* l, uint64_t epoch, const char* body) {
  begin(l, epoch, body);
  end(l);
  return l->result.status;
}

static int get(leader_t* l, uint64_t epoch) {
  return put(l, epoch, NULL);
}

static void assert_content(const char* content) {
  assert_non_null(strchr(s.body, '\n'));
  assert_string_equal(strchr(s.body, '\n') + 1, content);
}

/* ---- Tests ---- */

static void a_known_version_costs_one_request(void** state) {
  leader_t l = {0};
  (void)state;
  assert_int_equal(put(&l, 5, "a"), 0);
  assert_int_equal(s.gets + s.puts, 2);
  assert_int_equal(put(&l, 5, "b"), 0);
  assert_int_equal(s.gets + s.puts, 3);
  assert_int_equal(l.result.epoch, 5);
  assert_content("b");
  assert_int_equal(put(&l, 4, "c"), S3LECT_EFENCED); /* it knows a version that is newer */
  assert_content("b");
}

/* The old leader's write is on its way when the new leader reads what it will continue. */
static void a_late_write_meets_the_fence(void** state) {
  leader_t old = {0}, new = {0};
  (void)state;
  assert_int_equal(put(&old, 5, "content"), 0);
  s.at = 0;
  s.fates[0] = HELD; /* else the old leader might read and write again before the new one reads */
  begin(&old, 5, "late");
  while (s.late_len == 0)
    (void)s3l_turn(&s.loop);
  assert_int_equal(get(&new, 6), 0);
  assert_string_equal(new.body, "content");
  apply_late();
  assert_content("content");
  answer_held();
  end(&old);
  assert_int_equal(old.result.status, S3LECT_EFENCED);
  assert_int_equal(old.result.outcome, S3LECT_UNCERTAIN);
  assert_int_equal(old.result.epoch, 6);
}

static void lost_replies_are_resolved(void** state) {
  static const fate_t fates[] = {LOST_REPLY, LOST_REQUEST, THROTTLED, SILENT};
  (void)state;
  for (size_t i = 0; i < sizeof fates / sizeof fates[0]; i++) {
    for (int gets = 0; gets < 2; gets++) {
      leader_t l = {0}, reader = {0};
      uint64_t epoch = 10 * (i + 1) + (uint64_t)gets;
      s.at = 0;
      s.fates[0] = fates[i];
      unsigned before = s.applied;
      assert_int_equal(put(&l, epoch, gets ? NULL : "content"), 0);
      assert_int_equal(l.result.outcome, S3LECT_SETTLED);
      assert_int_equal(s.applied, before + 1);
      assert_int_equal(get(&reader, 0), 0);
      assert_string_equal(reader.body, "content");
      assert_int_equal(reader.result.epoch, epoch);
    }
  }
}

static void lasting_errors_end_it(void** state) {
  leader_t l = {0};
  (void)state;
  s.fates[0] = LOST_REQUEST;
  s.fates[1] = DENIED;
  assert_int_equal(put(&l, 5, "a"), S3LECT_EDENIED);
  assert_int_equal(l.result.outcome, S3LECT_UNCERTAIN);
  s.at = 1;
  assert_int_equal(put(&l, 5, "a"), S3LECT_EDENIED);
  assert_int_equal(l.result.outcome, S3LECT_NOT_APPLIED);
  assert_false(s.exists);
}

static void its_time_ends(void** state) {
  leader_t l = {0};
  (void)state;
  for (size_t i = 0; i < 8; i++)
    s.fates[i] = SILENT;
  assert_int_equal(put(&l, 5, "a"), UV_ETIMEDOUT);
  assert_int_equal(l.result.outcome, S3LECT_UNCERTAIN);
  assert_in_range(s.puts, 2, 4);
}

static void what_is_no_fence_is_left_alone(void** state) {
  static const char* const bodies[] = {"s3lect-fence ",
                                       "s3lect-fence 5\n",
                                       "s3lect-fence 0 00\nx",
                                       ("s3lect-fence 99999999999999999999 "
                                        "00000000000000000000000000000000\nx"),
                                       "s3lect-fence 5 0000000000000000000000000000000g\nx",
                                       "s3lect-fence 5 00000000000000000000000000000000"};
  static const char lockfile[] = "{\"leaderID\":\"a\",\"leaderAddr\":\"\","
                                 "\"lastUpdated\":\"2024-01-01T00:00:00Z\"}";
  leader_t l = {0};
  (void)state;
  for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
    s.newest = 0;
    assert_int_equal(apply(S3LECT_ALWAYS, NULL, bodies[i], strlen(bodies[i])), 0);
    s.newest = 0;
    assert_int_equal(put(&l, 7, "a"), S3LECT_EBADFENCE);
    assert_int_equal(get(&l, 0), S3LECT_EBADFENCE);
    assert_string_equal(s.body, bodies[i]);
    memset(&l, 0, sizeof l);
  }
  s.newest = 0;
  assert_int_equal(apply(S3LECT_ALWAYS, NULL, lockfile, strlen(lockfile)), 0);
  assert_int_equal(put(&l, 7, "a"), S3LECT_EBADFENCE);
  assert_string_equal(s.body, lockfile);
}

static void bounds_what_it_reads(void** state) {
  leader_t l = {0}, reader = {0};
  (void)state;
  assert_int_equal(put(&l, 5, "0123456789012345678901234567890123456789"), 0);
  reader.req.body_max = 4;
  assert_int_equal(get(&reader, 0), S3LECT_ETOOBIG);
  reader.req.body_max = 40;
  assert_int_equal(get(&reader, 0), 0);
}

static void can_be_cancelled_at_any_time(void** state) {
  (void)state;
  for (unsigned turns = 0; turns < 6; turns++) {
    leader_t l = {0};
    s.at = 0;
    s.fates[0] = THROTTLED;
    begin(&l, 5 + turns, "a");
    for (unsigned i = 0; i < turns; i++)
      (void)s3l_turn(&s.loop);
    s3lect_fenced_cancel(&l.req);
    s3lect_fenced_cancel(&l.req);
    end(&l);
    assert_true(l.result.status == UV_ECANCELED || l.result.status == 0);
    assert_true(turns > 0 || l.result.outcome == S3LECT_NOT_APPLIED);
    s3lect_fenced_cancel(&l.req);
  }
}

static void refuses_bad_requests(void** state) {
  static char long_key[1030];
  s3lect_fenced_t good = {.key = "k", .epoch = 1, .body = "", .timeout_ms = 1, .cb = on_done};
  s3lect_fenced_t bad[6];
  (void)state;
  memset(long_key, 'k', sizeof long_key - 1);
  for (size_t i = 0; i < 6; i++)
    bad[i] = good;
  bad[0].key = NULL;
  bad[1].key = "";
  bad[2].key = long_key;
  bad[3].timeout_ms = 0;
  bad[4].cb = NULL;
  bad[5].body_max = UINT32_MAX;
  for (size_t i = 0; i < 6; i++) {
    assert_int_equal(s3lect_fenced_put(&s.store, &bad[i]), UV_EINVAL);
    assert_int_equal(s3lect_fenced_get(&s.store, &bad[i]), UV_EINVAL);
  }
  good.epoch = 0;
  assert_int_equal(s3lect_fenced_put(&s.store, &good), UV_EINVAL);
  good.epoch = 1;
  good.body = NULL;
  good.body_len = 1;
  assert_int_equal(s3lect_fenced_put(&s.store, &good), UV_EINVAL);
}

static void survives_lack_of_memory(void** state) {
  leader_t l = {0};
  (void)state;
  assert_int_equal(put(&l, 1, "content"), 0);
  s3l_heap_install();
  for (size_t n = 0;; n++) {
    memset(&l, 0, sizeof l);
    l.req = (s3lect_fenced_t){
        .data = &l, .key = "object", .epoch = 2 + n, .timeout_ms = TIMEOUT_MS, .cb = on_done};
    s3l_heap_fail_at(n, true);
    int err = s3lect_fenced_get(&s.store, &l.req);
    if (err == 0)
      end(&l);
    else
      assert_int_equal(err, UV_ENOMEM);
    if (!s3l_heap_fail_end())
      break;
    assert_int_equal(err == 0 ? l.result.status : err, UV_ENOMEM);
  }
  assert_string_equal(l.body, "content");
  s3l_heap_remove();
}

/* Leaders that follow each other and do not know it yet, on a store where everything goes wrong.
 * The oracle is in apply; and what ended well was carried out. */
static void no_smaller_epoch_comes_back(void** state) {
  enum { LEADERS = 4, ROUNDS = 3000 };
  static leader_t leaders[LEADERS];
  s3l_prng_t random;
  unsigned ended[3] = {0};
  (void)state;
  s3l_prng_seed(&random, 16);
  memset(leaders, 0, sizeof leaders);
  s.random = &random;
  for (unsigned round = 0; round < ROUNDS; round++) {
    leader_t* l = &leaders[s3l_prng_next(&random) % LEADERS];
    if (l->done != 0) {
      ended[l->result.status == 0 ? 0 : l->result.status == S3LECT_EFENCED ? 1 : 2]++;
      if (l->result.status == 0)
        assert_true(s.newest >= l->req.epoch);
      l->done = 0;
    }
    if (l->req.internal == NULL) {
      uint64_t epoch = 1 + round / 100 + s3l_prng_next(&random) % 3;
      snprintf(l->content, sizeof l->content, "%u", (unsigned)(s3l_prng_next(&random) % 2));
      begin(l, epoch, s3l_prng_next(&random) % 3 == 0 ? NULL : l->content);
    }
    if (s3l_prng_next(&random) % 8 == 0)
      apply_late();
    s3l_wait_count(&s.loop, &s.events, s.events + 1, "an answer of the store");
  }
  for (size_t i = 0; i < LEADERS; i++)
    if (leaders[i].req.internal != NULL)
      end(&leaders[i]);
  assert_true(ended[0] > 100 && ended[1] > 100);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_store, close_store)
  const struct CMUnitTest tests[] = {
      TEST(a_known_version_costs_one_request),
      TEST(a_late_write_meets_the_fence),
      TEST(lost_replies_are_resolved),
      TEST(lasting_errors_end_it),
      TEST(its_time_ends),
      TEST(what_is_no_fence_is_left_alone),
      TEST(bounds_what_it_reads),
      TEST(can_be_cancelled_at_any_time),
      TEST(refuses_bad_requests),
      TEST(survives_lack_of_memory),
      TEST(no_smaller_epoch_comes_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
