#include "elector/registration.h"

#include <string.h>

#include "core/observation.h"
#include "elector/metrics_page.h"
#include "loop/clock.h"
#include "peer/message.h"
#include "s3lect/errno.h"
#include "s3lect/peer.h"
#include "util/assert.h"
#include "util/mem.h"
#include "util/mutant.h"

static s3l_registration_t* registration_of(s3l_peer_registration_t* peer) {
  return S3L_CONTAINER_OF(peer, s3l_registration_t, peer);
}

/* Whether the record in view is the claim of the one who asks. Without his names, for want of
 * memory, he is left to read it in the store. */
static bool is_granted(const s3l_executor_t* d, const char* candidate, s3l_confirmed_t* confirmed) {
  if (!s3l_core_granted(&d->core, candidate, confirmed) || d->names.id[0] == '\0')
    return false;
  s3l_executor_record(d, &confirmed->record);
  return true;
}

static s3l_registration_state_t state(const s3l_executor_t* d, const char* candidate,
                                      s3l_confirmed_t* confirmed) {
  if (is_granted(d, candidate, confirmed))
    return S3L_REGISTRATION_GRANTED;
  bool leads = s3l_core_confirmed(&d->core, s3l_clock_lease_ns(), confirmed);
  /* An update, or another value, may have changed it since the record was written. */
  if (leads && d->names.id[0] != '\0') {
    memset(confirmed->record.leader_addr, 0, sizeof confirmed->record.leader_addr);
    memcpy(confirmed->record.leader_addr, d->names.addr, strlen(d->names.addr));
    const char* value = s3l_leader_names_value(&d->names);
    if (S3L_MUTANT(VALUE_UNWRITTEN) && d->extras != NULL && d->extras->value != NULL)
      value = d->extras->value->text;
    memset(confirmed->record.value, 0, sizeof confirmed->record.value);
    memcpy(confirmed->record.value, value, strlen(value));
  }
  /* There was no memory to keep it: followers read it from the store. */
  bool known = s3l_value_fingerprint(confirmed->record.value) == d->core.observed.record.value;
  if (leads && !known && !S3L_MUTANT(VALUE_UNWRITTEN))
    return S3L_REGISTRATION_AWAY;
  if (S3L_MUTANT(PROMISE_SHORT) && leads)
    confirmed->valid_for_ms /= 2;
  if (leads && !s3l_executor_is_withdrawn(d))
    return S3L_REGISTRATION_LEADS;
  return leads || d->core.releasing ? S3L_REGISTRATION_RELEASING : S3L_REGISTRATION_AWAY;
}

static s3l_registration_state_t on_answer(s3l_peer_registration_t* peer, const char* candidate,
                                          char* body, size_t cap, size_t* len) {
  s3l_confirmed_t confirmed;
  s3l_registration_state_t now = state(registration_of(peer)->executor, candidate, &confirmed);
  if (now >= S3L_REGISTRATION_GRANTED) {
    *len = s3l_peer_answer_encode(&confirmed.record, confirmed.etag, confirmed.valid_for_ms, body,
                                  cap);
    S3L_ASSERT(*len > 0);
  }
  return now;
}

int s3lect_elector_peer_response(const s3lect_elector_t* elector, const char* method, char* body,
                                 size_t cap, size_t* len) {
  const s3l_executor_t* d = elector->internal;
  s3l_confirmed_t confirmed;
  *len = 0;
  if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
    return 405;
  if (d == NULL || state(d, "", &confirmed) != S3L_REGISTRATION_LEADS)
    return 404;
  *len =
      s3l_peer_answer_encode(&confirmed.record, confirmed.etag, confirmed.valid_for_ms, body, cap);
  return *len > 0 ? 200 : UV_ENOBUFS;
}

/* Without a query: that is not looked at. */
static bool is_path(const char* path) {
  return s3l_peer_is_path(path) && strlen(path) <= S3L_PEER_PATH_MAX && strchr(path, '?') == NULL;
}

int s3l_registration_open(s3l_peer_server_t* server, s3l_executor_t* d, const char* path) {
  if (d->registration != NULL)
    return UV_EALREADY;
  if (!is_path(path))
    return S3LECT_EOPTION;
  size_t size = strlen(path) + 1;
  s3l_registration_t* registration = s3l_calloc(1, sizeof *registration + size);
  if (registration == NULL)
    return UV_ENOMEM;
  registration->peer.path = memcpy(registration + 1, path, size);
  registration->peer.answer = on_answer;
  registration->executor = d;
  int err = s3l_metrics_begin(d);
  if (err == 0)
    err = s3l_peer_server_add(server, &registration->peer);
  if (err != 0)
    s3l_free(registration);
  else
    d->registration = registration;
  return err;
}

bool s3l_registration_is_ready(const s3l_registration_t* registration) {
  const s3l_core_t* c = &registration->executor->core;
  return c->phase == S3L_PHASE_STANDING && c->observed.kind != S3L_OBSERVED_UNKNOWN;
}
