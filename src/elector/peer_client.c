/* elector/peer_client.c: the public peer client: its options, checked, and the handle.
 *
 * Each leader that is asked gets a TLS context of its own, made when it is first asked: so what the
 * files hold is read once, by init, and kept as text. */
#include <string.h>

#include "elector/option_checks.h"
#include "elector/peer_client.h"
#include "loop/file.h"
#include "net/tls_context.h"
#include "util/error.h"
#include "util/mem.h"
#include "util/versioned.h"

#define CONNECT_MS 1000
#define IDLE_MS    60000
#define PEM_MAX    (1 << 20) /* bytes; the system's authorities have a quarter of it */

typedef struct pem_text_s {
  char* p; /* NULL: none */
  size_t n;
} pem_text_t;

/* One of the three, as it was given. */
typedef struct given_s {
  pem_text_t text;
  char* file; /* to be read again; NULL: it came as text, or there is none */
} given_t;

typedef struct trust_s {
  given_t ca, cert, key;
} trust_t;

typedef struct shell_s {
  s3lect_peer_client_t* handle;
  s3l_peer_client_t* client; /* NULL: closing */
  bool tls;
  trust_t trust;
  s3lect_peer_client_cb close_cb;
} shell_t;

/* What is to be named in a message: as it was given, a file or text. */
static const char* const ca[] = {"ca_file", "ca_pem"};
static const char* const cert[] = {"cert_file", "cert_pem"};
static const char* const key[] = {"key_file", "key_pem"};

static void drop(pem_text_t* t) {
  if (t->p != NULL)
    s3l_wipe(t->p, t->n);
  s3l_free(t->p);
  t->p = NULL;
}

static void drop_trust(trust_t* t) {
  given_t* const all[] = {&t->ca, &t->cert, &t->key};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    drop(&all[i]->text);
    s3l_free(all[i]->file);
    all[i]->file = NULL;
  }
}

static void drop_shell(shell_t* s) {
  drop_trust(&s->trust);
  s3l_free(s);
}

static int read_file(s3lect_error_t* error, const char* option, const char* path, pem_text_t* out) {
  s3l_file_t file = {0};
  int err = s3l_file_read_now(&file, path, PEM_MAX);
  s3l_span_t text = s3l_file_text(&file);
  if (err == 0 && text.n > 0) {
    *out = (pem_text_t){s3l_malloc(text.n), text.n};
    if (out->p != NULL)
      memcpy(out->p, text.p, text.n);
    err = out->p != NULL ? 0 : UV_ENOMEM;
  } else if (err != UV_ENOMEM) {
    const char* why = err != 0 ? s3lect_strerror(err) : "it is empty, or not a regular file";
    err = s3l_error_say(error, S3LECT_ETLS, option, path,
                        "cannot be read (%s); give a file of PEM text", why);
  }
  s3l_file_free(&file);
  return err;
}

/* Keeps one text, from the file or from the option itself. */
static int keep(s3lect_error_t* error, const char* const options[2], const char* path,
                const char* text, given_t* out) {
  int err = s3l_check_pem_pair(error, options[1], path, text);
  if (err != 0)
    return err;
  if (path != NULL) {
    out->file = s3l_strdup(path);
    return out->file != NULL ? read_file(error, options[0], path, &out->text) : UV_ENOMEM;
  }
  if (text == NULL)
    return 0;
  out->text.p = s3l_strdup(text);
  out->text.n = strlen(text);
  return out->text.p != NULL ? 0 : UV_ENOMEM;
}

static s3l_pem_t pem_of(const given_t* g, const char* const options[2]) {
  return (s3l_pem_t){
      .option = options[g->file == NULL], .file = g->file, .text = {g->text.p, g->text.n}};
}

static s3l_tls_client_options_t options_of(const trust_t* t) {
  return (s3l_tls_client_options_t){
      .ca = pem_of(&t->ca, ca), .cert = pem_of(&t->cert, cert), .key = pem_of(&t->key, key)};
}

/* Whether contexts can be made of it, which the first ask would find out too late to tell. */
static int try_trust(s3lect_error_t* error, const s3l_tls_client_options_t* trust) {
  s3l_tls_context_t* context;
  int err = s3l_tls_context_new_client(trust, &context, error);
  s3l_tls_context_free(context);
  return err;
}

/* Reads what is given; whatever comes of it, *t is to be dropped. */
static int read_trust(s3lect_error_t* error, const s3lect_peer_client_options_t* o, trust_t* t) {
  int err = keep(error, ca, o->ca_file, o->ca_pem, &t->ca);
  if (err == 0)
    err = keep(error, cert, o->cert_file, o->cert_pem, &t->cert);
  if (err == 0)
    err = keep(error, key, o->key_file, o->key_pem, &t->key);
  if (err == 0 && (t->cert.text.p == NULL) != (t->key.text.p == NULL))
    return s3l_error_say(error, S3LECT_EOPTION, t->cert.text.p == NULL ? cert[0] : key[0], NULL,
                         "missing; certificate and key are needed together");
  return err;
}

