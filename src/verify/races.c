/* verify/races.c: many writers at once, of whom exactly one may win; see verify_checks.h.
 *
 * A store that checks a condition and writes in two steps lets several win. In most rounds each
 * writer's last byte is held back until all writers have sent the rest: a store that checks before
 * it has read the body is found out in one such round, and others get all writes at one instant. In
 * the other rounds the writers just start at once. A round that nobody wins proves nothing (stores
 * may turn all away) and is run again after a pause. */
#include <stdio.h>
#include <string.h>

#include "util/buf.h"
#include "verify/checks.h"

#define PLAIN_EVERY   6    /* each such round holds nothing back */
#define KEPT_MAX      3    /* objects that cannot be removed, before there are no more rounds */
#define FRUITLESS_MAX 3    /* rounds in turn that nobody wins, before the race is given up */
#define FRUITLESS_MS  1100 /* pause after one: some stores allow one write a second to a key */

typedef struct race_s {
  s3l_verify_check_t check;
  s3l_verify_key_t key;
  s3lect_condition_t condition;
} race_t;

/* Phase 0 sends all writers at once, phase 1 looks who won, phase 2 removes what was created. */
static void start_race(s3l_verify_run_t* run, const race_t* race) {
  if (run->phase > 0) {
    (void)s3l_verify_add(run, run->phase == 1 ? S3L_VERIFY_GET : S3L_VERIFY_DEL, race->key,
                         S3LECT_ALWAYS, NULL);
    return;
  }
  const char* etag = race->condition == S3LECT_IF_MATCH ? run->now_etag : NULL;
  if (race->key == S3L_KEY_RACE)
    s3l_verify_name_key(run, race->key, S3L_VERIFY_KEYS + run->races++);
  run->race_first = run->writes + 1;
  for (uint32_t i = 0; i < run->writers; i++) {
    s3l_verify_op_t* op = s3l_verify_add(run, S3L_VERIFY_PUT, race->key, race->condition, etag);
    op->req.flags = run->round % PLAIN_EVERY != PLAIN_EVERY - 1 ? S3LECT_REQ_TOGETHER : 0;
  }
}

/* Counts the winners. Of several the last that ended is taken for the one that stands. */
static void count_winners(s3l_verify_run_t* run, const race_t* race) {
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
  unsigned n = (unsigned)__builtin_popcount(run->race_won);
  if (n > 1)
    s3l_verify_see(run, race->check, S3LECT_CHECK_FAILED, "%u of %u writers were told they had won",
                   n, (unsigned)run->writers);
}

/* Which writer's body the winner's object shows, or -1. */
static int find_writer(const s3l_verify_run_t* run, const s3l_verify_op_t* op) {
  char body[S3L_VERIFY_BODY_SIZE];
  for (uint32_t i = 0; i < run->writers; i++) {
    s3l_verify_body(run, run->race_first + i, body);
    if (op->status == 0 && strcmp(op->shown, body) == 0)
      return (int)i;
  }
  return -1;
}

/* After a race with at most one winner: the object must be that winner's, or else be one whose
 * writer was not told. */
static void judge_winner(s3l_verify_run_t* run, const race_t* race, const s3l_verify_op_t* op) {
  int writer = find_writer(run, op);
  uint32_t bit = writer >= 0 ? 1u << writer : 0;
  bool told = run->race_won != 0;
  if (s3l_verify_tells_nothing(op)) {
    run->winners += told ? 1 : 0;
    return;
  }
  if ((told && bit == run->race_won) || (!told && (bit & run->race_unsure) != 0)) {
    run->winners++;
    if (!told && race->key == S3L_KEY_MAIN) {
      s3l_verify_note_etag(run, op->etag);
      s3l_verify_set_now(run, op->etag, op->shown);
    }
  } else if (told && writer < 0) {
    run->stale = true;
    s3l_verify_see(run, S3L_CHECK_READ, S3LECT_CHECK_FAILED, "an older object after a race");
  } else if (told) {
    s3l_verify_see(run, race->check, S3LECT_CHECK_FAILED,
                   "one writer was told it had won, the object is another's");
  } else if (writer >= 0) {
    s3l_verify_see(run, race->check, S3LECT_CHECK_FAILED, "a refused write was carried out");
  }
}

static bool conclude_race(s3l_verify_run_t* run, const race_t* race) {
  run->won[race->key == S3L_KEY_RACE ? 0 : 1] = run->winners;
  if (run->winners > 0) {
    s3l_verify_see(run, race->check, S3LECT_CHECK_PASSED, "one of %u, %u times",
                   (unsigned)run->writers, (unsigned)run->winners);
  } else if (run->checks[race->check].verdict != S3LECT_CHECK_FAILED) {
    s3l_verify_see(run, race->check, S3LECT_CHECK_INCONCLUSIVE, "nobody won: %.100s",
                   run->race_error);
    s3l_verify_end(run, run->race_status);
  }
  return true;
}

/* A round is over. True: so is the race. */
static bool next_round(s3l_verify_run_t* run, const race_t* race) {
  run->phase = 0;
  if (run->winners > run->round) {
    run->round++;
    run->fruitless = 0;
  } else if (++run->fruitless >= FRUITLESS_MAX) {
    return conclude_race(run, race);
  } else {
    run->pause_ms = FRUITLESS_MS;
  }
  bool litters = race->key == S3L_KEY_RACE && run->kept >= KEPT_MAX;
  return (run->round >= run->rounds || litters) && conclude_race(run, race);
}

/* Where an object was created, it has to go before the next round; true if there is a way. */
static bool wants_removal(s3l_verify_run_t* run, const race_t* race) {
  if (race->key != S3L_KEY_RACE || !run->maybe[race->key])
    return false;
  if (run->store->ops->del != NULL)
    return true;
  run->kept++;
  run->maybe[race->key] = false;
  return false;
}

static bool done_race(s3l_verify_run_t* run, const race_t* race) {
  if (run->phase == 0) {
    count_winners(run, race);
    bool several = (run->race_won & (run->race_won - 1)) != 0;
    if (!run->stale && !several) {
      run->phase = 1;
      return false;
    }
    run->winners += run->race_won != 0 && !several ? 1 : 0;
  } else if (run->phase == 1) {
    judge_winner(run, race, &run->ops[0]);
  } else if (run->maybe[race->key]) {
    run->kept++;
    run->maybe[race->key] = false;
  }
  if (run->checks[race->check].verdict == S3LECT_CHECK_FAILED)
    return conclude_race(run, race); /* what is left is removed at the end */
  if (run->phase < 2 && wants_removal(run, race)) {
    run->phase = 2;
    return false;
  }
  return next_round(run, race);
}

static const race_t create_race = {S3L_CHECK_ONE_CREATE, S3L_KEY_RACE, S3LECT_IF_ABSENT};
static const race_t swap_race = {S3L_CHECK_ONE_SWAP, S3L_KEY_MAIN, S3LECT_IF_MATCH};

void s3l_verify_start_create_race(s3l_verify_run_t* run) {
  start_race(run, &create_race);
}

bool s3l_verify_done_create_race(s3l_verify_run_t* run) {
  return done_race(run, &create_race);
}

void s3l_verify_start_swap_race(s3l_verify_run_t* run) {
  if (!run->no_swap)
    start_race(run, &swap_race);
}

bool s3l_verify_done_swap_race(s3l_verify_run_t* run) {
  return done_race(run, &swap_race);
}
