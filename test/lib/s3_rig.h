/* test/lib/s3_rig.h: a store with one connection, to a server that plays scripts: an S3 store, or
 * one that the test opens. */
#ifndef TEST_LIB_S3_RIG_H
#define TEST_LIB_S3_RIG_H

#include "lib/script_server.h"
#include "lib/store_suite.h"

#define S3_ETAG   "\"0123456789abcdef0123456789abcdef\""
#define S3_BODY   "{\"epoch\":1}"
#define S3_PUT_OK "HTTP/1.1 200 OK\r\nETag: " S3_ETAG "\r\nContent-Length: 0\r\n\r\n"
#define S3_GET_OK "HTTP/1.1 200 OK\r\nETag: " S3_ETAG "\r\nContent-Length: 4\r\n\r\nbody"

typedef struct s3_rig_s {
  uv_loop_t loop;
  s3l_script_server_t server;
  char url[64]; /* of the server */
  s3lect_store_t store;
  s3l_store_suite_t suite;
  s3l_suite_req_t r;
} s3_rig_t;

/** Options for a store on 127.0.0.1; `endpoint` gets its URL, and must outlive them. */
s3lect_store_s3_options_t s3_rig_options(char* endpoint, size_t cap, uint16_t port);

/** Starts the server; the test opens rig->store on rig->loop. */
s3_rig_t* s3_rig_new(const s3l_step_t* const* scripts, size_t n);

/** Starts the server and opens an S3 store; `adjust` (may be NULL) can change the store's options.
 */
s3_rig_t* s3_rig_open(const s3l_step_t* const* scripts, size_t n,
                      void (*adjust)(s3lect_store_s3_options_t* options));

/** Closes all; the test fails if a script still waited for something, or did not wait for what it
 * got. */
void s3_rig_close(s3_rig_t* rig);
/** Closes all wherever the scripts are. */
void s3_rig_cut(s3_rig_t* rig);

/* Scripts, and their number, as two arguments. */
#define S3_RIG_SCRIPTS(...)                                                                        \
  S3L_SCRIPTS(__VA_ARGS__), sizeof(S3L_SCRIPTS(__VA_ARGS__)) / sizeof(*S3L_SCRIPTS(__VA_ARGS__))

#define S3_RIG_WITH(adjust, ...) s3_rig_open(S3_RIG_SCRIPTS(__VA_ARGS__), adjust)
#define S3_RIG(...)              S3_RIG_WITH(NULL, __VA_ARGS__)

/** Reads the object leases/k, or writes S3_BODY to it, under S3_ETAG where the condition wants one.
 */
const s3lect_store_result_t* s3_rig_get(s3_rig_t* rig, const char* unless);
const s3lect_store_result_t* s3_rig_put(s3_rig_t* rig, uint32_t condition, uint32_t flags);
void s3_rig_prepare_put(s3_rig_t* rig, uint32_t condition, uint32_t flags);

void s3_assert_result(const s3lect_store_result_t* r, int status, int outcome, int http);

/** Asserts that a message begins with what the store said; advice may follow. */
void s3_assert_says(const char* message, const char* said);

#endif
