/* verify/run.h: one run of s3lect_verify, shared by its engine, its checks and its report.
 *
 * Vocabulary
 *   op      one store request of a run, with a copy of how it ended
 *   step    what one check does: prepares ops that go out together, and judges when all have ended;
 *           may ask to be started again (phases of a step, rounds of a check)
 *   main    the object that most checks work on; `now` is what the run knows it to be
 *
 * The engine (verify.c) sends, retries, counts and cleans up; the checks (verify_checks.c) decide
 * what to send and what it means; the report (verify_report.c) adds it all up. */
#ifndef S3L_VERIFY_RUN_H
#define S3L_VERIFY_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "s3lect/record.h"
#include "s3lect/verify.h"

#define S3L_VERIFY_BODY_SIZE   96
#define S3L_VERIFY_SEEN_SIZE   320
#define S3L_VERIFY_REASON_SIZE 512
#define S3L_VERIFY_READERS     3
#define S3L_VERIFY_ETAGS_MAX   64

/* Kept back for the end, so that the budget never keeps a run from cleaning up: each key twice. */
#define S3L_VERIFY_CLEANUP_MAX (2 * S3L_VERIFY_KEYS)

typedef enum {
  S3L_KEY_MAIN = 0,
  S3L_KEY_MISSING = 1,
  S3L_KEY_RACE = 2, /* another one in each round */
  S3L_VERIFY_KEYS
} s3l_verify_key_t;

/* In the order in which they are reported; for a verdict's reason the first that failed counts, so
 * causes stand before their consequences. */
typedef enum {
  S3L_CHECK_CREATE,
  S3L_CHECK_CREATE_AGAIN,
  S3L_CHECK_READ,
  S3L_CHECK_FRESH_ETAG,
  S3L_CHECK_CONDITIONAL_GET,
  S3L_CHECK_ONE_CREATE,
  S3L_CHECK_SWAP,
  S3L_CHECK_SWAP_STALE,
  S3L_CHECK_SWAP_MISSING,
  S3L_CHECK_ONE_SWAP,
  S3L_CHECK_EQUAL_BODIES,
  S3L_CHECK_LIST,
  S3L_CHECK_DELETE,
  S3L_CHECK_RECREATE,
  S3L_CHECKS
} s3l_verify_check_t;

typedef enum { S3L_VERIFY_GET, S3L_VERIFY_PUT, S3L_VERIFY_DEL, S3L_VERIFY_LIST } s3l_verify_kind_t;

typedef enum {
  S3L_VERIFY_BEGUN, /* nothing sent yet, or pausing before a step */
  S3L_VERIFY_SENT,  /* ops are out */
  S3L_VERIFY_RETRY  /* waiting before they are sent again */
} s3l_verify_state_t;

typedef struct s3l_verify_run_s s3l_verify_run_t;

typedef struct s3l_verify_op_s {
  s3lect_store_req_t req;
  s3l_verify_run_t* run;
  s3l_verify_kind_t kind;
  s3l_verify_key_t key;
  bool pending;
  bool unsure; /* an attempt of this write may have been carried out */
  uint64_t sent_ns;
  int64_t sent_wall_ms;
  char body[S3L_VERIFY_BODY_SIZE];
  /* How it ended. */
  int status;
  int outcome;
  int http_status;
  uint32_t notes;
  uint32_t retry_after_ms;
  bool listed;                 /* list: the key that was asked for is there */
  char etag[S3LECT_ETAG_SIZE]; /* "" if there was none, or one that does not fit */
  char shown[S3L_VERIFY_BODY_SIZE];
  char message[256];
} s3l_verify_op_t;

struct s3l_verify_run_s {
  s3lect_verify_t* handle;
  s3lect_verify_cb cb;
  s3lect_store_t* store;
  uv_timer_t timer;
  uint32_t timeout_ms;
  uint32_t writers;
  uint32_t rounds;
  bool quick;
  bool cancelled;
  bool over; /* no further check: cleaning up */
  int error;
  uint32_t sweeps; /* rounds of cleaning up */
  s3l_verify_state_t state;

  /* The step under way. */
  size_t step;
  uint32_t phase;
  uint32_t round;
  size_t ops_len;
  size_t pending;
  uint32_t attempt;
  uint32_t pause_ms; /* set by a check: wait before the next start */
  bool looking;      /* ops[0] is done but unsure: `look` reads what became of it */

