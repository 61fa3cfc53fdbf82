#include "lib/secret_heap.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/test.h"
#include "s3lect.h"
#include "util/list.h"
#include "util/mem.h"

typedef struct block_s {
  _Alignas(max_align_t) s3l_list_t link;
  size_t n;
} block_t;

static struct {
  s3l_list_t live;
  const char* secrets[S3L_SECRETS_MAX];
  unsigned found;
  char where[256]; /* the last of them */
  int self;        /* our own memory, as a file */
} heap;

static bool holds(const block_t* b, const char* secret) {
  static char copy[2u << 20];
  assert_true(b->n <= sizeof(copy));
  ssize_t n = pread(heap.self, copy, b->n, (off_t)(uintptr_t)(b + 1));
  assert_int_equal(n, (ssize_t)b->n);
  return memmem(copy, b->n, secret, strlen(secret)) != NULL;
}

static void look_at(const block_t* b) {
  for (int i = 0; i < S3L_SECRETS_MAX && heap.secrets[i] != NULL; i++) {
    if (!holds(b, heap.secrets[i]))
      continue;
    heap.found++;
    snprintf(heap.where, sizeof(heap.where), "a block of %zu bytes was given back with %s in it",
             b->n, heap.secrets[i]);
  }
}

static void* looking_malloc(size_t n) {
  block_t* b = malloc(sizeof(*b) + n);
  if (b == NULL)
    return NULL;
  b->n = n;
  s3l_list_push_back(&heap.live, &b->link);
  return b + 1;
}

static void* looking_calloc(size_t count, size_t n) {
  void* p = looking_malloc(count * n);
  if (p != NULL)
    memset(p, 0, count * n);
  return p;
}

static void looking_free(void* p) {
  if (p == NULL)
    return;
  block_t* b = (block_t*)p - 1;
  look_at(b);
  s3l_list_remove(&b->link);
  free(b);
}

/* It always moves, and leaves the old block behind. */
static void* looking_realloc(void* p, size_t n) {
  void* to = looking_malloc(n);
  if (to == NULL || p == NULL)
    return to;
  size_t old = ((block_t*)p - 1)->n;
  memcpy(to, p, old < n ? old : n);
  looking_free(p);
  return to;
}

/* OpenSSL's blocks live as long as it likes, and so are in no list. */
static void* openssl_malloc(size_t n, const char* file, int line) {
  block_t* b = n > 0 ? malloc(sizeof(*b) + n) : NULL;
  if (b == NULL)
    return NULL;
  b->n = n;
  s3l_list_init(&b->link);
  return b + 1;
}

static void openssl_free(void* p, const char* file, int line) {
  looking_free(p);
}

static void* openssl_realloc(void* p, size_t n, const char* file, int line) {
  void* to = openssl_malloc(n, file, line);
  if (p == NULL || (to == NULL && n > 0))
    return to;
  size_t old = ((block_t*)p - 1)->n;
  if (to != NULL)
    memcpy(to, p, old < n ? old : n);
  looking_free(p);
  return to;
}

void s3l_secret_heap_with_openssl(void) {
  if (CRYPTO_set_mem_functions(openssl_malloc, openssl_realloc, openssl_free) != 1)
    abort();
}

void s3l_secret_heap_install(const char* const secrets[S3L_SECRETS_MAX]) {
  memset(&heap, 0, sizeof(heap));
  s3l_list_init(&heap.live);
  for (int i = 0; i < S3L_SECRETS_MAX && secrets[i] != NULL; i++)
    heap.secrets[i] = secrets[i];
  heap.self = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  if (heap.self < 0)
    skip();
  assert_int_equal(
      s3lect_set_allocator(looking_malloc, looking_realloc, looking_calloc, looking_free), 0);
}

void s3l_secret_heap_remove(void) {
  s3l_mem_set(NULL);
  assert_true(s3l_list_empty(&heap.live));
  close(heap.self);
  memset(heap.secrets, 0, sizeof(heap.secrets)); /* OpenSSL goes on */
  if (heap.found > 0)
    fail_msg("%s", heap.where);
}

unsigned s3l_secret_heap_found(void) {
  unsigned n = heap.found;
  heap.found = 0;
  return n;
}

unsigned s3l_secret_heap_live(const char* secret) {
  unsigned n = 0;
  for (s3l_list_t* l = heap.live.next; l != &heap.live; l = l->next)
    n += holds(S3L_CONTAINER_OF(l, block_t, link), secret);
  return n;
}
