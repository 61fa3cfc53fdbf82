/* sim/epochs.c: what is different with epoch files: the store's side of requests, sweeps, and what
 * somebody does to the files by hand. */
#include <stdio.h>
#include <string.h>

#include "s3lect/errno.h"
#include "sim/observe.h"

/* Requests. */

/* The longest lag, less the lag of this listing: it differs from one listing to the next. */
static s3l_ns_t catches_up(sim_world_t* w, s3l_prng_t* g) {
  s3l_ns_t lag = w->store.lag;
  return lag == 0 || sim_chance(g, 300) ? 0 : sim_chance(g, 500) ? lag : sim_between(g, 0, lag);
}

void sim_files_list(sim_world_t* w, sim_request_t* r) {
  const sim_object_t* newest = sim_store_newest(&w->store);
  s3l_ns_t t = w->t + catches_up(w, &w->nodes[r->node].net);
  sim_store_list(&w->store, t, r->file, &r->listing, &r->listed_last);
  if (newest != NULL && !r->listing.truncated && newest->number > r->file &&
      r->listing.highest != newest->number)
    sim_met(w, SIM_MET_LISTING_LAGGED);
}

/* Never one of the newest two, nor one younger than two leader timeouts. Files that were made by
 * hand meanwhile are none of the sweeper's. */
static void check_gc(sim_world_t* w, const sim_request_t* r) {
  const sim_node_t* n = &w->nodes[r->node];
  const sim_object_t* file = sim_store_find(&w->store, r->file);
  if (file == NULL)
    return;
  sim_met(w, SIM_MET_SWEPT);
  size_t above = sim_store_count(&w->store, r->file);
  /* One that a late renewal brought back after it was removed is as old as it was. */
  bool young = w->t - file->born < 2 * (s3l_ns_t)n->plan->config.leader_timeout_ms * S3L_MS;
  bool deleted = (w->plan->troubles & SIM_BIT(DELETE)) != 0;
  if ((above < 2 && !deleted) || young)
    oracle_fail(&w->oracle, ORACLE_CONTRACT, w->t, r->node, -1,
                "n%u removes file %llu, below %zu others", r->node, (unsigned long long)r->file,
                above);
}

/* A claim over absence costs everybody two leader timeouts more. An elector that led the newest
 * file has no reason for one, where nobody puts an older state back. */
void sim_files_check_claim(sim_world_t* w, const sim_request_t* r) {
  const uint32_t undoes =
      SIM_BIT(DELETE) | SIM_BIT(UNDONE) | SIM_BIT(CORRUPT) | SIM_BIT(REPLAY) | SIM_BIT(NO_IF_MATCH);
  const sim_object_t* newest = sim_store_newest(&w->store);
  if (w->plan->epochs && r->claims && newest != NULL &&
      newest->number == w->nodes[r->node].core.epoch && (w->plan->troubles & undoes) == 0)
    oracle_fail(&w->oracle, ORACLE_BUDGET, w->t, r->node, -1,
                "n%u claims over absence, though it led the newest file", r->node);
}

/* What a quiet spell leaves: the newest two, and none that was there when it began. */
void sim_files_check(sim_world_t* w) {
  size_t most = 3;
  size_t files = sim_store_count(&w->store, 0);
  bool refused = (w->plan->troubles & SIM_BIT(ERRORS)) != 0; /* for a while it is not tried again */
  if (files > most && !w->plan->keep_epochs && !refused && w->store.lag == 0)
    oracle_fail(&w->oracle, ORACLE_BUDGET, w->t, -1, -1, "%zu files at the end of a quiet spell",
                files);
}

void sim_files_gc(sim_world_t* w, const sim_request_t* r) {
  check_gc(w, r);
  sim_store_delete(&w->store, w->t, r->file);
}

bool sim_files_replays(sim_world_t* w, const sim_request_t* r) {
  sim_node_t* n = &w->nodes[r->node];
  return r->landed && !n->weather.fair && (w->plan->troubles & SIM_BIT(REPLAY)) != 0 &&
         sim_chance(&n->net, 150);
}

