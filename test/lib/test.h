/* cmocka, with the headers that it needs. */
#ifndef S3L_TEST_TEST_H
#define S3L_TEST_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
