#include "elector/candidacy.h"

#include "core/record.h"
#include "peer/message.h"
#include "util/mem.h"

const char* s3l_candidacy_keep(s3l_executor_t* d, const s3lect_record_t* candidacy) {
  size_t cap = s3l_record_encode_max(candidacy->leader_id, candidacy->leader_addr, "") +
               S3L_PEER_CANDIDACY_MORE;
  s3l_extras_t* x = s3l_extras_get(&d->extras);
  char* text = x != NULL ? s3l_malloc(cap) : NULL;
  if (text == NULL)
    return NULL;
  s3l_free(x->candidacy); /* of a probe that has ended */
  x->candidacy = text;
  size_t n = s3l_peer_candidacy_encode(candidacy, d->core.config.priority, text, cap);
  return n > 0 ? text : NULL;
}

const s3lect_record_t* s3l_candidacy_find(s3l_executor_t* d, const s3l_event_t* event) {
  s3lect_record_t found;
  const s3l_core_t* c = &d->core;
  if (c->op.kind == S3L_OP_RELEASE && c->op.grants)
    return &d->extras->granted->record;
  bool leaves = c->release_owed || event->kind == S3L_EV_RESIGN || event->kind == S3L_EV_STOP ||
                event->kind == S3L_EV_TRANSFER;
  const char* successor = event->kind == S3L_EV_TRANSFER ? event->successor : c->successor;
  if (!leaves || d->registration == NULL ||
      !s3l_peer_registration_candidate(&d->registration->peer, successor != NULL ? successor : "",
                                       &found))
    return NULL;
  size_t size = s3l_record_encode_max(found.leader_id, found.leader_addr, "");
  s3l_extras_t* x = s3l_extras_get(&d->extras);
  s3l_granted_t* granted = x != NULL ? s3l_malloc(sizeof *granted + size) : NULL;
  if (granted == NULL)
    return NULL;
  granted->record = found;
  granted->body_size = size;
  s3l_free(x->granted);
  x->granted = granted;
  return &granted->record;
}
