/* elector/probe.h: the executor's side of peer mode: asks the leader when the core wants it
 * asked, and stands at a peer server where those who follow ask this elector.
 *
 * An elector without peer mode has none of it. */
#ifndef S3L_DRIVER_PEER_H
#define S3L_DRIVER_PEER_H

#include "core/core.h"
#include "peer/client.h"
#include "s3lect/elector.h"

struct s3l_executor_s;

/** What an executor needs to ask. Part of the executor's block. */
typedef struct s3l_probe_s {
  s3l_peer_probe_t ask;
  s3l_peer_client_t* client;
  const char* path; /* the executor's */
  bool pending;     /* an ask is under way */
  int error;        /* the client did not take it: its end is still to be told */
} s3l_probe_t;

/** Prepares the probe, which holds the client until its end; `d->probe` is its memory. */
void s3l_probe_init(struct s3l_executor_s* d, const s3lect_elector_options_t* options,
                    const char* path);

/** The probe's end, when nothing is under way; no-op without one. */
void s3l_probe_end(struct s3l_executor_s* d);

/** Carries out S3L_DO_PROBE and S3L_DO_PROBE_CANCEL. */
void s3l_probe_begin(struct s3l_executor_s* d, const s3l_effect_t* e);
void s3l_probe_cancel(struct s3l_executor_s* d);

/** What the public handle stands for (peer_client.c); NULL: it is closing, or closed. */
s3l_peer_client_t* s3l_peer_client_of(const s3lect_peer_client_t* client);

/** True if the end of an ask that could not begin is to be told now: *result is it. */
bool s3l_probe_failed(struct s3l_executor_s* d, s3l_peer_result_t* result);

#endif
