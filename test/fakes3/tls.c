/* fakes3/tls.c: the server's certificate, from files or signed by a throwaway certificate
 * authority. The authority's keys stay in memory; only DIR/ca.pem, for clients to trust, is
 * written. */
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>

#include "fakes3/internal.h"
#include "lib/certs.h"

#define HOUR  3600L /* of grace for clocks that are behind */
#define VALID (30 * 24 * HOUR)

static void say_why(char* why, size_t cap, const char* what) {
  char text[128];
  ERR_error_string_n(ERR_get_error(), text, sizeof(text));
  ERR_clear_error();
  snprintf(why, cap, "%s: %s", what, text);
}

static SSL_CTX* new_context(char* why, size_t cap) {
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
  SSL_CTX* context = new_context(why, cap);
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

static bool write_pem(const char* dir, X509* cert) {
  char path[1024], temporary[1040];
  int n = snprintf(path, sizeof(path), "%s/ca.pem", dir);
  if (n < 0 || (size_t)n >= sizeof(path))
    return false;
  snprintf(temporary, sizeof(temporary), "%s.new", path);
  FILE* file = fopen(temporary, "we");
  if (file == NULL)
    return false;
  bool good = PEM_write_X509(file, cert) == 1;
  good = fclose(file) == 0 && good;
  return good && rename(temporary, path) == 0;
}

static void put_names(fakes3_bytes_t* names, const char* domain, const char* host) {
  fakes3_puts(names, "DNS:localhost,DNS:s3.localhost,DNS:*.s3.localhost,IP:127.0.0.1,IP:::1");
  if (domain != NULL)
    fakes3_printf(names, ",DNS:%s,DNS:*.%s", domain, domain);
  if (strcmp(host, "localhost") != 0)
    fakes3_printf(names, ",IP:%s", host);
}

SSL_CTX* fakes3_tls_self(const char* dir, const char* domain, const char* host, char* why,
                         size_t cap) {
  fakes3_bytes_t names = {NULL, 0, 0};
  SSL_CTX* context = new_context(why, cap);
  EVP_PKEY* ca_key = EVP_EC_gen("P-256");
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* ca = ca_key != NULL ? s3l_cert_make("fakes3 throwaway authority", NULL, -HOUR, VALID,
                                            ca_key, NULL, ca_key)
                            : NULL;
  put_names(&names, domain, host);
  X509* cert = ca != NULL && key != NULL
                   ? s3l_cert_make("localhost", fakes3_cstr(&names), -HOUR, VALID, key, ca, ca_key)
                   : NULL;
  bool good = context != NULL && cert != NULL && SSL_CTX_use_certificate(context, cert) == 1 &&
              SSL_CTX_use_PrivateKey(context, key) == 1;
  if (context != NULL && !good) {
    ERR_clear_error();
    snprintf(why, cap, "cannot make a certificate");
  } else if (good && !write_pem(dir, ca)) {
    snprintf(why, cap, "cannot write %s/ca.pem", dir);
    good = false;
  }
  X509_free(cert);
  X509_free(ca);
  EVP_PKEY_free(key);
  EVP_PKEY_free(ca_key);
  fakes3_bytes_free(&names);
  if (good)
    return context;
  SSL_CTX_free(context);
  return NULL;
}
