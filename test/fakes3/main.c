/* s3lect-fakes3: the fake S3 as a command, or a relay that makes outages of a store that is not
 * ours to stop: stopped with SIGSTOP it is a network that swallows everything, and continued with
 * SIGCONT it delivers what had been sent, late. */
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <signal.h>
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
  const char* faults[FAULTS_MAX]; /* from the start */
  size_t faults_len;
  bool die_with_parent;
  const char* relay_to;
} app_t;

static const char help[] =
    "Usage: s3lect-fakes3 [OPTION]...\n"
    "A fake S3: checks signatures, honours conditional writes as AWS does, misbehaves on command.\n"
    "\n"
    "  --host ADDRESS         listen there: 127.0.0.1 (default), ::1, localhost, ...\n"
    "  --port N               0 (default): any free port\n"
    "  --ready-file FILE      write the endpoint's URL there once it listens\n"
    "  --access-key KEY       default: test\n"
    "  --secret-key SECRET    default: testtest\n"
    "  --key KEY:SECRET[:TOKEN]  a further pair of keys; may be repeated\n"
    "  --region REGION        refuse signatures for another region (default: any will do)\n"
    "  --buckets A,B          only these buckets exist (default: they appear on first use)\n"
    "  --domain NAME          take BUCKET.NAME in Host, as BUCKET.localhost\n"
    "  --tls-cert FILE --tls-key FILE  serve TLS with this certificate and key (PEM)\n"
    "  --tls-self DIR         serve TLS with a throwaway certificate; write DIR/ca.pem\n"
    "  --anonymous-reads      GET and HEAD need no signature\n"
    "  --clock-offset MS      the server's clock is that far ahead\n"
    "  --log FILE             append one JSON object per request\n"
    "  --log-entries N        requests kept for the control path (default: 10000)\n"
    "  --fault JSON           a rule from the start; may be repeated\n"
    "  --relay-to HOST:PORT   be no S3, but pass all bytes to that one, in plain, and back\n"
    "  --die-with-parent      end when the parent process does\n"
    "  --help, --version\n"
    "\n"
    "Faults are switched at http://HOST:PORT/_fakes3/; see test/fakes3/README.md.\n";

static void refuse(const char* what, const char* value) {
  fprintf(stderr, "s3lect-fakes3: %s%s%s%s\n", what, value != NULL ? " \"" : "",
          value != NULL ? value : "", value != NULL ? "\"" : "");
  exit(2);
}

static uint64_t number(const char* option, const char* text, uint64_t max) {
  uint64_t value;
  if (!s3l_span_to_u64(s3l_span_cstr(text), &value) || value > max)
    refuse(option, text);
  return value;
}

static int64_t signed_number(const char* option, const char* text) {
  bool negative = text[0] == '-';
  int64_t value = (int64_t)number(option, text + (negative ? 1 : 0), INT64_MAX);
  return negative ? -value : value;
}

