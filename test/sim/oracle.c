#include "sim/oracle.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MS INT64_C(1000000)
/* Leadership ends so long before validity. */
#define STOP_EARLY (5 * MS)

static const struct {
  const char* name;
  const char* meaning;
} checks[] = {
#define XX(name, text, what) {text, what},
    ORACLE_CHECKS(XX)
#undef XX
};

const char* oracle_check_name(oracle_check_t check) {
  return checks[check].name;
}

const char* oracle_check_meaning(oracle_check_t check) {
  return checks[check].meaning;
}

void oracle_fail(oracle_t* o, oracle_check_t check, int64_t t, int node, int other,
                 const char* format, ...) {
  oracle_violation_t* v = &o->violations[check];
  if (v->found)
    return;
  o->found |= 1u << check;
  v->found = true;
  v->at = t;
  v->node = node;
  v->other = other;
  va_list args;
  va_start(args, format);
  vsnprintf(v->text, sizeof v->text, format, args);
  va_end(args);
}

void oracle_init(oracle_t* o, int nodes, int64_t (*boot)(void* ctx, int node, int64_t t),
                 void* ctx) {
  memset(o, 0, sizeof *o);
  o->nodes_len = nodes;
  o->boot = boot;
  o->ctx = ctx;
}

void oracle_set_config(oracle_t* o, int node, const oracle_config_t* config) {
  o->nodes[node].config = *config;
}

bool oracle_believes(const oracle_t* o, int node, int64_t t) {
  const oracle_node_t* n = &o->nodes[node];
  return n->exists && n->valid_until > 0 && o->boot(o->ctx, node, t) < n->valid_until;
}

/* Processes. */

void oracle_begins(oracle_t* o, int node, int64_t t) {
  oracle_node_t* n = &o->nodes[node];
  oracle_config_t config = n->config;
  uint32_t life = n->life;
  if (n->exists)
    oracle_fail(o, ORACLE_CONTRACT, t, node, -1, "n%d begins while it exists", node);
  memset(n, 0, sizeof *n);
  n->config = config;
  n->life = life + 1;
  n->exists = true;
}

/* When a leader whose validity ends at `promised` is to be warned, by its own clock. */
static int64_t warn_at(const oracle_node_t* n) {
  return n->promised - STOP_EARLY - n->config.warn_before_ms * MS;
}

/* A timer may be late by as much as leadership ends early. */
static void check_warned(oracle_t* o, int node, int64_t t) {
  const oracle_node_t* n = &o->nodes[node];
  if (!n->started || n->warned || n->config.warn_before_ms == 0 || t <= n->blocked)
    return;
  int64_t from = warn_at(n) > n->told_at ? warn_at(n) : n->told_at;
  int64_t late = o->boot(o->ctx, node, t) - from;
  if (late >= STOP_EARLY)
    oracle_fail(o, ORACLE_WARNING, t, node, -1,
                "n%d: a warning of the end of epoch %" PRIu64 " is %.3f ms late", node, n->epoch,
                (double)late / 1e6);
}

static void note_expiring(oracle_t* o, int node, int64_t t) {
  oracle_node_t* n = &o->nodes[node];
  check_warned(o, node, t);
  bool early = o->boot(o->ctx, node, t) < warn_at(n);
  bool over = !oracle_believes(o, node, t) && t > n->blocked;
  if (!n->started || n->warned || n->config.warn_before_ms == 0 || early || over)
    oracle_fail(o, ORACLE_WARNING, t, node, -1, "n%d is warned of an end%s", node,
                !n->started ? ", and does not lead"
                : n->warned ? " once more"
                : over      ? " that has come"
                            : " too early");
  if (o->quiet)
    oracle_fail(o, ORACLE_LIVENESS, t, node, -1, "n%d is warned of an end in a quiet spell", node);
  n->warned = true;
}

/* Stopped must have been told by the end of validity, unless the process could not run. */
static void check_stop_told(oracle_t* o, int node, int64_t t) {
  const oracle_node_t* n = &o->nodes[node];
  if (!n->exists || !n->started || t <= n->blocked)
    return;
  int64_t now = o->boot(o->ctx, node, t);
  if (now >= n->promised)
    oracle_fail(o, ORACLE_STOP_LATE, t, node, -1,
                "n%d: validity of epoch %" PRIu64 " ended %.3f ms ago, stopped was not told", node,
                n->epoch, (double)(now - n->promised) / 1e6);
}

