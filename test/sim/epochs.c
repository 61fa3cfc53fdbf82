/* sim/epochs.c: what is different with epoch files: the store's side of requests, sweeps, and what
 * somebody does to the files by hand. */
#include <stdio.h>
#include <string.h>

#include "s3lect/errno.h"
#include "sim/observe.h"

/* Requests. */

static void take_file(sim_world_t* w, sim_request_t* r, const sim_reply_t* reply) {
  const sim_file_t* file = sim_files_find(&w->files, r->file);
  r->status = reply->status;
  r->outcome = reply->status == S3LECT_EUNSUPPORTED ? S3LECT_NOT_APPLIED : S3LECT_SETTLED;
  r->store_time_ms = reply->store_time_ms;
  r->modified_ms = reply->modified_ms;
  if (reply->status == 0 || reply->has_body)
    memcpy(r->reply_etag, file->etag, sizeof r->reply_etag);
  if (!reply->has_body || reply->status != 0)
    return;
  r->body_len = file->body_len;
  memcpy(r->body, file->body, file->body_len);
}

/* The longest lag, less the lag of this listing: it differs from one listing to the next. */
static s3l_ns_t catches_up(sim_world_t* w, s3l_prng_t* g) {
  s3l_ns_t lag = w->files.lag;
  return lag == 0 || sim_chance(g, 300) ? 0 : sim_chance(g, 500) ? lag : sim_between(g, 0, lag);
}

static void serve_list(sim_world_t* w, sim_request_t* r) {
  const sim_file_t* newest = sim_files_newest(&w->files);
  s3l_ns_t t = w->t + catches_up(w, &w->nodes[r->node].net);
  sim_files_list(&w->files, t, r->file, &r->listing, &r->listed_last);
  r->status = 0;
  r->outcome = S3LECT_SETTLED;
  r->store_time_ms = sim_store_date(&w->store, w->t);
  if (newest != NULL && !r->listing.truncated && newest->number > r->file &&
      r->listing.highest != newest->number)
    sim_met(w, SIM_MET_LISTING_LAGGED);
}

/* Never one of the newest two, nor one younger than two leader timeouts. Files that were made by
 * hand meanwhile are none of the sweeper's. */
static void check_gc(sim_world_t* w, const sim_request_t* r) {
  const sim_node_t* n = &w->nodes[r->node];
  const sim_file_t* file = sim_files_find(&w->files, r->file);
  if (file == NULL)
    return;
  sim_met(w, SIM_MET_SWEPT);
  size_t above = 0;
  for (size_t i = 0; i < w->files.len; i++)
    above += w->files.at[i].exists && w->files.at[i].number > r->file;
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
  const sim_file_t* newest = sim_files_newest(&w->files);
  if (r->claims && newest != NULL && newest->number == w->nodes[r->node].core.epoch_led &&
      (w->plan->troubles & undoes) == 0)
    oracle_fail(&w->oracle, ORACLE_BUDGET, w->t, r->node, -1,
                "n%u claims over absence, though it led the newest file", r->node);
}

/* What a quiet spell leaves: the newest two, and none that was there when it began. */
void sim_files_check(sim_world_t* w) {
  size_t most = 3;
  size_t files = sim_files_count(&w->files);
  bool refused = (w->plan->troubles & SIM_BIT(ERRORS)) != 0; /* for a while it is not tried again */
  if (files > most && !w->plan->keep_epochs && !refused && w->files.lag == 0)
    oracle_fail(&w->oracle, ORACLE_BUDGET, w->t, -1, -1, "%zu files at the end of a quiet spell",
                files);
}

void sim_files_serve(sim_world_t* w, sim_request_t* r) {
  sim_reply_t reply = {.store_time_ms = sim_store_date(&w->store, w->t)};
  r->served_at = w->t;
  if (r->is_list) {
    serve_list(w, r);
    return;
  }
  if (r->is_gc) {
    check_gc(w, r);
    sim_files_delete(&w->files, w->t, r->file);
  } else if (r->is_write) {
    reply = sim_files_put(&w->files, &w->store, w->t, r->file, (s3lect_condition_t)r->condition,
                          r->etag, r->bare, r->body, r->body_len);
    if (reply.status == S3LECT_EUNSUPPORTED)
      sim_met(w, SIM_MET_NO_IF_MATCH);
  } else {
    reply = sim_files_get(&w->files, &w->store, w->t, r->file, r->etag);
  }
  if (r->is_gc)
    r->store_time_ms = reply.store_time_ms;
  else
    take_file(w, r, &reply);
}

bool sim_files_replays(sim_world_t* w, const sim_request_t* r) {
  sim_node_t* n = &w->nodes[r->node];
  return r->landed && !n->weather.fair && (w->plan->troubles & SIM_BIT(REPLAY)) != 0 &&
         sim_chance(&n->net, 150);
}

