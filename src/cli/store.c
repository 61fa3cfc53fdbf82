#include "store.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "options_table.h"
#include "text.h"

int cli_usage(const s3lect_error_t* error) {
  if (error->code == 0)
    return 0;
  cli_say_error("", false, error);
  return CLI_EXIT_USAGE;
}

static int check_directory(const cli_options_t* options) {
  s3lect_error_t error;
  bool looks = (options->command & (CLI_STATUS | CLI_WATCH | CLI_LIST | CLI_AUDIT)) != 0 ||
               (options->command == CLI_GET && options->epoch == NULL);
  int mode = looks ? X_OK : X_OK | W_OK;
  int r = s3lect_store_file_check(options->directory, &error);
  if (r != 0 || access(options->directory, mode) == 0)
    return cli_usage(&error);
  cli_say("--store %.200s: cannot use the directory %.200s: %s", options->store, options->directory,
          strerror(errno));
  return CLI_EXIT_USAGE;
}

static s3lect_store_azure_options_t azure_options(const cli_options_t* options) {
  s3lect_store_azure_options_t azure;
  s3lect_store_azure_options_init(&azure, sizeof azure);
  azure.account = options->account;
  azure.container = options->bucket;
  azure.endpoint = options->s3.endpoint;
  azure.ca_file = options->s3.ca_file;
  azure.proxy = options->s3.proxy;
  return azure;
}

static int check_azure(const cli_options_t* options, s3lect_error_t* error) {
  const s3lect_store_azure_options_t azure = azure_options(options);
  return s3lect_store_azure_options_check(&azure, error);
}

static int open_azure(const cli_options_t* options, uv_loop_t* loop, s3lect_store_t* store,
                      s3lect_error_t* error) {
  const s3lect_store_azure_options_t azure = azure_options(options);
  return s3lect_store_azure_init(loop, store, &azure, error);
}

static s3lect_store_gcs_options_t gcs_options(const cli_options_t* options) {
  s3lect_store_gcs_options_t gcs;
  s3lect_store_gcs_options_init(&gcs, sizeof gcs);
  gcs.bucket = options->bucket;
  gcs.endpoint = options->s3.endpoint;
  gcs.ca_file = options->s3.ca_file;
  gcs.proxy = options->s3.proxy;
  return gcs;
}

static int check_gcs(const cli_options_t* options, s3lect_error_t* error) {
  const s3lect_store_gcs_options_t gcs = gcs_options(options);
  return s3lect_store_gcs_options_check(&gcs, error);
}

static int open_gcs(const cli_options_t* options, uv_loop_t* loop, s3lect_store_t* store,
                    s3lect_error_t* error) {
  const s3lect_store_gcs_options_t gcs = gcs_options(options);
  return s3lect_store_gcs_init(loop, store, &gcs, error);
}

int cli_store_check(const cli_options_t* options) {
  s3lect_error_t error;
  if (options->kind == CLI_STORE_FILE)
    return check_directory(options);
  if (options->kind == CLI_STORE_AZURE)
    (void)check_azure(options, &error);
  else if (options->kind == CLI_STORE_GOOGLE)
    (void)check_gcs(options, &error);
  else
    (void)s3lect_store_s3_options_check(&options->s3, &error);
  return cli_usage(&error);
}

static int open_store(const cli_options_t* options, uv_loop_t* loop, s3lect_store_t* store,
                      s3lect_error_t* error) {
  switch (options->kind) {
  case CLI_STORE_FILE:
    return s3lect_store_file_init(loop, store, options->directory, error);
  case CLI_STORE_AZURE:
    return open_azure(options, loop, store, error);
  case CLI_STORE_GOOGLE:
    return open_gcs(options, loop, store, error);
  case CLI_STORE_S3:
  default:
    return s3lect_store_s3_init(loop, store, &options->s3, error);
  }
}

int cli_store_open(const cli_options_t* options, uv_loop_t* loop, s3lect_store_t* store) {
  s3lect_error_t error;
  int r = open_store(options, loop, store, &error);
  if (r != 0)
    cli_say_error("cannot open the store: ", false, &error);
  return r;
}

int cli_store_failed(const cli_options_t* options, int error, const char* why) {
  const char* what = s3lect_strerror(error);
  if (why[0] == '\0')
    cli_say("cannot read %s: %s", options->store, what);
  else if (options->kind == CLI_STORE_FILE || strstr(why, what) != NULL) /* it says all */
    cli_say("cannot read %s: %s", options->store, why);
  else
    cli_say("cannot read %s: %s (%s)", options->store, what, why);
  return CLI_EXIT_FAILED;
}

/* ---- Once ---- */

static int find_defaults(cli_once_t* once) {
  s3lect_error_t error;
  s3lect_elector_options_t plain;
  s3lect_elector_options_init(&plain, sizeof plain);
  plain.lockfile_path = once->options->elector.lockfile_path;
  plain.server_id = once->options->elector.server_id;
  plain.protocol = once->options->elector.protocol;
  if (once->options->prefix) { /* of keys, which the elections' own electors check */
    plain.lockfile_path = "";
    plain.protocol = S3LECT_PROTOCOL_EPOCHS;
  }
  plain.store = &once->store;
  once->defaults.size = sizeof once->defaults;
  (void)s3lect_elector_options_resolve(&plain, &once->defaults, &error);
  return cli_usage(&error);
}

int cli_once(cli_once_t* once, const cli_options_t* options, int (*start)(cli_once_t* once)) {
  once->options = options;
  once->exit_code = CLI_EXIT_FAILED;
  if (find_defaults(once) != 0 || cli_store_check(options) != 0)
    return CLI_EXIT_USAGE;
  int r = uv_loop_init(&once->loop);
  if (r != 0) {
    cli_say("cannot start: %s", uv_strerror(r));
    return CLI_EXIT_FAILED;
  }
  if (cli_store_open(options, &once->loop, &once->store) == 0) {
    r = start(once);
    if (r != 0) {
      cli_say("cannot start: %s",
              r == UV_ENOSYS ? "this store cannot list its objects, or keeps no versions of them"
                             : s3lect_strerror(r));
      s3lect_store_close(&once->store, NULL);
    }
  }
  uv_run(&once->loop, UV_RUN_DEFAULT);
  uv_loop_close(&once->loop);
  return once->exit_code;
}

s3lect_list_options_t cli_list_options(cli_once_t* once) {
  const s3lect_elector_options_t* given = &once->options->elector;
  uint32_t request = given->request_timeout_ms, leader = given->leader_timeout_ms;
  s3lect_list_options_t options;
  s3lect_list_options_init(&options, sizeof options);
  options.store = &once->store;
  if (once->options->prefix) {
    options.prefix = given->lockfile_path;
  } else {
    options.lockfile_path = given->lockfile_path;
    options.protocol = given->protocol;
  }
  options.request_timeout_ms = request != 0 ? request : once->defaults.request_timeout_ms;
  options.leader_timeout_ms = leader != 0 ? leader : once->defaults.leader_timeout_ms;
  return options;
}
