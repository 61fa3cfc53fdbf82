/* core/request.h: what all requests to the store have in common, and the schedule of attempts. */
#ifndef S3L_CORE_REQUEST_H
#define S3L_CORE_REQUEST_H

#include "core/state.h"

/** Begins a request of a read, READ or LIST; `if_changed`: only from the observed ETag, if any. */
s3l_effect_t* s3l_request_read(s3l_core_t* c, s3l_effects_t* fx, s3l_effect_kind_t kind,
                               bool if_changed);

/** The operation under way has done what it was for. */
void s3l_request_done(s3l_core_t* c);

/** An attempt of a write or of its read-back failed: sets when the next may come, or ends the
 * operation (and reports it). */
void s3l_request_failed(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* result);

/** The same for a poll. */
void s3l_request_poll_failed(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* result);

/** The release that is owed is given up: a leadership, or a claim, may stand in the store. */
void s3l_request_give_up_release(s3l_core_t* c, s3l_effects_t* fx, const char* why);

#endif
