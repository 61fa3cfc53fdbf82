/* elector/executor_state.h: the executor's memory, for the parts of it that need more of it than
 * their own (executor.h). */
#ifndef S3L_EXECUTOR_STATE_H
#define S3L_EXECUTOR_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/core.h"
#include "elector/extras.h"
#include "elector/leader_names.h"
#include "elector/metrics.h"
#include "elector/preflight.h"
#include "elector/protocol_check.h"
#include "elector/repeats.h"
#include "elector/update.h"
#include "elector/validity.h"
#include "loop/loop.h"
#include "peer/client.h"
#include "peer/server.h"
#include "s3lect/elector.h"

/** The probe of the leader, in peer mode. */
typedef struct s3l_probe_s {
  s3l_peer_probe_t ask;
  s3l_peer_client_t* client;
  bool pending; /* an ask is under way */
  int error;    /* the client did not take it: its end is still to be told */
} s3l_probe_t;

/** The elector's place at a peer server; see registration.h. */
typedef struct s3l_registration_s {
  s3l_peer_registration_t peer;
  struct s3l_executor_s* executor;
} s3l_registration_t;

typedef struct s3l_executor_s {
  s3l_core_t core; /* first: its offsets are those that the code uses most */
  s3l_validity_t validity;
  s3lect_elector_t* handle;
  s3l_loop_t* loop;
  s3l_deadline_t deadline; /* the core's, or the preflight's */
  s3l_task_t wake;         /* looks at what was asked for; at last, the end */
  s3lect_store_req_t req;
  s3l_leader_names_t names; /* of the record in the core's view */
  s3l_repeats_t repeats;
  const char* election; /* the option lockfile_path */

  bool running : 1; /* inside a run */
  bool ended : 1;   /* the request under way has ended, which the core is still to be told */
  bool listing : 1; /* `req` is a listing */
  bool expired : 1; /* a renewal came too late to be published: the core is still to be told */
  bool ask_start : 1;
  bool ask_resign : 1;
  bool ask_transfer : 1; /* with ask_resign */
  bool closing : 1;
  bool left : 1;        /* the loop: only the close callback is still to run */
  bool check_due : 1;   /* the check of this start has not begun */
  bool addr_apart : 1;  /* the core's address is that of an update */
  uint8_t ask_stop : 4; /* s3lect_reason_t or 0 */
  uint16_t body_size;
  int submit_error; /* the store did not take the request: its end is still to be told */
  uint64_t ask_ack; /* the epoch that was acknowledged; 0: none */
  union {
    s3l_update_t* update;       /* that waits; NULL: none */
    s3lect_elector_cb close_cb; /* `closing`: there is no update any more */
  } then;

  s3lect_event_cb on[S3LECT_EVENT_EXPIRING]; /* [kind - 1] */
  /* What is being written. While the core is stopped: the random bytes of the start that was asked
   * for, its incarnation and seed. */
  char* body;
  s3l_extras_t* extras; /* NULL: none */

  s3l_preflight_t* preflight;       /* holds ask_start back; NULL without verify_on_start */
  s3l_protocol_check_t* check;      /* under way; NULL: none */
  s3l_probe_t* probe;               /* NULL without peer mode */
  s3l_registration_t* registration; /* NULL: at no peer server */
  s3l_metrics_t* metrics;           /* NULL: nobody has asked for them yet */
  const char* peer_path;            /* where peers are asked, unless they say otherwise */
} s3l_executor_t;

/** Whether leadership is over although the core is still to be told. */
static inline bool s3l_executor_is_withdrawn(const s3l_executor_t* d) {
  return d->ask_resign || d->ask_stop != 0 || d->expired;
}

#endif
