#include "store.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

/* ---- Messages about options ---- */

static const cli_word_t words[] = {
    {"leader_timeout_ms", "--leader-timeout"},
    {"renew_interval_ms", "--renew"},
    {"request_timeout_ms", "--request-timeout"},
    {"infrequent_interval_ms", "--infrequent"},
    {"frequent_interval_ms", "--frequent"},
    {"grace_period_ms", "--grace"},
    {"stop_ack_ms", "--stop-ack"},
    {"release_timeout_ms", "--release-timeout"},
    {"no_release", "--no-release"},
    {"drift_ppm", "--drift"},
    {"expiry", "--expiry"},
    {"server_id", "--id"},
    {"server_addr", "--addr"},
    {"peer_health_path", "--peer-path"},
    {"peer_interval_ms", "--peer-interval"},
    {"peer_timeout_ms", "--peer-timeout"},
    {"directory", "--store"},
    {"lockfile_path", "the key in --store"},
    {"bucket", "the bucket in --store"},
    {"endpoint", "--endpoint"},
    {"region", "--region"},
    {"ca_file", "--ca-file"},
    {"addressing", "--virtual-host"},
    {"use_dualstack", "--dualstack"},
    {"proxy", "--proxy"},
    {"profile", "--profile"},
    {"headers", "--header"},
    {"server_side_encryption", "--sse"},
    {"sse_kms_key_id", "--sse-kms-key-id"},
    {"expected_bucket_owner", "--expected-bucket-owner"},
    {NULL, NULL},
};

int cli_usage(const s3lect_error_t* error) {
  if (error->code == 0)
    return 0;
  cli_say_error(words, "", error);
  return CLI_EXIT_USAGE;
}

/* ---- Files ---- */

static bool is_file(const cli_options_t* options) {
  return options->directory[0] != '\0';
}

static int check_directory(const cli_options_t* options) {
  s3lect_error_t error;
  int mode = options->command == CLI_STATUS ? X_OK : X_OK | W_OK;
  int r = s3lect_store_file_check(options->directory, &error);
  if (r != 0 || access(options->directory, mode) == 0)
    return cli_usage(&error);
  cli_say("--store %.200s: cannot use the directory %.200s: %s", options->store, options->directory,
          strerror(errno));
  return CLI_EXIT_USAGE;
}

/* ---- The store ---- */

static void s3_options(const cli_options_t* options, s3lect_store_s3_options_t* s3) {
  s3lect_store_s3_options_init(s3, sizeof *s3);
  s3->bucket = options->bucket;
  s3->endpoint = options->endpoint;
  s3->region = options->region;
  s3->ca_file = options->ca_file;
  s3->addressing = (int32_t)options->addressing;
  s3->use_dualstack = (int32_t)options->dualstack;
  s3->proxy = options->proxy;
  if (options->proxy != NULL && strcmp(options->proxy, "none") == 0)
    s3->proxy = "";
  s3->profile = options->profile;
  s3->headers = options->headers.all;
  s3->headers_len = options->headers.len;
  s3->server_side_encryption = options->sse;
  s3->sse_kms_key_id = options->sse_kms_key_id;
  s3->checksum = (int32_t)options->checksum;
  s3->expected_bucket_owner = options->expected_bucket_owner;
}

int cli_store_check(const cli_options_t* options) {
  s3lect_error_t error;
  s3lect_store_s3_options_t s3;
  if (is_file(options))
    return check_directory(options);
  s3_options(options, &s3);
  (void)s3lect_store_s3_options_check(&s3, &error);
  return cli_usage(&error);
}

int cli_store_open(const cli_options_t* options, uv_loop_t* loop, s3lect_store_t* store) {
  s3lect_error_t error;
  s3lect_store_s3_options_t s3;
  int r;
  if (is_file(options)) {
    r = s3lect_store_file_init(loop, store, options->directory, &error);
  } else {
    s3_options(options, &s3);
    r = s3lect_store_s3_init(loop, store, &s3, &error);
  }
  if (r != 0)
    cli_say_error(words, "cannot open the store: ", &error);
  return r;
}
