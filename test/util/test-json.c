/* util/json: what is JSON and what is not, look-up as Go does it, escapes both ways. */
#include <string.h>

#include "lib/test.h"
#include "s3lect/errno.h"
#include "util/json.h"

static int parse(s3l_json_t* j, const char* text) {
  return s3l_json_parse(j, s3l_span_cstr(text));
}

static void accepts_objects(void** state) {
  static const char* const good[] = {"{}",
                                     " \t\r\n{ } \n",
                                     "{\"a\":1}",
                                     "{\"a\":{\"b\":[1,2,{\"c\":null}]},\"d\":true}",
                                     "{\"a\":-0.5e+10,\"b\":0,\"c\":1E3,\"d\":\"\\u00e9\\n\\/\"}",
                                     "{\"\":\"\"}",
                                     "{\"a\":\"\xC3\xA9\"}",
                                     "{\"a\":[]}",
                                     "{\"a\":[[],{}]}"};
  s3l_json_t j;
  for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
    if (parse(&j, good[i]) != 0)
      fail_msg("refused %s", good[i]);
  }
}

static void refuses_what_is_not_json(void** state) {
  static const char* const bad[] = {"",
                                    " ",
                                    "1",
                                    "[]",
                                    "\"a\"",
                                    "null",
                                    "{",
                                    "}",
                                    "{}{}",
                                    "{} x",
                                    "{,}",
                                    "{\"a\"}",
                                    "{\"a\":}",
                                    "{\"a\":1,}",
                                    "{,\"a\":1}",
                                    "{\"a\" 1}",
                                    "{\"a\":1 \"b\":2}",
                                    "{\"a\":1 2}",
                                    "{a:1}",
                                    "{'a':1}",
                                    "{1:1}",
                                    "{\"a\":tru}",
                                    "{\"a\":truex}",
                                    "{\"a\":01}",
                                    "{\"a\":1.}",
                                    "{\"a\":.5}",
                                    "{\"a\":-}",
                                    "{\"a\":+1}",
                                    "{\"a\":1e}",
                                    "{\"a\":0x1}",
                                    "{\"a\":NaN}",
                                    "{\"a\":[1,]}",
                                    "{\"a\":[1 2]}",
                                    "{\"a\":[1}",
                                    "{\"a\":]}",
                                    "{\"a\":\"\\x\"}",
                                    "{\"a\":\"\\u12g4\"}",
                                    "{\"a\":\"\\u12\"}",
                                    "{\"a\":\"\n\"}",
                                    "{\"a\":\"b}",
                                    "{\"a\":\"\\\"}",
                                    "{\"a\":\"\xC3\"}",
                                    "{\"a\":\"\xC0\x80\"}",
                                    "{\"a\":\"\xED\xA0\x80\"}",
                                    "{\"a\":\"\xF4\x90\x80\x80\"}",
                                    "{\"a\":\"\xFF\"}",
                                    "{\"a\":\"\xE2\x82\"}",
                                    "\xEF\xBB\xBF{}",
                                    "{{\"a\":1}:2}",
                                    "{\"a\":1}}",
                                    "{\"a\"::1}",
                                    "<html></html>",
                                    "{\"a\":1]"};
  s3l_json_t j;
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    if (parse(&j, bad[i]) != S3LECT_ERECORD)
      fail_msg("accepted %s", bad[i]);
    assert_false(s3l_json_has(&j, S3L_JSON_ROOT, "a"));
  }
  assert_int_equal(s3l_json_parse(&j, S3L_SPAN("{}\0")), S3LECT_ERECORD);
  assert_int_equal(s3l_json_parse(&j, S3L_SPAN("{\"a\":\"\0\"}")), S3LECT_ERECORD);
  const char whole[] = "{\"leaderID\":\"a\\u00e9\",\"x\":[1,{\"y\":-1.5e3}],\"z\":false}";
  for (size_t n = 0; n < sizeof(whole) - 1; n++)
    assert_int_equal(s3l_json_parse(&j, (s3l_span_t){whole, n}), S3LECT_ERECORD);
  assert_int_equal(parse(&j, whole), 0);
}

