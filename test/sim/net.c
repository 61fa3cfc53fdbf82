/* sim/net.c: requests on their way to the store and back, and what becomes of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/record.h"
#include "s3lect/errno.h"
#include "sim/observe.h"
#include "sim/world.h"
#include "util/hex.h"

/* libuv's numbers on Linux; the core only passes them on. */
enum { TIMED_OUT = -110, RESET = -104, REFUSED = -111, CANCELED = -125 };

static sim_request_t* take_slot(sim_world_t* w) {
  if (w->free_request == SIM_NO_REQUEST) {
    fprintf(stderr, "s3lect-sim: too many requests under way\n");
    abort();
  }
  sim_request_t* r = &w->requests[w->free_request];
  w->free_request = r->next_free;
  uint32_t stamp = r->stamp;
  memset(r, 0, offsetof(sim_request_t, body));
  r->stamp = stamp + 1;
  return r;
}

static void give_back_if_over(sim_world_t* w, sim_request_t* r) {
  if (!r->done || r->in_limbo)
    return;
  r->stamp++;
  r->next_free = w->free_request;
  w->free_request = (uint16_t)(r - w->requests);
}

static void push(sim_world_t* w, const sim_request_t* r, s3l_ns_t at, int kind) {
  sim_push(w, at, kind, (unsigned)(r - w->requests), r->stamp);
}

static s3l_ns_t way(sim_world_t* w, sim_node_t* n) {
  const sim_weather_t* weather = &n->weather;
  s3l_ns_t ns = sim_heavy(&n->net, w->plan->latency, weather->fair ? 1 : 5);
  return ns * weather->slow;
}

/* The node is told that the connection broke, in a while. */
static void breaks(sim_world_t* w, sim_node_t* n, sim_request_t* r) {
  push(w, r, w->t + sim_between(&n->net, S3L_MS, 3 * S3L_SECOND), SIM_ON_BROKEN);
}

/* Nobody hears of it: silence until the timeout, or a connection that breaks before anything was
 * sent, or after. */
static void lose_request(sim_world_t* w, sim_node_t* n, sim_request_t* r) {
  uint64_t x = sim_below(&n->net, 4);
  r->never_left = x == 0;
  if (x < 2)
    breaks(w, n, r);
}

static void travel(sim_world_t* w, sim_node_t* n, sim_request_t* r) {
  const sim_weather_t* weather = &n->weather;
  s3l_ns_t at = w->t + way(w, n);
  sim_boundary_t boundary = sim_boundary(w, r, &at);
  if (boundary == SIM_BOUNDARY_LOST) {
    breaks(w, n, r);
    return;
  }
  if (!weather->fair && boundary == SIM_BOUNDARY_OFF) {
    if (weather->refuses) {
      r->never_left = true;
      push(w, r, at, SIM_ON_BROKEN);
      return;
    }
    if (weather->cut_requests || sim_chance(&n->net, weather->loss_request)) {
      lose_request(w, n, r);
      return;
    }
    if (sim_chance(&n->net, weather->late)) {
      r->late = true;
      at += (s3l_ns_t)sim_below(&n->net, weather->late_ms) * S3L_MS;
      if (at > w->calm_at)
        at = w->calm_at;
    }
    r->no_reply = weather->cut_replies || sim_chance(&n->net, weather->loss_reply);
    if (r->no_reply && sim_chance(&n->net, 300))
      breaks(w, n, r);
    if (sim_chance(&n->net, weather->errors)) {
      do
        r->error = (int8_t)sim_below(&n->net, SIM_ERRORS_END);
      while ((weather->errors_set & (1u << r->error)) == 0);
      r->error_applies = sim_chance(&n->net, 500);
    }
  }
  if (boundary == SIM_BOUNDARY_OFF && sim_files_undoes(w, r)) {
    int64_t t = n->plan->config.leader_timeout_ms;
    r->undone = r->late = true;
    at += sim_between(&n->net, t / 4, 2 * t) * S3L_MS;
    at = at < w->calm_at ? at : w->calm_at;
  }
  r->in_limbo = true;
  push(w, r, at, SIM_ON_ARRIVAL);
}

