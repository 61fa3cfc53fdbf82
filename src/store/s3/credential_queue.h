/* store/s3/credential_queue.h: where requests of the S3 store wait until there are
 * credentials.
 *
 * With credentials at hand nobody waits, and nothing is allocated. Else a request waits within its
 * own time-out; all that wait share one question to the provider.
 *
 * A request that waits is passed on, once, from the loop: with status 0 and what is left of its
 * time, or with why it cannot go on. */
#ifndef S3L_S3_CREDENTIAL_QUEUE_H
#define S3L_S3_CREDENTIAL_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "credentials/credentials.h"
#include "loop/deadlines.h"
#include "util/list.h"

typedef struct s3l_credential_queue_s s3l_credential_queue_t;
typedef struct s3l_credential_queue_req_s s3l_credential_queue_req_t;

/** Embedded in the request's own state; zeroed before the first wait. */
struct s3l_credential_queue_req_s {
  s3l_credential_queue_t* queue; /* NULL: does not wait */
  s3l_list_t link;
  s3l_deadline_t deadline;
  uint32_t timeout_ms;
  bool cancelled;
};

/** status: 0; S3LECT_ECREDENTIALS, UV_ENOMEM, UV_ETIMEDOUT, UV_ECANCELED with text for people, or
 * NULL. left_ms > 0. */
typedef void (*s3l_credential_queue_cb)(s3l_credential_queue_req_t* req, int status,
                                        uint32_t left_ms, const char* message);

struct s3l_credential_queue_s {
  uv_loop_t* loop;
  s3l_creds_provider_t* creds;
  s3l_credential_queue_cb pass;
  s3l_creds_wait_t wait; /* one for all */
  s3l_list_t waiting;
  s3l_deadlines_t deadlines;
  bool has_deadlines; /* from the first that waits on */
  void (*close_cb)(void* arg);
  void* close_arg;
};

void s3l_credential_queue_init(s3l_credential_queue_t* gate, uv_loop_t* loop,
                               s3l_creds_provider_t* creds, s3l_credential_queue_cb pass);

/** False where there are credentials at hand: the request need not wait. */
bool s3l_credential_queue_wait(s3l_credential_queue_t* gate, s3l_credential_queue_req_t* req,
                               uint32_t timeout_ms);

/** Passed on soon with UV_ECANCELED. */
void s3l_credential_queue_cancel(s3l_credential_queue_req_t* req);

/** Passes all on with UV_ECANCELED, then calls cb: at once if nobody ever waited. From the loop
 * only. The provider stays open. */
void s3l_credential_queue_close(s3l_credential_queue_t* gate, void (*cb)(void* arg), void* arg);

#endif