static void keeps_to_its_limits(void** state) {
  char text[4096];
  s3l_buf_t b;
  s3l_json_t j;
  for (int depth = S3L_JSON_DEPTH_MAX - 1; depth <= S3L_JSON_DEPTH_MAX + 1; depth++) {
    s3l_buf_init(&b, text, sizeof(text));
    s3l_buf_puts(&b, "{\"a\":");
    for (int i = 1; i < depth; i++)
      s3l_buf_putc(&b, '[');
    for (int i = 1; i < depth; i++)
      s3l_buf_putc(&b, ']');
    s3l_buf_putc(&b, '}');
    assert_int_equal(s3l_json_parse(&j, s3l_buf_span(&b)),
                     depth <= S3L_JSON_DEPTH_MAX ? 0 : S3LECT_ERECORD);
  }
  memset(text, '[', sizeof(text));
  memcpy(text, "{\"a\":", 5);
  assert_int_equal(s3l_json_parse(&j, (s3l_span_t){text, sizeof(text)}), S3LECT_ERECORD);
  for (int values = S3L_JSON_TOKENS_MAX - 3; values <= S3L_JSON_TOKENS_MAX - 2; values++) {
    s3l_buf_init(&b, text, sizeof(text));
    s3l_buf_puts(&b, "{\"a\":[1");
    for (int i = 1; i < values; i++)
      s3l_buf_puts(&b, ",1");
    s3l_buf_puts(&b, "]}");
    int want = values == S3L_JSON_TOKENS_MAX - 3 ? 0 : S3LECT_ERECORD;
    assert_int_equal(s3l_json_parse(&j, s3l_buf_span(&b)), want);
  }
}

static void looks_up_as_go_does(void** state) {
  s3l_json_t j;
  char s[32];
  uint64_t u;
  assert_int_equal(
      parse(&j,
            "{\"x\":{\"leaderID\":\"inner\",\"n\":3},\"LEADERid\":\"a\",\"y\":[\"leaderID\",\"q\"],"
            "\"leaderID\":\"b\",\"\\u006ceaderID\":\"c\",\"leaderID\":null,"
            "\"la\xC5\xBFtUpdated\":\"t\",\"e\":null}"),
      0);
  assert_int_equal(s3l_json_get_string(&j, S3L_JSON_ROOT, "leaderID", s, sizeof(s)), 0);
  assert_string_equal(s, "c"); /* the last one that is not null, whatever its case or escapes */
  assert_int_equal(s3l_json_get_string(&j, S3L_JSON_ROOT, "lastUpdated", s, sizeof(s)), 0);
  assert_string_equal(s, "t");
  assert_false(s3l_json_has(&j, S3L_JSON_ROOT, "e"));
  assert_false(s3l_json_has(&j, S3L_JSON_ROOT, "leaderI"));
  assert_false(s3l_json_has(&j, S3L_JSON_ROOT, "leaderIDx"));
  assert_false(s3l_json_has(&j, S3L_JSON_ROOT, "q"));
  int x = -1;
  assert_int_equal(s3l_json_get_object(&j, S3L_JSON_ROOT, "X", &x), 0);
  assert_int_equal(s3l_json_get_string(&j, x, "leaderID", s, sizeof(s)), 0);
  assert_string_equal(s, "inner");
  assert_int_equal(s3l_json_get_u64(&j, x, "n", &u), 0);
  assert_int_equal(u, 3);
  assert_int_equal(s3l_json_get_object(&j, S3L_JSON_ROOT, "y", &x), S3LECT_ERECORD);
  assert_int_equal(s3l_json_get_object(&j, S3L_JSON_ROOT, "nope", &x), S3LECT_ENOTFOUND);
}