uint64_t sim_incarnation(const s3lect_record_t* record) {
  uint8_t half[8] = {0};
  uint64_t out = 0;
  (void)s3l_hex_decode((s3l_span_t){record->incarnation, 16}, half, sizeof half);
  for (size_t k = 0; k < sizeof half; k++)
    out = out << 8 | half[k];
  return out;
}

/* The node whose claim a grant writes: it may have died since, or be another process by now. */
static void name_granted(sim_world_t* w, sim_request_t* r, const s3lect_record_t* record) {
  r->write.life = UINT32_MAX;
  for (unsigned k = 0; k < w->plan->nodes_len; k++) {
    const sim_node_t* n = &w->nodes[k];
    bool same = n->process == SIM_UP && strcmp(n->core.incarnation, record->incarnation) == 0;
    if (!same && (r->write.node >= 0 || strcmp(n->plan->id, record->leader_id) != 0))
      continue;
    r->write.node = (int)k;
    r->write.sent_boot = sim_boot(w, n);
    if (same)
      r->write.life = w->oracle.nodes[k].life;
  }
}

static void fill_write(sim_world_t* w, unsigned i, sim_request_t* r, const s3l_effect_t* e) {
  sim_node_t* n = &w->nodes[i];
  const s3lect_record_t* record = &w->effects.record;
  size_t len = w->plan->epochs ? s3l_record_encode_file(record, r->body, SIM_BODY_MAX)
                               : s3l_record_encode(record, r->body, sizeof r->body);
  r->body_len = (uint32_t)len;
  if (len == 0)
    oracle_fail(&w->oracle, ORACLE_CONTRACT, w->t, (int)i, -1, "n%u: writes no record", i);
  if (e->disputed && !n->dialect_proven) {
    n->dialect_bare = !n->dialect_bare;
    sim_met(w, SIM_MET_DIALECT_SWITCHED);
  }
  r->bare = n->dialect_bare;
  r->claims = r->op == S3L_OP_TAKE_OVER && record->claim;
  (void)s3l_span_copy(s3l_span_cstr(record->leader_id), r->leader_id, sizeof r->leader_id);
  (void)s3l_span_copy(s3l_span_cstr(record->successor), r->successor, sizeof r->successor);
  (void)s3l_span_copy(s3l_span_cstr(record->value), r->value, sizeof r->value);
  r->write = (oracle_write_t){.node = (int)i,
                              .sent_boot = sim_boot(w, n),
                              .epoch = record->epoch,
                              .number = record->write,
                              .released = record->released != 0,
                              .claims = !record->released && record->transitions == 0,
                              .leader_id = r->leader_id,
                              .successor = r->successor,
                              .value = r->value,
                              .looked_at = w->oracle.nodes[i].looked_at};
  r->write.incarnation = sim_incarnation(record);
  r->write.life = w->oracle.nodes[i].life;
  r->grants = e->granted;
  if (r->grants) {
    r->write.node = -1;
    name_granted(w, r, record);
    sim_met(w, SIM_MET_GRANT_SENT);
    oracle_grant_sent(&w->oracle, w->t, (int)i, &r->write);
    return;
  }
  oracle_write_sent(&w->oracle, w->t, &r->write);
  sim_files_check_claim(w, r);
}

