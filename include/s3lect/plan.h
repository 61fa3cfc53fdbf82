/* s3lect/plan.h: what an election with given options does and costs. `s3lect plan` prints it.
 *
 * Vocabulary
 *   worst time   an upper bound, while the store answers each request within latency_ms, clocks
 *                agree within drift_ppm, and a follower runs
 *   mean time    that of one follower; with more followers it is less
 *   advice       a combination of options that is unsafe or wasteful, and what to do instead
 *
 * The functions only compute: they reach no store, read no environment and allocate nothing. Any
 * thread. */
#ifndef S3LECT_PLAN_H
#define S3LECT_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "s3lect/elector.h"
#include "s3lect/errno.h"
#include "s3lect/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Whose prices, permissions and limits hold. */
typedef enum {
  S3LECT_PLAN_OTHER = 0, /* no prices, no permissions: a directory, memory, a store of your own */
  S3LECT_PLAN_S3 = 1,    /* with a bucket BASE--ZONE--x-s3: S3 Express One Zone */
  S3LECT_PLAN_AZURE = 2, /* Azure Blob Storage, hot tier */
  S3LECT_PLAN_GCS = 3,   /* Google Cloud Storage, Standard class */
} s3lect_plan_store_t;

/** Whether followers ask the leader (s3lect/peer.h). */
typedef enum {
  S3LECT_PLAN_NO_PEERS = 0,
  S3LECT_PLAN_PEERS = 1,       /* over TLS */
  S3LECT_PLAN_PLAIN_PEERS = 2, /* without TLS */
} s3lect_plan_peers_t;

/** What a plan needs to know beside the elector's options. Zero or NULL means the default. */
typedef struct s3lect_plan_options_s {
  size_t size;              /* sizeof(s3lect_plan_options_t); set by s3lect_plan_options_init */
  int32_t store;            /* s3lect_plan_store_t */
  int32_t peers;            /* s3lect_plan_peers_t */
  const char* bucket;       /* the bucket or container; s3lect_plan_policy needs it */
  int32_t custom_endpoint;  /* 1: S3's protocol, but not AWS */
  uint32_t latency_ms;      /* how long a request to the store, or a question to a peer, takes at
                               most; default S3LECT_PLAN_LATENCY_MS */
  uint32_t electors;        /* of one process on one store; 0: connections are not planned */
  uint32_t max_connections; /* of the store; default 64 */
  const char* server_side_encryption; /* as in s3lect_store_s3_options_t */
  const char* sse_kms_key_id;
} s3lect_plan_options_t;

#define S3LECT_PLAN_LATENCY_MS 100

/** For how long nobody leads, in ms. */
typedef struct s3lect_plan_time_s {
  uint64_t worst_ms;
  uint64_t mean_ms;
} s3lect_plan_time_t;

/** The requests of 30 days, at most. */
typedef struct s3lect_plan_requests_s {
  uint64_t puts;
  uint64_t lists;
  uint64_t gets;
  double usd; /* their price; 0 if `prices` is NULL */
} s3lect_plan_requests_t;

/** Which advice. Codes below S3LECT_ADVICE_WASTEFUL are unsafe. */
typedef enum {
  S3LECT_ADVICE_STORE_CLOCK = 1,  /* expiry trusts the store's clock */
  S3LECT_ADVICE_DRIFT = 2,        /* drift_ppm is less than what clocks differ by */
  S3LECT_ADVICE_PLAIN_PEERS = 3,  /* peers can be forged */
  S3LECT_ADVICE_SLOW_STORE = 4,   /* request_timeout_ms is less than latency_ms */
  S3LECT_ADVICE_RARE_RENEWAL = 5, /* a leadership has room for one renewal only */
  S3LECT_ADVICE_CONNECTIONS = 6,  /* renewals would wait for connections */
  S3LECT_ADVICE_WASTEFUL = 100,
  S3LECT_ADVICE_RARE_READS = 101,      /* infrequent_interval_ms exceeds the leader timeout */
  S3LECT_ADVICE_RARE_SEARCH = 102,     /* frequent_interval_ms exceeds the infrequent one */
  S3LECT_ADVICE_OFTEN_READS = 103,     /* several reads between two renewals */
  S3LECT_ADVICE_OFTEN_RENEWALS = 104,  /* more renewals than safety needs */
  S3LECT_ADVICE_LONG_TIMEOUT = 105,    /* nobody leads for minutes after a crash */
  S3LECT_ADVICE_NO_RELEASE = 106,      /* an orderly end takes as long as a crash */
  S3LECT_ADVICE_GRACE = 107,           /* nobody leads for longer at each change */
  S3LECT_ADVICE_EPOCHS = 108,          /* epoch files where a lockfile would do */
  S3LECT_ADVICE_GROWING_HISTORY = 109, /* epoch files are never removed */
  S3LECT_ADVICE_FAST_WRITES = 110,     /* the store turns some renewals away at first */
} s3lect_advice_code_t;

