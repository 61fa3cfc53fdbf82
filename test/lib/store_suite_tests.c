#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/store_suite.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect/fenced.h"

#define MANY 16

/* Room for some requests; they are too large for the stack. */
static s3l_suite_req_t* new_requests(size_t n) {
  s3l_suite_req_t* r = calloc(n, sizeof(*r));
  assert_non_null(r);
  return r;
}

static void assert_lost(const s3lect_store_result_t* r) {
  if (r->status != S3LECT_EPRECONDITION && r->status != S3LECT_ECONFLICT)
    fail_msg("a write that should have lost ended with %s: %s", s3lect_err_name(r->status),
             r->message == NULL ? "" : r->message);
  assert_int_equal(r->outcome, S3LECT_SETTLED);
}

static void assert_done(const s3lect_store_result_t* r) {
  if (r->status != 0)
    fail_msg("%s: %s", s3lect_err_name(r->status), r->message == NULL ? "" : r->message);
  assert_int_equal(r->outcome, S3LECT_SETTLED);
}

/* ---- The tests ---- */

void s3l_suite_creates_once(void** state) {
  s3l_store_suite_t* suite = *state;
  s3l_suite_req_t* r = new_requests(1);
  assert_done(s3l_suite_put(suite, r, "create", S3LECT_IF_ABSENT, NULL, "first"));
  char etag[256];
  assert_non_null(r->result.etag);
  snprintf(etag, sizeof(etag), "%s", r->result.etag);
  assert_lost(s3l_suite_put(suite, r, "create", S3LECT_IF_ABSENT, NULL, "second"));
  assert_done(s3l_suite_get(suite, r, "create", NULL));
  assert_string_equal(r->result.body, "first");
  assert_string_equal(r->result.etag, etag);
  free(r);
}

void s3l_suite_swaps(void** state) {
  s3l_store_suite_t* suite = *state;
  s3l_suite_req_t* r = new_requests(1);
  char first[256], second[256];
  assert_done(s3l_suite_put(suite, r, "swap", S3LECT_ALWAYS, NULL, "1"));
  snprintf(first, sizeof(first), "%s", r->result.etag);
  assert_done(s3l_suite_put(suite, r, "swap", S3LECT_IF_MATCH, first, "2"));
  snprintf(second, sizeof(second), "%s", r->result.etag);
  assert_string_not_equal(first, second);
  assert_lost(s3l_suite_put(suite, r, "swap", S3LECT_IF_MATCH, first, "3"));
  assert_done(s3l_suite_get(suite, r, "swap", NULL));
  assert_string_equal(r->result.body, "2");
  assert_string_equal(r->result.etag, second);
  /* The ETag of another object is as wrong as any. */
  assert_done(s3l_suite_put(suite, r, "swap-other", S3LECT_ALWAYS, NULL, "other"));
  snprintf(first, sizeof(first), "%s", r->result.etag);
  assert_lost(s3l_suite_put(suite, r, "swap", S3LECT_IF_MATCH, first, "4"));
  assert_done(s3l_suite_put(suite, r, "swap", S3LECT_IF_MATCH, second, "5"));
  free(r);
}

/* An ETag as this store gives them, of another object. */
static void get_wrong_etag(s3l_store_suite_t* suite, s3l_suite_req_t* r, char etag[256]) {
  assert_done(s3l_suite_put(suite, r, "wrong", S3LECT_ALWAYS, NULL, "another object"));
  snprintf(etag, 256, "%s", r->result.etag);
}

void s3l_suite_missing_objects(void** state) {
  s3l_store_suite_t* suite = *state;
  s3l_suite_req_t* r = new_requests(1);
  char wrong[256];
  get_wrong_etag(suite, r, wrong);
  assert_int_equal(s3l_suite_get(suite, r, "missing", NULL)->status, S3LECT_ENOTFOUND);
  assert_int_equal(r->result.outcome, S3LECT_SETTLED);
  int status = s3l_suite_put(suite, r, "missing", S3LECT_IF_MATCH, wrong, "x")->status;
  assert_true(status == S3LECT_ENOTFOUND || status == S3LECT_EPRECONDITION);
  assert_int_equal(r->result.outcome, S3LECT_SETTLED);
  assert_int_equal(s3l_suite_get(suite, r, "missing", NULL)->status, S3LECT_ENOTFOUND);
  free(r);
}

