/* A peer client, a scripted leader, and probes that record their results, on one loop. */
#ifndef S3L_TEST_ASK_RIG_H
#define S3L_TEST_ASK_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "lib/script_server.h"
#include "peer/client.h"

#define S3L_ASK_PATH "/health/leadership"

/* Replies of leaders. */
#define S3L_ASK_BODY                                                                               \
  "{\"leaderID\":\"a\",\"leaderAddr\":\"x:1\",\"lastUpdated\":\"2024-10-27T10:30:45Z\",\"epoch\":" \
  "7,\"etag\":\"\\\"e\\\"\",\"validForMs\":9000}"
#define S3L_ASK_HELD                                                                               \
  "HTTP/1.1 200 OK\r\nPreference-Applied: wait\r\nContent-Length: 115\r\n\r\n" S3L_ASK_BODY
#define S3L_ASK_PLAIN "HTTP/1.1 200 OK\r\nContent-Length: 115\r\n\r\n" S3L_ASK_BODY
#define S3L_ASK_404   "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"

/* All zero before begin, but for config. */
typedef struct s3l_asks_s {
  uv_loop_t loop;
  s3l_peer_client_t* client; /* NULL: closed */
  s3l_peer_client_config_t config;
  s3l_script_server_t server;
  unsigned client_closed;
  bool in_call; /* set around the client's calls: no callback may run then */
} s3l_asks_t;

/* All zero before the first probe. */
typedef struct s3l_asked_s {
  s3l_peer_probe_t ask;
  s3l_asks_t* rig;
  unsigned done; /* how often it has ended */
  s3l_peer_kind_t kind;
  int status;
  bool held, authenticated;
  int64_t valid_for_ms;
  s3lect_record_t record; /* all zero if there was none */
  char etag[64];
  char message[512];
} s3l_asked_t;

/** Opens client and server; `scripts` as in script_server. Time-outs of 0 in config become long. */
void s3l_asks_begin(s3l_asks_t* r, const s3l_step_t* const* scripts, size_t n,
                    s3l_tls_context_t* server_tls);

/** Starts a probe; returns the result of s3l_peer_probe. */
int s3l_asks_try(s3l_asks_t* r, s3l_asked_t* a, const char* addr, uint32_t timeout_ms,
                 uint32_t wait_ms);

/** Starts a probe of the scripted server with a long time-out; it must be accepted. */
void s3l_asks_start(s3l_asks_t* r, s3l_asked_t* a, uint32_t wait_ms);

/** Waits until the probe has ended for the n-th time. */
void s3l_asks_wait(s3l_asks_t* r, s3l_asked_t* a, unsigned n);

/** "127.0.0.1:PORT". Static memory. */
const char* s3l_asks_addr(const s3l_script_server_t* server);

/** Begins to close the client. */
void s3l_asks_close(s3l_asks_t* r);

/** Closes what is open, runs the loop to its end. */
void s3l_asks_end(s3l_asks_t* r);

#endif
