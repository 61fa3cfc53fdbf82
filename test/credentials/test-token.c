/* The answers of token services (RFC 6749), as Azure's metadata service gives them over a socket:
 * good ones, hostile ones, and the errors that end up in a message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "credentials/azure.h"
#include "lib/creds_rig.h"
#include "lib/test.h"
#include "s3lect/errno.h"

#define STEP "managed identity: "

static s3l_creds_rig_t rig;

/* One answer to the one question. */
static void ask(const char* reply, size_t len) {
  static s3l_step_t steps[3] = {S3L_EXPECT("\r\n\r\n"), S3L_SEND(""), S3L_SCRIPT_END};
  static const s3l_step_t* const scripts[] = {steps};
  steps[1] = (s3l_step_t)S3L_BYTES(reply, len);
  s3l_creds_rig_init(&rig, scripts, 1);
  rig.kind = &s3l_chain_azure;
  setenv("AZURE_TOKEN_CREDENTIALS", "ManagedIdentityCredential", 1);
  setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", rig.base, 1);
  s3l_creds_rig_start(&rig, NULL, 0);
}

static void gives(const char* body, const char* token, int64_t expires_ms) {
  const char* reply = S3L_OK(body);
  ask(reply, strlen(reply));
  s3l_creds_rig_gets(&rig, "");
  assert_string_equal(rig.token, token);
  assert_true(rig.expires_ms == expires_ms);
  s3l_creds_rig_end(&rig);
}

static void fails_with(const char* reply, size_t len, const char* why) {
  ask(reply, len);
  s3l_creds_rig_failed(&rig, why);
}

static void fails(const char* body, const char* why) {
  const char* reply = S3L_OK(body);
  fails_with(reply, strlen(reply), why);
}

