/* util/buf: bounds. */
#include <stdio.h>
#include <string.h>

#include "lib/test.h"
#include "util/buf.h"

static void writes(void** state) {
  char p[80];
  s3l_buf_t b;
  s3l_buf_init(&b, p, sizeof(p));
  s3l_buf_puts(&b, "a=");
  s3l_buf_u64(&b, UINT64_MAX);
  s3l_buf_putc(&b, ',');
  s3l_buf_i64(&b, INT64_MIN);
  s3l_buf_putc(&b, ',');
  s3l_buf_i64(&b, -1);
  s3l_buf_u64(&b, 0);
  s3l_buf_put(&b, (s3l_span_t){NULL, 0});
  assert_string_equal(s3l_buf_cstr(&b), "a=18446744073709551615,-9223372036854775808,-10");
  assert_int_equal(s3l_buf_span(&b).n, strlen(p));
}

static void stops_at_the_end(void** state) {
  char p[5] = "....";
  s3l_buf_t b;
  s3l_buf_init(&b, p, 4);
  s3l_buf_puts(&b, "abc");
  assert_non_null(s3l_buf_cstr(&b));
  s3l_buf_putc(&b, 'd');
  assert_false(b.overflow);
  assert_null(s3l_buf_cstr(&b)); /* no room for the NUL */
  s3l_buf_init(&b, p, 4);
  s3l_buf_puts(&b, "abcde");
  assert_true(b.overflow);
  assert_int_equal(b.len, 0);
  s3l_buf_putc(&b, 'x'); /* would fit, but the text is already broken */
  assert_int_equal(b.len, 0);
  assert_int_equal(p[4], 0);
}

static void cuts_behind_a_word(void** state) {
  static const struct {
    const char* text;
    const char* cut;
  } rows[] = {{"one two", "one two"},
              {"one two three", "one two three"}, /* it fits */
              {"one two threefour five", "one two..."},
              {"onetwothreefour", "onetwothree..."}};
  char p[15];
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    s3l_buf_cut(p, sizeof p, snprintf(p, sizeof p, "%s", rows[i].text));
    assert_string_equal(p, rows[i].cut);
  }
}

static void makes_one_line(void** state) {
  char text[] = "a\nb\x1b[2J\x7f\tc\xc2\x9b"
                "31m\xc3\xa9\xc2";
  s3l_buf_line(text);
  assert_string_equal(text, "a?b?[2J??c??31m\xc3\xa9\xc2");
}

static void printf_cuts(void** state) {
  char p[8];
  s3l_buf_t b;
  s3l_buf_init(&b, p, sizeof(p));
  s3l_buf_printf(&b, "%s%d", "ab", 12);
  assert_false(b.overflow);
  assert_string_equal(s3l_buf_cstr(&b), "ab12");
  s3l_buf_printf(&b, "%s", "xyz"); /* fits to the byte, with its NUL */
  assert_false(b.overflow);
  assert_int_equal(b.len, 7);
  s3l_buf_printf(&b, "%s", "");
  assert_false(b.overflow);
  s3l_buf_printf(&b, "%s", "!");
  assert_true(b.overflow);
  s3l_buf_printf(&b, "%s", "");
  assert_true(b.overflow); /* it stays so */
  assert_int_equal(b.len, 7);
  assert_string_equal(p, "ab12xyz");
  s3l_buf_init(&b, p, 4);
  s3l_buf_printf(&b, "%s", "12345");
  assert_true(b.overflow);
  assert_memory_equal(s3l_buf_span(&b).p, "123", b.len);
  assert_int_equal(b.len, 3);
  s3l_buf_init(&b, NULL, 0);
  s3l_buf_printf(&b, "%s", "1");
  assert_true(b.overflow && b.len == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(writes),
      cmocka_unit_test(stops_at_the_end),
      cmocka_unit_test(cuts_behind_a_word),
      cmocka_unit_test(makes_one_line),
      cmocka_unit_test(printf_cuts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
