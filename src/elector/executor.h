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
 *   - the election has at most one store request under way. Beside it there may be a request that
 *     removes an old epoch file, and one of protocol_check.h. The executor lives until all of them
 *     have ended.
 *
 * There may be thousands of executors in a process: one allocation, as large as its options need,
 * holds the executor, what it needs for verify_on_start and for peer mode, the body that is written
 * and the options' strings. Another's names, where it follows, and values are in others:
 * see leader_names.h, value.h.
 *
 * The parts that the executor is made of (executor_files, preflight, protocol_check, ...) do not
 * know it: what they have to tell goes through the callbacks that it gives them. */
#ifndef S3L_EXECUTOR_H
#define S3L_EXECUTOR_H

#include "elector/executor_state.h"

/** Allocates and prepares an executor; `options` have been resolved. Errors: UV_ENOMEM. */
int s3l_executor_create(s3lect_elector_t* handle, const s3lect_elector_options_t* options,
                        s3l_executor_t** out);

/** Asks for a start: takes the random bytes for it, and wakes the executor. Errors: UV_EIO. */
int s3l_executor_start(s3l_executor_t* d);

/** The record in view, with its names. From the loop only. */
void s3l_executor_record(const s3l_executor_t* d, s3lect_record_t* record);

/** Has the loop look at what was asked for, soon. */
void s3l_executor_wake(s3l_executor_t* d);

/** Gives up the elector's place at a peer server. No-op if it has none. */
void s3l_executor_unregister(s3l_executor_t* d);

#endif
