/* world/told.c: see told.h. */
#include "world/told.h"

#include <inttypes.h>
#include <string.h>

#include "world/judge.h"
#include "world/situations.h"
#include "world/value.h"

/* How late an application may be told, beyond the instant that a timer of whole ms can meet. */
#define LATE_NS (30 * WORLD_MS)

/* An error that repeats is told again after ten seconds at the earliest, of whole ones. */
#define REPEAT_NS (8 * WORLD_S)

/* Leadership ends so long before its validity. */
#define EARLY_NS (5 * WORLD_MS)

/* ---- In time ---- */

/* Whether the process ran all the time, up to now. */
static bool ran(const world_life_t* l) {
  return world.now > l->node->blocked_until + WORLD_MS;
}

static void check_end(const world_life_t* l, const char* when) {
  int64_t late = world_lease_ns(l->host) - l->promised;
  if (l->started && late > LATE_NS && ran(l))
    oracle_fail(&election.oracle, ORACLE_STOP_LATE, world.now, l->node->index, -1,
                "%s: %s, %.3f ms after the end of validity", l->node->name, when,
                (double)late / 1e6);
}

static void check_warned(const world_life_t* l, const char* when) {
  const oracle_node_t* n = &election.oracle.nodes[l->node->index];
  int64_t from = n->promised - EARLY_NS - n->config.warn_before_ms * WORLD_MS;
  int64_t late = world_lease_ns(l->host) - (from > n->told_at ? from : n->told_at);
  if (n->config.warn_before_ms > 0 && n->started && !n->warned && late > LATE_NS && ran(l))
    oracle_fail(&election.oracle, ORACLE_WARNING, world.now, l->node->index, -1,
                "%s: %s, %.3f ms after a warning was due", l->node->name, when, (double)late / 1e6);
}

void world_told_turn(const world_life_t* l) {
  check_end(l, "nothing was told");
  check_warned(l, "nothing was told");
  oracle_told(&election.oracle, l->node->index, world.now);
}

/* ---- Values ---- */

static bool is_published(const char* text, uint64_t epoch, char key[ORACLE_VALUE_SIZE]) {
  if (!world_value_key(key, text))
    world_broken("a value that nobody set: %.60s", text);
  return text[0] == '\0' || oracle_value_is_written(&election.oracle, epoch, key);
}

/* What an event and the status say of the leader is from one record, which its leader wrote. */
static void check_value(world_life_t* l, const s3lect_event_t* e) {
  s3lect_status_t status;
  bool leads;
  char key[ORACLE_VALUE_SIZE];
  if (!world_judge_status(l, &status, &leads))
    return;
  uint64_t epoch = status.record.epoch;
  if (!is_published(e->value, epoch, key) || !is_published(status.record.value, epoch, key))
    oracle_fail(&election.oracle, ORACLE_VALUE, world.now, l->node->index, -1,
                "%s sees the value %s under epoch %" PRIu64 ", which nobody wrote", l->node->name,
                key, epoch);
  if (e->kind == S3LECT_EVENT_NO_LEADER && (e->value[0] != '\0' || e->leader_id[0] != '\0'))
    world_broken("%s is told that nobody leads, and of %s", l->node->name, e->leader_id);
}

static void meet_value(const world_life_t* l, const s3lect_event_t* e) {
  const oracle_node_t* n = &election.oracle.nodes[l->node->index];
  if (!oracle_believes(&election.oracle, l->node->index, world.now))
    world_meet(l->by_peer ? WORLD_MET_VALUE_BY_PEER : WORLD_MET_VALUE_READ);
  if (e->value[0] == '\0' && n->value_epoch != e->epoch)
    world_meet(WORLD_MET_VALUE_ENDED);
  if (strlen(e->value) > S3LECT_VALUE_SIZE / 2)
    world_meet(WORLD_MET_VALUE_LONG);
}

/* ---- Errors ---- */