/* Starts the same put many times at once; exactly one may win, and the object is the winner's. */
static void race(s3l_store_suite_t* suite, const char* name, uint32_t condition, const char* etag,
                 uint32_t flags) {
  s3l_suite_req_t* r = new_requests(MANY);
  char bodies[MANY][16];
  size_t winners = 0, winner = 0;
  for (size_t i = 0; i < MANY; i++) {
    snprintf(bodies[i], sizeof(bodies[i]), "racer %zu", i);
    s3l_suite_prepare(suite, &r[i], name);
    r[i].req.condition = condition;
    r[i].req.etag = etag;
    r[i].req.flags = flags;
    r[i].req.body = bodies[i];
    r[i].req.body_len = strlen(bodies[i]);
    assert_int_equal(s3l_suite_start(&r[i], s3lect_store_put), 0);
  }
  for (size_t i = 0; i < MANY; i++) {
    s3l_suite_wait(&r[i]);
    if (r[i].result.status == 0) {
      winners++;
      winner = i;
    } else if (suite->clear_conflicts || r[i].result.outcome != S3LECT_UNCERTAIN) {
      assert_lost(&r[i].result);
    }
  }
  assert_int_equal(winners, 1);
  char etag_won[256];
  snprintf(etag_won, sizeof(etag_won), "%s", r[winner].result.etag);
  assert_done(s3l_suite_get(suite, &r[0], name, NULL));
  assert_string_equal(r[0].result.body, bodies[winner]);
  assert_string_equal(r[0].result.etag, etag_won);
  free(r);
}

void s3l_suite_one_of_many_creates_wins(void** state) {
  for (int round = 0; round < 3; round++) {
    char name[32];
    snprintf(name, sizeof(name), "race-create-%d", round);
    race(*state, name, S3LECT_IF_ABSENT, NULL, 0);
  }
}

void s3l_suite_one_of_many_swaps_wins(void** state) {
  s3l_store_suite_t* suite = *state;
  s3l_suite_req_t* r = new_requests(1);
  char etag[256];
  assert_done(s3l_suite_put(suite, r, "race-swap", S3LECT_ALWAYS, NULL, "start"));
  for (int round = 0; round < 3; round++) {
    /* A swap of one's own comes first, so that the dialect of the store's ETags is known. */
    snprintf(etag, sizeof(etag), "%s", s3l_suite_get(suite, r, "race-swap", NULL)->etag);
    assert_done(s3l_suite_put(suite, r, "race-swap", S3LECT_IF_MATCH, etag, "before the race"));
    snprintf(etag, sizeof(etag), "%s", r->result.etag);
    race(suite, "race-swap", S3LECT_IF_MATCH, etag, 0);
  }
  free(r);
}

void s3l_suite_etags_are_fresh(void** state) {
  s3l_store_suite_t* suite = *state;
  s3l_suite_req_t* r = new_requests(1);
  char first[256], second[256];
  assert_done(s3l_suite_put(suite, r, "fresh", S3LECT_ALWAYS, NULL, "body 1"));
  snprintf(first, sizeof(first), "%s", r->result.etag);
  assert_done(s3l_suite_put(suite, r, "fresh", S3LECT_ALWAYS, NULL, "body 2"));
  snprintf(second, sizeof(second), "%s", r->result.etag);
  assert_string_not_equal(first, second);
  if (suite->fresh_etags) {
    assert_done(s3l_suite_put(suite, r, "fresh", S3LECT_ALWAYS, NULL, "body 1"));
    assert_string_not_equal(r->result.etag, first);
    assert_string_not_equal(r->result.etag, second);
  }
  free(r);
}

