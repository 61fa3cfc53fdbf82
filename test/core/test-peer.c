/* Peer mode between two cores in virtual time: what a leader says of itself, and what a stable hour
 * costs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/core.h"
#include "core/record.h"
#include "lib/core_config.h"
#include "s3lect/errno.h"

#define WALL_MS   INT64_C(1700000000000)
#define NODES     3
#define STORE_WAY (20 * S3L_MS) /* there and back; so far away is a peer, too */

typedef struct node_s {
  s3l_core_t core;
  char id[8], addr[8];
  bool busy; /* a request is under way, of ... */
  bool writes;
  s3l_ns_t done_at;
  s3lect_record_t record;
  char etag[S3LECT_ETAG_SIZE];
  s3l_ns_t answer_at; /* an ask is under way; 0: none */
  bool held;
  unsigned store_reads, store_writes, asks, releases;
  bool dead;
  s3l_ns_t started_at;
  s3l_ns_t takeover_at; /* as the last event told that tells it */
} node_t;

typedef struct world_s {
  s3l_ns_t now;
  node_t node[NODES];
  bool exists;
  char body[1024];
  size_t body_len;
  unsigned version;
  bool authenticated;
  bool silent; /* the store answers nothing any more: every request fails */
} world_t;

static world_t w;

static void step(node_t* n, s3l_event_t* ev);

static void carry_out(node_t* n, const s3l_effects_t* fx) {
  for (size_t i = 0; i < fx->len; i++) {
    const s3l_effect_t* e = &fx->at[i];
    switch (e->kind) {
    case S3L_DO_READ:
    case S3L_DO_WRITE:
      assert_false(n->busy);
      n->busy = true;
      n->writes = e->kind == S3L_DO_WRITE;
      n->done_at = w.now + STORE_WAY;
      n->record = fx->record;
      snprintf(n->etag, sizeof n->etag, "%s", e->etag);
      n->store_reads += !n->writes;
      n->store_writes += n->writes;
      break;
    case S3L_DO_LIST:
    case S3L_DO_GC:
    case S3L_DO_GC_CANCEL:
      fail_msg("there are no epoch files here");
      break;
    case S3L_DO_PROBE:
      assert_int_equal(n->answer_at, 0);
      n->answer_at = w.now + STORE_WAY + e->wait_ms * S3L_MS;
      n->held = e->wait_ms > 0;
      n->asks++;
      break;
    case S3L_DO_PROBE_CANCEL:
      assert_int_not_equal(n->answer_at, 0);
      n->answer_at = w.now + S3L_MS;
      break;
    case S3L_DO_RELEASED:
      n->releases++;
      /* Whoever waits is answered now. */
      for (int k = 0; k < NODES; k++)
        if (w.node[k].answer_at > 0 && &w.node[k] != n)
          w.node[k].answer_at = w.now + STORE_WAY / 2;
      break;
    case S3L_DO_NOTIFY:
      if (e->note == S3LECT_EVENT_STARTED_LEADING)
        n->started_at = w.now;
      if (e->note == S3LECT_EVENT_STARTED_LEADING || e->note == S3LECT_EVENT_NEW_LEADER)
        n->takeover_at = e->takeover_at;
      break;
    case S3L_DO_CANCEL:
    case S3L_DO_STOPPED:
      break;
    }
  }
}

static void step(node_t* n, s3l_event_t* ev) {
  s3l_effects_t fx;
  ev->wall_ms = WALL_MS + w.now / S3L_MS;
  s3l_core_step(&n->core, w.now, ev, &fx);
  carry_out(n, &fx);
}

