#include "values.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "options_table.h"

#define DURATION_MAX_MS 86400000u /* a day: longer ones are slips of the finger */
#define RATE_MAX_PPM    1000000u  /* the library's limit is smaller, and says so */

/* ---- Numbers with a unit ---- */

typedef struct unit_s {
  const char* name;
  uint32_t factor;
} unit_t;

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* Reads "1.5s" and the like. `what` it is and how it is `written` are for the message; so is a
 * `range`. */
static int parse_number(const char* text, const unit_t* units, uint32_t max, const char* what,
                        const char* written, const char* range, uint32_t* out,
                        char message[CLI_MESSAGE_SIZE]) {
  uint64_t whole = 0, fraction = 0, scale = 1;
  const char* p = text;
  bool any = false;
  for (; is_digit(*p) && p - text < 12; p++, any = true)
    whole = whole * 10 + (uint64_t)(*p - '0');
  if (any && *p == '.') {
    p++;
    any = is_digit(*p);
    for (; is_digit(*p) && scale < 1000000; p++, scale *= 10)
      fraction = fraction * 10 + (uint64_t)(*p - '0');
  }
  if (any && *p == '\0') {
    cli_format(message, CLI_MESSAGE_SIZE, "%.64s has no unit: write %.64s%s or %.64s%s", text, text,
               units[1].name, text, units[0].name);
    return S3LECT_EOPTION;
  }
  while (units->name != NULL && strcmp(p, units->name) != 0)
    units++;
  if (!any || units->name == NULL) {
    cli_format(message, CLI_MESSAGE_SIZE, "%.64s is no %s: write %s", text, what, written);
    return S3LECT_EOPTION;
  }
  uint64_t unit = units->factor;
  uint64_t total = whole > max ? UINT64_MAX : whole * unit + fraction * unit / scale;
  if (total == 0 || total > max) {
    cli_format(message, CLI_MESSAGE_SIZE, "%.64s is out of range: %s", text, range);
    return S3LECT_EOPTION;
  }
  *out = (uint32_t)total;
  return 0;
}

int cli_duration_parse(const char* text, uint32_t* ms, char message[CLI_MESSAGE_SIZE]) {
  static const unit_t units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {NULL, 0}};
  return parse_number(text, units, DURATION_MAX_MS, "length of time", "500ms, 5s, 2m or 1h",
                      "from 1ms to 24h", ms, message);
}

int cli_rate_parse(const char* text, uint32_t* ppm, char message[CLI_MESSAGE_SIZE]) {
  static const unit_t units[] = {{"ppm", 1}, {"%", 10000}, {NULL, 0}};
  return parse_number(text, units, RATE_MAX_PPM, "rate", "1% or 10000ppm", "from 1ppm to 100%", ppm,
                      message);
}

/* ---- --store ---- */

#define S3_SCHEME   "s3://"
#define FILE_SCHEME "file://"

__attribute__((format(printf, 2, 3))) static int fail(char message[CLI_MESSAGE_SIZE],
                                                      const char* format, ...) {
  va_list args;
  va_start(args, format);
  cli_format_args(message, CLI_MESSAGE_SIZE, format, args);
  va_end(args);
  return S3LECT_EOPTION;
}

static int parse_s3(cli_options_t* options, char message[CLI_MESSAGE_SIZE]) {
  const char* store = options->store;
  const char* bucket = store + sizeof S3_SCHEME - 1;
  const char* slash = strchr(bucket, '/');
  size_t bucket_len = slash != NULL ? (size_t)(slash - bucket) : strlen(bucket);
  if (bucket_len == 0 || bucket_len >= CLI_BUCKET_SIZE)
    return fail(message, "--store %.200s names %s bucket: write s3://BUCKET/KEY", store,
                bucket_len == 0 ? "no" : "too long a");
  if (slash == NULL)
    return fail(message, "--store %.200s names no key: add the lockfile's, s3://%.100s/leader.json",
                store, bucket);
  if (slash[1] == '\0')
    return fail(message, "--store %.200s names no key: add the lockfile's, %.200sleader.json",
                store, store);
  memcpy(options->bucket, bucket, bucket_len);
  options->bucket[bucket_len] = '\0';
  options->key = slash + 1;
  return 0;
}

/* The path is taken as it stands, as shells write it. */
static int parse_file(cli_options_t* options, char message[CLI_MESSAGE_SIZE]) {
  const char* store = options->store;
  const char* path = store + sizeof FILE_SCHEME - 1;
  const char* slash = strrchr(path, '/');
  size_t len = slash != NULL && slash > path ? (size_t)(slash - path) : 1;
  bool in_directory = options->protocol == S3LECT_PROTOCOL_EPOCHS; /* all files of a directory */
  if (path[0] != '/')
    return fail(message, "--store %.200s is no absolute path: write file:///DIRECTORY/NAME", store);
  if (slash[1] == '\0' && !in_directory)
    return fail(message, "--store %.200s names no file: add the lockfile's name, %.200sleader.json",
                store, store);
  if (len >= CLI_DIRECTORY_SIZE)
    return fail(message, "--store %.100s... is too long: a path has at most %d bytes", store,
                CLI_DIRECTORY_SIZE - 1);
  memcpy(options->directory, path, len);
  options->directory[len] = '\0';
  options->key = slash + 1;
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
  case CLI_KIND_FLAG:
    memcpy(&number, field, sizeof number);
    return number == option->flag; /* several may share the field */
  case CLI_KIND_DURATION:
  case CLI_KIND_RATE:
  case CLI_KIND_HELP:
  default:
    return false;
  }
}

