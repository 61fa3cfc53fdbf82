#include "options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ELECTING        (CLI_ELECT | CLI_RUN)
#define ANY             (CLI_ELECT | CLI_RUN | CLI_STATUS | CLI_VERIFY)
#define READING         (CLI_ELECT | CLI_RUN | CLI_STATUS)

#define DURATION_MAX_MS 86400000u /* a day: longer ones are slips of the finger */
#define NAME_MAX_LEN    32        /* longer words are compared with no option's name */

typedef enum { KIND_STRING, KIND_DURATION, KIND_FLAG, KIND_HELP } kind_t;

typedef struct option_s {
  const char* name;
  const char* meta; /* what its value is called; NULL for a flag */
  int commands;
  kind_t kind;
  size_t offset;
  uint32_t flag; /* what a flag sets */
  const char* help;
} option_t;

#define AT(field) offsetof(cli_options_t, field)

static const option_t table[] = {
    {"store", "s3://BUCKET/KEY", ANY, KIND_STRING, AT(store), 0,
     "the lockfile that decides the election (required)"},
    {"endpoint", "URL", ANY, KIND_STRING, AT(endpoint), 0,
     "the store, http[s]://HOST[:PORT] (AWS_ENDPOINT_URL_S3, else AWS)"},
    {"region", "NAME", ANY, KIND_STRING, AT(region), 0,
     "the region to sign for (AWS_REGION, else us-east-1)"},
    {"path-style", NULL, ANY, KIND_FLAG, AT(addressing), S3LECT_ADDRESSING_PATH,
     "name the bucket in the path (default with --endpoint)"},
    {"virtual-host", NULL, ANY, KIND_FLAG, AT(addressing), S3LECT_ADDRESSING_VIRTUAL_HOST,
     "name the bucket in the host name (default on AWS)"},
    {"ca-file", "FILE", ANY, KIND_STRING, AT(ca_file), 0,
     "PEM file of the authorities to trust (AWS_CA_BUNDLE, else the\nsystem's)"},
    {"id", "ID", ELECTING, KIND_STRING, AT(id), 0,
     "this candidate's name, unlike any other's (host name and pid)"},
    {"addr", "HOST:PORT", ELECTING, KIND_STRING, AT(addr), 0,
     "where others reach this server when it leads; kept in the record"},
    {"leader-timeout", "DUR", READING, KIND_DURATION, AT(leader_timeout_ms), 0,
     "how long a leader that is silent stays leader (15s)"},
    {"renew", "DUR", ELECTING, KIND_DURATION, AT(renew_ms), 0,
     "how often a leader renews (the smaller of --frequent and a third\n"
     "of --leader-timeout)"},
    {"frequent", "DUR", ELECTING, KIND_DURATION, AT(frequent_ms), 0,
     "how often a follower looks while leadership is open (5s)"},
    {"infrequent", "DUR", ELECTING, KIND_DURATION, AT(infrequent_ms), 0,
     "how often a follower looks while a leader stands (30s)"},
    {"request-timeout", "DUR", ANY, KIND_DURATION, AT(request_timeout_ms), 0,
     "bound on each request to the store (3s, or what fits)"},
    {"kill-after", "DUR", CLI_RUN, KIND_DURATION, AT(kill_after_ms), 0,
     "time between SIGTERM and SIGKILL (a quarter of --leader-timeout,\nat most 5s)"},
    {"events", "FILE", CLI_RUN, KIND_STRING, AT(events_file), 0,
     "append the events to FILE, as `s3lect elect` prints them"},
    {"verify-on-start", NULL, ELECTING, KIND_FLAG, AT(verify_on_start), 1,
     "first try whether the store keeps its conditions (about 25\n"
     "requests), and do not stand for election if not"},
    {"quick", NULL, CLI_VERIFY, KIND_FLAG, AT(quick), 1,
     "try each thing once: about 25 requests in place of 100"},
    {"json", NULL, CLI_STATUS | CLI_VERIFY, KIND_FLAG, AT(json), 1, "print one JSON object"},
    {"help", NULL, ANY, KIND_HELP, 0, 0, "print this page"},
};

#define TABLE_LEN (sizeof table / sizeof table[0])