void oracle_dies(oracle_t* o, int node, int64_t t) {
  check_stop_told(o, node, t);
  o->nodes[node].exists = false;
  o->nodes[node].valid_until = 0;
}

void oracle_stands(oracle_t* o, int node) {
  o->nodes[node].leaderless = false;
}

void oracle_blocked(oracle_t* o, int node, int64_t until) {
  if (until > o->nodes[node].blocked)
    o->nodes[node].blocked = until;
}

void oracle_beyond(oracle_t* o, int node, int64_t until) {
  o->nodes[node].beyond = until;
}

/* Validity. */

static void check_exclusion(oracle_t* o, int node, int64_t t) {
  for (int m = 0; m < o->nodes_len && t >= o->nodes[node].beyond; m++)
    if (m != node && t >= o->nodes[m].beyond && oracle_believes(o, m, t))
      oracle_fail(o, ORACLE_EXCLUSION, t, node, m,
                  "n%d says that it is leader, and so does n%d, for another %.3f s", node, m,
                  (double)(o->nodes[m].valid_until - o->boot(o->ctx, m, t)) / 1e9);
}

void oracle_valid(oracle_t* o, int node, int64_t t, int64_t valid_until) {
  oracle_node_t* n = &o->nodes[node];
  int64_t before = n->valid_until;
  if (n->started)
    check_stop_told(o, node, t);
  if (valid_until == before)
    return;
  int64_t now = o->boot(o->ctx, node, t);
  n->valid_until = valid_until;
  if (valid_until <= now)
    return;
  if (before > 0 && now >= before && n->started)
    oracle_fail(o, ORACLE_RESURRECTED, t, node, -1,
                "n%d: validity of epoch %" PRIu64 " was renewed %.3f ms after its end", node,
                n->epoch, (double)(now - before) / 1e6);
  int64_t early = n->config.renew_deadline_ms * MS - STOP_EARLY;
  if (valid_until > n->carried - (early > 0 ? early : 0))
    oracle_fail(o, ORACLE_LEASE, t, node, -1,
                "n%d: validity is %.3f ms longer than its landed writes carry", node,
                (double)(valid_until - n->carried) / 1e6);
  check_exclusion(o, node, t);
}

/* Notifications. */

static void note_started(oracle_t* o, int node, int64_t t, const oracle_note_t* note) {
  oracle_node_t* n = &o->nodes[node];
  if (n->started)
    oracle_fail(o, ORACLE_PAIRING, t, node, -1, "n%d: started twice", node);
  bool late = o->boot(o->ctx, node, t) >= note->valid_until;
  /* Others may have led since: it stood still, and stopped is told next; or its virtual machine was
   * paused, which its clock does not show. */
  bool excused = (late && note->stood_still) || t < n->beyond;
  if (late && !excused)
    oracle_fail(o, ORACLE_PAIRING, t, node, -1, "n%d: started after validity", node);
  if (note->epoch <= o->epoch_released && !excused)
    oracle_fail(o, ORACLE_RELEASE, t, node, -1,
                "n%d: epoch %" PRIu64 " starts, but %" PRIu64 " was released", node, note->epoch,
                o->epoch_released);
  if (note->epoch < o->epoch_started && !excused)
    oracle_fail(o, ORACLE_EPOCH_ORDER, t, node, -1, "n%d: epoch %" PRIu64 " starts after %" PRIu64,
                node, note->epoch, o->epoch_started);
  else if (note->epoch == o->epoch_started)
    oracle_fail(o, ORACLE_EPOCH_SHARED, t, node, -1, "n%d: epoch %" PRIu64 " starts once more",
                node, note->epoch);
  else if (note->epoch > o->epoch_started)
    o->epoch_started = note->epoch;
  n->started = true;
  n->warned = false;
  n->leaderless = false;
  n->epoch = note->epoch;
  n->promised = note->valid_until;
  n->told_at = o->boot(o->ctx, node, t);
  o->leaderships++;
  if (o->quiet)
    oracle_fail(o, ORACLE_LIVENESS, t, node, -1, "n%d: became leader in a quiet spell", node);
}

