/* TLS contexts from files alone, without client certificates. Return what tls_context.h says. */
#ifndef S3L_TEST_TLS_FILES_H
#define S3L_TEST_TLS_FILES_H

#include "net/tls_context.h"

/** `ca_file` NULL: the system's authorities. */
static inline int s3l_tls_context_client(const char* ca_file, s3l_tls_context_t** out,
                                         s3lect_error_t* error) {
  return s3l_tls_context_new_client(&(s3l_tls_client_options_t){.ca.file = ca_file}, out, error);
}

static inline int s3l_tls_context_server(const char* cert_file, const char* key_file,
                                         s3l_tls_context_t** out, s3lect_error_t* error) {
  const s3l_tls_server_options_t options = {.cert.file = cert_file, .key.file = key_file};
  return s3l_tls_context_new_server(&options, out, error);
}

#endif
