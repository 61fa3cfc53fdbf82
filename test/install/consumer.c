/* A user of the installed library, as C11 and as C++17: takes a released lockfile over in a store
 * in memory, and leaves. Exits 0 if it has led with an epoch beyond the one that was there. */
#include <s3lect.h>
#include <stdio.h>
#include <string.h>

static uv_loop_t loop;
static s3lect_store_t store;
static s3lect_elector_t elector;
static int failed = 1;

static void on_elector_closed(s3lect_elector_t* e) {
  (void)e;
  s3lect_store_close(&store, NULL);
}

static void on_started(s3lect_elector_t* e, const s3lect_event_t* event) {
  printf("leading, epoch %llu\n", (unsigned long long)event->epoch);
  failed = event->epoch != 8 || !s3lect_elector_is_leader(e);
  (void)s3lect_elector_close(e, on_elector_closed);
}

static void on_seeded(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  s3lect_elector_options_t options;
  s3lect_error_t error;
  (void)req;
  s3lect_elector_options_init(&options, sizeof options);
  options.lockfile_path = "locks/consumer";
  options.server_id = "consumer";
  options.store = &store;
  options.on_started_leading = on_started;
  int err = result->status;
  if (err == 0)
    err = s3lect_elector_options_check(&options, &error);
  if (err == 0)
    err = s3lect_elector_init(&loop, &elector, &options, NULL);
  if (err == 0)
    err = s3lect_elector_start(&elector);
  if (err != 0) {
    fprintf(stderr, "%s\n", s3lect_strerror(err));
    s3lect_store_close(&store, NULL);
  }
}

int main(void) {
  static const char released[] =
      "{\"leaderID\":\"before\",\"leaderAddr\":\"\",\"lastUpdated\":\"0001-01-01T00:00:00Z\","
      "\"epoch\":7,\"incarnation\":\"0123456789abcdef0123456789abcdef\",\"write\":1}";
  static s3lect_store_req_t req;

  if (strcmp(s3lect_version_string(), S3LECT_VERSION_STRING) != 0)
    return fprintf(stderr, "library %s, headers %s\n", s3lect_version_string(),
                   S3LECT_VERSION_STRING),
           1;
  if (uv_loop_init(&loop) != 0 || s3lect_store_memory_init(&loop, &store, NULL) != 0)
    return 1;
  req.key = "locks/consumer";
  req.body = released;
  req.body_len = sizeof released - 1;
  req.timeout_ms = 1000;
  req.cb = on_seeded;
  if (s3lect_store_put(&store, &req) != 0)
    return 1;
  uv_run(&loop, UV_RUN_DEFAULT);
  return uv_loop_close(&loop) != 0 || failed;
}
