#include "lib/fakes3_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "lib/wait.h"

uv_loop_t loop;
fakes3_t* server;
s3lect_store_t store;
s3l_store_suite_t suite;
static char ca_dir[64];
static char ca_file[96];

void start_server(const fakes3_options_t* options) {
  char why[256] = "";
  assert_int_equal(uv_loop_init(&loop), 0);
  if (fakes3_start(&loop, options, &server, why, sizeof(why)) != 0)
    fail_msg("%s", why);
}

static void on_stopped(void* arg) {
  ++*(unsigned*)arg;
}

void stop_server(void) {
  unsigned stopped = 0;
  fakes3_stop(server, on_stopped, &stopped);
  s3l_wait_loop_end(&loop);
  assert_int_equal(stopped, 1);
  s3l_wait_pace(S3L_PACE_REAL);
}

s3lect_store_s3_options_t server_options(const char* bucket, const char* region) {
  s3lect_store_s3_options_t o;
  s3lect_store_s3_options_init(&o, sizeof(o));
  o.bucket = bucket;
  o.region = region;
  o.endpoint = fakes3_url(server);
  o.access_key_id = FAKES3_ACCESS_KEY;
  o.secret_access_key = FAKES3_SECRET_KEY;
  return o;
}

void use_store(void) {
  suite = (s3l_store_suite_t){.loop = &loop,
                              .store = &store,
                              .timeout_ms = 20000,
                              .guarded_deletes = true,
                              .clear_conflicts = true};
  s3l_suite_prefix(&suite);
}

void open_store(const s3lect_store_s3_options_t* options) {
  s3lect_error_t error;
  if (s3lect_store_s3_options_check(options, &error) != 0)
    fail_msg("%s", error.text);
  assert_int_equal(s3lect_store_s3_init(&loop, &store, options, NULL), 0);
  use_store();
}

static void on_closed(s3lect_store_t* s) {
  ++*(unsigned*)s->data;
}

void close_store(void) {
  unsigned closed = 0;
  store.data = &closed;
  s3lect_store_close(&store, on_closed);
  s3l_wait_count(&loop, &closed, 1, "the store to be closed");
}

int end_suite(void** state) {
  s3l_suite_clean(*state);
  close_store();
  stop_server();
  return 0;
}

static void refused(const s3lect_store_result_t* result, int status, const char* says) {
  assert_int_equal(result->status, status);
  assert_int_equal(result->outcome, S3LECT_NOT_APPLIED);
  if (strstr(result->message, says) == NULL)
    fail_msg("%s", result->message);
}

void both_refused(int status, const char* says) {
  static s3l_suite_req_t r;
  refused(s3l_suite_put(&suite, &r, "k", S3LECT_IF_ABSENT, NULL, "x"), status, says);
  refused(s3l_suite_get(&suite, &r, "k", NULL), status, says);
  close_store();
}

const char* start_tls_server(const fakes3_options_t* options) {
  fakes3_options_t o = *options;
  snprintf(ca_dir, sizeof(ca_dir), "/tmp/s3lect-ca-XXXXXX");
  assert_non_null(mkdtemp(ca_dir));
  o.tls_self = ca_dir;
  start_server(&o);
  snprintf(ca_file, sizeof(ca_file), "%s/ca.pem", ca_dir);
  return ca_file;
}

void stop_tls_server(void) {
  stop_server();
  assert_int_equal(remove(ca_file), 0);
  assert_int_equal(remove(ca_dir), 0);
}

void open_tls_store(const char* bucket, const char* region) {
  const char* ca = start_tls_server(&(fakes3_options_t){0});
  s3lect_store_s3_options_t o = server_options(bucket, region);
  o.ca_file = ca;
  open_store(&o);
}

void close_tls_store(void) {
  close_store();
  stop_tls_server();
}
