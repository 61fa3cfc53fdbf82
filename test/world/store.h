/* world/store.h: the kinds of stores that elections can run on: what the fake S3 is, and how a
 * process opens its store. */
#ifndef WORLD_STORE_H
#define WORLD_STORE_H

#include <stdbool.h>

#include "fakes3/fakes3.h"
#include "world/node.h"

typedef struct world_store_kind_s {
  const char* name;     /* of --store */
  const char* protocol; /* of the fake S3 */
  const char* bucket;
  fakes3_key_t key;
  bool tls;       /* always */
  bool lockfiles; /* only these: the store has no listings that epoch files need */
  bool services;  /* the simulated service of credentials gives keys for it */
  /* Rules that make the store another one that the library copes with; NULL ends the list. The last
   * one is for epoch files: it takes away If-Match. */
  const char* const* dialects;
  int (*open)(world_life_t* life, const char* endpoint, s3lect_error_t* error);
} world_store_kind_t;

/** Set before a run. */
extern const world_store_kind_t* world_store;

/** False: there is no such kind. */
bool world_store_choose(const char* name);

/** Opens life->store, with life->config and, if there are any, life->credentials. */
int world_store_open(world_life_t* life, s3lect_error_t* error);

#endif
