/* s3lect.h: leader election among many processes with an object store that supports conditional
 * writes (S3, MinIO, Ceph, R2, ...), for programs that run a libuv loop.
 *
 *   s3lect/elector.h   one candidate in one election: start here
 *   s3lect/store.h     the store: S3, memory, or your own
 *   s3lect/store_azure.h, s3lect/store_gcs.h   Azure Blob Storage, Google Cloud Storage
 *   s3lect/credentials.h   where the S3 store's keys come from
 *   s3lect/peer.h      peer mode: followers ask the leader instead of the store
 *   s3lect/plan.h      what given options do and cost
 *   s3lect/record.h    the content of the lockfile
 *   s3lect/types.h     outcomes, conditions and results of the store; kinds of events
 *   s3lect/verify.h    tests whether a store can hold an election
 *   s3lect/list.h      which elections a store holds, and who leads them
 *   s3lect/audit.h     whether two leaders of one election ever led together
 *   s3lect/fenced.h    objects that only the newest leader can write
 *   s3lect/errno.h     error codes
 *   s3lect/testing.h   fast time and faults, for the tests of programs that use the library
 *
 * Conventions: names end with their unit (_ms, _ns; sizes are in bytes). 0 or NULL in an option
 * means its default. Strings are UTF-8 with a NUL, and are copied unless the text says otherwise.
 * Functions are called from the thread of their loop, except those marked "Any thread". A pointer
 * may be NULL only where the text says so. */
#ifndef S3LECT_H
#define S3LECT_H

#include "s3lect/audit.h"
#include "s3lect/credentials.h"
#include "s3lect/elector.h"
#include "s3lect/errno.h"
#include "s3lect/export.h"
#include "s3lect/fenced.h"
#include "s3lect/list.h"
#include "s3lect/peer.h"
#include "s3lect/plan.h"
#include "s3lect/record.h"
#include "s3lect/store.h"
#include "s3lect/store_azure.h"
#include "s3lect/store_gcs.h"
#include "s3lect/testing.h"
#include "s3lect/types.h"
#include "s3lect/verify.h"
#include "s3lect/version.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Returns the version of the linked library, S3LECT_VERSION_STRING of its headers. Static. Any
 * thread. */
S3LECT_EXTERN const char* s3lect_version_string(void);

/** Returns lease time in ns: the clock of every valid_until_ns and takeover_allowed_ns, the same
 * for all processes of one machine. It is CLOCK_MONOTONIC_RAW plus the time that the machine was
 * suspended (CLOCK_BOOTTIME - CLOCK_MONOTONIC): monotonic, counts suspension, and is not slewed by
 * NTP as CLOCK_BOOTTIME is (clock_gettime(2)). Where these do not exist it is the best monotonic
 * clock. Any thread. */
S3LECT_EXTERN int64_t s3lect_now_ns(void);

/** Sets the allocator of the library: all four functions, with the meaning of those of C. Call it
 * once, before anything else. libuv and OpenSSL have their own hooks (uv_replace_allocator,
 * CRYPTO_set_mem_functions).
 * Errors: UV_EINVAL (one is NULL). */
S3LECT_EXTERN int s3lect_set_allocator(void* (*malloc_func)(size_t),
                                       void* (*realloc_func)(void*, size_t),
                                       void* (*calloc_func)(size_t, size_t),
                                       void (*free_func)(void*));

#ifdef __cplusplus
}
#endif

#endif
