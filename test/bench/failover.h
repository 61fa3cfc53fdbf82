/* bench/failover.h: how long it takes until somebody leads again.
 *
 * Three `s3lect elect` processes hold an election on a fake S3 in a process of its own, which lets
 * every request wait (--latency). Round by round the leader of the moment is made to go, and is
 * started again when another one leads. Everything is read off the processes' own events: their
 * lease_ns is one clock for all processes of a machine.
 *
 * What is measured
 *   round trip  a signed GET of the lockfile, sending to reply, over a warm connection to the same
 *               fake, before and after the rounds: the injected latency and what comes on top
 *   hand-over   SIGTERM: from the old leader's stopped_leading to the next one's started_leading
 *   crash       SIGKILL: to the next one's started_leading, from two instants:
 *               kill    just before the signal is sent
 *               legal   when a take-over became legal. Before that, nobody may do anything but
 *                       wait, so this is what the implementation is answerable for. It depends on
 *                       what a follower has seen of the dead leader, and when (design rule 3): the
 *                       receipt of its last record plus T * (1 + drift), or the end of what it
 *                       promised last; only the follower knows. So every candidate tells it
 *                       (legal_ns): the new leader in started_leading, the other in new_leader, of
 *                       the record that it replaced or saw replaced. What counts is the *earlier*
 * of the two: a follower that could have gone first and did not is held against us overlap     two
 * leaderships whose validities have an instant in common. A leadership is taken to last from
 * started_leading to its stopped_leading; of one that was killed, to the last validity that it
 * told. Must not happen, as must epochs that do not grow
 *
 * Before each round all candidates know the leader, and in peer mode have asked it: the fake has
 * seen no read for longer than followers in doubt would wait. Then a random time passes, so that
 * the leader goes at any phase of its renewals and of its followers' questions. */
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
