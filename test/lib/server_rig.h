/* Shared by the tests of the HTTP server: a loop, a server whose owner answers by path, and raw
 * clients that send any bytes, plain or over TLS.
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
#include "lib/caller.h"
#include "net/tls_context.h"

#define S3L_RIG_BIG      (8u << 20) /* more than the kernel buffers */
#define S3L_RIG_HELD_MAX 2048

typedef struct s3l_server_rig_s s3l_server_rig_t;

struct s3l_server_rig_s {
  uv_loop_t loop;
  s3l_http_server_t* server;         /* NULL: closed */
  s3l_http_server_options_t options; /* to be changed before start; times are long */
  void (*before)(s3l_server_rig_t* rig, s3l_http_exchange_t* ex); /* called first in on_request */
  unsigned requests;
  unsigned gone;
  unsigned closed;
  char path[256]; /* of the last request */
  bool client_is_localhost;
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

/** A raw client of this server. */
s3l_caller_t* s3l_caller_new(s3l_server_rig_t* rig, s3l_tls_context_t* tls);

#endif
