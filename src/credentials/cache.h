/* credentials/cache.h: a provider that keeps what a source gives, and replaces it ahead of its
 * end.
 *
 * - However many ask, the source is asked once at a time.
 * - A set is replaced well before it expires, by a timer (so that a process that is idle has good
 *   keys when it must act) and whenever somebody asks; meanwhile the old one serves. If that fails,
 *   it is tried again, with growing pauses, and the old set serves until its end.
 * - A set that was refused is replaced at once, even one that has just come (a service may give old
 *   ones); but what is refused again soon is not: then it is not the set's age. If there is no
 *   other, it serves on.
 * - Where there is no good set, whoever asks waits for the source. After a failure the source is
 *   left alone for a moment: who asks then hears of the last failure at once.
 * - With a good set at hand, get allocates nothing and calls nothing but the clock.
 *
 * Ends of sets are by the wall clock, pauses by the monotonic one. The timer does not keep the loop
 * alive, questions to the source do. */
#ifndef S3L_CREDS_CACHE_H
#define S3L_CREDS_CACHE_H

#include <stdint.h>
#include <uv.h>

#include "credentials/credentials.h"

typedef struct s3l_creds_cache_options_s {
  uint32_t ahead_ms;      /* a set is replaced so long before its end, or, if it is short-lived, */
  uint32_t jitter_ms;     /* after three quarters of its life; and by up to this earlier still */
  uint32_t retry_ms;      /* pause after a failure; doubled after each further one ... */
  uint32_t retry_max_ms;  /* ... up to this while an old set serves, */
  uint32_t retry_none_ms; /* and up to this while there is none */
  int64_t (*wall_ms)(void); /* Unix time */
} s3l_creds_cache_options_t;

/** 5 min, 1 min; 1 s, 1 min, 5 s; the machine's clock. */
extern const s3l_creds_cache_options_t s3l_creds_cache_defaults;

/** Unix time in ms by this machine's clock. */
int64_t s3l_creds_wall_ms(void);

/** Takes the source over, on failure too (then it is closed; one that was never asked has nothing
 * to be closed in the loop). The source is not asked before somebody asks the cache.
 * Errors: UV_ENOMEM. */
int s3l_creds_cache(uv_loop_t* loop, s3l_creds_source_t* source,
                    const s3l_creds_cache_options_t* options, s3l_creds_provider_t** out);

#endif
