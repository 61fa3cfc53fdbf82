#include "lib/any_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fakes3/fakes3.h"
#include "lib/test.h"
#include "s3lect.h"

typedef struct kind_s {
  const char* name;
  const char* url; /* of the command's --store, before bucket and key */
  const char* keys[4];
  void (*open)(uv_loop_t* loop, s3lect_store_t* store, const s3l_any_store_options_t* want);
} kind_t;

static void check(int rc, const s3lect_error_t* error) {
  if (rc != 0)
    fail_msg("the store does not open: %s", error->text);
}

static void open_s3(uv_loop_t* loop, s3lect_store_t* store, const s3l_any_store_options_t* want) {
  s3lect_error_t error;
  s3lect_store_s3_options_t o;
  s3lect_store_s3_options_init(&o, sizeof(o));
  o.bucket = want->bucket;
  o.endpoint = want->url;
  o.ca_file = want->ca_file;
  o.max_connections = want->max_connections;
  o.access_key_id = FAKES3_ACCESS_KEY;
  o.secret_access_key = want->secret != NULL ? want->secret : FAKES3_SECRET_KEY;
  check(s3lect_store_s3_init(loop, store, &o, &error), &error);
}

static void open_azure(uv_loop_t* loop, s3lect_store_t* store,
                       const s3l_any_store_options_t* want) {
  s3lect_error_t error;
  s3lect_store_azure_options_t o;
  s3lect_store_azure_options_init(&o, sizeof(o));
  o.account = FAKES3_ACCOUNT;
  o.account_key = want->secret != NULL ? want->secret : FAKES3_ACCOUNT_KEY;
  o.container = want->bucket;
  o.endpoint = want->url;
  o.ca_file = want->ca_file;
  o.max_connections = want->max_connections;
  check(s3lect_store_azure_init(loop, store, &o, &error), &error);
}

static void open_gcs(uv_loop_t* loop, s3lect_store_t* store, const s3l_any_store_options_t* want) {
  s3lect_error_t error;
  s3lect_store_gcs_options_t o;
  s3lect_store_gcs_options_init(&o, sizeof(o));
  o.bucket = want->bucket;
  o.endpoint = want->url;
  o.ca_file = want->ca_file;
  o.max_connections = want->max_connections;
  o.access_key_id = FAKES3_ACCESS_KEY;
  o.secret_access_key = want->secret != NULL ? want->secret : FAKES3_SECRET_KEY;
  check(s3lect_store_gcs_init(loop, store, &o, &error), &error);
}

static const kind_t kinds[] = {
    {"s3",
     "s3://",
     {"AWS_ACCESS_KEY_ID=" FAKES3_ACCESS_KEY, "AWS_SECRET_ACCESS_KEY=" FAKES3_SECRET_KEY, NULL},
     open_s3},
    {"azure",
     "az://" FAKES3_ACCOUNT "/",
     {"AZURE_STORAGE_KEY=" FAKES3_ACCOUNT_KEY, NULL},
     open_azure},
    {"gcs",
     "gs://",
     {"GS_ACCESS_KEY_ID=" FAKES3_ACCESS_KEY, "GS_SECRET_ACCESS_KEY=" FAKES3_SECRET_KEY, NULL},
     open_gcs},
};

static const char* chosen;

void s3l_any_store_choose(const char* name) {
  chosen = name;
}

static const kind_t* kind(void) {
  const char* name = chosen != NULL ? chosen : getenv("S3L_TEST_STORE");
  for (size_t i = 0; name != NULL && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
    if (strcmp(name, kinds[i].name) == 0)
      return &kinds[i];
  }
  assert_null(name);
  return &kinds[0];
}

const char* s3l_any_store(void) {
  return kind()->name;
}

bool s3l_any_store_is(const char* name) {
  return strcmp(kind()->name, name) == 0;
}

void s3l_any_store_open(uv_loop_t* loop, s3lect_store_t* store,
                        const s3l_any_store_options_t* want) {
  kind()->open(loop, store, want);
}

const char* s3l_any_store_url(const char* bucket, const char* key, char* out, size_t cap) {
  snprintf(out, cap, "%s%s/%s", kind()->url, bucket, key);
  return out;
}

const char* const* s3l_any_store_keys(void) {
  return kind()->keys;
}

uint32_t s3l_any_store_renew_ms(uint32_t ms) {
  return s3l_any_store_is("gcs") && ms < 1000 ? 1000 : ms;
}

uint32_t s3l_any_store_timeout_ms(uint32_t ms) {
  return s3l_any_store_is("gcs") && ms < 4500 ? 4500 : ms;
}
