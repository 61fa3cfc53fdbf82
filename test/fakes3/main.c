/* s3lect-fakes3: the fake S3, Azure or Google store as a command. With --relay-to it is a TCP relay
 * before another store, with which a test makes outages: after SIGSTOP the relay forwards nothing,
 * and after SIGCONT it delivers late what was sent meanwhile. */
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "fakes3/fakes3.h"
#include "lib/proxy_server.h"
#include "util/span.h"

#ifndef FAKES3_VERSION
#  error "the build names the version"
#endif

#define FAULTS_MAX 16

typedef struct app_s {
  uv_loop_t loop;
  uv_signal_t term;
  uv_signal_t interrupt;
  fakes3_options_t options;
  fakes3_t* server;
  const char* ready_file;
  size_t keys_n;
  const char* faults[FAULTS_MAX]; /* rules from the start */
  size_t faults_len;
  bool die_with_parent;
  const char* relay_to;
} app_t;

static const char help[] =
    "Usage: s3lect-fakes3 [OPTION]...\n"
    "A fake S3 server, which can also be Azure Blob Storage or Google Cloud Storage. It checks\n"
    "signatures, honours conditional writes as the store does, and injects faults on command.\n"
    "\n"
    "  --protocol NAME        s3 (default), azure (Azure Blob Storage) or gcs (Google Cloud "
    "Storage)\n"
    "  --host ADDRESS         address to listen on: 127.0.0.1 (default), ::1, localhost, ...\n"
    "  --port N               port to listen on; 0 (default): any free port\n"
    "  --ready-file FILE      write the endpoint's URL to this file when the server listens;\n"
    "                         without this option, to standard output\n"
    "  --key KEY:SECRET[:TOKEN]  accept these keys, too (always accepted: test:testtest, or with\n"
    "                         azure the well-known key of devstoreaccount1); may be repeated.\n"
    "                         azure: ACCOUNT:KEY; azure, gcs: NAME::TOKEN is a bearer token\n"
    "  --buckets A,B          only these buckets exist (default: buckets appear on first use)\n"
    "  --domain NAME          the host BUCKET.NAME names a bucket, as BUCKET.localhost does\n"
    "  --tls-self DIR         serve TLS with a throwaway certificate; write DIR/ca.pem\n"
    "  --session-ms MS        life of a directory bucket's session, or of a token that\n"
    "                         was given (default: 300000)\n"
    "  --anonymous-reads      GET and HEAD need no signature\n"
    "  --versioned            buckets keep all versions of their objects\n"
    "  --clock-offset MS      how far the server's clock is ahead; may be negative\n"
    "  --log FILE             append one JSON object per request to this file\n"
    "  --log-entries N        number of requests that GET /_fakes3/log can return (default: "
    "10000)\n"
    "  --fault JSON           a fault rule from the start; may be repeated\n"
    "  --relay-to HOST:PORT   serve no S3; forward all bytes to this address over plain TCP\n"
    "  --die-with-parent      end when the parent process ends\n"
    "  --help, --version\n"
    "\n"
    "Faults are added and removed at http://HOST:PORT/_fakes3/; docs/fakes3.md describes them.\n";

static void refuse(const char* what, const char* value) {
  fprintf(stderr, "s3lect-fakes3: %s%s%s%s\n", what, value != NULL ? " \"" : "",
          value != NULL ? value : "", value != NULL ? "\"" : "");
  exit(2);
}

static uint64_t number(const char* what, const char* text, uint64_t max) {
  uint64_t value;
  if (!s3l_span_to_u64(s3l_span_cstr(text), &value) || value > max)
    refuse(what, text);
  return value;
}

static void take_port(app_t* app, char* text) {
  app->options.port = (uint16_t)number("bad port", text, 65535);
}

static void take_clock_offset(app_t* app, char* text) {
  bool negative = text[0] == '-';
  int64_t value = (int64_t)number("bad clock offset", text + (negative ? 1 : 0), INT64_MAX);
  app->options.clock_offset_ms = negative ? -value : value;
}

