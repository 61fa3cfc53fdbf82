#include "sim/core_step.h"

#include <string.h>

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition))                                                                              \
      return #condition;                                                                           \
  } while (0)

static const char* check_request(const s3l_effect_t* e, bool files) {
  CHECK(e->timeout_ms > 0 && strlen(e->etag) < S3LECT_ETAG_SIZE);
  CHECK((e->file > 0) == files);
  return NULL;
}

static const char* check_write(const s3l_core_t* c, const s3l_effect_t* e, bool files,
                               const s3lect_record_t* r) {
  bool creates = c->op.kind == S3L_OP_TAKE_OVER;
  if (e->granted) {
    CHECK(!files && !c->leading && c->op.kind == S3L_OP_RELEASE && r->epoch == c->epoch + 1);
    CHECK(strcmp(r->incarnation, c->incarnation) != 0 && strcmp(r->leader_id, c->config.id) != 0);
    CHECK(e->condition == S3LECT_IF_MATCH && !r->released && !r->claim && r->value[0] == '\0');
    return NULL;
  }
  CHECK(strcmp(r->incarnation, c->incarnation) == 0 && strcmp(r->leader_id, c->config.id) == 0);
  CHECK(e->file == (files ? r->epoch : 0) && (files || e->condition != S3LECT_ALWAYS));
  CHECK(e->file <= S3L_EPOCHS_MAX);
  /* A file is created once, and written again by its creator only. */
  CHECK(!files || !creates || e->condition == S3LECT_IF_ABSENT);
  CHECK(!files || creates || (c->observed.own && c->observed.record.epoch == e->file));
  return NULL;
}

static const char* check_note(const s3l_effect_t* e, s3l_ns_t now) {
  bool leads = e->note == S3LECT_EVENT_STARTED_LEADING || e->note == S3LECT_EVENT_RENEWED;
  CHECK(!leads || e->valid_until > now);
  CHECK(e->note != S3LECT_EVENT_STOPPED_LEADING ||
        (e->reason != S3LECT_REASON_NONE && e->valid_until <= now));
  CHECK(e->note != S3LECT_EVENT_ERROR || e->error < 0);
  return NULL;
}

static const char* check_effect(const s3l_core_t* c, const s3l_effects_t* fx, const s3l_effect_t* e,
                                s3l_ns_t now) {
  bool files = c->config.protocol == &s3l_epoch_files;
  const char* wrong = NULL;
  switch (e->kind) {
  case S3L_DO_READ:
  case S3L_DO_WRITE:
    wrong = check_request(e, files);
    return wrong != NULL || e->kind == S3L_DO_READ ? wrong : check_write(c, e, files, &fx->record);
  case S3L_DO_LIST:
    CHECK(files && e->timeout_ms > 0);
    return NULL;
  case S3L_DO_GC:
    CHECK(files && c->leading && e->timeout_ms > 0 && e->file > 0 && e->file + 1 < c->epoch);
    return NULL;
  case S3L_DO_NOTIFY:
    return check_note(e, now);
  case S3L_DO_STOPPED:
    CHECK(!c->announced && c->phase == S3L_PHASE_STOPPED && c->op.kind == S3L_OP_NONE);
    CHECK(!c->peer.probing);
    return NULL;
  case S3L_DO_RELEASED:
    CHECK(!c->announced);
    return NULL;
  case S3L_DO_PROBE:
    CHECK(c->config.peer_mode && e->timeout_ms > 0 && e->wait_ms % 1000 == 0 && !c->announced);
    CHECK(c->observed.kind == S3L_OBSERVED_RECORD && !c->observed.own);
    CHECK(!e->candidacy ||
          (c->config.candidacy && fx->record.epoch == c->observed.record.epoch + 1));
    CHECK(!e->candidacy || fx->record.released == (c->phase == S3L_PHASE_LEAVING));
    return NULL;
  default:
    return NULL;
  }
}

static const char* check_confirmed(const s3l_core_t* c, s3l_ns_t now) {
  s3l_confirmed_t said;
  bool leads = s3l_core_confirmed(c, now, &said);
  CHECK(leads == c->announced);
  if (!leads)
    return NULL;
  CHECK(said.record.epoch == c->epoch && strcmp(said.record.incarnation, c->incarnation) == 0);
  CHECK(!said.record.released && said.etag[0] != '\0');
  CHECK((s3l_ns_t)said.valid_for_ms * S3L_MS >= s3l_core_valid_until(c) - now);
  return NULL;
}

const char* sim_core_step(s3l_core_t* c, s3l_ns_t now, const s3l_event_t* event,
                          s3l_effects_t* fx) {
  s3l_core_step(c, now, event, fx);
  CHECK(fx->len <= S3L_EFFECTS_MAX);
  for (size_t i = 0; i < fx->len; i++) {
    const char* wrong = check_effect(c, fx, &fx->at[i], now);
    if (wrong != NULL)
      return wrong;
  }
  CHECK(s3l_core_deadline(c) > now); /* else its executor would spin */
  CHECK((s3l_core_valid_until(c) != 0) == c->announced);
  CHECK(!c->announced || s3l_core_valid_until(c) > now);
  CHECK(!c->leading || (c->observed.own && c->observed.record.epoch == c->epoch));
  return check_confirmed(c, now);
}
