#include "lib/heap.h"

#include <stdlib.h>

#include "lib/test.h"
#include "s3lect.h"
#include "util/mem.h"

static struct {
  size_t count;
  size_t live;
  size_t fail_in; /* 1: the next one; 0: none */
  bool fail_on;
  bool failed;
} heap;

static bool refuses(void) {
  heap.count++;
  if (heap.fail_in == 0 || --heap.fail_in > 0)
    return false;
  heap.failed = true;
  heap.fail_in = heap.fail_on ? 1 : 0;
  return true;
}

static void* counting_malloc(size_t n) {
  void* p = refuses() ? NULL : malloc(n);
  heap.live += p != NULL;
  return p;
}

static void* counting_calloc(size_t count, size_t n) {
  void* p = refuses() ? NULL : calloc(count, n);
  heap.live += p != NULL;
  return p;
}

static void* counting_realloc(void* old, size_t n) {
  void* p = refuses() ? NULL : realloc(old, n);
  heap.live += p != NULL && old == NULL;
  return p;
}

static void counting_free(void* p) {
  heap.live -= p != NULL;
  free(p);
}

void s3l_heap_install(void) {
  heap.count = heap.live = heap.fail_in = 0;
  heap.fail_on = heap.failed = false;
  assert_int_equal(
      s3lect_set_allocator(counting_malloc, counting_realloc, counting_calloc, counting_free), 0);
}

void s3l_heap_remove(void) {
  s3l_mem_set(NULL);
  assert_int_equal(heap.live, 0);
}

size_t s3l_heap_count(void) {
  return heap.count;
}

void s3l_heap_fail_at(size_t n, bool on) {
  heap.fail_in = n + 1;
  heap.fail_on = on;
  heap.failed = false;
}

bool s3l_heap_fail_end(void) {
  heap.fail_in = 0;
  return heap.failed;
}