static int configure(s3lect_error_t* error, shell_t* s, const s3lect_peer_client_options_t* o,
                     s3l_peer_client_config_t* config) {
  int err = read_trust(error, o, &s->trust);
  if (err != 0)
    return err;
  bool any = s->trust.ca.text.p != NULL || s->trust.cert.text.p != NULL;
  if (o->plain_http != 0 && any)
    return s3l_error_say(error, S3LECT_EOPTION, "plain_http", NULL,
                         "set beside certificates, which it has no use for; give one or the "
                         "other");
  err = s3l_check_duration(error, "connect_timeout_ms", o->connect_timeout_ms);
  if (err == 0)
    err = s3l_check_duration(error, "idle_timeout_ms", o->idle_timeout_ms);
  if (err != 0)
    return err;
  uint32_t connect_ms = s3l_or_default(o->connect_timeout_ms, CONNECT_MS);
  s->tls = o->plain_http == 0;
  *config = (s3l_peer_client_config_t){
      .tls = s->tls,
      .trust = options_of(&s->trust),
      .connect_timeout_ms = connect_ms,
      .tls_timeout_ms = connect_ms < UINT32_MAX / 2 ? 2 * connect_ms : UINT32_MAX,
      .idle_timeout_ms = s3l_or_default(o->idle_timeout_ms, IDLE_MS),
  };
  return config->tls ? try_trust(error, &config->trust) : 0;
}

void s3lect_peer_client_options_init(s3lect_peer_client_options_t* options, size_t size) {
  memset(options, 0, size);
  options->size = size;
}

int s3lect_peer_client_init(uv_loop_t* loop, s3lect_peer_client_t* client,
                            const s3lect_peer_client_options_t* options, s3lect_error_t* error) {
  s3lect_peer_client_options_t known;
  s3l_peer_client_config_t config;
  s3l_error_clear(error);
  int err = s3l_versioned_copy(error, "s3lect_peer_client_options", options, &known, sizeof known);
  if (err != 0)
    return err;
  shell_t* s = s3l_calloc(1, sizeof *s);
  if (s == NULL)
    return s3l_error_end(error, UV_ENOMEM);
  err = configure(error, s, &known, &config);
  if (err == 0)
    err = s3l_peer_client_create(loop, &config, &s->client);
  if (err != 0) {
    drop_shell(s);
    return s3l_error_end(error, err);
  }
  void* data = client->data; /* the caller's, even before init */
  memset(client, 0, sizeof *client);
  client->data = data;
  client->loop = loop;
  client->internal = s;
  s->handle = client;
  return 0;
}

s3l_peer_client_t* s3l_peer_client_of(const s3lect_peer_client_t* client) {
  const shell_t* s = client->internal;
  return s != NULL ? s->client : NULL;
}

static bool is_text(const given_t* g) {
  return g->text.p != NULL && g->file == NULL;
}

/* What a reload goes by. `known` is all zero. */
static int find_trust(s3lect_error_t* error, const trust_t* now,
                      const s3lect_peer_client_options_t* options,
                      s3lect_peer_client_options_t* known) {
  if (options == NULL) {
    known->ca_file = now->ca.file;
    known->cert_file = now->cert.file;
    known->key_file = now->key.file;
    if (is_text(&now->ca) || is_text(&now->cert) || is_text(&now->key))
      return s3l_error_say(error, S3LECT_EOPTION, "options", NULL,
                           "missing; what was given as text cannot be read again: give "
                           "the new text");
    return 0;
  }
  int err = s3l_versioned_copy(error, "s3lect_peer_client_options", options, known, sizeof *known);
  if (err == 0 && now->ca.text.p != NULL && known->ca_file == NULL && known->ca_pem == NULL)
    return s3l_error_say(error, S3LECT_EOPTION, "ca_file", NULL,
                         "missing; without it whoever the system trusts would be a "
                         "leader from now on: give it, too");
  return err;
}

int s3lect_peer_client_reload(s3lect_peer_client_t* client,
                              const s3lect_peer_client_options_t* options, s3lect_error_t* error) {
  shell_t* s = client->internal;
  s3lect_peer_client_options_t known = {.size = sizeof known};
  trust_t trust = {{{NULL, 0}, NULL}, {{NULL, 0}, NULL}, {{NULL, 0}, NULL}};
  s3l_error_clear(error);
  if (s == NULL || s->client == NULL)
    return s3l_error_end(error, UV_ECANCELED);
  if (!s->tls)
    return s3l_error_say(error, UV_EINVAL, "plain_http", NULL,
                         "there are no certificates to read again");
  int err = find_trust(error, &s->trust, options, &known);
  if (err == 0)
    err = read_trust(error, &known, &trust);
  s3l_tls_client_options_t tls = options_of(&trust);
  if (err == 0)
    err = try_trust(error, &tls);
  if (err != 0) {
    drop_trust(&trust);
    return s3l_error_end(error, err);
  }
  s3l_peer_client_trust(s->client, &tls);
  drop_trust(&s->trust);
  s->trust = trust;
  return 0;
}

static void on_closed(void* arg) {
  shell_t* s = arg;
  s3lect_peer_client_t* handle = s->handle;
  s3lect_peer_client_cb cb = s->close_cb;
  handle->internal = NULL;
  drop_shell(s);
  if (cb != NULL)
    cb(handle);
}

void s3lect_peer_client_close(s3lect_peer_client_t* client, s3lect_peer_client_cb cb) {
  shell_t* s = client->internal;
  if (s == NULL || s->client == NULL)
    return;
  s3l_peer_client_t* peer = s->client;
  s->close_cb = cb;
  s->client = NULL;
  s3l_peer_client_close(peer, on_closed, s);
}
