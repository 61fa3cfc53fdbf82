/* core/epoch_gc.h: which old epoch files a leader removes: a few for each listing, one at a time,
 * beside everything else. */
#ifndef S3L_CORE_EPOCH_GC_H
#define S3L_CORE_EPOCH_GC_H

#include "core/state.h"

/** A listing began with the oldest files: keeps those that may go. */
void s3l_epoch_gc_listed(s3l_core_t* c, const s3l_event_t* done);
uint64_t s3l_epoch_garbage(const s3l_core_t* c);
void s3l_epoch_gc_done(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* result);

#endif