void sim_issue(sim_world_t* w, unsigned i, const s3l_effect_t* e) {
  sim_node_t* n = &w->nodes[i];
  uint16_t* slot = e->kind == S3L_DO_GC ? &n->gc : &n->request;
  if (*slot != SIM_NO_REQUEST) {
    oracle_fail(&w->oracle, ORACLE_CONTRACT, w->t, (int)i, -1, "n%u: two requests at once", i);
    return;
  }
  sim_request_t* r = take_slot(w);
  *slot = (uint16_t)(r - w->requests);
  r->node = (uint8_t)i;
  r->op = (uint8_t)n->core.op.kind;
  r->is_write = e->kind == S3L_DO_WRITE;
  r->is_list = e->kind == S3L_DO_LIST;
  r->is_gc = e->kind == S3L_DO_GC;
  r->condition = (uint8_t)e->condition;
  r->file = e->more ? n->listed_last : e->file;
  r->error = -1;
  r->sent_at = w->t;
  if (e->etag != NULL)
    memcpy(r->etag, e->etag, strlen(e->etag) + 1);
  r->timeout_slewed = n->weather.stuck ? S3L_NEVER : sim_slewed_in(w, n, e->timeout_ms);
  if (r->is_write)
    fill_write(w, i, r, e);
  else if (!r->is_gc)
    oracle_read_sent(&w->oracle, (int)i, w->t);
  if (!r->is_gc)
    sim_saw_issue(w, i, r);
  travel(w, n, r);
}

/* At the store. */

static void put_status(sim_request_t* r, int status, s3lect_outcome_t outcome) {
  r->status = status;
  r->outcome = (uint8_t)outcome;
}

static bool answer_error_to_read(sim_world_t* w, sim_request_t* r) {
  switch (r->error) {
  case SIM_ERROR_403:
    put_status(r, S3LECT_EDENIED, S3LECT_SETTLED);
    sim_met(w, SIM_MET_DENIED);
    break;
  case SIM_ERROR_404: /* of the bucket: that of the object would be a lie */
    put_status(r, S3LECT_ENOBUCKET, S3LECT_SETTLED);
    break;
  case SIM_ERROR_429:
    put_status(r, S3LECT_ETHROTTLED, S3LECT_NOT_APPLIED);
    sim_met(w, SIM_MET_THROTTLED);
    break;
  case SIM_ERROR_NO_ETAG:
    put_status(r, S3LECT_EETAG, S3LECT_NOT_APPLIED);
    break;
  case SIM_ERROR_BAD_REPLY:
    put_status(r, S3LECT_EBADREPLY, S3LECT_NOT_APPLIED);
    break;
  default:
    put_status(r, S3LECT_ESERVER, S3LECT_NOT_APPLIED);
    break;
  }
  return true;
}

/* Errors that a store may answer instead of doing something. False: it does it. */
static bool answer_error_to_write(sim_world_t* w, sim_request_t* r) {
  switch (r->error) {
  case SIM_ERROR_403:
    put_status(r, S3LECT_EDENIED, S3LECT_SETTLED);
    sim_met(w, SIM_MET_DENIED);
    return true;
  case SIM_ERROR_404:
    put_status(r, S3LECT_ENOTFOUND, S3LECT_SETTLED);
    return true;
  case SIM_ERROR_409:
    put_status(r, S3LECT_ECONFLICT, S3LECT_SETTLED);
    return true;
  case SIM_ERROR_412:
    put_status(r, S3LECT_EPRECONDITION, S3LECT_SETTLED);
    return true;
  case SIM_ERROR_429:
    put_status(r, S3LECT_ETHROTTLED, S3LECT_NOT_APPLIED);
    r->retry_after_ms = 1000;
    sim_met(w, SIM_MET_THROTTLED);
    return true;
  default:
    put_status(r, S3LECT_ESERVER, S3LECT_UNCERTAIN);
    return !r->error_applies && r->error != SIM_ERROR_NO_ETAG;
  }
}

/* Errors that hide what a store did. */
static void hide_success(sim_world_t* w, sim_request_t* r) {
  if (r->error == SIM_ERROR_NO_ETAG) {
    put_status(r, 0, S3LECT_SETTLED);
    r->reply_etag[0] = '\0';
    sim_met(w, SIM_MET_NO_ETAG);
    return;
  }
  put_status(r, r->error == SIM_ERROR_BAD_REPLY ? S3LECT_EBADREPLY : S3LECT_ESERVER,
             S3LECT_UNCERTAIN);
  sim_met(w, SIM_MET_ERROR_AFTER_EFFECT);
}

