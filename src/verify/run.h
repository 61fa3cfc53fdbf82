/* verify/run.h: one run of s3lect_verify_start, shared by all files of this folder.
 *
 * Vocabulary
 *   check   a line of the report; report.c has the table of checks
 *   step    one request, or several that are sent together, and what to make of their results;
 *           steps.c has the table of steps. A check takes one or more steps
 *   op      one store request of a step, with a copy of its result
 *   main    the object that most checks work on; `now` is what the run knows it to hold
 *
 * verify.c is the engine: it sends, retries, counts and cleans up. Each step has a judge, a
 * function that sees the results, reports them and says which step follows. */
#ifndef S3L_VERIFY_RUN_H
#define S3L_VERIFY_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop/loop.h"
#include "s3lect/record.h"
#include "s3lect/verify.h"

#define S3L_VERIFY_BODY_SIZE   96
#define S3L_VERIFY_SEEN_SIZE   320
#define S3L_VERIFY_REASON_SIZE 512
#define S3L_VERIFY_ETAGS_MAX   64

typedef enum {
  S3L_KEY_MAIN = 0,
  S3L_KEY_MISSING = 1,
  S3L_KEY_RACE = 2, /* a new one in each round */
  S3L_VERIFY_KEYS
} s3l_verify_key_t;

/* In the order of the report. The first failed check gives the reason of a verdict, so causes stand
 * before their consequences. */
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

typedef enum {
  S3L_VERIFY_BEGUN, /* nothing is sent yet, or the run pauses before a step */
  S3L_VERIFY_SENT,
  S3L_VERIFY_RETRY /* the run waits before it sends again */
} s3l_verify_state_t;

typedef struct s3l_verify_run_s s3l_verify_run_t;

/** One of s3lect_store_get, _put, _del and _list. */
typedef int (*s3l_verify_send_t)(s3lect_store_t* store, s3lect_store_req_t* req);

typedef struct s3l_verify_op_s {
  s3l_verify_run_t* run;
  s3l_verify_send_t send;
  s3l_verify_key_t key;
  bool pending;
  bool unsure; /* an attempt of this write may have been carried out */
  int64_t sent_ns;
  int64_t sent_wall_ms;
  /* The result. */
  int64_t out_ns; /* lease time: when the last part of the request went out */
  int64_t ended_ns;
  int status;
  int outcome;
  uint32_t retry_after_ms;
  bool answered;                    /* with an HTTP reply */
  bool listed;                      /* list: it shows the object's key */
  char etag[S3LECT_ETAG_SIZE];      /* "" if there was none, or if it is too long */
  char shown[S3L_VERIFY_BODY_SIZE]; /* the body; "" if there was none */
  char code[24];                    /* "412", or the error's name without an HTTP reply */
  char message[256];                /* the store's, or the library's for the status */
  /* The request. */
  char body[S3L_VERIFY_BODY_SIZE];
  s3lect_store_req_t req;
} s3l_verify_op_t;

typedef enum {
  S3L_VERIFY_NEXT,      /* the next step */
  S3L_VERIFY_AGAIN,     /* the first step of this check */
  S3L_VERIFY_CHECK_OVER /* the first step of the next check */
} s3l_verify_move_t;

/* What a step needs; without it the step is left out. */
#define S3L_NEEDS_SWAP    0x1u /* the store can swap */
#define S3L_NEEDS_READS   0x2u /* reads have shown the newest write so far */
#define S3L_NEEDS_OLD     0x4u /* the run knows an ETag that the main object had before */
#define S3L_NEEDS_FULL    0x8u /* the run is not a quick one */
#define S3L_NEEDS_DELETED 0x10u

/* How a step's requests differ from the plain one. */
#define S3L_HOW_OLD_ETAG  0x1u
#define S3L_HOW_DISPUTED  0x2u  /* with S3LECT_REQ_ETAG_DISPUTED */
#define S3L_HOW_SAME_BODY 0x4u  /* writes what the main object holds already */
#define S3L_HOW_READERS   0x8u  /* three requests together */
#define S3L_HOW_WRITERS   0x10u /* one request of each writer together */

