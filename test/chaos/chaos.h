/* chaos/chaos.h: five real processes of the command in one election, under seeded random faults.
 *
 * A seed decides the plan: which fault begins when, for how long, and which process it meets (or
 * that it meets whoever leads then). What the processes make of it is up to the machine, so a
 * finding can be repeated only as far as real processes are.
 *
 * A run: faults for some seconds; then everything is healed, and one leader must stay within a
 * bound; then all processes get SIGTERM and must exit. The oracle (oracle.h) judges the events.
 *
 * One loop carries the relays (relay.h), the fake S3's process (lib/s3proc.h) and the requests of
 * the faults; chaos_step looks at everything else every 10 ms. */
#ifndef CHAOS_CHAOS_H
#define CHAOS_CHAOS_H

#include <s3lect.h>
#include <stdio.h>
#include <sys/types.h>

#include "chaos/oracle.h"
#include "chaos/relay.h"
#include "lib/certs.h"
#include "lib/clocks.h"
#include "lib/s3proc.h"
#include "util/prng.h"

#define CHAOS_NODES  5
#define CHAOS_LEADER CHAOS_NODES /* in a fault: whoever leads when it begins */
#define CHAOS_T_MS   S3PROC_T_MS
#define CHAOS_MS     INT64_C(1000000)

typedef struct chaos_config_s {
  const char* name;
  bool epochs, peers, file, run;
} chaos_config_t;

typedef struct chaos_fault_s {
  const struct chaos_fault_kind_s* kind;
  unsigned at_ms, ms;
  unsigned node; /* 0..CHAOS_LEADER */
  uint64_t dice; /* what else there is to decide */
  /* While it lasts. */
  bool begun, ended;
  unsigned life; /* of the process that it met */
  int64_t did;   /* 0: nothing, the candidate was not fit for it */
} chaos_fault_t;

/** A text file that somebody else writes, read line by line. */
typedef struct chaos_tail_s {
  FILE* file;
  char line[4096];
  size_t len;
} chaos_tail_t;

typedef struct chaos_node_s {
  unsigned index;
  unsigned life; /* counts the processes of all nodes; the newest of this one */
  pid_t pid;     /* 0: none runs */
  char id[16];
  char cert[96];        /* its own copy, which a fault replaces */
  int events, messages; /* files that the process appends to */
  chaos_tail_t told, said;
  chaos_relay_t store, peer;
  int reserved; /* a socket that keeps its peer port for it */
  unsigned peer_port;
  s3l_clocks_t* clocks;     /* its machine's */
  int64_t lag_ns;           /* of the events since its clocks were changed: the least ... */
  unsigned lags;            /* ... of so many */
  int64_t held_ns;          /* its machine is suspended since then; 0: not */
  unsigned stops;           /* faults that hold it stopped */
  unsigned stutters;        /* faults that stop it every other moment */
  bool has_told;            /* an event: it is past its start, and handles signals */
  bool leaves;              /* was told to end */
  bool cert_unfit;          /* it does not fit the key, so that no process can start ... */
  bool started_unfit;       /* ... as this one had to */
  bool hurt;                /* run: its guard or program was attacked, so it may exit */
  int64_t killed_ns;        /* SIGKILL was sent then; 0: not */
  int64_t restart_ns;       /* when to start the next process; 0: not by itself */
  unsigned exits_by_itself; /* run: the program does */
} chaos_node_t;

typedef struct chaos_s {
  const chaos_config_t* config;
  uint64_t seed;
  const char* self;   /* this program, which is also the program of `s3lect run` */
  const char* mutant; /* how the core of all processes is broken; "": not */
  s3proc_t s3;
  s3l_certs_t certs;
  s3lect_store_t store; /* as somebody with a shell sees it */
  s3lect_store_req_t req;
  bool req_busy;
  char key[64], etag[128], body[64];
  chaos_node_t nodes[CHAOS_NODES];
  chaos_oracle_t oracle;
  s3lect_audit_t audit; /* what the library makes of the same events */
  chaos_tail_t writes;
  chaos_fault_t* plan;
  size_t plan_len;
  int controls[8]; /* connections to the fake's control, in turn */
  unsigned controls_len;
  int lock; /* the file store's, held by a fault; -1: not */
  unsigned store_stops;
  FILE* log;
  int64_t begun_ns;
  unsigned lives, faults, errors;
} chaos_t;

