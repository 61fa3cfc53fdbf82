#include "store/remote_options.h"

#include <string.h>
#include <unistd.h>

#include "credentials/credentials.h"
#include "net/tls_context.h"
#include "util/versioned.h"

#define CONNECTIONS_MAX 1024

int s3l_remote_refuse(s3lect_error_t* error, const char* name, const char* reason) {
  return s3l_error_say(error, S3LECT_EOPTION, name, NULL, "%s", reason);
}

const char* s3l_remote_shown(const char* url) {
  return url != NULL && strpbrk(url, "@?") == NULL ? url : NULL;
}

int s3l_remote_parse_endpoint(s3l_source_t s, s3l_url_t* url, s3lect_error_t* error) {
  const char* reason;
  if (!s3l_url_parse(s3l_span_cstr(s.value), url, &reason))
    return s3l_error_say(error, S3LECT_EOPTION, s.name, s3l_remote_shown(s.value), "%s", reason);
  if (url->query.p != NULL || (url->path.n > 0 && !s3l_span_eq(url->path, S3L_SPAN("/"))))
    return s3l_error_say(error, S3LECT_EOPTION, s.name, s3l_remote_shown(s.value),
                         "must end with the host or port; the bucket is an option of its own");
  return 0;
}

int s3l_remote_check_secret(s3l_source_t s, size_t max, s3lect_error_t* error) {
  if (s.value != NULL && strlen(s.value) > max)
    return s3l_remote_refuse(error, s.name, "too long to be one");
  for (const char* p = s.value; p != NULL && *p != '\0'; p++) {
    if (*p <= 0x20 || *p >= 0x7f)
      return s3l_remote_refuse(error, s.name,
                               "holds a blank, a line end or another character that no key has");
  }
  return 0;
}

int s3l_remote_check_keys(s3l_source_t access_key, s3l_source_t secret, s3lect_error_t* error) {
  if (access_key.value == NULL || secret.value == NULL)
    return s3l_error_say(error, S3LECT_ECREDENTIALS,
                         access_key.value == NULL ? access_key.name : secret.name, NULL,
                         "not set; access key and secret are needed together");
  int err = s3l_remote_check_secret(access_key, S3L_CREDS_ACCESS_KEY_MAX, error);
  return err != 0 ? err : s3l_remote_check_secret(secret, S3L_CREDS_SECRET_MAX, error);
}

bool s3l_remote_set_host(s3l_remote_config_t* c, s3l_span_t host, uint16_t port, bool tls) {
  s3l_buf_t b;
  c->http.host = c->host;
  c->http.port = port;
  c->http.tls = tls;
  s3l_buf_init(&b, c->host_header, sizeof(c->host_header));
  s3l_url_put_host(&b, host, memchr(host.p, ':', host.n) != NULL, port, tls);
  return s3l_buf_cstr(&b) != NULL && s3l_span_copy(host, c->host, sizeof(c->host));
}

static int build_connection(const s3l_remote_options_t* o, s3l_remote_config_t* c) {
  s3l_http_client_options_t* h = &c->http;
  h->connect_timeout_ms = s3l_or_default(o->connect_timeout_ms, S3L_REMOTE_CONNECT_MS);
  h->tls_timeout_ms = s3l_or_default(o->tls_timeout_ms, S3L_REMOTE_TLS_MS);
  h->first_byte_timeout_ms = o->first_byte_timeout_ms;
  h->idle_timeout_ms = s3l_or_default(o->idle_timeout_ms, S3L_REMOTE_IDLE_MS);
  h->max_connections = s3l_or_default(o->max_connections, S3L_REMOTE_CONNECTIONS);
  h->few = S3L_HTTP_FEW;
  if (h->max_connections > CONNECTIONS_MAX)
    return s3l_remote_refuse(h->error, "max_connections", "at most 1024");
  h->ca_file = h->tls ? o->ca_file.value : NULL;
  h->ca_option = o->ca_file.name;
  if (h->ca_file != NULL && access(h->ca_file, R_OK) != 0)
    return s3l_error_say(h->error, S3LECT_ETLS, o->ca_file.name, h->ca_file,
                         "cannot be read; give a file of PEM certificates");
  return 0;
}

/* Error messages do not show the value, which may hold a password. */
static int build_proxy(const s3l_remote_options_t* o, s3l_remote_config_t* c) {
  const char *name, *reason;
  c->proxies = s3l_proxy_rules(o->proxy);
  c->http.proxy = &c->proxy;
  bool good = s3l_proxy_choose(&c->proxies, c->http.tls, s3l_span_cstr(c->host), c->http.port,
                               &c->proxy, &name, &reason);
  return good ? 0 : s3l_remote_refuse(c->http.error, name, reason);
}

static int build_credentials(const s3l_remote_options_t* o, s3l_remote_config_t* c) {
  c->credentials = o->credentials;
  s3lect_credentials_chain_options_init(&c->chain, sizeof(c->chain));
  c->chain.proxy = c->proxies.option;
  if (c->credentials == NULL ||
      (c->credentials->ops != NULL && c->credentials->ops->version == S3LECT_CREDENTIALS_VERSION))
    return 0;
  return s3l_remote_refuse(c->http.error, "credentials", "not an open provider of this version");
}

int s3l_remote_configure(const s3l_remote_options_t* options, s3l_remote_config_t* config,
                         s3lect_error_t* error) {
  config->http.error = error;
  int err = build_proxy(options, config);
  if (err == 0)
    err = build_credentials(options, config);
  return err != 0 ? err : build_connection(options, config);
}

int s3l_remote_check_tls(const s3l_remote_config_t* config) {
  if (!config->http.tls)
    return 0;
  const s3l_tls_client_options_t tls = {
      .ca = {.option = config->http.ca_option, .file = config->http.ca_file}};
  s3l_tls_context_t* context;
  int err = s3l_tls_context_new_client(&tls, &context, config->http.error);
  s3l_tls_context_free(context);
  return err;
}
