/* One run: faults, then peace, then the end. */
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chaos/chaos.h"

/* After the end of all faults one leader stays, and after SIGTERM all processes end, within these
 * bounds. On an empty store an election takes up to four leader timeouts; the rest is for a loaded
 * machine. */
#define SETTLE_MS      (12 * CHAOS_T_MS)
#define LEAVE_MS       (6 * CHAOS_T_MS)
#define STAYS_RENEWALS 3

static void tell(chaos_t* chaos, const char* what, const char* format, va_list args) {
  fprintf(chaos->log, "%10.3f ms: %s", (double)(s3lect_now_ns() - chaos->begun_ns) / 1e6, what);
  vfprintf(chaos->log, format, args);
  fputc('\n', chaos->log);
}

void chaos_note(chaos_t* chaos, const char* format, ...) {
  va_list args;
  va_start(args, format);
  tell(chaos, "", format, args);
  va_end(args);
}

static void on_violated(void* arg, const char* text) {
  chaos_t* chaos = arg;
  chaos_note(chaos, "VIOLATED: %s", text);
  fprintf(stderr, "violated: %s, seed %" PRIu64 ": %s\n", chaos->config->name, chaos->seed, text);
}

void chaos_violated(chaos_t* chaos, const char* format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  chaos->oracle.violations++;
  on_violated(chaos, text);
}

/* --- steps ---------------------------------------------------------------------------------- */

static void read_writes(chaos_t* chaos) {
  for (const char* line; (line = chaos_tail_line(&chaos->writes)) != NULL;) {
    unsigned life, accepted;
    uint64_t epoch;
    int64_t at;
    if (sscanf(line, "%u %" SCNu64 " %" SCNd64 " %u", &life, &epoch, &at, &accepted) == 4)
      chaos_oracle_write(&chaos->oracle, life, epoch, at, accepted != 0);
  }
}

static void step(chaos_t* chaos, bool restart) {
  read_writes(chaos);
  for (unsigned i = 0; i < CHAOS_NODES; i++) {
    chaos_node_t* node = &chaos->nodes[i];
    chaos_node_step(chaos, node);
    if (restart && node->pid == 0 && s3lect_now_ns() >= node->restart_ns)
      chaos_node_start(chaos, node);
  }
}

/* Waits in slices: lib/proc.h gives up after a while. */
typedef struct phase_s {
  chaos_t* chaos;
  bool (*step)(struct phase_s* phase);
  int64_t until_ns;
  int64_t slice_ns;
  bool over; /* what was waited for has come */
  bool done; /* or the time is over */
  /* step_settle: the process that leads, and its renewals when it was first seen to. */
  unsigned life, renewals;
} phase_t;

static bool phase_step(void* arg) {
  phase_t* phase = arg;
  phase->over = phase->step(phase);
  phase->done = phase->over || s3lect_now_ns() >= phase->until_ns;
  return phase->done || s3lect_now_ns() >= phase->slice_ns;
}

/* False if the time ran out. */
static bool pass(chaos_t* chaos, unsigned ms, bool (*one)(phase_t* phase)) {
  phase_t phase = {.chaos = chaos, .step = one, .until_ns = s3lect_now_ns() + ms * CHAOS_MS};
  while (!phase.done) {
    phase.slice_ns = s3lect_now_ns() + 1000 * CHAOS_MS;
    procs_until(&chaos->s3.procs, phase_step, &phase);
  }
  return phase.over;
}

static bool step_faults(phase_t* phase) {
  chaos_plan_step(phase->chaos, false);
  step(phase->chaos, true);
  return false;
}

static const chaos_leadership_t* leader(const chaos_t* chaos) {
  for (unsigned i = 0; i < CHAOS_NODES; i++) {
    const chaos_leadership_t* l = chaos_oracle_leading(&chaos->oracle, chaos->nodes[i].life);
    if (l != NULL && l->valid_ns > s3lect_now_ns())
      return l;
  }
  return NULL;
}

/* A leadership that begins, or goes on, in peace must be renewed some times. */
static bool step_settle(phase_t* phase) {
  chaos_t* chaos = phase->chaos;
  step(chaos, true);
  const chaos_leadership_t* l = leader(chaos);
  bool all = true;
  for (unsigned i = 0; i < CHAOS_NODES; i++)
    all = all && chaos->nodes[i].pid > 0;
  if (l == NULL || !all || l->life != phase->life || l->renewals < phase->renewals) {
    phase->life = l != NULL ? l->life : 0;
    phase->renewals = l != NULL ? l->renewals : 0;
    return false;
  }
  return l->renewals >= phase->renewals + STAYS_RENEWALS;
}

static bool step_leave(phase_t* phase) {
  bool any = false;
  step(phase->chaos, false);
  for (unsigned i = 0; i < CHAOS_NODES; i++) {
    chaos_node_t* node = &phase->chaos->nodes[i];
    any = any || node->pid > 0;
    if (node->pid > 0)
      chaos_node_leave(node);
  }
  return !any;
}

/* --- from start to end ---------------------------------------------------------------------- */

static void open_store(chaos_t* chaos) {
  uv_loop_t* loop = &chaos->s3.procs.loop;
  s3lect_store_s3_options_t options;
  s3lect_store_s3_options_init(&options, sizeof options);
  options.bucket = "test";
  options.endpoint = chaos->s3.url;
  options.access_key_id = "test";
  options.secret_access_key = "testtest";
  int r = chaos->config->file ? s3lect_store_file_init(loop, &chaos->store, chaos->s3.dir, NULL)
                              : s3lect_store_s3_init(loop, &chaos->store, &options, NULL);
  if (r != 0)
    abort();
}

