/* The certificates of a program's tests: a group's set-up and tear-down make and remove them. */
#ifndef S3L_TEST_GROUP_CERTS_H
#define S3L_TEST_GROUP_CERTS_H

#include "lib/certs.h"
#include "net/tls_context.h"

extern s3l_certs_t certs;

/** A client's context that trusts `ca` and shows `cert`, both of the group's (NULL: none). */
s3l_tls_context_t* s3l_client_context(const char* ca, const char* cert);

int s3l_make_certs(void** state);
int s3l_remove_certs(void** state);

#endif
