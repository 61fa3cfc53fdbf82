/* fakes3/objects.c: buckets and their objects, sorted by key as ListObjectsV2 returns them. */
#include <stdlib.h>
#include <string.h>

#include "fakes3/internal.h"

fakes3_bucket_t* fakes3_bucket_find(fakes3_t* s, s3l_span_t name) {
  for (s3l_list_t* l = s->buckets.next; l != &s->buckets; l = l->next) {
    fakes3_bucket_t* b = S3L_CONTAINER_OF(l, fakes3_bucket_t, link);
    if (s3l_span_eq(name, s3l_span_cstr(b->name)))
      return b;
  }
  return NULL;
}

fakes3_bucket_t* fakes3_bucket_add(fakes3_t* s, s3l_span_t name, bool given) {
  fakes3_bucket_t* b = fakes3_alloc(sizeof(*b));
  b->name = fakes3_dup(name);
  b->given = given;
  b->versioned = s->versioned;
  s3l_list_push_back(&s->buckets, &b->link);
  return b;
}

size_t fakes3_object_index(const fakes3_bucket_t* b, const char* key) {
  size_t low = 0, high = b->n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (strcmp(b->objects[middle]->key, key) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

fakes3_object_t* fakes3_object_find(const fakes3_bucket_t* b, const char* key) {
  size_t i = fakes3_object_index(b, key);
  return i < b->n && strcmp(b->objects[i]->key, key) == 0 ? b->objects[i] : NULL;
}

static void free_version(fakes3_version_t* v) {
  if (v == NULL)
    return;
  fakes3_bytes_free(&v->body);
  fakes3_bytes_free(&v->headers);
  free(v);
}

static fakes3_version_t* copy_version(const fakes3_version_t* of) {
  fakes3_version_t* v = fakes3_alloc(sizeof(*v));
  memcpy(v->etag, of->etag, sizeof(v->etag));
  v->modified_ms = of->modified_ms;
  fakes3_put_span(&v->body, fakes3_span(&of->body));
  fakes3_put_span(&v->headers, fakes3_span(&of->headers));
  return v;
}

static void free_history(fakes3_version_t* v) {
  while (v != NULL) {
    fakes3_version_t* older = v->older;
    free_version(v);
    v = older;
  }
}

static fakes3_object_t* insert(fakes3_bucket_t* b, const char* key) {
  size_t i = fakes3_object_index(b, key);
  if (b->n == b->cap) {
    size_t cap = b->cap > 0 ? b->cap * 2 : 16;
    fakes3_object_t** grown = fakes3_alloc(cap * sizeof(*grown));
    if (b->n > 0)
      memcpy(grown, b->objects, b->n * sizeof(*grown));
    free(b->objects);
    b->objects = grown;
    b->cap = cap;
  }
  memmove(b->objects + i + 1, b->objects + i, (b->n - i) * sizeof(*b->objects));
  b->n++;
  b->objects[i] = fakes3_alloc(sizeof(*b->objects[i]));
  b->objects[i]->key = fakes3_dup(s3l_span_cstr(key));
  return b->objects[i];
}

void fakes3_object_set(fakes3_bucket_t* b, const char* key, fakes3_version_t* version) {
  fakes3_object_t* o = fakes3_object_find(b, key);
  if (o == NULL)
    o = insert(b, key);
  free_version(o->before);
  o->before = o->now;
  o->now = version;
  o->changed_ns = fakes3_lease_ns();
  if (!b->versioned || version == NULL)
    return;
  fakes3_version_t* kept = copy_version(version);
  kept->number = ++b->versions;
  kept->older = o->history;
  o->history = kept;
}

const fakes3_version_t* fakes3_object_version(const fakes3_object_t* o, s3l_span_t id) {
  uint64_t number;
  const fakes3_version_t* v = o != NULL && s3l_span_to_u64(id, &number) ? o->history : NULL;
  while (v != NULL && v->number != number)
    v = v->older;
  return v;
}

void fakes3_object_cache(const fakes3_t* s, fakes3_object_t* o) {
  free_version(o->cached);
  o->cached = copy_version(o->now);
  o->cached_ns = fakes3_lease_ns();
  o->cached_ms = fakes3_wall_ms(s);
}

size_t fakes3_object_count(const fakes3_t* s) {
  size_t count = 0;
  for (s3l_list_t* l = s->buckets.next; l != &s->buckets; l = l->next) {
    const fakes3_bucket_t* b = S3L_CONTAINER_OF(l, fakes3_bucket_t, link);
    for (size_t i = 0; i < b->n; i++)
      count += b->objects[i]->now != NULL ? 1 : 0;
  }
  return count;
}

static void clear_bucket(fakes3_bucket_t* b) {
  for (size_t i = 0; i < b->n; i++) {
    free_version(b->objects[i]->now);
    free_version(b->objects[i]->before);
    free_version(b->objects[i]->cached);
    free_history(b->objects[i]->history);
    free(b->objects[i]->key);
    free(b->objects[i]);
  }
  free(b->objects);
  b->objects = NULL;
  b->n = b->cap = 0;
}

void fakes3_bucket_remove(fakes3_bucket_t* b) {
  clear_bucket(b);
  s3l_list_remove(&b->link);
  free(b->name);
  free(b);
}

void fakes3_objects_clear(fakes3_t* s, bool given_too) {
  s3l_list_t* l = s->buckets.next;
  while (l != &s->buckets) {
    fakes3_bucket_t* b = S3L_CONTAINER_OF(l, fakes3_bucket_t, link);
    l = l->next;
    if (b->given && !given_too)
      clear_bucket(b);
    else
      fakes3_bucket_remove(b);
  }
}