void s3l_suite_reads_its_writes(void** state) {
  s3l_store_suite_t* suite = *state;
  s3l_suite_req_t* r = new_requests(1);
  for (int i = 0; i < 20; i++) {
    char body[32], etag[256];
    snprintf(body, sizeof(body), "write %d", i);
    assert_done(s3l_suite_put(suite, r, "own", S3LECT_ALWAYS, NULL, body));
    snprintf(etag, sizeof(etag), "%s", r->result.etag);
    assert_done(s3l_suite_get(suite, r, "own", NULL));
    assert_string_equal(r->result.body, body);
    assert_string_equal(r->result.etag, etag);
    assert_true(r->result.store_time_ms > 0);
    assert_true(r->result.modified_ms > 0);
    assert_true(r->result.modified_ms <= r->result.store_time_ms + 1000);
  }
  assert_done(s3l_suite_put(suite, r, "own", S3LECT_ALWAYS, NULL, ""));
  assert_done(s3l_suite_get(suite, r, "own", NULL));
  assert_int_equal(r->result.body_len, 0);
  free(r);
}

void s3l_suite_reads_unless_unchanged(void** state) {
  s3l_store_suite_t* suite = *state;
  s3l_suite_req_t* r = new_requests(1);
  char etag[256];
  assert_done(s3l_suite_put(suite, r, "unchanged", S3LECT_ALWAYS, NULL, "a"));
  snprintf(etag, sizeof(etag), "%s", r->result.etag);
  assert_int_equal(s3l_suite_get(suite, r, "unchanged", etag)->status, S3LECT_ENOTMODIFIED);
  assert_string_equal(r->result.etag, etag);
  assert_int_equal(r->result.body_len, 0);
  assert_done(s3l_suite_put(suite, r, "unchanged", S3LECT_ALWAYS, NULL, "b"));
  assert_done(s3l_suite_get(suite, r, "unchanged", etag));
  assert_string_equal(r->result.body, "b");
  free(r);
}

void s3l_suite_bounds_bodies(void** state) {
  s3l_store_suite_t* suite = *state;
  s3l_suite_req_t* r = new_requests(1);
  char etag[256];
  assert_done(s3l_suite_put(suite, r, "long", S3LECT_ALWAYS, NULL, "0123456789"));
  snprintf(etag, sizeof(etag), "%s", r->result.etag);
  s3l_suite_prepare(suite, r, "long");
  r->req.body_max = 9;
  assert_int_equal(s3l_suite_do(r, s3lect_store_get)->status, S3LECT_ETOOBIG);
  assert_string_equal(r->result.etag, etag);
  r->req.body_max = 10;
  assert_done(s3l_suite_do(r, s3lect_store_get));
  assert_int_equal(r->result.body_len, 10);
  assert_done(s3l_suite_put(suite, r, "long", S3LECT_IF_MATCH, etag, "short"));
  free(r);
}

void s3l_suite_takes_any_key(void** state) {
  static const char* const names[] = {
      "a b+c~d=1/\xC3\xA9", "100%", "q?x=y&z", "a//b", "(*)'!", "<&>\"", "#"};
  s3l_store_suite_t* suite = *state;
  s3l_suite_req_t* r = new_requests(1);
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    assert_done(s3l_suite_put(suite, r, names[i], S3LECT_IF_ABSENT, NULL, names[i]));
    assert_done(s3l_suite_get(suite, r, names[i], NULL));
    assert_string_equal(r->result.body, names[i]);
    if (suite->store->ops->list == NULL)
      continue;
    s3l_suite_prepare(suite, r, names[i]);
    r->req.max_keys = 2;
    assert_done(s3l_suite_do(r, s3lect_store_list));
    assert_int_equal(r->keys_len, 1);
    assert_string_equal(r->keys[0], r->key);
  }
  free(r);
}