static void take_session_ms(app_t* app, char* text) {
  app->options.session_ms = number("bad life of a session", text, 86400000);
}

static void take_log_entries(app_t* app, char* text) {
  app->options.log_entries = (size_t)number("bad number of entries", text, 100 * 1000 * 1000);
}

static void take_fault(app_t* app, char* text) {
  if (app->faults_len == FAULTS_MAX)
    refuse("too many faults", text);
  app->faults[app->faults_len++] = text;
}

/* KEY:SECRET[:TOKEN], cut in place. A token may contain colons, a key and a secret may not. */
static void take_key(app_t* app, char* text) {
  if (app->keys_n == FAKES3_KEYS_MAX - 1)
    refuse("too many keys", NULL);
  char* secret = strchr(text, ':');
  if (secret == NULL || secret == text)
    refuse("--key must be KEY:SECRET[:TOKEN], not", text);
  *secret++ = '\0';
  char* token = strchr(secret, ':');
  if (token != NULL)
    *token++ = '\0';
  app->options.keys[++app->keys_n] = (fakes3_key_t){text, secret, token};
}

static void print_help(app_t* app, char* text) {
  fputs(help, stdout);
  exit(0);
}

static void print_version(app_t* app, char* text) {
  puts("s3lect-fakes3 " FAKES3_VERSION);
  exit(0);
}

/* An option either sets a text or a flag of app_t, or calls a function. */
static const struct {
  const char* name;
  int has_value;
  size_t at; /* where the text, or the flag if there is no value, is */
  void (*take)(app_t* app, char* text);
} known[] = {
    {"protocol", required_argument, offsetof(app_t, options.protocol), NULL},
    {"host", required_argument, offsetof(app_t, options.host), NULL},
    {"port", required_argument, 0, take_port},
    {"ready-file", required_argument, offsetof(app_t, ready_file), NULL},
    {"key", required_argument, 0, take_key},
    {"buckets", required_argument, offsetof(app_t, options.buckets), NULL},
    {"domain", required_argument, offsetof(app_t, options.domain), NULL},
    {"tls-self", required_argument, offsetof(app_t, options.tls_self), NULL},
    {"versioned", no_argument, offsetof(app_t, options.versioned), NULL},
    {"anonymous-reads", no_argument, offsetof(app_t, options.anonymous_reads), NULL},
    {"session-ms", required_argument, 0, take_session_ms},
    {"clock-offset", required_argument, 0, take_clock_offset},
    {"log", required_argument, offsetof(app_t, options.log_file), NULL},
    {"log-entries", required_argument, 0, take_log_entries},
    {"fault", required_argument, 0, take_fault},
    {"relay-to", required_argument, offsetof(app_t, relay_to), NULL},
    {"die-with-parent", no_argument, offsetof(app_t, die_with_parent), NULL},
    {"help", no_argument, 0, print_help},
    {"version", no_argument, 0, print_version},
};

#define KNOWN (sizeof(known) / sizeof(known[0]))

static void take_options(app_t* app, int argc, char** argv) {
  struct option options[KNOWN + 1] = {0};
  int option, i;
  for (size_t k = 0; k < KNOWN; k++)
    options[k] = (struct option){known[k].name, known[k].has_value, NULL, 0};
  while ((option = getopt_long(argc, argv, "", options, &i)) != -1) {
    if (option == '?') /* getopt_long has printed what is wrong */
      exit(2);
    void* to = (char*)app + known[i].at;
    if (known[i].take != NULL)
      known[i].take(app, optarg);
    else if (known[i].has_value == required_argument)
      *(const char**)to = optarg;
    else
      *(bool*)to = true;
  }
  if (optind < argc)
    refuse("unexpected argument", argv[optind]);
  bool azure = app->options.protocol != NULL && strcmp(app->options.protocol, "azure") == 0;
  app->options.keys[0] = azure ? (fakes3_key_t){FAKES3_ACCOUNT, FAKES3_ACCOUNT_KEY, NULL}
                               : (fakes3_key_t){FAKES3_ACCESS_KEY, FAKES3_SECRET_KEY, NULL};
}

