/* elector/preflight.h: verify_on_start: an elector does not stand until its store has been found
 * fit.
 *
 * Lives between the public handle and the core, which knows nothing of it: a start that was asked
 * for is held back until the quick part of s3lect_verify_start has passed. A store that is found
 * unfit ends the standing; one that could not be examined is examined again after the frequent
 * interval, like any other failing poll. Once passed, it stays so for the elector's life. All
 * functions accept NULL: an elector without verify_on_start. */
#ifndef S3L_PREFLIGHT_H
#define S3L_PREFLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/state.h"
#include "s3lect/verify.h"

typedef struct s3l_preflight_s s3l_preflight_t;

struct s3l_preflight_s {
  /* The owner's. */
  void* data;
  /* An examination has ended: S3LECT_EUNSAFE: the start is refused; another error: the store could
   * not be examined, and will be again; 0: it is time to ask s3l_preflight_is_open. */
  void (*done)(s3l_preflight_t* preflight, int error, const char* message);

  bool passed;
  bool wanted;  /* a start waits for it */
  bool running; /* `verify` is under way */
  bool listed;  /* of the protocol: which of the two verdicts counts */
  int error;    /* of the last run; 0 if there was none, or none since */
  uint32_t retry_ms;
  int64_t retry_at; /* lease time; not before then */
  s3lect_verify_t verify;
};

/** Whether the start that was asked for may go ahead now; else begins to find out, or waits. */
bool s3l_preflight_is_open(s3l_preflight_t* preflight, s3lect_store_t* store, const char* election,
                           const s3l_core_config_t* config);

/** When s3l_preflight_is_open wants to be asked again; S3L_NEVER if `done` will be called. */
int64_t s3l_preflight_deadline(const s3l_preflight_t* preflight);

/** Whether the store is being examined: the owner must live until `done` has been called. */
bool s3l_preflight_is_busy(const s3l_preflight_t* preflight);

/** Why the elector was not admitted, or 0. */
int s3l_preflight_error(const s3l_preflight_t* preflight);

/** The start has been called off. */
void s3l_preflight_cancel(s3l_preflight_t* preflight);

#endif
