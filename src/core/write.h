/* core/write.h: the records that are written, and what became of them.
 *
 * Unknown is a state (design rule 5): a write that may have been applied is never repeated blindly.
 * The record is read back first, and its write number tells which of this elector's writes was
 * applied last.
 */
#ifndef S3L_CORE_WRITE_H
#define S3L_CORE_WRITE_H

#include "core/state.h"

void s3l_write_send(s3l_core_t* c, s3l_effects_t* fx, s3l_op_kind_t kind);
void s3l_write_done(s3l_core_t* c, s3l_effects_t* fx, const s3l_op_t* op,
                    const s3lect_store_result_t* result);

#endif
