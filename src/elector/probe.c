#include "elector/probe.h"

#include "elector/executor.h"
#include "s3lect/peer.h"
#include "util/assert.h"

static void on_answer(s3l_peer_probe_t* ask, const s3l_peer_result_t* result) {
  s3l_executor_t* d = ask->data;
  d->probe->pending = false;
  s3l_executor_run(d, &(s3l_event_t){.kind = S3L_EV_PEER, .peer = result});
}

void s3l_probe_init(s3l_executor_t* d, const s3lect_elector_options_t* o, const char* path) {
  s3l_probe_t* a = d->probe;
  a->client = s3l_peer_client_of(o->peer_client);
  s3l_peer_client_hold(a->client);
  a->path = path;
  a->ask.data = d;
  a->ask.path = path;
  a->ask.done = on_answer;
}

void s3l_probe_end(s3l_executor_t* d) {
  if (d->probe == NULL)
    return;
  S3L_ASSERT(!d->probe->pending);
  s3l_peer_client_let(d->probe->client);
}

void s3l_probe_begin(s3l_executor_t* d, const s3l_effect_t* e) {
  s3l_probe_t* a = d->probe;
  S3L_ASSERT(!a->pending && a->error == 0);
  int err = s3l_peer_probe(a->client, &a->ask, d->names.addr, e->timeout_ms, e->wait_ms);
  a->pending = err == 0;
  a->error = err;
}

void s3l_probe_cancel(s3l_executor_t* d) {
  if (d->probe->pending) /* else its end is about to be told */
    s3l_peer_probe_cancel(&d->probe->ask);
}

bool s3l_probe_failed(s3l_executor_t* d, s3l_peer_result_t* result) {
  s3l_probe_t* a = d->probe;
  if (a == NULL || a->error == 0)
    return false;
  *result = (s3l_peer_result_t){
      .kind = S3L_PEER_FAILED,
      .status = a->error,
      .valid_for_ms = -1,
      .message = a->error == UV_EINVAL ? "the address in the record is no host:port" : NULL};
  a->error = 0;
  return true;
}
