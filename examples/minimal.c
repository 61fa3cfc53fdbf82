/* Stands in the election for s3://BUCKET/locks/db until Ctrl-C: minimal BUCKET SERVER-ID
 * Keys, region and endpoint come from the usual AWS_* variables, or a profile. */
#include <s3lect.h>
#include <stdio.h>

static void on_started(s3lect_elector_t* e, const s3lect_event_t* ev) {
  (void)e; /* pass ev->epoch along with all you write; the receiver refuses smaller ones */
  printf("leading, epoch %llu\n", (unsigned long long)ev->epoch);
}

static void on_stopped(s3lect_elector_t* e, const s3lect_event_t* ev) {
  (void)e;
  printf("not leading any more: %s\n", s3lect_reason_name(ev->reason));
}

static void on_error(s3lect_elector_t* e, const s3lect_event_t* ev) {
  (void)e; /* it goes on by itself */
  fprintf(stderr, "%s: %s\n", s3lect_err_name(ev->error), ev->message);
}

int main(int argc, char** argv) {
  s3lect_store_t store;
  s3lect_elector_t elector;
  s3lect_s3_options_t s3;
  s3lect_elector_options_t options;
  uv_loop_t* loop = uv_default_loop();

  if (argc != 3)
    return fprintf(stderr, "usage: minimal BUCKET SERVER-ID\n"), 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  s3lect_s3_options_init(&s3, sizeof s3);
  s3.bucket = argv[1];
  s3lect_elector_options_init(&options, sizeof options);
  options.lockfile_path = "locks/db";
  options.server_id = argv[2]; /* unique for each process */
  options.store = &store;
  options.on_started_leading = on_started;
  options.on_stopped_leading = on_stopped;
  options.on_error = on_error;

  int err = s3lect_s3_init(loop, &store, &s3, NULL);
  if (err == 0)
    err = s3lect_elector_init(loop, &elector, &options, NULL);
  if (err == 0)
    err = s3lect_elector_start(&elector);
  if (err != 0)
    return fprintf(stderr, "%s\n", s3lect_strerror(err)), 1;
  return uv_run(loop, UV_RUN_DEFAULT);
}
