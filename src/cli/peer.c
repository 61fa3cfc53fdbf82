#include "peer.h"

#include <stdio.h>
#include <string.h>

#include "options_table.h"
#include "text.h"

bool cli_peer_asks(const cli_options_t* o) {
  return o->server.listen != NULL || o->client.ca_file != NULL || o->client.plain_http != 0;
}

/* The option that is missing beside others; the library checks the rest. */
static const char* missing_option(const cli_options_t* o) {
  bool listens = o->server.listen != NULL;
  if (!listens && (o->peer_client_auth != 0 || o->server.metrics != 0 || o->server.health != 0))
    return "--peer-client-auth, --peer-metrics and --peer-health are for a process that answers: "
           "give --peer-listen HOST:PORT, too";
  if (!cli_peer_asks(o) && (o->client.cert_file != NULL || o->elector.peer_health_path != NULL ||
                            o->elector.peer_interval_ms != 0 || o->elector.peer_timeout_ms != 0))
    return "the --peer options need to know whom to trust: give --peer-ca FILE (or "
           "--peer-plain-http), and --peer-listen HOST:PORT to be asked, too";
  if (listens && o->client.plain_http == 0 && o->client.cert_file == NULL)
    return "--peer-listen needs a certificate: give --peer-cert FILE and --peer-key FILE, or "
           "--peer-plain-http for a network that you trust";
  if (o->peer_client_auth != 0 && o->client.ca_file == NULL)
    return "--peer-client-auth needs to know who signs the clients' certificates: give --peer-ca "
           "FILE";
  if (o->peer_reload_ms != 0 && !cli_peer_reloads(o))
    return "--peer-reload is for certificates: give --peer-ca FILE, and no --peer-plain-http";
  return NULL;
}

int cli_peer_check(const cli_options_t* options) {
  const char* message = missing_option(options);
  if (message == NULL)
    return 0;
  cli_say("%s", message);
  return CLI_EXIT_USAGE;
}

/* host: what --peer-listen names before its port. An IPv6 address has more than one spelling. */
static bool is_any_address(const char* host) {
  struct sockaddr_in6 in6;
  char address[INET6_ADDRSTRLEN] = "";
  if (sscanf(host, "[%45[^]]", address) == 1)
    return uv_ip6_addr(address, 0, &in6) == 0 && IN6_IS_ADDR_UNSPECIFIED(&in6.sin6_addr);
  return *host == '\0' || strcmp(host, "*") == 0 || strcmp(host, "0.0.0.0") == 0;
}

/* Where others reach this process: as it listens, with the port that it was given. */
static int find_addr(const cli_options_t* o, cli_peer_t* peer) {
  char host[INET6_ADDRSTRLEN + sizeof "[]"];
  int n = (int)(strrchr(o->server.listen, ':') - o->server.listen); /* the server has read it */
  if (o->elector.server_addr != NULL)
    return 0;
  snprintf(host, sizeof host, "%.*s", n, o->server.listen);
  if (is_any_address(host)) {
    cli_say("--peer-listen %.200s is every address of this machine: give --addr HOST:PORT, the one "
            "at which others reach it",
            o->server.listen);
    return CLI_EXIT_USAGE;
  }
  snprintf(peer->addr, sizeof peer->addr, "%s:%d", host, s3lect_peer_server_port(&peer->server));
  return 0;
}

static int failed(const s3lect_error_t* error) {
  cli_say_error("", true, error);
  return error->code == S3LECT_EOPTION || error->code == S3LECT_ETLS ? CLI_EXIT_USAGE
                                                                     : CLI_EXIT_FAILED;
}

/* With port 0 nobody could know otherwise. */
static void say_pages(const char* listen, int port) {
  const char* colon = strrchr(listen, ':'); /* the server has read it */
  if (strcmp(colon, ":0") == 0)
    cli_note("--http: serving pages at %.*s:%d", (int)(colon - listen), listen, port);
}

static int open_server(const cli_options_t* o, uv_loop_t* loop, cli_peer_t* peer) {
  s3lect_error_t error;
  s3lect_peer_server_options_t options = o->server;
  peer->answers = o->server.listen != NULL;
  if (peer->answers) {
    options.cert_file = o->client.cert_file;
    options.key_file = o->client.key_file;
    options.client_ca_file = o->peer_client_auth != 0 ? o->client.ca_file : NULL;
    options.plain_http = o->client.plain_http;
  }
  int r = s3lect_peer_server_init(loop, &peer->server, &options, &error);
  peer->serves = r == 0;
  if (r != 0)
    return failed(&error);
  if (options.pages_listen != NULL)
    say_pages(options.pages_listen, s3lect_peer_server_pages_port(&peer->server));
  return peer->answers ? find_addr(o, peer) : 0;
}

static int open_client(const cli_options_t* o, uv_loop_t* loop, cli_peer_t* peer) {
  s3lect_error_t error;
  int r = s3lect_peer_client_init(loop, &peer->client, &o->client, &error);
  peer->asks = r == 0;
  return r != 0 ? failed(&error) : 0;
}

static void on_changed(void* data) {
  cli_peer_reload(data);
}

static int open_certs(const cli_options_t* o, uv_loop_t* loop, cli_peer_t* peer) {
  cli_certs_t* certs = &peer->certs;
  certs->files[0] = o->client.cert_file;
  certs->files[1] = o->client.key_file;
  certs->files[2] = o->client.ca_file;
  certs->data = peer;
  certs->on_changed = on_changed;
  int r = cli_certs_open(certs, loop, o->peer_reload_ms);
  if (r != 0)
    cli_say("cannot start: %s", uv_strerror(r));
  return r != 0 ? CLI_EXIT_FAILED : 0;
}

int cli_peer_open(const cli_options_t* options, uv_loop_t* loop, cli_peer_t* peer) {
  int r = 0;
  memset(peer, 0, sizeof *peer);
  if (options->server.listen != NULL || options->server.pages_listen != NULL)
    r = open_server(options, loop, peer);
  if (r == 0 && cli_peer_asks(options))
    r = open_client(options, loop, peer);
  if (r == 0 && options->peer_reload_ms != 0)
    r = open_certs(options, loop, peer);
  if (r != 0)
    cli_peer_close(peer);
  return r;
}

int cli_peer_add(cli_peer_t* peer, s3lect_elector_t* elector) {
  return peer->serves ? s3lect_peer_server_add(&peer->server, elector, NULL) : 0;
}

bool cli_peer_reloads(const cli_options_t* options) {
  return cli_peer_asks(options) && options->client.plain_http == 0;
}

void cli_peer_reload(cli_peer_t* peer) {
  s3lect_error_t error = {0};
  const char* before = "the certificates stay as they were: ";
  if (peer->answers)
    (void)s3lect_peer_server_reload(&peer->server, NULL, &error);
  if (error.code == 0 && peer->asks) {
    before = peer->answers ? "answering with the new certificates, but asking as before: " : before;
    (void)s3lect_peer_client_reload(&peer->client, NULL, &error);
  }
  if (error.code != 0)
    cli_say_error(before, true, &error);
  else
    cli_note("the certificates have been read again");
}

void cli_peer_close(cli_peer_t* peer) {
  cli_certs_close(&peer->certs);
  if (peer->serves)
    s3lect_peer_server_close(&peer->server, NULL);
  if (peer->asks)
    s3lect_peer_client_close(&peer->client, NULL);
  peer->serves = peer->asks = false;
}
