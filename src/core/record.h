/* core/record.h: the lockfile's body, read and written.
 *
 * Format: one JSON object; the Go package's three fields first, then ours (design section 4). What
 * is written is unique: incarnation and write number never repeat together, so that stores whose
 * ETag is a hash of the body give every write another one. What is read comes from anybody: any
 * order and letter case of keys, unknown keys ignored, everything else refused rather than guessed
 * at. */
#ifndef S3L_CORE_RECORD_H
#define S3L_CORE_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "s3lect/record.h"
#include "util/span.h"

/* Longest interval or promise that a record or an option may give: four weeks. */
#define S3L_DURATION_MS_MAX UINT64_C(2419200000)
/* Longest leader timeout of a record or an option, a day: whoever has seen a record waits for as
 * long, also when that has been deleted. A record with a longer one is damage. */
#define S3L_LEADER_TIMEOUT_MS_MAX UINT64_C(86400000)
/* Highest numbers of a record. At this epoch nobody takes over: there is no next one. The count of
 * transitions stays where it is. */
#define S3L_EPOCH_MAX       (UINT64_MAX >> 1)
#define S3L_TRANSITIONS_MAX (UINT64_MAX - 1)

#define S3L_RECORD_BODY_MAX 65536 /* a larger lockfile is not read */

/** Go's zero time, which marks a released record. */
#define S3L_RECORD_RELEASED "0001-01-01T00:00:00Z"

/** Whether a record that counts transitions is a provisional claim: one of this library's (they
 * have an incarnation) that counts no leadership yet. */
bool s3l_record_is_claim(const s3lect_record_t* record);

/** What is wrong with a body: the name of a field that is missing, of a wrong type or out of range,
 * or what concerns the whole. Static; NULL if nothing is. */
const char* s3l_record_fault(s3l_span_t body, bool is_file);

/** 0, S3LECT_ERECORD or S3LECT_ETOOBIG; *record is all zero on error. */
int s3l_record_parse(s3l_span_t body, s3lect_record_t* record);

/** Writes the body, without a terminating NUL. Returns its length; 0 if it does not fit. */
size_t s3l_record_encode(const s3lect_record_t* record, char* buf, size_t cap);

/** The same for the body of the epoch file of that number. The epoch is the number, whatever the
 * body says; `validity_ms` goes into leader_timeout_ms, the larger of both. In the plain form of
 * other implementations nothing but that and `expired` is given. */
int s3l_record_parse_file(s3l_span_t body, uint64_t number, s3lect_record_t* record);
size_t s3l_record_encode_file(const s3lect_record_t* record, char* buf, size_t cap);

/** Bytes that suffice for any record of these names; `successor` "" for all but the release of a
 * transfer. */
size_t s3l_record_encode_max(const char* leader_id, const char* leader_addr, const char* successor);
#define S3L_RECORD_FILE_MORE 44 /* and these besides, of an epoch file */

#endif
