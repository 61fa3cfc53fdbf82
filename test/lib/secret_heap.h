/* An allocator for the library that searches every freed block for secrets and, on request, the
 * blocks in use.
 *
 * It reads blocks through the kernel: parts of them may be uninitialised, and valgrind would report
 * a direct read. */
#ifndef S3L_TEST_SECRET_HEAP_H
#define S3L_TEST_SECRET_HEAP_H

#define S3L_SECRETS_MAX 4

/** From now on searches OpenSSL's blocks, too, between install and remove. Call first in main:
 * OpenSSL must not have allocated anything yet. */
void s3l_secret_heap_with_openssl(void);

/** Sets it, through the public hook. The secrets (up to the first NULL) must last. The test is
 * skipped where a process cannot read its own memory. */
void s3l_secret_heap_install(const char* const secrets[S3L_SECRETS_MAX]);

/** Back to libc's. Fails the test if a block was not freed, or was freed with a secret in it. */
void s3l_secret_heap_remove(void);

/** How many blocks were freed with a secret in them; resets the count. */
unsigned s3l_secret_heap_found(void);

/** How many blocks of those in use hold it. */
unsigned s3l_secret_heap_live(const char* secret);

#endif
