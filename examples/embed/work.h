/* The work of a leader: one job after another, on a thread of libuv's pool.
 *
 * A job takes the epoch, asks whether this process leads, and writes to the register with the epoch
 * as its fencing token. It may be paused anywhere in between, for ever so long: then the register
 * refuses it. */
#ifndef EMBED_WORK_H
#define EMBED_WORK_H

#include <s3lect.h>
#include <stdbool.h>

typedef struct work_s work_t;

struct work_s {
  /* Set before work_init. */
  s3lect_elector_t* elector;
  const char* register_path;
  const char* id;
  uint64_t every_ms;
  void (*on_idle)(work_t* work); /* after work_stop: no job is under way any more; may be NULL */

  uv_timer_t timer; /* until the next job */
  uv_work_t job;
  bool running;  /* jobs are wanted */
  bool job_runs; /* one is on a thread; what follows is that thread's meanwhile */
  int result;
  uint64_t epoch, value, seen;
};

int work_init(work_t* work, uv_loop_t* loop);
/** In on_started_leading. */
void work_start(work_t* work);
/** In on_stopped_leading. No job begins any more; on_idle runs when the last one has ended, which
 * may be inside this call. */
void work_stop(work_t* work);
/** After work_stop, when it is idle. */
void work_close(work_t* work);

#endif
