/* A fake S3 and an S3 store that uses it, on one loop, for the tests of that store. One at a time.
 */
#ifndef S3L_TEST_FAKES3_STORE_H
#define S3L_TEST_FAKES3_STORE_H

#include <uv.h>

#include "fakes3/fakes3.h"
#include "lib/store_suite.h"

extern uv_loop_t loop;
extern fakes3_t* server;
extern s3lect_store_t store;
extern s3l_store_suite_t suite; /* on the store */

/** Begins the loop with the server on it; ends both. */
void start_server(const fakes3_options_t* options);
void stop_server(void);

/** Options of a store on the server, with good keys. */
s3lect_store_s3_options_t server_options(const char* bucket, const char* region);

/** Opens the store, and prepares the suite; closes it. */
void open_store(const s3lect_store_s3_options_t* options);
void close_store(void);

/** Prepares the suite for a store of another kind, which the test has opened as `store`. */
void use_store(void);

/** Tear-down of a group on the suite: removes what is left of it, and ends store and server. */
int end_suite(void** state);

/** One write and one read by the store: each is refused with this status, and with that in its
 * message. Then closes the store. */
void both_refused(int status, const char* says);

/** Begins the loop with a server that has a certificate of its own; returns the file of its
 * authority, which stop_tls_server removes with the server. */
const char* start_tls_server(const fakes3_options_t* options);
void stop_tls_server(void);

/** A server with a certificate of its own, and a store that trusts its authority; ends them. */
void open_tls_store(const char* bucket, const char* region);
void close_tls_store(void);

#endif
