/* s3lect/record.h: the content of the lockfile.
 *
 * The first three fields are those of the Go package S3lect. The other fields are 0 or empty in a
 * record that a Go process wrote. */
#ifndef S3LECT_RECORD_H
#define S3LECT_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "s3lect/errno.h"
#include "s3lect/export.h"

#ifdef __cplusplus
extern "C" {
#endif

#define S3LECT_ID_SIZE          256  /* server ID with its NUL: a longer one is refused */
#define S3LECT_ADDR_SIZE        264  /* server address with its NUL */
#define S3LECT_INCARNATION_SIZE 33   /* 32 hex digits and a NUL */
#define S3LECT_VALUE_SIZE       1025 /* the leader's value with its NUL: 1 KiB of UTF-8 */
#define S3LECT_ETAG_SIZE        128  /* an object's ETag with its NUL: a longer one is refused */

/** A record. Fixed size: it holds no pointers and may be copied. */
typedef struct s3lect_record_s {
  char leader_id[S3LECT_ID_SIZE];
  char leader_addr[S3LECT_ADDR_SIZE];
  int64_t last_updated_ms; /* Unix time by the writer's wall clock, for display */
  uint64_t epoch;          /* the fencing token; 0: the writer keeps none */
  char incarnation[S3LECT_INCARNATION_SIZE];
  uint64_t write;             /* number of the write within the incarnation */
  uint32_t leader_timeout_ms; /* 0: not given */
  uint32_t renew_interval_ms; /* 0: not given */
  int64_t acquired_ms;        /* Unix time; 0: not given */
  uint64_t transitions; /* leaderships so far in this election, this one included; 0: not given */
  int32_t released;     /* 1: the leader released it (lastUpdated is Go's zero time) */
  char successor[S3LECT_ID_SIZE]; /* released: the elector that may take over first, or "" */
  int32_t claim; /* 1: a provisional claim, written where no leader could be identified. It is not a
                    leadership, and is replaced after a leader timeout */
  char value[S3LECT_VALUE_SIZE]; /* what the leader publishes (s3lect_elector_set_value), or "": a
                                    release and a claim have none. "" also if it is no text of at
                                    most 1 KiB in the body: that does not invalidate the record */
} s3lect_record_t;

/** Reads a lockfile's body: keys in any order and letter case, unknown ones ignored.
 * Errors: S3LECT_ERECORD (not one JSON object, a field of a wrong type or out of range, no leader
 * and not released), S3LECT_ETOOBIG (over 64 KiB). */
S3LECT_EXTERN int s3lect_record_parse(const char* body, size_t body_len, s3lect_record_t* record);

/** Reads the body of the epoch file with the number `epoch`, which becomes the record's epoch.
 * Accepts the form of S3LECT_PROTOCOL_EPOCHS and the plain form of other implementations,
 * {"validity_ms":60000,"expired":false}; `validity_ms` becomes leader_timeout_ms. Errors: as
 * s3lect_record_parse. */
S3LECT_EXTERN int s3lect_epoch_file_parse(const char* body, size_t body_len, uint64_t epoch,
                                          s3lect_record_t* record);

/** Returns the number in the key of an epoch file, in an election whose keys begin with `prefix`; 0
 * if the key is not that of an epoch file. */
S3LECT_EXTERN uint64_t s3lect_epoch_file_number(const char* prefix, const char* key);

#ifdef __cplusplus
}
#endif

#endif
