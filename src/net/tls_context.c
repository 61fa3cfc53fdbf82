/* net/tls_context.c: see tls_context.h. */
#include "net/tls_context.h"

#include <openssl/err.h>
#include <uv.h>

#include "net/tls_pem.h"
#include "s3lect/errno.h"
#include "util/mem.h"

static int fail(s3l_tls_context_t* c, const char* option, const char* value, const char* wrong,
                s3lect_error_t* error) {
  (void)s3l_error_say(error, S3LECT_ETLS, option, value, "%s", wrong);
  ERR_clear_error();
  s3l_tls_context_free(c);
  return S3LECT_ETLS;
}

static int fail_set_up(s3l_tls_context_t* c, const char* what, s3lect_error_t* error) {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  return fail(c, what, NULL, reason != NULL ? reason : "unknown error", error);
}

static int fail_pem(s3l_tls_context_t* c, const char* role, const s3l_pem_t* pem, const char* wrong,
                    s3lect_error_t* error) {
  return fail(c, pem->option != NULL ? pem->option : role, pem->file, wrong, error);
}

/* TLS 1.3 hands out sessions after the handshake, and any number of them: the latest is kept. */
static int on_new_session(SSL* ssl, SSL_SESSION* session) {
  s3l_tls_context_t* c = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
  if ((uintptr_t)SSL_get_app_data(ssl) != c->generation)
    return 0; /* OpenSSL's to free */
  SSL_SESSION_free(c->session);
  c->session = session;
  return 1; /* the reference is ours now */
}

static int create(bool server, s3l_tls_context_t** out, s3lect_error_t* error) {
  s3l_tls_context_t* c = s3l_calloc(1, sizeof(*c));
  *out = NULL;
  if (c == NULL)
    return UV_ENOMEM;
  c->server = server;
  c->refs = 1;
  ERR_clear_error();
  c->ssl_ctx = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
  if (c->ssl_ctx == NULL || SSL_CTX_set_min_proto_version(c->ssl_ctx, TLS1_2_VERSION) != 1 ||
      SSL_CTX_set_app_data(c->ssl_ctx, c) != 1)
    return fail_set_up(c, "TLS set-up", error);
  /* What is decrypted may be a secret, and its copy within OpenSSL outlives the connection. */
  SSL_CTX_set_options(c->ssl_ctx,
                      SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CLEANSE_PLAINTEXT);
  /* A server has many idle connections, which then hold no record buffers (34 KB). A client has
   * few, and requests come often: OpenSSL would wipe a whole buffer after each reply. */
  if (server)
    SSL_CTX_set_mode(c->ssl_ctx, SSL_MODE_RELEASE_BUFFERS);
  *out = c;
  return 0;
}

static int missing(const char* option, const char* text, s3lect_error_t* error) {
  return s3l_error_say(error, UV_EINVAL, option, NULL, "%s", text);
}

/* Certificate and key; on failure `c` is freed. */
static int use_cert(s3l_tls_context_t* c, const s3l_pem_t* cert, const s3l_pem_t* key,
                    s3lect_error_t* error) {
  const char* wrong = s3l_pem_use_chain(c->ssl_ctx, cert);
  if (wrong != NULL)
    return fail_pem(c, "cert", cert, wrong, error);
  wrong = s3l_pem_use_key(c->ssl_ctx, key);
  return wrong == NULL ? 0 : fail_pem(c, "key", key, wrong, error);
}

