/* The model store, the clocks and the heap: what every simulated run stands on. */
#include <string.h>

#include "lib/test.h"
#include "s3lect/errno.h"
#include "sim/heap.h"
#include "sim/plan.h"
#include "sim/rnd.h"
#include "sim/store.h"

static sim_store_t store;

static int setup(void** state) {
  memset(&store, 0, sizeof store);
  store.unix_ms = 1700000000000;
  store.page = 1000;
  return 0;
}

static int put(s3l_ns_t t, uint64_t number, s3lect_condition_t how, const char* etag,
               const char* body) {
  return sim_store_put(&store, t, number, how, etag, false, body, strlen(body)).status;
}

static int get(uint64_t number, const char* etag) {
  return sim_store_get(&store, 0, number, etag).status;
}

static s3l_listing_t list(s3l_ns_t t, uint64_t after) {
  s3l_listing_t l;
  uint64_t last = 0;
  memset(&l, 0, sizeof l);
  sim_store_list(&store, t, after, &l, &last);
  return l;
}

static void test_conditions(void** state) {
  char first[SIM_ETAG_SIZE];
  const sim_object_t* o;
  assert_int_equal(put(0, 7, S3LECT_IF_MATCH, "\"x\"", "1"), S3LECT_ENOTFOUND);
  assert_int_equal(put(0, 7, S3LECT_IF_ABSENT, "", "1"), 0);
  assert_int_equal(put(0, 7, S3LECT_IF_ABSENT, "", "2"), S3LECT_EPRECONDITION);
  assert_int_equal(put(0, 7, S3LECT_IF_MATCH, "\"x\"", "2"), S3LECT_EPRECONDITION);
  assert_int_equal(put(0, 8, S3LECT_IF_ABSENT, "", "1"), 0);
  assert_int_equal(put(0, 0, S3LECT_IF_ABSENT, "", "1"), 0);
  o = sim_store_find(&store, 7);
  memcpy(first, o->etag, sizeof first);
  /* As on AWS: the same body, the same ETag. */
  assert_string_equal(first, sim_store_find(&store, 8)->etag);
  assert_int_equal(put(0, 7, S3LECT_IF_MATCH, first, "2"), 0);
  assert_string_not_equal(o->etag, first);
  assert_int_equal(put(0, 7, S3LECT_IF_MATCH, first, "3"), S3LECT_EPRECONDITION);
  assert_int_equal(o->body_len, 1);
  assert_int_equal(o->body[0], '2');
  assert_int_equal(put(0, 7, S3LECT_IF_MATCH, o->etag, "1"), 0);
  assert_string_equal(o->etag, first);
  assert_int_equal(put(0, 7, S3LECT_ALWAYS, "", "5"), 0);
  store.no_if_match = true;
  assert_int_equal(put(0, 7, S3LECT_IF_MATCH, o->etag, "6"), S3LECT_EUNSUPPORTED);
  assert_int_equal(o->body[0], '5');
}

static void test_reads(void** state) {
  assert_int_equal(get(7, ""), S3LECT_ENOTFOUND);
  assert_int_equal(put(S3L_SECOND, 7, S3LECT_IF_ABSENT, "", "1"), 0);
  const sim_object_t* o = sim_store_find(&store, 7);
  sim_reply_t r = sim_store_get(&store, 90 * S3L_SECOND + S3L_MS, 7, "");
  assert_int_equal(r.status, 0);
  assert_ptr_equal(r.object, o);
  assert_int_equal(r.modified_ms, 1700000001000);
  assert_int_equal(r.store_time_ms, 1700000090000); /* whole seconds */
  assert_int_equal(get(7, o->etag), S3LECT_ENOTMODIFIED);
  assert_int_equal(get(7, "\"x\""), 0);
  assert_int_equal(get(8, ""), S3LECT_ENOTFOUND);
  sim_store_set(&store, 0, 7, "1", 1)->oversized = true;
  assert_int_equal(get(7, ""), S3LECT_ETOOBIG);
  sim_store_delete(&store, 0, 7);
  assert_int_equal(get(7, ""), S3LECT_ENOTFOUND);
  assert_int_equal(put(0, 7, S3LECT_IF_ABSENT, "", "2"), 0);
  assert_int_equal(get(7, ""), 0);
}