/* What an operator needs to know is in what he is told. */
static void check_told(world_life_t* l, const s3lect_event_t* e) {
  if (e->error == S3LECT_EDUPID && strstr(e->message, "process at 10.0.0.") == NULL)
    world_broken("%s is not told which process has its ID: %s", l->node->name, e->message);
  l->timeouts_told = l->timeouts_told || e->error == S3LECT_ETIMING;
  l->release_open = l->release_open && e->error != S3LECT_ERELEASE;
  if (e->error == S3LECT_ERECORD)
    world_broken("%s calls a good record damaged: %s", l->node->name, e->message);
  if (e->error == S3LECT_EUNSAFE)
    world_broken("%s calls a good store unsafe: %s", l->node->name, e->message);
  if (e->error == S3LECT_EPEER && strstr(e->message, "contradicts") != NULL)
    world_broken("%s calls a good leader a liar: %s", l->node->name, e->message);
}

/* An error that goes on is told again after a while only. */
static void check_repeat(world_life_t* l, const s3lect_event_t* e) {
  /* These are told of each leader, of each release that is given up, and each time that peer mode
   * stops to work. */
  if (e->error == S3LECT_ETIMING || e->error == S3LECT_EDUPID || e->error == S3LECT_ERELEASE ||
      strstr(e->message, ":8443") != NULL || strstr(e->message, "peer address") != NULL ||
      strstr(e->message, "address in the record") != NULL)
    return;
  uint64_t what = (uint64_t)-e->error;
  for (const char* p = e->message; *p != '\0'; p++)
    what = *p >= '0' && *p <= '9' ? what : what * 31 + (unsigned char)*p;
  int64_t now = world_lease_ns(l->host);
  if (what == l->error && now - l->error_at < REPEAT_NS)
    world_broken("%s is told the same again within %.3f s: %s", l->node->name,
                 (double)(now - l->error_at) / 1e9, e->message);
  l->error = what;
  l->error_at = now;
}

static void meet_error(int error) {
  if (error == S3LECT_EREDIRECT)
    world_meet(WORLD_MET_REDIRECTED);
  else if (error == S3LECT_ECREDENTIALS)
    world_meet(WORLD_MET_KEYS_LATE);
  else if (error == S3LECT_ERELEASE)
    world_meet(WORLD_MET_RELEASE_LOST);
  else if (error == S3LECT_EDUPID)
    world_meet(WORLD_MET_DUPLICATE);
}

/* ---- Events ---- */

static void note(world_life_t* l, oracle_note_kind_t kind, const s3lect_event_t* e) {
  char key[ORACLE_VALUE_SIZE];
  (void)world_value_key(key, e->value);
  oracle_note_t n = {.kind = kind,
                     .epoch = e->epoch,
                     .valid_until = e->valid_until_ns,
                     .leader_id = e->leader_id,
                     .value = key,
                     .stood_still = l->node->blocked_until >= world.now};
  oracle_blocked(&election.oracle, l->node->index, world.now);
  world_judge_look(l);
  oracle_note(&election.oracle, l->node->index, world.now, &n);
}

static void on_started(world_life_t* l, const s3lect_event_t* e) {
  note(l, ORACLE_STARTED, e);
  l->started = true;
  l->epoch = e->epoch;
  l->promised = e->valid_until_ns;
  election.counters.leaderships++;
  if (l->config.priority == 1)
    world_meet(WORLD_MET_LOW_PRIORITY);
}

static void on_renewed(world_life_t* l, const s3lect_event_t* e) {
  if (election.oracle.nodes[l->node->index].warned)
    world_meet(WORLD_MET_WARNED_RENEWED);
  note(l, ORACLE_RENEWED, e);
  l->promised = e->valid_until_ns;
  election.counters.renewals++;
}

