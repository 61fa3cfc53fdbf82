/* world/answers.h: a leader's answer is newer than the question. It names no write that is older
 * than the newest one that had been confirmed before the leader was asked. An older answer does no
 * harm (docs/safety.md, "What a peer says"), so no other check notices it. */
#ifndef WORLD_ANSWERS_H
#define WORLD_ANSWERS_H

#include "world/node.h"

void world_answers_begin(void);
/** A line of the core's trace, of a process that is no ghost. */
void world_answers_trace(world_life_t* life, const char* line);

#endif
