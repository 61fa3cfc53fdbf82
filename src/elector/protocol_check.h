/* elector/protocol_check.h: looks once per start for an election of the other protocol at the same
 * key, because electors of different protocols do not see each other and would lead together.
 *
 * The check is a chain of requests of its own. It begins when the elector knows its election and
 * has no request under way, never delays a request of the election, and has no influence on who
 * leads. If it finds an object of the other protocol that is not released, it reports
 * S3LECT_EPROTOCOL; if it fails, it reports nothing. Its memory is freed when it ends. */
#ifndef S3L_PROTOCOL_CHECK_H
#define S3L_PROTOCOL_CHECK_H

#include <stdbool.h>

struct s3l_executor_s;
typedef struct s3l_protocol_check_s s3l_protocol_check_t;

/** Asks for a check of the start that just happened. */
void s3l_protocol_check_ask(struct s3l_executor_s* executor);

/** Begins a check that was asked for as soon as it may begin; cancels the check of an elector that
 * no longer stands. To be called at the end of each run. */
void s3l_protocol_check_tend(struct s3l_executor_s* executor);

/** Whether the check is under way: the executor must live until it has ended. */
bool s3l_protocol_check_is_busy(const struct s3l_executor_s* executor);

#endif