static void open_all(chaos_t* chaos, unsigned seconds) {
  if (chaos->config->file)
    s3proc_begin_file(&chaos->s3, S3L_BUILD_DIR);
  else
    s3proc_begin(&chaos->s3, S3L_BUILD_DIR, NULL);
  s3proc_seed(&chaos->s3);
  if (chaos->config->peers && s3l_certs_make(&chaos->certs) != 0)
    abort();
  chaos->log = fopen(s3proc_path(&chaos->s3, "log"), "we");
  FILE* writes = fopen(s3proc_path(&chaos->s3, "writes"), "ae");
  if (chaos->log == NULL || writes == NULL || fclose(writes) != 0)
    abort();
  chaos->writes.file = fopen(s3proc_path(&chaos->s3, "writes"), "re");
  s3lect_audit_options_t audit;
  s3lect_audit_options_init(&audit, sizeof audit);
  audit.one_machine = 1;
  if (s3lect_audit_init(&chaos->audit, &audit, NULL) != 0)
    abort();
  chaos->lock = -1;
  chaos->oracle.leader_timeout_ns = CHAOS_T_MS * CHAOS_MS;
  chaos->oracle.violated = on_violated;
  chaos->oracle.arg = chaos;
  setenv("S3L_CHAOS", chaos->s3.dir, 1);
  setenv("S3L_CHAOS_MUTANT", chaos->mutant, 1);
  open_store(chaos);
  chaos_plan_make(chaos, seconds);
  chaos_plan_print(chaos, chaos->log);
  chaos->begun_ns = s3lect_now_ns();
  for (unsigned i = 0; i < CHAOS_NODES; i++)
    chaos_node_open(chaos, i);
}

/* The audit of the library must come to the same judgement. It does not know when a process died,
 * so that an overlap with its last validity is only a possible one. */
static void judge_by_audit(chaos_t* chaos) {
  const s3lect_audit_report_t* report;
  if (s3lect_audit_judge(&chaos->audit, &report) != 0)
    abort();
  size_t found = report->overlaps + report->possible_overlaps;
  chaos_note(chaos, "audit: %zu leaderships, %zu overlaps, %zu possible ones", report->leaderships,
             report->overlaps, report->possible_overlaps);
  if (report->wrong && chaos->oracle.violations == 0)
    chaos_violated(chaos, "an audit finds %zu overlaps, %zu equal epochs and %zu that fell",
                   report->overlaps, report->same_epochs, report->epochs_fell);
  if (chaos->oracle.overlaps > 0 && found == 0)
    chaos_violated(chaos, "an audit misses the two leaders");
  else if (chaos->oracle.overlaps > 0)
    fprintf(stderr, "an audit finds the two leaders, too\n");
  s3lect_audit_free(&chaos->audit);
}

/* What a process has started must end with it, unless nobody was left to see to that. */
static void end_leaked(chaos_t* chaos) {
  for (pid_t pid = 0; (pid = chaos_next_process(chaos, 0, pid)) != 0;) {
    bool ours = false;
    for (unsigned i = 0; i < CHAOS_NODES; i++)
      ours = ours || pid == chaos->nodes[i].pid;
    if (ours)
      continue;
    if (chaos->oracle.unguarded_len == 0)
      chaos_violated(chaos, "process %d was left behind", (int)pid);
    kill(pid, SIGKILL);
  }
}

static void on_store_closed(s3lect_store_t* store) {
  chaos_t* chaos = store->data;
  chaos->store.loop = NULL;
}

static bool is_closed(void* arg) {
  const chaos_t* chaos = arg;
  return chaos->store.loop == NULL;
}

static void close_all(chaos_t* chaos) {
  for (unsigned i = 0; i < CHAOS_NODES; i++)
    chaos_node_close(&chaos->nodes[i]);
  chaos->store.data = chaos;
  s3lect_store_close(&chaos->store, on_store_closed);
  procs_until(&chaos->s3.procs, is_closed, chaos);
  for (size_t i = 0; i < sizeof chaos->controls / sizeof chaos->controls[0]; i++)
    if (chaos->controls[i] > 0)
      close(chaos->controls[i]);
  fclose(chaos->writes.file);
  fclose(chaos->log);
  if (chaos->config->peers)
    s3l_certs_remove(&chaos->certs);
  if (chaos->oracle.violations == 0 || chaos->mutant[0] != '\0')
    s3proc_end(&chaos->s3);
  else
    procs_end(&chaos->s3.procs); /* the files stay, to be read */
  free(chaos->plan);
}

void chaos_run(chaos_t* chaos, unsigned seconds) {
  open_all(chaos, seconds);
  (void)pass(chaos, seconds * 1000, step_faults);
  chaos_plan_step(chaos, true);
  chaos_note(chaos, "peace");
  if (!pass(chaos, SETTLE_MS, step_settle))
    chaos_violated(chaos, "no leader stays within %d ms after the end of all faults", SETTLE_MS);
  chaos_note(chaos, "SIGTERM to all");
  (void)pass(chaos, LEAVE_MS, step_leave);
  for (unsigned i = 0; i < CHAOS_NODES; i++)
    if (chaos->nodes[i].pid > 0)
      chaos_violated(chaos, "life %u does not end", chaos->nodes[i].life);
  end_leaked(chaos);
  read_writes(chaos);
  chaos_oracle_judge(&chaos->oracle);
  judge_by_audit(chaos);
  close_all(chaos);
}
