/* wire/jwt.c: PEM_read_bio_PrivateKey of OpenSSL 3 leaves copies of the key in memory that it has
 * freed. PEM_bytes_read_bio_secmem and d2i_RSAPrivateKey wipe theirs; the latter is deprecated, and
 * d2i_AutoPrivateKey stands in where libcrypto lacks it. */
#define OPENSSL_SUPPRESS_DEPRECATED

#include "wire/jwt.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "util/base64.h"

#define PEM_MAX   16384 /* a key of 4096 bits has 3300 bytes */
#define NO_KEY    "holds no private key in PEM form"
#define NOT_RSA   "is not an RSA key of 2048 to 4096 bits"
#define NO_MEMORY "out of memory"

#ifdef OPENSSL_NO_DEPRECATED_3_0

static EVP_PKEY* parse_rsa(const unsigned char* der, long len) {
  return d2i_AutoPrivateKey(NULL, &der, len);
}

#else

static EVP_PKEY* parse_rsa(const unsigned char* der, long len) {
  RSA* rsa = d2i_RSAPrivateKey(NULL, &der, len);
  EVP_PKEY* key = rsa != NULL ? EVP_PKEY_new() : NULL;
  if (key != NULL && EVP_PKEY_assign_RSA(key, rsa) == 1)
    return key;
  EVP_PKEY_free(key);
  RSA_free(rsa);
  return NULL;
}

#endif

/* PKCS #8 (RFC 5208) puts a version and the algorithm rsaEncryption before the RSA key. The
 * lengths, here as zeros, have two bytes each. */
static const unsigned char pkcs8_head[] = {0x30, 0x82, 0,    0,    2,    1,    0,    0x30, 13,
                                           6,    9,    0x2a, 0x86, 0x48, 0x86, 0xf7, 13,   1,
                                           1,    1,    5,    0,    4,    0x82, 0,    0};

/* Where the RSA key begins, or NULL. */
static const unsigned char* skip_head(const unsigned char* der, long len) {
  const size_t n = sizeof pkcs8_head;
  if ((size_t)len <= n)
    return NULL;
  for (size_t i = 0; i < n; i++) {
    bool is_length = i == 2 || i == 3 || i >= n - 2;
    if (!is_length && der[i] != pkcs8_head[i])
      return NULL;
  }
  return der + n;
}

static const char* parse(const char* kind, const unsigned char* der, long len, EVP_PKEY** key) {
  if (strcmp(kind, PEM_STRING_PKCS8) == 0)
    return "is encrypted; give it decrypted";
  const unsigned char* rsa = strcmp(kind, PEM_STRING_RSA) == 0 ? der : skip_head(der, len);
  *key = rsa != NULL ? parse_rsa(rsa, len - (rsa - der)) : NULL;
  if (*key == NULL)
    return NOT_RSA;
  int bits = EVP_PKEY_get_bits(*key);
  return bits < S3L_JWT_KEY_BITS_MIN || bits > S3L_JWT_KEY_BITS_MAX ? NOT_RSA : NULL;
}

/* Without a callback the last argument is the passphrase, so that OpenSSL never asks for one. */
static const char* read_key(s3l_span_t pem, EVP_PKEY** key) {
  unsigned char* der = NULL;
  char* kind = NULL;
  long len = 0;
  const char* wrong = NO_KEY;
  *key = NULL;
  if (pem.n == 0 || pem.n > PEM_MAX)
    return NO_KEY;
  BIO* bio = BIO_new_mem_buf(pem.p, (int)pem.n);
  if (bio == NULL)
    return NO_MEMORY;
  if (PEM_bytes_read_bio_secmem(&der, &len, &kind, PEM_STRING_EVP_PKEY, bio, NULL, "") == 1) {
    wrong = parse(kind, der, len, key);
    OPENSSL_secure_clear_free(der, (size_t)len);
    OPENSSL_secure_free(kind);
  }
  BIO_free(bio);
  return wrong;
}

static const char* sign(EVP_PKEY* key, s3l_span_t input, s3l_buf_t* out) {
  unsigned char signature[S3L_JWT_KEY_BITS_MAX / 8];
  size_t n = sizeof signature;
  EVP_MD_CTX* ctx = EVP_MD_CTX_new();
  const char* wrong = NO_MEMORY;
  if (ctx != NULL && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key) == 1) {
    bool ok = EVP_DigestSign(ctx, signature, &n, (const unsigned char*)input.p, input.n) == 1;
    wrong = ok ? NULL : NOT_RSA;
  }
  EVP_MD_CTX_free(ctx);
  if (wrong == NULL) {
    s3l_buf_putc(out, '.');
    s3l_base64url_encode(out, signature, n);
  }
  return wrong;
}

const char* s3l_jwt_sign(s3l_span_t key, s3l_span_t header, s3l_span_t claims, s3l_buf_t* out) {
  EVP_PKEY* parsed;
  size_t start = out->len;
  s3l_base64url_encode(out, header.p, header.n);
  s3l_buf_putc(out, '.');
  s3l_base64url_encode(out, claims.p, claims.n);
  const char* wrong = read_key(key, &parsed);
  if (wrong == NULL && !out->overflow)
    wrong = sign(parsed, (s3l_span_t){out->p + start, out->len - start}, out);
  EVP_PKEY_free(parsed);
  ERR_clear_error();
  return wrong;
}
