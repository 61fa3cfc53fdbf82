/* A raw client of a server under test, on the test's loop. It sends any bytes, plain or over TLS,
 * and keeps the replies. */
#ifndef S3L_TEST_CALLER_H
#define S3L_TEST_CALLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "loop/loop.h"
#include "net/dial.h"
#include "net/stream.h"
#include "net/tls_context.h"

/** A client. All zero before open. */
typedef struct s3l_caller_s {
  uv_loop_t* loop;
  s3l_loop_t* runtime;
  uint16_t port; /* on 127.0.0.1 */
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
  char text[65536]; /* received bytes, as many as fit, with a NUL */
} s3l_caller_t;

s3l_caller_t* s3l_caller_make(uv_loop_t* loop, uint16_t port, s3l_tls_context_t* tls);

/** Connects, and waits until it is ready or has ended. */
void s3l_caller_open(s3l_caller_t* raw);

/** Does not wait. */
void s3l_caller_begin(s3l_caller_t* raw);

void s3l_caller_send(s3l_caller_t* raw, const char* text);
void s3l_caller_send_bytes(s3l_caller_t* raw, const char* data, size_t n);

/** Waits until `want` has been received since the last s3l_caller_forget; fails the test if the
 * connection ends before. */
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