/* By something between: with the conditions that it was sent with, which rarely hold again. */
void sim_files_replay(sim_world_t* w, const sim_request_t* r) {
  sim_reply_t reply =
      sim_files_put(&w->files, &w->store, w->t, r->file, (s3lect_condition_t)r->condition, r->etag,
                    r->bare, r->body, r->body_len);
  sim_log_line(w->log, w->t, "store: n%u's write %llu comes again, and %s", r->node,
               (unsigned long long)r->write.number, reply.status == 0 ? "lands" : "is refused");
  if (reply.status != 0)
    return;
  sim_met(w, SIM_MET_REPLAYED);
  oracle_write_landed(&w->oracle, w->t, &r->write);
}

void sim_gc_done(sim_world_t* w, unsigned i, const s3lect_store_result_t* result) {
  sim_node_t* n = &w->nodes[i];
  w->requests[n->gc].done = true;
  n->gc = SIM_NO_REQUEST;
  s3l_event_t ev = {.kind = S3L_EV_GC_DONE, .result = result};
  sim_step(w, i, &ev);
}

/* By hand. */

static void delete_all(sim_world_t* w) {
  for (size_t i = 0; i < w->files.len; i++)
    sim_files_delete(&w->files, w->t, w->files.at[i].number);
}

static void delete_newest(sim_world_t* w, const sim_file_t* newest) {
  sim_log_line(w->log, w->t, "the newest file is deleted by hand");
  sim_met(w, SIM_MET_NEWEST_DELETED);
  sim_files_delete(&w->files, w->t, newest->number);
}

/* Nobody can count with a file that came and went between two of his looks. Who has not looked for
 * longer than that waits for a whole leader timeout before he believes what is left. */
static bool may_go(const sim_world_t* w, const sim_file_t* newest) {
  for (unsigned i = 0; i < w->plan->nodes_len; i++) {
    const sim_node_t* n = &w->nodes[i];
    const s3l_core_config_t* c = &n->plan->config;
    int64_t slow = c->infrequent_interval_ms > c->frequent_interval_ms ? c->infrequent_interval_ms
                                                                       : c->frequent_interval_ms;
    int64_t gap = (c->peer_mode ? 6 : 2) * slow + 4 * (int64_t)c->request_timeout_ms + 2000;
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
static bool comes_back_without(const sim_world_t* w, const sim_file_t* newest,
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
  return (w->plan->troubles & SIM_BIT(UNDONE)) != 0 && w->plan->epochs && !w->files.no_if_match &&
         r->is_write && r->op == S3L_OP_TAKE_OVER && !sim_is_calm(w) &&
         sim_chance(&w->nodes[r->node].net, 200);
}

/* Where a higher one has been, what lands is an older state put back: its maker alone, who is to
 * look for himself, may not know. Unless it is a claim over absence, which nobody counts on. Where
 * another's file of its number stands, that may go alone. */
void sim_files_undo(sim_world_t* w, const sim_request_t* r) {
  const sim_file_t* newest = sim_files_newest(&w->files);
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
  const sim_file_t* newest = sim_files_newest(&w->files);
  uint64_t kind = sim_below(g, 4);
  if (kind >= 2 && w->files.len > 1) {
    size_t i = (size_t)sim_below(g, (uint32_t)w->files.len);
    if (w->files.at[i].exists && &w->files.at[i] != newest) {
      sim_met(w, SIM_MET_GAP);
      sim_files_delete(&w->files, w->t, w->files.at[i].number);
      return;
    }
  }
  if (kind >= 1 && newest != NULL && all_know(w, newest->number, 0)) {
    delete_newest(w, newest);
    return;
  }
  /* What goes as a whole leaves nothing to be believed; unless a late write brings a part back:
   * then the newest would have gone alone. */
  bool whole = newest != NULL && (!w->files.no_if_match || may_go(w, newest)) &&
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
  const sim_file_t* newest = sim_files_newest(&w->files);
  if (newest == NULL)
    return; /* where there is nothing, a file of whatever number would send epochs back */
  uint64_t number = newest->number;
  /* Above the newest only where listings tell of it in time. */
  if (kind == 3 && w->plan->list_lag == 0) {
    number += 3;
    sim_met(w, SIM_MET_MADE_BY_HAND);
  }
  char body[SIM_FILE_BODY_MAX];
  int len = snprintf(body, sizeof body, bodies[kind], (unsigned long long)++w->hand_count);
  if (kind == 4 && w->plan->list_lag == 0) { /* a copy of it, or of one before it */
    const sim_file_t* of = &w->files.at[w->hand_count % w->files.len];
    of = of->exists ? of : newest;
    len = (int)of->body_len;
    memcpy(body, of->body, of->body_len);
    number++;
    sim_met(w, SIM_MET_MADE_BY_HAND);
  }
  sim_file_t* file = sim_files_set(&w->files, &w->store, w->t, number, body, (size_t)len);
  file->oversized = kind == 7;
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