static void reads_values(void** state) {
  s3l_json_t j;
  uint64_t u = 9;
  int64_t i = 9;
  bool b = false;
  char s[8];
  assert_int_equal(
      parse(&j,
            "{\"max\":18446744073709551615,\"over\":18446744073709551616,\"neg\":-1,"
            "\"min\":-9223372036854775808,\"below\":-9223372036854775809,\"f\":1.0,"
            "\"e\":1e3,\"s\":\"1\",\"t\":true,\"z\":-0,\"long\":\"12345678\",\"fit\":\"1234567\"}"),
      0);
  assert_int_equal(s3l_json_get_u64(&j, 0, "max", &u), 0);
  assert_true(u == UINT64_MAX);
  static const char* const not_u64[] = {"over", "neg", "f", "e", "s", "t", "z"};
  for (size_t k = 0; k < sizeof(not_u64) / sizeof(not_u64[0]); k++)
    assert_int_equal(s3l_json_get_u64(&j, 0, not_u64[k], &u), S3LECT_ERECORD);
  assert_true(u == UINT64_MAX);
  assert_int_equal(s3l_json_get_i64(&j, 0, "min", &i), 0);
  assert_true(i == INT64_MIN);
  assert_int_equal(s3l_json_get_i64(&j, 0, "below", &i), S3LECT_ERECORD);
  assert_int_equal(s3l_json_get_i64(&j, 0, "max", &i), S3LECT_ERECORD);
  assert_int_equal(s3l_json_get_i64(&j, 0, "f", &i), S3LECT_ERECORD);
  assert_int_equal(s3l_json_get_i64(&j, 0, "neg", &i), 0);
  assert_true(i == -1);
  assert_int_equal(s3l_json_get_i64(&j, 0, "z", &i), 0);
  assert_true(i == 0);
  assert_int_equal(s3l_json_get_bool(&j, 0, "t", &b), 0);
  assert_true(b);
  assert_int_equal(s3l_json_get_bool(&j, 0, "s", &b), S3LECT_ERECORD);
  assert_int_equal(s3l_json_get_bool(&j, 0, "none", &b), S3LECT_ENOTFOUND);
  assert_int_equal(s3l_json_get_string(&j, 0, "fit", s, sizeof(s)), 0);
  assert_string_equal(s, "1234567");
  assert_int_equal(s3l_json_get_string(&j, 0, "long", s, sizeof(s)), S3LECT_ERECORD);
  assert_string_equal(s, "");
  assert_int_equal(s3l_json_get_string(&j, 0, "t", s, sizeof(s)), S3LECT_ERECORD);
}

static void gives_texts_as_they_are_written(void** state) {
  static const char text[] = "{\"l\":[1, {\"a\":2}],\"s\":\"x\\n\",\"n\":null,\"t\":true}";
  static const char* const want[][2] = {{"l", "[1, {\"a\":2}]"}, {"s", "x\\n"}, {"t", "true"}};
  s3l_json_t j;
  s3l_span_t s;
  assert_int_equal(s3l_json_parse(&j, s3l_span_cstr(text)), 0);
  for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
    assert_int_equal(s3l_json_get_text(&j, S3L_JSON_ROOT, want[i][0], &s), 0);
    assert_true(s3l_span_eq(s, s3l_span_cstr(want[i][1])));
  }
  assert_int_equal(s3l_json_get_text(&j, S3L_JSON_ROOT, "n", &s), S3LECT_ENOTFOUND);
  assert_int_equal(s3l_json_get_text(&j, S3L_JSON_ROOT, "x", &s), S3LECT_ENOTFOUND);
}

