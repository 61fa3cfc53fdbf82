/* util/base64: the vectors of RFC 4648, section 10, and its alphabet that is safe in URLs. */
#include <string.h>

#include "lib/test.h"
#include "util/base64.h"

static void encodes(void** state) {
  static const char* const cases[][2] = {{"", ""},
                                         {"f", "Zg=="},
                                         {"fo", "Zm8="},
                                         {"foo", "Zm9v"},
                                         {"foob", "Zm9vYg=="},
                                         {"fooba", "Zm9vYmE="},
                                         {"foobar", "Zm9vYmFy"},
                                         {"\xfb\xff\xfe", "+//+"}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    char out[16];
    s3l_buf_t b;
    s3l_buf_init(&b, out, sizeof(out));
    s3l_base64_encode(&b, cases[i][0], strlen(cases[i][0]));
    assert_string_equal(s3l_buf_cstr(&b), cases[i][1]);
  }
}

static void encodes_for_urls(void** state) {
  static const char* const cases[][2] = {{"", ""},
                                         {"f", "Zg"},
                                         {"fo", "Zm8"},
                                         {"foo", "Zm9v"},
                                         {"foobar", "Zm9vYmFy"},
                                         {"\xfb\xff\xfe", "-__-"},
                                         {"\xfb\xff", "-_8"}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    char out[16];
    s3l_buf_t b;
    s3l_buf_init(&b, out, sizeof(out));
    s3l_base64url_encode(&b, cases[i][0], strlen(cases[i][0]));
    assert_string_equal(s3l_buf_cstr(&b), cases[i][1]);
  }
}

static void decodes(void** state) {
  static const char* const bad[] = {
      "Zg", "Zg=", "Zg=a", "Z===", "====", "Zm9-", "Zm 9", "Zg==Zg==", "=Zg=", "Zm9vYmFyZm9vYmFy"};
  uint8_t out[8];
  for (size_t n = 0; n <= 8; n++) {
    static const uint8_t bytes[8] = {0xfb, 0xff, 0xfe, 0, 1, 0x80, 'a', '\n'};
    char text[16];
    s3l_buf_t b;
    s3l_buf_init(&b, text, sizeof(text));
    s3l_base64_encode(&b, bytes, n);
    assert_int_equal(s3l_base64_decode(s3l_buf_span(&b), out, sizeof(out)), n);
    assert_memory_equal(out, bytes, n);
    if (n > 0)
      assert_int_equal(s3l_base64_decode(s3l_buf_span(&b), out, n - 1), -1);
  }
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
    assert_int_equal(s3l_base64_decode(s3l_span_cstr(bad[i]), out, sizeof(out)), -1);
  assert_int_equal(s3l_base64_decode((s3l_span_t){NULL, 0}, out, 0), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(encodes), cmocka_unit_test(encodes_for_urls),
                                     cmocka_unit_test(decodes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
