/* elector/leader_names.h: the names and the value of the record in view, which the core hands out
 * but does not keep.
 *
 * One's own names are those of the configuration. Another's, and every value, stand in one block of
 * just their size, which is replaced when they change: to see a leader renew allocates nothing. */
#ifndef S3L_LEADER_NAMES_H
#define S3L_LEADER_NAMES_H

#include <stdbool.h>

#include "s3lect/record.h"

typedef struct s3l_leader_names_s {
  const char* id; /* never NULL; both "" if there is none */
  const char* addr;
  char* block; /* what is to be freed of it: ID, address, successor and value */
} s3l_leader_names_t;

void s3l_leader_names_init(s3l_leader_names_t* names);

/** Keeps the names and the value of `seen`; one's own names (which outlive it) alone without
 * memory. False if there is no memory: then they are borrowed from `seen`, and must be forgotten
 * before it ends.
 */
bool s3l_leader_names_keep(s3l_leader_names_t* names, const s3lect_record_t* seen,
                           const char* own_id, const char* own_addr);

/** "" if the record names none. */
const char* s3l_leader_names_successor(const s3l_leader_names_t* names);

/** What the record's leader publishes; "" for nothing. */
const char* s3l_leader_names_value(const s3l_leader_names_t* names);

/** There are none any more. Frees what there was. */
void s3l_leader_names_forget(s3l_leader_names_t* names);

#endif