void s3l_suite_deletes(void** state) {
  s3l_store_suite_t* suite = *state;
  s3l_suite_req_t* r = new_requests(1);
  char etag[256], wrong[256];
  get_wrong_etag(suite, r, wrong);
  assert_done(s3l_suite_put(suite, r, "delete", S3LECT_ALWAYS, NULL, "x"));
  snprintf(etag, sizeof(etag), "%s", r->result.etag);
  if (suite->guarded_deletes) {
    s3l_suite_prepare(suite, r, "delete");
    r->req.condition = S3LECT_IF_MATCH;
    r->req.etag = wrong;
    assert_lost(s3l_suite_do(r, s3lect_store_del));
    assert_done(s3l_suite_get(suite, r, "delete", NULL));
    s3l_suite_prepare(suite, r, "delete");
    r->req.condition = S3LECT_IF_MATCH;
    r->req.etag = etag;
    assert_done(s3l_suite_do(r, s3lect_store_del));
  } else {
    s3l_suite_prepare(suite, r, "delete");
    assert_done(s3l_suite_do(r, s3lect_store_del));
  }
  assert_int_equal(s3l_suite_get(suite, r, "delete", NULL)->status, S3LECT_ENOTFOUND);
  assert_done(s3l_suite_put(suite, r, "delete", S3LECT_IF_ABSENT, NULL, "again"));
  free(r);
}

void s3l_suite_lists_in_pages(void** state) {
  s3l_store_suite_t* suite = *state;
  s3l_suite_req_t* r = new_requests(1);
  char after[128];
  if (suite->store->ops->list == NULL) {
    s3l_suite_prepare(suite, r, "list/");
    r->req.max_keys = 2;
    assert_int_equal(s3l_suite_start(r, s3lect_store_list), UV_ENOSYS);
    free(r);
    return;
  }
  for (int i = 5; i > 0; i--) {
    char name[32];
    snprintf(name, sizeof(name), "list/lock-%010d.json", i);
    assert_done(s3l_suite_put(suite, r, name, S3LECT_ALWAYS, NULL, "x"));
  }
  assert_done(s3l_suite_put(suite, r, "lisu", S3LECT_ALWAYS, NULL, "not in the prefix"));
  s3l_suite_prepare(suite, r, "list/");
  size_t prefix = strlen(r->key);
  r->req.max_keys = 2;
  for (int page = 0; page < 3; page++) {
    assert_done(s3l_suite_do(r, s3lect_store_list));
    assert_int_equal(r->keys_len, page < 2 ? 2 : 1);
    assert_int_equal(r->result.truncated != 0, page < 2);
    for (size_t i = 0; i < r->keys_len; i++) {
      char want[32];
      snprintf(want, sizeof(want), "lock-%010d.json", page * 2 + (int)i + 1);
      assert_string_equal(r->keys[i] + prefix, want);
    }
    snprintf(after, sizeof(after), "%s", r->keys[r->keys_len - 1]);
    r->req.after = after;
  }
  s3l_suite_prepare(suite, r, "nothing-here/");
  r->req.max_keys = 10;
  assert_done(s3l_suite_do(r, s3lect_store_list));
  assert_int_equal(r->keys_len, 0);
  assert_int_equal(r->result.truncated, 0);
  free(r);
}