static void test_dialects(void** state) {
  static const struct {
    sim_dialect_t dialect;
    bool bare;
    int status;
  } rows[] = {{SIM_TAKES_BARE, false, S3LECT_EPRECONDITION},
              {SIM_TAKES_BARE, true, 0},
              {SIM_TAKES_QUOTED, true, S3LECT_EPRECONDITION},
              {SIM_TAKES_QUOTED, false, 0}};
  const sim_object_t* o = sim_store_set(&store, 0, 0, "1", 1);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    store.dialect = rows[i].dialect;
    sim_reply_t r = sim_store_put(&store, 0, 0, S3LECT_IF_MATCH, o->etag, rows[i].bare, "2", 1);
    assert_int_equal(r.status, rows[i].status);
  }
}

static void test_listings(void** state) {
  uint64_t last = 0;
  s3l_listing_t l;
  for (uint64_t n = 9; n >= 1; n--)
    assert_int_equal(put(0, n, S3LECT_IF_ABSENT, "", "1"), 0);
  assert_int_equal(list(0, 0).highest, 9);
  assert_int_equal(list(0, 8).highest, 9);
  assert_int_equal(list(0, 9).highest, 0);
  assert_int_equal(list(0, 4).old[0], 5);
  assert_int_equal(sim_store_newest(&store)->number, 9);
  sim_store_delete(&store, 0, 9);
  assert_int_equal(list(1, 0).highest, 8);
  assert_int_equal(sim_store_count(&store, 0), 8);
  assert_int_equal(sim_store_count(&store, 5), 3);
  store.page = 3;
  memset(&l, 0, sizeof l);
  sim_store_list(&store, 1, 0, &l, &last);
  assert_true(l.truncated);
  assert_int_equal(l.highest, 3);
  assert_int_equal(last, 3);
  assert_false(list(1, 5).truncated);
}

static void test_listings_that_lag(void** state) {
  store.lag = 5 * S3L_SECOND;
  assert_int_equal(put(10 * S3L_SECOND, 7, S3LECT_IF_ABSENT, "", "1"), 0);
  assert_int_equal(list(14 * S3L_SECOND, 0).highest, 0);
  assert_int_equal(list(15 * S3L_SECOND, 0).highest, 7);
  sim_store_delete(&store, 20 * S3L_SECOND, 7);
  assert_int_equal(list(24 * S3L_SECOND, 0).highest, 7);
  assert_int_equal(list(25 * S3L_SECOND, 0).highest, 0);
}

/* However many there were: the oldest go, and what is newest stays. */
static void test_no_end_of_files(void** state) {
  for (uint64_t n = 1; n <= 3 * SIM_OBJECTS_MAX; n++)
    assert_int_equal(put((s3l_ns_t)n, n, S3LECT_IF_ABSENT, "", "1"), 0);
  assert_int_equal(sim_store_newest(&store)->number, 3 * SIM_OBJECTS_MAX);
  assert_true(sim_store_count(&store, 0) <= SIM_OBJECTS_MAX);
}

/* Whatever the rate: `when` is the first instant at which the clock shows that much. */
static void test_clocks(void** state) {
  static const int64_t rates[] = {0, 10000000, -10000000, 7, -7, 40000000};
  s3l_prng_t g = sim_rnd(1, 1);
  for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
    sim_clock_t c = {.true_base = 5, .boot_base = 123456789, .ppb = rates[i]};
    for (int k = 0; k < 1000; k++) {
      s3l_ns_t boot = c.boot_base + 1 + sim_between(&g, 0, 90000 * S3L_SECOND);
      s3l_ns_t t = sim_clock_when(&c, boot);
      assert_true(sim_clock_read(&c, t) >= boot);
      assert_true(sim_clock_read(&c, t - 1) < boot);
    }
  }
}

