/* cli/parse.c: reads the command line into cli_options_t, by the table of options. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "options_table.h"
#include "parse_store.h"
#include "text.h"

#define DURATION_MAX_MS 86400000u /* a day: longer ones are typing errors */
#define RATE_MAX_PPM    1000000u  /* the library's limit is smaller, and says so */

/* ---- Values ---- */

typedef struct unit_s {
  const char* name;
  uint32_t factor;
} unit_t;

/* What a number with a unit is, and how messages describe it. */
typedef struct quantity_s {
  unit_t units[5];
  uint32_t max;
  const char* what;
  const char* examples;
  const char* range;
} quantity_t;

static const quantity_t duration = {
    .units = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {NULL, 0}},
    .max = DURATION_MAX_MS,
    .what = "length of time",
    .examples = "500ms, 5s, 2m or 1h",
    .range = "from 1ms to 24h"};

static const quantity_t rate = {.units = {{"ppm", 1}, {"%", 10000}, {NULL, 0}},
                                .max = RATE_MAX_PPM,
                                .what = "rate",
                                .examples = "1% or 10000ppm",
                                .range = "from 1ppm to 100%"};

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* Reads "1.5s" and the like. */
static int parse_number(const char* option, const char* text, const quantity_t* q, uint32_t* out,
                        s3lect_error_t* error) {
  const unit_t* unit = q->units;
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
  if (any && *p == '\0')
    return cli_refuse(error, "--%s %.64s has no unit: write %.64s%s or %.64s%s", option, text, text,
                      unit[1].name, text, unit[0].name);
  while (unit->name != NULL && strcmp(p, unit->name) != 0)
    unit++;
  if (!any || unit->name == NULL)
    return cli_refuse(error, "--%s %.64s is no %s: write %s", option, text, q->what, q->examples);
  uint64_t total =
      whole > q->max ? UINT64_MAX : whole * unit->factor + fraction * unit->factor / scale;
  if (total == 0 || total > q->max)
    return cli_refuse(error, "--%s %.64s is out of range: %s", option, text, q->range);
  *out = (uint32_t)total;
  return 0;
}

/* Which of the words "a|b|c" it is, from the row's number on. */
static int parse_choice(const cli_option_t* option, const char* text, uint32_t* out,
                        s3lect_error_t* error) {
  size_t len = strlen(text), last = 0;
  *out = option->flag;
  for (const char* word = option->meta;; word += last + 1, ++*out) {
    last = strcspn(word, "|");
    if (last == len && memcmp(text, word, len) == 0)
      return 0;
    if (word[last] == '\0')
      return cli_refuse(error, "--%s %.200s is unknown: write %.*s or %s", option->name, text,
                        (int)(word - option->meta - 1), option->meta, word);
  }
}

static int add_to_list(cli_list_t* list, const cli_option_t* option, const char* value,
                       s3lect_error_t* error) {
  if (list->len == CLI_LIST_MAX)
    return cli_refuse(error, "--%s is given too often: at most %d times", option->name,
                      CLI_LIST_MAX);
  list->all[list->len++] = value;
  return 0;
}

/* ---- Words ---- */

static int unknown_option(cli_command_t command, const char* dashes, const char* word, size_t len,
                          s3lect_error_t* error) {
  const cli_option_t* near = cli_option_nearest(command, word, len);
  const cli_option_t* other = cli_option_find(word, len);
  int shown = len > 200 ? 200 : (int)len;
  if (other != NULL && (other->commands & (int)command) == 0)
    return cli_refuse(
        error, "--%s is no option of this command: it belongs to s3lect %s", other->name,
        cli_command_name((other->commands & CLI_RUN) != 0 ? CLI_RUN : other->commands));
  if (near != NULL)
    return cli_refuse(error, "unknown option %s%.*s: did you mean --%s?", dashes, shown, word,
                      near->name);
  return cli_refuse(error, "unknown option %s%.*s: s3lect %s --help lists them", dashes, shown,
                    word, cli_command_name((int)command));
}

static int set_value(cli_options_t* options, const cli_option_t* option, const char* value,
                     s3lect_error_t* error) {
  char* field = (char*)options + option->offset;
  uint32_t number = 0;
  int r;
  if (value == NULL)
    return cli_refuse(error, "--%s needs a value: --%s %s", option->name, option->name,
                      option->meta);
  if (value[0] == '\0')
    return cli_refuse(error, "--%s is empty: give it a value, --%s %s", option->name, option->name,
                      option->meta);
  if (option->kind == CLI_KIND_STRING) {
    memcpy(field, &value, sizeof value);
    return 0;
  }
  if (option->kind == CLI_KIND_LIST)
    return add_to_list((cli_list_t*)(void*)field, option, value, error);
  if (option->kind == CLI_KIND_CHOICE)
    r = parse_choice(option, value, &number, error);
  else
    r = parse_number(option->name, value, option->kind == CLI_KIND_RATE ? &rate : &duration,
                     &number, error);
  if (r == 0)
    memcpy(field, &number, sizeof number);
  return r;
}

