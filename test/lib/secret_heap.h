/* An allocator for the library that looks into each block that is given back for secrets, and into
 * those in use when it is asked.
 *
 * Blocks are read by way of the kernel: parts of them may never have been written, which valgrind
 * would report if we looked ourselves. */
#ifndef S3L_TEST_SECRET_HEAP_H
#define S3L_TEST_SECRET_HEAP_H

#define S3L_SECRETS_MAX 4

/** From now on OpenSSL's blocks are looked into as well, between install and remove. First thing in
 * main: OpenSSL must not have allocated anything yet. */
void s3l_secret_heap_with_openssl(void);

/** Sets it, through the public hook. The secrets (up to the first NULL) must last. The test is
 * skipped where a process cannot read its own memory. */
void s3l_secret_heap_install(const char* const secrets[S3L_SECRETS_MAX]);

/** Back to libc's. The test fails if something was not given back, or with a secret in it. */
void s3l_secret_heap_remove(void);

/** How many blocks were given back with a secret in them; forgets them. */
unsigned s3l_secret_heap_found(void);

/** How many blocks of those in use hold it. */
unsigned s3l_secret_heap_live(const char* secret);

#endif
