/* s3lect/testing.h: for the tests of programs that use s3lect: time that passes fast, and a store
 * in memory that several candidates share, with faults. docs/testing.md shows how to use them.
 *
 * Nothing here is for production. Fast time cannot reach a real store: in a process that has called
 * s3lect_testing_speed, electors accept only stores in the process's own memory. */
#ifndef S3LECT_TESTING_H
#define S3LECT_TESTING_H

#include <stdint.h>

#include "s3lect/export.h"
#include "s3lect/store.h"
#include "s3lect/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define S3LECT_TESTING_SPEED_MAX 1000

/** Lets time pass `speed` times as fast (1..1000) for the library in this process, from this call
 * on: all its intervals, time-outs and leases, s3lect_now_ns and the store's time. At 100, an
 * election with default options takes 160 ms, and the options are the same as in production. The
 * timers of the program itself keep their pace.
 *
 * A busy machine does not make a leader lose its lease: when the process was not running for a
 * while, at most 5 ms of that count. From this call on s3lect_elector_init returns S3LECT_EOPTION
 * for stores without S3LECT_STORE_IN_PROCESS; this cannot be undone. May be called again to change
 * the speed. Any thread.
 * Errors: UV_EINVAL (the speed); UV_EBUSY (the library is in use on a loop: call it first, or when
 * everything is closed). */
S3LECT_EXTERN int s3lect_testing_speed(uint32_t speed);

/** Opens one more handle on the objects of the memory store `with`, on its loop. So each candidate
 * of a test can have a handle of its own, as if it was another process, and each handle its own
 * fault. The objects are deleted when the last handle is closed.
 * Errors: UV_EINVAL (`with` is not a memory store), UV_ENOMEM. */
S3LECT_EXTERN int s3lect_store_memory_share(s3lect_store_t* store, s3lect_store_t* with,
                                            s3lect_error_t* error);

/** What happens to the requests of one handle of a memory store. */
typedef enum {
  S3LECT_MEMORY_WORKS = 0,
  S3LECT_MEMORY_SILENT = 1,        /* requests are lost: no effect, no reply, UV_ETIMEDOUT */
  S3LECT_MEMORY_LOSES_REPLIES = 2, /* writes take effect without a reply; reads are answered */
  S3LECT_MEMORY_REFUSES = 3,       /* UV_ECONNREFUSED at once, without effect */
} s3lect_memory_fault_t;

/** Sets the fault (s3lect_memory_fault_t) of a handle for the requests that begin from now on. A
 * write that gets no reply ends with the outcome S3LECT_UNCERTAIN.
 * Errors: UV_EINVAL (not a memory store, or no such fault). */
S3LECT_EXTERN int s3lect_store_memory_fault(s3lect_store_t* store, int32_t fault);

#ifdef __cplusplus
}
#endif

#endif
