/* sim/foreign.c: a writer that behaves like the Go package S3lect v1.0.0.
 *
 * Each cycle it reads the lockfile; where there is none, or where its own wall clock says that the
 * record is older than the leader timeout, it takes over by compare-and-swap; where the record is
 * its own and fresh, it renews. It never stops itself. Its records have three fields, and what it
 * overwrites is lost. On leaving in good order it writes Go's zero time. */
#include <stdio.h>
#include <string.h>

#include "core/record.h"
#include "s3lect/errno.h"
#include "sim/world.h"
#include "util/timefmt.h"

enum { CYCLE = 0, READ_ARRIVES, WRITE_ARRIVES, RELEASE_ARRIVES };

static void next(sim_world_t* w, unsigned what, s3l_ns_t in) {
  sim_push(w, w->t + in, SIM_ON_FOREIGN, what, w->foreign.stamp);
}

static s3l_ns_t way(sim_world_t* w) {
  return sim_heavy(&w->foreign.rnd, w->plan->latency, 2);
}

void sim_foreign_begin(sim_world_t* w, const sim_fault_t* f) {
  sim_foreign_t* x = &w->foreign;
  uint32_t stamp = x->stamp + 1;
  memset(x, 0, sizeof *x);
  x->stamp = stamp;
  x->active = true;
  x->wall_offset_ms = f->a;
  x->releases = f->b == 1;
  x->undead = x->releases ? false : (f->at / S3L_MS) % 2 == 0;
  x->rnd = sim_rnd(w->plan->seed, (uint64_t)f->at);
  next(w, CYCLE, 0);
}

void sim_foreign_end(sim_world_t* w) {
  sim_foreign_t* x = &w->foreign;
  x->stamp++;
  x->active = false;
  if (x->leads && x->releases)
    next(w, RELEASE_ARRIVES, 0);
}

static int64_t wall_ms(const sim_world_t* w) {
  return w->plan->store_unix_ms + w->t / S3L_MS + w->foreign.wall_offset_ms;
}

static void write_record(sim_world_t* w, bool released) {
  sim_foreign_t* x = &w->foreign;
  char time[S3L_TIME_RFC3339_SIZE] = S3L_RECORD_RELEASED;
  if (!released)
    (void)s3l_time_format_rfc3339(wall_ms(w), time);
  char body[256];
  /* All its releases have one body, hence one ETag. */
  int len = snprintf(body, sizeof body,
                     "{\"leaderID\":\"" SIM_FOREIGN_ID "\",\"leaderAddr\":\"" SIM_FOREIGN_ADDR "\","
                     "\"lastUpdated\":\"%s\"}",
                     time);
  bool takes = w->standing.kind == SIM_STANDS_RECORD && !w->standing.released && !released;
  sim_reply_t r = sim_store_put(&w->store, w->t, 0, x->absent ? S3LECT_IF_ABSENT : S3LECT_IF_MATCH,
                                x->etag, false, body, (size_t)len);
  x->leads = r.status == 0;
  if (!x->leads)
    return;
  memcpy(x->etag, r.object->etag, sizeof x->etag);
  x->absent = false;
  if (takes && sim_leader(w) >= 0)
    sim_met(w, SIM_MET_FOREIGN_TOOK_OVER);
  w->standing = (sim_standing_t){.kind = SIM_STANDS_FOREIGN, .released = released};
  oracle_write_t write = {.node = -1, .leader_id = SIM_FOREIGN_ID};
  oracle_write_landed(&w->oracle, w->t, &write);
  sim_log_line(w->log, w->t, "foreign writer %s", released ? "releases" : "writes its record");
}

/* What it makes of what it read, at the store's instant; it acts on it a way back and forth later.
 */
static bool decides_to_write(sim_world_t* w) {
  sim_foreign_t* x = &w->foreign;
  const sim_object_t* lockfile = sim_store_find(&w->store, 0);
  x->absent = lockfile == NULL;
  if (x->absent)
    return true;
  memcpy(x->etag, lockfile->etag, sizeof x->etag);
  s3lect_record_t record;
  if (s3l_record_parse((s3l_span_t){lockfile->body, lockfile->body_len}, &record) != 0)
    return false; /* it cannot read it, and never gets past it */
  int64_t age = wall_ms(w) - record.last_updated_ms;
  if (record.released || age > (int64_t)w->plan->nodes[0].config.leader_timeout_ms)
    return true;
  return strcmp(record.leader_id, SIM_FOREIGN_ID) == 0;
}

void sim_on_foreign(sim_world_t* w, unsigned what) {
  switch (what) {
  case CYCLE:
    next(w, READ_ARRIVES, way(w));
    next(w, CYCLE, w->plan->nodes[0].config.leader_timeout_ms / 3 * S3L_MS);
    break;
  case READ_ARRIVES:
    if (decides_to_write(w))
      next(w, WRITE_ARRIVES, way(w) + way(w));
    break;
  case WRITE_ARRIVES:
    write_record(w, false);
    break;
  default:
    write_record(w, true);
    break;
  }
}
