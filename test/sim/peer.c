/* sim/peer.c: asks, on their way from node to node, and what becomes of them; and the trial of a
 * leader that is cut off from the store alone. */
#include <stdio.h>
#include <string.h>

#include "s3lect/errno.h"
#include "sim/observe.h"
#include "sim/world.h"

/* libuv's numbers on Linux. */
enum { TIMED_OUT = -110, RESET = -104, REFUSED = -111, CANCELED = -125 };

static const sim_answer_t not_leading = {.kind = S3L_PEER_NOT_LEADING};

static sim_answer_t failure(int status) {
  return (sim_answer_t){.kind = S3L_PEER_FAILED, .status = status};
}

static s3l_ns_t way(sim_world_t* w, unsigned i) {
  sim_node_t* n = &w->nodes[i];
  int asked = n->ask.asked;
  uint32_t slow = asked >= 0 ? w->nodes[asked].weather.peer_slow : 1;
  return sim_heavy(&n->peer_net, w->plan->latency, slow > 1 ? 3 : 1) * slow;
}

static void push(sim_world_t* w, unsigned i, s3l_ns_t at, int kind) {
  sim_push(w, at, kind, i, w->nodes[i].ask.stamp);
}

/* ---- What is said ---- */

static bool confirmed(const sim_world_t* w, unsigned k, sim_answer_t* a) {
  const sim_node_t* n = &w->nodes[k];
  s3l_confirmed_t c;
  if (n->process != SIM_UP || !s3l_core_confirmed(&n->core, sim_boot(w, n), &c))
    return false;
  memset(a, 0, sizeof *a);
  a->kind = S3L_PEER_LEADING;
  memcpy(c.record.value, n->value_seen, sizeof c.record.value);
  a->record = c.record; /* the wire gives it back as it is: fuzz-peer_message, peer-message */
  (void)s3l_span_copy(s3l_span_cstr(c.etag), a->etag, sizeof a->etag);
  a->valid_for_ms = (int64_t)c.valid_for_ms;
  a->authenticated = n->plan->peer_tls;
  return true;
}

void sim_peer_led(sim_world_t* w, unsigned i) {
  if ((w->plan->troubles & SIM_BIT(PEERS)) != 0)
    (void)confirmed(w, i, &w->nodes[i].said);
}

static int64_t whole_validity(const sim_node_t* n) {
  const s3l_core_config_t* c = &n->plan->config;
  return s3l_lease_hold(c->leader_timeout_ms * S3L_MS, c->drift_ppm) / S3L_MS;
}

/* Its own endpoint says that it leads, whatever the store said since; where it never led, nothing.
 */
static sim_answer_t stamped(sim_world_t* w, unsigned k) {
  sim_answer_t a = w->nodes[k].said;
  if (a.record.leader_id[0] == '\0')
    return not_leading;
  a.valid_for_ms = whole_validity(&w->nodes[k]);
  if (!w->nodes[k].core.leading)
    sim_met(w, SIM_MET_PEER_STAMPED);
  return a;
}

/* Somebody between, who has seen what the node said, and wants to make somebody else believe. */
static sim_answer_t lie(sim_world_t* w, s3l_prng_t* g, unsigned k) {
  sim_answer_t a = w->nodes[k].said;
  const sim_object_t* lockfile = sim_store_known(&w->store, 0);
  uint64_t kind = sim_below(g, 8);
  a.authenticated = false;
  a.held = sim_chance(g, 500);
  if (a.record.leader_id[0] == '\0')
    return kind < 4 ? not_leading : failure(S3LECT_EBADREPLY);
  switch (kind) {
  case 0:
  case 1: /* nearly over: take it */
    a.valid_for_ms = (int64_t)sim_below(g, 3);
    memcpy(a.etag, lockfile != NULL ? lockfile->etag : "", lockfile != NULL ? sizeof a.etag : 1);
    break;
  case 2: /* renewed, and for long */
    a.record.write += 1 + sim_below(g, 5);
    snprintf(a.etag, sizeof a.etag, "\"%016llx\"", (unsigned long long)s3l_prng_next(g));
    a.valid_for_ms = whole_validity(&w->nodes[k]);
    break;
  case 3:
    a.valid_for_ms = whole_validity(&w->nodes[k]) * 2;
    break;
  case 4:
    a.record.epoch += sim_below(g, 3) - 1;
    break;
  case 5:
    a.record.incarnation[0] = a.record.incarnation[0] == 'a' ? 'b' : 'a';
    break;
  case 6: /* as the Go package would */
    a.valid_for_ms = -1;
    a.etag[0] = '\0';
    break;
  default:
    a.valid_for_ms = whole_validity(&w->nodes[k]);
    break;
  }
  return a;
}