static const struct {
  cli_command_t command;
  const char* name;
  const char* usage;
  const char* summary;
  const char* text;
} commands[] = {
    {CLI_ELECT, "elect", "s3lect elect --store s3://BUCKET/KEY [OPTION]...",
     "stand in the election and print what happens, one JSON object a line",
     "Stands in the election until SIGTERM or SIGINT, which give up leadership, release\n"
     "the lockfile and exit 0; a second signal exits at once.\n"
     "\n"
     "Prints one JSON object per line on standard output as things happen:\n"
     "  event           started_leading, stopped_leading, new_leader, renewed or error\n"
     "  id, leader      this candidate's ID, and the leader's as far as is known\n"
     "  epoch           the fencing token: grows with every leadership\n"
     "  reason          stopped_leading: expired, lost, resigned, stopped or closed\n"
     "  error, message  error: its name, and one line for people\n"
     "  boottime_ns     CLOCK_BOOTTIME when the event was delivered\n"
     "  valid_until_ns  same clock: until when leadership holds without a renewal; on\n"
     "                  stopped_leading when it ended; 0 when not leading\n"
     "  time            the wall clock, for people\n"},
    {CLI_RUN, "run", "s3lect run --store s3://BUCKET/KEY [OPTION]... -- COMMAND [ARG]...",
     "run a command only while leader",
     "Waits until it leads, runs COMMAND, and releases the lockfile when COMMAND has\n"
     "ended; exits with its status (128+N if signal N ended it, 127 if it was not found,\n"
     "126 if it cannot be executed). When leadership cannot be renewed, COMMAND gets\n"
     "SIGTERM, then SIGKILL, so that all of it is gone before leadership ends; it is\n"
     "started again once this process leads again.\n"
     "\n"
     "COMMAND runs in a process group of its own, with S3LECT_ID and S3LECT_EPOCH in its\n"
     "environment; standard input, where it is a terminal, becomes /dev/null. It must stay\n"
     "in the foreground: what it leaves running behind is killed when it ends. It is also\n"
     "killed, on time, when s3lect itself is killed or stopped.\n"
     "\n"
     "SIGTERM and SIGINT are passed on, then s3lect waits for COMMAND (SIGKILL follows\n"
     "after --kill-after, or at a second signal), releases and exits. SIGHUP, SIGQUIT,\n"
     "SIGUSR1, SIGUSR2 and SIGWINCH are passed on.\n"},
    {CLI_STATUS, "status", "s3lect status --store s3://BUCKET/KEY [OPTION]...",
     "print who leads; exit 3 if nobody does",
     "Reads the lockfile once and prints who leads, where, since when, with which epoch,\n"
     "and how long ago it was renewed by the store's own clock. Exits 0 if there is a\n"
     "leader and 3 if there is none: no lockfile, one that was released, or one that has\n"
     "not been renewed for its leader timeout and 2 s (--leader-timeout counts where the\n"
     "lockfile names none).\n"},
    {CLI_VERIFY, "verify", "s3lect verify --store s3://BUCKET/KEY [OPTION]...",
     "try whether a store can hold an election; exit 1 if not",
     "Tries the conditional writes that an election stands on, with temporary objects\n"
     "named KEY.verify-..., which it removes: creates twice, swaps under right, wrong and\n"
     "missing ETags, lets many writers race, reads right after writing. Prints each check,\n"
     "and what the store is good for: \"lockfile\" (everything works), \"epoch files only\",\n"
     "or \"unsafe\", with the reason. Needs the permission to read, write and delete such\n"
     "objects. Never touches the lockfile itself.\n"
     "\n"
     "Exits 0 if the store is good for the lockfile, else 1. A check that fails convicts a\n"
     "store; checks that pass only fail to convict it.\n"},
};

#define COMMANDS_LEN (sizeof commands / sizeof commands[0])

/* --- near matches --------------------------------------------------------------------------- */

