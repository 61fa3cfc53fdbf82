/* core/epoch_reads.h: reading the epoch files, request by request. */
#ifndef S3L_CORE_EPOCH_READS_H
#define S3L_CORE_EPOCH_READS_H

#include "core/protocol.h"

void s3l_epoch_send_read(s3l_core_t* c, s3l_effects_t* fx);
s3l_read_end_t s3l_epoch_read_done(s3l_core_t* c, s3l_effects_t* fx, const s3l_op_t* op,
                                   const s3l_event_t* done);
/** Whether a read is under way that goes on with another request. */
bool s3l_epoch_is_reading(const s3l_core_t* c);
/** The observed leader, authenticated, has answered the last probe that it leads. */
void s3l_epoch_valid(s3l_core_t* c);

#endif