/* That the claim of node i stands in the store, as the node that was asked knows. */
static bool granted(const sim_world_t* w, unsigned i, unsigned k, sim_answer_t* a) {
  const sim_node_t* n = &w->nodes[k];
  s3l_confirmed_t c;
  if (n->process != SIM_UP ||
      !s3l_core_granted(&n->core, w->nodes[i].ask.candidacy.incarnation, &c))
    return false;
  *a = (sim_answer_t){
      .kind = S3L_PEER_LEADING, .record = c.record, .authenticated = n->plan->peer_tls};
  memcpy(a->record.leader_id, n->leader, sizeof n->leader);
  memcpy(a->record.leader_addr, n->leader_addr, sizeof n->leader_addr);
  (void)s3l_span_copy(s3l_span_cstr(c.etag), a->etag, sizeof a->etag);
  return true;
}

/* Of those that may be granted the one named, else one of the highest priority. */
const s3lect_record_t* sim_candidate(sim_world_t* w, unsigned k, const char* successor) {
  sim_node_t* n = &w->nodes[k];
  unsigned best = 0;
  if (n->core.op.kind == S3L_OP_RELEASE && n->core.op.grants)
    return &n->candidate;
  for (unsigned i = 0; i < w->plan->nodes_len && n->plan->peer_tls; i++) {
    const sim_ask_t* ask = &w->nodes[i].ask;
    bool held = ask->active && ask->waits && ask->asked == (int)k && ask->candidacy.write > 0 &&
                !ask->candidacy.released;
    const s3lect_record_t* r = held ? &ask->candidacy : ask->left_at == (int)k ? &ask->left : NULL;
    unsigned priority = 1 + w->nodes[i].plan->config.priority;
    bool named = r != NULL && successor != NULL && strcmp(r->leader_id, successor) == 0;
    priority = named ? 100 : priority;
    if (r == NULL || priority <= best)
      continue;
    best = priority;
    n->candidate = *r;
  }
  return best > 0 ? &n->candidate : NULL;
}

/* What a node that was asked says; `held`: after the wait. */
static sim_answer_t answer_of(sim_world_t* w, unsigned i, unsigned k, bool held) {
  sim_ask_t* ask = &w->nodes[i].ask;
  s3l_prng_t* g = &w->nodes[i].peer_net;
  const sim_weather_t* x = &w->nodes[k].weather;
  sim_answer_t a = not_leading;
  if (confirmed(w, k, &a)) {
    a.held = held;
    if (ask->earlier_from != (int)k || sim_chance(g, 100)) {
      ask->earlier = a;
      ask->earlier_from = (int)k;
    }
  } else if (granted(w, i, k, &a)) {
    a.held = held;
  } else if (w->nodes[k].core.leading) {
    sim_met(w, SIM_MET_PEER_GRACE);
  }
  if (x->peer_stamps)
    a = stamped(w, k);
  if (sim_chance(g, x->peer_lies)) {
    sim_met(w, SIM_MET_PEER_LIED);
    a = lie(w, g, k);
  } else if (ask->earlier_from == (int)k && sim_chance(g, x->peer_stale)) {
    sim_met(w, SIM_MET_PEER_STALE);
    a = ask->earlier;
  } else if (sim_chance(g, x->peer_wrong)) {
    unsigned other = (unsigned)sim_below(g, w->plan->nodes_len);
    if (other != k && w->nodes[other].said.record.leader_id[0] != '\0') {
      sim_met(w, SIM_MET_PEER_WRONG);
      a = w->nodes[other].said; /* or what it said as its lease came to an end */
      a.valid_for_ms = (int64_t)sim_below(g, (uint32_t)a.valid_for_ms + 1);
    }
  }
  return a;
}