static void note_renewed(oracle_t* o, int node, int64_t t, const oracle_note_t* note) {
  oracle_node_t* n = &o->nodes[node];
  if (!n->started || note->epoch != n->epoch || note->valid_until <= n->promised)
    oracle_fail(o, ORACLE_PAIRING, t, node, -1,
                "n%d: epoch %" PRIu64 " renewed by %.3f ms while %s %" PRIu64, node, note->epoch,
                (double)(note->valid_until - n->promised) / 1e6,
                n->started ? "leading" : "no longer leading", n->epoch);
  check_warned(o, node, t);
  n->promised = note->valid_until;
  n->told_at = o->boot(o->ctx, node, t);
  n->warned = false;
}

static void note_stopped(oracle_t* o, int node, int64_t t, const oracle_note_t* note) {
  oracle_node_t* n = &o->nodes[node];
  if (!n->started || note->epoch != n->epoch)
    oracle_fail(o, ORACLE_PAIRING, t, node, -1, "n%d: epoch %" PRIu64 " stopped while %s %" PRIu64,
                node, note->epoch, n->started ? "leading" : "no longer leading", n->epoch);
  if (n->started && t > n->blocked && o->boot(o->ctx, node, t) >= n->promised)
    oracle_fail(o, ORACLE_STOP_LATE, t, node, -1, "n%d: stopped was told %.3f ms after validity",
                node, (double)(o->boot(o->ctx, node, t) - n->promised) / 1e6);
  if (oracle_believes(o, node, t))
    oracle_fail(o, ORACLE_PAIRING, t, node, -1, "n%d: stopped was told, yet is_leader", node);
  check_warned(o, node, t);
  n->started = false;
  n->ack_owed = n->ack_owed || n->config.stop_ack_ms > 0;
  if (o->quiet)
    oracle_fail(o, ORACLE_LIVENESS, t, node, -1, "n%d: lost leadership in a quiet spell", node);
}

static void note_no_leader(oracle_t* o, int node, int64_t t) {
  oracle_node_t* n = &o->nodes[node];
  if (n->started || n->leaderless)
    oracle_fail(o, ORACLE_PAIRING, t, node, -1, "n%d is told that nobody leads%s", node,
                n->started ? ", and leads itself" : ", once more");
  n->leaderless = true;
  n->leader_epoch = 0;
  if (o->quiet)
    oracle_fail(o, ORACLE_LIVENESS, t, node, -1, "n%d: no leader is known in a quiet spell", node);
}

static bool is_known_name(const oracle_t* o, const char* name) {
  for (size_t i = 0; i < o->names_len; i++)
    if (strcmp(o->names[i], name) == 0)
      return true;
  return false;
}

static bool is_claim(const oracle_t* o, const oracle_note_t* note) {
  for (size_t i = 0; i < ORACLE_CLAIMS; i++)
    if (o->claims[i].epoch == note->epoch && strcmp(o->claims[i].name, note->leader_id) == 0)
      return true;
  return false;
}

void oracle_note(oracle_t* o, int node, int64_t t, const oracle_note_t* note) {
  switch (note->kind) {
  case ORACLE_STARTED:
    note_started(o, node, t, note);
    break;
  case ORACLE_STOPPED:
    note_stopped(o, node, t, note);
    break;
  case ORACLE_RENEWED:
    note_renewed(o, node, t, note);
    break;
  case ORACLE_NEW_LEADER:
    o->nodes[node].leaderless = false;
    o->nodes[node].leader_epoch = note->epoch;
    if (!is_known_name(o, note->leader_id))
      oracle_fail(o, ORACLE_LEADER_NAME, t, node, -1, "n%d: %s leads, it is told", node,
                  note->leader_id);
    if (is_claim(o, note))
      oracle_fail(o, ORACLE_LEADER_NAME, t, node, -1, "n%d: %s leads, it is told, by a claim", node,
                  note->leader_id);
    break;
  case ORACLE_NO_LEADER:
    note_no_leader(o, node, t);
    break;
  case ORACLE_EXPIRING:
    note_expiring(o, node, t);
    break;
  case ORACLE_VALUE_TOLD:
    oracle_value_note(o, node, t, note);
    break;
  case ORACLE_ERROR:
  case ORACLE_CLAIMING:
    break;
  }
}

void oracle_acknowledged(oracle_t* o, int node) {
  o->nodes[node].ack_owed = false;
}