sim_reply_t sim_put(sim_world_t* w, const sim_request_t* r) {
  return sim_store_put(&w->store, w->t, r->file, (s3lect_condition_t)r->condition, r->etag, r->bare,
                       r->body, r->body_len);
}

static void serve(sim_world_t* w, sim_request_t* r) {
  sim_reply_t reply = {.store_time_ms = sim_store_date(&w->store, w->t)};
  r->served_at = w->t;
  if (r->is_list)
    sim_files_list(w, r);
  else if (r->is_gc)
    sim_files_gc(w, r);
  else
    reply = r->is_write ? sim_put(w, r) : sim_store_get(&w->store, w->t, r->file, r->etag);
  bool unsupported = reply.status == S3LECT_EUNSUPPORTED;
  put_status(r, reply.status, unsupported ? S3LECT_NOT_APPLIED : S3LECT_SETTLED);
  if (unsupported)
    sim_met(w, SIM_MET_NO_IF_MATCH);
  r->store_time_ms = reply.store_time_ms;
  r->modified_ms = reply.modified_ms;
  if (reply.object == NULL)
    return;
  memcpy(r->reply_etag, reply.object->etag, sizeof r->reply_etag);
  if (r->is_write || reply.status != 0)
    return;
  r->body_len = reply.object->body_len;
  memcpy(r->body, reply.object->body, r->body_len);
}

static bool is_too_soon(const sim_world_t* w, const sim_request_t* r) {
  const sim_object_t* o =
      w->plan->slow_writes && r->is_write ? sim_store_find(&w->store, r->file) : NULL;
  return o != NULL && w->t - o->written < S3L_SECOND;
}

static void at_store(sim_world_t* w, sim_request_t* r) {
  if (is_too_soon(w, r))
    r->error = SIM_ERROR_429;
  bool replaced =
      r->error >= 0 && (r->is_write ? answer_error_to_write(w, r) : answer_error_to_read(w, r));
  if (replaced)
    return;
  serve(w, r);
  if (!r->is_write)
    return;
  r->landed = r->status == 0;
  if (r->landed)
    oracle_write_landed(&w->oracle, w->t, &r->write);
  sim_saw_arrival(w, r);
  if (r->landed && r->error >= 0)
    hide_success(w, r);
}

void sim_on_arrival(sim_world_t* w, unsigned index) {
  sim_request_t* r = &w->requests[index];
  sim_node_t* n = &w->nodes[r->node];
  r->in_limbo = false;
  if (r->replayed) {
    sim_files_replay(w, r);
    give_back_if_over(w, r);
    return;
  }
  if (r->undone)
    sim_files_undo(w, r);
  sim_boundary_arrives(w, r);
  at_store(w, r);
  w->digest = sim_mix(w->digest, (uint64_t)w->t ^ (uint64_t)(int64_t)r->status << 48);
  if (!r->done && !r->no_reply)
    push(w, r, w->t + (r->reply_in > 0 ? r->reply_in : way(w, n)), SIM_ON_REPLY);
  if (w->plan->epochs && !sim_is_calm(w) && (sim_boundary_replays(r) || sim_files_replays(w, r))) {
    s3l_ns_t most = r->stale_len > 0 ? 2 * S3L_SECOND : 20 * S3L_SECOND;
    s3l_ns_t at = w->t + sim_between(&n->net, 0, most);
    r->replayed = r->in_limbo = true;
    push(w, r, at < w->calm_at ? at : w->calm_at, SIM_ON_ARRIVAL);
  }
  give_back_if_over(w, r);
}

/* At the node. */

static void looked(sim_world_t* w, const sim_request_t* r, const s3lect_store_result_t* result) {
  bool told =
      !r->is_list && (result->status == 0 || result->status == S3LECT_ENOTFOUND ||
                      result->status == S3LECT_ENOTMODIFIED || result->status == S3LECT_ETOOBIG);
  /* That of a file before the newest is no look at the newest. */
  bool base = w->plan->epochs && r->file < w->nodes[r->node].core.epoch_seen;
  oracle_read_done(&w->oracle, r->node, told);
  if (told && !base)
    oracle_looked(&w->oracle, r->node, r->served_at);
}

