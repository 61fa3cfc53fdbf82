/* Candidates in peer mode as processes of the command (lib/s3proc.h), with TLS and client
 * certificates, and what the fake S3 saw of them. */
#ifndef S3L_TEST_PEER_PROC_H
#define S3L_TEST_PEER_PROC_H

#include "lib/certs.h"
#include "lib/s3proc.h"

/* Lines that tell of events. */
#define S3L_STARTED "\"event\":\"started_leading\""
#define S3L_STOPPED "\"event\":\"stopped_leading\""
#define S3L_RENEWED "\"event\":\"renewed\""
#define S3L_NEW     "\"event\":\"new_leader\""

/** A candidate that asks and answers over TLS, with an option of its own (or NULL). */
proc_t* s3l_peerproc_elect(s3proc_t* s3, const s3l_certs_t* certs, const char* id,
                           const char* option, const char* value);

/** What a URL shows; "" where nothing is answered. Static memory. */
const char* s3l_peerproc_fetch(s3proc_t* s3, const s3l_certs_t* certs, const char* url);

typedef struct s3l_requests_s {
  unsigned all, gets, puts, lists;
} s3l_requests_t;

/** The requests that the fake has seen since number *since, which becomes that of its newest. Not
 * for more than a few hundred of them. */
s3l_requests_t s3l_peerproc_requests(s3proc_t* s3, const s3l_certs_t* certs, unsigned long* since);

/** a leads, b and c follow, and ask it: the store sees nothing but renewals any more. */
void s3l_peerproc_settle(s3proc_t* s3, const s3l_certs_t* certs, proc_t* p[3]);

#endif