/* Go's: "now", as long as it thinks that it leads, which only its own store could take from it. */
static sim_answer_t answer_of_foreign(sim_world_t* w) {
  const sim_foreign_t* x = &w->foreign;
  sim_answer_t a = {.kind = S3L_PEER_LEADING, .valid_for_ms = -1, .authenticated = true};
  sim_met(w, SIM_MET_PEER_FOREIGN);
  if (!x->active && !x->undead)
    return failure(REFUSED);
  if (!x->leads)
    return not_leading;
  memcpy(a.record.leader_id, SIM_FOREIGN_ID, sizeof SIM_FOREIGN_ID);
  memcpy(a.record.leader_addr, SIM_FOREIGN_ADDR, sizeof SIM_FOREIGN_ADDR);
  a.record.last_updated_ms = w->plan->store_unix_ms + w->t / S3L_MS;
  return a;
}

static void give(sim_world_t* w, unsigned i, sim_answer_t a) {
  sim_ask_t* ask = &w->nodes[i].ask;
  ask->waits = false;
  ask->answer = a;
  push(w, i, w->t + way(w, i), SIM_ON_ANSWER);
}

/* ---- The way of an ask ---- */

static int find_asked(const sim_world_t* w, const char* addr) {
  for (unsigned k = 0; k < w->plan->nodes_len; k++)
    if (strcmp(w->plan->nodes[k].addr, addr) == 0)
      return (int)k;
  return strcmp(addr, SIM_FOREIGN_ADDR) == 0 ? SIM_ASKED_FOREIGN : SIM_ASKED_NOBODY;
}

/* A withdrawal may come at any time, and once. */
static void check_ask(sim_world_t* w, unsigned i, bool withdraws) {
  const sim_node_t* n = &w->nodes[i];
  const s3l_core_config_t* c = &n->core.config;
  int64_t gap_ms = c->frequent_interval_ms < 1000 ? c->frequent_interval_ms : 1000;
  if (n->ask.active)
    oracle_fail(&w->oracle, ORACLE_CONTRACT, w->t, (int)i, -1, "n%u: two asks at once", i);
  if (!c->peer_mode)
    oracle_fail(&w->oracle, ORACLE_CONTRACT, w->t, (int)i, -1, "n%u: asks, unlike its options", i);
  if (!withdraws && n->ask.sent_at > 0 && n->core.now - n->ask.sent_at < gap_ms * S3L_MS)
    oracle_fail(&w->oracle, ORACLE_CONTRACT, w->t, (int)i, -1, "n%u: asks in circles", i);
}

/* Nobody will answer; how that is noticed. */
static void lose(sim_world_t* w, unsigned i, uint32_t how) {
  sim_node_t* n = &w->nodes[i];
  if (how == 0)
    return; /* by the timeout */
  n->ask.answer = failure(how == 1 ? REFUSED : RESET);
  s3l_ns_t after = how == 1 ? 0 : sim_between(&n->peer_net, 0, n->ask.wait_ms * S3L_MS);
  push(w, i, w->t + 2 * way(w, i) + after, SIM_ON_ANSWER);
}

void sim_ask(sim_world_t* w, unsigned i, const s3l_effect_t* e) {
  sim_node_t* n = &w->nodes[i];
  sim_ask_t* ask = &n->ask;
  check_ask(w, i, e->candidacy && w->effects.record.released);
  ask->active = true;
  ask->waits = ask->cancelled = false;
  ask->stamp++;
  ask->asked = find_asked(w, n->leader_addr);
  ask->wait_ms = e->wait_ms;
  ask->candidacy = e->candidacy ? w->effects.record : (s3lect_record_t){.write = 0};
  ask->sent_at = n->core.now;
  if (e->candidacy && !ask->candidacy.released)
    oracle_candidacy_said(&w->oracle, w->t, (int)i, sim_incarnation(&ask->candidacy),
                          ask->candidacy.write);
  ask->timeout_slewed = sim_slewed_in(w, n, e->wait_ms + (s3l_ns_t)e->timeout_ms);
  const sim_weather_t* x = ask->asked >= 0 ? &w->nodes[ask->asked].weather : NULL;
  if (ask->asked == SIM_ASKED_NOBODY)
    lose(w, i, 1);
  else if (x != NULL && x->peer_cut)
    lose(w, i, x->peer_cut_how);
  else
    push(w, i, w->t + way(w, i), SIM_ON_ASK);
}

