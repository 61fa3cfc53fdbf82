/* creds: fixed credentials, those of the environment, and that secrets do not stay in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "credentials/credentials.h"
#include "s3lect/errno.h"
#include "util/mem.h"

static void on_closed(void* arg) {
  ++*(int*)arg;
}

static void hands_out_copies(void** state) {
  char key[] = "AK", secret[] = "secret", token[] = "token";
  s3l_creds_provider_t* p = NULL;
  int closed = 0;
  (void)state;
  assert_int_equal(s3l_creds_static(key, secret, token, &p), 0);
  key[0] = secret[0] = token[0] = 'x';
  const s3l_creds_t* c = p->ops->get(p, NULL);
  assert_non_null(c);
  assert_string_equal(c->access_key, "AK");
  assert_string_equal(c->secret, "secret");
  assert_string_equal(c->token, "token");
  p->ops->close(p, on_closed, &closed);
  assert_int_equal(closed, 1);
  assert_int_equal(s3l_creds_static("AK", "secret", "", &p), 0);
  assert_null(p->ops->get(p, NULL)->token);
  p->ops->close(p, NULL, NULL);
  assert_int_equal(s3l_creds_static("AK", "", NULL, &p), S3LECT_ECREDENTIALS);
  assert_int_equal(s3l_creds_static(NULL, "s", NULL, &p), S3LECT_ECREDENTIALS);
}

static void reads_the_environment(void** state) {
  (void)state;
  unsetenv("AWS_SECURITY_TOKEN");
  unsetenv("AWS_SESSION_TOKEN");
  setenv("AWS_ACCESS_KEY_ID", "AK", 1);
  setenv("AWS_SECRET_ACCESS_KEY", "", 1);
  s3l_creds_environment_t e = s3l_creds_environment();
  assert_string_equal(e.access_key, "AK");
  assert_null(e.secret); /* empty counts as unset */
  assert_null(e.token);
  setenv("AWS_SECRET_ACCESS_KEY", "s", 1);
  setenv("AWS_SECURITY_TOKEN", "old", 1);
  assert_string_equal(s3l_creds_environment().token, "old");
  setenv("AWS_SESSION_TOKEN", "new", 1);
  e = s3l_creds_environment();
  assert_string_equal(e.token, "new");
  assert_string_equal(e.secret, "s");
}

/* Looks at what is freed, while it still may be looked at. */
static bool saw_secret;
static size_t left; /* allocations that still succeed */

static void spying_free(void* p) {
  if (strcmp(p, "SECRETSECRET") == 0)
    saw_secret = true;
  free(p);
}

static void* padded_malloc(size_t n) {
  return left-- > 0 ? calloc(1, n + 64) : NULL;
}

static void* padded_calloc(size_t n, size_t size) {
  return left-- > 0 ? calloc(1, n * size + 64) : NULL;
}

static void wipes_secrets(void** state) {
  const s3l_mem_hooks_t hooks = {padded_malloc, realloc, padded_calloc, spying_free};
  s3l_creds_provider_t* p;
  (void)state;
  s3l_mem_set(&hooks);
  left = 1;
  char* probe = s3l_strdup("SECRETSECRET");
  s3l_free(probe);
  assert_true(saw_secret); /* the spy can see */
  saw_secret = false;
  left = 4;
  assert_int_equal(s3l_creds_static("SECRETSECRET", "SECRETSECRET", "SECRETSECRET", &p), 0);
  p->ops->close(p, NULL, NULL);
  assert_false(saw_secret);
  /* Nor where creating fails half-way. */
  for (size_t n = 0; n < 4; n++) {
    left = n;
    assert_int_equal(s3l_creds_static("SECRETSECRET", "SECRETSECRET", "SECRETSECRET", &p),
                     UV_ENOMEM);
    assert_false(saw_secret);
  }
  s3l_mem_set(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hands_out_copies),
      cmocka_unit_test(reads_the_environment),
      cmocka_unit_test(wipes_secrets),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
