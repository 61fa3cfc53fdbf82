/* verify/races.c: judges of the races, in which many writers write at once and exactly one may win.
 *
 * A store that checks a condition and writes in two steps lets several writers win. In most rounds
 * the engine holds each writer's last byte back until all writers have sent the rest. That finds a
 * store that checks the condition before it has read the body in one round, and lets the writes of
 * other stores collide. In the other rounds the writers just start at once. A round without a
 * winner proves nothing (a store may turn all writers away) and is run again after a pause. */
#include <stdio.h>
#include <string.h>

#include "util/buf.h"
#include "verify/run.h"

#define KEPT_MAX      3 /* objects that cannot be removed, before the race ends */
#define FRUITLESS_MAX 3 /* rounds without a winner in succession, before the race ends */
#define FRUITLESS_MS                                                                               \
  1100 /* pause after such a round: some stores allow one write a second to a key */

static bool is_create(const s3l_verify_run_t* run) {
  return run->check == S3L_CHECK_ONE_CREATE;
}

static bool has_failed(const s3l_verify_run_t* run) {
  return run->checks[run->check].verdict == S3LECT_CHECK_FAILED;
}

/* ---- The end of a round ---- */

static s3l_verify_move_t conclude_race(s3l_verify_run_t* run) {
  run->won[is_create(run) ? 0 : 1] = run->winners;
  if (run->winners > 0) {
    s3l_verify_see(run, run->check, S3LECT_CHECK_PASSED, "one of %u, %u times",
                   (unsigned)run->writers, (unsigned)run->winners);
  } else if (!has_failed(run)) {
    s3l_verify_see(run, run->check, S3LECT_CHECK_INCONCLUSIVE, "nobody won: %.100s",
                   run->race_error);
    s3l_verify_end(run, run->race_status);
  }
  return S3L_VERIFY_CHECK_OVER;
}

static s3l_verify_move_t end_round(s3l_verify_run_t* run) {
  if (run->winners > run->round) {
    run->round++;
    run->fruitless = 0;
  } else if (++run->fruitless >= FRUITLESS_MAX) {
    return conclude_race(run);
  } else {
    run->pause_ms = FRUITLESS_MS;
  }
  bool litters = is_create(run) && run->kept >= KEPT_MAX;
  return run->round >= run->rounds || litters ? conclude_race(run) : S3L_VERIFY_AGAIN;
}

/* The winner is known. An object that was created must be removed before the next round. */
static s3l_verify_move_t end_look(s3l_verify_run_t* run) {
  if (has_failed(run))
    return conclude_race(run); /* the end of the run removes the object */
  return is_create(run) && run->maybe[S3L_KEY_RACE] ? S3L_VERIFY_NEXT : end_round(run);
}

s3l_verify_move_t s3l_verify_judge_removal(s3l_verify_run_t* run) {
  if (run->maybe[S3L_KEY_RACE]) {
    run->kept++;
    run->maybe[S3L_KEY_RACE] = false;
  }
  return end_round(run);
}

/* ---- The writers ---- */

/* Counts the winners. If several won, the object is taken to be the last one's. */
static void count_winners(s3l_verify_run_t* run) {
  run->race_first = run->writes + 1 - run->writers;
  run->race_won = run->race_unsure = 0;
  for (size_t i = 0; i < run->ops_len; i++) {
    s3l_verify_op_t* op = &run->ops[i];
    if (op->status == 0) {
      run->race_won |= 1u << i;
      s3l_verify_confirm(run, op);
    } else if (op->outcome == S3LECT_UNCERTAIN) {
      run->race_unsure |= 1u << i;
    } else if (!s3l_verify_is_refused(op)) {
      int n = snprintf(run->race_error, sizeof(run->race_error), "%s", s3l_verify_said(op));
      s3l_buf_cut(run->race_error, sizeof(run->race_error), n);
      run->race_status = op->status;
    }
  }
}

s3l_verify_move_t s3l_verify_judge_race(s3l_verify_run_t* run) {
  count_winners(run);
  unsigned n = (unsigned)__builtin_popcount(run->race_won);
  if (n > 1)
    s3l_verify_see(run, run->check, S3LECT_CHECK_FAILED, "%u of %u writers were told they had won",
                   n, (unsigned)run->writers);
  if (n <= 1 && !run->stale)
    return S3L_VERIFY_NEXT; /* look who it was */
  run->winners += n == 1 ? 1 : 0;
  return end_look(run);
}

/* ---- The winner ---- */

/* Which writer's body the object shows, or -1. */
static int find_writer(const s3l_verify_run_t* run, const s3l_verify_op_t* op) {
  char body[S3L_VERIFY_BODY_SIZE];
  for (uint32_t i = 0; i < run->writers; i++) {
    s3l_verify_body(run, run->race_first + i, body);
    if (op->status == 0 && strcmp(op->shown, body) == 0)
      return (int)i;
  }
  return -1;
}

/* At most one writer was told that it had won: the object must be that writer's, or else that of a
 * writer whose outcome is uncertain. */
s3l_verify_move_t s3l_verify_judge_winner(s3l_verify_run_t* run) {
  const s3l_verify_op_t* op = &run->ops[0];
  int writer = find_writer(run, op);
  uint32_t bit = writer >= 0 ? 1u << writer : 0;
  bool told = run->race_won != 0;
  if (s3l_verify_tells_nothing(op)) {
    run->winners += told ? 1 : 0;
  } else if ((told && bit == run->race_won) || (!told && (bit & run->race_unsure) != 0)) {
    run->winners++;
    if (!told && !is_create(run)) {
      s3l_verify_note_etag(run, op->etag);
      s3l_verify_set_now(run, op->etag, op->shown);
    }
  } else if (told && writer < 0) {
    run->stale = true;
    s3l_verify_see(run, S3L_CHECK_READ, S3LECT_CHECK_FAILED, "an older object after a race");
  } else if (told) {
    s3l_verify_see(run, run->check, S3LECT_CHECK_FAILED,
                   "one writer was told it had won, the object is another's");
  } else if (writer >= 0) {
    s3l_verify_see(run, run->check, S3LECT_CHECK_FAILED, "a refused write was carried out");
  }
  return end_look(run);
}
