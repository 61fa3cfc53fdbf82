/* Faults of a candidate's machine: its wall clock is set, NTP slews its clocks, it is suspended. A
 * machine outlives the candidate's processes. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "chaos/chaos.h"

#define SLEW_MAX_PPM 90000 /* timers and guard sleep nine tenths of a lease */

s3l_clocks_t* chaos_clocks_open(const char* path) {
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void* clocks = MAP_FAILED;
  if (fd >= 0 && ftruncate(fd, sizeof(s3l_clocks_t)) == 0)
    clocks = mmap(NULL, sizeof(s3l_clocks_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (clocks == MAP_FAILED)
    abort();
  close(fd);
  return clocks;
}

void chaos_clocks_close(s3l_clocks_t* clocks) {
  munmap(clocks, sizeof *clocks);
}

static int64_t wall_step_ns(const chaos_fault_t* f) {
  static const int64_t steps_s[] = {1, 70, 1200, 172800, 315360000};
  int64_t ns = steps_s[f->dice % 5] * 1000000000;
  return f->dice / 5 % 2 == 0 ? ns : -ns;
}

void chaos_begin_wall(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  s3l_clocks_change(node->clocks, &node->clocks->wall_ns, wall_step_ns(f));
}

void chaos_end_wall(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  s3l_clocks_change(node->clocks, &node->clocks->wall_ns, -wall_step_ns(f));
}

/* The process that comes after `after`, of those that the candidate's has started and itself. */
static pid_t next_of(const chaos_t* chaos, const chaos_node_t* node, pid_t after) {
  if (chaos->config->run)
    return chaos_next_process(chaos, node->life, after);
  return after == 0 ? node->pid : 0;
}

static void hold(const chaos_t* chaos, chaos_node_t* node) {
  node->stops++;
  for (pid_t pid = 0; (pid = next_of(chaos, node, pid)) != 0;) {
    kill(pid, SIGSTOP);
    while (chaos_is_running(pid))
      sched_yield();
  }
  node->held_ns = s3lect_now_ns();
}

static void let_go(const chaos_t* chaos, chaos_node_t* node) {
  node->held_ns = 0;
  for (pid_t pid = 0; (pid = next_of(chaos, node, pid)) != 0;)
    if (pid != node->pid)
      kill(pid, SIGCONT);
  chaos_node_stop(node, false);
}

/* Other faults that stop or hurt its processes would be in the way. */
static bool is_free(const chaos_node_t* node) {
  return node->pid > 0 && node->held_ns == 0 && node->stops == 0 && node->stutters == 0 &&
         !node->hurt && node->killed_ns == 0;
}

static void slew_by(chaos_t* chaos, chaos_node_t* node, int64_t ppm) {
  hold(chaos, node);
  s3l_clocks_slew(node->clocks, atomic_load(&node->clocks->slew_ppm) + ppm);
  let_go(chaos, node);
}

void chaos_begin_slew(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  static const int64_t rates_ppm[] = {500, 5000, 30000, 90000};
  int64_t ppm = rates_ppm[f->dice % 4] * (f->dice / 4 % 2 == 0 ? 1 : -1);
  int64_t sum = atomic_load(&node->clocks->slew_ppm) + ppm;
  if (!is_free(node) || sum > SLEW_MAX_PPM || sum < -SLEW_MAX_PPM)
    return;
  f->did = ppm;
  slew_by(chaos, node, ppm);
}

/* If it cannot be held now, its clocks stay as they are. */
void chaos_end_slew(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  if (f->did != 0 && is_free(node))
    slew_by(chaos, node, -f->did);
}

void chaos_begin_suspend(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  if (!is_free(node))
    return;
  /* When all of them go on, the program may write before anybody can end it. */
  if (chaos->config->run)
    chaos_unguard(chaos, node);
  hold(chaos, node);
  f->did = 1;
}

/* CLOCK_BOOTTIME went on, and the wall clock is set from one that did; the others stood still. */
void chaos_end_suspend(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  s3l_clocks_t* c = node->clocks;
  int64_t ns = s3lect_now_ns() - node->held_ns;
  if (f->did == 0)
    return;
  chaos_node_judge_clock(chaos, node);
  s3l_clocks_change(c, &c->skipped_ns, -ns);
  s3l_clocks_change(c, &c->suspended_ns, ns);
  s3l_clocks_change(c, &c->wall_ns, ns);
  let_go(chaos, node);
}
