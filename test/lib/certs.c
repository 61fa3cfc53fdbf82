#include "lib/certs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#define DAY (24L * 60 * 60)

static int add_extension(X509* cert, X509* issuer, int nid, const char* value) {
  X509V3_CTX ctx;
  X509V3_set_ctx_nodb(&ctx);
  X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
  X509_EXTENSION* ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
  int ok = ext != NULL && X509_add_ext(cert, ext, -1) == 1;
  X509_EXTENSION_free(ext);
  return ok;
}

X509* s3l_cert_make(const char* cn, const char* names, long from, long until, EVP_PKEY* key,
                    X509* issuer, EVP_PKEY* issuer_key) {
  uint64_t serial = 0;
  X509* cert = X509_new();
  if (cert == NULL)
    return NULL;
  X509_NAME* name = X509_get_subject_name(cert);
  X509* signer = issuer != NULL ? issuer : cert;
  int ok =
      X509_set_version(cert, X509_VERSION_3) == 1 &&
      RAND_bytes((unsigned char*)&serial, sizeof(serial)) == 1 &&
      ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert), serial) == 1 &&
      X509_gmtime_adj(X509_getm_notBefore(cert), from) != NULL &&
      X509_gmtime_adj(X509_getm_notAfter(cert), until) != NULL && X509_set_pubkey(cert, key) == 1 &&
      X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char*)cn, -1, -1, 0) ==
          1 &&
      X509_set_issuer_name(cert, X509_get_subject_name(signer)) == 1 &&
      add_extension(cert, signer, NID_basic_constraints,
                    names != NULL ? "critical,CA:FALSE" : "critical,CA:TRUE") &&
      add_extension(cert, signer, NID_subject_key_identifier, "hash") &&
      add_extension(cert, signer, NID_key_usage,
                    names != NULL ? "critical,digitalSignature" : "critical,keyCertSign,cRLSign") &&
      (names == NULL || names[0] == '\0' ||
       add_extension(cert, signer, NID_subject_alt_name, names)) &&
      X509_sign(cert, issuer_key, EVP_sha256()) != 0;
  if (ok)
    return cert;
  X509_free(cert);
  return NULL;
}

static int path(const s3l_certs_t* c, char* out, const char* file) {
  int n = snprintf(out, S3L_CERTS_PATH_MAX, "%s/%s", c->dir, file);
  return n > 0 && n < S3L_CERTS_PATH_MAX;
}

static int write_cert(const s3l_certs_t* c, char* out, const char* file, X509* cert) {
  FILE* f = cert != NULL && path(c, out, file) ? fopen(out, "w") : NULL;
  int ok = f != NULL && PEM_write_X509(f, cert) == 1;
  if (f != NULL && fclose(f) != 0)
    ok = 0;
  X509_free(cert);
  return ok;
}

static int write_key(const s3l_certs_t* c, char* out, const char* file, EVP_PKEY* key) {
  FILE* f = path(c, out, file) ? fopen(out, "w") : NULL;
  int ok = f != NULL && PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL) == 1;
  if (f != NULL && fclose(f) != 0)
    ok = 0;
  return ok;
}

int s3l_certs_make(s3l_certs_t* c) {
  static const char names[] = "DNS:localhost,IP:127.0.0.1,IP:::1";
  static const char wrong_names[] = "DNS:wrong.example,IP:192.0.2.1";
  static const char aws_names[] =
      "DNS:*.s3.us-east-1.amazonaws.com,DNS:*.s3.eu-west-1.amazonaws.com,"
      "DNS:*.s3.dualstack.us-east-1.amazonaws.com,DNS:*.s3.dualstack.eu-west-1.amazonaws.com,"
      "DNS:sts.us-east-1.amazonaws.com,DNS:sts.eu-west-1.amazonaws.com";
  const char* tmp = getenv("TMPDIR");
  memset(c, 0, sizeof(*c));
  snprintf(c->dir, sizeof(c->dir), "%s/s3lect-certs-XXXXXX", tmp != NULL ? tmp : "/tmp");
  if (mkdtemp(c->dir) == NULL) {
    perror(c->dir);
    return -1;
  }
  EVP_PKEY* ca_key = EVP_EC_gen("P-256");
  EVP_PKEY* other_key = EVP_EC_gen("P-256");
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* ca = NULL;
  X509* other = NULL;
  int ok = ca_key != NULL && other_key != NULL && key != NULL;
  if (ok)
    ca = s3l_cert_make("s3lect test CA", NULL, -7 * DAY, 30 * DAY, ca_key, NULL, ca_key);
  if (ok)
    other = s3l_cert_make("another CA", NULL, -7 * DAY, 30 * DAY, other_key, NULL, other_key);
  const long from = -7 * DAY, until = 30 * DAY;
/* A certificate signed by `by`, which is ca or other. */
#define LEAF(out, file, cn, alt, begin, end, by)                                                   \
  write_cert(c, c->out, file, s3l_cert_make(cn, alt, begin, end, key, by, by##_key))
  ok = ca != NULL && other != NULL && LEAF(good, "good.pem", "localhost", names, from, until, ca) &&
       LEAF(expired, "expired.pem", "localhost", names, from, -DAY, ca) &&
       LEAF(future, "future.pem", "localhost", names, DAY, until, ca) &&
       LEAF(wrong, "wrong.pem", "wrong.example", wrong_names, from, until, ca) &&
       LEAF(stranger, "stranger.pem", "localhost", names, from, until, other) &&
       LEAF(cn_only, "cn-only.pem", "localhost", "", from, until, ca) &&
       LEAF(cn_email, "cn-email.pem", "localhost", "email:root@localhost", from, until, ca) &&
       LEAF(aws, "aws.pem", "amazonaws.com", aws_names, from, until, ca) &&
       write_key(c, c->key, "key.pem", key);
#undef LEAF
  ok = write_cert(c, c->ca, "ca.pem", ca) && ok; /* frees the certificate */
  ok = write_cert(c, c->other_ca, "other-ca.pem", other) && ok;
  EVP_PKEY_free(ca_key);
  EVP_PKEY_free(other_key);
  EVP_PKEY_free(key);
  if (ok)
    return 0;
  ERR_print_errors_fp(stderr);
  s3l_certs_remove(c);
  return -1;
}

void s3l_certs_replace(const char* to, const char* by) {
  char text[16384], next[S3L_CERTS_PATH_MAX + 32];
  snprintf(next, sizeof(next), "%s.next", to);
  FILE* in = fopen(by, "r");
  FILE* out = fopen(next, "w");
  size_t n = in != NULL ? fread(text, 1, sizeof(text), in) : 0;
  int ok = n > 0 && n < sizeof(text) && out != NULL && fwrite(text, 1, n, out) == n;
  if (in != NULL)
    (void)fclose(in);
  if (out != NULL && fclose(out) != 0)
    ok = 0;
  if (ok && rename(next, to) == 0)
    return;
  perror(to);
  abort();
}

void s3l_certs_remove(const s3l_certs_t* c) {
  const char* const files[] = {c->ca,       c->other_ca, c->good,     c->expired,
                               c->future,   c->wrong,    c->stranger, c->cn_only,
                               c->cn_email, c->aws,      c->key};
  for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
    if (files[i][0] != 0)
      (void)unlink(files[i]);
  (void)rmdir(c->dir);
}
