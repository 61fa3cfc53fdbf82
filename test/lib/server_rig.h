/* What the tests of the HTTP server share: a loop, a server whose owner answers by path, and raw
 * clients that send what they like, plain or under TLS.
 *
 * Paths: "/" is answered with "hello", "/hold" is held (or refused with 503 where that cannot be),
 * "/big" gives S3L_RIG_BIG bytes, "/header" a header with a line end in it, all others 404. Methods
 * other than GET and HEAD: 405. */
#ifndef S3L_TEST_SERVER_RIG_H
#define S3L_TEST_SERVER_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "http/server.h"
#include "net/deadlines.h"
#include "net/dial.h"
#include "net/stream.h"
#include "net/tls_context.h"

#define S3L_RIG_BIG      (8u << 20) /* more than the kernel buffers */
#define S3L_RIG_HELD_MAX 2048

typedef struct s3l_server_rig_s s3l_server_rig_t;

struct s3l_server_rig_s {
  uv_loop_t loop;
  s3l_deadlines_t deadlines;         /* of the raw clients */
  s3l_http_server_t* server;         /* NULL: closed */
  s3l_http_server_options_t options; /* to be changed before start; times are long */
  void (*before)(s3l_server_rig_t* rig, s3l_http_exchange_t* ex); /* called first in on_request */
  unsigned requests;
  unsigned gone;
  unsigned closed;
  char path[256];        /* of the last request */
  char client_name[256]; /* "" for none */
  bool verified;
  s3l_http_exchange_t* held[S3L_RIG_HELD_MAX]; /* the oldest first */
  size_t held_len;
  bool in_call; /* set around the API's calls: no callback may run then */
  char* big;
};

/** Prepares a rig with long times. */
void s3l_server_rig_init(s3l_server_rig_t* rig);
void s3l_server_rig_start(s3l_server_rig_t* rig);

/** Answers the exchange that has been held for longest, with 200 and `body`. */
void s3l_server_rig_answer(s3l_server_rig_t* rig, const char* body);

/** Begins to close. */
void s3l_server_rig_close(s3l_server_rig_t* rig, uint32_t grace_ms);

s3l_http_server_stats_t s3l_server_rig_stats(const s3l_server_rig_t* rig);

/** Runs the loop until *counter reaches n. */
void s3l_server_rig_wait(s3l_server_rig_t* rig, const unsigned* counter, unsigned n);

/** Runs the loop until that many are held, or connected. */
void s3l_server_rig_wait_held(s3l_server_rig_t* rig, size_t n);
void s3l_server_rig_wait_connections(s3l_server_rig_t* rig, size_t n);

/** Closes what is open, runs the loop to its end, and asserts that nothing is left. */
void s3l_server_rig_end(s3l_server_rig_t* rig);

/** A client. All zero before open. */
typedef struct s3l_caller_s {
  s3l_server_rig_t* rig;
  s3l_dial_t dial;
  s3l_stream_t stream;
  s3l_tls_context_t* tls; /* NULL: plain; set before open, the caller's */
  unsigned ready;         /* connected, and shaken hands */
  unsigned ended;
  unsigned closed;
  int status; /* of the end */
  bool open;
  bool deaf; /* does not read; set before open */
  size_t received;
  char text[65536]; /* what was received, as far as it fits, with a NUL */
} s3l_caller_t;

s3l_caller_t* s3l_caller_new(s3l_server_rig_t* rig, s3l_tls_context_t* tls);

/** Connects, and waits until it is ready or has ended. */
void s3l_caller_open(s3l_caller_t* raw);

/** Does not wait. */
void s3l_caller_begin(s3l_caller_t* raw);

void s3l_caller_send(s3l_caller_t* raw, const char* text);
void s3l_caller_send_bytes(s3l_caller_t* raw, const char* data, size_t n);

/** Waits until `want` has come since the last s3l_caller_forget, or fails the test. */
void s3l_caller_expect(s3l_caller_t* raw, const char* want);
void s3l_caller_forget(s3l_caller_t* raw);

/** Waits for the server's end of the connection. */
void s3l_caller_expect_end(s3l_caller_t* raw);

/** Sends and expects; then the end, if `end`. */
void s3l_caller_talk(s3l_caller_t* raw, const char* text, const char* want, bool end);

/** In good order, and with a TCP reset; waits until it is closed. */
void s3l_caller_close(s3l_caller_t* raw);
void s3l_caller_reset(s3l_caller_t* raw);

/** Closes what is open, and frees it. */
void s3l_caller_free(s3l_caller_t* raw);

#endif
