/* elector/executor.h: runs one election core on a libuv loop: feeds it time and results, carries
 * out its effects on the store and the application's callbacks.
 *
 * Vocabulary
 *   run      one core step with the effects it demands, then whatever the application asked for
 *            meanwhile, until nothing is left; always from the loop, never nested
 *   asked    what API calls asked for since: calls only note it (and take effect on is_leader at
 *            once), so that no callback runs inside a call and any call is legal in any callback
 *
 * Invariants
 *   - published validity is never later than the core's, and 0 from the moment at which the
 *     application has asked to stop or resign;
 *   - once a validity has passed, no thread sees a later one of the same epoch: whoever finds that
 *     it has passed, reader or publisher, ends it by compare-and-swap;
 *   - the election has at most one store request under way. Beside it there may be a request that
 *     removes an old epoch file, and one of protocol_check.h. The executor lives until all of them
 *     have ended.
 *
 * There may be thousands of executors in a process: one allocation, as large as its options need,
 * holds the executor, what it needs for verify_on_start, the body that is written and the options'
 * strings. Another's names, where it follows, are in a second one: see names.h. */
#ifndef S3L_EXECUTOR_H
#define S3L_EXECUTOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/core.h"
#include "elector/executor_files.h"
#include "elector/leader_names.h"
#include "elector/preflight.h"
#include "elector/probe.h"
#include "elector/protocol_check.h"
#include "elector/registration.h"
#include "elector/repeats.h"
#include "loop/loop.h"
#include "s3lect/elector.h"

/** A transfer that was asked for: the successor's ID, and room for the record that names it. */
typedef struct s3l_transfer_s {
  char successor[S3LECT_ID_SIZE];
  size_t body_size;
  char body[];
} s3l_transfer_t;

typedef struct s3l_executor_s {
  /* Read by any thread; written by the loop's. */
  _Atomic int64_t valid_until;
  _Atomic uint64_t epoch;

  int64_t shown;        /* the validity that was published last ... */
  uint64_t shown_epoch; /* ... and its epoch, where it was not 0 */
  bool expired;         /* a renewal came too late to be published: the core is still to be told */
  s3lect_elector_t* handle;
  s3l_loop_t* loop;
  s3l_deadline_t deadline; /* the core's, or the preflight's */
  s3l_task_t wake;         /* looks at what was asked for; at last, the end */
  s3lect_store_req_t req;
  s3l_core_t core;
  s3l_leader_names_t names; /* of the record in the core's view */
  s3l_repeats_t repeats;

  bool running; /* inside a run */
  bool ended;   /* the request under way has ended, which the core is still to be told */
  bool ask_start;
  bool ask_resign;
  bool ask_transfer; /* with ask_resign */
  bool closing;
  bool left;                  /* the loop: only the close callback is still to run */
  uint8_t ask_stop;           /* s3lect_reason_t or 0 */
  s3l_preflight_t* preflight; /* holds ask_start back; NULL without verify_on_start */
  uint64_t ask_ack;           /* the epoch that was acknowledged; 0: none */
  s3lect_elector_cb close_cb;
  unsigned char random[24]; /* of the start that was asked for: incarnation and seed */
  int submit_error;         /* the store did not take the request: its end is still to be told */

  s3lect_event_cb on_started_leading;
  s3lect_event_cb on_stopped_leading;
  s3lect_event_cb on_new_leader;
  s3lect_event_cb on_renewed;
  s3lect_event_cb on_error;
  s3lect_event_cb on_claiming;
  s3lect_trace_cb on_trace;
  char* body; /* what is being written */
  size_t body_size;
  s3l_transfer_t* transfer; /* the last one; NULL: there was none */

  s3l_protocol_check_t* check; /* under way; NULL: none */
  bool check_due;              /* the check of this start has not begun */

  s3l_probe_t* probe;               /* NULL without peer mode */
  s3l_registration_t* registration; /* NULL: at no peer server */
  const char* peer_path;            /* where peers are asked, unless they say otherwise */
} s3l_executor_t;

/** Allocates and prepares an executor; `options` have been resolved. Errors: UV_ENOMEM. */
int s3l_executor_create(s3lect_elector_t* handle, const s3lect_elector_options_t* options,
                        s3l_executor_t** out);

/** Tells the application of an error that is not the core's. `message` NULL: what the code says.
 * From the loop only. */
void s3l_executor_report(s3l_executor_t* d, int error, const char* message);

/** The record in view, with its names. From the loop only. */
void s3l_executor_record(const s3l_executor_t* d, s3lect_record_t* record);

/** One event, with all that follows from it. From the loop only, never nested. */
void s3l_executor_run(s3l_executor_t* d, const s3l_event_t* event);

/** Has the loop look at what was asked for, soon. */
void s3l_executor_wake(s3l_executor_t* d);

/** The published validity in lease time, 0 if it is over. Any thread. */
int64_t s3l_executor_valid_until(s3l_executor_t* d);

/** Whether leadership is over although the core is still to be told. */
static inline bool s3l_executor_is_withdrawn(const s3l_executor_t* d) {
  return d->ask_resign || d->ask_stop != 0 || d->expired;
}

/** Publishes 0: from here on is_leader says no, until the core has caught up. */
void s3l_executor_withdraw(s3l_executor_t* d);

#endif
