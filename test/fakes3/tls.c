/* fakes3/tls.c: the server's certificate: from files, or signed by a throwaway certificate
 * authority. Keys of the latter never leave memory; only DIR/ca.pem, for clients to trust, is
 * written. */
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "fakes3/internal.h"

#define VALID_DAYS 30

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

static bool set_name(X509* cert, const char* name) {
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                                    (const unsigned char*)name, -1, -1, 0) == 1;
}

static bool set_serial(X509* cert) {
  unsigned char bytes[16];
  if (RAND_bytes(bytes, sizeof(bytes)) != 1)
    return false;
  bytes[0] &= 0x7f;
  BIGNUM* number = BN_bin2bn(bytes, sizeof(bytes), NULL);
  bool good = number != NULL && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert)) != NULL;
  BN_free(number);
  return good;
}

static bool add_extension(X509* cert, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
  bool good = extension != NULL && X509_add_ext(cert, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return good;
}

/* One that is not signed yet. An hour of grace for clocks that are behind. */
static X509* new_cert(EVP_PKEY* key, const char* name) {
  X509* cert = X509_new();
  if (cert != NULL && X509_set_version(cert, X509_VERSION_3) == 1 && set_serial(cert) &&
      X509_gmtime_adj(X509_getm_notBefore(cert), -3600) != NULL &&
      X509_gmtime_adj(X509_getm_notAfter(cert), VALID_DAYS * 86400L) != NULL &&
      X509_set_pubkey(cert, key) == 1 && set_name(cert, name))
    return cert;
  X509_free(cert);
  return NULL;
}

static X509* make_authority(EVP_PKEY* key) {
  X509* ca = new_cert(key, "fakes3 throwaway authority");
  if (ca != NULL && X509_set_issuer_name(ca, X509_get_subject_name(ca)) == 1 &&
      add_extension(ca, ca, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
      add_extension(ca, ca, NID_key_usage, "critical,keyCertSign,cRLSign") &&
      add_extension(ca, ca, NID_subject_key_identifier, "hash") &&
      X509_sign(ca, key, EVP_sha256()) > 0)
    return ca;
  X509_free(ca);
  return NULL;
}

static X509* make_server(EVP_PKEY* key, X509* ca, EVP_PKEY* ca_key, const char* names) {
  X509* cert = new_cert(key, "localhost");
  if (cert != NULL && X509_set_issuer_name(cert, X509_get_subject_name(ca)) == 1 &&
      add_extension(cert, ca, NID_basic_constraints, "critical,CA:FALSE") &&
      add_extension(cert, ca, NID_key_usage, "critical,digitalSignature") &&
      add_extension(cert, ca, NID_ext_key_usage, "serverAuth") &&
      add_extension(cert, ca, NID_authority_key_identifier, "keyid") &&
      add_extension(cert, ca, NID_subject_alt_name, names) &&
      X509_sign(cert, ca_key, EVP_sha256()) > 0)
    return cert;
  X509_free(cert);
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
  X509* ca = ca_key != NULL ? make_authority(ca_key) : NULL;
  put_names(&names, domain, host);
  X509* cert = ca != NULL && key != NULL ? make_server(key, ca, ca_key, fakes3_cstr(&names)) : NULL;
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
