/* wire/store_table.h: the words of a table of replies, such as s3_errors.h; for the file that makes
 * the rows, which includes store_reply.h. */
#ifndef S3L_WIRE_STORE_TABLE_H
#define S3L_WIRE_STORE_TABLE_H

#include "s3lect/errno.h"

#define GETS     (1u << S3L_OP_GET | 1u << S3L_OP_HEAD)
#define LISTS    (1u << S3L_OP_LIST)
#define PUTS     (1u << S3L_OP_PUT)
#define DELETES  (1u << S3L_OP_DELETE)
#define SESSIONS (1u << S3L_OP_SESSION)
#define OBJECTS  GETS
#define READS    (GETS | LISTS | SESSIONS)
#define WRITES   (PUTS | DELETES)
#define ANY      (READS | WRITES)

enum { S3LECT_OK = 0 };

#define S3L_STORE_ROW(first, last, code, ops, status, outcome, recovery, advice)                   \
  {first, last, ops, S3LECT_##outcome, S3L_RECOVER_##recovery, S3LECT_##status, code, advice},

#endif
