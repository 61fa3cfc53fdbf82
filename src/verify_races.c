/* verify_races.c: many writers at once, of whom exactly one may win; see verify_checks.h.
 *
 * A store that checks a condition and writes in two steps lets several win. A round that nobody
 * wins proves nothing (stores may turn all away) and is run again after a pause. */
#include <stdio.h>
#include <string.h>

#include "verify_checks.h"

#define FRUITLESS_MAX 3    /* rounds of a race that nobody wins, before it is given up */
#define FRUITLESS_MS  1100 /* pause after one: some stores allow one write a second to a key */

typedef struct race_s {
  s3l_verify_check_t check;
  s3l_verify_key_t key;
  s3lect_condition_t condition;
} race_t;

/* Phase 0 sends all writers at once, phase 1 looks who won. */
static void start_race(s3l_verify_run_t* run, const race_t* race) {
  if (run->phase == 1) {
    (void)s3l_verify_add(run, S3L_VERIFY_GET, race->key, S3LECT_ALWAYS, NULL);
    return;
  }
  const char* etag = race->condition == S3LECT_IF_MATCH ? run->now_etag : NULL;
  run->race_first = run->writes + 1;
  for (uint32_t i = 0; i < run->writers; i++)
    (void)s3l_verify_add(run, S3L_VERIFY_PUT, race->key, race->condition, etag);
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
      (void)snprintf(run->race_error, sizeof(run->race_error), "%.150s", s3l_verify_said(op));
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

static bool done_race(s3l_verify_run_t* run, const race_t* race) {
  uint32_t won_before = run->winners;
  bool several = false;
  if (run->phase == 0) {
    count_winners(run, race);
    several = (run->race_won & (run->race_won - 1)) != 0;
    run->phase = run->stale || several ? 0 : 1;
    if (run->phase == 1)
      return false;
    run->winners += run->race_won != 0 && !several ? 1 : 0;
  } else {
    judge_winner(run, race, &run->ops[0]);
    run->phase = 0;
  }
  if (run->winners > won_before || run->checks[race->check].verdict == S3LECT_CHECK_FAILED)
    run->round++;
  else if (++run->fruitless >= FRUITLESS_MAX)
    return conclude_race(run, race);
  else
    run->pause_ms = FRUITLESS_MS;
  return run->round >= run->rounds && conclude_race(run, race);
}

static race_t create_race(const s3l_verify_run_t* run) {
  return (race_t){S3L_CHECK_ONE_CREATE, (s3l_verify_key_t)(S3L_KEY_RACE + (int)run->round),
                  S3LECT_IF_ABSENT};
}

static const race_t swap_race = {S3L_CHECK_ONE_SWAP, S3L_KEY_MAIN, S3LECT_IF_MATCH};

void s3l_verify_start_create_race(s3l_verify_run_t* run) {
  race_t race = create_race(run);
  start_race(run, &race);
}

bool s3l_verify_done_create_race(s3l_verify_run_t* run) {
  race_t race = create_race(run);
  return done_race(run, &race);
}

void s3l_verify_start_swap_race(s3l_verify_run_t* run) {
  if (!run->no_swap)
    start_race(run, &swap_race);
}

bool s3l_verify_done_swap_race(s3l_verify_run_t* run) {
  return done_race(run, &swap_race);
}