static void store_answers(node_t* n) {
  char etag[32];
  s3lect_store_result_t r = {.store_time_ms = WALL_MS + w.now / S3L_MS};
  snprintf(etag, sizeof etag, "\"v%u\"", w.version);
  bool same = w.exists && strcmp(n->etag, etag) == 0;
  n->busy = false;
  if (w.silent) {
    r.status = S3LECT_ESERVER;
    r.outcome = n->writes ? S3LECT_UNCERTAIN : S3LECT_NOT_APPLIED;
  } else if (n->writes && (w.exists ? same : n->etag[0] == '\0')) {
    w.exists = true;
    w.body_len = s3l_record_encode(&n->record, w.body, sizeof w.body);
    snprintf(etag, sizeof etag, "\"v%u\"", ++w.version);
    r.etag = etag;
  } else if (n->writes) {
    r.status = S3LECT_EPRECONDITION;
  } else if (!w.exists) {
    r.status = S3LECT_ENOTFOUND;
  } else if (same) {
    r.status = S3LECT_ENOTMODIFIED;
  } else {
    r.body = w.body;
    r.body_len = w.body_len;
    r.etag = etag;
  }
  step(n, &(s3l_event_t){.kind = S3L_EV_DONE, .result = &r});
}

/* Who it is that has the address in the record: in these runs, whoever leads. */
static void peer_answers(node_t* n) {
  s3l_peer_result_t r = {.kind = S3L_PEER_NOT_LEADING};
  s3l_confirmed_t c;
  s3lect_record_t record;
  char body[1024];
  n->answer_at = 0;
  for (int i = 0; i < NODES; i++) {
    if (w.node[i].dead)
      r = (s3l_peer_result_t){.kind = S3L_PEER_FAILED, .status = S3LECT_EPEER};
    if (w.node[i].dead || !s3l_core_confirmed(&w.node[i].core, w.now, &c))
      continue;
    size_t len = s3l_record_encode(&c.record, body, sizeof body);
    assert_int_equal(s3l_record_parse((s3l_span_t){body, len}, &record), 0);
    r = (s3l_peer_result_t){.record = &record,
                            .etag = c.etag,
                            .valid_for_ms = (int64_t)c.valid_for_ms,
                            .authenticated = w.authenticated,
                            .held = n->held};
    break;
  }
  step(n, &(s3l_event_t){.kind = S3L_EV_PEER, .peer = &r});
}

static s3l_ns_t due(const node_t* n) {
  if (n->dead)
    return S3L_NEVER;
  s3l_ns_t at = s3l_core_deadline(&n->core);
  if (n->busy && n->done_at < at)
    at = n->done_at;
  if (n->answer_at > 0 && n->answer_at < at)
    at = n->answer_at;
  return at;
}

static void run_until(s3l_ns_t until) {
  for (;;) {
    node_t* next = &w.node[0];
    for (int i = 1; i < NODES; i++)
      if (due(&w.node[i]) < due(next))
        next = &w.node[i];
    s3l_ns_t at = due(next);
    if (at > until)
      break;
    w.now = at;
    if (next->busy && next->done_at <= at)
      store_answers(next);
    else if (next->answer_at > 0 && next->answer_at <= at)
      peer_answers(next);
    else
      step(next, &(s3l_event_t){.kind = S3L_EV_TICK});
  }
  w.now = until;
}

static void start_node(node_t* n, unsigned incarnation_of) {
  int i = (int)(n - w.node);
  char incarnation[S3LECT_INCARNATION_SIZE];
  memset(n, 0, sizeof *n);
  snprintf(n->id, sizeof n->id, "%c", 'a' + i);
  snprintf(n->addr, sizeof n->addr, "%c:1", 'a' + i);
  snprintf(incarnation, sizeof incarnation, "%032x", incarnation_of);
  s3l_core_config_t config = s3l_test_core_config(n->id);
  config.addr = n->addr;
  config.peer_mode = true;
  s3l_core_init(&n->core, &config);
  step(n, &(s3l_event_t){
              .kind = S3L_EV_START, .incarnation = incarnation, .seed = 7u + incarnation_of});
}

/* Its connections are reset: whoever waits for it hears so at once. */
static void kill_node(node_t* died) {
  died->dead = true;
  for (int i = 0; i < NODES; i++)
    if (w.node[i].answer_at > 0)
      w.node[i].answer_at = w.now;
}

