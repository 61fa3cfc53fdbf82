/* world/application.h: what an application asks of its elector while that runs: a value to publish,
 * and other options. */
#ifndef WORLD_APPLICATION_H
#define WORLD_APPLICATION_H

#include "world/node.h"

/** The options of a life's elector, as they are to be now. */
void world_application_options(world_life_t* life, s3lect_elector_options_t* options);
/** The elector has been made with them; it is not started yet. */
void world_application_begin(world_life_t* life, const s3lect_elector_options_t* options);
/** Sets the next value of a life; nothing happens in a run without values. */
void world_application_publish(world_life_t* life, bool at_once);
/** All is well from here on: everybody sets one more value, which costs no request. */
void world_application_quiet(void);

#endif
