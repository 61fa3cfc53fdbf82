/* A TCP or TLS server that plays scripts, on the test's loop. Connection number i plays script
 * number i; further connections play the last script. A script is an array of steps that ends with
 * S3L_SCRIPT_END; then the connection stays open until the peer closes it. */
#ifndef S3L_TEST_SCRIPT_SERVER_H
#define S3L_TEST_SCRIPT_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "lib/test_server.h"
#include "net/tls_context.h"

typedef enum {
  S3L_STEP_END,
  S3L_STEP_EXPECT, /* wait for the text; drop all bytes up to its end */
  S3L_STEP_SEND,   /* in pieces of n bytes, one per turn of the loop; 0: all at once */
  S3L_STEP_CLOSE,  /* in good order */
  S3L_STEP_CUT,    /* TLS: without close_notify */
  S3L_STEP_RESET,  /* with a TCP reset */
  S3L_STEP_DEAF,   /* stop reading; the connection stays */
  S3L_STEP_CALL    /* call the server's on_call, and go on */
} s3l_step_op_t;

typedef struct s3l_step_s {
  s3l_step_op_t op;
  const char* text;
  size_t len; /* of text; 0: strlen */
  size_t n;
} s3l_step_t;

#define S3L_EXPECT(t)                                                                              \
  { .op = S3L_STEP_EXPECT, .text = (t) }
#define S3L_SEND(t)                                                                                \
  { .op = S3L_STEP_SEND, .text = (t) }
#define S3L_SPLIT(t, k)                                                                            \
  { .op = S3L_STEP_SEND, .text = (t), .n = (k) }
#define S3L_BYTES(t, l)                                                                            \
  { .op = S3L_STEP_SEND, .text = (t), .len = (l) }
#define S3L_CLOSE                                                                                  \
  { .op = S3L_STEP_CLOSE }
#define S3L_CUT                                                                                    \
  { .op = S3L_STEP_CUT }
#define S3L_RESET                                                                                  \
  { .op = S3L_STEP_RESET }
#define S3L_DEAF                                                                                   \
  { .op = S3L_STEP_DEAF }
#define S3L_CALL                                                                                   \
  { .op = S3L_STEP_CALL }
#define S3L_SCRIPT_END                                                                             \
  { .op = S3L_STEP_END }

/* One script, and the scripts of a server, as arrays that live as long as the block they are in. */
#define S3L_SCRIPT(...)  ((const s3l_step_t[]){__VA_ARGS__, S3L_SCRIPT_END})
#define S3L_SCRIPTS(...) ((const s3l_step_t* const[]){__VA_ARGS__})

typedef struct s3l_script_server_s s3l_script_server_t;
struct s3l_script_server_s {
  /* Set before start. */
  const char* ip;         /* NULL: 127.0.0.1 */
  s3l_tls_context_t* tls; /* NULL: plain */
  const s3l_step_t* const* scripts;
  size_t scripts_len;
  void (*on_call)(s3l_script_server_t* server);
  void* data;
  bool unref; /* nothing of the server keeps the loop alive */

  /* To be read. */
  uint16_t port;
  unsigned accepted;
  unsigned resumed;  /* TLS handshakes that resumed a session */
  unsigned ended;    /* connections that the peer ended in any way */
  unsigned failures; /* connections that ended while a step waited for text */
  unsigned strays;   /* bytes received that no step expected, seen at the end of connections */

  s3l_test_server_t tcp;
};

/** Listens on a free port, or on `port` if that is not 0. Asserts (cmocka) that it works. */
void s3l_script_server_start(s3l_script_server_t* server, uv_loop_t* loop);

/** Closes everything, if it was started; run the loop afterwards. */
void s3l_script_server_close(s3l_script_server_t* server);

#endif
