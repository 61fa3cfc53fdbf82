/* The model store, the clocks and the heap: what every simulated run stands on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "s3lect/errno.h"
#include "sim/heap.h"
#include "sim/plan.h"
#include "sim/rnd.h"
#include "sim/store.h"

static sim_store_t store;

static int setup(void** state) {
  (void)state;
  memset(&store, 0, sizeof store);
  store.unix_ms = 1700000000000;
  return 0;
}

static int put(const char* etag, bool bare, const char* body) {
  return sim_store_put(&store, S3L_SECOND, etag, bare, body, strlen(body)).status;
}

static void test_conditions(void** state) {
  (void)state;
  char first[SIM_ETAG_SIZE];
  assert_int_equal(put("\"x\"", false, "1"), S3LECT_ENOTFOUND);
  assert_int_equal(put("", false, "1"), 0);
  memcpy(first, store.etag, sizeof first);
  assert_int_equal(put("", false, "2"), S3LECT_EPRECONDITION);
  assert_int_equal(put("\"x\"", false, "2"), S3LECT_EPRECONDITION);
  assert_int_equal(put(first, false, "2"), 0);
  assert_string_not_equal(store.etag, first);
  assert_int_equal(put(first, false, "3"), S3LECT_EPRECONDITION);
  assert_int_equal(store.body_len, 1);
  assert_int_equal(store.body[0], '2');
  /* As on AWS: the same body, the same ETag. */
  assert_int_equal(put(store.etag, false, "1"), 0);
  assert_string_equal(store.etag, first);
}

static void test_reads(void** state) {
  (void)state;
  assert_int_equal(sim_store_get(&store, 0, "").status, S3LECT_ENOTFOUND);
  assert_int_equal(put("", false, "1"), 0);
  sim_reply_t r = sim_store_get(&store, 90 * S3L_SECOND + S3L_MS, "");
  assert_int_equal(r.status, 0);
  assert_true(r.has_body);
  assert_int_equal(r.modified_ms, 1700000001000);
  assert_int_equal(r.store_time_ms, 1700000090000); /* whole seconds */
  assert_int_equal(sim_store_get(&store, 0, store.etag).status, S3LECT_ENOTMODIFIED);
  assert_int_equal(sim_store_get(&store, 0, "\"x\"").status, 0);
  store.oversized = true;
  assert_int_equal(sim_store_get(&store, 0, "").status, S3LECT_ETOOBIG);
  sim_store_delete(&store);
  assert_int_equal(sim_store_get(&store, 0, "").status, S3LECT_ENOTFOUND);
  assert_int_equal(put("", false, "2"), 0);
}

static void test_dialects(void** state) {
  (void)state;
  assert_int_equal(put("", false, "1"), 0);
  store.dialect = SIM_TAKES_BARE;
  assert_int_equal(put(store.etag, false, "2"), S3LECT_EPRECONDITION);
  assert_int_equal(put(store.etag, true, "2"), 0);
  store.dialect = SIM_TAKES_QUOTED;
  assert_int_equal(put(store.etag, true, "3"), S3LECT_EPRECONDITION);
  assert_int_equal(put(store.etag, false, "3"), 0);
}

/* Whatever the rate: `when` is the first instant at which the clock shows that much. */
static void test_clocks(void** state) {
  (void)state;
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
  (void)state;
  sim_clock_t c = {.boot_base = S3L_SECOND};
  s3l_ns_t t = 100 * S3L_SECOND;
  sim_clock_set_rate(&c, t, 10000000);
  assert_int_equal(sim_clock_read(&c, t), 101 * S3L_SECOND);
  assert_int_equal(sim_clock_read(&c, 2 * t), 202 * S3L_SECOND);
}

static void test_heap_order(void** state) {
  (void)state;
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
  (void)state;
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
  (void)state;
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_conditions, setup), cmocka_unit_test_setup(test_reads, setup),
      cmocka_unit_test_setup(test_dialects, setup),   cmocka_unit_test(test_clocks),
      cmocka_unit_test(test_a_rate_that_changes),     cmocka_unit_test(test_heap_order),
      cmocka_unit_test(test_trouble_names),           cmocka_unit_test(test_plans_keep_their_quiet),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
