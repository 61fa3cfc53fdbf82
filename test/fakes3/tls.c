/* fakes3/tls.c: TLS for one connection, over memory BIOs: bytes in, bytes out. */
#include <openssl/err.h>
#include <stdlib.h>

#include "fakes3/internal.h"

struct fakes3_tls_s {
  SSL* ssl;
  BIO* in;  /* owned by ssl */
  BIO* out; /* likewise */
  bool told;
};

static void say_why(char* why, size_t cap, const char* what) {
  char text[128];
  ERR_error_string_n(ERR_get_error(), text, sizeof(text));
  ERR_clear_error();
  snprintf(why, cap, "%s: %s", what, text);
}

SSL_CTX* fakes3_tls_context(char* why, size_t cap) {
  static const unsigned char id[] = "fakes3";
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  if (context == NULL || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
      SSL_CTX_set_session_id_context(context, id, sizeof(id) - 1) != 1) {
    say_why(why, cap, "TLS");
    SSL_CTX_free(context);
    return NULL;
  }
  return context;
}

SSL_CTX* fakes3_tls_files(const char* cert, const char* key, char* why, size_t cap) {
  SSL_CTX* context = fakes3_tls_context(why, cap);
  if (context == NULL)
    return NULL;
  const char* failed = NULL;
  if (SSL_CTX_use_certificate_chain_file(context, cert) != 1)
    failed = cert;
  else if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
    failed = key;
  if (failed == NULL)
    return context;
  say_why(why, cap, failed);
  SSL_CTX_free(context);
  return NULL;
}

fakes3_tls_t* fakes3_tls_new(SSL_CTX* context) {
  fakes3_tls_t* t = fakes3_alloc(sizeof(*t));
  t->ssl = SSL_new(context);
  t->in = BIO_new(BIO_s_mem());
  t->out = BIO_new(BIO_s_mem());
  if (t->ssl == NULL || t->in == NULL || t->out == NULL)
    abort();
  SSL_set_bio(t->ssl, t->in, t->out);
  SSL_set_accept_state(t->ssl);
  return t;
}

void fakes3_tls_free(fakes3_tls_t* t) {
  SSL_free(t->ssl);
  free(t);
}

static void drain(fakes3_tls_t* t, fakes3_bytes_t* wire) {
  char buf[4096];
  int n;
  while ((n = BIO_read(t->out, buf, sizeof(buf))) > 0)
    fakes3_put(wire, buf, (size_t)n);
}

bool fakes3_tls_feed(fakes3_tls_t* t, const char* p, size_t n, fakes3_bytes_t* plain,
                     fakes3_bytes_t* wire) {
  char buf[4096];
  int got;
  if (BIO_write(t->in, p, (int)n) != (int)n)
    abort();
  ERR_clear_error();
  while ((got = SSL_read(t->ssl, buf, sizeof(buf))) > 0)
    fakes3_put(plain, buf, (size_t)got);
  int err = SSL_get_error(t->ssl, got);
  drain(t, wire);
  ERR_clear_error();
  return err == SSL_ERROR_WANT_READ;
}

bool fakes3_tls_write(fakes3_tls_t* t, const char* p, size_t n, fakes3_bytes_t* wire) {
  ERR_clear_error();
  bool good = n == 0 || SSL_write(t->ssl, p, (int)n) == (int)n;
  drain(t, wire);
  ERR_clear_error();
  return good;
}

void fakes3_tls_end(fakes3_tls_t* t, fakes3_bytes_t* wire) {
  ERR_clear_error();
  (void)SSL_shutdown(t->ssl);
  drain(t, wire);
  ERR_clear_error();
}

bool fakes3_tls_established(fakes3_tls_t* t, bool* resumed) {
  if (t->told || !SSL_is_init_finished(t->ssl))
    return false;
  t->told = true;
  *resumed = SSL_session_reused(t->ssl) == 1;
  return true;
}
