/* world/trial.h: what the leader does while all is well, and within how long others follow. */
#ifndef WORLD_TRIAL_H
#define WORLD_TRIAL_H

/** The leader publishes a value at once, and all know it in time. Then it resigns, and another one
 * leads in time: the head start of a priority is bounded. */
void world_trial(void);

#endif
