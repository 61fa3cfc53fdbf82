/* inspect/list.h: the options of a list, which an audit of a store takes, too. */
#ifndef S3L_INSPECT_LIST_H
#define S3L_INSPECT_LIST_H

#include "s3lect/list.h"

/** Copies and checks options, and sets the defaults. Returns 0, or what s3lect_list_init returns.
 */
int s3l_list_options(const s3lect_list_options_t* given, s3lect_list_options_t* out,
                     s3lect_error_t* error);

#endif
