/* net/tls_pem.c: see tls_pem.h. */
#include "net/tls_pem.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <uv.h>

bool s3l_pem_given(const s3l_pem_t* pem) {
  return pem->text.p != NULL || pem->file != NULL;
}

static const char* openssl_reason(void) {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  return reason != NULL ? reason : "unknown error";
}

/* A FIFO would make the open wait for a writer. */
static BIO* open_file(const char* path, const char** wrong) {
  struct stat st;
  if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
    *wrong = "not a regular file";
    return NULL;
  }
  errno = 0;
  BIO* bio = BIO_new_file(path, "r");
  if (bio != NULL)
    return bio;
  *wrong = openssl_reason();
  if (errno != 0 && ERR_GET_REASON(ERR_peek_last_error()) == ERR_R_SYS_LIB) /* "system lib" */
    *wrong = uv_strerror(uv_translate_sys_error(errno));
  return NULL;
}

/* NULL: *wrong says why. */
static BIO* open_pem(const s3l_pem_t* pem, const char** wrong) {
  *wrong = "out of memory";
  if (pem->text.p == NULL)
    return open_file(pem->file, wrong);
  /* libcrypto's sizes are int; text of length 0 would be taken for "measure it yourself". */
  if (pem->text.n == 0 || pem->text.n > INT_MAX)
    return BIO_new_mem_buf("\n", 1);
  return BIO_new_mem_buf(pem->text.p, (int)pem->text.n);
}

/* OpenSSL's own would ask at the terminal, and wait. `arg`: NULL, or a bool that says it was asked.
 */
static int no_password(char* buf, int size, int writing, void* arg) {
  (void)buf;
  (void)size;
  (void)writing;
  if (arg != NULL)
    *(bool*)arg = true;
  return -1;
}

static bool is_end_of_pem(void) {
  unsigned long err = ERR_peek_last_error();
  return ERR_GET_LIB(err) == ERR_LIB_PEM && ERR_GET_REASON(err) == PEM_R_NO_START_LINE;
}

static const char* read_chain(SSL_CTX* ctx, BIO* bio) {
  X509* cert = PEM_read_bio_X509_AUX(bio, NULL, no_password, NULL);
  if (cert == NULL)
    return is_end_of_pem() ? "there is no certificate in it; give PEM text" : openssl_reason();
  int ok = SSL_CTX_use_certificate(ctx, cert);
  X509_free(cert);
  if (ok != 1 || SSL_CTX_clear_chain_certs(ctx) != 1)
    return openssl_reason();
  while ((cert = PEM_read_bio_X509(bio, NULL, no_password, NULL)) != NULL) {
    if (SSL_CTX_add0_chain_cert(ctx, cert) != 1) {
      X509_free(cert);
      return openssl_reason();
    }
  }
  return is_end_of_pem() ? NULL : openssl_reason();
}

const char* s3l_pem_use_chain(SSL_CTX* ctx, const s3l_pem_t* pem) {
  const char* wrong;
  BIO* bio = open_pem(pem, &wrong);
  if (bio != NULL)
    wrong = read_chain(ctx, bio);
  BIO_free(bio);
  return wrong;
}

const char* s3l_pem_use_key(SSL_CTX* ctx, const s3l_pem_t* pem) {
  const char* wrong;
  BIO* bio = open_pem(pem, &wrong);
  if (bio == NULL)
    return wrong;
  wrong = NULL;
  bool asked = false;
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio, NULL, no_password, &asked);
  if (key == NULL && asked)
    wrong = "the key is encrypted; give it decrypted, in a file that only its owner may read";
  else if (key == NULL)
    wrong = "there is no usable key in it; give PEM text";
  else if (SSL_CTX_use_PrivateKey(ctx, key) != 1)
    wrong = openssl_reason(); /* that it is not the certificate's, above all */
  EVP_PKEY_free(key);
  BIO_free(bio);
  return wrong;
}

/* NULL is a success too: it gives how many there were. */
static const char* add_authorities(SSL_CTX* ctx, STACK_OF(X509_INFO) * infos, bool name_to_clients,
                                   int* count) {
  X509_STORE* store = SSL_CTX_get_cert_store(ctx);
  *count = 0;
  for (int i = 0; i < sk_X509_INFO_num(infos); i++) {
    const X509_INFO* info = sk_X509_INFO_value(infos, i);
    if (info->crl != NULL && X509_STORE_add_crl(store, info->crl) != 1)
      return openssl_reason();
    if (info->crl != NULL && X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK) != 1)
      return openssl_reason();
    if (info->x509 == NULL)
      continue;
    if (X509_STORE_add_cert(store, info->x509) != 1)
      return openssl_reason();
    if (name_to_clients && SSL_CTX_add_client_CA(ctx, info->x509) != 1)
      return openssl_reason();
    ++*count;
  }
  return NULL;
}

const char* s3l_pem_trust(SSL_CTX* ctx, const s3l_pem_t* pem, bool name_to_clients) {
  const char* wrong;
  BIO* bio = open_pem(pem, &wrong);
  if (bio == NULL)
    return wrong;
  int count = 0;
  STACK_OF(X509_INFO)* infos = PEM_X509_INFO_read_bio(bio, NULL, no_password, NULL);
  wrong = infos != NULL ? add_authorities(ctx, infos, name_to_clients, &count) : openssl_reason();
  if (wrong == NULL && count == 0)
    wrong = "there is no certificate in it; give PEM text";
  sk_X509_INFO_pop_free(infos, X509_INFO_free);
  BIO_free(bio);
  return wrong;
}
