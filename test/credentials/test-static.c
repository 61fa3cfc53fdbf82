/* credentials/cache with fixed credentials, and that secrets do not stay in memory. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "credentials/cache.h"
#include "lib/test.h"
#include "s3lect/errno.h"
#include "util/mem.h"

static uv_loop_t loop; /* nothing enters it */

static void on_closed(void* arg) {
  ++*(int*)arg;
}

static void hands_out_copies(void** state) {
  char key[] = "AK", secret[] = "secret", token[] = "token";
  s3l_creds_cache_t* cache = NULL;
  int closed = 0;
  assert_int_equal(s3l_creds_cache_fixed(&loop, key, secret, token, &cache, NULL), 0);
  key[0] = secret[0] = token[0] = 'x';
  const s3lect_credentials_t* c = s3l_creds_cache_get(cache);
  assert_non_null(c);
  assert_string_equal(c->access_key_id, "AK");
  assert_string_equal(c->secret_access_key, "secret");
  assert_string_equal(c->session_token, "token");
  s3l_creds_cache_refused(cache); /* there are no others */
  assert_ptr_equal(s3l_creds_cache_get(cache), c);
  s3l_creds_cache_close(cache, on_closed, &closed);
  assert_int_equal(closed, 1);
  assert_int_equal(s3l_creds_cache_fixed(&loop, "AK", "secret", "", &cache, NULL), 0);
  assert_null(s3l_creds_cache_get(cache)->session_token);
  s3l_creds_cache_close(cache, NULL, NULL);
  assert_int_equal(s3l_creds_cache_fixed(&loop, "AK", "", NULL, &cache, NULL), S3LECT_ECREDENTIALS);
  assert_int_equal(s3l_creds_cache_fixed(&loop, NULL, "s", NULL, &cache, NULL),
                   S3LECT_ECREDENTIALS);
}

static void refused(const char* key, const char* secret, const char* token, const char* why) {
  s3l_creds_cache_t* cache = NULL;
  s3lect_error_t error = {0};
  assert_int_equal(s3l_creds_cache_fixed(&loop, key, secret, token, &cache, &error),
                   S3LECT_ECREDENTIALS);
  assert_null(cache);
  assert_string_equal(error.text, why);
}

static void a_token_alone(void** state) {
  static char longest[S3L_CREDS_TOKEN_MAX + 2];
  s3l_creds_cache_t* cache = NULL;
  memset(longest, 't', S3L_CREDS_TOKEN_MAX);
  assert_int_equal(s3l_creds_cache_fixed(&loop, NULL, "", longest, &cache, NULL), 0);
  const s3lect_credentials_t* c = s3l_creds_cache_get(cache);
  assert_string_equal(c->access_key_id, "");
  assert_string_equal(c->secret_access_key, "");
  assert_string_equal(c->session_token, longest);
  assert_false(s3l_creds_can_sign(c));
  s3l_creds_cache_close(cache, NULL, NULL);
  longest[S3L_CREDS_TOKEN_MAX] = 't';
  refused("", "", longest, "the token is too long to be one");
  refused(NULL, NULL, "a\r\nb",
          "the token holds a blank, a line end or another character that no token has");
  refused(NULL, NULL, NULL, "there is no access key");
  refused("AK", NULL, "T", "there is no secret access key");
  refused(NULL, "SK", "T", "there is no access key");
}

/* Those who sign say so. */
static void a_token_alone_is_no_pair_of_keys(void** state) {
  s3lect_credentials_t* c = NULL;
  s3lect_error_t error = {0};
  const s3l_span_t none = {NULL, 0};
  assert_int_equal(s3l_creds_new_keys(none, none, S3L_SPAN("T"), 0, &c, &error),
                   S3LECT_ECREDENTIALS);
  assert_string_equal(error.text, S3L_CREDS_CANNOT_SIGN);
  assert_int_equal(s3l_creds_new_keys(S3L_SPAN("AK"), S3L_SPAN("SK"), none, 0, &c, &error), 0);
  assert_true(s3l_creds_can_sign(c));
  s3l_creds_free(c);
}

/* Looks at what is freed, while it still may be looked at. Each block begins with its size. */
#define HEAD 16
static bool saw_secret;
static size_t left; /* allocations that still succeed */

static void* sized_calloc(size_t n, size_t size) {
  char* p = left > 0 ? calloc(1, HEAD + n * size) : NULL;
  if (p == NULL)
    return NULL;
  left--;
  *(size_t*)(void*)p = n * size;
  return p + HEAD;
}

static void* sized_malloc(size_t n) {
  return sized_calloc(1, n);
}

static void spying_free(void* block) {
  const char secret[] = "SECRETSECRET";
  if (block == NULL)
    return;
  char* p = (char*)block - HEAD;
  size_t n = *(size_t*)(void*)p;
  for (size_t i = HEAD; i + sizeof(secret) <= HEAD + n; i++) {
    if (memcmp(p + i, secret, sizeof(secret)) == 0)
      saw_secret = true;
  }
  free(p);
}

static int open_secret(s3l_creds_cache_t** cache) {
  return s3l_creds_cache_fixed(&loop, "SECRETSECRET", "SECRETSECRET", "SECRETSECRET", cache, NULL);
}

static void wipes_secrets(void** state) {
  const s3l_mem_hooks_t hooks = {sized_malloc, realloc, sized_calloc, spying_free};
  s3l_creds_cache_t* cache;
  s3l_mem_set(&hooks);
  left = 1;
  char* probe = s3l_malloc(64);
  memcpy(probe + 20, "SECRETSECRET", 13);
  s3l_free(probe);
  assert_true(saw_secret); /* the spy can see */
  saw_secret = false;
  left = 2;
  assert_int_equal(open_secret(&cache), 0);
  s3l_creds_cache_close(cache, NULL, NULL);
  assert_false(saw_secret);
  /* Nor where creating fails half-way. */
  for (size_t n = 0; n < 2; n++) {
    left = n;
    assert_int_equal(open_secret(&cache), UV_ENOMEM);
    assert_false(saw_secret);
  }
  s3l_mem_set(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hands_out_copies),
      cmocka_unit_test(a_token_alone),
      cmocka_unit_test(a_token_alone_is_no_pair_of_keys),
      cmocka_unit_test(wipes_secrets),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
