/* world/writer.h: the application of a life: while its elector leads it writes a fenced object, and
 * once more when its leadership has ended and when it sees the next leader. The object's epoch must
 * never go back. */
#ifndef WORLD_WRITER_H
#define WORLD_WRITER_H

#include "world/node.h"

#define WORLD_WORK_KEY "work"

/** The objects of the store are gone. */
void world_writer_emptied(void);
/** The store changed the fenced object. */
void world_writer_saw(const char* body, size_t n);
/** The life's elector told its application this. */
void world_writer_event(world_life_t* life, const s3lect_event_t* event);

#endif