/* A cancelled request ends once, later, and says the truth about its effect. */
void s3l_suite_cancels(void** state) {
  s3l_store_suite_t* suite = *state;
  s3l_suite_req_t* r = new_requests(MANY);
  for (size_t i = 0; i < MANY; i++) {
    char name[32];
    snprintf(name, sizeof(name), "cancel-%zu", i);
    s3l_suite_prepare(suite, &r[i], name);
    r[i].req.condition = S3LECT_IF_ABSENT;
    r[i].req.body = "x";
    r[i].req.body_len = 1;
    assert_int_equal(s3l_suite_start(&r[i], s3lect_store_put), 0);
  }
  uv_run(suite->loop, UV_RUN_NOWAIT);
  for (size_t i = 0; i < MANY; i++) {
    unsigned before = r[i].done;
    s3lect_store_cancel(suite->store, &r[i].req);
    s3lect_store_cancel(suite->store, &r[i].req);
    assert_int_equal(r[i].done, before);
  }
  for (size_t i = 0; i < MANY; i++) {
    s3l_suite_wait(&r[i]);
    if (r[i].result.status != 0)
      assert_int_equal(r[i].result.status, UV_ECANCELED);
  }
  for (size_t i = 0; i < MANY; i++) {
    char name[32];
    int status = r[i].result.status, outcome = r[i].result.outcome;
    snprintf(name, sizeof(name), "cancel-%zu", i);
    int found = s3l_suite_get(suite, &r[i], name, NULL)->status;
    if (status == 0)
      assert_int_equal(found, 0);
    else if (outcome == S3LECT_NOT_APPLIED)
      assert_int_equal(found, S3LECT_ENOTFOUND);
  }
  /* Cancelling what has ended is harmless. */
  s3lect_store_cancel(suite->store, &r[0].req);
  assert_int_equal(r[0].done, 1);
  free(r);
}

