/* world/trial.c: see trial.h. */
#include "world/trial.h"

#include "world/application.h"
#include "world/situations.h"
#include "world/told.h"

#define REQUESTS_MS   3000 /* what a few requests take */
#define ASKED_MS      2000 /* ... and a follower's next question to its leader */
#define HEAD_START_MS 1000 /* of two steps of priority */

static world_life_t* leader(void) {
  for (int i = 0; i < election.nodes_len; i++)
    if (oracle_believes(&election.oracle, i, world.now))
      return election.nodes[i].life;
  return NULL;
}

static const oracle_config_t* options_of(const world_life_t* l) {
  return &election.oracle.nodes[l->node->index].config;
}

/* Within how long a follower notices a write of its leader. One that asks is answered at once. */
static int64_t notice_ms(const world_life_t* follower, const world_life_t* l) {
  const oracle_config_t* f = options_of(follower);
  if (f->peer_mode && options_of(l)->peer_mode)
    return REQUESTS_MS + ASKED_MS;
  return REQUESTS_MS + (f->peer_mode ? f->frequent_interval_ms : f->infrequent_interval_ms);
}

static int64_t longest_notice_ms(const world_life_t* l) {
  int64_t most = 0;
  for (int i = 0; i < election.nodes_len; i++) {
    const world_life_t* follower = election.nodes[i].life;
    int64_t ms = follower != NULL && follower != l ? notice_ms(follower, l) : 0;
    most = ms > most ? ms : most;
  }
  return most;
}

/* An interval is jittered by a tenth, and clocks are slow by 1 %. */
static void wait(int64_t ms) {
  world_run_until(world.now + ms * WORLD_MS * 112 / 100);
}

static void try_value(world_life_t* l) {
  if (!l->config.values)
    return;
  world_host_t* was = world_enter(l->host);
  world_application_publish(l, true);
  world_wake(l->host);
  world_leave(was);
  wait(longest_notice_ms(l) + REQUESTS_MS);
  world_told_all(l);
  world_meet(WORLD_MET_VALUE_AT_ONCE);
}

/* How long a release may take from when its leader resigned. If the application does not
 * acknowledge in time, the record is left to expire. */
static int64_t release_ms(const world_life_t* l) {
  const world_config_t* c = &l->config;
  int64_t most = 0;
  for (int i = 0; i < election.nodes_len; i++)
    if (election.oracle.nodes[i].config.leader_timeout_ms > most)
      most = election.oracle.nodes[i].config.leader_timeout_ms;
  bool in_time = c->stop_ack_ms == 0 || c->ack_delay_ms + 500 < c->stop_ack_ms;
  return in_time ? c->ack_delay_ms : c->stop_ack_ms + most;
}

static int64_t longest_grace_ms(void) {
  int64_t most = 0;
  for (int i = 0; i < election.nodes_len; i++)
    if (election.nodes[i].config.grace_period_ms > most)
      most = election.nodes[i].config.grace_period_ms;
  return most;
}

/* Whoever resigned lets others go first for its leader timeout, which may be too short for them. */
static void try_resignation(world_life_t* l) {
  int64_t ms = release_ms(l) + longest_notice_ms(l) + HEAD_START_MS + REQUESTS_MS;
  bool others_first = ms < options_of(l)->leader_timeout_ms * INT64_C(98) / 100;
  world_node_resign(l->node, -1);
  ms += longest_grace_ms();
  wait(ms);
  const world_life_t* next = leader();
  if (next == NULL || (next == l && others_first))
    world_broken("%s resigned, and %s leads %.3f s later", l->node->name,
                 next == NULL ? "nobody" : "it", (double)ms / 1e3);
  world_meet(next == l ? WORLD_MET_LEADS_AGAIN : WORLD_MET_HANDED_OVER);
}

void world_trial(void) {
  world_life_t* l = leader();
  if (l != NULL)
    try_value(l);
  if (l != NULL && leader() == l && election.nodes_len > 1)
    try_resignation(l);
}
