/* net/tls_context.c: see tls_context.h. */
#include "net/tls_context.h"

#include <stdio.h>

#include <openssl/err.h>
#include <uv.h>

#include "s3lect/errno.h"
#include "util/mem.h"

static int fail(s3l_tls_context_t* c, const char* what, const char* file, char* why, size_t cap) {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  if (why != NULL && cap > 0)
    snprintf(why, cap, "%s%s%s: %s", what, file != NULL ? " " : "", file != NULL ? file : "",
             reason != NULL ? reason : "unknown error");
  ERR_clear_error();
  s3l_tls_context_free(c);
  return S3LECT_ETLS;
}

/* TLS 1.3 hands out sessions after the handshake, and any number of them: the latest is kept. */
static int on_new_session(SSL* ssl, SSL_SESSION* session) {
  s3l_tls_context_t* c = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
  SSL_SESSION_free(c->session);
  c->session = session;
  return 1; /* the reference is ours now */
}

static int create(bool server, s3l_tls_context_t** out, char* why, size_t cap) {
  s3l_tls_context_t* c = s3l_calloc(1, sizeof(*c));
  *out = NULL;
  if (c == NULL)
    return UV_ENOMEM;
  c->server = server;
  ERR_clear_error();
  c->ssl_ctx = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
  if (c->ssl_ctx == NULL || SSL_CTX_set_min_proto_version(c->ssl_ctx, TLS1_2_VERSION) != 1)
    return fail(c, "TLS set-up", NULL, why, cap);
  SSL_CTX_set_app_data(c->ssl_ctx, c);
  SSL_CTX_set_options(c->ssl_ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  /* An idle connection then holds no record buffers. */
  SSL_CTX_set_mode(c->ssl_ctx, SSL_MODE_RELEASE_BUFFERS);
  *out = c;
  return 0;
}

int s3l_tls_context_client(const char* ca_file, s3l_tls_context_t** out, char* why, size_t cap) {
  s3l_tls_context_t* c;
  int rc = create(false, &c, why, cap);
  *out = NULL;
  if (rc != 0)
    return rc;
  SSL_CTX_set_verify(c->ssl_ctx, SSL_VERIFY_PEER, NULL);
  if (ca_file != NULL) {
    if (SSL_CTX_load_verify_file(c->ssl_ctx, ca_file) != 1)
      return fail(c, "CA file", ca_file, why, cap);
  } else if (SSL_CTX_set_default_verify_paths(c->ssl_ctx) != 1) {
    return fail(c, "the system's CA certificates", NULL, why, cap);
  }
  SSL_CTX_set_session_cache_mode(c->ssl_ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(c->ssl_ctx, on_new_session);
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

int s3l_tls_context_server(const char* cert_file, const char* key_file, s3l_tls_context_t** out,
                           char* why, size_t cap) {
  static const unsigned char id[] = "s3lect";
  s3l_tls_context_t* c;
  int rc = create(true, &c, why, cap);
  *out = NULL;
  if (rc != 0)
    return rc;
  if (SSL_CTX_use_certificate_chain_file(c->ssl_ctx, cert_file) != 1)
    return fail(c, "certificate file", cert_file, why, cap);
  if (SSL_CTX_use_PrivateKey_file(c->ssl_ctx, key_file, SSL_FILETYPE_PEM) != 1)
    return fail(c, "key file", key_file, why, cap);
  if (SSL_CTX_set_session_id_context(c->ssl_ctx, id, sizeof(id) - 1) != 1)
    return fail(c, "TLS set-up", NULL, why, cap);
  SSL_CTX_set_alpn_select_cb(c->ssl_ctx, on_alpn, NULL);
  *out = c;
  return 0;
}

void s3l_tls_context_forget(s3l_tls_context_t* c) {
  SSL_SESSION_free(c->session);
  c->session = NULL;
}

void s3l_tls_context_free(s3l_tls_context_t* c) {
  if (c == NULL)
    return;
  SSL_SESSION_free(c->session);
  SSL_CTX_free(c->ssl_ctx);
  s3l_free(c);
}
