#include "parse_store.h"

#include <string.h>

#include "options_table.h"
#include "text.h"

/* list and watch accept the beginning of keys. With epoch files, watch takes it as one election's.
 */
bool cli_store_may_be_prefix(const cli_options_t* options) {
  return options->command == CLI_LIST ||
         (options->command == CLI_WATCH && options->elector.protocol != S3LECT_PROTOCOL_EPOCHS);
}

/* Copies the part up to the next '/'. Returns what follows that, NULL if there is none. */
static int take_part(const cli_options_t* options, const char** rest, const char* what,
                     const char* form, char part[CLI_BUCKET_SIZE], s3lect_error_t* error) {
  const char* slash = strchr(*rest, '/');
  size_t len = slash != NULL ? (size_t)(slash - *rest) : strlen(*rest);
  if (len == 0 || len >= CLI_BUCKET_SIZE)
    return cli_refuse(error, "--store %.200s names %s %s: write %s", options->store,
                      len == 0 ? "no" : "too long a", what, form);
  memcpy(part, *rest, len);
  *rest = slash != NULL ? slash + 1 : NULL;
  return 0;
}

static int take_key(cli_options_t* options, const char* key, s3lect_error_t* error) {
  const char* store = options->store;
  if (key == NULL || (key[0] == '\0' && !cli_store_may_be_prefix(options)))
    return cli_refuse(error, "--store %.200s names no key: add the lockfile's, %.200s%sleader.json",
                      store, store, key == NULL ? "/" : "");
  options->elector.lockfile_path = key;
  return 0;
}

static int parse_s3(cli_options_t* options, const char* rest, s3lect_error_t* error) {
  int r = take_part(options, &rest, "bucket", "s3://BUCKET/KEY", options->bucket, error);
  return r != 0 ? r : take_key(options, rest, error);
}

static int parse_google(cli_options_t* options, const char* rest, s3lect_error_t* error) {
  int r = take_part(options, &rest, "bucket", "gs://BUCKET/KEY", options->bucket, error);
  return r != 0 ? r : take_key(options, rest, error);
}

static int parse_azure(cli_options_t* options, const char* rest, s3lect_error_t* error) {
  static const char form[] = "az://ACCOUNT/CONTAINER/KEY";
  int r = take_part(options, &rest, "account", form, options->account, error);
  if (r != 0)
    return r;
  if (rest == NULL)
    rest = "";
  r = take_part(options, &rest, "container", form, options->bucket, error);
  return r != 0 ? r : take_key(options, rest, error);
}

/* The path is taken as it stands, as shells write it. */
static int parse_file(cli_options_t* options, const char* path, s3lect_error_t* error) {
  const char* store = options->store;
  const char* slash = strrchr(path, '/');
  size_t len = slash != NULL && slash > path ? (size_t)(slash - path) : 1;
  bool in_directory = options->elector.protocol == S3LECT_PROTOCOL_EPOCHS; /* all its files */
  if (path[0] != '/')
    return cli_refuse(error, "--store %.200s is no absolute path: write file:///DIRECTORY/NAME",
                      store);
  if (slash[1] == '\0' && !in_directory && !cli_store_may_be_prefix(options))
    return cli_refuse(error,
                      "--store %.200s names no file: add the lockfile's name, %.200sleader.json",
                      store, store);
  if (len >= CLI_DIRECTORY_SIZE)
    return cli_refuse(error, "--store %.100s... is too long: a path has at most %d bytes", store,
                      CLI_DIRECTORY_SIZE - 1);
  memcpy(options->directory, path, len);
  options->elector.lockfile_path = slash + 1;
  return 0;
}

static bool is_given(const cli_options_t* options, const cli_option_t* option) {
  const char* field = (const char*)options + option->offset;
  const char* string;
  uint32_t number;
  switch (option->kind) {
  case CLI_KIND_STRING:
    memcpy(&string, field, sizeof string);
    return string != NULL;
  case CLI_KIND_LIST:
    return ((const cli_list_t*)(const void*)field)->len > 0;
  default:
    memcpy(&number, field, sizeof number);
    return number == option->flag; /* several may share the field */
  }
}

/* The options that only other stores have. */
static int check_options(const cli_options_t* options, const char* store, s3lect_error_t* error) {
  int foreign = CLI_OPTION_S3 | (options->kind == CLI_STORE_FILE ? CLI_OPTION_HTTP : 0);
  if (options->kind == CLI_STORE_S3)
    return 0;
  for (size_t i = 0; i < cli_option_count; i++)
    if ((cli_option_table[i].commands & foreign) != 0 && is_given(options, &cli_option_table[i]))
      return cli_refuse(error, "--%s is for %s: with --store %.200s leave it away",
                        cli_option_table[i].name,
                        (cli_option_table[i].commands & CLI_OPTION_S3) != 0 ? "stores that speak S3"
                                                                            : "stores behind HTTP",
                        store);
  return 0;
}

static const struct {
  const char* scheme;
  cli_store_kind_t kind;
  int (*parse)(cli_options_t* options, const char* rest, s3lect_error_t* error);
} schemes[] = {{"s3://", CLI_STORE_S3, parse_s3},
               {"az://", CLI_STORE_AZURE, parse_azure},
               {"gs://", CLI_STORE_GOOGLE, parse_google},
               {"file://", CLI_STORE_FILE, parse_file}};

#define FORMS                                                                                      \
  "s3://BUCKET/KEY, az://ACCOUNT/CONTAINER/KEY, gs://BUCKET/KEY or file:///DIRECTORY/NAME"

int cli_store_parse(cli_options_t* options, s3lect_error_t* error) {
  const char* store = options->store;
  if (store == NULL && options->command == CLI_AUDIT)
    return cli_refuse(error, "nothing to audit: give event logs, or --store");
  if (store == NULL)
    return cli_refuse(error, "--store is missing: name the lockfile, " FORMS);
  for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
    size_t len = strlen(schemes[i].scheme);
    if (strncmp(store, schemes[i].scheme, len) != 0)
      continue;
    options->kind = schemes[i].kind;
    int r = schemes[i].parse(options, store + len, error);
    return r != 0 ? r : check_options(options, store, error);
  }
  return cli_refuse(error, "--store %.200s is no store: write " FORMS, store);
}

void cli_store_finish(cli_options_t* options) {
  s3lect_store_s3_options_t* s3 = &options->s3;
  if (s3->proxy != NULL && strcmp(s3->proxy, "none") == 0)
    s3->proxy = "";
  s3->bucket = options->bucket;
  s3->headers = options->headers.all;
  s3->headers_len = options->headers.len;
}
