/* bench/failover_group.c: the processes of an election, and what they say. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/failover.h"
#include "core/lease.h"
#include "util/json.h"

#define PATIENCE_NS (60 * S3L_SECOND)
/* A follower in doubt reads the store at the frequent interval, give or take 10 %. */
#define QUIET_NS (FAILOVER_FREQUENT_MS * S3L_MS * 13 / 10)
#define LOOK_NS  (20 * S3L_MS)

/* ---- Candidates ---- */

void failover_start(failover_group_t* g, failover_proc_t* proc) {
  static const char* const environment[] = {"AWS_ACCESS_KEY_ID=test",
                                            "AWS_SECRET_ACCESS_KEY=testtest", NULL};
  const char* argv[40] = {
      BENCH_CLI,           "elect",       "--store",      "s3://" BENCH_BUCKET "/" BENCH_KEY,
      "--endpoint",        g->server.url, "--id",         proc->id,
      "--leader-timeout",  "3s",          "--renew",      "500ms",
      "--frequent",        "500ms",       "--infrequent", "500ms",
      "--request-timeout", "1s"};
  size_t n = 18;
  const char* peer[] = {"--peer-listen",
                        "127.0.0.1:0",
                        "--peer-interval",
                        "30s",
                        "--peer-client-auth",
                        "--peer-ca",
                        g->certs != NULL ? g->certs->ca : NULL,
                        "--peer-cert",
                        g->certs != NULL ? g->certs->good : NULL,
                        "--peer-key",
                        g->certs != NULL ? g->certs->key : NULL};
  if (g->certs != NULL)
    for (size_t i = 0; i < sizeof(peer) / sizeof(peer[0]); i++)
      argv[n++] = peer[i];
  proc->runs = true;
  proc->line_len = 0;
  proc->leads = 0;
  proc->known_epoch = 0;
  bench_child_start(&proc->child, argv, environment);
}

void failover_reap(failover_group_t* g, failover_proc_t* proc) {
  int status;
  int64_t give_up = s3lect_now_ns() + PATIENCE_NS;
  while (proc->runs) {
    bench_require(s3lect_now_ns() < give_up, "a candidate does not end");
    failover_listen(g, S3L_SECOND);
  }
  while (waitpid(proc->child.pid, &status, 0) < 0 && errno == EINTR)
    ;
  fclose(proc->child.out);
}

/* ---- Events ---- */

static void started(failover_group_t* g, failover_proc_t* proc, failover_leadership_t it) {
  if (g->leaderships_len == g->leaderships_cap) {
    g->leaderships_cap = g->leaderships_cap * 2 + 64;
    g->leaderships = realloc(g->leaderships, g->leaderships_cap * sizeof(it));
    bench_require(g->leaderships != NULL, "out of memory");
  }
  g->leaderships[g->leaderships_len++] = it;
  proc->leads = g->leaderships_len;
  g->newest_from = it.from;
}

static void take_event(failover_group_t* g, failover_proc_t* proc, const s3l_json_t* j,
                       const char* event) {
  failover_leadership_t it = {0, 0, 0};
  bench_require(s3l_json_get_u64(j, S3L_JSON_ROOT, "epoch", &it.epoch) == 0 &&
                    s3l_json_get_i64(j, S3L_JSON_ROOT, "lease_ns", &it.from) == 0 &&
                    s3l_json_get_i64(j, S3L_JSON_ROOT, "valid_until_ns", &it.until) == 0,
                "an event lacks what every event has");
  bool starts = strcmp(event, "started_leading") == 0;
  bool stops = strcmp(event, "stopped_leading") == 0;
  if (starts || strcmp(event, "new_leader") == 0) {
    proc->known_epoch = it.epoch;
    bench_require(s3l_json_get_i64(j, S3L_JSON_ROOT, "legal_ns", &proc->legal_ns) == 0,
                  "an event does not say since when the take-over was legal");
  }
  if (starts)
    started(g, proc, it);
  else if ((stops || strcmp(event, "renewed") == 0) && proc->leads > 0)
    g->leaderships[proc->leads - 1].until = it.until;
  if (stops) {
    char reason[32];
    bench_require(s3l_json_get_string(j, S3L_JSON_ROOT, "reason", reason, sizeof(reason)) == 0,
                  "a stopped_leading gives no reason");
    proc->leads = 0;
    proc->stopped_ns = it.from;
    proc->released = strcmp(reason, "closed") == 0;
    g->result->unasked += !proc->released;
  }
}

static void take_line(failover_group_t* g, failover_proc_t* proc, const char* line, size_t len) {
  s3l_json_t j;
  char event[32];
  bench_require(s3l_json_parse(&j, (s3l_span_t){line, len}) == 0 &&
                    s3l_json_get_string(&j, S3L_JSON_ROOT, "event", event, sizeof(event)) == 0,
                "a candidate says what is no event");
  take_event(g, proc, &j, event);
}