/* Reads the option at argv[*i], and its value from there or from the next word. */
static int parse_option(cli_options_t* options, int argc, char** argv, int* i,
                        s3lect_error_t* error) {
  const char* word = argv[*i] + 2;
  const char* equals = strchr(word, '=');
  size_t len = equals != NULL ? (size_t)(equals - word) : strlen(word);
  const cli_option_t* option = cli_option_find(word, len);
  if (option == NULL || (option->commands & (int)options->command) == 0)
    return unknown_option(options->command, "--", word, len, error);
  if (option->meta == NULL) {
    if (equals != NULL)
      return cli_refuse(error, "--%s takes no value: leave %.200s away", option->name, equals);
    if (option->kind == CLI_KIND_HELP)
      options->help = true;
    else
      memcpy((char*)options + option->offset, &option->flag, sizeof option->flag);
    return 0;
  }
  const char* value = equals != NULL ? equals + 1 : NULL;
  if (equals == NULL && *i + 1 < argc && strncmp(argv[*i + 1], "--", 2) != 0)
    value = argv[++*i];
  return set_value(options, option, value, error);
}

/* ---- All of them together ---- */

/* HOST:PORT, with an IPv6 address in brackets. */
static bool is_host_port(const char* addr) {
  for (const char* p = addr; *p != '\0'; p++)
    if ((unsigned char)*p <= ' ' || *p == 0x7f || *p == '/')
      return false;
  const char* colon = strrchr(addr, ':');
  if (colon == NULL || colon == addr || strlen(addr) >= S3LECT_ADDR_SIZE)
    return false;
  size_t host_len = (size_t)(colon - addr);
  if (memchr(addr, ':', host_len) != NULL && (addr[0] != '[' || colon[-1] != ']'))
    return false;
  uint64_t port;
  return s3l_span_to_u64(s3l_span_cstr(colon + 1), &port) && port >= 1 && port <= 65535;
}

static void make_default_id(cli_options_t* options) {
  char host[S3LECT_ID_SIZE - 16];
  if (gethostname(host, sizeof host) != 0 || host[0] == '\0')
    snprintf(host, sizeof host, "localhost");
  host[sizeof host - 1] = '\0';
  snprintf(options->default_id, sizeof options->default_id, "%s-%" PRIdMAX, host,
           (intmax_t)getpid());
  options->elector.server_id = options->default_id;
}

static int check_files(const cli_options_t* options, s3lect_error_t* error) {
  if (options->store != NULL)
    return cli_refuse(error, "--store %.200s and event logs are both given: audit one of them",
                      options->store);
  return 0;
}

/* ---- Of run ---- */

static int parse_conflict_exit(cli_options_t* options, s3lect_error_t* error) {
  const char* text = options->conflict_exit_text;
  uint64_t code = CLI_EXIT_CONFLICT;
  if (text != NULL && (!s3l_span_to_u64(s3l_span_cstr(text), &code) || code > 255))
    return cli_refuse(
        error, "--conflict-exit %.64s is no exit status: write a number from 0 to 255", text);
  options->conflict_exit = (int)code;
  return 0;
}

/* Options that mean nothing without another, or contradict another. */
static int check_run(cli_options_t* options, s3lect_error_t* error) {
  if (options->within_ms != 0 && options->try_only == 0)
    return cli_refuse(error, "--within is for an attempt that may fail: add --try");
  if (options->conflict_exit_text != NULL && options->try_only == 0)
    return cli_refuse(error, "--conflict-exit is for an attempt that may fail: add --try");
  const char* other = options->try_only != 0      ? "--try"
                      : options->once != 0        ? "--once"
                      : options->min_hold_ms != 0 ? "--min-hold"
                                                  : NULL;
  if (options->standby != 0 && other != NULL)
    return cli_refuse(
        error,
        "--standby is for a service that is started again, and %s for a job that runs "
        "once: leave one of them away",
        other);
  if (options->child_argv == NULL)
    return cli_refuse(error, "no command to run: add it after --, as in: "
                             "s3lect run --store s3://BUCKET/KEY -- COMMAND ARG");
  return parse_conflict_exit(options, error);
}

static int parse_count(const char* option, const char* text, uint64_t count, uint32_t* to,
                       s3lect_error_t* error) {
  if (text != NULL &&
      (!s3l_span_to_u64(s3l_span_cstr(text), &count) || count == 0 || count > 10000000))
    return cli_refuse(error, "--%s %.64s is no count: write a number from 1 to 10000000", option,
                      text);
  *to = (uint32_t)count;
  return 0;
}