/* Requests. */

void oracle_read_sent(oracle_t* o, int node, int64_t t) {
  (void)t;
  o->nodes[node].reads++;
  o->nodes[node].read_back_sent = true;
}

void oracle_read_done(oracle_t* o, int node, bool told) {
  oracle_node_t* n = &o->nodes[node];
  if (told && n->read_back_sent)
    n->uncertain = false;
  n->read_back_sent = false;
}

void oracle_looked(oracle_t* o, int node, int64_t at) {
  o->nodes[node].looked_at = at;
}

static void check_release(oracle_t* o, int64_t t, int node) {
  const oracle_node_t* n = &o->nodes[node];
  if (n->started || oracle_believes(o, node, t))
    oracle_fail(o, ORACLE_RELEASE, t, node, -1,
                "n%d: a lease is released, stopped was not told yet", node);
  if (n->ack_owed)
    oracle_fail(o, ORACLE_RELEASE_ACK, t, node, -1,
                "n%d: a lease is released, the end of %" PRIu64 " is not acknowledged", node,
                n->epoch);
}

static void check_read_back(oracle_t* o, int64_t t, int node, uint64_t number) {
  const oracle_node_t* n = &o->nodes[node];
  if (n->uncertain)
    oracle_fail(o, ORACLE_READ_BACK, t, node, -1,
                "n%d: write %" PRIu64 " is sent, the outcome of %" PRIu64 " is unknown", node,
                number, n->number);
}

static void take_number(oracle_t* o, int64_t t, int node, uint64_t incarnation, uint64_t number) {
  oracle_node_t* n = &o->nodes[node];
  if (incarnation == n->incarnation && number <= n->number)
    oracle_fail(o, ORACLE_WRITE_NUMBER, t, node, -1,
                "n%d: write number %" PRIu64 " follows %" PRIu64, node, number, n->number);
  n->incarnation = incarnation;
  n->number = number;
}

void oracle_candidacy_said(oracle_t* o, int64_t t, int node, uint64_t incarnation,
                           uint64_t number) {
  take_number(o, t, node, incarnation, number);
}

void oracle_grant_sent(oracle_t* o, int64_t t, int by, const oracle_write_t* w) {
  o->nodes[by].writes++;
  check_read_back(o, t, by, w->number);
  check_release(o, t, by);
  if (w->released || w->claims || (w->value != NULL && w->value[0] != '\0'))
    oracle_fail(o, ORACLE_CONTRACT, t, by, w->node, "n%d grants what nobody can lead by", by);
}

void oracle_write_sent(oracle_t* o, int64_t t, const oracle_write_t* w) {
  oracle_node_t* n = &o->nodes[w->node];
  n->writes++;
  check_read_back(o, t, w->node, w->number);
  take_number(o, t, w->node, w->incarnation, w->number);
  oracle_value_sent(o, w);
  if (w->released)
    check_release(o, t, w->node);
}

void oracle_write_done(oracle_t* o, int node, bool uncertain) {
  o->nodes[node].uncertain = uncertain;
}

static void learn_name(oracle_t* o, const char* name) {
  if (name[0] == '\0' || is_known_name(o, name) || o->names_len == ORACLE_NAMES_MAX)
    return;
  snprintf(o->names[o->names_len++], ORACLE_NAME_SIZE, "%s", name);
}

static void learn_claim(oracle_t* o, const oracle_write_t* w) {
  size_t i = o->claims_len % ORACLE_CLAIMS;
  if (!w->claims)
    return;
  o->claims[i].epoch = w->epoch;
  snprintf(o->claims[i].name, ORACLE_NAME_SIZE, "%s", w->leader_id);
  o->claims_len++;
}

/* A named successor goes first: for as long as the one who came before it must wait by its own
 * options, on whatever clock. */
static void check_first(oracle_t* o, int64_t t, const oracle_write_t* w) {
  const oracle_config_t* c = &o->nodes[w->node].config;
  int64_t ms = c->leader_timeout_ms / 2 < 2000 ? c->leader_timeout_ms / 2 : 2000;
  int64_t least = ms * MS - ms * c->drift_ppm;
  if (strcmp(w->leader_id, o->successor) != 0 && t - o->successor_since < least)
    oracle_fail(o, ORACLE_HEAD_START, t, w->node, -1, "n%d took over %.3f ms after %s was named",
                w->node, (double)(t - o->successor_since) / 1e6, o->successor);
}

