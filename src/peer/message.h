/* peer/message.h: what peers say to each other, as bytes.
 *
 * A leader's answer is its record as the lockfile has it (core/record.h), with two members more:
 *   etag        the ETag of the write that it describes
 *   validForMs  how long the leader may lead still, in ms by its own clock, rounded up: when that
 * is over it has stopped, unless it has renewed under another ETag The Go package's answers have
 * neither, and "lastUpdated" of the moment of the answer.
 *
 * A question may say in a header field what its sender would lead by (core/grant.h): a record, with
 * one member more:
 *   priority    of the candidate, for who is to choose */
#ifndef S3L_PEER_MESSAGE_H
#define S3L_PEER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"
#include "s3lect/record.h"
#include "util/span.h"
#include "wire/http1.h"

/* A longer answer is no answer of ours or of the Go package. */
#define S3L_PEER_ANSWER_MAX 16384

/* Longest path at which an election is asked for. */
#define S3L_PEER_PATH_MAX 1024

/** Whether it begins with '/' and holds only what a URL may, no fragment. */
bool s3l_peer_is_path(const char* path);

/** Splits an address as the record gives it: anything but host and port is refused. Without a port
 * that of https or http. */
bool s3l_peer_address_parse(const char* addr, bool tls, char* host, size_t cap, uint16_t* port);

typedef struct s3l_peer_answer_s {
  s3lect_record_t record;
  char etag[S3LECT_ETAG_SIZE]; /* "": not given */
  int64_t valid_for_ms;        /* -1: not given */
} s3l_peer_answer_t;

/** Writes an answer, without a terminating NUL. Returns its length; 0 if it does not fit. */
size_t s3l_peer_answer_encode(const s3lect_record_t* record, const char* etag,
                              uint64_t valid_for_ms, char* buf, size_t cap);

/** Errors: S3LECT_ERECORD (no record, a released one, one without a leader, members of a wrong type
 * or out of range), S3LECT_ETOOBIG. */
int s3l_peer_answer_parse(s3l_span_t body, s3l_peer_answer_t* answer);

typedef struct s3l_peer_candidacy_s {
  s3lect_record_t record; /* released: it is withdrawn */
  uint8_t priority;       /* 1 to S3L_PRIORITY_MAX */
} s3l_peer_candidacy_t;

#define S3L_PEER_CANDIDACY_MORE 16 /* bytes that it takes beyond the record's */

/** Writes what a question says of its sender's candidacy, with a terminating NUL: one line, which
 * may stand in a header field, since every control character is escaped. Returns its length; 0 if
 * it does not fit. */
size_t s3l_peer_candidacy_encode(const s3lect_record_t* record, unsigned priority, char* buf,
                                 size_t cap);

/** Whether a request says one, and what. */
bool s3l_peer_candidacy_find(const s3l_http_header_t* headers, size_t len, s3l_span_t* out);
/** Reads it: the record of somebody who has an incarnation and counts his writes. */
bool s3l_peer_candidacy_parse(s3l_span_t text, s3l_peer_candidacy_t* out);

/** Writes a request for `path`. `wait_ms` below a second: without waiting. `candidacy` NULL: none
 * is said. Returns its length; 0 if it does not fit. `host` is what the Host header says. */
size_t s3l_peer_request_encode(const char* host, const char* path, uint32_t wait_ms,
                               const char* candidacy, char* buf, size_t cap);

/** What the Prefer fields (RFC 7240) of a request ask for: seconds to wait, 0 if nothing; too long
 * a wait is cut to S3L_PEER_WAIT_MAX_S. */
uint32_t s3l_peer_prefer_wait(const s3l_http_header_t* headers, size_t len);

/** Whether the Preference-Applied fields (RFC 7240) of a reply say that a wait was granted. */
bool s3l_peer_wait_applied(const s3l_http_header_t* headers, size_t len);

#endif
