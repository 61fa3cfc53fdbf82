/* s3lect/version.h: the version of these headers, and of the library that is linked.
 *
 * The shared library's soname is the major version: within one, symbols, struct sizes and the
 * meaning of option fields only ever grow. */
#ifndef S3LECT_VERSION_H
#define S3LECT_VERSION_H

#define S3LECT_VERSION_MAJOR  0
#define S3LECT_VERSION_MINOR  1
#define S3LECT_VERSION_PATCH  0
#define S3LECT_VERSION_STRING "0.1.0"

#endif