static void on_stopped(world_life_t* l, const s3lect_event_t* e) {
  bool expired = e->reason == S3LECT_REASON_EXPIRED;
  check_end(l, "stopped was told");
  check_warned(l, "stopped was told");
  if (world_lease_ns(l->host) > l->promised + WORLD_S)
    world_meet(WORLD_MET_STOPPED_LATE);
  if (expired && election.oracle.nodes[l->node->index].warned)
    world_meet(WORLD_MET_WARNED_ENDED);
  if (expired && l->config.renew_deadline_ms > 0)
    world_meet(WORLD_MET_DEADLINE);
  note(l, ORACLE_STOPPED, e);
  l->started = false;
  if (l->node->config.stop_ack_ms > 0)
    world_event_set(&l->ack, world.now + l->node->config.ack_delay_ms * WORLD_MS);
}

static void on_expiring(world_life_t* l, const s3lect_event_t* e) {
  check_warned(l, "a warning was told");
  bool over = world_lease_ns(l->host) >= l->promised && ran(l);
  if (e->valid_until_ns != l->promised || over)
    world_broken("%s is warned of an end %s", l->node->name,
                 over ? "that has come" : "that is not the one of its validity");
  note(l, ORACLE_EXPIRING, e);
}

static void on_new_leader(world_life_t* l, const s3lect_event_t* e) {
  const oracle_node_t* n = &election.oracle.nodes[l->node->index];
  if (n->leader_epoch == 0 && n->leaderless && e->epoch == l->absent_epoch)
    world_meet(WORLD_MET_RETURNED);
  note(l, ORACLE_NEW_LEADER, e);
}

static void on_error(world_life_t* l, const s3lect_event_t* e) {
  election.counters.errors++;
  check_told(l, e);
  check_repeat(l, e);
  meet_error(e->error);
}

void world_told_event(world_life_t* l, const s3lect_event_t* e) {
  if (!l->has_elector)
    world_broken("%s: event %d after its elector was closed", l->node->name, e->kind);
  if (l->ghost)
    return;
  world_log("%s: %s epoch %" PRIu64 " %s%s", l->node->name, s3lect_event_name(e->kind), e->epoch,
            e->kind == S3LECT_EVENT_NEW_LEADER ? e->leader_id : "", e->message);
  check_value(l, e);
  switch (e->kind) {
  case S3LECT_EVENT_STARTED_LEADING:
    on_started(l, e);
    break;
  case S3LECT_EVENT_RENEWED:
    on_renewed(l, e);
    break;
  case S3LECT_EVENT_STOPPED_LEADING:
    on_stopped(l, e);
    break;
  case S3LECT_EVENT_EXPIRING:
    on_expiring(l, e);
    break;
  case S3LECT_EVENT_NEW_LEADER:
    on_new_leader(l, e);
    break;
  case S3LECT_EVENT_NO_LEADER:
    l->absent_epoch = e->epoch;
    note(l, ORACLE_NO_LEADER, e);
    break;
  case S3LECT_EVENT_VALUE:
    meet_value(l, e);
    note(l, ORACLE_VALUE_TOLD, e);
    break;
  case S3LECT_EVENT_ERROR:
    on_error(l, e);
    break;
  default:
    break;
  }
}

/* ---- All is well ---- */

static void check_known(world_life_t* l, const world_life_t* leader, const char* text) {
  const oracle_node_t* n = &election.oracle.nodes[l->node->index];
  s3lect_status_t status;
  bool leads;
  char key[ORACLE_VALUE_SIZE];
  (void)world_value_key(key, text);
  if (!world_judge_status(l, &status, &leads))
    return;
  if (strcmp(status.record.value, text) != 0 || strcmp(n->value, key) != 0)
    world_broken("%s publishes %s; %s sees %.20s, and was told %s", leader->node->name, key,
                 l->node->name, status.record.value, n->value);
  if (strcmp(status.record.leader_addr, leader->addr) != 0)
    world_broken("%s is at %s; %s knows %s", leader->node->name, leader->addr, l->node->name,
                 status.record.leader_addr);
}

void world_told_all(const world_life_t* leader) {
  char text[S3LECT_VALUE_SIZE];
  world_value_text(text, leader->node->index, leader->number, leader->values);
  for (int i = 0; i < election.nodes_len; i++)
    if (election.nodes[i].life != NULL)
      check_known(election.nodes[i].life, leader, text);
}
