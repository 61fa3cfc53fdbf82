/* Secrets: no block of memory that the library gives back holds one, nor does any block that it
 * still has once a newer set has come; no message shows one; and none goes out in the clear. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "credentials/cache.h"
#include "lib/certs.h"
#include "lib/creds_rig.h"
#include "lib/secret_heap.h"
#include "lib/test.h"
#include "lib/tls_files.h"
#include "lib/wait.h"
#include "s3lect.h"
#include "util/mem.h"

/* ---- The heap ---- */

#define WATCH(...) s3l_secret_heap_install((const char* const[S3L_SECRETS_MAX]){__VA_ARGS__})

/* That it finds one at all, in the middle of memory that nobody has written to. */
static void the_watch_sees(void** state) {
  WATCH("hush-hush");
  char* p = s3l_malloc(100000);
  memcpy(p + 70000, "hush-hush", 9);
  assert_int_equal(s3l_secret_heap_live("hush-hush"), 1);
  p = s3l_realloc(p, 120000);
  assert_int_equal(s3l_secret_heap_found(), 1);
  s3l_wipe(p + 70000, 9);
  s3l_free(p);
  s3l_secret_heap_remove();
}

/* ---- Sources ---- */

#define SECRET   "wJalrXUtnFEMI/K7MDENG/secret+key"
#define TOKEN    "IQoJb3JpZ2luX2VjEA/session+token=="
#define SECRET_2 "je7MtGbClwBF/2Zp9Utk/second+secret"
#define TOKEN_2  "AQoEXAMPLEH4aoAPWfJ/second+token=="
#define BEARER   "eyJhbGciOiJSUzI1NiJ9.a-bearer.token"

#define JSON(secret, token, end)                                                                   \
  "{\"Version\":1,\"AccessKeyId\":\"AK\",\"SecretAccessKey\":\"" secret "\",\"Token\":\"" token    \
  "\",\"SessionToken\":\"" token "\",\"Expiration\":\"" end "\"}"
#define XML(secret, token)                                                                         \
  "<R><Credentials><AccessKeyId>AK</AccessKeyId><SecretAccessKey>" secret                          \
  "</SecretAccessKey><SessionToken>" token "</SessionToken><Expiration>" S3L_CREDS_RIG_END         \
  "</Expiration></Credentials></R>"

static s3l_creds_rig_t rig;

/* Asks twice and closes, and again with the second question dropped. */
static void leaves_nothing(const char* profile) {
  WATCH(SECRET, TOKEN, BEARER, SECRET_2);
  s3l_creds_rig_start(&rig, profile, 0);
  s3l_creds_rig_gets(&rig, "AK");
  assert_string_equal(rig.secret, SECRET);
  s3l_creds_rig_leaves_nothing(&rig);
}

static void environment_leaves_nothing(void** state) {
  s3l_creds_rig_init(&rig, NULL, 0);
  setenv("AWS_ACCESS_KEY_ID", "AK", 1);
  setenv("AWS_SECRET_ACCESS_KEY", SECRET, 1);
  setenv("AWS_SESSION_TOKEN", TOKEN, 1);
  leaves_nothing(NULL);
}

static void files_leave_nothing(void** state) {
  s3l_creds_rig_init(&rig, NULL, 0);
  s3l_creds_rig_set_file(&rig, "AWS_SHARED_CREDENTIALS_FILE", "credentials",
                         "[default]\naws_access_key_id = AK\naws_secret_access_key = " SECRET
                         "\naws_session_token = " TOKEN
                         "\n[other]\naws_secret_access_key = " SECRET_2 "\n");
  leaves_nothing(NULL);
}

static void programs_leave_nothing(void** state) {
  s3l_creds_rig_init(&rig, NULL, 0);
  s3l_creds_rig_set_file(&rig, "AWS_CONFIG_FILE", "config",
                         "[profile p]\ncredential_process = sh -c 'echo " BEARER
                         " >&2; echo \"$0\"' '" JSON(SECRET, TOKEN, S3L_CREDS_RIG_END) "'\n");
  leaves_nothing("p");
}

