/* elector/update.h: options that are changed while an elector exists.
 *
 * A change waits until no write is under way, because the record of a write in flight must be the
 * one that was written. It then stays in memory for as long as its address is in use. */
#ifndef S3L_ELECTOR_UPDATE_H
#define S3L_ELECTOR_UPDATE_H

#include "core/core.h"
#include "elector/leader_names.h"
#include "s3lect/elector.h"

typedef struct s3l_update_s {
  s3l_core_config_t config; /* its addr is `text` */
  char* body;               /* room for any record with that address */
  uint16_t body_size;
  char shown[S3LECT_ADDR_SIZE]; /* the elector's address in its record, until that is written again
                                 */
  char text[];
} s3l_update_t;

/** Allocates an update to options that have been resolved; `now` is the configuration in force.
 * Free it with s3l_free. Errors: UV_ENOMEM. */
int s3l_update_make(const s3lect_elector_options_t* options, const s3l_core_config_t* now,
                    s3l_update_t** out);

/** Puts the update into force. The names no longer refer to the address before. */
void s3l_update_apply(s3l_update_t* update, s3l_core_t* core, s3l_ns_t now,
                      s3l_leader_names_t* names);

/** Frees the update whose address this is. */
void s3l_update_free(const char* addr);

#endif
