/* The election's core, told anything: honest replies of a store, lost and late ones, and replies of
 * a store that lies. Whatever it is told it must keep the invariants of core/core.h, which are
 * checked here from outside, and fit its effects into their bounds.
 *
 * Input: a digit that chooses the configuration, a byte that seeds the jitter, then events: a
 * letter for its kind and the bytes that the event takes. See `steps` at the end. */
#include <stdbool.h>
#include <stdio.h>

#include "core/core.h"
#include "core/record.h"
#include "core/trace.h"
#include "fuzz.h"
#include "s3lect/errno.h"

#define EVENTS_MAX 400
#define WRITES_MAX 64
#define BODY_MAX   4096
#define WORDS_MAX  64

typedef struct write_s {
  s3l_ns_t at;
  uint64_t epoch;
  char incarnation[S3LECT_INCARNATION_SIZE];
} write_t;

/* What an authenticated leader said of one of its writes. */
typedef struct word_s {
  uint64_t epoch, write;
  char incarnation[S3LECT_INCARNATION_SIZE];
  s3l_ns_t over; /* its validity has ended, whatever the clocks' rates */
} word_t;

typedef struct object_s {
  bool exists;
  char etag[32];
  char body[BODY_MAX];
  size_t body_len;
} object_t;

typedef struct world_s {
  fuzz_input_t in;
  s3l_core_t core;
  s3l_effects_t fx;
  s3l_ns_t now;
  int64_t wall_ms;

  object_t object; /* an honest store's */
  unsigned version;
  unsigned starts;

  /* The request under way. */
  enum { NOTHING = 0, READING, WRITING } under_way;
  bool landed; /* the write has taken effect already */
  bool cancelled;
  char etag[S3L_ETAG_SIZE];
  s3lect_record_t record;

  bool asking;
  bool ask_cancelled;
  word_t words[WORDS_MAX];
  unsigned words_len;

  /* What the application was told, and what was written. */
  bool announced;
  uint64_t epoch;
  uint64_t epoch_told;
  s3l_ns_t valid_until;
  uint64_t last_write;
  char incarnation[S3LECT_INCARNATION_SIZE];
  write_t writes[WRITES_MAX];
  unsigned writes_len;
} world_t;

static world_t w; /* large */

/* ---- The honest store ---- */

static void set_object(const s3lect_record_t* record) {
  w.object.exists = true;
  snprintf(w.object.etag, sizeof(w.object.etag), "\"v%u\"", ++w.version);
  w.object.body_len = s3l_record_encode(record, w.object.body, sizeof(w.object.body));
  FUZZ_CHECK(w.object.body_len > 0);
}

/* 0 if the write under way was carried out. */
static int land(void) {
  if (w.landed)
    return 0;
  if (w.etag[0] == '\0' ? w.object.exists : !w.object.exists || strcmp(w.etag, w.object.etag) != 0)
    return w.object.exists ? S3LECT_EPRECONDITION : S3LECT_ENOTFOUND;
  set_object(&w.record);
  w.landed = true;
  return 0;
}

static void write_of_another(void) {
  s3lect_record_t r;
  memset(&r, 0, sizeof(r));
  unsigned kind = fuzz_u8(&w.in);
  snprintf(r.leader_id, sizeof(r.leader_id), "%s", kind & 1 ? "b" : w.core.config.id);
  snprintf(r.incarnation, sizeof(r.incarnation), "%032x", kind & 2 ? 0xbu : 0xcu);
  r.epoch = w.core.epoch_seen + (kind & 4 ? 1 : 0);
  r.released = (kind & 8) != 0;
  r.leader_timeout_ms = kind & 16 ? 20000 : 0;
  r.last_updated_ms = w.wall_ms;
  r.write = fuzz_u8(&w.in);
  if ((kind & 32) == 0)
    snprintf(r.leader_addr, sizeof(r.leader_addr), "%s", kind & 64 ? "b:2" : "b:1");
  if (kind & 128)
    snprintf(r.successor, sizeof(r.successor), "%s", kind & 64 ? "a" : "c");
  set_object(&r);
}

/* ---- What is checked ---- */

static s3l_ns_t hold(void) {
  return s3l_lease_hold(w.core.config.leader_timeout_ms * S3L_MS, w.core.config.drift_ppm);
}