/** One advice. */
typedef struct s3lect_advice_s {
  int32_t code; /* s3lect_advice_code_t */
  int32_t is_unsafe;
  const char* option; /* the member of the elector's options or of the plan's; static */
  char text[256]; /* one line: the option, what is wrong, what to do. It begins with `option`, so
                     text + strlen(option) is the rest */
} s3lect_advice_t;

/** Room for this many is always enough for this version. */
#define S3LECT_ADVICE_MAX 16

/** What s3lect_elector_plan computes. */
typedef struct s3lect_plan_s {
  size_t size;                     /* set by the caller: sizeof(s3lect_plan_t) */
  s3lect_plan_time_t crash;        /* of the leader's process */
  s3lect_plan_time_t lost_machine; /* the leader's machine or network is gone, without a word */
  s3lect_plan_time_t hand_over;    /* the leader ends or resigns in good order */
  s3lect_plan_time_t first_start;  /* there is no lockfile yet, and no epoch file */
  s3lect_plan_requests_t leader;
  s3lect_plan_requests_t follower; /* under a stable leader */
  const char* prices;              /* whose prices: one line with source; static; NULL: none */
  const char* prices_date;         /* "2026-11"; static; NULL: none */
  uint32_t connections;            /* that `electors` need; 0: not planned */
  uint32_t advice_max;             /* set by the caller: the room of `advice` */
  s3lect_advice_t* advice;         /* set by the caller; may be NULL if advice_max is 0 */
  uint32_t advice_len;             /* how many there are, even if there is no room for them */
} s3lect_plan_t;

/** Sets every option to its default. `size` is sizeof(s3lect_plan_options_t). */
S3LECT_EXTERN void s3lect_plan_options_init(s3lect_plan_options_t* options, size_t size);

/** Computes what an election with these options does and costs. `elector` needs no `server_id`, and
 * its `store` and `peer_client` are not looked at: `options` says what they are. The caller sets
 * `size`, `advice` and `advice_max` of `plan`. Returns 0, or an error with a text in `error` (may
 * be NULL): those of s3lect_elector_options_check; S3LECT_EOPTION (`store` or `peers` of `options`
 * is out of range), UV_EINVAL (an unknown struct size), UV_ENOTSUP (an option of a newer library is
 * set). */
S3LECT_EXTERN int s3lect_elector_plan(const s3lect_elector_options_t* elector,
                                      const s3lect_plan_options_t* options, s3lect_plan_t* plan,
                                      s3lect_error_t* error);

/** Room for every policy. */
#define S3LECT_POLICY_SIZE 24576

/** Writes the permissions that an elector with these options needs, as JSON with a NUL: for S3 an
 * IAM policy, for Azure a custom role to be assigned at the container, for Google a custom role to
 * be granted on the bucket; "" for S3LECT_PLAN_OTHER. Returns 0, or an error with a text in `error`
 * (may be NULL): those of s3lect_elector_plan; S3LECT_EOPTION (`bucket` is missing), UV_ENOBUFS
 * (more than `size` bytes, or an overlong bucket or KMS key). */
S3LECT_EXTERN int s3lect_plan_policy(const s3lect_elector_options_t* elector,
                                     const s3lect_plan_options_t* options, char* text, size_t size,
                                     s3lect_error_t* error);

#ifdef __cplusplus
}
#endif

#endif
