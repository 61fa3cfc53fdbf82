/* fuzz/core_checks.c: see core_fuzz.h. What the oracle sees holds where nobody lied; these checks
 * and those of sim/core_step.h hold whatever the core is told (core/core.h). */
#include "core/trace.h"
#include "core_fuzz.h"

#define KEPT 64 /* of each list, the last so many */

/* By one who may be believed: of which write, and when its validity has ended, whatever the clocks'
 * rates. */
typedef struct word_s {
  uint64_t epoch, write;
  char incarnation[S3LECT_INCARNATION_SIZE];
  s3l_ns_t over;
} word_t;

typedef struct sent_s {
  s3l_ns_t at;
  uint64_t epoch; /* 0: a list */
  char incarnation[S3LECT_INCARNATION_SIZE];
} sent_t;

static word_t words[KEPT];
static sent_t writes[KEPT], lists[KEPT];
static unsigned words_len, writes_len, lists_len;
static uint64_t epoch_told;

void core_checks_begin(void) {
  memset(words, 0, sizeof(words));
  memset(writes, 0, sizeof(writes));
  memset(lists, 0, sizeof(lists));
  words_len = writes_len = lists_len = 0;
  epoch_told = 0;
}

void core_checks_hear(const s3l_peer_result_t* r) {
  if (r->kind != S3L_PEER_LEADING || !r->authenticated || r->valid_for_ms < 0 ||
      r->valid_for_ms >= INT64_C(10000000000))
    return;
  const sim_node_t* n = &w.nodes[0];
  word_t* said = &words[words_len++ % KEPT];
  *said = (word_t){.epoch = r->record->epoch, .write = r->record->write};
  memcpy(said->incarnation, r->record->incarnation, sizeof(said->incarnation));
  said->over =
      sim_boot(&w, n) + s3l_lease_outlast(r->valid_for_ms * S3L_MS, n->core.config.drift_ppm);
}

static void keep_sent(sent_t* sent, unsigned* len, s3l_ns_t now, uint64_t epoch) {
  sent_t* s = &sent[(*len)++ % KEPT];
  *s = (sent_t){.at = now, .epoch = epoch};
  memcpy(s->incarnation, w.nodes[0].core.incarnation, sizeof(s->incarnation));
}

static bool is_listed_at(s3l_ns_t at) {
  for (unsigned i = 0; i < lists_len && i < KEPT; i++)
    if (lists[i].at == at)
      return true;
  return false;
}

/* Validity counts from the sending of a write of that very leadership; with epoch files from that
 * of a listing if it was sent before. */
static bool is_earned(s3l_ns_t valid_until, uint64_t epoch) {
  const s3l_core_t* c = &w.nodes[0].core;
  s3l_ns_t from =
      valid_until - s3l_lease_hold(c->config.leader_timeout_ms * S3L_MS, c->config.drift_ppm);
  for (unsigned i = 0; i < writes_len && i < KEPT; i++) {
    const sent_t* s = &writes[i];
    if (s->epoch == epoch && (s->at == from || (s->at > from && is_listed_at(from))) &&
        strcmp(s->incarnation, c->incarnation) == 0)
      return true;
  }
  return false;
}

/* A record that is not released is replaced when it has stood for a whole timeout, or when its own
 * leader said that its validity would be over by now. */
static bool may_replace(const s3l_core_t* c, s3l_ns_t now) {
  const s3l_observation_t* v = &c->observed;
  if (v->kind != S3L_OBSERVED_RECORD || v->own || v->record.released || c->config.store_clock)
    return true;
  uint32_t t = c->config.leader_timeout_ms;
  if (v->record.leader_timeout_ms > t)
    t = v->record.leader_timeout_ms;
  if (now >= v->first_seen + s3l_lease_wait(t * S3L_MS, c->config.drift_ppm))
    return true;
  if (w.plan->epochs)
    return false; /* whatever a peer says */
  for (unsigned i = 0; i < words_len && i < KEPT; i++) {
    const word_t* said = &words[i];
    if (said->epoch == v->record.epoch && said->write == v->record.write &&
        strcmp(said->incarnation, v->record.incarnation) == 0 && now >= said->over)
      return true;
  }
  return words_len > KEPT; /* some are forgotten */
}

static void check_note(const s3l_effect_t* e) {
  if (e->note == S3LECT_EVENT_STARTED_LEADING) {
    FUZZ_CHECK(e->epoch > epoch_told);
    epoch_told = e->epoch;
  }
  if (e->note == S3LECT_EVENT_STARTED_LEADING || e->note == S3LECT_EVENT_RENEWED)
    FUZZ_CHECK(is_earned(e->valid_until, e->epoch));
  else if (e->note == S3LECT_EVENT_STOPPED_LEADING)
    FUZZ_CHECK(e->valid_until <= w.oracle.nodes[0].promised);
}

void core_checks_step(sim_world_t* world, unsigned node, const s3l_event_t* event) {
  const s3l_core_t* c = &world->nodes[node].core;
  s3l_ns_t now = c->now;
  char line[S3L_TRACE_SIZE];
  FUZZ_CHECK(s3l_trace_event(event, line, sizeof(line)) < sizeof(line));
  for (size_t i = 0; i < w.effects.len; i++) {
    const s3l_effect_t* e = &w.effects.at[i];
    FUZZ_CHECK(s3l_trace_effect(e, &w.effects.record, now, line, sizeof(line)) < sizeof(line));
    if (e->kind == S3L_DO_NOTIFY)
      check_note(e);
    if (e->kind == S3L_DO_LIST)
      keep_sent(lists, &lists_len, now, 0);
    if (e->kind == S3L_DO_WRITE) {
      FUZZ_CHECK(c->op.kind != S3L_OP_TAKE_OVER || may_replace(c, now));
      keep_sent(writes, &writes_len, now, w.effects.record.epoch);
    }
  }
}

#define CHECK_BIT(name) (1u << ORACLE_##name)

void core_checks_oracle(void) {
  unsigned always = CHECK_BIT(PAIRING) | CHECK_BIT(STOP_LATE) | CHECK_BIT(RESURRECTED) |
                    CHECK_BIT(RELEASE_ACK) | CHECK_BIT(READ_BACK) | CHECK_BIT(WRITE_NUMBER) |
                    CHECK_BIT(CONTRACT);
  for (int i = 0; i < ORACLE_CHECKS_END; i++)
    if (w.oracle.violations[i].found && (!lied || (always & (1u << i)) != 0)) {
      fprintf(stderr, "%s: %s\n", oracle_check_name((oracle_check_t)i),
              w.oracle.violations[i].text);
      abort();
    }
}