static void take_bytes(failover_group_t* g, failover_proc_t* proc) {
  size_t room = sizeof(proc->line) - proc->line_len;
  bench_require(room > 0, "a candidate's line does not end");
  ssize_t n = read(fileno(proc->child.out), proc->line + proc->line_len, room);
  if (n <= 0) {
    bench_require(n == 0 || errno == EINTR, "cannot read what a candidate says");
    proc->runs = n < 0;
    return;
  }
  proc->line_len += (size_t)n;
  char* at = proc->line;
  for (char* end; (end = memchr(at, '\n', (size_t)(proc->line + proc->line_len - at))) != NULL;
       at = end + 1)
    take_line(g, proc, at, (size_t)(end - at));
  proc->line_len -= (size_t)(at - proc->line);
  memmove(proc->line, at, proc->line_len);
}

bool failover_listen(failover_group_t* g, int64_t at_most_ns) {
  struct pollfd fds[FAILOVER_PROCS];
  bool heard = false;
  int64_t ms = (at_most_ns + S3L_MS - 1) / S3L_MS;
  for (size_t i = 0; i < FAILOVER_PROCS; i++)
    fds[i] = (struct pollfd){g->proc[i].runs ? fileno(g->proc[i].child.out) : -1, POLLIN, 0};
  int n = poll(fds, FAILOVER_PROCS, ms > 0 ? (int)ms : 0);
  bench_require(n >= 0 || errno == EINTR, "cannot wait for what candidates say");
  for (size_t i = 0; n > 0 && i < FAILOVER_PROCS; i++)
    if (fds[i].revents != 0) {
      take_bytes(g, &g->proc[i]);
      heard = true;
    }
  return heard;
}

/* ---- At rest ---- */

failover_proc_t* failover_leader(failover_group_t* g) {
  failover_proc_t* leader = NULL;
  for (size_t i = 0; i < FAILOVER_PROCS; i++)
    if (g->proc[i].runs && g->proc[i].leads == g->leaderships_len)
      leader = &g->proc[i];
  for (size_t i = 0; leader != NULL && leader->leads > 0 && i < FAILOVER_PROCS; i++)
    if (!g->proc[i].runs || g->proc[i].known_epoch != leader->known_epoch)
      return NULL;
  return leader != NULL && leader->leads > 0 ? leader : NULL;
}

static uint64_t reads_so_far(const failover_group_t* g) {
  char state[8192];
  s3l_json_t j;
  uint64_t reads = 0;
  size_t n = bench_server_state(&g->server, state, sizeof(state));
  int counters;
  bench_require(s3l_json_parse(&j, (s3l_span_t){state, n}) == 0 &&
                    s3l_json_get_object(&j, S3L_JSON_ROOT, "counters", &counters) == 0 &&
                    s3l_json_get_u64(&j, counters, "get", &reads) == 0,
                "the server does not tell how often it was read");
  return reads;
}

void failover_rest(failover_group_t* g) {
  int64_t give_up = s3lect_now_ns() + PATIENCE_NS;
  int64_t quiet_since = s3lect_now_ns();
  uint64_t reads = 0;
  const failover_proc_t* leader = NULL;
  for (;;) {
    int64_t now = s3lect_now_ns();
    const failover_proc_t* leads = failover_leader(g);
    uint64_t more = g->certs != NULL && leads != NULL ? reads_so_far(g) : reads;
    if (leads == NULL || leads != leader || more != reads)
      quiet_since = now;
    leader = leads;
    reads = more;
    if (leader != NULL && (g->certs == NULL || now - quiet_since > QUIET_NS))
      return;
    bench_require(now < give_up, "the election does not come to rest");
    failover_listen(g, LOOK_NS);
  }
}

/* ---- From beginning to end ---- */

void failover_group_open(failover_group_t* g) {
  char rule[64];
  snprintf(rule, sizeof(rule), "{\"latency_ms\":%u}", g->o->latency_ms);
  bench_server_start(&g->server, (const char*[]){"--buckets", BENCH_BUCKET, "--fault", rule, NULL});
  for (size_t i = 0; i < FAILOVER_PROCS; i++) {
    snprintf(g->proc[i].id, sizeof(g->proc[i].id), "%c", (char)('a' + (int)i));
    failover_start(g, &g->proc[i]);
  }
}

void failover_group_close(failover_group_t* g) {
  for (size_t i = 0; i < FAILOVER_PROCS; i++)
    kill(g->proc[i].child.pid, SIGTERM);
  for (size_t i = 0; i < FAILOVER_PROCS; i++)
    failover_reap(g, &g->proc[i]);
  bench_server_stop(&g->server);
}

static int by_start(const void* a, const void* b) {
  const failover_leadership_t* x = a;
  const failover_leadership_t* y = b;
  return (x->from > y->from) - (x->from < y->from);
}

void failover_judge(failover_group_t* g) {
  int64_t until = 0;
  uint64_t epoch = 0;
  qsort(g->leaderships, g->leaderships_len, sizeof(g->leaderships[0]), by_start);
  for (size_t i = 0; i < g->leaderships_len; i++) {
    const failover_leadership_t* it = &g->leaderships[i];
    g->result->overlaps += it->from < until;
    g->result->stale_epochs += it->epoch <= epoch;
    until = it->until > until ? it->until : until;
    epoch = it->epoch > epoch ? it->epoch : epoch;
  }
  g->result->leaderships = (unsigned)g->leaderships_len;
  free(g->leaderships);
}