static void containers_leave_nothing(void** state) {
  const char* reply = S3L_OK(JSON(SECRET, TOKEN, S3L_CREDS_RIG_END));
  s3l_creds_rig_init(&rig, S3L_CREDS_RIG_SCRIPTS(
                               S3L_SCRIPT(S3L_EXPECT(BEARER "\r\n\r\n"), S3L_SPLIT(reply, 1),
                                          S3L_EXPECT(BEARER "\r\n\r\n"), S3L_SPLIT(reply, 100))));
  setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/c", 1);
  s3l_creds_rig_set_file(&rig, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "token", BEARER "\n");
  leaves_nothing(NULL);
}

/* What TLS decrypts stands in OpenSSL's memory, too. */
static void tls_leaves_nothing(void** state) {
  char url[64];
  s3l_certs_t certs;
  s3l_tls_context_t* tls;
  const char* reply = S3L_OK(JSON(SECRET, TOKEN, S3L_CREDS_RIG_END));
  assert_int_equal(s3l_certs_make(&certs), 0);
  assert_int_equal(s3l_tls_context_server(certs.good, certs.key, &tls, NULL), 0);
  s3l_creds_rig_init(&rig, S3L_CREDS_RIG_SCRIPT(S3L_EXPECT(BEARER), S3L_SEND(reply),
                                                S3L_EXPECT(BEARER), S3L_SEND(reply)));
  rig.server.tls = tls;
  snprintf(url, sizeof(url), "https://127.0.0.1:%u/c", (unsigned)rig.server.port);
  setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url, 1);
  setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", BEARER, 1);
  setenv("AWS_CA_BUNDLE", certs.ca, 1);
  leaves_nothing(NULL);
  s3l_tls_context_free(tls);
  s3l_certs_remove(&certs);
}

static void instances_leave_nothing(void** state) {
  const char* reply = S3L_OK(JSON(SECRET, TOKEN, S3L_CREDS_RIG_END));
  const char* token = S3L_OK(BEARER);
  const char* role = S3L_OK("role");
  s3l_creds_rig_init(&rig,
                     S3L_CREDS_RIG_SCRIPTS(S3L_SCRIPT(
                         S3L_EXPECT("PUT "), S3L_SEND(token), S3L_EXPECT(BEARER), S3L_SEND(role),
                         S3L_EXPECT(BEARER), S3L_SEND(reply), S3L_EXPECT("PUT "), S3L_SEND(token),
                         S3L_EXPECT(BEARER), S3L_SEND(role), S3L_EXPECT(BEARER), S3L_SEND(reply))));
  setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", rig.base, 1);
  setenv("AWS_METADATA_SERVICE_TIMEOUT", "30", 1);
  leaves_nothing(NULL);
}

static void web_identity_leaves_nothing(void** state) {
  const char* reply = S3L_OK(XML(SECRET, TOKEN));
  s3l_creds_rig_init(&rig, S3L_CREDS_RIG_SCRIPTS(S3L_SCRIPT(S3L_EXPECT(BEARER), S3L_SPLIT(reply, 1),
                                                            S3L_EXPECT(BEARER), S3L_SEND(reply))));
  setenv("AWS_ENDPOINT_URL_STS", rig.base, 1);
  setenv("AWS_ROLE_ARN", "arn", 1);
  s3l_creds_rig_set_file(&rig, "AWS_WEB_IDENTITY_TOKEN_FILE", "token", BEARER);
  leaves_nothing(NULL);
}

/* The keys that assume the role are secrets as well. */
static void roles_leave_nothing(void** state) {
  const char* reply = S3L_OK(XML(SECRET, TOKEN));
  s3l_creds_rig_init(
      &rig, S3L_CREDS_RIG_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("Action=AssumeRole&"), S3L_SEND(reply),
                                             S3L_EXPECT("Action=AssumeRole&"), S3L_SEND(reply))));
  setenv("AWS_ENDPOINT_URL_STS", rig.base, 1);
  s3l_creds_rig_set_file(
      &rig, "AWS_CONFIG_FILE", "config",
      "[profile r]\nrole_arn = arn\nsource_profile = r\naws_access_key_id = BASE\n"
      "aws_secret_access_key = " SECRET_2 "\n");
  leaves_nothing("r");
}

/* ---- The cache, and a store over it ---- */

static int got;

static void on_wait(s3l_creds_wait_t* wait, int status, const char* why) {
  got = status == 0 ? 1 : status;
}

