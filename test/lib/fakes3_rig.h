/* The fake S3 and a raw client on one loop. The library signs requests, which a test can change
 * before they are sent; the rig itself parses the replies, so that a test can inspect broken ones.
 *
 * The server can also be Azure Blob Storage or Google Cloud Storage. Then the rig writes the
 * requests itself, with the bearer token S3L_RIG_TOKEN. */
#ifndef S3L_TEST_FAKES3_RIG_H
#define S3L_TEST_FAKES3_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "fakes3/fakes3.h"
#include "lib/test_server.h"
#include "wire/s3_request.h"

#define S3L_RAW_MAX   (64 * 1024)
#define S3L_RIG_TOKEN "rig-token"

/* A connection. */
typedef struct s3l_raw_s {
  s3l_test_server_t net; /* does not listen; has this connection only */
  s3l_test_conn_t* conn; /* NULL: closed */
  int ended;             /* 0: not yet; else UV_EOF, UV_ECONNRESET ... */
  size_t n;
  char in[S3L_RAW_MAX + 1]; /* bytes that were received and not taken yet, with a NUL */
} s3l_raw_t;

typedef struct s3l_raw_reply_s {
  int status;
  char head[4096];
  char body[S3L_RAW_MAX];
} s3l_raw_reply_t;

/* What is to be signed; all zero is a GET of an empty key. */
typedef struct s3l_fakes3_request_s {
  s3l_s3_op_t op;
  const char* bucket; /* NULL: "bucket" */
  const char* key;
  const char* if_match;
  const char* if_none_match;
  const char* body;
  const char* after; /* the marker, of Azure */
  uint32_t max_keys; /* 0: 1000 */
  const char* host;  /* NULL: the server's address */
  const char* access_key;
  const char* secret;
  const char* token;
  const char* region;
  const char* user_agent;
  int64_t skew_ms;
  bool express; /* for a directory bucket */
} s3l_fakes3_request_t;

typedef struct s3l_fakes3_s {
  uv_loop_t loop;
  const char* protocol; /* as the server's option; may be set before the rig is opened */
  int written;          /* the status of a PUT that took effect, */
  int deleted;          /* and of a DELETE */
  fakes3_t* server;
  s3l_signer_t signer;
  s3l_raw_t raw; /* the connection used by s3l_fakes3_do */
  s3l_raw_reply_t reply;
  char bytes[S3L_RAW_MAX];
  size_t bytes_n;
} s3l_fakes3_rig_t;

extern s3l_fakes3_rig_t rig; /* which all functions here use */

/* Options that name no protocol are for rig.protocol. */
void s3l_fakes3_open(const fakes3_options_t* options);
void s3l_fakes3_close(void);

/* Set-up, with all options zero, and tear-down of a test. */
int s3l_open_rig(void** state);
int s3l_close_rig(void** state);

/* Signs into rig.bytes. */
void s3l_fakes3_sign(const s3l_fakes3_request_t* request);
#define S3L_SIGN(...) s3l_fakes3_sign(&(s3l_fakes3_request_t){__VA_ARGS__})

/* Replaces text in rig.bytes; fails the test if it is not there. */
void s3l_fakes3_bend(const char* from, const char* to);

/* Sends rig.bytes over rig.raw, connecting first where that is not open, and waits. The reply's
 * status, or a negative code if the connection ended before a whole one came. */
int s3l_fakes3_exchange(bool head);

int s3l_fakes3_do(const s3l_fakes3_request_t* request);
#define S3L_DO(...) s3l_fakes3_do(&(s3l_fakes3_request_t){__VA_ARGS__})

/* Unsigned, over a connection of its own. */
int s3l_fakes3_control(const char* method, const char* path, const char* body);

/* A rule, and its number; fails the test if it is refused. */
int s3l_fakes3_fault(const char* json);

/* Asserts a reply's status and the code of its error; NULL: it has none. */
void s3l_said(int status, int wanted, const char* code);
/* The same, and that the request had no effect. */
void s3l_refused(int status, int wanted, const char* code);

/* The newest entry of the log, of any server and of the rig's. */
const fakes3_entry_t* s3l_fakes3_newest(const fakes3_t* server);
const fakes3_entry_t* s3l_fakes3_last(void);

/* ---- Connections of their own ---- */

/* Waits for the server to accept, too: what is sent then arrives before the loop's next timer. */
int s3l_raw_connect(s3l_raw_t* raw);
void s3l_raw_send(s3l_raw_t* raw, const char* p, size_t n);
/* Connects, and sends rig.bytes. */
void s3l_raw_start(s3l_raw_t* raw);
/* As s3l_fakes3_exchange returns it. */
int s3l_raw_reply(s3l_raw_t* raw, bool head);
/* Runs the loop until the server has ended the connection; how it did. */
int s3l_raw_wait_end(s3l_raw_t* raw);
void s3l_raw_close(s3l_raw_t* raw);

/* The value of a header of the reply, or NULL; lives until the next call. */
const char* s3l_raw_header(const char* name);

/* The text of an XML element of its body, likewise. */
const char* s3l_raw_tag(const char* name);

#endif
