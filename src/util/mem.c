#include "util/mem.h"

#include <stdlib.h>
#include <string.h>

static const s3l_mem_hooks_t libc_hooks = {malloc, realloc, calloc, free};
static s3l_mem_hooks_t hooks = {malloc, realloc, calloc, free};

void s3l_mem_set(const s3l_mem_hooks_t* h) {
  if (h == NULL || h->malloc == NULL || h->realloc == NULL || h->calloc == NULL || h->free == NULL)
    hooks = libc_hooks;
  else
    hooks = *h;
}

void* s3l_malloc(size_t size) {
  return size == 0 ? NULL : hooks.malloc(size);
}

void* s3l_calloc(size_t count, size_t size) {
  return count == 0 || size == 0 ? NULL : hooks.calloc(count, size);
}

void* s3l_realloc(void* ptr, size_t size) {
  return size == 0 ? NULL : hooks.realloc(ptr, size);
}

void* s3l_grow(void* list, size_t len, size_t* cap, size_t size) {
  if (len < *cap)
    return list;
  size_t wanted = *cap == 0 ? 8 : 2 * *cap;
  void* grown = s3l_realloc(list, wanted * size);
  if (grown != NULL)
    *cap = wanted;
  return grown;
}

void s3l_free(void* ptr) {
  if (ptr != NULL)
    hooks.free(ptr);
}

char* s3l_strdup(const char* s) {
  if (s == NULL)
    return NULL;
  size_t size = strlen(s) + 1;
  char* copy = s3l_malloc(size);
  if (copy != NULL)
    memcpy(copy, s, size);
  return copy;
}

void s3l_wipe(void* ptr, size_t size) {
  volatile unsigned char* p = ptr;
  while (size-- > 0)
    *p++ = 0;
}