/* Bytes that a C string cannot hold. */
#define FAILS_WITH_BYTES(body, why)                                                                \
  do {                                                                                             \
    char bytes[512];                                                                               \
    int head = snprintf(bytes, sizeof(bytes), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n",    \
                        sizeof(body) - 1);                                                         \
    memcpy(bytes + head, body, sizeof(body) - 1);                                                  \
    fails_with(bytes, (size_t)head + sizeof(body) - 1, why);                                       \
  } while (0)

#define NOW S3L_CREDS_RIG_NOW

static void reads_the_end(void** state) {
  gives("{\"access_token\":\"T\",\"expires_in\":3599,\"token_type\":\"Bearer\"}", "T",
        NOW + 3599000);
  gives("{\"access_token\":\"T\",\"expires_in\":\"3599\",\"token_type\":\"bearer\"}", "T",
        NOW + 3599000);
  gives("{\"access_token\":\"T\",\"expires_on\":1730026800}", "T", NOW + 3600000);
  gives("{\"access_token\":\"T\",\"expires_on\":\"1730026800\",\"expires_in\":null}", "T",
        NOW + 3600000);
  gives("{\"expires_on\":\"1\",\"expires_in\":\"60\",\"access_token\":\"T\"}", "T", NOW + 60000);
  gives("{\"access_token\":\"T\",\"expires_in\":0}", "T", NOW);
  gives("{\"access_token\":\"T\",\"expires_on\":0}", "T", 1); /* long ago; 0 would mean never */
  gives("{\"access_token\":\"T\",\"expires_in\":253402300799}", "T", NOW + 253402300799000);
}

/* A time is one of the service's clock: what counts is how long the token is good. */
static void goes_by_the_service_clock(void** state) {
  const char* reply = s3l_creds_rig_reply("200 OK", "Date: Sun, 27 Oct 2024 10:50:00 GMT\r\n",
                                          "{\"access_token\":\"T\",\"expires_on\":\"1730026800\"}");
  ask(reply, strlen(reply));
  s3l_creds_rig_gets(&rig, "");
  assert_true(rig.expires_ms == NOW + 600000);
  s3l_creds_rig_end(&rig);
}

static void a_lifetime_must_be_one(void** state) {
  static const char* const values[] = {"-1",
                                       "\"-1\"",
                                       "3599.5",
                                       "1e3",
                                       "\"\"",
                                       "\"soon\"",
                                       "[3599]",
                                       "{}",
                                       "true",
                                       "\"0x10\"",
                                       "\" 60\"",
                                       "253402300800",
                                       "99999999999999999999",
                                       "\"99999999999999999999\"",
                                       "\"99999999999999999999999999999999999999\""};
  static const char* const names[] = {"expires_in", "expires_on"};
  for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
    for (size_t k = 0; k < 2; k++) {
      char body[128];
      snprintf(body, sizeof(body), "{\"access_token\":\"T\",\"%s\":%s}", names[k], values[i]);
      fails(body, STEP "expires_in or expires_on of the answer is no number of seconds");
    }
  }
  fails("{\"access_token\":\"T\"}", STEP "the answer holds no expires_in");
}

static void a_token_must_be_one(void** state) {
  static char large[20000], body[20200];
  const char no_token[] = STEP "the answer holds no access_token";
  const char odd[] = STEP "access_token of the answer is not a string, empty, or too long";
  const char blank[] =
      STEP "the token holds a blank, a line end or another character that no token has";
  fails("", STEP "the answer is not a JSON object");
  fails("<html>", STEP "the answer is not a JSON object");
  fails("[]", STEP "the answer is not a JSON object");
  fails("{\"access_token\":\"T\",\"expires_in\":60", STEP "the answer is not a JSON object");
  fails("{}", no_token);
  fails("{\"access_token\":null,\"expires_in\":60}", no_token);
  fails("{\"error\":\"e\",\"error_description\":\"d\"}",
        STEP "the answer holds no access_token: e: d");
  fails("{\"access_token\":\"\",\"expires_in\":60}", odd);
  fails("{\"access_token\":1,\"expires_in\":60}", odd);
  fails("{\"access_token\":[\"T\"],\"expires_in\":60}", odd);
  fails("{\"access_token\":\"T\\u0000\",\"expires_in\":60}", odd);
  fails("{\"access_token\":\"a b\",\"expires_in\":60}", blank);
  fails("{\"access_token\":\"a\\r\\nX: y\",\"expires_in\":60}", blank);
  fails("{\"access_token\":\"\\u00fc\",\"expires_in\":60}", blank);
  fails("{\"access_token\":\"T\",\"expires_in\":60,\"token_type\":\"mac\"}",
        STEP "token_type of the answer is not Bearer");
  fails("{\"access_token\":\"T\",\"expires_in\":60,\"token_type\":1}",
        STEP "token_type of the answer is not Bearer");
  FAILS_WITH_BYTES("{\"access_token\":\"T\0T\",\"expires_in\":60}",
                   STEP "the answer is not a JSON object");
  FAILS_WITH_BYTES("{\"access_token\":\"T\"\0,\"expires_in\":60}",
                   STEP "the answer is not a JSON object");
  /* As long as a token can be, a character longer, and far longer. */
  for (size_t n = S3L_CREDS_TOKEN_MAX; n<sizeof(large); n += n> S3L_CREDS_TOKEN_MAX ? 9000 : 1) {
    memset(large, 't', n);
    large[n] = '\0';
    int len = snprintf(body, sizeof(body),
                       "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n"
                       "{\"access_token\":\"%s\",\"expires_in\":60}",
                       n + 35, large);
    ask(body, (size_t)len);
    if (n == S3L_CREDS_TOKEN_MAX) {
      s3l_creds_rig_gets(&rig, "");
      assert_string_equal(rig.token, large);
    } else {
      s3l_creds_rig_fails(
          &rig, n == S3L_CREDS_TOKEN_MAX + 1 ? STEP "the token is too long to be one" : odd);
    }
    s3l_creds_rig_end(&rig);
  }
}

static void an_answer_must_end(void** state) {
  const char cut[] = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"access_token\":\"T\"";
  const s3l_step_t steps[] = {S3L_EXPECT("\r\n\r\n"), S3L_SEND(cut), S3L_CLOSE, S3L_SCRIPT_END};
  s3l_creds_rig_init(&rig, S3L_CREDS_RIG_SCRIPTS(steps));
  rig.kind = &s3l_chain_azure;
  setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", rig.base, 1);
  s3l_creds_rig_start(&rig, NULL, 0);
  s3l_creds_rig_failed(&rig, "..." STEP "...");
  const char huge[] = "HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n{";
  fails_with(huge, sizeof(huge) - 1, STEP "reply of 127.0.0.1:...");
}

/* ---- Errors ---- */

static void refused_with(const char* body, const char* shown) {
  char want[512];
  const char* reply = S3L_ANSWER("403 Forbidden", body);
  ask(reply, strlen(reply));
  snprintf(want, sizeof(want), STEP "127.0.0.1:%u answered 403%s", (unsigned)rig.server.port,
           shown);
  s3l_creds_rig_failed(&rig, want);
}

static void shows_an_error_as_one_line(void** state) {
  static char body[2300], shown[400], words[1500];
  refused_with("", "");
  refused_with("<html>", "");
  refused_with("{}", "");
  refused_with("{\"error\":\"access_denied\"}", ": access_denied");
  refused_with("{\"error\":\"a\",\"error_description\":\"b\\u0007c\\r\\nTrace ID: d\"}", ": a: bc");
  refused_with("{\"error\":7,\"error_description\":[]}", "");
  refused_with("{\"error\":{\"code\":403,\"status\":\"PERMISSION_DENIED\",\"message\":\"not "
               "yours\"}}",
               ": PERMISSION_DENIED: not yours");
  refused_with("{\"error\":{\"status\":{}}}", "");
  refused_with("{\"statusCode\":403,\"message\":\"no identity\"}", ": no identity");
  memset(words, 'w', sizeof(words) - 1); /* Entra's descriptions are long */
  snprintf(body, sizeof(body), "{\"error\":\"a\",\"error_description\":\"%s\"}", words);
  snprintf(shown, sizeof(shown), ": a: %.240s", words);
  refused_with(body, shown);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_the_end),          cmocka_unit_test(goes_by_the_service_clock),
      cmocka_unit_test(a_lifetime_must_be_one), cmocka_unit_test(a_token_must_be_one),
      cmocka_unit_test(an_answer_must_end),     cmocka_unit_test(shows_an_error_as_one_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