void sim_done(sim_world_t* w, sim_request_t* r, const s3lect_store_result_t* result,
              const s3l_listing_t* listing) {
  sim_node_t* n = &w->nodes[r->node];
  s3l_event_t ev = {
      .kind = r->is_gc ? S3L_EV_GC_DONE : S3L_EV_DONE, .result = result, .listing = listing};
  r->done = true;
  *(r->is_gc ? &n->gc : &n->request) = SIM_NO_REQUEST;
  if (r->is_write) {
    bool known = result->status != 0 || result->etag != NULL;
    oracle_write_done(&w->oracle, r->node,
                      result->outcome == S3LECT_UNCERTAIN ||
                          (result->outcome == S3LECT_SETTLED && !known));
  } else if (!r->is_gc) {
    looked(w, r, result);
  }
  if (!r->is_gc)
    sim_saw_done(w, r, result);
  sim_step(w, r->node, &ev);
  give_back_if_over(w, r);
}

static void done_without_reply(sim_world_t* w, sim_request_t* r, int status) {
  bool no_effect = !(r->is_write || r->is_gc) || r->never_left;
  s3lect_store_result_t result = {.status = status,
                                  .outcome = no_effect ? S3LECT_NOT_APPLIED : S3LECT_UNCERTAIN};
  sim_done(w, r, &result, NULL);
}

void sim_on_reply(sim_world_t* w, unsigned index) {
  sim_request_t* r = &w->requests[index];
  sim_node_t* n = &w->nodes[r->node];
  s3lect_store_result_t result = {.status = r->status,
                                  .outcome = (int32_t)r->outcome,
                                  .etag = r->reply_etag[0] != '\0' ? r->reply_etag : NULL,
                                  .store_time_ms = r->store_time_ms,
                                  .modified_ms = r->modified_ms,
                                  .retry_after_ms = r->retry_after_ms};
  if (r->is_list && r->status == 0) {
    n->listed_last = r->listed_last;
  } else if (!r->is_write && r->status == 0) {
    result.body = r->body;
    result.body_len = r->body_len;
  }
  if (r->is_write && r->status == 0 && r->etag[0] != '\0')
    n->dialect_proven = true;
  sim_done(w, r, &result, r->is_list && r->status == 0 ? &r->listing : NULL);
}

void sim_on_broken(sim_world_t* w, unsigned index) {
  sim_request_t* r = &w->requests[index];
  int status = r->cancelled ? CANCELED : w->nodes[r->node].weather.refuses ? REFUSED : RESET;
  done_without_reply(w, r, status);
}

void sim_timed_out(sim_world_t* w, uint16_t request) {
  done_without_reply(w, &w->requests[request], TIMED_OUT);
}

void sim_cancel(sim_world_t* w, unsigned i, uint16_t request) {
  sim_node_t* n = &w->nodes[i];
  if (request == SIM_NO_REQUEST || w->requests[request].cancelled) {
    oracle_fail(&w->oracle, ORACLE_CONTRACT, w->t, (int)i, -1, "n%u: cancels no request", i);
    return;
  }
  sim_request_t* r = &w->requests[request];
  r->cancelled = true;
  sim_met(w, SIM_MET_CANCELLED);
  push(w, r, w->t + (s3l_ns_t)sim_below(&n->net, 2 * S3L_MS), SIM_ON_BROKEN);
}

static void forget(sim_world_t* w, uint16_t* request) {
  if (*request == SIM_NO_REQUEST)
    return;
  sim_request_t* r = &w->requests[*request];
  *request = SIM_NO_REQUEST;
  r->done = true;
  give_back_if_over(w, r);
}

void sim_forget_request(sim_world_t* w, unsigned i) {
  forget(w, &w->nodes[i].request);
  forget(w, &w->nodes[i].gc);
}
