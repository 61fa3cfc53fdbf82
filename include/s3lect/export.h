/* s3lect/export.h: marks what the shared library exports. */
#ifndef S3LECT_EXPORT_H
#define S3LECT_EXPORT_H

#if defined(__GNUC__)
#  define S3LECT_EXTERN __attribute__((visibility("default")))
#else
#  define S3LECT_EXTERN
#endif

#endif
