/* wire/jwt: the RS256 vector of RFC 7515, appendix A.2; tokens of fresh keys, which OpenSSL
 * verifies; what is said of keys that cannot sign; and that nothing of a key is left behind. */
#define OPENSSL_SUPPRESS_DEPRECATED

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/ui.h>
#include <stdio.h>
#include <string.h>

#include "lib/rsa_key.h"
#include "lib/secret_heap.h"
#include "lib/test.h"
#include "util/base64.h"
#include "wire/jwt.h"

#define HEADER S3L_SPAN("{\"alg\":\"RS256\"}")
#define CLAIMS                                                                                     \
  S3L_SPAN("{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n "                                        \
           "\"http://example.com/is_root\":true}")
#define HEADER_64 "eyJhbGciOiJSUzI1NiJ9"
#define CLAIMS_64                                                                                  \
  "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
#define SIGNATURE_64                                                                               \
  "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5"   \
  "jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb"   \
  "1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QO"   \
  "YEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"

#define NOT_RSA "is not an RSA key of 2048 to 4096 bits"

static char text[2048];
static s3l_buf_t out;

static const char* sign(const char* pem) {
  s3l_buf_init(&out, text, sizeof(text));
  return s3l_jwt_sign(s3l_span_cstr(pem), HEADER, CLAIMS, &out);
}

static void signs_the_vector(void** state) {
  assert_null(sign(S3L_RSA_KEY("\n")));
  char* token = text;
  assert_non_null(s3l_buf_cstr(&out));
  assert_string_equal(strsep(&token, "."), HEADER_64);
  assert_string_equal(strsep(&token, "."), CLAIMS_64);
  assert_string_equal(strsep(&token, "."), SIGNATURE_64);
  assert_null(token);
}

/* Line ends of other systems, no line end at all, and text around the key. */
static void reads_other_forms(void** state) {
  static const char* const keys[] = {S3L_RSA_KEY("\r\n"),
                                     "Bag Attributes\n" S3L_RSA_KEY("\n") "x\n"};
  for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
    assert_null(sign(keys[i]));
    assert_string_equal(s3l_buf_cstr(&out), HEADER_64 "." CLAIMS_64 "." SIGNATURE_64);
  }
  assert_null(s3l_jwt_sign((s3l_span_t){keys[0], strlen(keys[0]) - 2}, HEADER, CLAIMS, &out));
}

/* ---- Fresh keys ---- */

static char pem[16384];

static void take(BIO* bio) {
  char* p;
  long n = BIO_get_mem_data(bio, &p);
  assert_true(n > 0 && (size_t)n < sizeof(pem));
  memcpy(pem, p, (size_t)n);
  pem[n] = '\0';
  BIO_free(bio);
}

static void write_key(EVP_PKEY* key, bool traditional, const char* passphrase) {
  BIO* bio = BIO_new(BIO_s_mem());
  const EVP_CIPHER* cipher = passphrase != NULL ? EVP_aes_128_cbc() : NULL;
  int n = passphrase != NULL ? (int)strlen(passphrase) : 0;
  unsigned char* kstr = (unsigned char*)(uintptr_t)passphrase;
  assert_int_equal(traditional
                       ? PEM_write_bio_PrivateKey_traditional(bio, key, cipher, kstr, n, NULL, NULL)
                       : PEM_write_bio_PKCS8PrivateKey(bio, key, cipher, passphrase, n, NULL, NULL),
                   1);
  take(bio);
}

static void verifies(EVP_PKEY* key) {
  unsigned char signature[520];
  char standard[1024], *p = standard;
  EVP_MD_CTX* ctx = EVP_MD_CTX_new();
  const char* token = s3l_buf_cstr(&out);
  assert_non_null(token);
  const char* dot = strrchr(token, '.');
  for (const char* c = dot + 1; *c != '\0'; c++)
    *p++ = *c == '-' ? '+' : *c == '_' ? '/' : *c;
  while ((p - standard) % 4 != 0)
    *p++ = '=';
  assert_true(EVP_DecodeBlock(signature, (unsigned char*)standard, (int)(p - standard)) > 0);
  assert_int_equal(EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, key), 1);
  assert_int_equal(EVP_DigestVerify(ctx, signature, (size_t)EVP_PKEY_get_size(key),
                                    (const unsigned char*)token, (size_t)(dot - token)),
                   1);
  EVP_MD_CTX_free(ctx);
}

/* In both forms. A larger key takes long to generate. */
static void signs_with_any_key(void** state) {
  EVP_PKEY* key = EVP_RSA_gen(3072);
  for (int traditional = 0; traditional < 2; traditional++) {
    write_key(key, traditional, NULL);
    assert_null(sign(pem));
    verifies(key);
  }
  EVP_PKEY_free(key);
}

/* ---- Keys that cannot sign ---- */

static void refuses(const char* key, const char* wrong) {
  const char* got = sign(key);
  assert_string_equal(got != NULL ? got : "nothing", wrong);
}

static void names_other_keys(void** state) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  write_key(key, false, NULL);
  refuses(pem, NOT_RSA);
  write_key(key, true, NULL);
  refuses(pem, NOT_RSA);
  EVP_PKEY_free(key);
  key = EVP_RSA_gen(1024);
  write_key(key, false, NULL);
  refuses(pem, NOT_RSA);
  EVP_PKEY_free(key);
}

static int on_prompt(UI* ui, UI_STRING* prompt) {
  fail_msg("OpenSSL asked for a passphrase");
  return 0;
}