/* Validity counts from the sending of a write of that very leadership. */
static bool is_earned(s3l_ns_t valid_until, uint64_t epoch) {
  for (unsigned i = 0; i < w.writes_len && i < WRITES_MAX; i++) {
    const write_t* s = &w.writes[i];
    if (s->epoch == epoch && s->at + hold() == valid_until &&
        strcmp(s->incarnation, w.incarnation) == 0)
      return true;
  }
  return false;
}

static void check_note(const s3l_effect_t* e) {
  switch (e->note) {
  case S3L_NOTE_STARTED:
    FUZZ_CHECK(!w.announced && e->epoch > w.epoch_told);
    w.announced = true;
    w.epoch = w.epoch_told = e->epoch;
    break;
  case S3L_NOTE_RENEWED:
    FUZZ_CHECK(w.announced && e->epoch == w.epoch && e->valid_until > w.valid_until);
    break;
  case S3L_NOTE_STOPPED:
    FUZZ_CHECK(w.announced && e->epoch == w.epoch && e->reason != S3L_REASON_NONE);
    FUZZ_CHECK(e->valid_until <= w.valid_until && e->valid_until <= w.now);
    w.announced = false;
    w.valid_until = 0;
    return;
  case S3L_NOTE_NEW_LEADER:
    return;
  case S3L_NOTE_ERROR:
    FUZZ_CHECK(e->error < 0);
    return;
  }
  FUZZ_CHECK(e->valid_until > w.now && is_earned(e->valid_until, e->epoch));
  w.valid_until = e->valid_until;
}

/* A record that is not released is replaced when it has stood for a whole timeout, or when its own
 * leader said that its validity would be over by now. */