int s3l_tls_context_new_client(const s3l_tls_client_options_t* options, s3l_tls_context_t** out,
                               s3lect_error_t* error) {
  s3l_tls_context_t* c;
  *out = NULL;
  if (s3l_pem_given(&options->cert) != s3l_pem_given(&options->key))
    return missing(s3l_pem_given(&options->key) ? "cert" : "key",
                   "a client certificate needs its key, and a key its certificate", error);
  int rc = create(false, &c, error);
  if (rc != 0)
    return rc;
  SSL_CTX_set_verify(c->ssl_ctx, SSL_VERIFY_PEER, NULL);
  if (s3l_pem_given(&options->ca)) {
    const char* wrong = s3l_pem_trust(c->ssl_ctx, &options->ca, false);
    if (wrong != NULL)
      return fail_pem(c, "ca", &options->ca, wrong, error);
  } else if (SSL_CTX_set_default_verify_paths(c->ssl_ctx) != 1) {
    return fail_set_up(c, "the system's CA certificates", error);
  }
  if (s3l_pem_given(&options->cert)) {
    rc = use_cert(c, &options->cert, &options->key, error);
    if (rc != 0)
      return rc;
  }
  SSL_CTX_set_session_cache_mode(c->ssl_ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(c->ssl_ctx, on_new_session);
  ERR_clear_error(); /* the end of a PEM file is an error to OpenSSL */
  *out = c;
  return 0;
}

/* HTTP/1.1 if the client offers it; a client that offers only other protocols is refused. */
static int on_alpn(SSL* ssl, const unsigned char** out, unsigned char* out_len,
                   const unsigned char* in, unsigned in_len, void* arg) {
  static const unsigned char http11[] = "\x08http/1.1";
  unsigned char* chosen;
  (void)ssl;
  (void)arg;
  if (SSL_select_next_proto(&chosen, out_len, http11, sizeof(http11) - 1, in, in_len) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

/* Sessions are kept by the clients, in tickets: clients cannot fill our memory. The tickets' keys
 * die with the context, and with them what a reload took away. */
static bool set_sessions(SSL_CTX* ctx) {
  static const unsigned char id[] = "s3lect";
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_timeout(ctx, S3L_TLS_SESSION_S);
  return SSL_CTX_set_session_id_context(ctx, id, sizeof(id) - 1) == 1 &&
         SSL_CTX_set_num_tickets(ctx, 1) == 1;
}

static const char* ask_clients(SSL_CTX* ctx, const s3l_tls_server_options_t* options) {
  int mode = SSL_VERIFY_PEER;
  if (options->client_auth == S3L_TLS_CLIENT_AUTH_REQUIRED)
    mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  SSL_CTX_set_verify(ctx, mode, NULL);
  return s3l_pem_trust(ctx, &options->client_ca, true);
}

int s3l_tls_context_new_server(const s3l_tls_server_options_t* options, s3l_tls_context_t** out,
                               s3lect_error_t* error) {
  s3l_tls_context_t* c;
  bool ask = options->client_auth != S3L_TLS_CLIENT_AUTH_NONE;
  *out = NULL;
  if (!s3l_pem_given(&options->cert) || !s3l_pem_given(&options->key))
    return missing(s3l_pem_given(&options->cert) ? "key" : "cert",
                   "a TLS server needs a certificate and its key", error);
  if (ask != s3l_pem_given(&options->client_ca))
    return missing("client_ca",
                   ask ? "the verification of clients needs the authority of their certificates"
                       : "an authority for clients is of no use where they are not verified",
                   error);
  int rc = create(true, &c, error);
  if (rc != 0)
    return rc;
  rc = use_cert(c, &options->cert, &options->key, error);
  if (rc != 0)
    return rc;
  if (!set_sessions(c->ssl_ctx))
    return fail_set_up(c, "TLS set-up", error);
  if (ask) {
    const char* wrong = ask_clients(c->ssl_ctx, options);
    if (wrong != NULL)
      return fail_pem(c, "client_ca", &options->client_ca, wrong, error);
  }
  SSL_CTX_set_alpn_select_cb(c->ssl_ctx, on_alpn, NULL);
  ERR_clear_error(); /* the end of a PEM file is an error to OpenSSL */
  *out = c;
  return 0;
}

s3l_tls_context_t* s3l_tls_context_ref(s3l_tls_context_t* c) {
  c->refs++;
  return c;
}

void s3l_tls_context_forget(s3l_tls_context_t* c) {
  SSL_SESSION_free(c->session);
  c->session = NULL;
  c->generation++;
}

void s3l_tls_context_free(s3l_tls_context_t* c) {
  if (c == NULL || --c->refs > 0)
    return;
  SSL_SESSION_free(c->session);
  SSL_CTX_free(c->ssl_ctx);
  s3l_free(c);
}
