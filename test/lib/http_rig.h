/* Shared by the tests of the HTTP client: a loop, a client, a script server, and requests that
 * record their results. */
#ifndef S3L_TEST_HTTP_RIG_H
#define S3L_TEST_HTTP_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "http/client.h"
#include "lib/script_server.h"

#define S3L_RIG_OK      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define S3L_RIG_REQUEST "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

typedef struct s3l_rig_s s3l_rig_t;

typedef struct s3l_rig_req_s s3l_rig_req_t;
struct s3l_rig_req_s {
  s3l_http_req_t req;
  s3l_rig_t* rig;
  const char* text;                     /* what compose writes; NULL: S3L_RIG_REQUEST */
  uint32_t timeout_ms;                  /* 0: a minute */
  int compose_error;                    /* what compose gives instead, if not 0 */
  unsigned composed;                    /* how often compose ran */
  unsigned done;                        /* how often done ran */
  void (*then)(s3l_rig_req_t* r);       /* called in done, at its end */
  void (*in_compose)(s3l_rig_req_t* r); /* called in compose */
  /* The reply, copied. */
  int status;
  bool sent;
  int64_t waited_ns;
  int http_status;
  size_t headers_len;
  char etag[64];
  char body[4096];
  size_t body_len;
  char message[512];
};

struct s3l_rig_s {
  uv_loop_t loop;
  s3l_http_client_t* client; /* NULL: closed */
  s3l_http_client_options_t options;
  s3l_script_server_t server;
  unsigned closed; /* how often the client's close callback ran */
  bool in_call;    /* set around the API's calls: no callback may run then */
};

/** Prepares a rig; `scripts` as in script_server. Options may be changed before s3l_rig_start. */
void s3l_rig_init(s3l_rig_t* rig, const s3l_step_t* const* scripts, size_t n);

/** Starts the server (unless it has no scripts) and the client. */
void s3l_rig_start(s3l_rig_t* rig);

void s3l_rig_submit(s3l_rig_t* rig, s3l_rig_req_t* r);
void s3l_rig_cancel(s3l_rig_req_t* r);
void s3l_rig_close_client(s3l_rig_t* rig);

/** Runs the loop until the request is done (or nothing is left to run, which fails the test). */
void s3l_rig_wait(s3l_rig_t* rig, s3l_rig_req_t* r);

/** Submits and waits. */
void s3l_rig_do(s3l_rig_t* rig, s3l_rig_req_t* r);

/** Runs the loop until *counter reaches n. */
void s3l_rig_wait_for(s3l_rig_t* rig, const unsigned* counter, unsigned n);

/** Runs the loop until the server's connections are closed, and once more. */
void s3l_rig_wait_alone(s3l_rig_t* rig);

/** Closes what is open, runs the loop to its end, and asserts that nothing is left. */
void s3l_rig_end(s3l_rig_t* rig);

#endif
