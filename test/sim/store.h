/* sim/store.h: a linearizable store with conditional writes, as S3 has them: the lockfile and the
 * epoch files, each known by its number; the lockfile's is 0.
 *
 * Every operation happens at one instant of true time, in the order of the calls. What the store
 * says of time is its own clock's opinion, in whole seconds. ETags are a hash of the body, as AWS
 * computes them for plain objects: equal bodies have equal ETags. Listings may lag: they show which
 * files there were a while ago. */
#ifndef SIM_STORE_H
#define SIM_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/epochs.h"
#include "core/lease.h"
#include "s3lect/types.h"
#include "sim/clock.h"

#define SIM_ETAG_SIZE   24
#define SIM_BODY_MAX    640
#define SIM_OBJECTS_MAX 1024 /* beyond that the oldest goes, as by an operator's lifecycle rule */

/** Which spelling of an If-Match the store takes; it always shows ETags with quotes. */
typedef enum { SIM_TAKES_BOTH = 0, SIM_TAKES_QUOTED, SIM_TAKES_BARE } sim_dialect_t;

typedef struct sim_object_s {
  uint64_t number;
  bool exists;
  bool oversized; /* the body is a part of an object too large to be read */
  s3l_ns_t born;  /* the first create */
  s3l_ns_t since; /* the last one */
  s3l_ns_t until; /* the deletion, if it does not exist */
  s3l_ns_t written;
  int64_t modified_ms;
  char etag[SIM_ETAG_SIZE];
  uint32_t body_len;
  char body[SIM_BODY_MAX];
} sim_object_t;

typedef struct sim_store_s {
  sim_clock_t clock;
  int64_t unix_ms; /* what its clock shows at the start of the run */
  sim_dialect_t dialect;
  bool no_if_match;
  s3l_ns_t lag; /* of listings */
  bool blind;   /* they show no file of after blind_from */
  s3l_ns_t blind_from;
  uint32_t page;
  size_t len;
  sim_object_t at[SIM_OBJECTS_MAX]; /* in the order of numbers */
} sim_store_t;

/** As the HTTP reply would tell it; status as in s3lect/errno.h. */
typedef struct sim_reply_s {
  int status;
  const sim_object_t* object; /* whose ETag, and without an error whose body, the reply has; NULL:
                                 none */
  int64_t store_time_ms;
  int64_t modified_ms;
} sim_reply_t;

/** The store's Date at true time t. */
int64_t sim_store_date(const sim_store_t* s, s3l_ns_t t);

/** What is known of that number, deleted or not; NULL: nothing. */
const sim_object_t* sim_store_known(const sim_store_t* s, uint64_t number);
/** NULL: there is no such object. */
const sim_object_t* sim_store_find(const sim_store_t* s, uint64_t number);
/** The highest; NULL: there is none. */
const sim_object_t* sim_store_newest(const sim_store_t* s);
/** How many there are above that number. */
size_t sim_store_count(const sim_store_t* s, uint64_t above);

/** GET, with If-None-Match where etag is not "". */
sim_reply_t sim_store_get(const sim_store_t* s, s3l_ns_t t, uint64_t number, const char* etag);
/** PUT; `bare`: the ETag of an If-Match is sent unquoted. */
sim_reply_t sim_store_put(sim_store_t* s, s3l_ns_t t, uint64_t number, s3lect_condition_t condition,
                          const char* etag, bool bare, const char* body, size_t len);
/** One page of the files above `after`; *last is the last one of it. */
void sim_store_list(const sim_store_t* s, s3l_ns_t t, uint64_t after, s3l_listing_t* listing,
                    uint64_t* last);
void sim_store_delete(sim_store_t* s, s3l_ns_t t, uint64_t number);
/** By hand: unconditionally. */
sim_object_t* sim_store_set(sim_store_t* s, s3l_ns_t t, uint64_t number, const char* body,
                            size_t len);

#endif