static int setup(void** state) {
  (void)state;
  memset(&w, 0, sizeof w);
  w.now = 1000 * S3L_SECOND;
  w.authenticated = true;
  for (unsigned i = 0; i < NODES; i++)
    start_node(&w.node[i], 0x10 + i);
  run_until(w.now + 60 * S3L_SECOND);
  return 0;
}

static node_t* leader(void) {
  node_t* found = NULL;
  for (int i = 0; i < NODES; i++)
    if (!w.node[i].dead && s3l_core_valid_until(&w.node[i].core) > w.now) {
      assert_null(found);
      found = &w.node[i];
    }
  return found;
}

static void forget_counts(void) {
  for (int i = 0; i < NODES; i++)
    w.node[i].store_reads = w.node[i].store_writes = w.node[i].asks = 0;
}

static void test_a_stable_hour(void** state) {
  (void)state;
  node_t* leads = leader();
  assert_non_null(leads);
  forget_counts();
  uint32_t renewals = leads->core.stats.renewals;
  run_until(w.now + 3600 * S3L_SECOND);
  assert_ptr_equal(leader(), leads);
  assert_int_equal(leads->store_reads, 0);
  assert_int_equal(leads->store_writes, leads->core.stats.renewals - renewals);
  assert_in_range(leads->store_writes, 720, 800); /* one each 4.5 to 5 s */
  for (int i = 0; i < NODES; i++)
    if (&w.node[i] != leads) {
      assert_int_equal(w.node[i].store_reads + w.node[i].store_writes, 0);
      assert_in_range(w.node[i].asks, 3600 / 8, 3600 / 4);
    }
}

/* Of an answer over plain HTTP nobody knows whose it is: the store is read now and then. */
static void test_a_stable_hour_over_plain_http(void** state) {
  (void)state;
  w.authenticated = false;
  run_until(w.now + 300 * S3L_SECOND);
  node_t* leads = leader();
  assert_non_null(leads);
  forget_counts();
  run_until(w.now + 3600 * S3L_SECOND);
  assert_ptr_equal(leader(), leads);
  for (int i = 0; i < NODES; i++)
    if (&w.node[i] != leads) {
      assert_int_equal(w.node[i].store_writes, 0);
      assert_in_range(w.node[i].store_reads, 29, 31); /* one in four infrequent intervals */
    }
}

static void test_hand_over(void** state) {
  (void)state;
  node_t* leads = leader();
  assert_non_null(leads);
  s3l_ns_t from = w.now;
  step(leads, &(s3l_event_t){.kind = S3L_EV_RESIGN});
  assert_null(leader());
  assert_int_equal(leads->releases, 0);
  run_until(from + STORE_WAY);
  assert_int_equal(leads->releases, 1);
  /* The release, the way of the answer, a read, a take-over. */
  run_until(from + 4 * STORE_WAY);
  assert_non_null(leader());
  assert_ptr_not_equal(leader(), leads);
}

/* Its followers notice at once, wait for no longer than safety demands, and say how long that was.
 */
static void test_crash(void** state) {
  (void)state;
  for (int round = 0; round < 20; round++) {
    node_t* died = leader();
    s3l_ns_t legal[NODES];
    assert_non_null(died);
    s3l_ns_t valid_until = died->core.valid_until;
    kill_node(died);
    run_until(w.now + S3L_SECOND);
    for (int i = 0; i < NODES; i++)
      legal[i] = w.node[i].core.observed.takeover_at;
    run_until(w.now + 16 * S3L_SECOND);
    node_t* leads = leader();
    assert_non_null(leads);
    for (int i = 0; i < NODES; i++)
      if (&w.node[i] != died)
        assert_int_equal(w.node[i].takeover_at, legal[i]);
    assert_true(leads->takeover_at >= valid_until);
    assert_true(leads->started_at > leads->takeover_at);
    assert_true(leads->started_at <= leads->takeover_at + 2 * STORE_WAY);
    start_node(died, 0x100u + (unsigned)round);
    run_until(w.now + 31 * S3L_SECOND + round * 777 * S3L_MS);
  }
}

