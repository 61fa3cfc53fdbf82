/* bench/failover.c: the rounds; see failover.h. */
#include "bench/failover.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/lease.h"

#define PROBES      40 /* requests that measure the round trip, before the rounds and after them */
#define WARM_UP     3
#define PHASE_NS    S3L_SECOND /* over which the moment of leaving is spread */
#define PATIENCE_NS (60 * S3L_SECOND)
#define PROGRESS    50

static int by_size(const void* a, const void* b) {
  double x = *(const double*)a;
  double y = *(const double*)b;
  return (x > y) - (x < y);
}

/* ---- The round trip ---- */

typedef struct probe_s {
  uv_loop_t loop;
  s3lect_store_t store;
  s3lect_store_req_t req;
  int64_t sent_ns;
  unsigned done;
  double* ms; /* of the next one that counts */
} probe_t;

static void send_probe(probe_t* p);

static void on_probe(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  probe_t* p = req->data;
  double ms = (double)(s3lect_now_ns() - p->sent_ns) / 1e6;
  bench_require(result->status == 0, "the lockfile cannot be read");
  if (p->done++ >= WARM_UP)
    *p->ms++ = ms;
  if (p->done < PROBES + WARM_UP)
    send_probe(p);
  else
    s3lect_store_close(&p->store, NULL);
}

static void send_probe(probe_t* p) {
  p->sent_ns = s3lect_now_ns();
  bench_require(s3lect_store_get(&p->store, &p->req) == 0, "the lockfile cannot be read");
}

static void measure_round_trip(const failover_group_t* g, double* ms) {
  probe_t p;
  memset(&p, 0, sizeof(p));
  p.ms = ms;
  bench_require(uv_loop_init(&p.loop) == 0, "cannot make a loop");
  bench_store_open(&p.loop, &p.store, &g->server, NULL, 0);
  p.req.store = &p.store;
  p.req.key = BENCH_KEY;
  p.req.condition = S3LECT_ALWAYS;
  p.req.timeout_ms = 10000;
  p.req.cb = on_probe;
  p.req.data = &p;
  send_probe(&p);
  uv_run(&p.loop, UV_RUN_DEFAULT);
  bench_require(uv_loop_close(&p.loop) == 0, "the loop has handles left");
}

/* ---- Rounds ---- */

static void add(failover_samples_t* samples, int64_t from_ns, int64_t to_ns) {
  samples->ms[samples->len++] = (double)(to_ns - from_ns) / 1e6;
}

static void pass_time(failover_group_t* g) {
  int64_t until = s3lect_now_ns() + (int64_t)s3l_prng_below(&g->prng, PHASE_NS);
  for (int64_t left; (left = until - s3lect_now_ns()) > 0;)
    failover_listen(g, left);
}

/* Waits until one of the others leads, and all who run know it. */
static const failover_proc_t* successor_of(failover_group_t* g, const failover_proc_t* gone,
                                           uint64_t epoch) {
  int64_t give_up = s3lect_now_ns() + PATIENCE_NS;
  for (;;) {
    const failover_proc_t* leads = NULL;
    unsigned know = 0;
    for (size_t i = 0; i < FAILOVER_PROCS; i++) {
      const failover_proc_t* p = &g->proc[i];
      know += p != gone && p->known_epoch > epoch;
      if (p != gone && p->leads > 0 && p->known_epoch > epoch)
        leads = p;
    }
    if (leads != NULL && know == FAILOVER_PROCS - 1)
      return leads;
    bench_require(s3lect_now_ns() < give_up, "nobody took over");
    failover_listen(g, S3L_SECOND);
  }
}

/* When it became legal to take over from `gone`: the earlier of what the others knew. */
static int64_t legal_ns(const failover_group_t* g, const failover_proc_t* gone) {
  int64_t earliest = INT64_MAX;
  for (size_t i = 0; i < FAILOVER_PROCS; i++)
    if (&g->proc[i] != gone && g->proc[i].legal_ns < earliest)
      earliest = g->proc[i].legal_ns;
  return earliest;
}

/* One leader goes, and is started again. What it tells is of no use if the leadership had ended by
 * itself by then, or the next one's did. */
