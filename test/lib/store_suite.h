/* test/lib/store_suite.h: tests that every store must pass, through its public vtable only.
 *
 * A program opens a store, fills an s3l_store_suite_t, makes it the group's state, and runs
 * S3L_STORE_SUITE_TESTS. All keys begin with `prefix`, which no other run may use; s3l_suite_clean
 * removes what is left of them. */
#ifndef S3L_TEST_STORE_SUITE_H
#define S3L_TEST_STORE_SUITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "s3lect/store.h"

typedef struct s3l_store_suite_s {
  uv_loop_t* loop;
  s3lect_store_t* store;
  char prefix[96];
  uint32_t timeout_ms;
  /* Guarantees of this store that not every store gives: */
  bool fresh_etags;     /* equal bodies get different ETags */
  bool guarded_deletes; /* If-Match on a delete is honoured */
  bool clear_conflicts; /* writes that meet never end uncertain (Ceph 16 answers some with a 500) */
} s3l_store_suite_t;

/** A request that records its result. Zero it first. */
typedef struct s3l_suite_req_s {
  s3lect_store_req_t req;
  s3l_store_suite_t* suite;
  char key[1200];
  unsigned done;                /* how often its callback ran */
  s3lect_store_result_t result; /* its pointers lead to the copies below, or are NULL */
  char etag[256];
  char body[1 << 16];
  char message[1024];
  char keys[16][128]; /* list: the first ones */
  size_t keys_len;
} s3l_suite_req_t;

typedef int (*s3l_suite_op_t)(s3lect_store_t* store, s3lect_store_req_t* req);

/** Fills in what all requests need; `name` is put behind the prefix. */
void s3l_suite_prepare(s3l_store_suite_t* suite, s3l_suite_req_t* r, const char* name);

/** Starts an operation, which must be accepted, and waits for its end. */
const s3lect_store_result_t* s3l_suite_do(s3l_suite_req_t* r, s3l_suite_op_t op);

/** Starts it only; fails the test if the callback runs inside. */
int s3l_suite_start(s3l_suite_req_t* r, s3l_suite_op_t op);
void s3l_suite_wait(s3l_suite_req_t* r);

/** Reads, or writes under a condition; returns the result. */
const s3lect_store_result_t* s3l_suite_get(s3l_store_suite_t* suite, s3l_suite_req_t* r,
                                           const char* name, const char* unless_etag);
const s3lect_store_result_t* s3l_suite_put(s3l_store_suite_t* suite, s3l_suite_req_t* r,
                                           const char* name, uint32_t condition, const char* etag,
                                           const char* body);

/** A prefix of this process and instant. */
void s3l_suite_prefix(s3l_store_suite_t* suite);

/** Deletes every object under the prefix, where the store can list them. */
void s3l_suite_clean(s3l_store_suite_t* suite);

/* The tests, in their order. */
#define S3L_STORE_SUITE(XX)                                                                        \
  XX(s3l_suite_creates_once)                                                                       \
  XX(s3l_suite_swaps)                                                                              \
  XX(s3l_suite_missing_objects)                                                                    \
  XX(s3l_suite_one_of_many_creates_wins)                                                           \
  XX(s3l_suite_one_of_many_swaps_wins)                                                             \
  XX(s3l_suite_etags_are_fresh)                                                                    \
  XX(s3l_suite_reads_its_writes)                                                                   \
  XX(s3l_suite_reads_unless_unchanged)                                                             \
  XX(s3l_suite_bounds_bodies)                                                                      \
  XX(s3l_suite_takes_any_key)                                                                      \
  XX(s3l_suite_deletes)                                                                            \
  XX(s3l_suite_lists_in_pages)                                                                     \
  XX(s3l_suite_cancels)                                                                            \
  XX(s3l_suite_refuses_bad_requests)                                                               \
  XX(s3l_suite_goes_on_in_callbacks)                                                               \
  XX(s3l_suite_fences)

#define S3L_SUITE_DECLARE(name) void name(void** state);
S3L_STORE_SUITE(S3L_SUITE_DECLARE)

#define S3L_SUITE_TEST(name)  cmocka_unit_test(name),
#define S3L_STORE_SUITE_TESTS S3L_STORE_SUITE(S3L_SUITE_TEST)

#endif