/* The parent may have ended before the call of prctl; then it is no longer our parent. */
static void bind_to_parent(pid_t parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
    exit(1);
}

static bool write_ready_file(const char* path, const char* url) {
  char temporary[4096];
  int n = snprintf(temporary, sizeof(temporary), "%s.%ld.new", path, (long)getpid());
  if (n < 0 || (size_t)n >= sizeof(temporary))
    return false;
  FILE* file = fopen(temporary, "we");
  if (file == NULL)
    return false;
  bool good = fprintf(file, "%s\n", url) > 0;
  good = fclose(file) == 0 && good;
  return good && rename(temporary, path) == 0;
}

static void on_signal(uv_signal_t* handle, int signum) {
  app_t* app = handle->data;
  fakes3_stop(app->server, NULL, NULL);
  uv_close((uv_handle_t*)&app->term, NULL);
  uv_close((uv_handle_t*)&app->interrupt, NULL);
}

static int watch_signals(app_t* app) {
  app->term.data = app;
  app->interrupt.data = app;
  if (uv_signal_init(&app->loop, &app->term) != 0 ||
      uv_signal_init(&app->loop, &app->interrupt) != 0)
    return -1;
  if (uv_signal_start(&app->term, on_signal, SIGTERM) != 0)
    return -1;
  return uv_signal_start(&app->interrupt, on_signal, SIGINT);
}

static int announce(const app_t* app, const char* url) {
  if (app->ready_file == NULL) {
    puts(url);
    fflush(stdout);
  } else if (!write_ready_file(app->ready_file, url)) {
    fprintf(stderr, "s3lect-fakes3: cannot write %s: %s\n", app->ready_file, strerror(errno));
    return 1;
  }
  return 0;
}

/* Resolves HOST:PORT; the host may be in brackets. */
static int resolve(const char* text, struct sockaddr_storage* address) {
  char host[256];
  const char* colon = strrchr(text, ':');
  if (colon == NULL || (size_t)(colon - text) >= sizeof host)
    return -1;
  size_t n = (size_t)(colon - text);
  bool brackets = n >= 2 && text[0] == '[' && text[n - 1] == ']';
  snprintf(host, sizeof host, "%.*s", (int)(brackets ? n - 2 : n), text + (brackets ? 1 : 0));
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
  struct addrinfo* found;
  if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
    return -1;
  memcpy(address, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return 0;
}

static int relay(app_t* app) {
  static s3l_proxy_server_t relay = {.relay = true};
  char url[64];
  if (resolve(app->relay_to, &relay.address) != 0)
    refuse("cannot find", app->relay_to);
  s3l_proxy_server_start(&relay, &app->loop);
  snprintf(url, sizeof(url), "http://127.0.0.1:%u", relay.port);
  return announce(app, url) != 0 ? 1 : uv_run(&app->loop, UV_RUN_DEFAULT);
}

int main(int argc, char** argv) {
  static app_t app;
  char why[512] = "";
  pid_t parent = getppid();
  take_options(&app, argc, argv);
  if (app.die_with_parent)
    bind_to_parent(parent);
  if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || uv_loop_init(&app.loop) != 0)
    refuse("cannot start a loop", NULL);
  if (app.relay_to != NULL)
    return relay(&app);
  if (fakes3_start(&app.loop, &app.options, &app.server, why, sizeof(why)) != 0) {
    fprintf(stderr, "s3lect-fakes3: %s\n", why);
    return 1;
  }
  for (size_t i = 0; i < app.faults_len; i++)
    if (fakes3_fault(app.server, app.faults[i], why, sizeof(why)) <= 0)
      refuse(why, app.faults[i]);
  if (watch_signals(&app) != 0)
    refuse("cannot watch signals", NULL);
  if (announce(&app, fakes3_url(app.server)) != 0)
    return 1;
  uv_run(&app.loop, UV_RUN_DEFAULT);
  return uv_loop_close(&app.loop) == 0 ? 0 : 1;
}