/* By something between: with the conditions that it was sent with, which rarely hold again. */
void sim_files_replay(sim_world_t* w, const sim_request_t* r) {
  sim_reply_t reply = sim_put(w, r);
  sim_log_line(w->log, w->t, "store: n%u's write %llu comes again, and %s", r->node,
               (unsigned long long)r->write.number, reply.status == 0 ? "lands" : "is refused");
  if (reply.status != 0)
    return;
  sim_met(w, SIM_MET_REPLAYED);
  oracle_write_landed(&w->oracle, w->t, &r->write);
}

/* By hand. */

static void delete_all(sim_world_t* w) {
  for (size_t i = 0; i < w->store.len; i++)
    sim_store_delete(&w->store, w->t, w->store.at[i].number);
}

static void delete_newest(sim_world_t* w, const sim_object_t* newest) {
  sim_log_line(w->log, w->t, "the newest file is deleted by hand");
  sim_met(w, SIM_MET_NEWEST_DELETED);
  sim_store_delete(&w->store, w->t, newest->number);
}

/* The most that a renewal interval may be in an election. */
static int64_t renew_ms(const sim_world_t* w) {
  int64_t most = 0;
  for (unsigned i = 0; i < w->plan->nodes_len; i++)
    if (w->nodes[i].plan->config.renew_interval_ms > most)
      most = w->nodes[i].plan->config.renew_interval_ms;
  return most;
}

/* Nobody can count with a file that came and went between two of his looks. Who has not looked for
 * longer than that waits for a whole leader timeout before he believes what is left. Who sees his
 * leader's file unchanged looks for a higher one when two renewals are overdue. */
static bool may_go(const sim_world_t* w, const sim_object_t* newest) {
  for (unsigned i = 0; i < w->plan->nodes_len; i++) {
    const sim_node_t* n = &w->nodes[i];
    const s3l_core_config_t* c = &n->plan->config;
    int64_t slow = c->infrequent_interval_ms > c->frequent_interval_ms ? c->infrequent_interval_ms
                                                                       : c->frequent_interval_ms;
    int64_t gap =
        2 * renew_ms(w) + (c->peer_mode ? 6 : 2) * slow + 4 * (int64_t)c->request_timeout_ms + 2000;
    bool unseen = n->process == SIM_UP && n->core.epoch_seen < newest->number;
    if (unseen && w->t - newest->since < gap * 11 / 10 * S3L_MS)
      return false;
  }
  return true;
}

/* The newest alone may only go when everybody who stands has seen it, and remembers: who has not
 * gives its number out again (docs/safety.md). */
static bool all_know(const sim_world_t* w, uint64_t number, unsigned but) {
  if ((w->plan->troubles & SIM_FORGETFUL) != 0)
    return false;
  for (unsigned i = 0; i < w->plan->nodes_len; i++)
    if (((w->nodes_out | but) & (1u << i)) == 0 && w->nodes[i].core.epoch_seen < number)
      return false;
  return true;
}

/* A create of a file below the newest may still be under way, or a renewal where those are plain:
 * it would bring that file back alone. A claim over absence may, for nobody counts on it. */
static bool comes_back_without(const sim_world_t* w, const sim_object_t* newest,
                               const sim_request_t* but) {
  for (unsigned i = 0; i < SIM_REQUESTS_MAX; i++) {
    const sim_request_t* r = &w->requests[i];
    bool lands = r->condition == S3LECT_ALWAYS || (r->op == S3L_OP_TAKE_OVER && !r->claims);
    if (r != but && r->in_limbo && r->is_write && lands && r->file < newest->number)
      return true;
  }
  return false;
}

bool sim_files_undoes(sim_world_t* w, const sim_request_t* r) {
  return (w->plan->troubles & SIM_BIT(UNDONE)) != 0 && w->plan->epochs && !w->store.no_if_match &&
         r->is_write && r->op == S3L_OP_TAKE_OVER && !sim_is_calm(w) &&
         sim_chance(&w->nodes[r->node].net, 200);
}

