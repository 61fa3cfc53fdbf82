#include "lib/election.h"

#include <stdio.h>
#include <string.h>

#include "lib/any_store.h"
#include "lib/protocol.h"
#include "lib/script_store.h"
#include "lib/test.h"
#include "lib/wait.h"

/* ---- At most one ---- */

static void check_leaders(s3l_election_t* el) {
  unsigned leaders = 0;
  for (size_t i = 0; i < el->candidates_len; i++)
    leaders += (unsigned)s3lect_elector_is_leader(&el->candidates[i]->e);
  assert_true(leaders <= 1);
}

static void on_turn(uv_check_t* watch) {
  check_leaders(watch->data);
}

/* ---- Callbacks ---- */

static s3l_candidate_t* candidate_of(s3lect_elector_t* e) {
  s3l_candidate_t* c = e->data;
  assert_int_equal(c->closed, 0);
  check_leaders(c->election);
  return c;
}

static void on_started(s3lect_elector_t* e, const s3lect_event_t* ev) {
  s3l_candidate_t* c = candidate_of(e);
  assert_int_equal(c->started, c->stopped); /* strictly paired */
  assert_true(ev->epoch > c->election->last_epoch);
  c->election->last_epoch = ev->epoch;
  c->started++;
  c->election->started++;
  c->epoch = ev->epoch;
  c->valid_until_ns = ev->valid_until_ns;
}

static void on_stopped(s3lect_elector_t* e, const s3lect_event_t* ev) {
  s3l_candidate_t* c = candidate_of(e);
  assert_int_equal(c->started, c->stopped + 1);
  assert_int_equal(s3lect_elector_is_leader(e), 0);
  assert_true(ev->valid_until_ns <= c->valid_until_ns);
  assert_int_equal(ev->epoch, c->epoch);
  c->stopped++;
  c->ended_ns = ev->valid_until_ns;
  c->told_ns = s3lect_now_ns();
  c->reason = ev->reason;
}

static void on_renewed(s3lect_elector_t* e, const s3lect_event_t* ev) {
  s3l_candidate_t* c = candidate_of(e);
  assert_true(ev->valid_until_ns > c->valid_until_ns);
  assert_int_equal(c->started, c->stopped + 1);
  c->valid_until_ns = ev->valid_until_ns;
  c->renewed++;
}

static void on_new_leader(s3lect_elector_t* e, const s3lect_event_t* ev) {
  s3l_candidate_t* c = candidate_of(e);
  snprintf(c->leader, sizeof c->leader, "%s", ev->leader_id);
  c->leaders++;
}

static void on_no_leader(s3lect_elector_t* e, const s3lect_event_t* ev) {
  s3l_candidate_t* c = candidate_of(e);
  assert_int_equal(c->started, c->stopped);
  assert_string_equal(ev->leader_id, "");
  c->leader[0] = '\0';
  c->absences++;
}

static void on_error(s3lect_elector_t* e, const s3lect_event_t* ev) {
  s3l_candidate_t* c = candidate_of(e);
  snprintf(c->message, sizeof c->message, "%s", ev->message);
  c->error = ev->error;
  c->errors++;
}

static void on_closed(s3lect_elector_t* e) {
  ((s3l_candidate_t*)e->data)->closed++;
}

/* ---- Set-up ---- */

void s3l_election_init(s3l_election_t* el, const fakes3_options_t* options) {
  fakes3_options_t o = {0};
  char why[256] = "";
  if (options != NULL)
    o = *options;
  o.protocol = s3l_any_store();
  memset(el, 0, sizeof *el);
  assert_int_equal(uv_loop_init(&el->loop), 0);
  if (fakes3_start(&el->loop, &o, &el->server, why, sizeof why) != 0)
    fail_msg("the fake S3 does not start: %s", why);
  el->key = S3L_ELECTION_KEY;
  el->epochs = s3l_test_epochs();
  s3l_wait_pace(S3L_PACE_SOCKETS);
  el->watch.data = el;
  assert_int_equal(uv_check_init(&el->loop, &el->watch), 0);
  assert_int_equal(uv_check_start(&el->watch, on_turn), 0);
  uv_unref((uv_handle_t*)&el->watch);
  s3lect_store_s3_options_init(&el->s3, sizeof el->s3);
  el->s3.bucket = S3L_ELECTION_BUCKET;
  el->s3.endpoint = fakes3_url(el->server);
  el->s3.access_key_id = FAKES3_ACCESS_KEY;
  el->s3.secret_access_key = FAKES3_SECRET_KEY;
}