static void name_successor(oracle_t* o, int64_t t, const char* id) {
  snprintf(o->successor, sizeof o->successor, "%s", id);
  o->successor_since = t;
}

/* Who replaces a released lockfile has seen the release. */
static void check_priority(oracle_t* o, int64_t t, const oracle_write_t* w) {
  const oracle_config_t* c = &o->nodes[w->node].config;
  int64_t least = c->head_start - c->head_start / 1000000 * c->drift_ppm;
  bool own = w->incarnation == o->released_by || strcmp(w->leader_id, o->successor) == 0;
  if (o->released_since != 0 && !own && t - o->released_since < least)
    oracle_fail(o, ORACLE_HEAD_START, t, w->node, -1,
                "n%d took over %.3f ms after a release, not %.3f by its priority", w->node,
                (double)(t - o->released_since) / 1e6, (double)least / 1e6);
}

static void check_head_start(oracle_t* o, int64_t t, const oracle_write_t* w) {
  if (o->successor[0] != '\0' && w->node >= 0 && !w->released)
    check_first(o, t, w);
  if (w->node >= 0 && !w->released)
    check_priority(o, t, w);
  o->released_since = w->node >= 0 && w->released ? t : 0;
  o->released_by = w->incarnation;
  name_successor(o, t, w->released && w->successor != NULL ? w->successor : "");
}

/* Creating a file is no swap on the one before: who last looked at that before its release landed
 * may be on his way, as he might have been without it. Who saw the release is bound by it. Only the
 * release of the newest file invites, and it may land twice. */
static void check_head_start_of_file(oracle_t* o, int64_t t, const oracle_write_t* w) {
  if (w->epoch > o->epoch_newest) {
    if (o->successor[0] != '\0' && w->node >= 0 && w->looked_at >= o->successor_since)
      check_first(o, t, w);
    o->epoch_newest = w->epoch;
    name_successor(o, t, "");
  }
  if (w->epoch == o->epoch_newest && w->released && w->successor != NULL &&
      strcmp(w->successor, o->successor) != 0)
    name_successor(o, t, w->successor);
}

void oracle_write_landed(oracle_t* o, int64_t t, const oracle_write_t* w) {
  learn_name(o, w->leader_id);
  learn_claim(o, w);
  if (o->epochs)
    check_head_start_of_file(o, t, w);
  else
    check_head_start(o, t, w);
  uint64_t replaced = o->epoch_stands;
  uint64_t replaced_by = o->epoch_stands_by;
  o->epoch_stands = w->node < 0 ? 0 : w->epoch;
  o->epoch_stands_by = w->incarnation;
  if (w->node < 0)
    return;
  oracle_node_t* n = &o->nodes[w->node];
  if (o->epochs)
    replaced = 0;
  if (w->epoch < replaced)
    oracle_fail(o, ORACLE_EPOCH_ORDER, t, w->node, -1,
                "n%d: a record of epoch %" PRIu64 " replaces one of %" PRIu64, w->node, w->epoch,
                replaced);
  else if (w->epoch == replaced && w->incarnation != replaced_by)
    oracle_fail(o, ORACLE_EPOCH_SHARED, t, w->node, -1,
                "n%d: a record of epoch %" PRIu64 " replaces another's of that epoch", w->node,
                w->epoch);
  if (w->released) {
    if (w->epoch > o->epoch_released)
      o->epoch_released = w->epoch;
    return;
  }
  /* T * (1 - drift): ms times 10^6, by ppm. */
  int64_t hold = (int64_t)n->config.leader_timeout_ms * (1000000 - n->config.drift_ppm);
  if (w->life == n->life && w->sent_boot + hold > n->carried)
    n->carried = w->sent_boot + hold;
}

void oracle_deleted(oracle_t* o) {
  o->epoch_stands = 0;
  o->released_since = 0;
  o->successor[0] = '\0';
}

/* Quiet spells: liveness and what it costs. */

static int believers(const oracle_t* o, int64_t t, int* who) {
  int count = 0;
  for (int i = 0; i < o->nodes_len; i++)
    if (oracle_believes(o, i, t)) {
      count++;
      *who = i;
    }
  return count;
}

