/* core/record.h: the body of a lockfile or of an epoch file, read and written.
 *
 * Format: one JSON object; the Go package's three fields first, then those of this library (design
 * section 4). Each written body is unique, because incarnation and write number never repeat
 * together: a store whose ETag is a hash of the body gives every write another ETag. A body that is
 * read may come from any writer: keys in any order and letter case are accepted, unknown keys are
 * ignored, and everything else is refused. */
#ifndef S3L_CORE_RECORD_H
#define S3L_CORE_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "s3lect/record.h"
#include "util/json.h"
#include "util/span.h"

/* Longest interval or validity that a record, an answer or an option may give: four weeks. */
#define S3L_DURATION_MS_MAX UINT64_C(2419200000)
/* Longest leader timeout of a record or an option: a day. An elector that has observed a record
 * waits that long even after the record was deleted. A record with a longer one is damaged. */
#define S3L_LEADER_TIMEOUT_MS_MAX UINT64_C(86400000)
/* Highest numbers of a record. At this epoch no elector takes over, because there is no next one.
 * The count of transitions stops at its highest number. */
#define S3L_EPOCH_MAX       (UINT64_MAX >> 1)
#define S3L_TRANSITIONS_MAX (UINT64_MAX - 1)

#define S3L_RECORD_BODY_MAX 65536 /* a larger object is not read */

/** Go's zero time, which marks a released record. */
#define S3L_RECORD_RELEASED "0001-01-01T00:00:00Z"

/** Whether a record that counts transitions is a provisional claim: written by this library (it has
 * an incarnation), and no leadership counted. */
bool s3l_record_is_claim(const s3lect_record_t* record);

/** What is wrong with a body: the name of a field that is missing, of a wrong type or out of range,
 * or a fault of the whole. Static; NULL if nothing is wrong. */
const char* s3l_record_fault(s3l_span_t body, bool is_file);

/** 0, S3LECT_ERECORD or S3LECT_ETOOBIG; *record is all zero on error. */
int s3l_record_parse(s3l_span_t body, s3lect_record_t* record);
/** The same, from the root of parsed JSON, which may have more members. */
int s3l_record_read(const s3l_json_t* json, s3lect_record_t* record);

/** Writes the body, without a terminating NUL. Returns its length; 0 if it does not fit. */
size_t s3l_record_encode(const s3lect_record_t* record, char* buf, size_t cap);

/** The same for the body of epoch file `number`. The number becomes the epoch, whatever the body
 * says; leader_timeout_ms is the larger of its own field and `validity_ms`. The plain form of other
 * implementations has only `validity_ms` and `expired`. */
int s3l_record_parse_file(s3l_span_t body, uint64_t number, s3lect_record_t* record);
size_t s3l_record_encode_file(const s3lect_record_t* record, char* buf, size_t cap);

/** Bytes that are enough for any record with these names. `successor` is "" except for the release
 * of a transfer. */
size_t s3l_record_encode_max(const char* leader_id, const char* leader_addr, const char* successor);
/** Bytes that a value adds to these. */
size_t s3l_record_value_max(const char* value);
#define S3L_RECORD_FILE_MORE 44 /* added to these for an epoch file */

#endif
