#include "store/s3/options.h"

#include <string.h>
#include <unistd.h>

#include "credentials/credentials.h"
#include "net/tls_context.h"
#include "store/s3/source.h"
#include "util/mem.h"
#include "util/versioned.h"

#define CONNECT_MS      1000
#define TLS_MS          2000
#define IDLE_MS         60000 /* longer than a follower's longest interval */
#define CONNECTIONS     64
#define CONNECTIONS_MAX 1024

static int refuse(const s3l_s3_config_t* c, const char* name, const char* reason) {
  return s3l_error_say(c->http.error, S3LECT_EOPTION, name, NULL, "%s", reason);
}

/* ---- Credentials ---- */

typedef struct keys_s {
  const char* names[3];
  const char* values[3]; /* access key, secret, token; NULL: not set */
} keys_t;

static keys_t keys_of_options(const s3lect_store_s3_options_t* o) {
  return (keys_t){{"access_key_id", "secret_access_key", "session_token"},
                  {s3l_s3_set_or_null(o->access_key_id), s3l_s3_set_or_null(o->secret_access_key),
                   s3l_s3_set_or_null(o->session_token)}};
}

static keys_t keys_of_environment(void) {
  keys_t k = {.names = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}};
  for (int i = 0; i < 3; i++)
    k.values[i] =
        s3l_s3_choose(k.names[i], NULL, k.names[i], i == 2 ? "AWS_SECURITY_TOKEN" : NULL).value;
  return k;
}

/* Error messages name the source only: the values are secrets. */
static int take_keys(const keys_t* k, s3l_s3_config_t* c) {
  static const size_t limits[3] = {S3L_CREDS_ACCESS_KEY_MAX, S3L_CREDS_SECRET_MAX,
                                   S3L_CREDS_TOKEN_MAX};
  for (int i = 0; i < 2; i++) {
    if (k->values[i] == NULL)
      return s3l_error_say(c->http.error, S3LECT_ECREDENTIALS, k->names[i], NULL,
                           "not set; access key and secret are needed together");
  }
  for (int i = 0; i < 3; i++) {
    const char* value = k->values[i];
    if (value != NULL && strlen(value) > limits[i])
      return refuse(c, k->names[i], "too long to be one");
    for (const char* p = value; p != NULL && *p != '\0'; p++) {
      if (*p <= 0x20 || *p >= 0x7f)
        return refuse(c, k->names[i],
                      "holds a blank, a line end or another character that no key has");
    }
  }
  c->access_key = k->values[0];
  c->secret = k->values[1];
  c->token = k->values[2];
  return 0;
}

static int build_credentials(const s3lect_store_s3_options_t* o, s3l_s3_config_t* c) {
  keys_t keys = keys_of_options(o);
  c->credentials = o->credentials;
  c->profile = s3l_s3_set_or_null(o->profile);
  c->chain_region = s3l_s3_set_or_null(o->region);
  bool given = keys.values[0] != NULL || keys.values[1] != NULL || keys.values[2] != NULL;
  if (given + (c->credentials != NULL) + (c->profile != NULL) > 1)
    return refuse(c, c->credentials != NULL ? "credentials" : "profile",
                  "give one only of access_key_id, credentials and profile");
  if (c->credentials != NULL &&
      (c->credentials->ops == NULL || c->credentials->ops->version != S3LECT_CREDENTIALS_VERSION))
    return refuse(c, "credentials", "not an open provider of this version");
  if (c->credentials != NULL || c->profile != NULL)
    return 0;
  if (!given)
    keys = keys_of_environment();
  if (!given && keys.values[0] == NULL && keys.values[1] == NULL)
    return 0; /* the chain looks for credentials */
  return take_keys(&keys, c);
}

/* ---- Connections ---- */

