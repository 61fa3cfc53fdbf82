/* An allocator for the library that counts allocations, and fails them on request. */
#ifndef S3L_TEST_HEAP_H
#define S3L_TEST_HEAP_H

#include <stdbool.h>
#include <stddef.h>

/** Sets it, through the public hook; the counts begin at 0, and nothing fails. */
void s3l_heap_install(void);

/** Back to libc's. Fails the test if a block has not been freed. */
void s3l_heap_remove(void);

/** Allocations asked for since install. */
size_t s3l_heap_count(void);

/** Fails allocation number n from now (0: the next), and with `on` all later ones too. */
void s3l_heap_fail_at(size_t n, bool on);

/** Ends the failures; returns whether there was one since s3l_heap_fail_at. */
bool s3l_heap_fail_end(void);

#endif
