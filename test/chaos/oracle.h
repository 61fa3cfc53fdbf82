/* chaos/oracle.h: judges a run by what the processes said of themselves.
 *
 * All processes run on one machine, so their lease times are readings of one clock, whatever the
 * faults make of the clocks below it (clocks.c; node.c compares them with this program's). The
 * oracle knows nothing of how an elector works, and nothing of the faults, except when a process
 * died and which processes were left without a guard.
 *
 * Vocabulary
 *   life        one process; a restarted candidate is the next life
 *   leadership  from started_leading until stopped_leading's valid_until, or, if the process died
 *               first, until its death or its last validity, whichever was earlier
 *   unguarded   a life of `s3lect run` in which nobody was left to end the program on time (s3lect,
 *               guard and keeper killed or stopped together), as the manual says */
#ifndef CHAOS_ORACLE_H
#define CHAOS_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* LOST: stopped because the store showed another record, or none, before validity was over. */
typedef enum { CHAOS_STARTED, CHAOS_RENEWED, CHAOS_STOPPED, CHAOS_LOST } chaos_kind_t;

typedef struct chaos_leadership_s {
  unsigned life;
  uint64_t epoch;
  int64_t started_ns;
  int64_t valid_ns; /* as last told */
  int64_t end_ns;
  bool ended;
  bool died; /* ended by the death of the process */
  bool lost;
  unsigned renewals;
} chaos_leadership_t;

/** The writes under one epoch that reached the register (register.h). */
typedef struct chaos_writes_s {
  uint64_t epoch;
  unsigned life;
  unsigned accepted, fenced;
  int64_t last_ns;
} chaos_writes_t;

typedef struct chaos_oracle_s {
  int64_t leader_timeout_ns;
  /* Where each violation is told; may be called by every function below. */
  void (*violated)(void* arg, const char* text);
  void* arg;

  chaos_leadership_t* leaderships;
  size_t leaderships_len;
  chaos_writes_t* writes;
  size_t writes_len;
  unsigned* unguarded; /* lives */
  size_t unguarded_len;
  uint64_t accepted_epoch; /* the highest under which a write was accepted */

  unsigned violations, overlaps;
  unsigned accepted, fenced; /* writes; fenced: a newer epoch had written before */
  unsigned renewals;
} chaos_oracle_t;

void chaos_oracle_event(chaos_oracle_t* oracle, unsigned life, chaos_kind_t kind, uint64_t epoch,
                        int64_t lease_ns, int64_t valid_until_ns);
/** A process has ended at the latest now. `at_ns`: its leadership, if any, ended with it;
 * `orderly`: it must have told that its leadership was over. */
void chaos_oracle_ended(chaos_oracle_t* oracle, unsigned life, int64_t at_ns, bool orderly);
void chaos_oracle_unguarded(chaos_oracle_t* oracle, unsigned life);
/** A write as the register logged it. */
void chaos_oracle_write(chaos_oracle_t* oracle, unsigned life, uint64_t epoch, int64_t at_ns,
                        bool accepted);

/** The leadership of a life that has not ended; NULL if there is none. */
const chaos_leadership_t* chaos_oracle_leading(const chaos_oracle_t* oracle, unsigned life);

/** At the end of a run: judges all leaderships and writes together. */
void chaos_oracle_judge(chaos_oracle_t* oracle);
void chaos_oracle_free(chaos_oracle_t* oracle);

#endif