static int build_connection(const s3lect_store_s3_options_t* o, s3l_s3_config_t* c) {
  s3l_http_client_options_t* h = &c->http;
  s3l_s3_source_t ca = s3l_s3_choose("ca_file", o->ca_file, "AWS_CA_BUNDLE", NULL);
  h->host = c->endpoint.host;
  h->port = c->endpoint.port;
  h->tls = c->endpoint.tls;
  h->connect_timeout_ms = s3l_or_default(o->connect_timeout_ms, CONNECT_MS);
  h->tls_timeout_ms = s3l_or_default(o->tls_timeout_ms, TLS_MS);
  h->first_byte_timeout_ms = o->first_byte_timeout_ms;
  h->idle_timeout_ms = s3l_or_default(o->idle_timeout_ms, IDLE_MS);
  h->max_connections = s3l_or_default(o->max_connections, CONNECTIONS);
  h->few = S3L_HTTP_FEW;
  if (h->max_connections > CONNECTIONS_MAX)
    return refuse(c, "max_connections", "at most 1024");
  h->ca_file = h->tls ? ca.value : NULL;
  h->ca_option = ca.name;
  if (h->ca_file != NULL && access(h->ca_file, R_OK) != 0)
    return s3l_error_say(h->error, S3LECT_ETLS, ca.name, h->ca_file,
                         "cannot be read; give a file of PEM certificates");
  return 0;
}

/* Error messages do not show the value, which may hold a password. */
static int build_proxy(const s3lect_store_s3_options_t* o, s3l_s3_config_t* c) {
  const s3l_s3_endpoint_t* e = &c->endpoint;
  const char *name, *reason;
  c->proxies = s3l_proxy_rules(o->proxy);
  c->http.proxy = &c->proxy;
  bool good = s3l_proxy_choose(&c->proxies, e->tls, s3l_span_cstr(e->host), e->port, &c->proxy,
                               &name, &reason);
  return good ? 0 : refuse(c, name, reason);
}

int s3l_s3_configure(const s3lect_store_s3_options_t* options, s3l_s3_config_t* config,
                     s3lect_error_t* error) {
  s3lect_store_s3_options_t known;
  memset(config, 0, sizeof(*config));
  config->http.error = error;
  int err = s3l_versioned_copy(error, "s3lect_store_s3_options", options, &known, sizeof(known));
  if (err == 0)
    err = s3l_s3_endpoint_build(&known, &config->endpoint, error);
  if (err == 0)
    err = build_proxy(&known, config);
  if (err == 0)
    err = build_credentials(&known, config);
  if (err == 0)
    err = build_connection(&known, config);
  if (err == 0)
    err = s3l_s3_headers_read(&known, &config->headers, error);
  if (err == 0 && config->endpoint.express && s3l_s3_set_or_null(known.server_side_encryption))
    err = refuse(config, "server_side_encryption",
                 "a directory bucket encrypts as its own default says: set it there");
  return err;
}

void s3lect_store_s3_options_init(s3lect_store_s3_options_t* options, size_t size) {
  s3lect_store_s3_options_t defaults = {
      .size = size,
      .connect_timeout_ms = CONNECT_MS,
      .tls_timeout_ms = TLS_MS,
      .idle_timeout_ms = IDLE_MS,
      .max_connections = CONNECTIONS,
  };
  memset(options, 0, size);
  memcpy(options, &defaults, size < sizeof(defaults) ? size : sizeof(defaults));
}

int s3lect_store_s3_options_check(const s3lect_store_s3_options_t* options, s3lect_error_t* error) {
  s3l_s3_config_t config;
  s3l_error_clear(error);
  int err = s3l_s3_configure(options, &config, error);
  if (err == 0 && config.http.tls) { /* whether the authorities can be loaded */
    const s3l_tls_client_options_t tls = {
        .ca = {.option = config.http.ca_option, .file = config.http.ca_file}};
    s3l_tls_context_t* context;
    err = s3l_tls_context_new_client(&tls, &context, error);
    s3l_tls_context_free(context);
  }
  s3l_wipe(&config.proxy, sizeof(config.proxy));
  return s3l_error_end(error, err);
}