static void play_round(failover_group_t* g, int signum) {
  failover_samples_t* series = g->result->series;
  failover_proc_t* gone;
  do {
    failover_rest(g);
    pass_time(g);
    gone = failover_leader(g);
  } while (gone == NULL);
  unsigned unasked = g->result->unasked;
  uint64_t epoch = gone->known_epoch;
  int64_t killed_ns = s3lect_now_ns();
  kill(gone->child.pid, signum);
  const failover_proc_t* next = successor_of(g, gone, epoch);
  int64_t started_ns = g->newest_from;
  failover_reap(g, gone);
  if (g->result->unasked == unasked && next->known_epoch > epoch) {
    if (signum == SIGTERM) {
      add(&series[FAILOVER_HAND_OVER], gone->stopped_ns, started_ns);
    } else {
      add(&series[FAILOVER_LEGAL], legal_ns(g, gone), started_ns);
      add(&series[FAILOVER_KILL], killed_ns, started_ns);
    }
  }
  failover_start(g, gone);
}

static void play(failover_group_t* g, int signum, failover_series_t series, unsigned count,
                 const char* what) {
  const failover_samples_t* samples = &g->result->series[series];
  for (unsigned rounds = 0; samples->len < count; rounds++) {
    bench_require(rounds < 2 * count + 10, "most rounds went wrong: is the machine so busy?");
    play_round(g, signum);
    if (samples->len % PROGRESS == 0 || samples->len == count)
      fprintf(stderr, "%s: %zu of %u %s\n", g->certs != NULL ? "peer mode" : "storage mode",
              samples->len, count, what);
  }
}

/* ---- A mode ---- */

typedef struct run_s {
  const bench_options_t* o;
  const s3l_certs_t* certs;
  failover_result_t* result;
} run_t;

/* Peer mode: the leader writes the claim of a follower that waits, and tells it. Storage mode: a
 * release, a read and a take-over, and nobody tells the followers, they find out when they look
 * next. */
static void set_budgets(failover_result_t* r) {
  double looks_ms = FAILOVER_FREQUENT_MS * 1.1;
  r->series[FAILOVER_HAND_OVER].budget_ms =
      r->peer_mode ? r->round_trip_ms + 25 : 3 * r->round_trip_ms + 50 + looks_ms;
  r->series[FAILOVER_LEGAL].budget_ms = 2 * r->round_trip_ms + 50;
}

static void run_mode(void* arg) {
  const run_t* run = arg;
  failover_result_t* r = run->result;
  double probes[2 * PROBES];
  failover_group_t* g = calloc(1, sizeof(*g));
  bench_require(g != NULL, "out of memory");
  g->o = run->o;
  g->certs = run->certs;
  g->result = r;
  s3l_prng_seed(&g->prng, run->certs != NULL);
  unsigned crashes = run->o->crashes != 0 ? run->o->crashes : (run->o->count + 1) / 2;
  for (size_t i = 0; i < FAILOVER_SERIES; i++) {
    r->series[i].ms = calloc(run->o->count + crashes, sizeof(double));
    bench_require(r->series[i].ms != NULL, "out of memory");
  }
  failover_group_open(g);
  failover_rest(g);
  measure_round_trip(g, probes);
  play(g, SIGTERM, FAILOVER_HAND_OVER, run->o->count, "hand-overs");
  play(g, SIGKILL, FAILOVER_LEGAL, crashes, "crashes");
  failover_rest(g);
  measure_round_trip(g, probes + PROBES);
  failover_group_close(g);
  qsort(probes, 2 * PROBES, sizeof(double), by_size);
  r->round_trip_ms = probes[PROBES];
  for (size_t i = 0; i < FAILOVER_SERIES; i++)
    qsort(r->series[i].ms, r->series[i].len, sizeof(double), by_size);
  set_budgets(r);
  failover_judge(g);
  free(g);
}

/* Both modes at once, each with an election and a store of its own: they mostly wait. */
int bench_failover(const bench_options_t* o) {
  static failover_result_t results[2] = {{.peer_mode = true}, {.peer_mode = false}};
  uv_thread_t threads[2];
  s3l_certs_t certs;
  bool safe = true;
  bench_require(s3l_certs_make(&certs) == 0, "cannot make certificates");
  run_t runs[2] = {{o, &certs, &results[0]}, {o, NULL, &results[1]}};
  for (size_t i = 0; i < 2; i++)
    bench_require(uv_thread_create(&threads[i], run_mode, &runs[i]) == 0, "cannot start a thread");
  for (size_t i = 0; i < 2; i++)
    uv_thread_join(&threads[i]);
  s3l_certs_remove(&certs);
  for (size_t i = 0; i < 2; i++) {
    failover_report(o, &results[i]);
    safe = safe && results[i].overlaps == 0 && results[i].stale_epochs == 0;
  }
  if (o->svg != NULL)
    bench_require(failover_svg(o->svg, results, 2), "cannot write the picture");
  for (size_t i = 0; i < 2; i++)
    for (size_t k = 0; k < FAILOVER_SERIES; k++)
      free(results[i].series[k].ms);
  return safe ? 0 : 1;
}
