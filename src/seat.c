#include "seat.h"

#include <string.h>

#include "clock.h"
#include "driver.h"
#include "peer/message.h"
#include "s3lect/errno.h"
#include "s3lect/peer.h"
#include "util/assert.h"
#include "util/mem.h"

static s3l_seat_t* seat_of(s3l_peer_seat_t* peer) {
  return S3L_CONTAINER_OF(peer, s3l_seat_t, peer);
}

static s3l_seat_state_t state(const s3l_driver_t* d, s3l_confirmed_t* confirmed) {
  bool leads = s3l_core_confirmed(&d->core, s3l_clock_lease_ns(), confirmed);
  if (leads && !s3l_driver_is_withdrawn(d))
    return S3L_SEAT_LEADS;
  return leads || d->core.parting ? S3L_SEAT_PARTING : S3L_SEAT_AWAY;
}

static s3l_seat_state_t on_answer(s3l_peer_seat_t* peer, char* body, size_t cap, size_t* len) {
  s3l_confirmed_t confirmed;
  s3l_seat_state_t now = state(seat_of(peer)->driver, &confirmed);
  if (now == S3L_SEAT_LEADS) {
    *len = s3l_peer_answer_encode(&confirmed.record, confirmed.etag, confirmed.valid_for_ms, body,
                                  cap);
    S3L_ASSERT(*len > 0);
  }
  return now;
}

int s3lect_peer_response(const s3lect_elector_t* elector, const char* method, char* body,
                         size_t cap, size_t* len) {
  const s3l_driver_t* d = elector->internal;
  s3l_confirmed_t confirmed;
  *len = 0;
  if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
    return 405;
  if (d == NULL || state(d, &confirmed) != S3L_SEAT_LEADS)
    return 404;
  *len =
      s3l_peer_answer_encode(&confirmed.record, confirmed.etag, confirmed.valid_for_ms, body, cap);
  return *len > 0 ? 200 : UV_ENOBUFS;
}

/* Without a query: that is not looked at. */
static bool is_path(const char* path) {
  return s3l_peer_is_path(path) && strlen(path) <= S3L_PEER_PATH_MAX && strchr(path, '?') == NULL;
}

int s3l_seat_open(s3l_peer_server_t* server, s3l_driver_t* d, const char* path) {
  if (d->seat != NULL)
    return UV_EALREADY;
  if (!is_path(path))
    return S3LECT_EOPTION;
  size_t size = strlen(path) + 1;
  s3l_seat_t* seat = s3l_calloc(1, sizeof *seat + size);
  if (seat == NULL)
    return UV_ENOMEM;
  seat->peer.path = memcpy(seat + 1, path, size);
  seat->peer.answer = on_answer;
  seat->driver = d;
  int err = s3l_peer_server_add(server, &seat->peer);
  if (err != 0)
    s3l_free(seat);
  else
    d->seat = seat;
  return err;
}

void s3l_seat_close(s3l_driver_t* d) {
  if (d->seat == NULL)
    return;
  s3l_peer_server_remove(&d->seat->peer);
  s3l_free(d->seat);
  d->seat = NULL;
}

void s3l_seat_sent(s3l_driver_t* d, int64_t now_ns) {
  if (d->seat != NULL)
    d->seat->sent_ns = now_ns;
}

void s3l_seat_done(s3l_driver_t* d, bool is_write, int status, int outcome) {
  if (d->seat != NULL)
    s3l_metrics_request(&d->seat->metrics, is_write, status, outcome);
}

void s3l_seat_renewed(s3l_driver_t* d, int64_t now_ns) {
  if (d->seat != NULL)
    s3l_metrics_renewed(&d->seat->metrics, now_ns - d->seat->sent_ns);
}

void s3l_seat_parted(s3l_driver_t* d) {
  if (d->seat != NULL)
    s3l_peer_seat_parted(&d->seat->peer);
}

s3l_metrics_row_t s3l_seat_row(const s3l_seat_t* seat) {
  const s3l_driver_t* d = seat->driver;
  s3l_metrics_row_t row = {
      .election = s3l_files_election(d),
      .path = seat->peer.path,
      .id = d->core.config.id,
      .is_leader = s3lect_is_leader(d->handle) != 0,
      .epoch = s3lect_epoch(d->handle),
      .transitions = d->core.view.record.transitions,
      .valid_for_ms = s3lect_valid_for_ms(d->handle),
      .stats = {.size = sizeof row.stats},
      .metrics = &seat->metrics,
  };
  (void)s3lect_elector_stats(d->handle, &row.stats);
  return row;
}

bool s3l_seat_is_ready(const s3l_seat_t* seat) {
  const s3l_core_t* c = &seat->driver->core;
  return c->phase == S3L_PHASE_STANDING && c->view.kind != S3L_VIEW_UNKNOWN;
}
