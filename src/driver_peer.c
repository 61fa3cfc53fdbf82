#include "driver_peer.h"

#include "driver.h"
#include "s3lect/peer.h"
#include "util/assert.h"

static void on_answer(s3l_peer_ask_t* ask, const s3l_peer_result_t* result) {
  s3l_driver_t* d = ask->data;
  d->asker->pending = false;
  s3l_driver_run(d, &(s3l_event_t){.kind = S3L_EV_PEER, .peer = result});
}

void s3l_asker_init(s3l_driver_t* d, const s3lect_elector_options_t* o, const char* path) {
  s3l_asker_t* a = d->asker;
  a->client = s3l_peer_client_of(o->peer_client);
  s3l_peer_client_hold(a->client);
  a->path = path;
  a->ask.data = d;
  a->ask.path = path;
  a->ask.done = on_answer;
}

void s3l_asker_end(s3l_driver_t* d) {
  if (d->asker == NULL)
    return;
  S3L_ASSERT(!d->asker->pending);
  s3l_peer_client_let(d->asker->client);
}

void s3l_asker_ask(s3l_driver_t* d, const s3l_effect_t* e) {
  s3l_asker_t* a = d->asker;
  S3L_ASSERT(!a->pending && a->error == 0);
  int err = s3l_peer_ask(a->client, &a->ask, d->names.addr, e->timeout_ms, e->wait_ms);
  a->pending = err == 0;
  a->error = err;
}

void s3l_asker_cancel(s3l_driver_t* d) {
  if (d->asker->pending) /* else its end is about to be told */
    s3l_peer_ask_cancel(&d->asker->ask);
}

bool s3l_asker_failed(s3l_driver_t* d, s3l_peer_result_t* result) {
  s3l_asker_t* a = d->asker;
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