/* Edits (insert, delete, replace) that turn one word into the other. */
static size_t distance(const char* a, size_t a_len, const char* b, size_t b_len) {
  size_t row[NAME_MAX_LEN + 1];
  if (a_len > NAME_MAX_LEN || b_len > NAME_MAX_LEN)
    return NAME_MAX_LEN;
  for (size_t j = 0; j <= b_len; j++)
    row[j] = j;
  for (size_t i = 1; i <= a_len; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b_len; j++) {
      size_t best = diagonal + (a[i - 1] != b[j - 1]);
      if (row[j] + 1 < best)
        best = row[j] + 1;
      if (row[j - 1] + 1 < best)
        best = row[j - 1] + 1;
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row[b_len];
}

/* Near enough to be what was meant: a third of the letters, and the start of a word counts too. */
static bool is_near(const char* word, size_t len, const char* name, size_t* best) {
  size_t name_len = strlen(name);
  size_t d = distance(word, len, name, name_len);
  if (len >= 3 && len < name_len && memcmp(word, name, len) == 0)
    d = 1;
  if (d > 1 + name_len / 4 || d >= *best)
    return false;
  *best = d;
  return true;
}

static const option_t* nearest_option(cli_command_t command, const char* word, size_t len) {
  const option_t* found = NULL;
  size_t best = NAME_MAX_LEN;
  for (size_t i = 0; i < TABLE_LEN; i++)
    if ((table[i].commands & (int)command) != 0 && is_near(word, len, table[i].name, &best))
      found = &table[i];
  return found;
}

cli_command_t cli_command_find(const char* name, const char** hint) {
  size_t best = NAME_MAX_LEN;
  *hint = NULL;
  for (size_t i = 0; i < COMMANDS_LEN; i++) {
    if (strcmp(name, commands[i].name) == 0)
      return commands[i].command;
    if (is_near(name, strlen(name), commands[i].name, &best))
      *hint = commands[i].name;
  }
  return 0;
}

static const char* command_name(int mask) {
  for (size_t i = 0; i < COMMANDS_LEN; i++)
    if (((int)commands[i].command & mask) != 0)
      return commands[i].name;
  return "elect";
}

/* --- values --------------------------------------------------------------------------------- */

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* Milliseconds per unit, 0 if there is no such unit. */
static uint32_t unit_ms(const char* unit) {
  static const struct {
    const char* name;
    uint32_t ms;
  } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
    if (strcmp(unit, units[i].name) == 0)
      return units[i].ms;
  return 0;
}

int cli_duration_parse(const char* text, uint32_t* ms, char message[CLI_MESSAGE_SIZE]) {
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
    snprintf(message, CLI_MESSAGE_SIZE, "%.64s has no unit: write %.64ss or %.64sms", text, text,
             text);
    return S3LECT_EOPTION;
  }
  uint32_t unit = any ? unit_ms(p) : 0;
  if (unit == 0) {
    snprintf(message, CLI_MESSAGE_SIZE, "%.64s is no length of time: write 500ms, 5s, 2m or 1h",
             text);
    return S3LECT_EOPTION;
  }
  uint64_t total = whole > DURATION_MAX_MS ? UINT64_MAX : whole * unit + fraction * unit / scale;
  if (total == 0 || total > DURATION_MAX_MS) {
    snprintf(message, CLI_MESSAGE_SIZE, "%.64s is out of range: from 1ms to 24h", text);
    return S3LECT_EOPTION;
  }
  *ms = (uint32_t)total;
  return 0;
}

static int parse_store(cli_options_t* options, char message[CLI_MESSAGE_SIZE]) {
  static const char scheme[] = "s3://";
  const char* store = options->store;
  if (store == NULL) {
    snprintf(message, CLI_MESSAGE_SIZE,
             "--store is missing: name the lockfile, --store s3://BUCKET/KEY");
    return S3LECT_EOPTION;
  }
  const char* bucket = store + sizeof scheme - 1;
  if (strncmp(store, scheme, sizeof scheme - 1) != 0) {
    snprintf(message, CLI_MESSAGE_SIZE, "--store %.200s is no S3 address: write s3://BUCKET/KEY",
             store);
    return S3LECT_EOPTION;
  }
  const char* slash = strchr(bucket, '/');
  size_t bucket_len = slash != NULL ? (size_t)(slash - bucket) : strlen(bucket);
  if (bucket_len == 0 || bucket_len >= CLI_BUCKET_SIZE) {
    snprintf(message, CLI_MESSAGE_SIZE, "--store %.200s names %s bucket: write s3://BUCKET/KEY",
             store, bucket_len == 0 ? "no" : "too long a");
    return S3LECT_EOPTION;
  }
  if (slash == NULL || slash[1] == '\0') {
    snprintf(message, CLI_MESSAGE_SIZE,
             "--store %.200s names no key: add the lockfile's, s3://%.100s/leader.json", store,
             bucket);
    if (slash != NULL)
      snprintf(message, CLI_MESSAGE_SIZE,
               "--store %.200s names no key: add the lockfile's, %.200sleader.json", store, store);
    return S3LECT_EOPTION;
  }
  memcpy(options->bucket, bucket, bucket_len);
  options->bucket[bucket_len] = '\0';
  options->key = slash + 1;
  return 0;
}

