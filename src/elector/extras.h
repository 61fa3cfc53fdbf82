/* elector/extras.h: what few electors need, in memory of its own once an elector does. */
#ifndef S3L_ELECTOR_EXTRAS_H
#define S3L_ELECTOR_EXTRAS_H

#include "elector/value.h"
#include "s3lect/elector.h"

/** A transfer that was asked for: the successor's ID, and room for the record that names it. */
typedef struct s3l_transfer_s {
  char successor[S3LECT_ID_SIZE];
  size_t body_size;
  char body[];
} s3l_transfer_t;

/** The claim of a candidate that may be granted, or is, with room for its body. */
typedef struct s3l_granted_s {
  s3lect_record_t record;
  size_t body_size;
  char body[];
} s3l_granted_t;

/** What few electors need: in memory of its own, once an elector does. */
typedef struct s3l_extras_s {
  s3lect_trace_cb on_trace;
  s3lect_event_cb on_value;
  s3l_transfer_t* transfer;   /* the last one; NULL: there was none */
  s3l_granted_t* granted;     /* the last one; NULL: there was none */
  char* candidacy;            /* of the probe under way; NULL: none */
  s3l_value_t* value;         /* that is published; NULL: none */
  s3l_value_t* value_waiting; /* that will be; NULL: the same */
} s3l_extras_t;

/** The extras, which are allocated with the first call; NULL if there is no memory. */
s3l_extras_t* s3l_extras_get(s3l_extras_t** extras);

/** Frees them with all that they hold. `extras` may be NULL. */
void s3l_extras_free(s3l_extras_t* extras);

#endif