static void wait_for_keys(s3l_creds_cache_t* cache) {
  s3l_creds_user_t user = {.cache = cache, .waited = on_wait};
  s3l_creds_wait_t wait = {0};
  got = 0;
  assert_int_equal(s3l_creds_wait(&user, &wait, S3L_CLOCK_NEVER), 0);
  while (got == 0)
    s3l_turn(&rig.loop);
  assert_int_equal(got, 1);
}

static void on_closed(void* arg) {
  ++*(unsigned*)arg;
}

/* When others have come, and the connection to the service is gone, the old ones are nowhere. */
static void nothing_is_left_of_old_keys(void** state) {
  unsigned closed = 0;
  s3l_creds_cache_t* cache;
  s3l_creds_cache_options_t options = s3l_creds_cache_defaults;
  s3l_creds_rig_init(&rig, S3L_CREDS_RIG_SCRIPTS(S3L_SCRIPT(
                               S3L_EXPECT("GET "), S3L_EXPECT("\r\n\r\n"),
                               S3L_SEND(S3L_OK(JSON(SECRET, TOKEN, S3L_CREDS_RIG_END))),
                               S3L_EXPECT("GET "), S3L_EXPECT("\r\n\r\n"),
                               S3L_SEND(S3L_OK(JSON(SECRET_2, TOKEN_2, S3L_CREDS_RIG_END))))));
  setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/c", 1);
  WATCH(SECRET, TOKEN, SECRET_2, TOKEN_2);
  s3l_creds_rig_configure(&rig, NULL, 0);
  options.wall_ms = rig.settings.wall_ms;
  s3l_creds_rig_open(&rig);
  assert_int_equal(s3l_creds_cache_open(rig.chain, true, &options, &cache), 0);
  rig.chain = NULL; /* the cache has it */
  wait_for_keys(cache);
  assert_string_equal(s3l_creds_cache_get(cache)->secret_access_key, SECRET);
  assert_true(s3l_secret_heap_live(SECRET) > 0);
  s3l_creds_cache_refused(cache);
  wait_for_keys(cache);
  assert_string_equal(s3l_creds_cache_get(cache)->secret_access_key, SECRET_2);
  s3l_wait_count(&rig.loop, &rig.server.ended, 1, "the idle connection to be closed");
  assert_int_equal(s3l_secret_heap_live(SECRET), 0);
  assert_int_equal(s3l_secret_heap_live(TOKEN), 0);
  assert_int_equal(s3l_secret_heap_live(SECRET_2), 1); /* where they are used from */
  s3l_creds_cache_close(cache, on_closed, &closed);
  s3l_wait_count(&rig.loop, &closed, 1, "the cache to be closed");
  s3l_creds_rig_end(&rig);
  s3l_secret_heap_remove();
}

/* One read, which ends so; its message holds no secret. */
static void use_store(const char* access_key, const char* secret, const char* token, int status) {
  static s3l_creds_use_t u;
  s3lect_store_s3_options_t o = s3l_creds_use_options(rig.server.port, NULL);
  o.access_key_id = access_key;
  o.secret_access_key = secret;
  o.session_token = token;
  s3l_creds_use_open(&u, &rig.loop, &o);
  s3l_suite_wait(&u.r);
  assert_int_equal(u.r.result.status, status);
  assert_true((status == 0) == (u.r.result.message == NULL));
  assert_null(strstr(u.r.message, SECRET));
  assert_null(strstr(u.r.message, TOKEN));
  s3l_creds_use_close(&u);
}

#define OBJECT "HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: 1\r\n\r\nx"

static void a_store_leaves_nothing(void** state) {
  const s3l_step_t object[] = {S3L_EXPECT(TOKEN), S3L_EXPECT("\r\n\r\n"), S3L_SEND(OBJECT),
                               S3L_SCRIPT_END};
  s3l_creds_rig_init(&rig, S3L_CREDS_RIG_SCRIPTS(object));
  WATCH(SECRET, TOKEN);
  use_store("AK", SECRET, TOKEN, 0);
  s3l_creds_rig_end(&rig);
  s3l_secret_heap_remove();
  s3l_creds_rig_init(&rig,
                     S3L_CREDS_RIG_SCRIPTS(
                         S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"),
                                    S3L_SEND(S3L_OK(JSON(SECRET, TOKEN, "2099-01-01T00:00:00Z")))),
                         object));
  snprintf(rig.why, sizeof(rig.why), "%s/c", rig.base);
  setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", rig.why, 1);
  WATCH(SECRET, TOKEN);
  use_store(NULL, NULL, NULL, 0);
  s3l_creds_rig_end(&rig);
  s3l_secret_heap_remove();
}