void oracle_quiet_begins(oracle_t* o, int64_t t) {
  int leader = -1;
  o->quiet = true;
  o->quiet_from = t;
  for (int i = 0; i < o->nodes_len; i++) {
    o->nodes[i].reads = 0;
    o->nodes[i].writes = 0;
    check_stop_told(o, i, t);
    if (o->nodes[i].exists && o->nodes[i].leaderless)
      oracle_fail(o, ORACLE_LIVENESS, t, i, -1, "n%d knows no leader, though all is well", i);
  }
  int count = believers(o, t, &leader);
  if (count != 1)
    oracle_fail(o, ORACLE_LIVENESS, t, leader, -1, "%d leaders, though all is well", count);
}

static void check_count(oracle_t* o, int64_t t, int node, const char* what, uint32_t count,
                        double interval_ms, double early, double late) {
  double ms = (double)(t - o->quiet_from) / (double)MS;
  double drift = o->nodes[node].config.drift_ppm / 1e6;
  double most = interval_ms > 0 ? ms / (interval_ms * early) * (1 + drift) + 2 : 0;
  /* A reply's way comes on top of an interval: two seconds are more than it takes in quiet. */
  double least = interval_ms > 0 ? ms / (interval_ms * late + 2000) * (1 - drift) - 2 : 0;
  if (count > most || count < least)
    oracle_fail(o, ORACLE_BUDGET, t, node, -1, "n%d: %" PRIu32 " %s in %.0f s, not %.1f to %.1f",
                node, count, what, ms / 1e3, least, most);
}

/* How often a follower reads the store when all is well, in ms; 0: never. Of a leader that is not
 * known to be itself it looks at each fourth infrequent interval, by one request, whenever that
 * falls: a look between a renewal's landing and its leader's knowing of it is no reason for more.
 * Of any other leader it looks again when the record that it saw may be replaced. */
static double read_interval(const oracle_config_t* follower, const oracle_config_t* leader) {
  uint32_t ms = follower->peer_mode ? follower->frequent_interval_ms /* the leader may not answer */
                                    : follower->infrequent_interval_ms;
  uint32_t timeout = leader->leader_timeout_ms > follower->leader_timeout_ms
                         ? leader->leader_timeout_ms
                         : follower->leader_timeout_ms;
  if (!follower->peer_mode || !leader->peer_mode)
    return ms < timeout ? ms : timeout;
  return leader->peer_proven ? 0 : 4.0 * follower->infrequent_interval_ms;
}

void oracle_quiet_ends(oracle_t* o, int64_t t) {
  int leader = -1;
  int count = believers(o, t, &leader);
  if (count != 1)
    oracle_fail(o, ORACLE_LIVENESS, t, leader, -1, "%d leaders at the end of a quiet spell", count);
  for (int i = 0; i < o->nodes_len; i++) {
    oracle_node_t* n = &o->nodes[i];
    check_stop_told(o, i, t);
    if (!n->exists || count != 1)
      continue;
    bool leads = i == leader;
    /* A follower that read the store, and then got an answer which was older than that, does not
     * look again before the frequent interval. Where this is nearly the leader timeout, it may try
     * to take over before it has seen a renewal; the swap is refused. An epoch file is looked at
     * before the next one is created. */
    uint32_t writes = !leads && n->writes == 1 && !o->epochs ? 0 : n->writes;
    check_count(o, t, i, "writes", writes, leads ? n->config.renew_interval_ms : 0, 0.9, 1);
    double interval = read_interval(&n->config, &o->nodes[leader].config);
    if (leads)
      interval = o->epochs ? n->config.renew_interval_ms : 0;
    /* A leader lists its own file apart for as long as there are too many old ones. */
    double early = leads ? 0.7 : n->config.store_clock ? 0.6 : 0.9; /* an age is counted, too */
    check_count(o, t, i, "reads", n->reads, interval, early, 1.1);
  }
  o->quiet = false;
}

void oracle_trial_ends(oracle_t* o, int64_t t, int former) {
  int leader = -1;
  int count = believers(o, t, &leader);
  if (count != 1 || leader == former)
    oracle_fail(o, ORACLE_REPLACED, t, former, -1, "n%d was cut off; now %d lead%s", former, count,
                leader == former ? ", it too" : "");
}