/* plan.c */
typedef struct chaos_fault_kind_s {
  const char* name;
  unsigned weight;
  unsigned min_ms, max_ms;
  unsigned needs; /* CHAOS_ON_*: in which configurations */
  void (*begin)(chaos_t* chaos, chaos_fault_t* fault, chaos_node_t* node);
  void (*end)(chaos_t* chaos, chaos_fault_t* fault, chaos_node_t* node); /* may be NULL */
} chaos_fault_kind_t;

#define CHAOS_ON_S3    1u
#define CHAOS_ON_PEERS 2u
#define CHAOS_ON_RUN   4u
#define CHAOS_NO_ASAN  8u

/* clocks.c */
s3l_clocks_t* chaos_clocks_open(const char* path);
void chaos_clocks_close(s3l_clocks_t* clocks);
void chaos_begin_wall(chaos_t* chaos, chaos_fault_t* fault, chaos_node_t* node);
void chaos_end_wall(chaos_t* chaos, chaos_fault_t* fault, chaos_node_t* node);
void chaos_begin_slew(chaos_t* chaos, chaos_fault_t* fault, chaos_node_t* node);
void chaos_end_slew(chaos_t* chaos, chaos_fault_t* fault, chaos_node_t* node);
void chaos_begin_suspend(chaos_t* chaos, chaos_fault_t* fault, chaos_node_t* node);
void chaos_end_suspend(chaos_t* chaos, chaos_fault_t* fault, chaos_node_t* node);

/* faults.c */
/** From now on nobody may be left to end this process's program on time. */
void chaos_unguard(chaos_t* chaos, const chaos_node_t* node);
extern const chaos_fault_kind_t chaos_fault_kinds[];
extern const size_t chaos_fault_kinds_len;

void chaos_plan_make(chaos_t* chaos, unsigned seconds);
void chaos_plan_print(const chaos_t* chaos, FILE* to);
/** Begins and ends the faults that are due; with `all` ends every one. */
void chaos_plan_step(chaos_t* chaos, bool all);

/* run.c */
__attribute__((format(printf, 2, 3))) void chaos_note(chaos_t* chaos, const char* format, ...);
__attribute__((format(printf, 2, 3))) void chaos_violated(chaos_t* chaos, const char* format, ...);
/** A seed of a configuration, from start to end. With a violation its files are kept, unless the
 * core is broken on purpose. */
void chaos_run(chaos_t* chaos, unsigned seconds);

/* node.c */
void chaos_node_open(chaos_t* chaos, unsigned index);
void chaos_node_start(chaos_t* chaos, chaos_node_t* node);
/** SIGSTOP, or SIGCONT when no fault holds it any more. */
void chaos_node_stop(chaos_node_t* node, bool stop);
void chaos_node_kill(chaos_node_t* node);
/** SIGTERM. */
void chaos_node_leave(chaos_node_t* node);
/** Its clocks are about to change, or it has ended: judges those that it had. */
void chaos_node_judge_clock(chaos_t* chaos, chaos_node_t* node);
/** Reads what it has told, and notices its end. */
void chaos_node_step(chaos_t* chaos, chaos_node_t* node);
void chaos_node_close(chaos_node_t* node);
/** The next whole line; NULL if there is none yet. */
const char* chaos_tail_line(chaos_tail_t* tail);

/* tree.c */
/** The only child of that name, or with NULL any child; 0 if there is none. */
pid_t chaos_child_of(pid_t parent, const char* name);
/** The next process after `after` (0 first) that this run has started, or that one of them has, in
 * that life, or with 0 in any. 0 at the end. */
pid_t chaos_next_process(const chaos_t* chaos, unsigned life, pid_t after);
/** Not if it is gone. */
bool chaos_is_running(pid_t pid);
/** Sets a limit of a running process. Returns 0 or -1. */
int chaos_limit(pid_t pid, int resource, uint64_t soft);
/** How many files it has open, and how many bytes of address space. */
uint64_t chaos_open_files(pid_t pid);
uint64_t chaos_address_space(pid_t pid);

/* register.c: the program of `s3lect run` */
int chaos_writer(const char* dir, unsigned habits);
#define CHAOS_IGNORES_TERM 1u
#define CHAOS_FORKS        2u
#define CHAOS_DAEMONISES   4u
#define CHAOS_EXITS        8u
#define CHAOS_OTHER_USER   16u /* writes as nobody, if root can become that */
#define CHAOS_EXIT_STATUS  7

#endif