/* S3 shows the token that it refuses, and what was signed, in the reply. */
static void what_s3_repeats_is_not_shown(void** state) {
  s3l_creds_rig_init(
      &rig,
      S3L_CREDS_RIG_SCRIPTS(S3L_SCRIPT(
          S3L_EXPECT(TOKEN), S3L_EXPECT("\r\n\r\n"),
          S3L_SEND(S3L_ANSWER("400 Bad Request",
                              "<Error><Code>InvalidToken</Code><Message>The provided token is "
                              "malformed.</Message><Token-0>" TOKEN "</Token-0><CanonicalRequest>"
                              "x-amz-security-token:" TOKEN "</CanonicalRequest></Error>")))));
  WATCH(SECRET);
  use_store("AK", SECRET, TOKEN, S3LECT_ESIGNATURE);
  s3l_creds_rig_end(&rig);
  s3l_secret_heap_remove();
}

/* ---- Messages ---- */

static void says_nothing(const char* profile) {
  static const char* const secrets[] = {SECRET, TOKEN, BEARER, "/K7MDENG/", "a-bearer", NULL};
  s3l_creds_rig_start(&rig, profile, 0);
  s3l_creds_rig_hides(&rig, secrets);
}

static void files_are_not_shown(void** state) {
  static const char* const broken[] = {"[default]\naws_secret_access_key " SECRET "\n",
                                       "[default]\naws_secret_access_key = " SECRET "\n",
                                       "[default]\n= " SECRET "\n",
                                       "aws_session_token=" TOKEN "\n",
                                       "[" SECRET "\n",
                                       "[default] " SECRET "\n",
                                       "[default]\naws_access_key_id = AK\n"
                                       "aws_secret_access_key = a " SECRET "\n"};
  for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
    s3l_creds_rig_init(&rig, NULL, 0);
    s3l_creds_rig_set_file(&rig, "AWS_SHARED_CREDENTIALS_FILE", "credentials", broken[i]);
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    says_nothing(NULL);
  }
  s3l_creds_rig_init(&rig, NULL, 0);
  setenv("AWS_ACCESS_KEY_ID", "AK", 1);
  setenv("AWS_SECRET_ACCESS_KEY", SECRET " ", 1);
  setenv("AWS_SESSION_TOKEN", TOKEN, 1);
  says_nothing(NULL);
}

static void programs_are_not_shown(void** state) {
  static const char* const commands[] = {"printf %s '" JSON(SECRET, TOKEN, "soon") "'",
                                         "echo " SECRET,
                                         "/nonexistent/x " SECRET,
                                         "sh -c 'echo " SECRET "; exit 1'",
                                         "sh -c 'echo " SECRET "; kill -9 $$'",
                                         "'" SECRET,
                                         "printf %s '{\"Version\":1,\"AccessKeyId\":\"" SECRET
                                         "\"}'"};
  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
    char config[1024];
    s3l_creds_rig_init(&rig, NULL, 0);
    snprintf(config, sizeof(config), "[profile p]\ncredential_process = %s\n", commands[i]);
    s3l_creds_rig_set_file(&rig, "AWS_CONFIG_FILE", "config", config);
    says_nothing("p");
  }
}