static void unescapes(void** state) {
  s3l_json_t j;
  char s[64];
  assert_int_equal(
      parse(&j,
            "{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\",\"b\":\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\","
            "\"c\":\"\\ud83d\",\"d\":\"\\ude00x\",\"e\":\"\\ud83d\\u0041\",\"nul\":\"a\\u0000b\"}"),
      0);
  assert_int_equal(s3l_json_get_string(&j, 0, "a", s, sizeof(s)), 0);
  assert_string_equal(s, "\"\\/\b\f\n\r\t");
  assert_int_equal(s3l_json_get_string(&j, 0, "b", s, sizeof(s)), 0);
  assert_string_equal(s, "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  assert_int_equal(s3l_json_get_string(&j, 0, "c", s, sizeof(s)), 0);
  assert_string_equal(s, "\xEF\xBF\xBD");
  assert_int_equal(s3l_json_get_string(&j, 0, "d", s, sizeof(s)), 0);
  assert_string_equal(s, "\xEF\xBF\xBDx");
  assert_int_equal(s3l_json_get_string(&j, 0, "e", s, sizeof(s)), 0);
  assert_string_equal(s, "\xEF\xBF\xBD"
                         "A");
  assert_int_equal(s3l_json_get_string(&j, 0, "nul", s, sizeof(s)), S3LECT_ERECORD);
}

static void writes_strings(void** state) {
  char out[128];
  s3l_buf_t b;
  s3l_buf_init(&b, out, sizeof(out));
  s3l_json_put_string(&b, S3L_SPAN("a\"\\\n\r\t\x01\x7f<>&\xC3\xA9\xC2\x9B\xE2\x80\xA8\xFF\0"));
  assert_string_equal(s3l_buf_cstr(&b),
                      "\"a\\\"\\\\\\n\\r\\t\\u0001\\u007f\\u003c\\u003e\\u0026\xC3\xA9"
                      "\\u009b\\u2028\\ufffd\\u0000\"");
  /* What is written can be read. */
  char text[160], back[64];
  s3l_json_t j;
  s3l_buf_init(&b, text, sizeof(text));
  s3l_buf_puts(&b, "{\"k\":");
  s3l_json_put_string(&b, S3L_SPAN("<\"\\\x1f\xF0\x9F\x98\x80>"));
  s3l_buf_puts(&b, "}");
  assert_int_equal(s3l_json_parse(&j, s3l_buf_span(&b)), 0);
  assert_int_equal(s3l_json_get_string(&j, 0, "k", back, sizeof(back)), 0);
  assert_string_equal(back, "<\"\\\x1f\xF0\x9F\x98\x80>");
  s3l_buf_init(&b, out, 3);
  s3l_json_put_string(&b, S3L_SPAN("ab"));
  assert_true(b.overflow);
}

static void replaces_invalid_utf8(void** state) {
  static const struct {
    const char* in;
    const char* out;
  } cases[] = {{"plain", "\"plain\""},
               {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
               {"\xff", "\"\\ufffd\""},
               {"\xc0\x80", "\"\\ufffd\\ufffd\""},                       /* overlong */
               {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},            /* surrogate */
               {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""}, /* too large */
               {"\xe2\x82", "\"\\ufffd\\ufffd\""}};                      /* cut */
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char out[64];
    s3l_buf_t b;
    s3l_buf_init(&b, out, sizeof out);
    s3l_json_put_string(&b, s3l_span_cstr(cases[i].in));
    assert_string_equal(s3l_buf_cstr(&b), cases[i].out);
  }
}

static void writes_members(void** state) {
  static const char want[] = "{\"a\":\"{\",\"b\":1,\"c\":[{\"d\":-2},{}],\"e\":[]}";
  for (size_t cap = sizeof want; cap >= sizeof want - 1; cap--) {
    char out[sizeof want];
    s3l_buf_t b;
    s3l_buf_init(&b, out, cap);
    s3l_buf_putc(&b, '{');
    s3l_json_string(&b, "a", "{");
    s3l_json_u64(&b, "b", 1);
    s3l_json_key(&b, "c");
    s3l_buf_puts(&b, "[{");
    s3l_json_i64(&b, "d", -2);
    s3l_buf_putc(&b, '}');
    s3l_json_key(&b, NULL);
    s3l_buf_puts(&b, "{}]");
    s3l_json_key(&b, "e");
    s3l_buf_puts(&b, "[]}");
    if (cap < sizeof want)
      assert_null(s3l_buf_cstr(&b));
    else
      assert_string_equal(s3l_buf_cstr(&b), want);
  }
}

static void walks_members(void** state) {
  s3l_json_t j;
  char name[8];
  const char* text = "{\"a\":{\"x\":[1,2]},\"b\":null,\"a\":3,\"too long a name\":4,\"\\u0063\":5}";
  static const char* const names[] = {"a", "b", "a", "", "c"};
  int token = -1;
  assert_int_equal(s3l_json_parse(&j, s3l_span_cstr(text)), 0);
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    token = s3l_json_member(&j, S3L_JSON_ROOT, token, name, sizeof(name));
    assert_true(token > 0);
    assert_string_equal(name, names[i]);
  }
  assert_int_equal(s3l_json_member(&j, S3L_JSON_ROOT, token, name, sizeof(name)), -1);
  int inner = s3l_json_member(&j, S3L_JSON_ROOT, -1, name, sizeof(name));
  token = s3l_json_member(&j, inner, -1, name, sizeof(name));
  assert_string_equal(name, "x");
  assert_int_equal(s3l_json_member(&j, inner, token, name, sizeof(name)), -1);
  assert_int_equal(s3l_json_member(&j, token, -1, name, sizeof(name)), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(accepts_objects),
      cmocka_unit_test(refuses_what_is_not_json),
      cmocka_unit_test(walks_members),
      cmocka_unit_test(keeps_to_its_limits),
      cmocka_unit_test(looks_up_as_go_does),
      cmocka_unit_test(reads_values),
      cmocka_unit_test(gives_texts_as_they_are_written),
      cmocka_unit_test(unescapes),
      cmocka_unit_test(writes_strings),
      cmocka_unit_test(writes_members),
      cmocka_unit_test(replaces_invalid_utf8),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
