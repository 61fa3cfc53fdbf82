/* The certificates of a program's tests: a group's set-up and tear-down make and remove them. */
#ifndef S3L_TEST_GROUP_CERTS_H
#define S3L_TEST_GROUP_CERTS_H

#include "lib/certs.h"

extern s3l_certs_t certs;

int s3l_make_certs(void** state);
int s3l_remove_certs(void** state);

#endif
