/* elector/protocol_check.h: looks once per start for an election of the other protocol at the same
 * key, because electors of different protocols do not see each other and would lead together.
 *
 * The check is a chain of requests of its own. It never delays a request of the election, and has
 * no influence on who leads. If it fails, it reports nothing. */
#ifndef S3L_PROTOCOL_CHECK_H
#define S3L_PROTOCOL_CHECK_H

#include "core/state.h"
#include "s3lect/store.h"

typedef struct s3l_protocol_check_s s3l_protocol_check_t;

/** The check has ended and is freed afterwards. `message` is the text of S3LECT_EPROTOCOL if there
 * is an object of the other protocol that is not released, else NULL. */
typedef void (*s3l_protocol_check_cb)(void* data, const char* message);

/** Whether the store can show an election of the other protocol. */
bool s3l_protocol_check_is_possible(const s3lect_store_t* store, const s3l_core_config_t* config);

/** Begins a check for an election with this key or prefix. NULL: there is no memory, or nothing to
 * look for; `cb` does not run then. */
s3l_protocol_check_t* s3l_protocol_check_begin(s3lect_store_t* store, const char* election,
                                               const s3l_core_config_t* config,
                                               s3l_protocol_check_cb cb, void* data);

/** Ends the check soon, without a message. */
void s3l_protocol_check_cancel(s3l_protocol_check_t* check);

#endif
