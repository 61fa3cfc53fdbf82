/* Takes part in the election s3://BUCKET/locks/db until Ctrl-C or SIGTERM: minimal BUCKET SERVER-ID
 * Keys, region and endpoint come from the usual AWS_* variables, or a profile. */
#include <s3lect.h>
#include <signal.h>
#include <stdio.h>

static s3lect_store_t store;
static s3lect_elector_t elector;
static uv_signal_t signals[2];

static void on_started(s3lect_elector_t* e, const s3lect_event_t* ev) {
  (void)e; /* send ev->epoch with every write; the receiver refuses smaller ones */
  printf("leading, epoch %llu\n", (unsigned long long)ev->epoch);
}

static void on_stopped(s3lect_elector_t* e, const s3lect_event_t* ev) {
  (void)e;
  printf("not leading any more: %s\n", s3lect_reason_name(ev->reason));
}

static void on_error(s3lect_elector_t* e, const s3lect_event_t* ev) {
  (void)e; /* the elector continues by itself */
  fprintf(stderr, "%s: %s\n", s3lect_err_name(ev->error), ev->message);
}

static void on_closed(s3lect_elector_t* e) {
  (void)e; /* the lockfile is released: another process can lead at once */
  s3lect_store_close(&store, NULL);
}

static void on_signal(uv_signal_t* handle, int signum) {
  (void)handle;
  (void)signum;
  for (int i = 0; i < 2; i++)
    uv_close((uv_handle_t*)&signals[i], NULL);
  s3lect_elector_close(&elector, on_closed);
}

int main(int argc, char** argv) {
  s3lect_store_s3_options_t s3;
  s3lect_elector_options_t options;
  s3lect_error_t error;
  uv_loop_t* loop = uv_default_loop();

  if (argc != 3)
    return fprintf(stderr, "usage: minimal BUCKET SERVER-ID\n"), 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  s3lect_store_s3_options_init(&s3, sizeof s3);
  s3.bucket = argv[1];
  s3lect_elector_options_init(&options, sizeof options);
  options.lockfile_path = "locks/db";
  options.server_id = argv[2]; /* unique for each process */
  options.store = &store;
  options.on_started_leading = on_started;
  options.on_stopped_leading = on_stopped;
  options.on_error = on_error;

  if (s3lect_store_s3_init(loop, &store, &s3, &error) != 0 ||
      s3lect_elector_init(loop, &elector, &options, &error) != 0)
    return fprintf(stderr, "%s\n", error.text), 1;
  for (int i = 0; i < 2; i++) {
    uv_signal_init(loop, &signals[i]);
    uv_signal_start(&signals[i], on_signal, i == 0 ? SIGINT : SIGTERM);
  }
  s3lect_elector_start(&elector);
  return uv_run(loop, UV_RUN_DEFAULT);
}