/* OpenSSL would ask for the passphrase at the terminal, and wait. */
static void asks_for_no_passphrase(void** state) {
  BIO* bio = BIO_new_mem_buf(S3L_RSA_KEY("\n"), -1);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
  BIO_free(bio);
  UI_METHOD* prompts = UI_create_method("test");
  UI_method_set_reader(prompts, on_prompt);
  UI_method_set_writer(prompts, on_prompt);
  UI_set_default_method(prompts);
  write_key(key, false, "secret");
  refuses(pem, "is encrypted; give it decrypted");
  write_key(key, true, "secret");
  refuses(pem, "holds no private key in PEM form");
  UI_set_default_method(UI_OpenSSL());
  UI_destroy_method(prompts);
  EVP_PKEY_free(key);
}

/* A modulus of 4104 bits: to generate such a key would take long, and nothing is signed with it. */
static void refuses_huge_keys(void** state) {
  BIO* bio = BIO_new(BIO_s_mem());
  RSA* rsa = RSA_new();
  BIGNUM* n[8];
  for (size_t i = 0; i < 8; i++) {
    n[i] = BN_new();
    BN_set_word(n[i], 65537);
  }
  BN_lshift(n[0], n[0], 4104 - 17);
  assert_int_equal(RSA_set0_key(rsa, n[0], n[1], n[2]), 1);
  assert_int_equal(RSA_set0_factors(rsa, n[3], n[4]), 1);
  assert_int_equal(RSA_set0_crt_params(rsa, n[5], n[6], n[7]), 1);
  assert_int_equal(PEM_write_bio_RSAPrivateKey(bio, rsa, NULL, NULL, 0, NULL, NULL), 1);
  RSA_free(rsa);
  take(bio);
  refuses(pem, NOT_RSA);
}

static void names_what_is_no_key(void** state) {
  static const char* const none[] = {
      "",
      "x",
      "-----BEGIN PRIVATE KEY-----\n",
      "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n",
      "-----BEGIN PRIVATE KEY-----\n!\n-----END PRIVATE KEY-----\n",
      "-----BEGIN PUBLIC KEY-----\nMIIEvQ==\n-----END PUBLIC KEY-----\n"};
  for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
    refuses(none[i], "holds no private key in PEM form");
  static char large[20000];
  snprintf(large, sizeof(large), "%*s%s", 16384, "\n", S3L_RSA_KEY("\n"));
  refuses(large, "holds no private key in PEM form");
  refuses("-----BEGIN PRIVATE KEY-----\nMIIEvQ==\n-----END PRIVATE KEY-----\n", NOT_RSA);
  refuses("-----BEGIN RSA PRIVATE KEY-----\nMIIEvQ==\n-----END RSA PRIVATE KEY-----\n", NOT_RSA);
}

/* A key that is cut anywhere is refused; the last line end alone may be missing. */
static void refuses_truncated_keys(void** state) {
  static const char key[] = S3L_RSA_KEY("\n");
  for (size_t n = 0; n < sizeof(key) - 2; n++) {
    s3l_buf_init(&out, text, sizeof(text));
    assert_non_null(s3l_jwt_sign((s3l_span_t){key, n}, HEADER, CLAIMS, &out));
  }
}

/* Wherever the room ends. */
static void overflows(void** state) {
  const size_t whole = sizeof(HEADER_64 "." CLAIMS_64 "." SIGNATURE_64) - 1;
  static const size_t rooms[] = {0, 10, sizeof(HEADER_64 "." CLAIMS_64) - 1, 200};
  for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
    s3l_buf_init(&out, text, rooms[i]);
    assert_null(s3l_jwt_sign(S3L_SPAN(S3L_RSA_KEY("\n")), HEADER, CLAIMS, &out));
    assert_true(out.overflow);
  }
  s3l_buf_init(&out, text, whole);
  assert_null(s3l_jwt_sign(S3L_SPAN(S3L_RSA_KEY("\n")), HEADER, CLAIMS, &out));
  assert_false(out.overflow);
}

/* Sixteen bytes of the private exponent, the same in the order of OpenSSL's numbers, the beginning
 * of a factor, and a part of the PEM text. */
static const char* const secrets[S3L_SECRETS_MAX] = {
    "\x1d\x61\x75\x1d\x64\xe9\x49\x70\x7b\x62\x59\x0f\x9d\x0b\xa5\x7c",
    "\x7c\xa5\x0b\x9d\x0f\x59\x62\x7b\x70\x49\xe9\x64\x1d\x75\x61\x1d",
    "\xe0\x1c\xc4\x10\xeb\x48\xa6\x65\x5d\x54\x46\x4d\x0a\xa4\xbb\x6d",
    "PEAeP88vLNO97IjlA7/GQ5sLKMgvfTeX"};

static void leaves_nothing(void** state) {
  s3l_secret_heap_install(secrets);
  assert_null(sign(S3L_RSA_KEY("\n")));
  s3l_secret_heap_remove();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(signs_the_vector),
      cmocka_unit_test(reads_other_forms),
      cmocka_unit_test(signs_with_any_key),
      cmocka_unit_test(names_other_keys),
      cmocka_unit_test(asks_for_no_passphrase),
      cmocka_unit_test(refuses_huge_keys),
      cmocka_unit_test(names_what_is_no_key),
      cmocka_unit_test(refuses_truncated_keys),
      cmocka_unit_test(overflows),
      cmocka_unit_test(leaves_nothing),
  };
  s3l_secret_heap_with_openssl();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
