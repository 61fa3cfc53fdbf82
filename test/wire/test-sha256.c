/* wire/sha256: FIPS 180 and RFC 4231 vectors, and that an engine can be used again. */
#include <string.h>

#include "lib/test.h"
#include "util/hex.h"
#include "util/prng.h"
#include "wire/sha256.h"

static void hashes(void** state) {
  s3l_sha256_t e;
  char hex[S3L_SHA256_HEX_SIZE + 1];
  char many[1000];
  assert_true(s3l_sha256_open(&e));
  for (int round = 0; round < 2; round++) {
    assert_true(s3l_sha256_hex(&e, (s3l_span_t){NULL, 0}, hex));
    assert_string_equal(hex, s3l_sha256_empty_hex);
    assert_true(s3l_sha256_hex(&e, S3L_SPAN("abc"), hex));
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_true(s3l_sha256_hex(
        &e, S3L_SPAN("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), hex));
    assert_string_equal(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    memset(many, 'a', sizeof(many));
    assert_true(s3l_sha256_hex(&e, (s3l_span_t){many, sizeof(many)}, hex));
    assert_string_equal(hex, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
  }
  s3l_sha256_close(&e);
}

static void authenticates(void** state) {
  static const char k1[20] =
      "\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b";
  char k6[131];
  memset(k6, 0xaa, sizeof(k6));
  const struct {
    s3l_span_t key, data;
    const char* want;
  } cases[] = {
      {{k1, 20},
       S3L_SPAN("Hi There"),
       "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
      {S3L_SPAN("Jefe"), S3L_SPAN("what do ya want for nothing?"),
       "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
      {{k6, sizeof(k6)},
       S3L_SPAN("Test Using Larger Than Block-Size Key - Hash Key First"),
       "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
      {{NULL, 0}, {NULL, 0}, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"},
  };
  s3l_sha256_t e;
  assert_true(s3l_sha256_open(&e));
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    s3l_hmac_key_t key;
    uint8_t digest[S3L_SHA256_SIZE];
    assert_true(s3l_hmac_prepare(&e, cases[i].key, &key));
    for (int round = 0; round < 2; round++) {
      char hex[S3L_SHA256_HEX_SIZE + 1] = {0};
      assert_true(s3l_hmac(&e, &key, cases[i].data, digest));
      s3l_hex_encode(digest, sizeof(digest), hex);
      assert_string_equal(hex, cases[i].want);
    }
  }
  s3l_sha256_close(&e);
}

/* Whatever text came before, and wherever the next one begins to differ. */
static void remembers_beginnings(void** state) {
  s3l_sha256_t e;
  s3l_sha256_memo_t memo;
  s3l_prng_t rng;
  char text[400];
  char want[S3L_SHA256_HEX_SIZE + 1], got[S3L_SHA256_HEX_SIZE + 1];
  s3l_prng_seed(&rng, 1);
  memset(&memo, 0, sizeof(memo));
  memset(text, 'a', sizeof(text));
  assert_true(s3l_sha256_open(&e));
  for (int i = 0; i < 2000; i++) {
    const s3l_span_t s = {text, (size_t)s3l_prng_below(&rng, sizeof(text) + 1)};
    assert_true(s3l_sha256_hex_memo(&e, &memo, s, got));
    assert_true(s3l_sha256_hex(&e, s, want));
    assert_string_equal(got, want);
    if (i % 3 != 0)
      text[s3l_prng_below(&rng, sizeof(text))] = (char)('a' + s3l_prng_below(&rng, 3));
  }
  assert_true(s3l_sha256_hex_memo(&e, &memo, (s3l_span_t){NULL, 0}, got));
  assert_string_equal(got, s3l_sha256_empty_hex);
  s3l_sha256_close(&e);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hashes),
      cmocka_unit_test(authenticates),
      cmocka_unit_test(remembers_beginnings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
