#include "lib/group_certs.h"

#include "lib/test.h"

s3l_certs_t certs;

s3l_tls_context_t* s3l_client_context(const char* ca, const char* cert) {
  s3l_tls_context_t* c;
  s3l_tls_client_options_t o = {.ca.file = ca};
  if (cert != NULL) {
    o.cert.file = cert;
    o.key.file = certs.key;
  }
  assert_int_equal(s3l_tls_context_new_client(&o, &c, NULL), 0);
  return c;
}

int s3l_make_certs(void** state) {
  return s3l_certs_make(&certs);
}

int s3l_remove_certs(void** state) {
  s3l_certs_remove(&certs);
  return 0;
}
