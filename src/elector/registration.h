/* elector/registration.h: an elector's place at a peer server: it answers for the elector, and
 * counts what the server's /metrics shows of it.
 *
 * A registration is made by s3lect_peer_server_add and ends with remove, the server's close or the
 * elector's, whichever comes first. */
#ifndef S3L_REGISTRATION_H
#define S3L_REGISTRATION_H

#include <stdbool.h>
#include <stdint.h>

#include "elector/metrics.h"
#include "peer/server.h"
#include "s3lect/elector.h"

struct s3l_executor_s;

typedef struct s3l_registration_s {
  s3l_peer_registration_t peer;
  struct s3l_executor_s* executor;
  s3l_metrics_t metrics;
  int64_t sent_ns; /* when the request under way went out */
} s3l_registration_t;

/** Takes a place. Errors as of s3lect_peer_server_add. */
int s3l_registration_open(s3l_peer_server_t* server, struct s3l_executor_s* d, const char* path);

/** Gives the place up. No-op for an elector that has none. */
void s3l_registration_close(struct s3l_executor_s* d);

/** What the executor tells of; each is a no-op without a registration. */
void s3l_registration_sent(struct s3l_executor_s* d, int64_t now_ns);
void s3l_registration_done(struct s3l_executor_s* d, bool is_write, int status, int outcome);
void s3l_registration_renewed(struct s3l_executor_s* d, int64_t now_ns);
void s3l_registration_parted(struct s3l_executor_s* d);

/** The elector's row of the metrics page. */
s3l_metrics_row_t s3l_registration_row(const s3l_registration_t* registration);

/** Whether the elector stands, and the store has told what it holds. */
bool s3l_registration_is_ready(const s3l_registration_t* registration);

#endif