/* Of a release that was seen, the taking over is legal at once. */
static void test_hand_over_is_takeover_at_once(void** state) {
  (void)state;
  node_t* left = leader();
  assert_non_null(left);
  step(left, &(s3l_event_t){.kind = S3L_EV_RESIGN});
  run_until(w.now + 4 * STORE_WAY);
  const node_t* leads = leader();
  assert_non_null(leads);
  assert_int_equal(leads->takeover_at, leads->started_at - STORE_WAY);
}

static void test_transfer(void** state) {
  (void)state;
  node_t* leads = leader();
  assert_non_null(leads);
  for (int i = 0; i < NODES; i++) {
    node_t* to = &w.node[i];
    if (to == leads)
      continue;
    step(leads, &(s3l_event_t){.kind = S3L_EV_TRANSFER, .successor = to->id});
    run_until(w.now + S3L_SECOND);
    assert_ptr_equal(leader(), to);
    run_until(w.now + 30 * S3L_SECOND);
    leads = to;
  }
}

/* Somebody is named who does not stand: when the head start is over, anybody takes it. */
static void test_transfer_to_nobody(void** state) {
  (void)state;
  node_t* leads = leader();
  assert_non_null(leads);
  step(leads, &(s3l_event_t){.kind = S3L_EV_TRANSFER, .successor = "z"});
  run_until(w.now + S3L_SUCCESSOR_PRIORITY);
  assert_null(leader());
  run_until(w.now + S3L_SECOND);
  assert_non_null(leader());
  assert_ptr_not_equal(leader(), leads);
}

/* The leader alone hears nothing of the store any more; its followers hear of it. What it says of
 * itself is what the store confirmed last, and when its validity ends it says no more. */
static void test_what_a_leader_says(void** state) {
  (void)state;
  node_t* leads = leader();
  s3l_confirmed_t c;
  assert_true(s3l_core_confirmed(&leads->core, w.now, &c));
  assert_string_equal(c.record.leader_id, leads->id);
  assert_string_equal(c.record.leader_addr, leads->addr);
  assert_string_equal(c.record.incarnation, leads->core.incarnation);
  assert_string_equal(c.etag, leads->core.observed.etag);
  assert_true(c.record.epoch == leads->core.epoch &&
              c.record.write == leads->core.observed.record.write);
  s3l_ns_t valid = leads->core.valid_until;
  s3l_ns_t left = valid - w.now;
  assert_true((s3l_ns_t)c.valid_for_ms * S3L_MS >= left);
  assert_true((s3l_ns_t)c.valid_for_ms * S3L_MS < left + S3L_MS);
  uint64_t write = c.record.write;
  w.silent = true;
  run_until(valid - 6 * S3L_MS); /* with renewals sent, and their outcome unknown */
  assert_true(leads->core.write > write);
  assert_true(s3l_core_confirmed(&leads->core, w.now, &c));
  assert_int_equal(c.record.write, write);
  assert_int_equal(c.valid_for_ms, 6);
  assert_true(s3l_core_confirmed(&leads->core, valid - 1, &c));
  assert_int_equal(c.valid_for_ms, 1);
  assert_false(s3l_core_confirmed(&leads->core, valid, &c));
  run_until(valid);
  assert_false(s3l_core_confirmed(&leads->core, w.now, &c));
  assert_int_equal(leads->releases, 1);
}

static void test_a_follower_says_nothing(void** state) {
  (void)state;
  s3l_confirmed_t c;
  unsigned silent = 0;
  for (int i = 0; i < NODES; i++)
    silent += !s3l_core_confirmed(&w.node[i].core, w.now, &c);
  assert_int_equal(silent, NODES - 1);
}

#define T(test) cmocka_unit_test_setup(test, setup)

int main(void) {
  const struct CMUnitTest tests[] = {
      T(test_a_stable_hour),
      T(test_a_stable_hour_over_plain_http),
      T(test_hand_over),
      T(test_hand_over_is_takeover_at_once),
      T(test_crash),
      T(test_transfer),
      T(test_transfer_to_nobody),
      T(test_what_a_leader_says),
      T(test_a_follower_says_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
