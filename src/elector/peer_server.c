/* elector/peer_server.c: the public peer server: its options, checked, and the handle. */
#include <string.h>

#include "elector/metrics_page.h"
#include "elector/option_checks.h"
#include "elector/registration.h"
#include "net/tls_context.h"
#include "peer/server.h"
#include "s3lect/peer.h"
#include "util/assert.h"
#include "util/error.h"
#include "util/mem.h"
#include "util/versioned.h"

/* The files in use, to be read again: strings of one block, or NULL. */
typedef struct files_s {
  const char* cert;
  const char* key;
  const char* client_ca;
  char* block;
} files_t;

typedef struct shell_s {
  s3lect_peer_server_t* handle;
  s3l_peer_server_t* server; /* NULL: closing */
  bool tls;
  bool verifies; /* wants the clients' certificates */
  bool text;     /* some of what is in use came as text: it cannot be read again */
  files_t files;
  s3lect_peer_server_cb close_cb;
} shell_t;

/* ---- Certificates ---- */

static bool has_client_ca(const s3lect_peer_server_options_t* o) {
  return o->client_ca_file != NULL || o->client_ca_pem != NULL;
}

static int check_certificates(s3lect_error_t* error, const s3lect_peer_server_options_t* o) {
  int err = s3l_check_pem_pair(error, "cert_pem", o->cert_file, o->cert_pem);
  if (err == 0)
    err = s3l_check_pem_pair(error, "key_pem", o->key_file, o->key_pem);
  if (err == 0)
    err = s3l_check_pem_pair(error, "client_ca_pem", o->client_ca_file, o->client_ca_pem);
  if (err != 0)
    return err;
  bool cert = o->cert_file != NULL || o->cert_pem != NULL;
  bool key = o->key_file != NULL || o->key_pem != NULL;
  if (o->plain_http != 0 && (cert || key || has_client_ca(o)))
    return s3l_error_say(error, S3LECT_EOPTION, "plain_http", NULL,
                         "set beside certificates, which it has no use for; give one "
                         "or the other");
  if (o->plain_http == 0 && !(cert && key))
    return s3l_error_say(error, S3LECT_EOPTION, cert ? "key_file" : "cert_file", NULL,
                         "missing; give certificate and key, or ask for plain_http by name");
  return 0;
}

static s3l_pem_t pem(const char* file_option, const char* file, const char* pem_option,
                     const char* text) {
  return (s3l_pem_t){
      .option = text != NULL ? pem_option : file_option, .file = file, .text = s3l_span_cstr(text)};
}

static int new_context(s3lect_error_t* error, const s3lect_peer_server_options_t* o,
                       s3l_tls_context_t** out) {
  bool verify = has_client_ca(o);
  const s3l_tls_server_options_t tls = {
      .cert = pem("cert_file", o->cert_file, "cert_pem", o->cert_pem),
      .key = pem("key_file", o->key_file, "key_pem", o->key_pem),
      .client_auth = verify ? S3L_TLS_CLIENT_AUTH_REQUIRED : S3L_TLS_CLIENT_AUTH_NONE,
      .client_ca = pem("client_ca_file", o->client_ca_file, "client_ca_pem", o->client_ca_pem),
  };
  return s3l_tls_context_new_server(&tls, out, error);
}

static size_t size_of(const char* s) {
  return s != NULL ? strlen(s) + 1 : 0;
}

static const char* keep(char** at, const char* s) {
  const char* kept = *at;
  if (s == NULL)
    return NULL;
  memcpy(*at, s, strlen(s) + 1);
  *at += strlen(s) + 1;
  return kept;
}

static int copy_files(const s3lect_peer_server_options_t* o, files_t* out) {
  size_t size = size_of(o->cert_file) + size_of(o->key_file) + size_of(o->client_ca_file);
  char* at = out->block = s3l_malloc(size + 1);
  if (at == NULL)
    return UV_ENOMEM;
  out->cert = keep(&at, o->cert_file);
  out->key = keep(&at, o->key_file);
  out->client_ca = keep(&at, o->client_ca_file);
  return 0;
}

/* Makes a context of certificates that have passed the check, and remembers what they are. */
static int take_certificates(s3lect_error_t* error, shell_t* s,
                             const s3lect_peer_server_options_t* o, s3l_tls_context_t** out) {
  files_t files;
  int err = copy_files(o, &files);
  if (err == 0)
    err = new_context(error, o, out);
  if (err != 0) {
    s3l_free(files.block);
    return err;
  }
  s3l_free(s->files.block);
  s->files = files;
  s->verifies = has_client_ca(o);
  s->text = o->cert_pem != NULL || o->key_pem != NULL || o->client_ca_pem != NULL;
  return 0;
}

