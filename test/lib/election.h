/* An election in one process: a fake S3, a store over real sockets (S3, or that of
 * lib/any_store.h), and candidates that record their callbacks. Every callback and every turn of
 * the loop checks that at most one candidate leads. */
#ifndef S3L_TEST_ELECTION_H
#define S3L_TEST_ELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "fakes3/fakes3.h"
#include "s3lect.h"

#define S3L_ELECTION_BUCKET "bucket"
#define S3L_ELECTION_KEY    "locks/x"
#define S3L_CANDIDATES_MAX  4
/* Short, but safe by the timing rule. */
#define S3L_ELECTION_T_MS 2400

typedef struct s3l_election_s s3l_election_t;

typedef struct s3l_candidate_s {
  s3lect_elector_t e;
  s3lect_elector_options_t o; /* may be changed between s3l_candidate_init and _start */
  s3l_election_t* election;
  unsigned started, stopped, renewed, leaders, absences, errors, closed;
  uint64_t epoch;         /* of the last start */
  int64_t valid_until_ns; /* of the last start or renewal */
  int64_t ended_ns;       /* of the last stop */
  int64_t told_ns;        /* when the last stop was delivered */
  int reason;             /* of the last stop */
  int error;              /* the last one */
  char leader[64];        /* last announced */
  char message[512];      /* of the last error */
} s3l_candidate_t;

struct s3l_election_s {
  uv_loop_t loop;
  uv_check_t watch;
  fakes3_t* server;
  const char* key; /* the lockfile's; S3L_ELECTION_KEY unless changed */
  bool epochs;     /* with epoch files, of which `key` is the prefix */
  s3lect_store_t store;
  s3lect_store_s3_options_t s3; /* of S3; may be changed between s3l_election_init and _begin */
  s3l_candidate_t* candidates[S3L_CANDIDATES_MAX];
  size_t candidates_len;
  uint64_t last_epoch; /* of any candidate's start: epochs must increase */
  unsigned started;    /* leaderships, of all candidates */
  unsigned stopped;
};

/** Prepares the loop and starts the fake S3 (options may be NULL). From now on waits skip idle time
 * (S3L_PACE_SOCKETS). */
void s3l_election_init(s3l_election_t* el, const fakes3_options_t* options);
/** Opens the store. */
void s3l_election_begin(s3l_election_t* el);

/** Replaces the lockfile, or the newest epoch file, unconditionally. */
void s3l_election_put(s3l_election_t* el, const char* body, size_t len);
/** The same with a released record of epoch 7, so that a candidate can lead at once. */
void s3l_election_seed(s3l_election_t* el);
/** Removes the lockfile. */
void s3l_election_delete(s3l_election_t* el);
/** Reads the record from the store. */
s3lect_record_t s3l_election_record(s3l_election_t* el);

/** How many epoch files there are. */
size_t s3l_election_files(s3l_election_t* el);

/** Adds a fault rule, as JSON; see docs/fakes3.md. */
void s3l_election_fault(s3l_election_t* el, const char* json);
void s3l_election_heal(s3l_election_t* el);

/** How many writes to the lockfile have taken effect. */
size_t s3l_election_writes(s3l_election_t* el);

void s3l_candidate_init(s3l_election_t* el, s3l_candidate_t* c, const char* id);
void s3l_candidate_start(s3l_candidate_t* c);
void s3l_candidate_close(s3l_candidate_t* c); /* and waits */
/** Starts one, waits until it leads, and the other, and waits until that follows. */
void s3l_election_lead(s3l_election_t* el, s3l_candidate_t* leader, s3l_candidate_t* follower);
s3lect_stats_t s3l_candidate_stats(const s3l_candidate_t* c);

/** Waits until *counter >= n. */
void s3l_election_wait(s3l_election_t* el, const unsigned* counter, unsigned n, const char* what);

/** Closes what is open, runs the loop to its end. */
void s3l_election_end(s3l_election_t* el);

#endif
