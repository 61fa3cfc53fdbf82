/* world/answers.c: see answers.h. */
#include "world/answers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The newest write that its sender knows to have landed, of all. */
static world_write_t confirmed;

void world_answers_begin(void) {
  confirmed = (world_write_t){0};
}

static bool begins(const char* line, const char* with) {
  return strncmp(line, with, strlen(with)) == 0;
}

static world_write_t named(const char* line) {
  world_write_t w = {0};
  const char* at = strstr(line, " epoch=");
  if (at != NULL)
    (void)sscanf(at, " epoch=%" SCNu64 " n=%" SCNu64, &w.epoch, &w.number);
  return w;
}

void world_answers_trace(world_life_t* l, const char* line) {
  if (begins(line, "write")) {
    l->writing = named(line);
  } else if (begins(line, "done")) {
    if (begins(line, "done ok") && l->writing.epoch >= confirmed.epoch)
      confirmed = l->writing;
    l->writing = (world_write_t){0};
  } else if (begins(line, "probe wait")) {
    l->asked = confirmed;
  } else if (begins(line, "peer leading")) {
    world_write_t w = named(line);
    if (w.epoch == l->asked.epoch && w.number < l->asked.number)
      world_broken("%s: an answer names write %" PRIu64 ", and %" PRIu64
                   " was confirmed before the leader was asked",
                   l->node->name, w.number, l->asked.number);
  }
}
