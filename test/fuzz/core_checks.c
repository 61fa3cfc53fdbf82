/* fuzz/core_checks.c: see core_world.h. */
#include <stdio.h>

#include "core/trace.h"
#include "core_world.h"

static s3l_ns_t hold(void) {
  return s3l_lease_hold(w.core.config.leader_timeout_ms * S3L_MS, w.core.config.drift_ppm);
}

static bool is_listed_at(s3l_ns_t at) {
  for (unsigned i = 0; i < w.lists_len && i < LISTS_MAX; i++)
    if (w.lists[i] == at)
      return true;
  return false;
}

/* Validity counts from the sending of a write of that very leadership; with epoch files from that
 * of a listing if it was sent before. */
static bool is_earned(s3l_ns_t valid_until, uint64_t epoch) {
  s3l_ns_t from = valid_until - hold();
  for (unsigned i = 0; i < w.writes_len && i < WRITES_MAX; i++) {
    const write_t* s = &w.writes[i];
    if (s->epoch == epoch && (s->at == from || (s->at > from && is_listed_at(from))) &&
        strcmp(s->incarnation, w.incarnation) == 0)
      return true;
  }
  return false;
}

static void check_note(const s3l_effect_t* e) {
  switch (e->note) {
  case S3LECT_EVENT_STARTED_LEADING:
    FUZZ_CHECK(!w.announced && e->epoch > w.epoch_told);
    w.announced = true;
    w.epoch = w.epoch_told = e->epoch;
    break;
  case S3LECT_EVENT_RENEWED:
    FUZZ_CHECK(w.announced && e->epoch == w.epoch && e->valid_until > w.valid_until);
    break;
  case S3LECT_EVENT_STOPPED_LEADING:
    FUZZ_CHECK(w.announced && e->epoch == w.epoch && e->reason != S3LECT_REASON_NONE);
    FUZZ_CHECK(e->valid_until <= w.valid_until && e->valid_until <= w.now);
    w.announced = false;
    w.valid_until = 0;
    return;
  case S3LECT_EVENT_NEW_LEADER:
  case S3LECT_EVENT_CLAIMING:
    return;
  case S3LECT_EVENT_ERROR:
    FUZZ_CHECK(e->error < 0);
    return;
  }
  FUZZ_CHECK(e->valid_until > w.now && is_earned(e->valid_until, e->epoch));
  w.valid_until = e->valid_until;
}

/* A record that is not released is replaced when it has stood for a whole timeout, or when its own
 * leader said that its validity would be over by now. */
static bool may_replace(const s3l_observation_t* v) {
  if (v->kind != S3L_OBSERVED_RECORD || v->own || v->record.released || w.core.config.store_clock)
    return true;
  uint32_t t = w.core.config.leader_timeout_ms;
  if (v->record.leader_timeout_ms > t)
    t = v->record.leader_timeout_ms;
  if (w.now >= v->first_seen + s3l_lease_wait(t * S3L_MS, w.core.config.drift_ppm))
    return true;
  if (fuzz_core_by_files())
    return false; /* whatever a peer says */
  for (unsigned i = 0; i < w.words_len && i < WORDS_MAX; i++) {
    const word_t* said = &w.words[i];
    if (said->epoch == v->record.epoch && said->write == v->record.write &&
        strcmp(said->incarnation, v->record.incarnation) == 0 && w.now >= said->over)
      return true;
  }
  return w.words_len > WORDS_MAX; /* some are forgotten */
}

static void check_write(const s3l_effect_t* e) {
  const s3lect_record_t* r = &w.fx.record;
  FUZZ_CHECK(w.core.op.kind != S3L_OP_TAKE_OVER || may_replace(&w.core.observed));
  char body[BODY_MAX];
  FUZZ_CHECK(strcmp(r->incarnation, w.incarnation) == 0 && r->write > w.last_write);
  FUZZ_CHECK(strcmp(r->leader_id, w.core.config.id) == 0);
  bool epochs = fuzz_core_by_files();
  FUZZ_CHECK(e->file == (epochs ? r->epoch : 0) && (epochs || e->condition != S3LECT_ALWAYS));
  FUZZ_CHECK(e->file <= S3L_EPOCHS_MAX);
  FUZZ_CHECK(fuzz_core_encode(r, body) > 0);
  /* A file is created once, and written again by its creator only. */
  bool creates = w.core.op.kind == S3L_OP_TAKE_OVER;
  FUZZ_CHECK(!epochs || !creates || e->condition == S3LECT_IF_ABSENT);
  FUZZ_CHECK(!epochs || creates ||
             (w.core.observed.own && w.core.observed.record.epoch == e->file));
  w.last_write = r->write;
  write_t* s = &w.writes[w.writes_len++ % WRITES_MAX];
  *s = (write_t){.at = w.now, .epoch = r->epoch};
  snprintf(s->incarnation, sizeof(s->incarnation), "%s", w.incarnation);
  w.record = *r;
  w.landed = false;
  FUZZ_CHECK(e->timeout_ms > 0);
}