static int check_s3_only(const cli_options_t* options, char message[CLI_MESSAGE_SIZE]) {
  for (size_t i = 0; i < cli_option_count; i++)
    if (cli_option_table[i].s3_only && is_given(options, &cli_option_table[i]))
      return fail(message, "--%s is for stores that speak S3: with --store %.200s leave it away",
                  cli_option_table[i].name, options->store);
  return 0;
}

static int parse_store(cli_options_t* options, char message[CLI_MESSAGE_SIZE]) {
  const char* store = options->store;
  if (store == NULL)
    return fail(message, "--store is missing: name the lockfile, --store s3://BUCKET/KEY or "
                         "--store file:///DIRECTORY/NAME");
  if (strncmp(store, S3_SCHEME, sizeof S3_SCHEME - 1) == 0)
    return parse_s3(options, message);
  if (strncmp(store, FILE_SCHEME, sizeof FILE_SCHEME - 1) != 0)
    return fail(message,
                "--store %.200s is no store: write s3://BUCKET/KEY or file:///DIRECTORY/NAME",
                store);
  int r = parse_file(options, message);
  return r != 0 ? r : check_s3_only(options, message);
}

/* ---- Names and addresses ---- */

/* HOST:PORT, with an IPv6 address in brackets. */
static bool is_host_port(const char* addr) {
  for (const char* p = addr; *p != '\0'; p++)
    if ((unsigned char)*p <= ' ' || *p == 0x7f)
      return false;
  const char* colon = strrchr(addr, ':');
  if (colon == NULL || colon == addr || strlen(addr) >= S3LECT_ADDR_SIZE)
    return false;
  size_t host_len = (size_t)(colon - addr);
  if (memchr(addr, ':', host_len) != NULL && (addr[0] != '[' || colon[-1] != ']'))
    return false;
  uint32_t port = 0;
  const char* p = colon + 1;
  for (; is_digit(*p) && port <= 65535; p++)
    port = port * 10 + (uint32_t)(*p - '0');
  return *p == '\0' && port >= 1 && port <= 65535 && strchr(addr, '/') == NULL;
}

static void make_default_id(cli_options_t* options) {
  char host[S3LECT_ID_SIZE - 16];
  if (gethostname(host, sizeof host) != 0 || host[0] == '\0')
    snprintf(host, sizeof host, "localhost");
  host[sizeof host - 1] = '\0';
  snprintf(options->default_id, sizeof options->default_id, "%s-%" PRIdMAX, host,
           (intmax_t)getpid());
  options->id = options->default_id;
}

static int parse_protocol(cli_options_t* options, char message[CLI_MESSAGE_SIZE]) {
  const char* name = options->protocol_name;
  if (name != NULL && strcmp(name, "epochs") == 0)
    options->protocol = S3LECT_PROTOCOL_EPOCHS;
  else if (name != NULL && strcmp(name, "lockfile") != 0)
    return fail(message, "--protocol %.200s is unknown: write lockfile or epochs", name);
  if (options->keep_epochs && options->protocol != S3LECT_PROTOCOL_EPOCHS)
    return fail(message, "--keep-epochs is for epoch files: add --protocol epochs");
  return 0;
}

static int parse_expiry(cli_options_t* options, char message[CLI_MESSAGE_SIZE]) {
  const char* name = options->expiry_name;
  if (name == NULL || strcmp(name, "observed") == 0)
    return 0;
  options->expiry = S3LECT_EXPIRY_STORE_CLOCK;
  return strcmp(name, "store-clock") == 0
             ? 0
             : fail(message, "--expiry %.200s is unknown: write observed or store-clock", name);
}

int cli_options_check(cli_options_t* options, char message[CLI_MESSAGE_SIZE]) {
  int r = parse_protocol(options, message);
  if (r == 0)
    r = parse_expiry(options, message);
  if (r == 0)
    r = parse_store(options, message);
  if (r != 0)
    return r;
  if (options->addr != NULL && !is_host_port(options->addr)) {
    cli_format(message, CLI_MESSAGE_SIZE,
               "--addr %.200s is no address: write HOST:PORT, such as 10.0.1.42:8443",
               options->addr);
    return S3LECT_EOPTION;
  }
  if (options->id != NULL && strlen(options->id) >= S3LECT_ID_SIZE) {
    cli_format(message, CLI_MESSAGE_SIZE, "--id %.40s... is too long: at most %d bytes",
               options->id, S3LECT_ID_SIZE - 1);
    return S3LECT_EOPTION;
  }
  if (options->command == CLI_RUN && options->child_argv == NULL) {
    cli_format(message, CLI_MESSAGE_SIZE,
               "no command to run: add it after --, as in: "
               "s3lect run --store s3://BUCKET/KEY -- COMMAND ARG");
    return S3LECT_EOPTION;
  }
  if (options->id == NULL)
    make_default_id(options);
  return 0;
}
