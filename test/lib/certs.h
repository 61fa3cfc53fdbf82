/* Certificates of a throwaway authority, as PEM files in a temporary directory. */
#ifndef S3L_TEST_CERTS_H
#define S3L_TEST_CERTS_H

#include <openssl/x509.h>

#define S3L_CERTS_PATH_MAX 128

typedef struct s3l_certs_s {
  char dir[S3L_CERTS_PATH_MAX];
  char ca[S3L_CERTS_PATH_MAX];       /* has signed all of the following but `stranger` */
  char other_ca[S3L_CERTS_PATH_MAX]; /* has signed `stranger` */
  char good[S3L_CERTS_PATH_MAX];     /* localhost, 127.0.0.1, ::1 */
  char expired[S3L_CERTS_PATH_MAX];  /* the same names, until yesterday */
  char future[S3L_CERTS_PATH_MAX];   /* the same names, from tomorrow on */
  char wrong[S3L_CERTS_PATH_MAX];    /* wrong.example, 192.0.2.1 */
  char stranger[S3L_CERTS_PATH_MAX]; /* the names of `good`, signed by the other authority */
  char cn_only[S3L_CERTS_PATH_MAX];  /* localhost as common name, and no alternative name */
  char cn_email[S3L_CERTS_PATH_MAX]; /* the same, with an e-mail address as alternative name */
  char aws[S3L_CERTS_PATH_MAX];      /* hosts of S3 and STS in us-east-1 and eu-west-1 */
  char key[S3L_CERTS_PATH_MAX];      /* of each of them */
} s3l_certs_t;

/** 0, or -1 with a line on stderr. */
int s3l_certs_make(s3l_certs_t* c);

/** Replaces the file `to` by a copy of `by` atomically, as tools that renew certificates do. Ends
 * the program if that fails. */
void s3l_certs_replace(const char* to, const char* by);

/** Makes a certificate that is valid from `from` until `until`, in seconds from now. `names`: the
 * alternative names in OpenSSL's notation ("": none); NULL makes a self-signed authority. NULL on
 * failure. */
X509* s3l_cert_make(const char* cn, const char* names, long from, long until, EVP_PKEY* key,
                    X509* issuer, EVP_PKEY* issuer_key);

/** Removes the files and the directory. */
void s3l_certs_remove(const s3l_certs_t* c);

#endif
