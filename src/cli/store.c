#include "store.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

/* ---- Messages about options ---- */

/* What the library's messages call options, and what people who use the command know them by. */
static const struct {
  const char* field;
  const char* option;
} words[] = {
    {"leader_timeout", "--leader-timeout"},
    {"leader_timeout_ms", "--leader-timeout"},
    {"renew_interval_ms", "--renew"},
    {"request_timeout_ms", "--request-timeout"},
    {"infrequent_interval_ms", "--infrequent"},
    {"frequent_interval_ms", "--frequent"},
    {"server_id", "--id"},
    {"server_addr", "--addr"},
    {"peer_health_path", "--peer-path"},
    {"peer_interval_ms", "--peer-interval"},
    {"peer_timeout_ms", "--peer-timeout"},
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
};

/* The option for a field's name, or NULL. A plain word means a field only where a message begins.
 */
static const char* option_for(const char* word, size_t n, bool begins) {
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (strlen(words[i].field) == n && strncmp(word, words[i].field, n) == 0 &&
        (begins || memchr(word, '_', n) != NULL))
      return words[i].option;
  return NULL;
}

/* Outside of quotes, where values stand. */
static void in_our_words(const char* message, char* out, size_t cap) {
  bool quoted = false;
  size_t len = 0;
  for (const char* p = message; *p != '\0' && len + 1 < cap;) {
    size_t n = quoted ? 0 : strspn(p, "abcdefghijklmnopqrstuvwxyz_");
    const char* option = n > 0 ? option_for(p, n, p == message) : NULL;
    if (option != NULL) {
      int put = snprintf(out + len, cap - len, "%s", option);
      len = len + (size_t)put < cap ? len + (size_t)put : cap - 1;
      p += n;
      continue;
    }
    for (n = n > 0 ? n : 1; n > 0 && len + 1 < cap; n--, p++) {
      quoted ^= *p == '"';
      out[len++] = *p;
    }
  }
  out[len] = '\0';
}

int cli_usage(int r, const char* message) {
  char text[CLI_MESSAGE_SIZE];
  if (r == 0)
    return 0;
  in_our_words(message[0] != '\0' ? message : s3lect_strerror(r), text, sizeof text);
  cli_say("%s", text);
  return CLI_EXIT_USAGE;
}

/* ---- Files ---- */

static bool is_file(const cli_options_t* options) {
  return options->directory[0] != '\0';
}

static int check_directory(const cli_options_t* options) {
  char message[CLI_MESSAGE_SIZE] = "";
  int mode = options->command == CLI_STATUS ? X_OK : X_OK | W_OK;
  int r = s3lect_file_check(options->directory, message, sizeof message);
  if (r == 0 && access(options->directory, mode) == 0)
    return 0;
  if (r != 0)
    cli_say("--store %.200s: %s", options->store, message);
  else
    cli_say("--store %.200s: cannot use the directory %.200s: %s", options->store,
            options->directory, strerror(errno));
  return CLI_EXIT_USAGE;
}

/* ---- The store ---- */

static void s3_options(const cli_options_t* options, s3lect_s3_options_t* s3) {
  s3lect_s3_options_init(s3, sizeof *s3);
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
  char message[CLI_MESSAGE_SIZE] = "";
  s3lect_s3_options_t s3;
  if (is_file(options))
    return check_directory(options);
  s3_options(options, &s3);
  return cli_usage(s3lect_s3_options_check(&s3, message, sizeof message), message);
}

int cli_store_open(const cli_options_t* options, uv_loop_t* loop, s3lect_store_t* store) {
  s3lect_s3_options_t s3;
  int r;
  if (is_file(options)) {
    r = s3lect_file_init(loop, store, options->directory);
  } else {
    s3_options(options, &s3);
    r = s3lect_s3_init(loop, store, &s3);
  }
  if (r != 0)
    cli_say("cannot open %.200s: %s", options->store, s3lect_strerror(r));
  return r;
}