static void test_a_rate_that_changes(void** state) {
  sim_clock_t c = {.boot_base = S3L_SECOND};
  s3l_ns_t t = 100 * S3L_SECOND;
  sim_clock_set_rate(&c, t, 10000000);
  assert_int_equal(sim_clock_read(&c, t), 101 * S3L_SECOND);
  assert_int_equal(sim_clock_read(&c, 2 * t), 202 * S3L_SECOND);
}

static void test_heap_order(void** state) {
  static sim_heap_t h;
  sim_item_t item = {0};
  s3l_prng_t g = sim_rnd(2, 2);
  sim_heap_init(&h);
  for (uint16_t i = 0; i < 2000; i++) {
    item = (sim_item_t){.at = (s3l_ns_t)sim_below(&g, 300), .index = i};
    assert_true(sim_heap_push(&h, item));
  }
  sim_item_t last = {.at = -1};
  for (int i = 0; i < 2000; i++) {
    assert_true(sim_heap_pop(&h, &item));
    /* Of one instant the one put in first comes first. */
    assert_true(item.at > last.at || (item.at == last.at && item.index > last.index));
    last = item;
  }
  assert_false(sim_heap_pop(&h, &item));
}

static void test_trouble_names(void** state) {
  uint32_t bits = 0;
  char bad[8];
  assert_true(sim_troubles_parse("all", &bits, bad, sizeof bad));
  assert_int_equal(bits & SIM_BIT(BEYOND_DRIFT), 0);
  assert_int_equal(bits, SIM_TROUBLES_ALL);
  assert_true(sim_troubles_parse("none", &bits, bad, sizeof bad));
  assert_int_equal(bits, 0);
  assert_true(sim_troubles_parse("loss,pause", &bits, bad, sizeof bad));
  assert_int_equal(bits, SIM_BIT(LOSS) | SIM_BIT(PAUSE));
  assert_false(sim_troubles_parse("loss,earthquake", &bits, bad, sizeof bad));
  assert_string_equal(bad, "earthqu");
  assert_false(sim_troubles_parse("loss,", &bits, bad, sizeof bad));
}

/* All is over when a chapter says that it is calm. */
static void test_plans_keep_their_quiet(void** state) {
  static sim_plan_t p;
  for (uint64_t seed = 0; seed < 50; seed++) {
    sim_plan(&p, seed, 5, 24, SIM_TROUBLES_ALL);
    assert_true(p.faults_len > 100);
    for (size_t c = 0; c < p.chapters_len; c++) {
      assert_true(p.chapters[c].quiet_to - p.chapters[c].quiet_from >= 600 * S3L_SECOND);
      for (size_t i = p.chapters[c].faults_from; i < p.chapters[c].faults_to; i++) {
        assert_true(p.faults[i].at < p.chapters[c].calm_from);
        assert_true(p.faults[i].until <= p.chapters[c].calm_from);
      }
    }
    for (unsigned i = 0; i < p.nodes_len; i++) {
      const s3l_core_config_t* k = &p.nodes[i].config;
      assert_int_equal(s3l_timing_missing_ms(k->renew_interval_ms, k->request_timeout_ms,
                                             k->leader_timeout_ms, k->drift_ppm, 1),
                       0);
      assert_true(p.nodes[i].ppb <= (int64_t)k->drift_ppm * 1000);
      assert_true(p.nodes[i].ppb >= -(int64_t)k->drift_ppm * 1000);
    }
  }
}

#define T(test) cmocka_unit_test_setup(test, setup)

int main(void) {
  const struct CMUnitTest tests[] = {
      T(test_conditions),
      T(test_reads),
      T(test_dialects),
      T(test_listings),
      T(test_listings_that_lag),
      T(test_no_end_of_files),
      T(test_clocks),
      T(test_a_rate_that_changes),
      T(test_heap_order),
      T(test_trouble_names),
      T(test_plans_keep_their_quiet),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
