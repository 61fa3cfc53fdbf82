/* sim/svg.h: a run as a picture: one lane per node and one for the store. */
#ifndef SIM_SVG_H
#define SIM_SVG_H

#include "sim/world.h"

/** Closes what is still open on the log: leaderships, validity. */
void sim_close_marks(sim_world_t* w);

/** Draws from..to. False if the file cannot be written. */
bool sim_svg_write(const char* path, const sim_world_t* w, const sim_log_t* log, s3l_ns_t from,
                   s3l_ns_t to);

#endif
