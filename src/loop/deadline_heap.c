#include "loop/deadline_heap.h"

#include <stddef.h>

/* Two roots become one: the later becomes the first child of the earlier. */
static s3l_deadline_t* meld(s3l_deadline_t* a, s3l_deadline_t* b) {
  if (a == NULL)
    return b;
  if (b == NULL)
    return a;
  if (b->at_ns < a->at_ns) {
    s3l_deadline_t* t = a;
    a = b;
    b = t;
  }
  b->prev = a;
  b->next = a->child;
  if (a->child != NULL)
    a->child->prev = b;
  a->child = b;
  return a;
}

/* The children of a removed node become one tree: melded in pairs from the left, the pairs then
 * from the right. This is what makes removal logarithmic over time. */
static s3l_deadline_t* meld_siblings(s3l_deadline_t* first) {
  s3l_deadline_t* pairs = NULL; /* a stack, linked through next */
  while (first != NULL) {
    s3l_deadline_t* a = first;
    s3l_deadline_t* b = a->next;
    first = b != NULL ? b->next : NULL;
    a->next = a->prev = NULL;
    if (b != NULL)
      b->next = b->prev = NULL;
    a = meld(a, b);
    a->next = pairs;
    pairs = a;
  }
  s3l_deadline_t* root = NULL;
  while (pairs != NULL) {
    s3l_deadline_t* a = pairs;
    pairs = a->next;
    a->next = NULL;
    root = meld(root, a);
  }
  return root;
}

s3l_deadline_t* s3l_deadline_heap_add(s3l_deadline_t* root, s3l_deadline_t* d) {
  d->set = true;
  return meld(root, d);
}

s3l_deadline_t* s3l_deadline_heap_remove(s3l_deadline_t* root, s3l_deadline_t* d) {
  s3l_deadline_t* below = meld_siblings(d->child);
  if (root == d) {
    root = below;
  } else {
    if (d->prev->child == d)
      d->prev->child = d->next;
    else
      d->prev->next = d->next;
    if (d->next != NULL)
      d->next->prev = d->prev;
    root = meld(root, below);
  }
  d->child = d->next = d->prev = NULL;
  d->set = false;
  return root;
}