  /* What is known of the main object. */
  char now_etag[S3LECT_ETAG_SIZE];
  char now_body[S3L_VERIFY_BODY_SIZE];
  char old_etag[S3LECT_ETAG_SIZE]; /* one that it had before and has no more; "" if none */
  bool no_swap;                    /* the store cannot swap: no use to try it further */
  bool stale;                      /* its reads cannot be relied on, not even by checks */

  /* The race under way; bits stand for writers. */
  uint32_t race_first; /* number of the first writer's write */
  uint32_t race_won;
  uint32_t race_unsure;
  uint32_t fruitless; /* rounds in turn that nobody won */
  uint32_t winners;   /* races of this check that one writer won */
  uint32_t won[2];    /* the same of the races that are over: of creates, of swaps */
  uint32_t races;     /* creates: rounds that were begun */
  uint32_t kept;      /* objects of these that could not be removed */
  int race_status;    /* of a writer that was neither told that it had won nor refused */
  char race_error[S3L_VERIFY_SEEN_SIZE];

  char prefix[S3LECT_VERIFY_PREFIX_MAX + 1];
  char keys[S3L_VERIFY_KEYS][S3LECT_VERIFY_PREFIX_MAX + 64];
  bool maybe[S3L_VERIFY_KEYS]; /* the object may exist */
  char id[17];                 /* of this run */
  uint32_t writes;
  char etags[S3L_VERIFY_ETAGS_MAX][S3LECT_ETAG_SIZE]; /* of confirmed writes */
  size_t etags_len;

  s3l_verify_op_t ops[S3LECT_VERIFY_CONCURRENCY_MAX];
  s3l_verify_op_t look;

  uint32_t requests;
  uint32_t leftovers;
  uint32_t latency_us[S3LECT_VERIFY_REQUESTS_MAX];
  size_t latencies;
  bool clock_known;
  int64_t clock_low_ms; /* the store's clock minus ours lies between these */
  int64_t clock_high_ms;
  bool etags_weak;
  s3lect_etag_dialect_t dialect;

  s3lect_check_t checks[S3L_CHECKS];
  char seen[S3L_CHECKS][S3L_VERIFY_SEEN_SIZE];
  char reasons[2][S3L_VERIFY_REASON_SIZE]; /* of the two verdicts */
};

/* ---- Of the checks, for the engine ---- */

/** Prepares the current step's ops; ops_len 0: it has nothing to do. False: there is no such step.
 */
bool s3l_verify_step_start(s3l_verify_run_t* run);

/** Judges the current step's ops. True: go on to the next step; false: start it again. */
bool s3l_verify_step_done(s3l_verify_run_t* run);

/* ---- Of the engine, for the checks ---- */

/** Adds an op to the current step. */
s3l_verify_op_t* s3l_verify_add(s3l_verify_run_t* run, s3l_verify_kind_t kind, s3l_verify_key_t key,
                                s3lect_condition_t condition, const char* etag);

/** Gives an object its key: another one for each number. */
void s3l_verify_name_key(s3l_verify_run_t* run, s3l_verify_key_t key, uint32_t number);

/** What write number n of this run puts into an object. */
void s3l_verify_body(const s3l_verify_run_t* run, uint32_t n, char out[S3L_VERIFY_BODY_SIZE]);

/** No further check: the run goes on to clean up. `error` 0: there is a verdict all the same. */
void s3l_verify_end(s3l_verify_run_t* run, int error);

/* ---- Of the report ---- */

/** Notes what a check saw. A check that has failed stays so. */
__attribute__((format(printf, 4, 5))) void s3l_verify_see(s3l_verify_run_t* run,
                                                          s3l_verify_check_t check,
                                                          s3lect_check_verdict_t verdict,
                                                          const char* format, ...);

/** Of each op that has ended: latency and the store's clock. */
void s3l_verify_measure(s3l_verify_run_t* run, const s3l_verify_op_t* op,
                        const s3lect_store_result_t* result);

void s3l_verify_report_init(s3l_verify_run_t* run);
void s3l_verify_report(s3l_verify_run_t* run, s3lect_verify_report_t* report);

#endif