static void answers_are_not_shown(void** state) {
  static const char* const json[] = {
      JSON(SECRET, TOKEN, "soon"), SECRET, "{\"" SECRET "\":1}",
      ("{\"AccessKeyId\":\"AK\",\"SecretAccessKey\":\"" SECRET "\"}"),
      JSON(SECRET " ", TOKEN, S3L_CREDS_RIG_END)};
  static const char* const xml[] = {
      SECRET, "<Credentials><SecretAccessKey>" SECRET "</SecretAccessKey></Credentials>",
      XML(SECRET " x", TOKEN), ("<Credentials><SecretAccessKey>" SECRET)};
  for (size_t i = 0; i < sizeof(json) / sizeof(json[0]); i++) {
    s3l_creds_rig_init(
        &rig, S3L_CREDS_RIG_SCRIPTS(S3L_SCRIPT(S3L_EXPECT(BEARER), S3L_SEND(S3L_OK(json[i])))));
    setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/c", 1);
    setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", BEARER, 1);
    says_nothing(NULL);
  }
  for (size_t i = 0; i < sizeof(xml) / sizeof(xml[0]); i++) {
    s3l_creds_rig_init(
        &rig, S3L_CREDS_RIG_SCRIPTS(S3L_SCRIPT(S3L_EXPECT(BEARER), S3L_SEND(S3L_OK(xml[i])))));
    setenv("AWS_ENDPOINT_URL_STS", rig.base, 1);
    setenv("AWS_ROLE_ARN", "arn", 1);
    s3l_creds_rig_set_file(&rig, "AWS_WEB_IDENTITY_TOKEN_FILE", "token", BEARER);
    says_nothing(NULL);
  }
  s3l_creds_rig_init(&rig, S3L_CREDS_RIG_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("PUT "),
                                                            S3L_SEND(S3L_OK(BEARER " " BEARER)))));
  setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", rig.base, 1);
  setenv("AWS_METADATA_SERVICE_TIMEOUT", "30", 1);
  says_nothing(NULL);
  s3l_creds_rig_init(&rig, NULL, 0);
  setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/c", 1);
  setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", BEARER "\r\nX: y", 1);
  says_nothing(NULL);
}

/* ---- In the clear ---- */

/* Each is refused before there is a connection. Names are not looked up, either. */
static void nothing_goes_out_in_the_clear(void** state) {
  static const char config[] = "[profile e]\nrole_arn = arn\ncredential_source = Environment\n"
                               "endpoint_url = http://10.9.8.7\n"
                               "[profile s]\nrole_arn = arn\ncredential_source = Environment\n"
                               "services = v\n[services v]\nsts =\n"
                               "  endpoint_url = http://10.9.8.7\n";
  static const struct {
    const char* variable;
    const char* profile;
  } cases[] = {{"AWS_ENDPOINT_URL_STS", NULL},
               {"AWS_ENDPOINT_URL", NULL},
               {"AWS_CONTAINER_CREDENTIALS_FULL_URI", NULL},
               {"AWS_EC2_METADATA_SERVICE_ENDPOINT", NULL},
               {"AWS_ENDPOINT_URL_STS", "e"},
               {NULL, "e"},
               {NULL, "s"}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    s3l_creds_rig_init(&rig, NULL, 0);
    s3l_creds_rig_set_file(&rig, "AWS_CONFIG_FILE", "config", config);
    setenv("AWS_ACCESS_KEY_ID", "AK", 1);
    setenv("AWS_SECRET_ACCESS_KEY", SECRET, 1);
    if (cases[i].variable != NULL)
      setenv(cases[i].variable, "http://10.9.8.7", 1);
    if (i < 2) {
      setenv("AWS_ROLE_ARN", "arn", 1);
      s3l_creds_rig_set_file(&rig, "AWS_WEB_IDENTITY_TOKEN_FILE", "token", BEARER);
    }
    s3l_creds_rig_configure(
        &rig, cases[i].profile,
        cases[i].profile != NULL ? 0 : S3LECT_CREDENTIALS_ALL & ~S3LECT_CREDENTIALS_ENVIRONMENT);
    s3l_creds_rig_open(&rig);
    s3l_creds_rig_failed(&rig,
                         "...http://10.9.8.7: plain http is only for loopback and for the metadata "
                         "addresses of clouds; use https");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_watch_sees),           cmocka_unit_test(environment_leaves_nothing),
      cmocka_unit_test(files_leave_nothing),      cmocka_unit_test(programs_leave_nothing),
      cmocka_unit_test(containers_leave_nothing), cmocka_unit_test(tls_leaves_nothing),
      cmocka_unit_test(instances_leave_nothing),  cmocka_unit_test(web_identity_leaves_nothing),
      cmocka_unit_test(roles_leave_nothing),      cmocka_unit_test(nothing_is_left_of_old_keys),
      cmocka_unit_test(a_store_leaves_nothing),   cmocka_unit_test(what_s3_repeats_is_not_shown),
      cmocka_unit_test(files_are_not_shown),      cmocka_unit_test(programs_are_not_shown),
      cmocka_unit_test(answers_are_not_shown),    cmocka_unit_test(nothing_goes_out_in_the_clear),
  };
  s3l_secret_heap_with_openssl();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
