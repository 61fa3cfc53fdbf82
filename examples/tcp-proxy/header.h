/* header: what goes before the bytes of a connection: the PROXY protocol's header, version 2
 * (haproxy.org/download/3.0/doc/proxy-protocol.txt), with two records (TLVs) of the range that is
 * set aside for applications:
 *
 *   0xE3  the epoch of the leadership, 8 bytes, most significant first. A backend that reads the
 *         header can refuse an epoch smaller than the largest it has seen: fencing.
 *   0xE4  one byte, 1: "from a proxy like you". On every connection between two proxies, and on no
 *         other.
 *
 * Between proxies the header is answered, before anything else is sent, with ANSWER_SIZE bytes: who
 * connects learns whether it has met the leader while it still holds all that its client sent. The
 * command LOCAL in place of PROXY only asks. */
#ifndef TCP_PROXY_HEADER_H
#define TCP_PROXY_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"

#define HEADER_PREFIX_SIZE 16  /* as much tells how long the header is */
#define HEADER_MAX         536 /* a longer one is refused */
#define ANSWER_SIZE        16

typedef struct header_s {
  bool asks;                  /* LOCAL: no connection is passed on, only the answer is wanted */
  bool from_peer;             /* the record 0xE4 is there */
  uint64_t epoch;             /* 0: not there */
  addr_t source, destination; /* of the client's connection; len 0: not told */
} header_t;

/** Writes a header; returns its length. */
size_t header_write(const header_t* header, uint8_t out[HEADER_MAX]);
/** The length of the header that begins so, with HEADER_PREFIX_SIZE bytes; 0: it is none. */
size_t header_length(const uint8_t* prefix);
/** Reads one of that length. False: it is broken. */
bool header_read(const uint8_t* bytes, size_t len, header_t* header);
typedef enum {
  FIRST_BYTES_PASS,  /* they are no header, or not another proxy's */
  FIRST_BYTES_MORE,  /* as many do not tell */
  FIRST_BYTES_PEERS, /* another proxy's header */
} first_bytes_t;

/** What the first bytes of a client are. */
first_bytes_t header_look(const uint8_t* bytes, size_t len);

typedef enum {
  ANSWER_LEADS = 1, /* and has a backend: what follows is the connection */
  ANSWER_NOT_LEADER = 2,
  ANSWER_NO_BACKEND = 3,
} answer_status_t;

typedef struct answer_s {
  answer_status_t status;
  uint64_t epoch;
} answer_t;

void answer_write(const answer_t* answer, uint8_t out[ANSWER_SIZE]);
bool answer_read(const uint8_t in[ANSWER_SIZE], answer_t* answer);

#endif
