/* world/judge.h: what the oracle is told of a life: what is_leader says, what its core sends (from
 * the trace), and what lands in the store. What its application hears is judged by told.c. */
#ifndef WORLD_JUDGE_H
#define WORLD_JUDGE_H

#include "world/node.h"

void world_judge_begin(void);
/** All objects of the store are gone. */
void world_judge_emptied(void);

/** The callback of an elector whose `data` is its life. */
void world_judge_trace(s3lect_elector_t* elector, const char* line);

/** An elector was started: from the random bytes that it drew comes its incarnation. */
void world_judge_birth(world_life_t* life);
/** Its application has set so many values. */
void world_judge_value(world_life_t* life, unsigned count);
/** All is well, and was for long. */
void world_judge_quiet(void);
/** What a life's elector says now; false if nobody can see it. */
bool world_judge_status(world_life_t* life, s3lect_status_t* status, bool* leads);
/** Compares what is_leader says now. */
void world_judge_look(world_life_t* life);
/** The after_turn of a host whose elector is open. */
void world_judge_turn(world_host_t* host);
/** An allocation of a process fails. */
void world_judge_no_memory(world_host_t* host);
/** A process dials. */
void world_judge_connect(world_host_t* host, uint32_t address, uint16_t port);
/** Whether a request of its core is under way. */
bool world_judge_in_request(const world_life_t* life);
/** The event of a life's acknowledgement. */
void world_judge_ack(world_event_t* event);

#endif
