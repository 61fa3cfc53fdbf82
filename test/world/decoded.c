/* world/decoded.c: certificates and keys, each of which OpenSSL decodes once. All processes and
 * runs use the same few, and OpenSSL 3.0 takes longer to decode a certificate than for all the rest
 * of a handshake. What is decoded is only read afterwards, so that processes may share it. */
#include <openssl/asn1t.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_MAX  16 /* what is more, or longer, is decoded each time */
#define BYTES_MAX 4096

typedef struct kept_s {
  unsigned char bytes[BYTES_MAX];
  size_t n;
  X509* cert;    /* of DER, or NULL */
  EVP_PKEY* key; /* of PEM, or NULL */
} kept_t;

static kept_t kept[KEPT_MAX];
static size_t kept_len;

static kept_t* find(const void* bytes, size_t n) {
  for (size_t i = 0; i < kept_len; i++)
    if (kept[i].n == n && memcmp(kept[i].bytes, bytes, n) == 0)
      return &kept[i];
  return NULL;
}

static kept_t* keep(const void* bytes, size_t n) {
  if (kept_len == KEPT_MAX || n > BYTES_MAX)
    return NULL;
  kept_t* k = &kept[kept_len++];
  k->n = n;
  memcpy(k->bytes, bytes, n);
  return k;
}

/* As OpenSSL's own d2i_X509 does. */
static X509* decode(const unsigned char* p, long n) {
  return (X509*)ASN1_item_d2i(NULL, &p, n, ASN1_ITEM_rptr(X509));
}

/* libssl finds this function before libcrypto's. */
__attribute__((visibility("default"))) X509* d2i_X509(X509** out, const unsigned char** in,
                                                      long n) {
  kept_t* k = find(*in, (size_t)n);
  X509* cert = k != NULL ? k->cert : decode(*in, n);
  if (cert == NULL)
    return NULL;
  if (k == NULL && (k = keep(*in, (size_t)n)) != NULL)
    k->cert = cert;
  if (k != NULL && X509_up_ref(cert) != 1)
    abort();
  *in += n;
  if (out != NULL) {
    X509_free(*out);
    *out = cert;
  }
  return cert;
}

EVP_PKEY* __real_PEM_read_bio_PrivateKey(BIO* bio, EVP_PKEY** out, pem_password_cb* cb, void* arg);
EVP_PKEY* __wrap_PEM_read_bio_PrivateKey(BIO* bio, EVP_PKEY** out, pem_password_cb* cb, void* arg);

EVP_PKEY* __wrap_PEM_read_bio_PrivateKey(BIO* bio, EVP_PKEY** out, pem_password_cb* cb, void* arg) {
  char text[BYTES_MAX];
  int n = BIO_read(bio, text, sizeof(text));
  if (n <= 0 || out != NULL)
    abort(); /* no process gives such a key */
  kept_t* k = find(text, (size_t)n);
  if (k == NULL) {
    BIO* again = BIO_new_mem_buf(text, n);
    EVP_PKEY* key = __real_PEM_read_bio_PrivateKey(again, NULL, cb, arg);
    BIO_free(again);
    k = key != NULL ? keep(text, (size_t)n) : NULL;
    if (k == NULL)
      return key;
    k->key = key;
  }
  if (EVP_PKEY_up_ref(k->key) != 1)
    abort();
  return k->key;
}