/* KEY:SECRET[:TOKEN], cut in place; a token may hold colons, a key and a secret may not. */
static void add_key(app_t* app, char* text) {
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

enum {
  OPT_HOST = 256,
  OPT_PORT,
  OPT_READY_FILE,
  OPT_ACCESS_KEY,
  OPT_SECRET_KEY,
  OPT_KEY,
  OPT_REGION,
  OPT_BUCKETS,
  OPT_DOMAIN,
  OPT_TLS_CERT,
  OPT_TLS_KEY,
  OPT_TLS_SELF,
  OPT_ANONYMOUS_READS,
  OPT_CLOCK_OFFSET,
  OPT_LOG,
  OPT_LOG_ENTRIES,
  OPT_FAULT,
  OPT_RELAY_TO,
  OPT_DIE_WITH_PARENT,
  OPT_HELP,
  OPT_VERSION
};

static const struct option long_options[] = {
    {"host", required_argument, NULL, OPT_HOST},
    {"port", required_argument, NULL, OPT_PORT},
    {"ready-file", required_argument, NULL, OPT_READY_FILE},
    {"access-key", required_argument, NULL, OPT_ACCESS_KEY},
    {"secret-key", required_argument, NULL, OPT_SECRET_KEY},
    {"key", required_argument, NULL, OPT_KEY},
    {"region", required_argument, NULL, OPT_REGION},
    {"buckets", required_argument, NULL, OPT_BUCKETS},
    {"domain", required_argument, NULL, OPT_DOMAIN},
    {"tls-cert", required_argument, NULL, OPT_TLS_CERT},
    {"tls-key", required_argument, NULL, OPT_TLS_KEY},
    {"tls-self", required_argument, NULL, OPT_TLS_SELF},
    {"anonymous-reads", no_argument, NULL, OPT_ANONYMOUS_READS},
    {"clock-offset", required_argument, NULL, OPT_CLOCK_OFFSET},
    {"log", required_argument, NULL, OPT_LOG},
    {"log-entries", required_argument, NULL, OPT_LOG_ENTRIES},
    {"fault", required_argument, NULL, OPT_FAULT},
    {"relay-to", required_argument, NULL, OPT_RELAY_TO},
    {"die-with-parent", no_argument, NULL, OPT_DIE_WITH_PARENT},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

static void take_option(app_t* app, int option, char* value) {
  fakes3_options_t* o = &app->options;
  switch (option) {
  case OPT_HOST:
    o->host = value;
    break;
  case OPT_PORT:
    o->port = (uint16_t)number("bad port", value, 65535);
    break;
  case OPT_READY_FILE:
    app->ready_file = value;
    break;
  case OPT_ACCESS_KEY:
    o->keys[0].access_key = value;
    break;
  case OPT_SECRET_KEY:
    o->keys[0].secret_key = value;
    break;
  case OPT_KEY:
    add_key(app, value);
    break;
  case OPT_REGION:
    o->region = value;
    break;
  case OPT_BUCKETS:
    o->buckets = value;
    break;
  case OPT_DOMAIN:
    o->domain = value;
    break;
  case OPT_TLS_CERT:
    o->tls_cert = value;
    break;
  case OPT_TLS_KEY:
    o->tls_key = value;
    break;
  case OPT_TLS_SELF:
    o->tls_self = value;
    break;
  case OPT_ANONYMOUS_READS:
    o->anonymous_reads = true;
    break;
  case OPT_CLOCK_OFFSET:
    o->clock_offset_ms = signed_number("bad clock offset", value);
    break;
  case OPT_LOG:
    o->log_file = value;
    break;
  case OPT_LOG_ENTRIES:
    o->log_entries = (size_t)number("bad number of entries", value, 100 * 1000 * 1000);
    break;
  case OPT_FAULT:
    if (app->faults_len == FAULTS_MAX)
      refuse("too many faults", value);
    app->faults[app->faults_len++] = value;
    break;
  case OPT_RELAY_TO:
    app->relay_to = value;
    break;
  case OPT_DIE_WITH_PARENT:
    app->die_with_parent = true;
    break;
  case OPT_HELP:
    fputs(help, stdout);
    exit(0);
  case OPT_VERSION:
    puts("s3lect-fakes3 " FAKES3_VERSION);
    exit(0);
  default: /* getopt_long has said what is wrong */
    exit(2);
  }
}

static void take_options(app_t* app, int argc, char** argv) {
  int option;
  app->options.keys[0] = (fakes3_key_t){FAKES3_ACCESS_KEY, FAKES3_SECRET_KEY, NULL};
  while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
    take_option(app, option, optarg);
  if (optind < argc)
    refuse("unexpected argument", argv[optind]);
}

/* The parent may be gone before the kernel is asked to watch it. */
static void bind_to_parent(pid_t parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent)
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
  (void)signum;
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

/* HOST:PORT, the host possibly in brackets. */
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