static int check_together(cli_options_t* options, s3lect_error_t* error) {
  const char* addr = options->elector.server_addr;
  const char* id = options->elector.server_id;
  if (options->elector.keep_epochs && options->elector.protocol != S3LECT_PROTOCOL_EPOCHS)
    return cli_refuse(error, "--keep-epochs is for epoch files: add --protocol epochs");
  if (options->command == CLI_AUDIT && options->files_len > 0)
    return check_files(options, error);
  int r = cli_store_parse(options, error);
  if (r != 0)
    return r;
  r = parse_count("electors", options->electors_text, 0, &options->electors, error);
  if (r == 0)
    r = parse_count("last", options->last_text, 1000, &options->last, error);
  if (r != 0)
    return r;
  if (addr != NULL && !is_host_port(addr))
    return cli_refuse(error, "--addr %.200s is no address: write HOST:PORT, such as 10.0.1.42:8443",
                      addr);
  if (options->value != NULL && options->value_file != NULL)
    return cli_refuse(error, "--value and --value-file are both given: leave one of them away");
  if (id != NULL && strlen(id) >= S3LECT_ID_SIZE)
    return cli_refuse(error, "--id %.40s... is too long: at most %d bytes", id, S3LECT_ID_SIZE - 1);
  return options->command == CLI_RUN ? check_run(options, error) : 0;
}

/* --http PORT and --http :PORT mean this machine: pages are no secret, but nobody else's either. */
static void make_http_listen(cli_options_t* options) {
  const char* text = options->server.pages_listen;
  size_t digits = text != NULL ? strspn(text + (text[0] == ':'), "0123456789") : 0;
  if (digits == 0 || text[(text[0] == ':') + digits] != '\0' || digits > 5)
    return;
  snprintf(options->http_listen, sizeof options->http_listen, "127.0.0.1:%s",
           text + (text[0] == ':'));
  options->server.pages_listen = options->http_listen;
}

#define ATTEMPT_READS_MS     5000u /* as the library reads by default */
#define ATTEMPT_READS_MIN_MS 100u

/* An attempt that waits, because it does not know whether a leader is alive, must see a leader that
 * comes, works for a moment and holds on: it reads at least twice within --min-hold. */
static void limit_reads(cli_options_t* options) {
  s3lect_elector_options_t* elector = &options->elector;
  uint32_t limit = options->min_hold_ms / 3;
  if (options->try_only == 0 || options->min_hold_ms == 0)
    return;
  limit = limit > ATTEMPT_READS_MS ? ATTEMPT_READS_MS : limit;
  if (elector->leader_timeout_ms != 0 && limit > elector->leader_timeout_ms)
    limit = elector->leader_timeout_ms;
  limit = limit < ATTEMPT_READS_MIN_MS ? ATTEMPT_READS_MIN_MS : limit;
  if (elector->infrequent_interval_ms == 0 || elector->infrequent_interval_ms > limit)
    elector->infrequent_interval_ms = limit;
  if (elector->frequent_interval_ms > limit)
    elector->frequent_interval_ms = limit;
}

/* What follows from more than one word. */
static void finish(cli_options_t* options) {
  if (options->elector.server_id == NULL)
    make_default_id(options);
  options->elector.observer = options->command == CLI_WATCH;
  const char* key = options->elector.lockfile_path;
  bool ends_open = key != NULL && (key[0] == '\0' || key[strlen(key) - 1] == '/');
  options->prefix = options->command == CLI_LIST || (cli_store_may_be_prefix(options) && ends_open);
  cli_store_finish(options);
  make_http_listen(options);
  limit_reads(options);
}

static bool is_file_name(const char* word) {
  return word[0] != '-' || word[1] == '\0';
}

static int parse_words(cli_options_t* options, int argc, char** argv, s3lect_error_t* error) {
  for (int i = 0; i < argc && !options->help; i++) {
    int r = 0;
    if (strcmp(argv[i], "-h") == 0) {
      options->help = true;
    } else if (options->command == CLI_AUDIT && is_file_name(argv[i])) {
      argv[options->files_len++] = argv[i]; /* to the front: what stood there has been read */
      options->files = argv;
    } else if (strcmp(argv[i], "--") == 0 || argv[i][0] != '-') {
      char** rest = argv + i + (argv[i][0] == '-' ? 1 : 0);
      if (options->command == CLI_RUN)
        options->child_argv = *rest != NULL && **rest != '\0' ? rest : NULL;
      else if (*rest != NULL)
        r = cli_refuse(error, "unexpected argument %.200s: s3lect %s takes options only", *rest,
                       cli_command_name((int)options->command));
      return r;
    } else if (argv[i][1] != '-') {
      r = unknown_option(options->command, "-", argv[i] + 1, strlen(argv[i] + 1), error);
    } else {
      r = parse_option(options, argc, argv, &i, error);
    }
    if (r != 0)
      return r;
  }
  return 0;
}

int cli_options_parse(cli_options_t* options, cli_command_t command, int argc, char** argv,
                      s3lect_error_t* error) {
  *options = (cli_options_t){.command = command};
  *error = (s3lect_error_t){.code = 0};
  s3lect_elector_options_init(&options->elector, sizeof options->elector);
  s3lect_store_s3_options_init(&options->s3, sizeof options->s3);
  s3lect_peer_client_options_init(&options->client, sizeof options->client);
  s3lect_peer_server_options_init(&options->server, sizeof options->server);
  int r = parse_words(options, argc, argv, error);
  if (r == 0 && !options->help)
    r = check_together(options, error);
  if (r == 0)
    finish(options);
  return r;
}