/* Where a higher one has been, what lands is an older state put back: its maker alone, who is to
 * look for himself, may not know. Unless it is a claim over absence, which nobody counts on. Where
 * another's file of its number stands, that may go alone. */
void sim_files_undo(sim_world_t* w, const sim_request_t* r) {
  const sim_object_t* newest = sim_store_newest(&w->store);
  if (newest == NULL)
    return;
  bool known = all_know(w, newest->number, 1u << r->node) && !comes_back_without(w, newest, r);
  if (newest->number > r->file && !r->claims && !known)
    return;
  if (newest->number == r->file && all_know(w, newest->number, 0) &&
      sim_chance(&w->nodes[r->node].net, 500)) {
    delete_newest(w, newest);
    return;
  }
  sim_log_line(w->log, w->t, "all files are deleted by hand");
  delete_all(w);
  oracle_deleted(&w->oracle);
  w->standing = (sim_standing_t){.kind = SIM_STANDS_NOTHING};
}

static void delete_some(sim_world_t* w, s3l_prng_t* g) {
  const sim_object_t* newest = sim_store_newest(&w->store);
  uint64_t kind = sim_below(g, 4);
  if (kind >= 2 && w->store.len > 1) {
    size_t i = (size_t)sim_below(g, (uint32_t)w->store.len);
    if (w->store.at[i].exists && &w->store.at[i] != newest) {
      sim_met(w, SIM_MET_GAP);
      sim_store_delete(&w->store, w->t, w->store.at[i].number);
      return;
    }
  }
  if (kind >= 1 && newest != NULL && all_know(w, newest->number, 0)) {
    delete_newest(w, newest);
    return;
  }
  /* What goes as a whole leaves nothing to be believed; unless a late write brings a part back:
   * then the newest would have gone alone. */
  bool whole = newest != NULL && (!w->store.no_if_match || may_go(w, newest)) &&
               (!comes_back_without(w, newest, NULL) || all_know(w, newest->number, 0));
  if (whole)
    delete_all(w);
}

/* Something that is no epoch file's body, or another implementation's. Two of these are alike. */
static void damage(sim_world_t* w, int64_t kind) {
  static const char* const bodies[] = {
      "%llu",
      "{\"validity_ms\":15000,\"expired\":false,\"epoch\":%llu",
      "<html><body>Bad gateway %llu</body></html>",
      "{\"validity_ms\":\"%llu\"}",
      "{\"n\":%llu}",
      "",
      "{\"validity_ms\":15000,\"expired\":false}",
      "%llu",
  };
  const sim_object_t* newest = sim_store_newest(&w->store);
  if (newest == NULL)
    return; /* where there is nothing, a file of whatever number would send epochs back */
  uint64_t number = newest->number;
  /* Above the newest only where listings tell of it in time. */
  if (kind == 3 && w->plan->list_lag == 0) {
    number += 3;
    sim_met(w, SIM_MET_MADE_BY_HAND);
  }
  char body[SIM_BODY_MAX];
  int len = snprintf(body, sizeof body, bodies[kind], (unsigned long long)++w->hand_count);
  if (kind == 4 && w->plan->list_lag == 0) { /* a copy of it, or of one before it */
    const sim_object_t* of = &w->store.at[w->hand_count % w->store.len];
    of = of->exists ? of : newest;
    len = (int)of->body_len;
    memcpy(body, of->body, of->body_len);
    number++;
    sim_met(w, SIM_MET_MADE_BY_HAND);
  }
  sim_store_set(&w->store, w->t, number, body, (size_t)len)->oversized = kind == 7;
  oracle_write_t write = {.node = -1, .epoch = number, .leader_id = ""};
  oracle_write_landed(&w->oracle, w->t, &write);
}

void sim_files_by_hand(sim_world_t* w, const sim_fault_t* f) {
  s3l_prng_t g = sim_rnd(w->plan->seed, (uint64_t)f->at);
  if (f->kind == SIM_FAULT_DELETE)
    delete_some(w, &g);
  else
    damage(w, f->a);
}
