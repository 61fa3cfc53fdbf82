/* sim/store.h: one object in a linearizable store with conditional writes, as S3 has them.
 *
 * Every operation happens at one instant of true time, in the order of the calls. What the store
 * says of time is its own clock's opinion, in whole seconds. ETags are a hash of the body, as AWS
 * computes them for plain objects: equal bodies have equal ETags. */
#ifndef SIM_STORE_H
#define SIM_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/lease.h"
#include "sim/clock.h"

#define SIM_ETAG_SIZE 24
#define SIM_BODY_MAX  2048

/** Which spelling of an If-Match the store takes; it always shows ETags with quotes. */
typedef enum { SIM_TAKES_BOTH = 0, SIM_TAKES_QUOTED, SIM_TAKES_BARE } sim_dialect_t;

typedef struct sim_store_s {
  sim_clock_t clock;
  int64_t unix_ms; /* what its clock shows at the start of the run */
  sim_dialect_t dialect;

  bool exists;
  bool oversized; /* the body is a part of an object too large to be read */
  char etag[SIM_ETAG_SIZE];
  int64_t modified_ms;
  size_t body_len;
  char body[SIM_BODY_MAX];
} sim_store_t;

/** As the HTTP reply would tell it; status as in s3lect/errno.h. */
typedef struct sim_reply_s {
  int status;
  bool has_body; /* the store's body and ETag are part of it */
  int64_t store_time_ms;
  int64_t modified_ms;
} sim_reply_t;

/** What a body's ETag is. */
void sim_etag(const char* body, size_t len, char etag[SIM_ETAG_SIZE]);

/** The store's Date at true time t. */
int64_t sim_store_date(const sim_store_t* s, s3l_ns_t t);

/** GET, with If-None-Match where etag is not "". */
sim_reply_t sim_store_get(const sim_store_t* s, s3l_ns_t t, const char* etag);

/** PUT with If-Match, or If-None-Match: * where etag is "". `bare`: the ETag is sent unquoted. */
sim_reply_t sim_store_put(sim_store_t* s, s3l_ns_t t, const char* etag, bool bare, const char* body,
                          size_t len);

/** By hand: unconditionally. */
void sim_store_set(sim_store_t* s, s3l_ns_t t, const char* body, size_t len);
void sim_store_delete(sim_store_t* s);

#endif
