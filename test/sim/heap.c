#include "sim/heap.h"

#define WAYS 4 /* flatter than a binary heap: fewer cache lines per operation */

static bool before(const sim_item_t* a, const sim_item_t* b) {
  /* `order` may wrap; the difference of two that are in the heap together never does. */
  return a->at != b->at ? a->at < b->at : (int32_t)(a->order - b->order) < 0;
}

void sim_heap_init(sim_heap_t* h) {
  h->len = 0;
  h->order = 0;
}

bool sim_heap_push(sim_heap_t* h, sim_item_t item) {
  if (h->len == SIM_HEAP_MAX)
    return false;
  item.order = h->order++;
  size_t i = h->len++;
  while (i > 0) {
    size_t parent = (i - 1) / WAYS;
    if (!before(&item, &h->items[parent]))
      break;
    h->items[i] = h->items[parent];
    i = parent;
  }
  h->items[i] = item;
  return true;
}

bool sim_heap_pop(sim_heap_t* h, sim_item_t* out) {
  if (h->len == 0)
    return false;
  *out = h->items[0];
  sim_item_t last = h->items[--h->len];
  size_t i = 0;
  for (;;) {
    size_t first = i * WAYS + 1;
    if (first >= h->len)
      break;
    size_t end = first + WAYS < h->len ? first + WAYS : h->len;
    size_t least = first;
    for (size_t j = first + 1; j < end; j++)
      if (before(&h->items[j], &h->items[least]))
        least = j;
    if (!before(&h->items[least], &last))
      break;
    h->items[i] = h->items[least];
    i = least;
  }
  h->items[i] = last;
  return true;
}
