/* s3lect/verify.h: checks whether a store can hold an election.
 *
 * Some stores answer 200 to a conditional write and ignore the condition, some check the condition
 * but not atomically with the write, and some show old data. An election on such a store has two
 * leaders sooner or later. s3lect_verify_start tries the conditions with temporary objects and
 * reports which protocols the store can be used for.
 *
 * A failed check proves that a store is unsafe. Passed checks do not prove that it is safe: an
 * error that happens once in a million writes rarely shows in a few rounds. */
#ifndef S3LECT_VERIFY_H
#define S3LECT_VERIFY_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "s3lect/errno.h"
#include "s3lect/export.h"
#include "s3lect/store.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The maximum number of requests of one run, including those that remove its objects. On a correct
 * store a full run sends about 600 requests, a quick one about 80. */
#define S3LECT_VERIFY_REQUESTS_MAX    1280
#define S3LECT_VERIFY_CONCURRENCY_MAX 16
#define S3LECT_VERIFY_PREFIX_MAX      900 /* bytes */

typedef struct s3lect_verify_s s3lect_verify_t;

typedef enum {
  S3LECT_SAFETY_UNKNOWN = 0, /* the checks did not end; report.error says why */
  S3LECT_SAFETY_SAFE = 1,    /* no check that the protocol depends on has failed */
  S3LECT_SAFETY_UNSAFE = 2,  /* do not use the store for elections of this protocol */
} s3lect_safety_t;

/** Whether the store can hold an election of one protocol. A lockfile needs If-Match; epoch files
 * need listings that show every write. */
typedef struct s3lect_verdict_s {
  int32_t safety;     /* s3lect_safety_t */
  uint32_t races;     /* races of many writers that exactly one of them won; the smaller number of
                         the kinds of races that the protocol depends on */
  const char* reason; /* why the store is not safe, in one sentence; "" if it is safe */
} s3lect_verdict_t;

typedef enum {
  S3LECT_CHECK_SKIPPED = 0,      /* not tried */
  S3LECT_CHECK_PASSED = 1,       /* as expected */
  S3LECT_CHECK_NOTED = 2,        /* not as expected; no election depends on it */
  S3LECT_CHECK_FAILED = 3,       /* not as expected */
  S3LECT_CHECK_INCONCLUSIVE = 4, /* tried without a result */
} s3lect_check_verdict_t;

/** One check. Strings are for people, but names are fixed: a name is never reused. */
typedef struct s3lect_check_s {
  const char* name;     /* "create-again" */
  const char* expected; /* "refused" */
  const char* seen;     /* "200: it was overwritten"; "" when skipped */
  int32_t verdict;      /* s3lect_check_verdict_t */
} s3lect_check_t;

/** The form of ETags that the store accepts in If-Match. */
typedef enum {
  S3LECT_ETAG_UNKNOWN = 0,
  S3LECT_ETAG_QUOTED = 1, /* as the store gives them */
  S3LECT_ETAG_BARE = 2,   /* only without their quotes */
} s3lect_etag_dialect_t;

/** The result of a run; valid during the callback. */
typedef struct s3lect_verify_report_s {
  size_t size;               /* sizeof(s3lect_verify_report_t) of the library */
  s3lect_verdict_t lockfile; /* for S3LECT_PROTOCOL_LOCKFILE */
  s3lect_verdict_t epochs;   /* for S3LECT_PROTOCOL_EPOCHS */
  int32_t error; /* 0, or why a verdict is unknown: the error of a request, or UV_ECANCELED */
  const s3lect_check_t* checks;
  size_t checks_len;
  int32_t etag_dialect;    /* s3lect_etag_dialect_t */
  int32_t etags_weak;      /* 1: something on the way makes ETags weak (W/) */
  int32_t clock_known;     /* 1: the store tells its time, and the next two fields are valid */
  uint32_t clock_error_ms; /* bound on the error of the offset */
  int64_t clock_offset_ms; /* the store's clock minus this machine's */
  uint32_t requests;       /* sent */
  uint32_t leftovers;      /* temporary objects that could not be removed */
  uint32_t latency_p50_us; /* of the requests that the store answered; 0 if there was none */
  uint32_t latency_p90_us;
  uint32_t latency_p99_us;
  uint32_t latency_max_us;
} s3lect_verify_report_t;

/** Ends a run: runs exactly once, from the loop, never inside s3lect_verify_start or
 * s3lect_verify_cancel, as the handle's last callback. The handle's memory is the caller's again,
 * and the store may be closed. */
typedef void (*s3lect_verify_cb)(s3lect_verify_t* verify, const s3lect_verify_report_t* report);

/** Options. Zero or NULL means the default. They are copied; the store must stay open until the
 * callback. */
typedef struct s3lect_verify_options_s {
  size_t size;                 /* sizeof(s3lect_verify_options_t); set by ..._options_init */
  s3lect_store_t* store;       /* required */
  const char* prefix;          /* of the temporary keys; default "s3lect-verify/" */
  uint32_t concurrency;        /* writers in a race, 2..S3LECT_VERIFY_CONCURRENCY_MAX; default 8 */
  uint32_t request_timeout_ms; /* of each request; default 5000 */
  int32_t quick; /* 1: fewer races (6 of each kind instead of 30), of at most 4 writers */
} s3lect_verify_options_t;

/** A run. A fixed-size shell: the caller allocates it, must not move or copy it. */
struct s3lect_verify_s {
  void* data;      /* the caller's */
  uv_loop_t* loop; /* read-only */
  void* internal;
  void* reserved[4];
};

/** Sets every option to its default. `size` is sizeof(s3lect_verify_options_t). */
S3LECT_EXTERN void s3lect_verify_options_init(s3lect_verify_options_t* options, size_t size);

/** Starts a run on the store's loop. The run removes its temporary objects before it ends.
 * Errors, with no callback: S3LECT_EOPTION (an option), UV_EINVAL (`cb` is NULL, or a struct size
 * this library does not know), UV_ENOTSUP (an option is set that only a newer library knows),
 * UV_EIO (no random bytes), UV_ENOMEM. */
S3LECT_EXTERN int s3lect_verify_start(s3lect_verify_t* verify,
                                      const s3lect_verify_options_t* options, s3lect_verify_cb cb,
                                      s3lect_error_t* error);

/** Cancels a run: requests under way are cancelled, temporary objects are removed, and the callback
 * runs with UV_ECANCELED in the report. No-op if the run has made all its checks. */
S3LECT_EXTERN void s3lect_verify_cancel(s3lect_verify_t* verify);

/** "safe", "unsafe", "unknown". Static. Any thread. */
S3LECT_EXTERN const char* s3lect_safety_name(int safety);

/** "skipped", "passed", "noted", "failed", "inconclusive". Static. Any thread. */
S3LECT_EXTERN const char* s3lect_check_verdict_name(int verdict);

#ifdef __cplusplus
}
#endif

#endif
