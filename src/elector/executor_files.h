/* elector/executor_files.h: what an executor does beside its other work with epoch files: their
 * names, listings page by page, and a second request, which removes old ones.
 *
 * Vocabulary
 *   prefix   the option lockfile_path, which all keys of the election begin with
 *   gc       the request that removes an old file: the only one that may be under way beside the
 *            executor's own; the core waits for its end before it is stopped
 *
 * `state` is s3l_core_config_t.epochs, NULL in the protocol of the lockfile. Only gc_failed accepts
 * NULL: a lockfile's core demands none of the rest. */
#ifndef S3L_EXECUTOR_FILES_H
#define S3L_EXECUTOR_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/state.h"
#include "s3lect/elector.h"

/** Bytes for the state and all that it points to; 0 in the protocol of the lockfile. */
size_t s3l_files_size(const s3lect_elector_options_t* options);

/** Prepares the state in memory of that size; NULL in the protocol of the lockfile. `prefix` must
 * outlive it. `gc_done` is the callback of the gc request, with `data`; it calls
 * s3l_files_gc_ended first. */
s3l_epochs_t* s3l_files_init(void* memory, const s3lect_elector_options_t* options,
                             const char* prefix, s3lect_store_cb gc_done, void* data);

/** Names the file of a READ or WRITE in the executor's request. */
void s3l_files_name(s3l_epochs_t* state, uint64_t file, s3lect_store_req_t* req);

/** Fills the executor's request for a LIST. */
void s3l_files_list(s3l_epochs_t* state, const s3l_effect_t* effect, s3lect_store_req_t* req);

/** Sums up a page that was listed; an error if it cannot be one. */
int s3l_files_listed(s3l_epochs_t* state, const s3lect_store_result_t* result,
                     s3l_listing_t* listing);

void s3l_files_gc(s3l_epochs_t* state, const s3l_effect_t* effect);
void s3l_files_gc_cancel(s3l_epochs_t* state);
void s3l_files_gc_ended(s3l_epochs_t* state);
/** True if the store did not accept the last gc request; `result` is its end. */
bool s3l_files_gc_failed(s3l_epochs_t* state, s3lect_store_result_t* result);

#endif
