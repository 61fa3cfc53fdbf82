/* The names of epoch files, and what is kept of a listing. */
#include <string.h>

#include "core/epochs.h"
#include "lib/test.h"

static void test_tails(void** state) {
  static const struct {
    uint64_t number;
    const char* tail;
  } rows[] = {{1, "lock-0000000001.json"},
              {1763760000, "lock-1763760000.json"},
              {S3L_EPOCHS_MAX, "lock-9999999998.json"}};
  char tail[S3L_EPOCHS_TAIL_SIZE];
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    s3l_epochs_tail(rows[i].number, tail);
    assert_string_equal(tail, rows[i].tail);
    assert_int_equal(s3l_epochs_number(s3l_span_cstr(tail)), rows[i].number);
  }
}

/* Keys that are not exactly so are others' business. */
static void test_other_tails(void** state) {
  static const char* const tails[] = {
      "",
      "lock-",
      "lock-0000000000.json", /* no epoch */
      "lock-9999999999.json", /* there could be no next one */
      "lock-000000001.json",
      "lock-00000000001.json",
      "lock-000000001x.json",
      "lock-+000000001.json",
      "lock- 000000001.json",
      "Lock-0000000001.json",
      "lock-0000000001.JSON",
      "lock-0000000001.jso",
      "lock-0000000001.json ",
      "lock-0000000001.json.verify-1",
      "block-000000001.json",
  };
  for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++)
    if (s3l_epochs_number(s3l_span_cstr(tails[i])) != 0)
      fail_msg("\"%s\" is taken for an epoch file", tails[i]);
  /* The span ends where it ends. */
  assert_int_equal(s3l_epochs_number((s3l_span_t){"lock-0000000001.jsonx", 20}), 1);
  assert_int_equal(s3l_epochs_number((s3l_span_t){"lock-0000000001.json", 19}), 0);
}

static void test_listings(void** state) {
  s3l_listing_t l;
  memset(&l, 0, sizeof l);
  s3l_listing_add(&l, 0, 5); /* no epoch file */
  assert_int_equal(l.highest, 0);
  assert_int_equal(l.old_len, 0);
  for (uint64_t i = 1; i <= 1000; i++)
    s3l_listing_add(&l, 3 * i, (int64_t)i);
  assert_int_equal(l.highest, 3000);
  assert_int_equal(l.old_len, S3L_LISTING_OLD);
  for (uint32_t i = 0; i < S3L_LISTING_OLD; i++) {
    assert_int_equal(l.old[i], 3 * (i + 1));
    assert_int_equal(l.old_modified_ms[i], i + 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tails),
      cmocka_unit_test(test_other_tails),
      cmocka_unit_test(test_listings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