void s3l_election_begin(s3l_election_t* el) {
  s3lect_error_t error;
  if (!s3l_any_store_is("s3")) {
    s3l_any_store_open(
        &el->loop, &el->store,
        &(s3l_any_store_options_t){.url = fakes3_url(el->server), .bucket = S3L_ELECTION_BUCKET});
    return;
  }
  (void)s3lect_store_s3_options_check(&el->s3, &error);
  if (s3lect_store_s3_init(&el->loop, &el->store, &el->s3, NULL) != 0)
    fail_msg("the store does not open: %s", error.text);
}

/* ---- The lockfile, past the electors ---- */

typedef struct once_s {
  s3lect_store_req_t req;
  const s3l_election_t* election;
  unsigned done;
  int status;
  s3lect_record_t record;
  size_t files;   /* epoch files; and of the newest of them: */
  uint64_t epoch; /* 0: there is none */
  char key[128];
} once_t;

static void on_once(s3lect_store_req_t* req, const s3lect_store_result_t* r) {
  once_t* once = req->data;
  once->status = r->status;
  memset(&once->record, 0, sizeof once->record);
  if (r->status == 0 && r->body != NULL && once->epoch != 0)
    (void)s3lect_epoch_file_parse(r->body, r->body_len, once->epoch, &once->record);
  else if (r->status == 0 && r->body != NULL)
    (void)s3lect_record_parse(r->body, r->body_len, &once->record);
  once->done++;
}

static void on_listed(s3lect_store_req_t* req, const s3lect_store_result_t* r) {
  once_t* once = req->data;
  assert_int_equal(r->status, 0);
  for (size_t i = 0; i < r->entries_len; i++) {
    uint64_t epoch = s3lect_epoch_file_number(once->election->key, r->entries[i].key);
    once->files += epoch > 0;
    if (epoch <= once->epoch)
      continue;
    once->epoch = epoch;
    snprintf(once->key, sizeof once->key, "%s", r->entries[i].key);
  }
  once->done++;
}

static void begin_once(s3l_election_t* el, once_t* once) {
  memset(once, 0, sizeof *once);
  once->req.data = once;
  once->req.key = el->key;
  once->req.timeout_ms = S3L_WAIT_MS;
  once->req.flags = S3LECT_REQ_NO_NOTICES; /* they are for the electors */
  once->election = el;
  if (el->epochs) {
    snprintf(once->key, sizeof once->key, "%slock-0000000007.json", el->key);
    once->req.max_keys = 1000;
    once->req.cb = on_listed;
    assert_int_equal(s3lect_store_list(&el->store, &once->req), 0);
    s3l_wait_count(&el->loop, &once->done, 1, "a list past the electors");
    once->done = 0;
    once->req.key = once->key;
  }
  once->req.cb = on_once;
}

static void end_once(s3l_election_t* el, once_t* once, const char* what) {
  s3l_wait_count(&el->loop, &once->done, 1, what);
  assert_int_equal(once->status, 0);
}

void s3l_election_put(s3l_election_t* el, const char* body, size_t len) {
  once_t once;
  begin_once(el, &once);
  once.req.body = body;
  once.req.body_len = len;
  assert_int_equal(s3lect_store_put(&el->store, &once.req), 0);
  end_once(el, &once, "a put past the electors");
}

void s3l_election_seed(s3l_election_t* el) {
  char body[1024];
  s3lect_record_t r = s3l_script_store_released();
  if (el->epochs) /* for so long the files must be watched */
    r.leader_timeout_ms = S3L_ELECTION_T_MS;
  s3l_election_put(el, body, s3l_test_encode(&r, body, sizeof body));
}

void s3l_election_delete(s3l_election_t* el) {
  once_t once;
  begin_once(el, &once);
  assert_int_equal(s3lect_store_del(&el->store, &once.req), 0);
  end_once(el, &once, "a delete past the electors");
}

