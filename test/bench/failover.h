/* bench/failover.h: measures the time until there is a leader again.
 *
 * Three `s3lect elect` processes hold an election on a fake S3, a process that delays every request
 * (--latency). In each round the current leader is ended, and started again when another one leads.
 * All times are from the processes' events: lease_ns is one clock for all processes of a machine.
 *
 * Measured times
 *   round trip  a signed GET of the lockfile, from sending to reply, over a warm connection, before
 *               and after the rounds: the injected latency and the cost on top
 *   hand-over   SIGTERM: from the old leader's stopped_leading to the next one's started_leading
 *               (in peer mode: one write of the old leader)
 *   crash       SIGKILL: to the next one's started_leading, from two instants:
 *               kill    just before the signal is sent
 *               legal   when a take-over became legal. Until then every follower has to wait, so
 *                       the implementation is responsible only for the time after it. It depends
 *                       on what a follower has seen of the dead leader, and when (design rule 3):
 *                       the receipt of its last record plus T * (1 + drift), or the end of its
 *                       last promise. Only the follower knows this instant, so every candidate
 *                       reports it (legal_ns) for the record that was replaced: the new leader in
 *                       started_leading, the other one in new_leader. The earlier of the two
 *                       counts, so a follower that could have taken over first and did not
 *                       makes the result worse
 *
 * Errors
 *   overlap     two leaderships are valid at the same instant. A leadership lasts from
 *               started_leading to stopped_leading; after SIGKILL, to its last reported validity
 *   epochs that do not increase
 *
 * A round begins when all candidates know the leader and, in peer mode, have asked it: the fake has
 * seen no read for longer than a follower in doubt waits. Then a random time passes, so that the
 * leader ends at any phase of its renewals and of its followers' questions. */
#ifndef S3L_BENCH_FAILOVER_H
#define S3L_BENCH_FAILOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/bench.h"
#include "lib/certs.h"
#include "util/prng.h"

#define FAILOVER_PROCS 3

/* The election's times. T is short, so that a hundred crashes do not take half an hour; in peer
 * mode it must leave room for questions that wait, which count in whole seconds. */
#define FAILOVER_T_MS        3000
#define FAILOVER_FREQUENT_MS 500

/** What is measured, in milliseconds. */
typedef enum {
  FAILOVER_HAND_OVER = 0,
  FAILOVER_LEGAL,
  FAILOVER_KILL,
  FAILOVER_SERIES,
} failover_series_t;

typedef struct failover_samples_s {
  double* ms; /* sorted, once all are there */
  size_t len;
  double budget_ms; /* of the 99th percentile; 0: there is none */
} failover_samples_t;

/** A mode's results. */
typedef struct failover_result_s {
  bool peer_mode;
  double round_trip_ms;
  failover_samples_t series[FAILOVER_SERIES];
  unsigned leaderships;
  unsigned overlaps;
  unsigned stale_epochs; /* leaderships whose epoch was not the largest until then */
  unsigned unasked;      /* leaderships that ended by themselves; their rounds do not count */
} failover_result_t;

typedef struct failover_leadership_s {
  uint64_t epoch;
  int64_t from, until;
} failover_leadership_t;

/** A candidate, and what it told last. */
typedef struct failover_proc_s {
  char id[8];
  bench_child_t child;
  bool runs;
  char line[16384];
  size_t line_len;
  size_t leads;         /* number of its leadership, from 1; 0: it does not lead */
  uint64_t known_epoch; /* of the leader that it knows, itself included */
  int64_t legal_ns;     /* that came with it */
  int64_t stopped_ns;   /* when it told the end of its last leadership, ... */
  bool released;        /* ... which it gave up on purpose */
} failover_proc_t;

/** An election. */
typedef struct failover_group_s {
  const bench_options_t* o;
  const s3l_certs_t* certs; /* NULL: storage mode */
  bench_server_t server;
  failover_proc_t proc[FAILOVER_PROCS];
  failover_leadership_t* leaderships;
  size_t leaderships_len, leaderships_cap;
  int64_t newest_from; /* of the newest leadership */
  s3l_prng_t prng;
  failover_result_t* result;
} failover_group_t;

/* ---- failover_group.c ---- */

void failover_group_open(failover_group_t* g);
void failover_group_close(failover_group_t* g);
/** Starts a candidate that does not run. */
void failover_start(failover_group_t* g, failover_proc_t* proc);
/** Waits for a candidate's end, and takes in what it has still said. */
void failover_reap(failover_group_t* g, failover_proc_t* proc);
/** Takes in what candidates say, for at most so long; true if one said something. */
bool failover_listen(failover_group_t* g, int64_t at_most_ns);
/** Who leads, if all run and know it; else NULL. */
failover_proc_t* failover_leader(failover_group_t* g);
/** Waits until there is one, and the election is at rest. */
void failover_rest(failover_group_t* g);
/** Counts what must not be among the leaderships. */
void failover_judge(failover_group_t* g);

/* ---- failover_report.c, failover_svg.c ---- */

/** `part` of the samples are no larger (nearest rank). */
double failover_percentile(const failover_samples_t* samples, double part);
void failover_report(const bench_options_t* o, const failover_result_t* result);
/** Draws the distributions. False if the file cannot be written. */
bool failover_svg(const char* path, const failover_result_t* results, size_t len);

#endif
