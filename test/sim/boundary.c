/* sim/boundary.c: a network that looks at the clocks: with epoch files, what a leader writes is
 * lost until its validity is nearly over, and then lands and is answered at the last moment; what
 * followers read meanwhile is answered late. Only then do the rules about when a read was sent, and
 * when a reply comes, decide anything. */
#include <string.h>

#include "sim/world.h"

/* For so many leader timeouts it goes on, and then rests for as many. */
#define SPELL 8
/* How late replies to reads are, at the most. */
#define READ_MAX (2500 * S3L_MS)

static s3l_ns_t timeout(const sim_world_t* w) {
  return w->plan->nodes[0].config.leader_timeout_ms * S3L_MS;
}

static bool is_on(const sim_world_t* w) {
  return w->plan->epochs && w->on_trial < 0 && (w->plan->troubles & SIM_BIT(BOUNDARY)) != 0 &&
         w->t + 2 * timeout(w) < w->calm_at && w->t / (SPELL * timeout(w)) % 2 == 0;
}

static s3l_ns_t soon(sim_node_t* n) {
  return sim_between(&n->net, S3L_MS, 10 * S3L_MS);
}

sim_boundary_t sim_boundary(sim_world_t* w, sim_request_t* r, s3l_ns_t* at) {
  sim_node_t* n = &w->nodes[r->node];
  const sim_weather_t* x = &n->weather;
  if (!is_on(w) || r->is_gc || x->cut_requests || x->cut_replies || x->refuses || x->stuck)
    return SIM_BOUNDARY_OFF;
  *at = w->t + soon(n);
  r->reply_in = soon(n);
  if (!n->core.leading) {
    if (!r->is_write && !r->is_list)
      r->reply_in = sim_between(&n->net, 0, READ_MAX);
    return SIM_BOUNDARY_TRAVELS;
  }
  s3l_ns_t left = n->core.valid_until - sim_boot(w, n);
  if (!r->is_write || r->op != S3L_OP_RENEW)
    return SIM_BOUNDARY_TRAVELS;
  if (left > n->plan->config.leader_timeout_ms * S3L_MS * 3 / 10)
    return SIM_BOUNDARY_LOST;
  s3l_ns_t before = sim_between(&n->net, 60 * S3L_MS, 300 * S3L_MS);
  s3l_ns_t most = (n->plan->config.request_timeout_ms - 50) * S3L_MS;
  if (left > before + 2 * S3L_MS)
    *at = w->t + (left - before < most ? left - before : most);
  sim_met(w, SIM_MET_BOUNDARY);
  return SIM_BOUNDARY_TRAVELS;
}

/* The body of before comes back soon after it was overwritten. */
void sim_boundary_arrives(sim_world_t* w, sim_request_t* r) {
  const sim_object_t* file = sim_store_find(&w->store, r->file);
  r->stale_len = 0;
  if (!is_on(w) || r->condition != S3LECT_ALWAYS || r->op != S3L_OP_RENEW || file == NULL ||
      (w->plan->troubles & SIM_BIT(REPLAY)) == 0)
    return;
  r->stale_len = file->body_len;
  memcpy(r->stale, file->body, file->body_len);
}

bool sim_boundary_replays(sim_request_t* r) {
  if (!r->landed || r->stale_len == 0)
    return false;
  memcpy(r->body, r->stale, r->stale_len);
  r->body_len = r->stale_len;
  return true;
}