s3lect_record_t s3l_election_record(s3l_election_t* el) {
  once_t once;
  begin_once(el, &once);
  assert_int_equal(s3lect_store_get(&el->store, &once.req), 0);
  end_once(el, &once, "a get past the electors");
  return once.record;
}

size_t s3l_election_files(s3l_election_t* el) {
  once_t once;
  assert_true(el->epochs);
  begin_once(el, &once);
  return once.files;
}

void s3l_election_fault(s3l_election_t* el, const char* json) {
  char why[256] = "";
  if (fakes3_fault(el->server, json, why, sizeof why) <= 0)
    fail_msg("%s: %s", json, why);
}

void s3l_election_heal(s3l_election_t* el) {
  (void)fakes3_fault_clear(el->server, 0);
}

size_t s3l_election_writes(s3l_election_t* el) {
  fakes3_counters_t counters;
  fakes3_counters(el->server, &counters);
  return (size_t)counters.writes;
}

/* ---- Candidates ---- */

void s3l_candidate_init(s3l_election_t* el, s3l_candidate_t* c, const char* id) {
  memset(c, 0, sizeof *c);
  c->election = el;
  c->e.data = c;
  s3lect_elector_options_init(&c->o, sizeof c->o);
  c->o.lockfile_path = el->key;
  c->o.server_id = id;
  c->o.store = &el->store;
  c->o.leader_timeout_ms = s3l_any_store_timeout_ms(S3L_ELECTION_T_MS);
  c->o.renew_interval_ms = s3l_any_store_renew_ms(300);
  c->o.frequent_interval_ms = 300;
  c->o.infrequent_interval_ms = 600;
  c->o.request_timeout_ms = el->epochs ? 450 : 600; /* it counts twice */
  c->o.protocol = s3l_test_protocol();
  c->o.on_started_leading = on_started;
  c->o.on_stopped_leading = on_stopped;
  c->o.on_renewed = on_renewed;
  c->o.on_new_leader = on_new_leader;
  c->o.on_no_leader = on_no_leader;
  c->o.on_error = on_error;
}

void s3l_candidate_start(s3l_candidate_t* c) {
  s3l_election_t* el = c->election;
  s3lect_error_t error;
  if (s3lect_elector_options_check(&c->o, &error) != 0)
    fail_msg("%s", error.text);
  assert_int_equal(s3lect_elector_init(&el->loop, &c->e, &c->o, NULL), 0);
  assert_true(el->candidates_len < S3L_CANDIDATES_MAX);
  el->candidates[el->candidates_len++] = c;
  assert_int_equal(s3lect_elector_start(&c->e), 0);
}

void s3l_candidate_close(s3l_candidate_t* c) {
  assert_int_equal(s3lect_elector_close(&c->e, on_closed), 0);
  s3l_wait_count(&c->election->loop, &c->closed, 1, "an elector to close");
}

s3lect_stats_t s3l_candidate_stats(const s3l_candidate_t* c) {
  s3lect_stats_t stats = {.size = sizeof stats};
  assert_int_equal(s3lect_elector_stats(&c->e, &stats), 0);
  return stats;
}

void s3l_election_wait(s3l_election_t* el, const unsigned* counter, unsigned n, const char* what) {
  s3l_wait_count(&el->loop, counter, n, what);
}

static void on_server_stopped(void* arg) {
  ++*(unsigned*)arg;
}

void s3l_election_lead(s3l_election_t* el, s3l_candidate_t* leader, s3l_candidate_t* follower) {
  s3l_candidate_start(leader);
  s3l_election_wait(el, &leader->started, 1, "a leader");
  s3l_candidate_start(follower);
  s3l_election_wait(el, &follower->leaders, 1, "its follower");
}

void s3l_election_end(s3l_election_t* el) {
  for (size_t i = 0; i < el->candidates_len; i++)
    if (el->candidates[i]->closed == 0)
      s3l_candidate_close(el->candidates[i]);
  if (el->store.ops != NULL)
    s3lect_store_close(&el->store, NULL);
  fakes3_stop(el->server, on_server_stopped, &el->stopped);
  uv_close((uv_handle_t*)&el->watch, NULL);
  s3l_wait_loop_end(&el->loop);
  assert_int_equal(el->stopped, 1);
}