void sim_on_ask(sim_world_t* w, unsigned i) {
  sim_ask_t* ask = &w->nodes[i].ask;
  if (ask->asked == SIM_ASKED_FOREIGN) {
    give(w, i, answer_of_foreign(w));
    return;
  }
  unsigned k = (unsigned)ask->asked;
  const sim_node_t* asked = &w->nodes[k];
  if (asked->process == SIM_DOWN || !asked->plan->config.peer_mode) {
    if (asked->process != SIM_DOWN)
      sim_met(w, SIM_MET_PEER_NOT_SERVING);
    give(w, i, failure(REFUSED));
    return;
  }
  sim_answer_t a;
  bool candidacy = ask->candidacy.write > 0;
  if (candidacy)
    ask->left_at = SIM_ASKED_NOBODY; /* the later question is the one that counts */
  if (candidacy && asked->process == SIM_UP && asked->core.releasing) {
    ask->waits = true;
    push(w, i, sim_clock_when(&asked->slewed, sim_slewed_in(w, asked, 2000)), SIM_ON_WAITED);
  } else if (ask->wait_ms > 0 && asked->plan->peer_holds && confirmed(w, k, &a)) {
    ask->waits = true;
    s3l_ns_t until = sim_slewed_in(w, asked, ask->wait_ms);
    push(w, i, sim_clock_when(&asked->slewed, until), SIM_ON_WAITED);
  } else {
    give(w, i, answer_of(w, i, k, false));
  }
}

void sim_on_waited(sim_world_t* w, unsigned i) {
  sim_ask_t* ask = &w->nodes[i].ask;
  if (!ask->waits)
    return;
  sim_met(w, SIM_MET_PEER_WAITED);
  give(w, i, answer_of(w, i, (unsigned)ask->asked, true));
}

void sim_answer_waiting(sim_world_t* w, unsigned k) {
  for (unsigned i = 0; i < w->plan->nodes_len; i++) {
    sim_ask_t* ask = &w->nodes[i].ask;
    if (!ask->active || !ask->waits || ask->asked != (int)k)
      continue;
    sim_met(w, SIM_MET_PEER_TOLD_END);
    give(w, i, answer_of(w, i, k, true));
  }
}

/* A question is given up, or its sender dies: the node that holds it may not notice. */
static void leave(sim_world_t* w, unsigned i) {
  sim_ask_t* ask = &w->nodes[i].ask;
  bool held = ask->active && ask->waits && ask->candidacy.write > 0 && !ask->candidacy.released;
  if (!held || !sim_chance(&w->nodes[i].peer_net, 500))
    return;
  ask->left = ask->candidacy;
  ask->left_at = ask->asked;
}

void sim_peer_died(sim_world_t* w, unsigned k) {
  leave(w, k);
  w->nodes[k].ask.active = false;
  w->nodes[k].ask.sent_at = 0;
  for (unsigned i = 0; i < w->plan->nodes_len; i++) {
    sim_ask_t* ask = &w->nodes[i].ask;
    if (ask->left_at == (int)k)
      ask->left_at = SIM_ASKED_NOBODY;
    if (!ask->active || !ask->waits || ask->asked != (int)k)
      continue;
    ask->waits = false;
    if (sim_chance(&w->nodes[i].peer_net, 700)) /* else its machine died with it */
      give(w, i, failure(RESET));
  }
}

/* ---- At the node that asked ---- */

static void done(sim_world_t* w, unsigned i, const sim_answer_t* a) {
  sim_node_t* n = &w->nodes[i];
  n->ask.active = false;
  s3l_peer_result_t r = {.kind = a->kind,
                         .status = a->status,
                         .record = &a->record,
                         .etag = a->etag[0] != '\0' ? a->etag : NULL,
                         .valid_for_ms = a->valid_for_ms,
                         .authenticated = a->authenticated,
                         .held = a->held};
  s3l_event_t ev = {.kind = S3L_EV_PEER, .peer = &r};
  sim_saw_answer(w, i, a);
  sim_step(w, i, &ev);
}

void sim_on_answer(sim_world_t* w, unsigned i) {
  sim_answer_t a = w->nodes[i].ask.answer;
  done(w, i, &a);
}

void sim_ask_timed_out(sim_world_t* w, unsigned i) {
  leave(w, i);
  sim_answer_t a = failure(TIMED_OUT);
  done(w, i, &a);
}

void sim_ask_cancel(sim_world_t* w, unsigned i) {
  sim_ask_t* ask = &w->nodes[i].ask;
  if (!ask->active || ask->cancelled) {
    oracle_fail(&w->oracle, ORACLE_CONTRACT, w->t, (int)i, -1, "n%u: cancels no ask", i);
    return;
  }
  leave(w, i);
  ask->waits = false;
  ask->cancelled = true;
  ask->stamp++; /* what is on its way does not count */
  ask->answer = failure(CANCELED);
  push(w, i, w->t + (s3l_ns_t)sim_below(&w->nodes[i].peer_net, 2 * S3L_MS), SIM_ON_ANSWER);
}

