/* world/told.h: what an application is told, and whether that is true and in time. */
#ifndef WORLD_TOLD_H
#define WORLD_TOLD_H

#include "world/node.h"

/** An event of a life's elector. */
void world_told_event(world_life_t* life, const s3lect_event_t* event);
/** A turn of a life whose elector is open has ended: it must have told all that was due. */
void world_told_turn(const world_life_t* life);
/** Everybody has had the time to learn of the leader's value and its address. */
void world_told_all(const world_life_t* leader);

#endif
