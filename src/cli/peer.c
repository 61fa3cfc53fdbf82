#include "peer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

static bool asks(const cli_options_t* o) {
  return o->peer_listen != NULL || o->peer_ca != NULL || o->peer_plain_http != 0;
}

static int usage(const char* message) {
  cli_say("%s", message);
  return CLI_EXIT_USAGE;
}

#define FILES 3

typedef struct pem_file_s {
  const char* option;
  const char* path; /* NULL: not given */
} pem_file_t;

static void pem_files(const cli_options_t* o, pem_file_t files[FILES]) {
  files[0] = (pem_file_t){"--peer-cert", o->peer_cert};
  files[1] = (pem_file_t){"--peer-key", o->peer_key};
  files[2] = (pem_file_t){"--peer-ca", o->peer_ca};
}

static int check_files(const cli_options_t* o) {
  pem_file_t files[FILES];
  pem_files(o, files);
  for (size_t i = 0; i < FILES; i++) {
    if (files[i].path == NULL || access(files[i].path, R_OK) == 0)
      continue;
    cli_say("%s %.200s cannot be read (%s): give a PEM file", files[i].option, files[i].path,
            strerror(errno));
    return CLI_EXIT_USAGE;
  }
  return 0;
}

/* Options that say nothing without another one. */
static const char* lonely(const cli_options_t* o) {
  bool listens = o->peer_listen != NULL;
  if (!listens && (o->peer_client_auth != 0 || o->peer_metrics != 0 || o->peer_health != 0))
    return "--peer-client-auth, --peer-metrics and --peer-health are for a process that answers: "
           "give --peer-listen HOST:PORT, too";
  if (!asks(o) && (o->peer_cert != NULL || o->peer_path != NULL || o->peer_interval_ms != 0 ||
                   o->peer_timeout_ms != 0))
    return "the --peer options need to know whom to trust: give --peer-ca FILE (or "
           "--peer-plain-http), and --peer-listen HOST:PORT to be asked, too";
  if ((o->peer_cert == NULL) != (o->peer_key == NULL))
    return "--peer-cert and --peer-key are needed together";
  if (o->peer_plain_http != 0 && (o->peer_cert != NULL || o->peer_ca != NULL))
    return "--peer-plain-http has no use for certificates: leave them or it away";
  if (listens && o->peer_plain_http == 0 && o->peer_cert == NULL)
    return "--peer-listen needs a certificate: give --peer-cert FILE and --peer-key FILE, or "
           "--peer-plain-http for a network that you trust";
  if (o->peer_client_auth != 0 && o->peer_ca == NULL)
    return "--peer-client-auth needs to know who signs the clients' certificates: give --peer-ca "
           "FILE";
  return NULL;
}

int cli_peer_check(const cli_options_t* options) {
  const char* problem = lonely(options);
  return problem != NULL ? usage(problem) : check_files(options);
}

static bool is_any_address(const char* listen) {
  static const char* const any[] = {"*:", ":", "0.0.0.0:", "[::]:"};
  for (size_t i = 0; i < sizeof any / sizeof any[0]; i++)
    if (strncmp(listen, any[i], strlen(any[i])) == 0)
      return true;
  return false;
}

/* Where others reach this process: as it listens, with the port that it was given. */
static int find_addr(const cli_options_t* o, cli_peer_t* peer) {
  const char* colon = strrchr(o->peer_listen, ':');
  if (o->addr != NULL)
    return 0;
  if (is_any_address(o->peer_listen)) {
    cli_say("--peer-listen %.200s is every address of this machine: give --addr HOST:PORT, the one "
            "at which others reach it",
            o->peer_listen);
    return CLI_EXIT_USAGE;
  }
  snprintf(peer->addr, sizeof peer->addr, "%.*s:%d", (int)(colon - o->peer_listen), o->peer_listen,
           s3lect_peer_server_port(&peer->server));
  return 0;
}

static const cli_word_t words[] = {
    {"listen", "--peer-listen"}, {"cert_file", "--peer-cert"},    {"key_file", "--peer-key"},
    {"ca_file", "--peer-ca"},    {"client_ca_file", "--peer-ca"}, {NULL, NULL},
};

static int failed(const s3lect_error_t* error) {
  cli_say_error(words, "", error);
  return error->code == S3LECT_EOPTION || error->code == S3LECT_ETLS ? CLI_EXIT_USAGE
                                                                     : CLI_EXIT_FAILED;
}

static int open_server(const cli_options_t* o, uv_loop_t* loop, cli_peer_t* peer) {
  s3lect_error_t error;
  s3lect_peer_server_options_t options;
  s3lect_peer_server_options_init(&options, sizeof options);
  options.listen = o->peer_listen;
  options.cert_file = o->peer_cert;
  options.key_file = o->peer_key;
  options.client_ca_file = o->peer_client_auth != 0 ? o->peer_ca : NULL;
  options.plain_http = (int32_t)o->peer_plain_http;
  options.metrics = (int32_t)o->peer_metrics;
  options.health = (int32_t)o->peer_health;
  int r = s3lect_peer_server_init(loop, &peer->server, &options, &error);
  peer->serves = r == 0;
  return r != 0 ? failed(&error) : find_addr(o, peer);
}

static int open_client(const cli_options_t* o, uv_loop_t* loop, cli_peer_t* peer) {
  s3lect_error_t error;
  s3lect_peer_client_options_t options;
  s3lect_peer_client_options_init(&options, sizeof options);
  options.ca_file = o->peer_ca;
  options.cert_file = o->peer_cert;
  options.key_file = o->peer_key;
  options.plain_http = (int32_t)o->peer_plain_http;
  int r = s3lect_peer_client_init(loop, &peer->client, &options, &error);
  peer->asks = r == 0;
  return r != 0 ? failed(&error) : 0;
}

int cli_peer_open(const cli_options_t* options, uv_loop_t* loop, cli_peer_t* peer) {
  int r = 0;
  memset(peer, 0, sizeof *peer);
  if (options->peer_listen != NULL)
    r = open_server(options, loop, peer);
  if (r == 0 && asks(options))
    r = open_client(options, loop, peer);
  if (r != 0)
    cli_peer_close(peer);
  return r;
}

int cli_peer_add(cli_peer_t* peer, s3lect_elector_t* elector) {
  return peer->serves ? s3lect_peer_server_add(&peer->server, elector, NULL) : 0;
}

bool cli_peer_reloads(const cli_options_t* options) {
  return asks(options) && options->peer_plain_http == 0;
}

void cli_peer_reload(cli_peer_t* peer) {
  s3lect_error_t error = {0};
  const char* before = "the certificates stay as they were: ";
  if (peer->serves)
    (void)s3lect_peer_server_reload(&peer->server, NULL, &error);
  if (error.code == 0 && peer->asks) {
    before = peer->serves ? "answering with the new certificates, but asking as before: " : before;
    (void)s3lect_peer_client_reload(&peer->client, NULL, &error);
  }
  if (error.code != 0)
    cli_say_error(words, before, &error);
  else
    cli_say("the certificates have been read again");
}

void cli_peer_close(cli_peer_t* peer) {
  if (peer->serves)
    s3lect_peer_server_close(&peer->server, NULL);
  if (peer->asks)
    s3lect_peer_client_close(&peer->client, NULL);
  peer->serves = peer->asks = false;
}
