#include "lib/group_certs.h"

s3l_certs_t certs;

int s3l_make_certs(void** state) {
  return s3l_certs_make(&certs);
}

int s3l_remove_certs(void** state) {
  s3l_certs_remove(&certs);
  return 0;
}