/* ---- The trial ---- */

/* How long the last write of a leader that is cut off may stay unknown to a follower, in ms. One
 * that asks nobody reads at its infrequent interval, and when the write that it saw may be
 * replaced. One that asks learns of it when the next write is overdue; and it believes a leader
 * that is known to be itself for half of what it promises, be that a lie. */
static int64_t unknown_for(const sim_world_t* w, unsigned leader, unsigned follower) {
  const s3l_core_config_t* f = &w->nodes[follower].plan->config;
  const s3l_core_config_t* l = &w->plan->nodes[leader].config;
  if (!f->peer_mode) {
    int64_t most =
        l->leader_timeout_ms > f->leader_timeout_ms ? l->leader_timeout_ms : f->leader_timeout_ms;
    int64_t interval = (int64_t)f->infrequent_interval_ms * 11 / 10;
    return interval < most ? interval : most;
  }
  int64_t known = l->renew_interval_ms + (w->plan->epochs ? 3000 : 2000);
  if (known < f->frequent_interval_ms)
    known = f->frequent_interval_ms;
  int64_t believed = l->leader_timeout_ms / 2 + f->peer_timeout_ms;
  return w->plan->nodes[leader].peer_tls && known < believed ? believed : known;
}

/* Within how much true time a follower must have replaced its leader; 0: it promises nothing. A
 * leader that is known to be itself, and honest, is replaced when its validity is over; the last
 * write of any other is observed for a leader timeout. */
static s3l_ns_t bound(const sim_world_t* w, unsigned leader, unsigned follower) {
  const sim_node_t* n = &w->nodes[follower];
  const s3l_core_config_t* f = &n->plan->config;
  const s3l_core_config_t* l = &w->plan->nodes[leader].config;
  if (follower == leader || n->process != SIM_UP || f->peer_mode != l->peer_mode ||
      n->core.phase != S3L_PHASE_STANDING)
    return 0;
  bool proven = f->peer_mode && w->plan->nodes[leader].peer_tls && !w->trial_stamps;
  int64_t timeout = l->leader_timeout_ms;
  if (!proven && f->leader_timeout_ms > timeout)
    timeout = f->leader_timeout_ms;
  int64_t known = unknown_for(w, leader, follower);
  int64_t grace = 0; /* of whoever is first */
  for (unsigned k = 0; k < w->plan->nodes_len; k++)
    if (w->plan->nodes[k].config.grace_period_ms > grace)
      grace = w->plan->nodes[k].config.grace_period_ms;
  int64_t ms = timeout + (proven ? 0 : known) + grace + 3000;
  if (w->plan->epochs)
    ms += 5000; /* more requests; and the second within which an old body may come back */
  if (w->plan->epochs && f->peer_mode) /* a promise is not counted on: the file must be watched */
    ms += (l->leader_timeout_ms > f->leader_timeout_ms ? l : f)->leader_timeout_ms + known;
  return ms * (1000000 + 5 * (int64_t)f->drift_ppm);
}

static void begin_trial(sim_world_t* w) {
  int leader = sim_leader(w);
  s3l_ns_t soonest = 0;
  w->trial_stamps = sim_chance(&w->trials, 500);
  for (unsigned i = 0; leader >= 0 && i < w->plan->nodes_len; i++) {
    s3l_ns_t within = bound(w, (unsigned)leader, i);
    if (within > 0 && (soonest == 0 || within < soonest))
      soonest = within;
  }
  if (soonest == 0 || soonest > SIM_TRIAL - 10 * S3L_SECOND)
    return;
  w->on_trial = leader;
  sim_log_line(w->log, w->t, "trial: n%d is cut off from the store%s", leader,
               w->trial_stamps ? ", and says all the same that it leads" : "");
  sim_set_weather(w);
  sim_push(w, w->t + soonest, SIM_ON_TRIAL, (unsigned)leader, 0);
}

void sim_on_trial(sim_world_t* w, int node) {
  if (node < 0) {
    begin_trial(w);
    return;
  }
  sim_met(w, w->trial_stamps ? SIM_MET_PEER_TRIED_STAMPING : SIM_MET_PEER_TRIED);
  oracle_trial_ends(&w->oracle, w->t, node);
  w->on_trial = -1;
  sim_set_weather(w);
}
