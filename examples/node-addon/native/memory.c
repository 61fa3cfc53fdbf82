#include <stdatomic.h>
#include <stdlib.h>

#include "addon.h"

static atomic_llong blocks;
static uv_once_t counted = UV_ONCE_INIT;

static void* count(void* ptr) {
  if (ptr != NULL)
    atomic_fetch_add_explicit(&blocks, 1, memory_order_relaxed);
  return ptr;
}

static void* counted_malloc(size_t size) {
  return count(malloc(size));
}

static void* counted_calloc(size_t n, size_t size) {
  return count(calloc(n, size));
}

static void* counted_realloc(void* ptr, size_t size) {
  void* moved = realloc(ptr, size);
  return ptr == NULL ? count(moved) : moved;
}

void memory_free(void* ptr) {
  if (ptr != NULL)
    atomic_fetch_sub_explicit(&blocks, 1, memory_order_relaxed);
  free(ptr);
}

static void set(void) {
  (void)s3lect_set_allocator(counted_malloc, counted_realloc, counted_calloc, memory_free);
}

void memory_count(void) {
  uv_once(&counted, set);
}

int64_t memory_blocks(void) {
  return atomic_load_explicit(&blocks, memory_order_relaxed);
}

void* memory_zeroed(size_t size) {
  return counted_calloc(1, size);
}

void memory_wipe(void* ptr, size_t size) {
  volatile unsigned char* at = ptr;
  while (size-- > 0)
    *at++ = 0;
}