/* What a reload goes by. `known` is all zero. */
static int find_certificates(s3lect_error_t* error, const shell_t* s,
                             const s3lect_peer_server_options_t* options,
                             s3lect_peer_server_options_t* known) {
  if (options == NULL) {
    known->cert_file = s->files.cert;
    known->key_file = s->files.key;
    known->client_ca_file = s->files.client_ca;
    return s->text ? s3l_error_say(error, S3LECT_EOPTION, "options", NULL,
                                   "missing; what was given as text cannot be read "
                                   "again: give the new text")
                   : 0;
  }
  int err = s3l_versioned_copy(error, "s3lect_peer_server_options", options, known, sizeof *known);
  known->plain_http = 0;
  if (err == 0)
    err = check_certificates(error, known);
  if (err == 0 && s->verifies && !has_client_ca(known))
    return s3l_error_say(error, S3LECT_EOPTION, "client_ca_file", NULL,
                         "missing; this server wants clients' certificates, and "
                         "goes on to: give their authority, too");
  return err;
}

int s3lect_peer_server_reload(s3lect_peer_server_t* server,
                              const s3lect_peer_server_options_t* options, s3lect_error_t* error) {
  shell_t* s = server->internal;
  s3lect_peer_server_options_t known = {.size = sizeof known};
  s3l_tls_context_t* context;
  s3l_error_clear(error);
  if (s == NULL || s->server == NULL)
    return s3l_error_end(error, UV_ECANCELED);
  if (!s->tls)
    return s3l_error_say(error, UV_EINVAL, "plain_http", NULL,
                         "there are no certificates to read again");
  int err = find_certificates(error, s, options, &known);
  if (err == 0)
    err = take_certificates(error, s, &known, &context);
  if (err != 0)
    return s3l_error_end(error, err);
  s3l_http_server_set_tls(s3l_peer_server_http(s->server), context);
  s3l_tls_context_free(context); /* the server holds its own */
  return 0;
}

/* ---- Pages ---- */

static const s3l_registration_t* registration_at(const shell_t* s, size_t i) {
  return S3L_CONTAINER_OF(s3l_peer_server_at(s->server, i), s3l_registration_t, peer);
}

static char* on_metrics(void* data, size_t* len) {
  const shell_t* s = data;
  size_t n = s3l_peer_server_len(s->server);
  s3l_metrics_row_t* rows = s3l_calloc(n + 1, sizeof *rows);
  if (rows == NULL)
    return NULL;
  for (size_t i = 0; i < n; i++)
    rows[i] = s3l_metrics_row(registration_at(s, i)->executor);
  char* page = s3l_metrics_page(rows, n, len);
  s3l_free(rows);
  return page;
}

static bool on_ready(void* data) {
  const shell_t* s = data;
  for (size_t i = 0; i < s3l_peer_server_len(s->server); i++)
    if (!s3l_registration_is_ready(registration_at(s, i)))
      return false;
  return s3l_peer_server_len(s->server) > 0;
}

static bool on_leads(void* data, uint64_t* epoch) {
  const shell_t* s = data;
  size_t n = s3l_peer_server_len(s->server);
  /* Before the question whether it leads: then the epoch is never newer than the leadership. */
  *epoch = n == 1 ? s3lect_elector_epoch(registration_at(s, 0)->executor->handle) : 0;
  for (size_t i = 0; i < n; i++)
    if (s3lect_elector_is_leader(registration_at(s, i)->executor->handle) == 0)
      return false;
  return n > 0;
}

/* ---- The handle ---- */

void s3lect_peer_server_options_init(s3lect_peer_server_options_t* options, size_t size) {
  memset(options, 0, size);
  options->size = size;
}

static int check(s3lect_error_t* error, const s3lect_peer_server_options_t* o) {
  bool listens = o->listen != NULL && o->listen[0] != '\0';
  if (!listens && o->pages_listen == NULL)
    return s3l_error_say(error, S3LECT_EOPTION, "listen", NULL, "missing; give HOST:PORT");
  int err = s3l_check_duration(error, "header_timeout_ms", o->header_timeout_ms);
  if (err == 0)
    err = s3l_check_duration(error, "idle_timeout_ms", o->idle_timeout_ms);
  if (err == 0)
    err = s3l_check_duration(error, "max_wait_ms", o->max_wait_ms);
  return err != 0 || !listens ? err : check_certificates(error, o);
}

static unsigned pages_of(const s3lect_peer_server_options_t* o) {
  return (o->metrics != 0 ? S3L_PAGE_METRICS : 0u) | (o->health != 0 ? S3L_PAGE_HEALTH : 0u);
}

