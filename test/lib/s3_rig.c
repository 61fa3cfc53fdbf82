#include "lib/s3_rig.h"

#include "lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

s3lect_store_s3_options_t s3_rig_options(char* endpoint, size_t cap, uint16_t port) {
  s3lect_store_s3_options_t o;
  snprintf(endpoint, cap, "http://127.0.0.1:%u", port);
  s3lect_store_s3_options_init(&o, sizeof(o));
  o.bucket = "bucket";
  o.region = "us-east-1";
  o.endpoint = endpoint;
  o.access_key_id = "test";
  o.secret_access_key = "testtest";
  o.max_connections = 1;
  return o;
}

s3_rig_t* s3_rig_new(const s3l_step_t* const* scripts, size_t n) {
  s3_rig_t* rig = calloc(1, sizeof(*rig));
  assert_non_null(rig);
  assert_int_equal(uv_loop_init(&rig->loop), 0);
  rig->server.scripts = scripts;
  rig->server.scripts_len = n;
  rig->server.unref = true;
  s3l_script_server_start(&rig->server, &rig->loop);
  snprintf(rig->url, sizeof(rig->url), "http://127.0.0.1:%u", rig->server.port);
  rig->suite = (s3l_store_suite_t){.loop = &rig->loop, .store = &rig->store, .timeout_ms = 20000};
  return rig;
}

s3_rig_t* s3_rig_open(const s3l_step_t* const* scripts, size_t n,
                      void (*adjust)(s3lect_store_s3_options_t* options)) {
  s3_rig_t* rig = s3_rig_new(scripts, n);
  s3lect_store_s3_options_t o = s3_rig_options(rig->url, sizeof(rig->url), rig->server.port);
  if (adjust != NULL)
    adjust(&o);
  assert_int_equal(s3lect_store_s3_init(&rig->loop, &rig->store, &o, NULL), 0);
  return rig;
}

static void end(s3_rig_t* rig, bool played) {
  s3lect_store_close(&rig->store, NULL);
  assert_int_equal(uv_run(&rig->loop, UV_RUN_DEFAULT), 0);
  if (played)
    assert_int_equal(rig->server.failures + rig->server.strays, 0);
  s3l_script_server_close(&rig->server);
  assert_int_equal(uv_run(&rig->loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&rig->loop), 0);
  free(rig);
}

void s3_rig_close(s3_rig_t* rig) {
  end(rig, true);
}

void s3_rig_cut(s3_rig_t* rig) {
  end(rig, false);
}

const s3lect_store_result_t* s3_rig_get(s3_rig_t* rig, const char* unless) {
  return s3l_suite_get(&rig->suite, &rig->r, "leases/k", unless);
}

void s3_rig_prepare_put(s3_rig_t* rig, uint32_t condition, uint32_t flags) {
  s3l_suite_prepare(&rig->suite, &rig->r, "leases/k");
  rig->r.req.condition = condition;
  rig->r.req.flags = flags;
  rig->r.req.etag = S3_ETAG;
  rig->r.req.body = S3_BODY;
  rig->r.req.body_len = sizeof(S3_BODY) - 1;
}

const s3lect_store_result_t* s3_rig_put(s3_rig_t* rig, uint32_t condition, uint32_t flags) {
  s3_rig_prepare_put(rig, condition, flags);
  return s3l_suite_do(&rig->r, s3lect_store_put);
}

void s3_assert_result(const s3lect_store_result_t* r, int status, int outcome, int http) {
  if (r->status != status || r->outcome != outcome || r->http_status != http)
    fail_msg("got %s, outcome %d, http %d (%s); want %s, %d, %d", s3lect_err_name(r->status),
             r->outcome, r->http_status, r->message == NULL ? "" : r->message,
             s3lect_err_name(status), outcome, http);
}

void s3_assert_says(const char* message, const char* said) {
  size_t n = strlen(said);
  if (strncmp(message, said, n) != 0 || (message[n] != '\0' && strncmp(message + n, "; ", 2) != 0))
    fail_msg("\"%s\" does not begin with \"%s\"", message, said);
}