/* HOST:PORT, with an IPv6 address in brackets. */
static bool is_host_port(const char* addr) {
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

/* What concerns more than the single word: required ones, forms, defaults. */
static int check(cli_options_t* options, char message[CLI_MESSAGE_SIZE]) {
  int r = parse_store(options, message);
  if (r != 0)
    return r;
  if (options->addr != NULL && !is_host_port(options->addr)) {
    snprintf(message, CLI_MESSAGE_SIZE,
             "--addr %.200s is no address: write HOST:PORT, such as 10.0.1.42:8443", options->addr);
    return S3LECT_EOPTION;
  }
  if (options->id != NULL && strlen(options->id) >= S3LECT_ID_SIZE) {
    snprintf(message, CLI_MESSAGE_SIZE, "--id %.40s... is too long: at most %d bytes", options->id,
             S3LECT_ID_SIZE - 1);
    return S3LECT_EOPTION;
  }
  if (options->command == CLI_RUN && options->child_argv == NULL) {
    snprintf(message, CLI_MESSAGE_SIZE,
             "no command to run: add it after --, as in: "
             "s3lect run --store s3://BUCKET/KEY -- COMMAND ARG");
    return S3LECT_EOPTION;
  }
  if (options->id == NULL)
    make_default_id(options);
  return 0;
}

/* --- the command line ----------------------------------------------------------------------- */

static int unknown_option(cli_command_t command, const char* dashes, const char* word, size_t len,
                          char message[CLI_MESSAGE_SIZE]) {
  const option_t* near = nearest_option(command, word, len);
  int shown = len > 200 ? 200 : (int)len;
  for (size_t i = 0; i < TABLE_LEN; i++)
    if (strlen(table[i].name) == len && memcmp(table[i].name, word, len) == 0) {
      snprintf(message, CLI_MESSAGE_SIZE,
               "--%s is no option of this command: it belongs to s3lect %s", table[i].name,
               command_name((table[i].commands & CLI_RUN) != 0 ? CLI_RUN : table[i].commands));
      return S3LECT_EOPTION;
    }
  if (near != NULL)
    snprintf(message, CLI_MESSAGE_SIZE, "unknown option %s%.*s: did you mean --%s?", dashes, shown,
             word, near->name);
  else
    snprintf(message, CLI_MESSAGE_SIZE, "unknown option %s%.*s: s3lect %s --help lists them",
             dashes, shown, word, command_name((int)command));
  return S3LECT_EOPTION;
}

static int set_value(cli_options_t* options, const option_t* option, const char* value,
                     char message[CLI_MESSAGE_SIZE]) {
  char* field = (char*)options + option->offset;
  if (value == NULL) {
    snprintf(message, CLI_MESSAGE_SIZE, "--%s needs a value: --%s %s", option->name, option->name,
             option->meta);
    return S3LECT_EOPTION;
  }
  if (value[0] == '\0') {
    snprintf(message, CLI_MESSAGE_SIZE, "--%s is empty: give it a value, --%s %s", option->name,
             option->name, option->meta);
    return S3LECT_EOPTION;
  }
  if (option->kind == KIND_STRING) {
    memcpy(field, &value, sizeof value);
    return 0;
  }
  char why[CLI_MESSAGE_SIZE];
  uint32_t ms;
  int r = cli_duration_parse(value, &ms, why);
  if (r != 0)
    snprintf(message, CLI_MESSAGE_SIZE, "--%s %.400s", option->name, why);
  else
    memcpy(field, &ms, sizeof ms);
  return r;
}

/* Reads the option at argv[*i], and its value from there or from the next word. */
static int parse_option(cli_options_t* options, int argc, char** argv, int* i,
                        char message[CLI_MESSAGE_SIZE]) {
  const char* word = argv[*i] + 2;
  const char* equals = strchr(word, '=');
  size_t len = equals != NULL ? (size_t)(equals - word) : strlen(word);
  const option_t* option = NULL;
  for (size_t k = 0; k < TABLE_LEN && option == NULL; k++)
    if (strlen(table[k].name) == len && memcmp(table[k].name, word, len) == 0 &&
        (table[k].commands & (int)options->command) != 0)
      option = &table[k];
  if (option == NULL)
    return unknown_option(options->command, "--", word, len, message);
  if (option->meta == NULL) {
    if (equals != NULL) {
      snprintf(message, CLI_MESSAGE_SIZE, "--%s takes no value: leave %.200s away", option->name,
               equals);
      return S3LECT_EOPTION;
    }
    if (option->kind == KIND_HELP)
      options->help = true;
    else
      memcpy((char*)options + option->offset, &option->flag, sizeof option->flag);
    return 0;
  }
  const char* value = equals != NULL ? equals + 1 : NULL;
  if (equals == NULL && *i + 1 < argc && strncmp(argv[*i + 1], "--", 2) != 0)
    value = argv[++*i];
  return set_value(options, option, value, message);
}

int cli_options_parse(cli_options_t* options, cli_command_t command, int argc, char** argv,
                      char message[CLI_MESSAGE_SIZE]) {
  *options = (cli_options_t){.command = command};
  message[0] = '\0';
  for (int i = 0; i < argc; i++) {
    if (strcmp(argv[i], "-h") == 0) {
      options->help = true;
    } else if (strcmp(argv[i], "--") == 0 || argv[i][0] != '-') {
      char** rest = argv + i + (argv[i][0] == '-' ? 1 : 0);
      if (command == CLI_RUN) {
        options->child_argv = *rest != NULL && **rest != '\0' ? rest : NULL;
        break;
      }
      if (*rest == NULL)
        break;
      snprintf(message, CLI_MESSAGE_SIZE,
               "unexpected argument %.200s: s3lect %s takes options only", *rest,
               command_name((int)command));
      return S3LECT_EOPTION;
    } else if (argv[i][1] != '-') {
      return unknown_option(command, "-", argv[i] + 1, strlen(argv[i] + 1), message);
    } else {
      int r = parse_option(options, argc, argv, &i, message);
      if (r != 0)
        return r;
    }
    if (options->help)
      return 0;
  }
  return check(options, message);
}

/* --- help ----------------------------------------------------------------------------------- */

static void help_option(const option_t* option) {
  enum { COLUMN = 28 };
  char head[64];
  snprintf(head, sizeof head, "  --%s%s%s", option->name, option->meta != NULL ? " " : "",
           option->meta != NULL ? option->meta : "");
  printf("%-*s", COLUMN, head);
  for (const char* p = option->help; *p != '\0'; p++) {
    putchar(*p);
    if (*p == '\n')
      printf("%-*s", COLUMN, "");
  }
  putchar('\n');
}

static void help_general(void) {
  printf("s3lect: elects one leader among many processes, on an object store that honours\n"
         "conditional writes (S3, MinIO, Ceph, R2 and others).\n"
         "\n"
         "Usage: s3lect COMMAND [OPTION]...\n"
         "\n"
         "Commands:\n");
  for (size_t i = 0; i < COMMANDS_LEN; i++)
    printf("  %-8s %s\n", commands[i].name, commands[i].summary);
  printf("\n"
         "s3lect COMMAND --help says more about each; s3lect --version prints the version.\n"
         "\n"
         "Examples:\n"
         "  s3lect run --store s3://my-bucket/locks/worker.json -- ./worker --queue jobs\n"
         "  s3lect elect --store s3://my-bucket/locks/db.json --id db-1 --addr 10.0.1.42:5432\n"
         "  s3lect status --store s3://my-bucket/locks/db.json\n"
         "\n"
         "Environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION,\n"
         "AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL and AWS_CA_BUNDLE, as in AWS's own tools; without\n"
         "keys in it a profile (AWS_PROFILE), a web identity, the container's or the instance's "
         "role.\n"
         "\n"
         "Exit status: 0 done, 1 failed, 2 usage error, 3 no leader (status); run passes on its\n"
         "command's.\n");
}

void cli_help(cli_command_t command) {
  for (size_t i = 0; i < COMMANDS_LEN; i++) {
    if (commands[i].command != command)
      continue;
    printf("Usage: %s\n\n%s\nOptions:\n", commands[i].usage, commands[i].text);
    for (size_t k = 0; k < TABLE_LEN; k++)
      if ((table[k].commands & (int)command) != 0)
        help_option(&table[k]);
    printf(
        "\nDUR is a length of time such as 500ms, 1.5s, 2m or 1h. --NAME=VALUE works as well as\n"
        "--NAME VALUE. Defaults are in parentheses.\n");
    return;
  }
  help_general();
}