void s3l_suite_refuses_bad_requests(void** state) {
  s3l_store_suite_t* suite = *state;
  s3l_suite_req_t* r = new_requests(1);
#define REFUSED(change, op)                                                                        \
  do {                                                                                             \
    s3l_suite_prepare(suite, r, "bad");                                                            \
    r->req.max_keys = 1;                                                                           \
    change;                                                                                        \
    assert_int_equal(s3l_suite_start(r, s3lect_store_##op), UV_EINVAL);                            \
  } while (0)
  REFUSED(r->req.key = NULL, get);
  REFUSED(r->req.key = "", get);
  REFUSED(r->req.key = "", put);
  REFUSED(r->req.timeout_ms = 0, get);
  REFUSED(r->req.cb = NULL, get);
  REFUSED(r->req.condition = S3LECT_IF_CHANGED, get);
  REFUSED(r->req.condition = S3LECT_IF_MATCH, put);
  REFUSED(r->req.condition = S3LECT_IF_ABSENT, get);
  REFUSED(r->req.condition = S3LECT_IF_ABSENT, del);
  REFUSED((r->req.condition = S3LECT_IF_CHANGED, r->req.etag = "x"), put);
  REFUSED(r->req.condition = 99, get);
  REFUSED(r->req.body_len = 1, put);
  if (suite->store->ops->list != NULL) {
    REFUSED(r->req.max_keys = 0, list);
    REFUSED(r->req.max_keys = 1001, list);
  }
  REFUSED((memset(r->key, 'k', 1025), r->key[1025] = '\0'), get);
#undef REFUSED
  /* Nor does any of them end later. */
  assert_done(s3l_suite_put(suite, r, "good", S3LECT_ALWAYS, NULL, "x"));
  free(r);
}

/* A chain in which each callback starts the next operation with the same request. */
typedef struct chain_s {
  s3l_store_suite_t* suite;
  s3lect_store_req_t req;
  char key[1200];
  char body[32];
  char etag[256];
  int left;
  int err;
} chain_t;

static void chain_next(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  chain_t* c = req->data;
  char previous[256];
  c->err = result->status;
  if (c->err != 0 || --c->left == 0)
    return;
  snprintf(previous, sizeof(previous), "%s", result->etag);
  assert_string_not_equal(previous, c->etag);
  snprintf(c->etag, sizeof(c->etag), "%s", previous);
  snprintf(c->body, sizeof(c->body), "link %d", c->left);
  memset(req, 0, sizeof(*req));
  req->data = c;
  req->key = c->key;
  req->timeout_ms = c->suite->timeout_ms;
  req->cb = chain_next;
  req->condition = S3LECT_IF_MATCH;
  req->etag = c->etag;
  req->body = c->body;
  req->body_len = strlen(c->body);
  c->err = s3lect_store_put(c->suite->store, req);
}

void s3l_suite_goes_on_in_callbacks(void** state) {
  s3l_store_suite_t* suite = *state;
  s3l_suite_req_t* r = new_requests(1);
  chain_t c = {.suite = suite, .left = 10};
  assert_done(s3l_suite_put(suite, r, "chain", S3LECT_ALWAYS, NULL, "start"));
  snprintf(c.key, sizeof(c.key), "%s", r->key);
  /* The first link is this request's own end. */
  s3lect_store_result_t first = {.size = sizeof(first), .etag = r->result.etag};
  c.req.data = &c;
  chain_next(&c.req, &first);
  while (c.left > 0 && c.err == 0)
    assert_true(s3l_turn(suite->loop) != 0 || c.left == 0 || c.err != 0);
  assert_int_equal(c.err, 0);
  assert_int_equal(c.left, 0);
  assert_done(s3l_suite_get(suite, r, "chain", NULL));
  assert_string_equal(r->result.body, "link 1");
  free(r);
}

/* ---- Fenced objects (s3lect/fenced.h) ---- */

typedef struct fenced_s {
  s3lect_fenced_t req;
  unsigned done;
  int status;
  uint64_t epoch;
  char body[64];
} fenced_t;

static void on_fenced(s3lect_fenced_t* req, const s3lect_fenced_result_t* result) {
  fenced_t* f = req->data;
  f->done++;
  f->status = result->status;
  f->epoch = result->epoch;
  assert_true(result->body_len < sizeof(f->body));
  if (result->body != NULL)
    memcpy(f->body, result->body, result->body_len);
  f->body[result->body_len] = '\0';
}

/* A leader puts this, or with NULL gets. */
static int fenced(s3l_store_suite_t* suite, fenced_t* f, const char* key, uint64_t epoch,
                  const char* body) {
  f->done = 0;
  f->req.data = f;
  f->req.key = key;
  f->req.epoch = epoch;
  f->req.body = body;
  f->req.body_len = body != NULL ? strlen(body) : 0;
  f->req.timeout_ms = 3 * suite->timeout_ms;
  f->req.cb = on_fenced;
  int err = body != NULL ? s3lect_fenced_put(suite->store, &f->req)
                         : s3lect_fenced_get(suite->store, &f->req);
  assert_int_equal(err, 0);
  s3l_wait_count(suite->loop, &f->done, 1, "the end of a fenced request");
  return f->status;
}

/* On S3 an ETag is the digest of the body: the second leader's content is the first one's. */
void s3l_suite_fences(void** state) {
  s3l_store_suite_t* suite = *state;
  s3l_suite_req_t* look = calloc(1, sizeof(*look));
  fenced_t first = {0}, second = {0};
  assert_non_null(look);
  assert_int_equal(s3l_suite_put(suite, look, "fenced", S3LECT_ALWAYS, NULL, "plain")->status, 0);
  const char* key = look->key;
  assert_int_equal(fenced(suite, &second, key, 0, NULL), 0);
  assert_string_equal(second.body, "plain");
  assert_int_equal(fenced(suite, &first, key, 5, "content"), 0);
  assert_int_equal(fenced(suite, &second, key, 6, NULL), 0);
  assert_string_equal(second.body, "content");
  assert_int_equal(fenced(suite, &second, key, 6, "content"), 0);
  assert_int_equal(fenced(suite, &first, key, 5, "late"), S3LECT_EFENCED);
  assert_int_equal(first.epoch, 6);
  assert_int_equal(fenced(suite, &first, key, 5, NULL), S3LECT_EFENCED);
  assert_int_equal(fenced(suite, &first, key, 0, NULL), 0);
  assert_string_equal(first.body, "content");
  assert_int_equal(s3l_suite_get(suite, look, "fenced", NULL)->status, 0);
  assert_memory_equal(look->body, "s3lect-fence 6 ", 15);
  assert_string_equal(strchr(look->body, '\n'), "\ncontent");
  s3l_suite_prepare(suite, look, "nothing");
  assert_int_equal(fenced(suite, &second, look->key, 6, NULL), S3LECT_ENOTFOUND);
  assert_int_equal(fenced(suite, &second, look->key, 6, ""), 0);
  free(look);
}