/* `context` NULL: plain. */
static int open_server(uv_loop_t* loop, s3lect_error_t* error, shell_t* s,
                       const s3lect_peer_server_options_t* o, s3l_tls_context_t* context) {
  const s3l_peer_server_config_t config = {
      .http = {.listen = o->listen,
               .tls = context,
               .max_connections = o->max_connections, /* its default depends on the process */
               .max_held = o->max_held,
               .max_per_address = o->max_per_address,
               .max_header_bytes = s3l_or_default(o->max_header_bytes, S3LECT_PEER_HEADER_BYTES),
               .header_time_ms =
                   s3l_or_default(o->header_timeout_ms, S3LECT_PEER_HEADER_TIMEOUT_MS),
               .tls_time_ms = s3l_or_default(o->header_timeout_ms, S3LECT_PEER_HEADER_TIMEOUT_MS),
               .idle_time_ms = s3l_or_default(o->idle_timeout_ms, S3LECT_PEER_IDLE_TIMEOUT_MS),
               .error = error},
      .pages_listen = o->pages_listen,
      .pages = pages_of(o),
      .max_wait_ms = s3l_or_default(o->max_wait_ms, S3LECT_PEER_MAX_WAIT_MS),
      .data = s,
      .metrics = on_metrics,
      .ready = on_ready,
      .leads = on_leads,
  };
  return s3l_peer_server_create(loop, &config, &s->server);
}

static void drop_shell(shell_t* s) {
  s3l_free(s->files.block);
  s3l_free(s);
}

int s3lect_peer_server_init(uv_loop_t* loop, s3lect_peer_server_t* server,
                            const s3lect_peer_server_options_t* options, s3lect_error_t* error) {
  s3lect_peer_server_options_t known;
  s3l_tls_context_t* context = NULL;
  s3l_error_clear(error);
  int err = s3l_versioned_copy(error, "s3lect_peer_server_options", options, &known, sizeof known);
  if (err == 0)
    err = check(error, &known);
  if (err != 0)
    return err;
  shell_t* s = s3l_calloc(1, sizeof *s);
  if (s == NULL)
    return s3l_error_end(error, UV_ENOMEM);
  if (known.listen != NULL && known.listen[0] == '\0')
    known.listen = NULL;
  s->tls = known.listen != NULL && known.plain_http == 0;
  err = s->tls ? take_certificates(error, s, &known, &context) : 0;
  if (err == 0)
    err = open_server(loop, error, s, &known, context);
  s3l_tls_context_free(context); /* the server holds its own */
  if (err != 0) {
    drop_shell(s);
    return s3l_error_end(error, err);
  }
  void* data = server->data; /* the caller's, even before init */
  memset(server, 0, sizeof *server);
  server->data = data;
  server->loop = loop;
  server->internal = s;
  s->handle = server;
  return 0;
}

static int port_of(const s3l_http_server_t* http) {
  return http != NULL ? s3l_http_server_port(http) : UV_EINVAL;
}

int s3lect_peer_server_port(const s3lect_peer_server_t* server) {
  const shell_t* s = server->internal;
  if (s == NULL || s->server == NULL)
    return UV_ECANCELED;
  return port_of(s3l_peer_server_http(s->server));
}

int s3lect_peer_server_pages_port(const s3lect_peer_server_t* server) {
  const shell_t* s = server->internal;
  if (s == NULL || s->server == NULL)
    return UV_ECANCELED;
  return port_of(s3l_peer_server_pages(s->server));
}

int s3lect_peer_server_add(s3lect_peer_server_t* server, s3lect_elector_t* elector,
                           const char* path) {
  const shell_t* s = server->internal;
  s3l_executor_t* d = elector->internal;
  if (s == NULL || s->server == NULL || d == NULL || d->closing)
    return UV_ECANCELED;
  if (server->loop != elector->loop)
    return UV_EINVAL;
  return s3l_registration_open(s->server, d, path != NULL ? path : d->peer_path);
}

int s3lect_peer_server_remove(s3lect_peer_server_t* server, s3lect_elector_t* elector) {
  const shell_t* s = server->internal;
  s3l_executor_t* d = elector->internal;
  if (s == NULL || d == NULL || d->registration == NULL ||
      d->registration->peer.server != s->server)
    return UV_ENOENT;
  s3l_executor_unregister(d);
  return 0;
}

static void on_closed(void* arg) {
  shell_t* s = arg;
  s3lect_peer_server_t* handle = s->handle;
  s3lect_peer_server_cb cb = s->close_cb;
  handle->internal = NULL;
  drop_shell(s);
  if (cb != NULL)
    cb(handle);
}

void s3lect_peer_server_close(s3lect_peer_server_t* server, s3lect_peer_server_cb cb) {
  shell_t* s = server->internal;
  if (s == NULL || s->server == NULL)
    return;
  s3l_peer_server_t* peer = s->server;
  s->close_cb = cb;
  while (s3l_peer_server_len(peer) > 0)
    s3l_executor_unregister(registration_at(s, s3l_peer_server_len(peer) - 1)->executor);
  s->server = NULL;
  s3l_peer_server_close(peer, on_closed, s);
}