static bool may_replace(const s3l_view_t* v) {
  if (v->kind != S3L_VIEW_RECORD || v->own || v->record.released || w.core.config.store_clock)
    return true;
  uint32_t t = w.core.config.leader_timeout_ms;
  if (v->record.leader_timeout_ms > t)
    t = v->record.leader_timeout_ms;
  if (w.now >= v->first_seen + s3l_lease_wait(t * S3L_MS, w.core.config.drift_ppm))
    return true;
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
  FUZZ_CHECK(w.core.op.kind != S3L_OP_TAKE_OVER || may_replace(&w.core.view));
  char body[BODY_MAX];
  FUZZ_CHECK(strcmp(r->incarnation, w.incarnation) == 0 && r->write > w.last_write);
  FUZZ_CHECK(strcmp(r->leader_id, w.core.config.id) == 0);
  FUZZ_CHECK(s3l_record_encode(r, body, sizeof(body)) > 0);
  w.last_write = r->write;
  w.writes[w.writes_len++ % WRITES_MAX] = (write_t){.at = w.now, .epoch = r->epoch};
  write_t* s = &w.writes[(w.writes_len - 1) % WRITES_MAX];
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
    FUZZ_CHECK(w.under_way == NOTHING && e->timeout_ms > 0 && strlen(e->etag) < S3L_ETAG_SIZE);
    w.under_way = e->kind == S3L_DO_READ ? READING : WRITING;
    w.cancelled = false;
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
    FUZZ_CHECK(!w.asking);
    break;
  case S3L_DO_RELEASED:
    FUZZ_CHECK(!w.announced);
    break;
  case S3L_DO_ASK:
    FUZZ_CHECK(w.core.config.peer_mode && !w.asking && e->timeout_ms > 0 && e->wait_ms % 1000 == 0);
    FUZZ_CHECK(!w.announced && w.core.view.kind == S3L_VIEW_RECORD && !w.core.view.own);
    w.asking = true;
    w.ask_cancelled = false;
    break;
  case S3L_DO_ASK_CANCEL:
    FUZZ_CHECK(w.asking && !w.ask_cancelled);
    w.ask_cancelled = true;
    break;
  case S3L_DO_LIST:
  case S3L_DO_SWEEP:
  case S3L_DO_SWEEP_CANCEL:
    FUZZ_CHECK(w.core.config.epochs != NULL);
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

static void step(s3l_event_t* event) {
  char line[S3L_TRACE_SIZE];
  const s3l_core_t* c = &w.core;
  event->wall_ms = w.wall_ms;
  FUZZ_CHECK(s3l_trace_event(event, line, sizeof(line)) < sizeof(line));
  if (event->kind == S3L_EV_DONE)
    w.under_way = NOTHING;
  if (event->kind == S3L_EV_PEER)
    w.asking = false;
  s3l_core_step(&w.core, w.now, event, &w.fx);
  FUZZ_CHECK(w.fx.len <= S3L_EFFECTS_MAX);
  for (size_t i = 0; i < w.fx.len; i++)
    check_effect(&w.fx.at[i]);
  FUZZ_CHECK(s3l_core_deadline(c) > w.now); /* else its executor would spin */
  FUZZ_CHECK((s3l_core_valid_until(c) != 0) == w.announced);
  FUZZ_CHECK(s3l_core_valid_until(c) == w.valid_until);
  FUZZ_CHECK(!w.announced || (w.valid_until > w.now && c->epoch == w.epoch));
  FUZZ_CHECK(!c->leading || (c->view.own && c->view.record.epoch == c->epoch));
  FUZZ_CHECK((c->op.kind != S3L_OP_NONE) == (w.under_way != NOTHING));
  FUZZ_CHECK(c->peer.asking == w.asking);
  check_confirmed();
}

/* ---- Events ---- */

static void tick(void) {
  step(&(s3l_event_t){.kind = S3L_EV_TICK});
}

static void wait_for_deadline(void) {
  s3l_ns_t at = s3l_core_deadline(&w.core);
  if (at == S3L_NEVER)
    return;
  s3l_ns_t before = w.now;
  w.now = at + fuzz_u8(&w.in) * (s3l_ns_t)(100 * 1000);
  w.wall_ms += (w.now - before) / S3L_MS;
  tick();
}

static void wait_a_while(void) {
  s3l_ns_t ms = fuzz_u8(&w.in);
  ms = ms < 128 ? ms : (ms - 127) * (ms - 127);
  w.now += ms * S3L_MS;
  w.wall_ms += ms;
  tick();
}

static void end_request(const s3l_result_t* result) {
  step(&(s3l_event_t){.kind = S3L_EV_DONE, .result = result});
}

static void answer_honestly(void) {
  s3l_result_t r = {.store_time_ms = w.wall_ms, .modified_ms = w.wall_ms - 1000};
  char etag[sizeof(w.object.etag)];
  if (w.under_way == READING) {
    if (!w.object.exists)
      r.status = S3LECT_ENOTFOUND;
    else if (strcmp(w.etag, w.object.etag) == 0)
      r.status = S3LECT_ENOTMODIFIED;
    else
      r.body = (s3l_span_t){w.object.body, w.object.body_len};
  } else if (w.under_way == WRITING) {
    r.status = land();
  } else {
    return;
  }
  if (w.object.exists) {
    snprintf(etag, sizeof(etag), "%s", w.object.etag);
    r.etag = etag;
  }
  end_request(&r);
}

static void lose_reply(void) {
  if (w.under_way == NOTHING)
    return;
  bool writes = w.under_way == WRITING;
  if (writes && fuzz_u8(&w.in) & 1)
    (void)land();
  s3l_result_t r = {.status = S3LECT_ESERVER, .outcome = writes ? S3L_UNCERTAIN : S3L_NOT_APPLIED};
  end_request(&r);
}

static const char* lie_about_etag(char buf[200]) {
  unsigned kind = fuzz_u8(&w.in);
  switch (kind % 6) {
  case 0:
    return NULL;
  case 1:
    return "";
  case 2:
    snprintf(buf, 200, "%s", w.core.view.etag);
    return buf;
  case 3:
    snprintf(buf, 200, "%0*u", 120 + (int)(kind / 16), 7u); /* some are too long */
    return buf;
  default:
    snprintf(buf, 200, "\"e%u\"", kind);
    return buf;
  }
}

static s3l_span_t lie_about_record(char body[BODY_MAX]) {
  s3lect_record_t r;
  memset(&r, 0, sizeof(r));
  unsigned kind = fuzz_u8(&w.in);
  if ((kind & 7) == 7)
    return fuzz_bytes(&w.in, fuzz_u8(&w.in));
  snprintf(r.leader_id, sizeof(r.leader_id), "%s", kind & 1 ? w.core.config.id : "b");
  if (kind & 2)
    snprintf(r.incarnation, sizeof(r.incarnation), "%s", w.core.incarnation);
  r.epoch = kind & 4 ? fuzz_uint(&w.in, 8) >> 1 : w.core.epoch_seen + fuzz_u8(&w.in) % 3 - 1;
  if (r.epoch > UINT64_MAX >> 1)
    r.epoch = 0;
  r.write = kind & 8 ? fuzz_u8(&w.in) : w.core.write;
  r.released = (kind & 16) != 0;
  r.leader_timeout_ms = kind & 32 ? (uint32_t)fuzz_uint(&w.in, 4) % 2419200000u : 0;
  r.renew_interval_ms = kind & 64 ? (uint32_t)fuzz_uint(&w.in, 4) % 2419200000u : 0;
  if (kind & 128)
    snprintf(r.leader_addr, sizeof(r.leader_addr), "b:1");
  return (s3l_span_t){body, s3l_record_encode(&r, body, BODY_MAX)};
}

static void answer_with_lies(void) {
  static const int statuses[] = {0,
                                 S3LECT_ENOTFOUND,
                                 S3LECT_ENOTMODIFIED,
                                 S3LECT_EPRECONDITION,
                                 S3LECT_ECONFLICT,
                                 S3LECT_EDENIED,
                                 S3LECT_ETHROTTLED,
                                 S3LECT_ESERVER,
                                 S3LECT_ETOOBIG,
                                 S3LECT_EETAG,
                                 -110};
  char etag[200];
  char body[BODY_MAX];
  if (w.under_way == NOTHING)
    return;
  s3l_result_t r = {.status = statuses[fuzz_u8(&w.in) % (sizeof(statuses) / sizeof(statuses[0]))],
                    .outcome = (s3l_outcome_t)(fuzz_u8(&w.in) % 3)};
  r.etag = lie_about_etag(etag);
  r.body = lie_about_record(body);
  unsigned times = fuzz_u8(&w.in);
  if (times & 1)
    r.store_time_ms = (int64_t)fuzz_uint(&w.in, 8);
  if (times & 2)
    r.modified_ms = (int64_t)fuzz_uint(&w.in, 8);
  if (times & 4)
    r.retry_after_ms = (uint32_t)fuzz_uint(&w.in, 4);
  if (times & 8)
    r.message = "what the store says";
  end_request(&r);
}

/* ---- The leader in view, or whoever answers in its place ---- */

static void end_ask(const s3l_peer_result_t* r) {
  bool leading = w.core.leading;
  s3l_ns_t valid_until = w.valid_until;
  if (r->kind == S3L_PEER_LEADING && r->authenticated && r->valid_for_ms >= 0 &&
      r->valid_for_ms < INT64_C(10000000000)) {
    word_t* said = &w.words[w.words_len++ % WORDS_MAX];
    said->epoch = r->record->epoch;
    said->write = r->record->write;
    memcpy(said->incarnation, r->record->incarnation, sizeof(said->incarnation));
    s3l_ns_t left = r->valid_for_ms * S3L_MS;
    said->over = w.now + s3l_lease_outlast(left, w.core.config.drift_ppm);
  }
  step(&(s3l_event_t){.kind = S3L_EV_PEER, .peer = r});
  if (w.now < valid_until - S3L_STOP_EARLY) /* else time alone ended it */
    FUZZ_CHECK(w.core.leading == leading && w.valid_until == valid_until);
}

/* What the leader in view might say: its record as it is, or a later one. */
static void answer_ask(void) {
  if (!w.asking)
    return;
  unsigned kind = fuzz_u8(&w.in);
  char etag[32];
  s3lect_record_t record;
  s3l_core_record(&w.core, &record);
  snprintf(record.leader_id, sizeof(record.leader_id), "%s", kind & 64 ? w.core.config.id : "b");
  snprintf(record.leader_addr, sizeof(record.leader_addr), "b:1");
  record.write += kind & 3;
  snprintf(etag, sizeof(etag), "\"p%u\"", (unsigned)record.write);
  s3l_peer_result_t r = {.record = &record,
                         .etag = kind & 3 ? etag : w.core.view.etag,
                         .valid_for_ms = fuzz_u8(&w.in) * 60,
                         .authenticated = (kind & 4) == 0,
                         .held = (kind & 8) != 0};
  if (kind & 16) /* as the Go package does */
    r.valid_for_ms = -1;
  end_ask(&r);
}

static void refuse_ask(void) {
  if (!w.asking)
    return;
  unsigned kind = fuzz_u8(&w.in);
  s3l_peer_result_t r = {.kind = kind & 1 ? S3L_PEER_NOT_LEADING : S3L_PEER_FAILED};
  r.status = kind & 2 ? -104 : 0;
  end_ask(&r);
}

static void answer_ask_with_lies(void) {
  if (!w.asking)
    return;
  char etag[200], body[BODY_MAX];
  s3lect_record_t record;
  unsigned kind = fuzz_u8(&w.in);
  s3l_peer_result_t r = {.record = &record, .etag = lie_about_etag(etag)};
  if (s3l_record_parse(lie_about_record(body), &record) != 0)
    return;
  r.valid_for_ms = kind & 1 ? (int64_t)(fuzz_uint(&w.in, 8) >> 1) : fuzz_u8(&w.in);
  r.authenticated = (kind & 2) != 0;
  r.held = (kind & 4) != 0;
  end_ask(&r);
}

static void transfer(void) {
  if (w.announced)
    step(&(s3l_event_t){.kind = S3L_EV_TRANSFER, .successor = "b"});
}

static void start(void) {
  if (w.core.phase != S3L_PHASE_STOPPED)
    return;
  snprintf(w.incarnation, sizeof(w.incarnation), "%032x", 0x100u + ++w.starts);
  w.last_write = 0;
  step(&(s3l_event_t){.kind = S3L_EV_START, .incarnation = w.incarnation, .seed = fuzz_u8(&w.in)});
}

static void resign(void) {
  if (w.announced)
    step(&(s3l_event_t){.kind = S3L_EV_RESIGN});
}

static void stop(void) {
  s3l_reason_t reason = fuzz_u8(&w.in) & 1 ? S3L_REASON_CLOSED : S3L_REASON_STOPPED;
  step(&(s3l_event_t){.kind = S3L_EV_STOP, .reason = reason});
}

static void acknowledge(void) {
  uint64_t epoch = w.core.unacknowledged;
  /* Mostly of the last leadership, sometimes of the one before. */
  epoch -= epoch > 0 && (fuzz_u8(&w.in) & 3) == 0;
  step(&(s3l_event_t){.kind = S3L_EV_ACK, .epoch = epoch});
}

static void remove_object(void) {
  w.object.exists = false;
}

static void (*const steps[])(void) = {
    start,                /* A, byte: seed */
    wait_for_deadline,    /* B, byte: how late */
    answer_honestly,      /* C */
    wait_a_while,         /* D, byte: how long */
    lose_reply,           /* E, and for a write a byte: whether it landed */
    answer_with_lies,     /* F, status, outcome, etag, record ..., times ... */
    write_of_another,     /* G, byte: what kind, byte: write number */
    resign,               /* H */
    stop,                 /* I, byte: reason */
    acknowledge,          /* J */
    remove_object,        /* K */
    answer_ask,           /* L, byte: what kind, byte: validity left in 60 ms */
    refuse_ask,           /* M, byte: how */
    answer_ask_with_lies, /* N, byte: what kind, etag, record ..., validity ... */
    transfer,             /* O */
};

static s3l_core_config_t configure(unsigned choice) {
  s3l_core_config_t c = {.id = "a",
                         .addr = choice & 1 ? "10.0.0.1:80" : "",
                         .leader_timeout_ms = 15000,
                         .renew_interval_ms = 5000,
                         .frequent_interval_ms = 5000,
                         .infrequent_interval_ms = 30000,
                         .request_timeout_ms = 3000,
                         .release_timeout_ms = 1000,
                         .drift_ppm = 10000};
  if (choice & 2) { /* as short as it may be */
    c.leader_timeout_ms = 1500;
    c.renew_interval_ms = c.frequent_interval_ms = 100;
    c.infrequent_interval_ms = 300;
    c.request_timeout_ms = 100;
  }
  if (choice & 4)
    c.stop_ack_ms = 2000;
  if (choice & 8)
    c.grace_period_ms = 700;
  if (choice & 16)
    c.store_clock = true;
  if (choice & 32)
    c.no_release = true;
  if (choice & 64) {
    c.peer_mode = true;
    c.peer_interval_ms = c.infrequent_interval_ms;
    c.peer_timeout_ms = choice & 2 ? 200 : 3000;
  }
  return c;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  memset(&w, 0, sizeof(w));
  w.in = (fuzz_input_t){data, size};
  w.now = S3L_SECOND;
  w.wall_ms = INT64_C(1730025045000);
  s3l_core_config_t config = configure(fuzz_choice(&w.in, 128));
  s3l_core_init(&w.core, &config);
  start();
  for (int i = 0; i < EVENTS_MAX && w.in.n > 0; i++)
    steps[(unsigned)(uint8_t)(fuzz_u8(&w.in) - 'A') % (sizeof(steps) / sizeof(steps[0]))]();
  return 0;
}
