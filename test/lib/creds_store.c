#include "lib/creds_store.h"

#include <string.h>

#include "lib/fakes3_rig.h"
#include "lib/test.h"
#include "lib/wait.h"

creds_store_t creds_store;

void creds_store_begin(s3l_creds_rig_t* creds, const s3l_step_t* const* scripts, size_t n,
                       const fakes3_options_t* options) {
  char why[256];
  s3l_creds_rig_init(creds, scripts, n);
  memset(&creds_store, 0, sizeof(creds_store));
  creds_store.rig = creds;
  creds_store.suite =
      (s3l_store_suite_t){.loop = &creds->loop, .store = &creds_store.store, .timeout_ms = 30000};
  if (fakes3_start(&creds->loop, options, &creds_store.fake, why, sizeof(why)) != 0)
    fail_msg("%s", why);
}

static void on_store_closed(s3lect_store_t* s) {
  *(unsigned*)s->data = 1;
}

static void on_stopped(void* arg) {
  *(unsigned*)arg = 1;
}

void creds_store_end(void) {
  unsigned closed = 0, stopped = 0;
  creds_store.store.data = &closed;
  s3lect_store_close(&creds_store.store, on_store_closed);
  s3l_wait_count(&creds_store.rig->loop, &closed, 1, "the store to be closed");
  fakes3_stop(creds_store.fake, on_stopped, &stopped);
  s3l_wait_count(&creds_store.rig->loop, &stopped, 1, "the fake store to stop");
  s3l_creds_rig_end(creds_store.rig);
}

int creds_store_put(void) {
  return s3l_suite_put(&creds_store.suite, &creds_store.r, "k", S3LECT_IF_ABSENT, NULL, "x")
      ->status;
}

int creds_store_get(void) {
  return s3l_suite_get(&creds_store.suite, &creds_store.r, "k", NULL)->status;
}

const char* creds_store_key(void) {
  const char* key = s3l_fakes3_newest(creds_store.fake)->access_key;
  return key != NULL ? key : "";
}

void creds_store_gets_with(const char* key) {
  if (creds_store_get() != 0)
    fail_msg("%s", creds_store.r.message);
  assert_string_equal(creds_store_key(), key);
}

void creds_store_works(const char* key) {
  fakes3_counters_t counters;
  if (creds_store_put() != 0)
    fail_msg("%s", creds_store.r.message);
  assert_string_equal(creds_store_key(), key);
  creds_store_gets_with(key);
  fakes3_counters(creds_store.fake, &counters);
  assert_int_equal(counters.unauthorized, 0);
  creds_store_end();
}