static void check_effect(const s3l_effect_t* e) {
  char line[S3L_TRACE_SIZE];
  FUZZ_CHECK(s3l_trace_effect(e, &w.fx.record, w.now, line, sizeof(line)) < sizeof(line));
  switch (e->kind) {
  case S3L_DO_READ:
  case S3L_DO_WRITE:
    FUZZ_CHECK(w.under_way == NOTHING && e->timeout_ms > 0 && strlen(e->etag) < S3LECT_ETAG_SIZE);
    FUZZ_CHECK((e->file > 0) == fuzz_core_by_files());
    w.under_way = e->kind == S3L_DO_READ ? READING : WRITING;
    w.cancelled = false;
    w.file = e->file;
    w.plain = e->condition == S3LECT_ALWAYS;
    snprintf(w.etag, sizeof(w.etag), "%s", e->etag);
    if (e->kind == S3L_DO_WRITE)
      check_write(e);
    break;
  case S3L_DO_CANCEL:
    FUZZ_CHECK(w.under_way != NOTHING && !w.cancelled);
    w.cancelled = true;
    break;
  case S3L_DO_NOTIFY:
    check_note(e);
    break;
  case S3L_DO_STOPPED:
    FUZZ_CHECK(w.under_way == NOTHING && !w.announced && w.core.phase == S3L_PHASE_STOPPED);
    FUZZ_CHECK(!w.asking && !w.sweeping);
    break;
  case S3L_DO_RELEASED:
    FUZZ_CHECK(!w.announced);
    break;
  case S3L_DO_PROBE:
    FUZZ_CHECK(w.core.config.peer_mode && !w.asking && e->timeout_ms > 0 && e->wait_ms % 1000 == 0);
    FUZZ_CHECK(!w.announced && w.core.observed.kind == S3L_OBSERVED_RECORD && !w.core.observed.own);
    w.asking = true;
    w.ask_cancelled = false;
    break;
  case S3L_DO_PROBE_CANCEL:
    FUZZ_CHECK(w.asking && !w.ask_cancelled);
    w.ask_cancelled = true;
    break;
  case S3L_DO_LIST:
    FUZZ_CHECK(fuzz_core_by_files() && w.under_way == NOTHING && e->timeout_ms > 0);
    w.under_way = LISTING;
    w.cancelled = false;
    w.file = e->file;
    w.lists[w.lists_len++ % LISTS_MAX] = w.now;
    break;
  case S3L_DO_GC:
    FUZZ_CHECK(fuzz_core_by_files() && !w.sweeping && w.core.leading && e->timeout_ms > 0);
    FUZZ_CHECK(e->file > 0 && e->file + 1 < w.core.epoch);
    w.sweeping = true;
    w.sweep_cancelled = false;
    w.sweep = e->file;
    break;
  case S3L_DO_GC_CANCEL:
    FUZZ_CHECK(w.sweeping && !w.sweep_cancelled);
    w.sweep_cancelled = true;
    break;
  }
}

static void check_confirmed(void) {
  s3l_confirmed_t said;
  bool leads = s3l_core_confirmed(&w.core, w.now, &said);
  FUZZ_CHECK(leads == w.announced);
  if (!leads)
    return;
  FUZZ_CHECK(said.record.epoch == w.epoch && strcmp(said.record.incarnation, w.incarnation) == 0);
  FUZZ_CHECK(!said.record.released && said.etag[0] != '\0');
  FUZZ_CHECK((s3l_ns_t)said.valid_for_ms * S3L_MS >= w.valid_until - w.now);
}

void fuzz_core_step(s3l_event_t* event) {
  char line[S3L_TRACE_SIZE];
  const s3l_core_t* c = &w.core;
  event->wall_ms = w.wall_ms;
  FUZZ_CHECK(s3l_trace_event(event, line, sizeof(line)) < sizeof(line));
  if (event->kind == S3L_EV_DONE)
    w.under_way = NOTHING;
  if (event->kind == S3L_EV_PEER)
    w.asking = false;
  if (event->kind == S3L_EV_GC_DONE)
    w.sweeping = false;
  s3l_core_step(&w.core, w.now, event, &w.fx);
  FUZZ_CHECK(w.fx.len <= S3L_EFFECTS_MAX);
  for (size_t i = 0; i < w.fx.len; i++)
    check_effect(&w.fx.at[i]);
  FUZZ_CHECK(s3l_core_deadline(c) > w.now); /* else its executor would spin */
  FUZZ_CHECK((s3l_core_valid_until(c) != 0) == w.announced);
  FUZZ_CHECK(s3l_core_valid_until(c) == w.valid_until);
  FUZZ_CHECK(!w.announced || (w.valid_until > w.now && c->epoch == w.epoch));
  FUZZ_CHECK(!c->leading || (c->observed.own && c->observed.record.epoch == c->epoch));
  FUZZ_CHECK((c->op.kind != S3L_OP_NONE) == (w.under_way != NOTHING));
  FUZZ_CHECK(c->peer.probing == w.asking);
  check_confirmed();
}
