/* sim/fault.c: the plan's faults at work. */
#include <stdio.h>
#include <string.h>

#include "sim/observe.h"
#include "sim/world.h"

/* The node that a fault concerns, found when it comes; -1: none, SIM_WHO_ALL: all. */
static int find_who(sim_world_t* w, const sim_fault_t* f) {
  int leader = sim_leader(w);
  if (f->who == SIM_WHO_ALL)
    return SIM_WHO_ALL;
  if (f->who == SIM_WHO_LEADER)
    return leader;
  unsigned n = f->who < w->plan->nodes_len ? f->who : 0;
  if (f->who == SIM_WHO_FOLLOWER && (int)n == leader)
    n = (n + 1) % w->plan->nodes_len;
  return (w->nodes_out & (1u << n)) != 0 ? -1 : (int)n;
}

static bool concerns(const sim_world_t* w, size_t fault, unsigned node) {
  unsigned who = w->who[fault];
  return who != 0 && (who - 1 == SIM_WHO_ALL || who - 1 == node);
}

static void add(sim_weather_t* x, const sim_fault_t* f) {
  switch (f->kind) {
  case SIM_FAULT_LOSS:
    x->loss_request = (uint32_t)f->a;
    x->loss_reply = (uint32_t)f->b;
    break;
  case SIM_FAULT_LATE:
    x->late = (uint32_t)f->a;
    x->late_ms = (uint32_t)f->b;
    break;
  case SIM_FAULT_SLOW:
    x->slow = (uint32_t)f->a;
    break;
  case SIM_FAULT_OUTAGE:
    x->refuses = x->refuses || f->a == 1;
    x->cut_requests = x->cut_requests || f->a == 0;
    break;
  case SIM_FAULT_CUT:
    x->cut_requests = x->cut_requests || (f->a & 1) != 0;
    x->cut_replies = x->cut_replies || (f->a & 2) != 0;
    break;
  case SIM_FAULT_ERRORS:
    x->errors = (uint32_t)f->a;
    x->errors_set = (uint32_t)f->b;
    break;
  case SIM_FAULT_PEER_CUT:
    x->peer_cut = true;
    x->peer_cut_how = (uint32_t)f->a;
    break;
  case SIM_FAULT_PEER_SLOW:
    x->peer_slow = (uint32_t)f->a;
    break;
  case SIM_FAULT_PEER_STALE:
    x->peer_stale = (uint32_t)f->a;
    break;
  case SIM_FAULT_PEER_WRONG:
    x->peer_wrong = (uint32_t)f->a;
    break;
  case SIM_FAULT_PEER_LIES:
    x->peer_lies = (uint32_t)f->a;
    break;
  case SIM_FAULT_PEER_STAMPS:
    x->peer_stamps = true;
    break;
  default:
    x->stuck = true;
    break;
  }
  x->fair = x->fair && f->kind >= SIM_FAULT_PEER_CUT;
}

void sim_set_weather(sim_world_t* w) {
  for (unsigned i = 0; i < w->plan->nodes_len; i++) {
    sim_weather_t x = {.slow = 1, .fair = true, .peer_slow = 1};
    if (w->on_trial == (int)i) {
      x.cut_requests = x.cut_replies = true;
      x.fair = false;
      x.peer_stamps = w->trial_stamps;
    }
    for (size_t k = w->plan->chapters[w->chapter].faults_from;
         k < w->plan->chapters[w->chapter].faults_to; k++)
      if (concerns(w, k, i))
        add(&x, &w->plan->faults[k]);
    w->nodes[i].weather = x;
  }
}

static void begin_window(sim_world_t* w, unsigned index, const sim_fault_t* f, int who) {
  w->who[index] = (uint8_t)(who + 1);
  sim_set_weather(w);
  sim_push(w, f->until, SIM_ON_FAULT_END, index, 0);
  if (f->kind == SIM_FAULT_CUT && who == sim_leader(w))
    sim_met(w, f->a == 1   ? SIM_MET_CUT_REQUESTS
               : f->a == 2 ? SIM_MET_CUT_REPLIES
                           : SIM_MET_CUT_BOTH);
}

void sim_on_fault_end(sim_world_t* w, unsigned index) {
  if (w->plan->faults[index].kind == SIM_FAULT_FOREIGN) {
    sim_foreign_end(w);
    return;
  }
  w->who[index] = 0;
  sim_set_weather(w);
}

/* By hand. Every damaged body is another, as the store contract asks of whoever writes. */
static void damage(sim_world_t* w, int64_t kind) {
  static const char* const bodies[] = {
      "%llu",
      "{\"leaderID\":\"node-0\",\"lastUpdated\":\"2024-10-27T10:30:45Z\",\"epoch\":%llu",
      "<html><body>Bad gateway %llu</body></html>",
      "{\"leaderID\":%llu,\"lastUpdated\":\"2024-10-27T10:30:45Z\"}",
      "{\"n\":%llu}",
      "[\"leaderID\",%llu]",
      "{\"leaderID\":\"by-hand-%llu\",\"lastUpdated\":\"2024-10-27T10:30:45Z\"}",
      "%llu",
  };
  char body[256];
  int len = snprintf(body, sizeof body, bodies[kind], (unsigned long long)++w->hand_count);
  sim_store_set(&w->store, w->t, 0, body, (size_t)len)->oversized = kind == 7;
  char name[32] = "";
  if (kind == 6)
    snprintf(name, sizeof name, "by-hand-%llu", (unsigned long long)w->hand_count);
  oracle_write_t write = {.node = -1, .leader_id = name};
  oracle_write_landed(&w->oracle, w->t, &write);
}

