/* elector/value.h: the value that an elector publishes while it leads.
 *
 * It is in memory only if there is one. Like an update it waits until no write is under way,
 * because the record of a write in flight must be the one that was written. */
#ifndef S3L_ELECTOR_VALUE_H
#define S3L_ELECTOR_VALUE_H

#include "core/core.h"

typedef struct s3l_value_s {
  bool at_once;
  size_t body_size;
  char* body; /* room for any record with this value */
  char text[];
} s3l_value_t;

/** Copies a text ("" to publish nothing any more) for the elector with this server ID. Free it with
 * s3l_free. Errors: S3LECT_EOPTION (too long, or not UTF-8), UV_ENOMEM. */
int s3l_value_make(const char* id, const char* text, bool at_once, s3l_value_t** out);

/** Puts the waiting value into force; with "" *now becomes NULL. Returns the value before, or NULL,
 * which is to be freed as s3l_core_set_value says. */
s3l_value_t* s3l_value_apply(s3l_value_t** waiting, s3l_value_t** now, s3l_core_t* core);

#endif
