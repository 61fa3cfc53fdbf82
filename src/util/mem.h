/* util/mem.h: the library's only way to the heap.
 *
 * One process-wide set of functions, as in uv_replace_allocator. It must be set before the first
 * allocation, because memory is freed by the functions that are set then. s3l_malloc(0) and
 * s3l_calloc(0, n) return NULL, like a failure; the library does not call them so. */
#ifndef S3L_UTIL_MEM_H
#define S3L_UTIL_MEM_H

#include <stddef.h>

typedef struct s3l_mem_hooks_s {
  void* (*malloc)(size_t size);
  void* (*realloc)(void* ptr, size_t size);
  void* (*calloc)(size_t count, size_t size);
  void (*free)(void* ptr);
} s3l_mem_hooks_t;

/** Replaces the four functions; NULL, or a NULL member, restores libc's. Not thread-safe: call it
 * before anything else. */
void s3l_mem_set(const s3l_mem_hooks_t* hooks);

void* s3l_malloc(size_t size);
void* s3l_calloc(size_t count, size_t size);

/** On failure the old block remains valid. */
void* s3l_realloc(void* ptr, size_t size);

/** Room for one more element behind `len` of `size` bytes each: the list, or a larger one in its
 * place, with its capacity in *cap. NULL on failure: the old list remains valid. */
void* s3l_grow(void* list, size_t len, size_t* cap, size_t size);

void s3l_free(void* ptr);

/** NULL gives NULL. */
char* s3l_strdup(const char* s);

/** Overwrites memory that held a secret, in a way that the compiler cannot remove. */
void s3l_wipe(void* ptr, size_t size);

#endif