typedef struct s3l_verify_step_s {
  uint8_t check; /* s3l_verify_check_t */
  uint8_t needs;
  uint8_t key;       /* s3l_verify_key_t */
  uint8_t condition; /* s3lect_condition_t; S3LECT_IF_MATCH: none, where the store cannot swap */
  uint8_t how;
  s3l_verify_send_t send;
  s3l_verify_move_t (*judge)(s3l_verify_run_t* run, const s3l_verify_op_t* first);
} s3l_verify_step_t;

struct s3l_verify_run_s {
  s3lect_verify_t* handle;
  s3lect_verify_cb cb;
  s3lect_store_t* store;
  s3l_loop_t* loop;
  uint32_t timeout_ms;
  uint32_t writers;
  uint32_t rounds; /* of each race */
  bool quick;
  bool cancelled;
  bool over; /* no further step: the run cleans up */
  int error;
  uint32_t cleanups; /* rounds of cleaning up */
  s3l_verify_state_t state;

  /* The current step. */
  size_t step;
  s3l_verify_check_t check;
  uint32_t round; /* of the check */
  size_t ops_len;
  size_t pending;
  uint32_t attempt;
  uint32_t pause_ms; /* set by a judge: wait before the next step */
  bool looking;      /* ops[1] reads whether the uncertain write of ops[0] was carried out */

  bool no_swap; /* the store cannot swap */
  bool stale;   /* a read did not show the newest write */

  /* The current race; bits stand for writers. */
  uint32_t race_won;
  uint32_t race_unsure;
  uint32_t race_met;  /* another writer was at the store at the same time */
  uint32_t fruitless; /* rounds in succession that do not count */
  uint32_t winners;   /* rounds of this check that count: one writer has won, and met another */
  uint32_t won[2];    /* `winners` of the races that are over: of creates, of swaps */
  uint32_t races;     /* rounds of creates so far */
  uint32_t kept;      /* their objects that could not be removed */
  int race_status;    /* the last unexpected status of a writer */
  char race_error[S3L_VERIFY_SEEN_SIZE];

  /* What is known of the main object. */
  char now_etag[S3LECT_ETAG_SIZE];
  char now_body[S3L_VERIFY_BODY_SIZE];
  char old_etag[S3LECT_ETAG_SIZE]; /* an ETag that it had before; "" if none is known */

  s3l_deadline_t wake;
  s3l_task_t left; /* the runtime */

  char prefix[S3LECT_VERIFY_PREFIX_MAX + 1];
  char keys[S3L_VERIFY_KEYS][S3LECT_VERIFY_PREFIX_MAX + 64];
  bool maybe[S3L_VERIFY_KEYS]; /* the object may exist */
  char id[17];                 /* of this run */
  uint32_t writes;
  char etags[S3L_VERIFY_ETAGS_MAX][S3LECT_ETAG_SIZE]; /* of confirmed writes */
  size_t etags_len;

  s3l_verify_op_t ops[S3LECT_VERIFY_CONCURRENCY_MAX];

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

/* ---- steps.c ---- */

extern const s3l_verify_step_t s3l_verify_steps[];
extern const size_t s3l_verify_steps_len;

/** `op` tells nothing about the current check: the run ends with the error of `op`. */
s3l_verify_move_t s3l_verify_give_up(s3l_verify_run_t* run, const s3l_verify_op_t* op);

/** A read shows neither an object nor that there is none. */
bool s3l_verify_tells_nothing(const s3l_verify_op_t* op);

/** The body of this run's write number `n`. */
void s3l_verify_body(const s3l_verify_run_t* run, uint32_t n, char out[S3L_VERIFY_BODY_SIZE]);

/** Ends the checks; the run goes on to clean up. `error` 0: the verdict stands all the same. */
void s3l_verify_end(s3l_verify_run_t* run, int error);

/* ---- report.c ---- */

/** Measures latency and the store's clock by an op that has ended. */
void s3l_verify_measure(s3l_verify_run_t* run, const s3l_verify_op_t* op,
                        const s3lect_store_result_t* result);

void s3l_verify_report_init(s3l_verify_run_t* run);
void s3l_verify_report(s3l_verify_run_t* run, s3lect_verify_report_t* report);

#endif