static void touch_by_hand(sim_world_t* w, const sim_fault_t* f) {
  bool led = sim_leader(w) >= 0;
  sim_standing_t none = {.kind = SIM_STANDS_NOTHING};
  if (w->plan->epochs)
    sim_files_by_hand(w, f);
  if (f->kind == SIM_FAULT_DELETE) {
    sim_store_delete(&w->store, w->t, 0);
    oracle_deleted(&w->oracle);
    if (led)
      sim_met(w, SIM_MET_DELETED_UNDER_LEADER);
  } else {
    if (w->plan->epochs)
      oracle_deleted(&w->oracle); /* a release that was overwritten names nobody */
    else
      damage(w, f->a);
    none.kind = f->a == 6 ? SIM_STANDS_FOREIGN : SIM_STANDS_DAMAGE;
    if (led)
      sim_met(w, SIM_MET_CORRUPTED_UNDER_LEADER);
  }
  w->standing = none;
}

static void transfer(sim_world_t* w, unsigned i, int64_t to) {
  bool somebody = to < (int64_t)w->plan->nodes_len;
  const char* id = somebody ? w->plan->nodes[to].id : "nobody";
  if (strcmp(id, w->plan->nodes[i].id) == 0)
    return;
  s3l_event_t ev = {.kind = S3L_EV_TRANSFER, .successor = id};
  sim_met(w, SIM_MET_TRANSFERRED);
  sim_step(w, i, &ev);
}

static void do_to_node(sim_world_t* w, const sim_fault_t* f, unsigned i) {
  sim_node_t* n = &w->nodes[i];
  bool runs = n->process == SIM_UP && n->paused_until <= w->t;
  bool stands = runs && n->core.phase == S3L_PHASE_STANDING;
  s3l_event_t resign = {.kind = S3L_EV_RESIGN};
  switch (f->kind) {
  case SIM_FAULT_PAUSE:
    if (n->process == SIM_UP) {
      sim_saw_pause(w, i, f->until);
      sim_pause(w, i, f->until);
    }
    break;
  case SIM_FAULT_CRASH:
    if (n->process == SIM_UP) {
      sim_saw_crash(w, i);
      sim_crash(w, i);
      sim_push(w, f->until, SIM_ON_BEGIN, i, 0);
    }
    break;
  case SIM_FAULT_RESIGN:
    if (stands && n->core.leading) {
      sim_met(w, SIM_MET_RESIGNED);
      sim_step(w, i, &resign);
    }
    break;
  case SIM_FAULT_TRANSFER:
    if (stands && n->core.leading)
      transfer(w, i, f->a);
    break;
  case SIM_FAULT_STOP:
  case SIM_FAULT_CLOSE:
    if (stands)
      sim_stop(w, i, f->kind == SIM_FAULT_CLOSE, f->until);
    break;
  case SIM_FAULT_WALL:
    n->wall_offset_ms += f->a;
    if (sim_leader(w) == (int)i)
      sim_met(w, SIM_MET_WALL_JUMP_LEADING);
    break;
  default:
    sim_clock_set_rate(&n->clock, w->t, f->a);
    sim_clock_set_rate(&n->slewed, w->t, f->a + n->plan->slew_ppb);
    if (n->process == SIM_UP) { /* the timer was set by the old rate */
      n->timer_at = S3L_NEVER;
      sim_push(w, w->t, SIM_ON_TIMER, i, ++n->timer_stamp);
    }
    break;
  }
}

static void tell(sim_world_t* w, const sim_fault_t* f, int who) {
  w->faults_met++;
  w->digest = sim_mix(w->digest, (uint64_t)f->at ^ f->kind);
  if (w->log == NULL)
    return;
  char whom[16] = "all";
  if (who >= 0 && who < SIM_WHO_LEADER)
    snprintf(whom, sizeof whom, "n%d", who);
  sim_log_line(w->log, w->t, "fault: %s %s until %.3f (%lld, %lld)", whom, sim_fault_name(f->kind),
               (double)f->until / 1e6, (long long)f->a, (long long)f->b);
  sim_mark_kind_t kind = f->kind == SIM_FAULT_PAUSE   ? SIM_MARK_PAUSE
                         : f->kind == SIM_FAULT_CRASH ? SIM_MARK_DOWN
                                                      : SIM_MARK_FAULT;
  bool lasts = f->kind < SIM_FAULT_WINDOWS_END || kind != SIM_MARK_FAULT;
  sim_log_mark(w->log, kind, who < SIM_WHO_LEADER ? who : -1, w->t, lasts ? f->until : w->t,
               sim_fault_name(f->kind));
}

void sim_on_fault(sim_world_t* w, unsigned index) {
  const sim_fault_t* f = &w->plan->faults[index];
  if (f->kind == SIM_FAULT_DELETE || f->kind == SIM_FAULT_CORRUPT) {
    tell(w, f, -1);
    touch_by_hand(w, f);
    return;
  }
  if (f->kind == SIM_FAULT_FOREIGN) {
    if (!w->foreign.active) {
      tell(w, f, -1);
      sim_foreign_begin(w, f);
      sim_push(w, f->until, SIM_ON_FAULT_END, index, 0);
    }
    return;
  }
  int who = find_who(w, f);
  if (who < 0)
    return;
  tell(w, f, who);
  if (f->kind < SIM_FAULT_WINDOWS_END) {
    begin_window(w, index, f, who);
    return;
  }
  for (unsigned i = 0; i < w->plan->nodes_len; i++)
    if (who == SIM_WHO_ALL || who == (int)i)
      do_to_node(w, f, i);
}
