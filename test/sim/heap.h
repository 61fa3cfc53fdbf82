/* sim/heap.h: what happens next, ordered by true time; of two things at one time the one that was
 * put in first, so that a run is the same everywhere. */
#ifndef SIM_HEAP_H
#define SIM_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/lease.h"

#define SIM_HEAP_MAX 8192

typedef struct sim_item_s {
  s3l_ns_t at;
  uint32_t order; /* set by the heap */
  uint16_t kind;
  uint16_t index; /* of a node, request or fault */
  uint32_t stamp; /* an item whose stamp is no longer its owner's is stale */
} sim_item_t;

typedef struct sim_heap_s {
  size_t len;
  uint32_t order;
  sim_item_t items[SIM_HEAP_MAX];
} sim_heap_t;

void sim_heap_init(sim_heap_t* h);

/** False if the heap is full. */
bool sim_heap_push(sim_heap_t* h, sim_item_t item);

/** False if it is empty. */
bool sim_heap_pop(sim_heap_t* h, sim_item_t* out);

#endif
