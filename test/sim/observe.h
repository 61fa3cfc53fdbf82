/* sim/observe.h: notices situations, for coverage, and marks what happens on the log.
 *
 * Unlike the oracle it looks into cores: it judges nothing. */
#ifndef SIM_OBSERVE_H
#define SIM_OBSERVE_H

#include "sim/world.h"

/** What of a core may change in a step and tell of a situation. */
typedef struct sim_before_s {
  bool leading, announced, release_owed, provisional;
  bool asked; /* an ask is under way */
  uint64_t failures, late_replies, unknown_resolved;
  uint32_t peer_answers, peer_refused;
} sim_before_t;

sim_before_t sim_look(const s3l_core_t* core);

void sim_saw_step(sim_world_t* w, unsigned node, const sim_before_t* before,
                  const s3l_event_t* event);
void sim_saw_note(sim_world_t* w, unsigned node, const s3l_effect_t* note);
void sim_saw_issue(sim_world_t* w, unsigned node, const sim_request_t* request);
void sim_saw_arrival(sim_world_t* w, const sim_request_t* request);
void sim_saw_done(sim_world_t* w, const sim_request_t* request,
                  const s3lect_store_result_t* result);
void sim_saw_answer(sim_world_t* w, unsigned node, const sim_answer_t* answer);
void sim_saw_begin(sim_world_t* w, unsigned node);
/** A process ends, one way or another. */
void sim_saw_end(sim_world_t* w, unsigned node);
void sim_saw_pause(sim_world_t* w, unsigned node, s3l_ns_t until);
void sim_saw_crash(sim_world_t* w, unsigned node);
void sim_saw_stop(sim_world_t* w, unsigned node, bool closes);

#endif
