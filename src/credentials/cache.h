/* credentials/cache.h: keeps the credentials that a provider gave, and replaces them before they
 * end.
 *
 * - The provider is asked one question at a time, however many wait.
 * - Credentials are replaced well before they end, by a deadline (so that an idle process has good
 *   ones when it must act) and whenever somebody gets them. Meanwhile the old ones serve. After a
 *   failure the provider is asked again, with growing pauses; the old ones serve until their end.
 * - Credentials that the store refused are replaced at once, even new ones (a service may give old
 *   ones); but if their successors are refused soon after, their age is not the reason. Refused
 *   ones serve on if there are no others.
 * - A request that finds no good credentials waits, within its own time-out. During the pause after
 *   a failure it is told of that failure at once.
 * - With good credentials at hand, get allocates nothing and calls nothing but the clock.
 *
 * A provider tells the end of credentials in wall time. The cache keeps it in lease time from the
 * moment at which they came, like pauses and time-outs: a wall clock that is set later changes
 * nothing. Requests that wait
 * keep the loop alive; the deadline for replacing does not. Nothing is in the loop before the first
 * wait. The provider is somebody else's code: one that answers inside get or cancel, or twice,
 * breaks its contract, but nothing here. */
#ifndef S3L_CREDS_CACHE_H
#define S3L_CREDS_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "credentials/credentials.h"
#include "loop/loop.h"

typedef struct s3l_creds_cache_s s3l_creds_cache_t;
typedef struct s3l_creds_user_s s3l_creds_user_t;
typedef struct s3l_creds_wait_s s3l_creds_wait_t;

/** An object whose requests wait, such as a store. */
struct s3l_creds_user_s {
  s3l_creds_cache_t* cache;
  /* Ends a wait, once, from the loop. status 0: get has credentials now. Else S3LECT_ECREDENTIALS,
   * UV_ENOMEM, UV_ETIMEDOUT or UV_ECANCELED, with a line for people, or NULL, that is valid during
   * the call. */
  void (*waited)(s3l_creds_wait_t* wait, int status, const char* why);
};

/** A request that waits for credentials; embedded in its owner, and zeroed before its first wait.
 */
struct s3l_creds_wait_s {
  s3l_creds_user_t* user; /* NULL: does not wait */
  s3l_list_t link;
  s3l_deadline_t deadline;
  uint32_t timeout_ms; /* for a message */
  bool cancelled;
};

typedef struct s3l_creds_cache_options_s {
  uint32_t ahead_ms;      /* credentials are replaced this long before their end, or, if they are */
  uint32_t jitter_ms;     /* short-lived, after three quarters of their life; less up to this */
  uint32_t retry_ms;      /* pause after a failure, doubled after each further one, ... */
  uint32_t retry_max_ms;  /* ... up to this while old ones serve, */
  uint32_t retry_none_ms; /* and up to this while there are none */
  int64_t (*wall_ms)(void);  /* Unix time */
  int64_t (*lease_ms)(void); /* lease time */
} s3l_creds_cache_options_t;

/** 5 min, 1 min; 1 s, 1 min, 5 s; the machine's clock. */
extern const s3l_creds_cache_options_t s3l_creds_cache_defaults;

/** A cache over a provider, which it asks only when somebody waits. If `owned`, the provider is
 * closed with the cache, and if this fails. Errors: UV_ENOMEM. */
int s3l_creds_cache_open(s3lect_credentials_provider_t* provider, bool owned,
                         const s3l_creds_cache_options_t* options, s3l_creds_cache_t** out);

/** A cache with fixed credentials, which it copies: keys, whose token may be NULL, or a token
 * alone, whose keys are NULL or "". Errors: as s3l_creds_new. */
int s3l_creds_cache_fixed(uv_loop_t* loop, const char* access_key, const char* secret,
                          const char* token, s3l_creds_cache_t** out, s3lect_error_t* error);

/** Credentials to sign with now, valid until the loop goes on; NULL: there are none at hand. */
const s3lect_credentials_t* s3l_creds_cache_get(s3l_creds_cache_t* cache);

/** Waits until there are credentials, also if there are already; not beyond `until_ns` of lease
 * time, which may be S3L_CLOCK_NEVER. Errors, with waited never called: UV_ENOMEM, UV_ECANCELED
 * (the cache is closing). */
int s3l_creds_wait(s3l_creds_user_t* user, s3l_creds_wait_t* wait, int64_t until_ns);

/** Ends a wait soon with UV_ECANCELED. No-op if it is over. */
void s3l_creds_wait_cancel(s3l_creds_wait_t* wait);

/** Ends all waits of a user with UV_ECANCELED, in this call, which comes from the loop. */
void s3l_creds_wait_cancel_all(s3l_creds_user_t* user);

/** For people: why there are none, or "". Valid until the loop goes on. */
const char* s3l_creds_cache_why(const s3l_creds_cache_t* cache);

/** The store refused the credentials: get others, if there are any. */
void s3l_creds_cache_refused(s3l_creds_cache_t* cache);

/** Ends all waits with UV_ECANCELED, wipes and frees everything, then calls cb, if not NULL: in
 * this call if nobody has waited yet. */
void s3l_creds_cache_close(s3l_creds_cache_t* cache, void (*cb)(void* arg), void* arg);

#endif
