#include "loop/deadline_heap.h"

#include <stddef.h>

/* The later root becomes the first child of the earlier. */
s3l_heap_node_t* s3l_heap_meld(s3l_heap_node_t* a, s3l_heap_node_t* b) {
  if (a == NULL)
    return b;
  if (b == NULL)
    return a;
  if (b->at_ns < a->at_ns) {
    s3l_heap_node_t* t = a;
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
static s3l_heap_node_t* meld_siblings(s3l_heap_node_t* first) {
  s3l_heap_node_t* pairs = NULL; /* a stack, linked through next */
  while (first != NULL) {
    s3l_heap_node_t* a = first;
    s3l_heap_node_t* b = a->next;
    first = b != NULL ? b->next : NULL;
    a->next = a->prev = NULL;
    if (b != NULL)
      b->next = b->prev = NULL;
    a = s3l_heap_meld(a, b);
    a->next = pairs;
    pairs = a;
  }
  s3l_heap_node_t* root = NULL;
  while (pairs != NULL) {
    s3l_heap_node_t* a = pairs;
    pairs = a->next;
    a->next = NULL;
    root = s3l_heap_meld(root, a);
  }
  return root;
}

s3l_heap_node_t* s3l_heap_node_add(s3l_heap_node_t* root, s3l_heap_node_t* node) {
  node->child = node->next = node->prev = NULL;
  return s3l_heap_meld(root, node);
}

s3l_heap_node_t* s3l_heap_node_remove(s3l_heap_node_t* root, s3l_heap_node_t* node) {
  s3l_heap_node_t* below = meld_siblings(node->child);
  if (root == node) {
    root = below;
  } else {
    if (node->prev->child == node)
      node->prev->child = node->next;
    else
      node->prev->next = node->next;
    if (node->next != NULL)
      node->next->prev = node->prev;
    root = s3l_heap_meld(root, below);
  }
  return root;
}
