/* verify/steps.c: the table of steps, and their judges.
 *
 * Each body is written once, so a read shows whose write it sees. A failed check leaves the run in
 * a known state: a write that the store should have refused is noted like any other, and the
 * remaining checks go on from there. A result that is neither success nor refusal (no permission,
 * no bucket, no connection) ends the run: it says nothing about the store's conditions.
 *
 * In a race many writers write at once, and exactly one may win. A store that checks a condition
 * and writes in two steps lets several writers win. In most rounds the engine holds each writer's
 * last byte back until all writers have sent the rest. That finds a store that checks the condition
 * before it has read the body in one round, and lets the writes of other stores collide. In the
 * other rounds the writers just start at once. A round without a winner proves nothing (a store may
 * turn all writers away), nor does one whose winner met no other writer at the store (no further
 * connection could be opened, say). Such a round is run again after a pause. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/buf.h"
#include "util/mutant.h"
#include "verify/run.h"

#define READ_ROUNDS   4    /* of a full run */
#define KEPT_MAX      3    /* objects that cannot be removed, before the race ends */
#define FRUITLESS_MAX 3    /* rounds without a winner in succession, before the race ends */
#define FRUITLESS_MS  1100 /* pause after such a round: some stores allow one write a second */

#define PASSED        S3LECT_CHECK_PASSED
#define NOTED         S3LECT_CHECK_NOTED
#define FAILED        S3LECT_CHECK_FAILED
#define INCONCLUSIVE  S3LECT_CHECK_INCONCLUSIVE

typedef s3l_verify_run_t run_t;
typedef s3l_verify_op_t op_t;
typedef s3l_verify_move_t move_t;

/* Notes what a check saw. A check that has failed stays failed. Returns what most judges do: the
 * check is over. */
__attribute__((format(printf, 4, 5))) static move_t note(run_t* run, s3l_verify_check_t check,
                                                         s3lect_check_verdict_t verdict,
                                                         const char* format, ...) {
  va_list args;
  if (run->checks[check].verdict == FAILED)
    return S3L_VERIFY_CHECK_OVER;
  run->checks[check].verdict = (int32_t)verdict;
  va_start(args, format);
  int n = vsnprintf(run->seen[check], S3L_VERIFY_SEEN_SIZE, format, args);
  va_end(args);
  s3l_buf_cut(run->seen[check], S3L_VERIFY_SEEN_SIZE, n);
  return S3L_VERIFY_CHECK_OVER;
}

static move_t end_check(run_t* run, s3lect_check_verdict_t verdict, const char* seen) {
  return note(run, run->check, verdict, "%s", seen);
}

/* ---- Results, and what the run knows of the main object ---- */

void s3l_verify_body(const run_t* run, uint32_t n, char out[S3L_VERIFY_BODY_SIZE]) {
  (void)snprintf(out, S3L_VERIFY_BODY_SIZE, "{\"s3lectVerify\":\"%s\",\"write\":%u}\n", run->id,
                 (unsigned)n);
}

/* The store refused a write, as it should where the condition does not hold. */
static bool is_refused(const op_t* op) {
  return op->status == S3LECT_EPRECONDITION || op->status == S3LECT_ECONFLICT ||
         op->status == S3LECT_ENOTFOUND;
}

/* The same where the condition holds. There a conflict says only that another write is in progress,
 * perhaps an earlier attempt of this one. */
static bool is_denied(const op_t* op) {
  return is_refused(op) && op->status != S3LECT_ECONFLICT;
}

bool s3l_verify_tells_nothing(const op_t* op) {
  return op->status != 0 && op->status != S3LECT_ENOTFOUND && op->status != S3LECT_ENOTMODIFIED &&
         op->status != S3LECT_ETOOBIG && op->status != S3LECT_EETAG;
}

void s3l_verify_end(run_t* run, int error) {
  if (run->over)
    return;
  run->over = true;
  run->error = error;
}

move_t s3l_verify_give_up(run_t* run, const op_t* op) {
  s3l_verify_end(run, op->status);
  return end_check(run, S3L_MUTANT(UNKNOWN_IS_UNSAFE) ? FAILED : INCONCLUSIVE, op->message);
}

/* A new body has this ETag. */
static void note_etag(run_t* run, const char* etag) {
  for (size_t i = 0; i < run->etags_len; i++) {
    if (strcmp(run->etags[i], etag) == 0) {
      (void)note(run, S3L_CHECK_FRESH_ETAG, FAILED, "different bodies have the same ETag %.80s",
                 etag);
      return;
    }
  }
  if (run->etags_len < S3L_VERIFY_ETAGS_MAX)
    memcpy(run->etags[run->etags_len++], etag, S3LECT_ETAG_SIZE);
  (void)note(run, S3L_CHECK_FRESH_ETAG, PASSED, "%zu bodies, %zu ETags", run->etags_len,
             run->etags_len);
}

/* The main object holds this now. */
static void set_now(run_t* run, const char* etag, const char* body) {
  if (strcmp(run->now_etag, etag) != 0)
    memcpy(run->old_etag, run->now_etag, sizeof(run->old_etag));
  memcpy(run->now_etag, etag, sizeof(run->now_etag));
  memcpy(run->now_body, body, sizeof(run->now_body));
}

/* A write has been carried out. */
static void confirm(run_t* run, const op_t* op) {
  note_etag(run, op->etag);
  if (op->key == S3L_KEY_MAIN)
    set_now(run, op->etag, op->body);
}

/* ---- create, create-after-delete ---- */

static move_t judge_create(run_t* run, const op_t* op) {
  if (op->status == 0) {
    confirm(run, op);
    return note(run, S3L_CHECK_CREATE, PASSED, "created, ETag %.80s", op->etag);
  }
  if (is_denied(op) || op->status == S3LECT_EUNSUPPORTED) {
    (void)end_check(run, INCONCLUSIVE, op->message);
    return S3L_VERIFY_NEXT;
  }
  if (op->status != S3LECT_EETAG)
    return s3l_verify_give_up(run, op);
  s3l_verify_end(run, 0);
  return end_check(run, FAILED, op->message);
}

/* The same write without a condition. If the store refuses this as well, the condition was not the
 * reason (encryption that the store does not have, an endpoint that is no store). */
static move_t judge_plain_create(run_t* run, const op_t* op) {
  if (op->status != 0 && op->status != S3LECT_EETAG)
    return s3l_verify_give_up(run, op);
  s3l_verify_end(run, 0);
  if (op->status != 0)
    return end_check(run, FAILED, op->message);
  run->checks[S3L_CHECK_CREATE].verdict = FAILED; /* by what judge_create saw */
  return S3L_VERIFY_CHECK_OVER;
}

static move_t judge_recreate(run_t* run, const op_t* op) {
  return op->status == 0 ? end_check(run, PASSED, "created") : end_check(run, NOTED, op->message);
}

/* ---- create-again, swap-stale, swap-missing: writes that the store must refuse ---- */

static move_t judge_refusal(run_t* run, const op_t* op) {
  if (op->status == 0) {
    confirm(run, op);
    return note(run, run->check, FAILED, "%s: it was %s", op->code,
                op->key == S3L_KEY_MISSING ? "created" : "overwritten");
  }
  return is_refused(op) ? note(run, run->check, PASSED, "refused (%s)", op->code)
                        : s3l_verify_give_up(run, op);
}

/* ---- read-after-write ---- */

/* A read of the main object must show the last write. */
static void check_read(run_t* run, const op_t* op) {
  bool newest = strcmp(op->shown, run->now_body) == 0;
  if (op->status == 0 && newest && strcmp(op->etag, run->now_etag) == 0) {
    (void)note(run, S3L_CHECK_READ, PASSED, "the newest object");
    return;
  }
  run->stale = true;
  if (op->status != 0)
    (void)note(run, S3L_CHECK_READ, FAILED, "%s right after a write", op->code);
  else if (!newest)
    (void)note(run, S3L_CHECK_READ, FAILED, "an older object after a write");
  else
    (void)note(run, S3L_CHECK_READ, FAILED, "ETag %.50s, but the write's reply said %.50s",
               op->etag, run->now_etag);
}

/* Of readers over several connections at once, at least one must have been answered. */
static bool check_reads(run_t* run, const op_t* first) {
  bool answered = false;
  for (const op_t* op = first; op < first + run->ops_len; op++) {
    if (s3l_verify_tells_nothing(op))
      continue;
    answered = true;
    check_read(run, op);
  }
  if (!answered)
    (void)s3l_verify_give_up(run, first);
  return answered;
}

static move_t judge_read(run_t* run, const op_t* op) {
  (void)check_reads(run, op);
  return S3L_VERIFY_CHECK_OVER;
}

static move_t judge_reads(run_t* run, const op_t* first) {
  bool more = check_reads(run, first) && ++run->round < (run->quick ? 1u : READ_ROUNDS);
  return more ? S3L_VERIFY_AGAIN : S3L_VERIFY_CHECK_OVER;
}

/* ---- swap ---- */

static move_t swap_failed(run_t* run, const char* what, const op_t* op) {
  run->no_swap = true;
  return note(run, S3L_CHECK_SWAP, FAILED, "%s%.120s", what, op->message);
}

static move_t judge_swap(run_t* run, const op_t* op) {
  bool disputed = (op->req.flags & S3LECT_REQ_ETAG_DISPUTED) != 0;
  if (op->status == 0) {
    confirm(run, op);
    if (disputed && run->dialect == S3LECT_ETAG_UNKNOWN)
      run->dialect = S3LECT_ETAG_BARE;
    return end_check(run, PASSED,
                     disputed ? "replaced, once the ETag came without quotes" : "replaced");
  }
  if (op->status == S3LECT_EPRECONDITION && !disputed)
    return S3L_VERIFY_NEXT;
  if (is_denied(op))
    return swap_failed(run, "refused the very ETag that it shows: ", op);
  if (op->status == S3LECT_EUNSUPPORTED || op->status == S3LECT_EREFUSED ||
      op->status == S3LECT_EETAG)
    return swap_failed(run, "", op);
  return s3l_verify_give_up(run, op);
}

/* After a refusal: if the object still has the ETag, the store may want it in its other dialect. */
static move_t judge_refused_swap(run_t* run, const op_t* op) {
  if (op->status == 0 && strcmp(op->etag, run->now_etag) == 0)
    return S3L_VERIFY_NEXT;
  if (s3l_verify_tells_nothing(op))
    return s3l_verify_give_up(run, op);
  return swap_failed(run, "refused, and a read shows another ETag than the write's: ", op);
}

/* A write of the main object that prepares the next step. */
static move_t judge_rewrite(run_t* run, const op_t* op) {
  if (op->status == 0) {
    confirm(run, op);
    return S3L_VERIFY_NEXT;
  }
  if (!is_denied(op) || run->no_swap)
    return s3l_verify_give_up(run, op);
  return swap_failed(run, "refused a swap over the newest: ", op);
}

/* ---- conditional-get, equal-bodies ---- */

static move_t judge_unchanged(run_t* run, const op_t* op) {
  if (op->status == 0)
    (void)end_check(run, NOTED, "the whole object, though it had not changed");
  else if (op->status == S3LECT_ENOTMODIFIED)
    (void)end_check(run, PASSED, "not modified");
  else
    return s3l_verify_give_up(run, op);
  return S3L_VERIFY_NEXT;
}

static move_t judge_changed(run_t* run, const op_t* op) {
  if (op->status == S3LECT_ENOTMODIFIED)
    return end_check(run, FAILED, "not modified, for an ETag that had been replaced");
  if (s3l_verify_tells_nothing(op))
    return s3l_verify_give_up(run, op);
  check_read(run, op);
  return S3L_VERIFY_CHECK_OVER;
}

static move_t judge_equal_body(run_t* run, const op_t* op) {
  if (op->status != 0)
    return end_check(run, INCONCLUSIVE, op->message);
  bool same = strcmp(op->etag, run->now_etag) == 0;
  set_now(run, op->etag, op->body);
  return same ? end_check(run, NOTED, "the same ETag: it is made from the body")
              : end_check(run, PASSED, "different ETags");
}

/* ---- list, delete ---- */

static move_t judge_list(run_t* run, const op_t* op) {
  switch (op->status) {
  case 0:
    return op->listed ? end_check(run, PASSED, "listed")
                      : end_check(run, FAILED, "not listed after it was written");
  case UV_ENOSYS:
    return end_check(run, FAILED, "the store cannot list objects");
  case S3LECT_EUNSUPPORTED:
  case S3LECT_ELISTING:
    return end_check(run, FAILED, op->message);
  default:
    return s3l_verify_give_up(run, op);
  }
}

static move_t judge_delete(run_t* run, const op_t* op) {
  if (op->status == 0)
    return S3L_VERIFY_NEXT;
  return op->status == UV_ENOSYS ? S3L_VERIFY_CHECK_OVER : end_check(run, NOTED, op->message);
}

static move_t judge_deleted(run_t* run, const op_t* op) {
  return op->status == S3LECT_ENOTFOUND ? end_check(run, PASSED, "gone")
                                        : end_check(run, NOTED, "a read shows it still, or fails");
}

/* ---- Races: the end of a round ---- */

static bool is_create(const run_t* run) {
  return run->check == S3L_CHECK_ONE_CREATE;
}

static bool has_failed(const run_t* run) {
  return run->checks[run->check].verdict == FAILED;
}

static move_t conclude_race(run_t* run) {
  run->won[is_create(run) ? 0 : 1] = run->winners;
  if (run->winners > 0)
    return note(run, run->check, PASSED, "one of %u, %u times", (unsigned)run->writers,
                (unsigned)run->winners);
  if (!has_failed(run))
    s3l_verify_end(run, run->race_status);
  return note(run, run->check, INCONCLUSIVE, "no race: %.100s", run->race_error);
}

static move_t end_round(run_t* run) {
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
static move_t end_look(run_t* run) {
  if (has_failed(run))
    return conclude_race(run); /* the end of the run removes the object */
  return is_create(run) && run->maybe[S3L_KEY_RACE] ? S3L_VERIFY_NEXT : end_round(run);
}

static move_t judge_removal(run_t* run, const op_t* op) {
  if (run->maybe[op->key]) {
    run->kept++;
    run->maybe[op->key] = false;
  }
  return end_round(run);
}

/* ---- Races: the writers, and the winner ---- */

/* The winner has won a race if another writer's request was at the store at the same time. It was
 * not if the others could not be sent, or went out in turn: while no further connection can be
 * opened, they wait for the winner's. */
static void count_winner(run_t* run, uint32_t winner) {
  if ((run->race_met & winner) != 0 || S3L_MUTANT(RACE_OF_ONE)) {
    run->winners++;
  } else if (run->race_status == 0) {
    run->race_status = S3LECT_ECROWDED;
    (void)snprintf(run->race_error, sizeof(run->race_error),
                   "the requests went out one after another: can several connections be opened?");
  }
}

/* The store turned a writer away because another one had just written: by its limit for each
 * object, so the request has reached what decides the race. */
static bool is_limited(const run_t* run, const op_t* op) {
  return op->status == S3LECT_ETHROTTLED && op->outcome == S3LECT_NOT_APPLIED &&
         (run->store->ops->flags & S3LECT_STORE_SLOW_WRITES) != 0;
}

/* The request has reached the store: of an uncertain write only a reply shows that. Some stores
 * answer 500 to writers that others interfere with. */
static bool has_arrived(const run_t* run, const op_t* op) {
  return op->status == 0 || is_refused(op) || is_limited(run, op) ||
         (op->outcome == S3LECT_UNCERTAIN && op->answered);
}

/* Both requests were under way at the same time: the later one went out before the earlier one was
 * answered. If the earlier one was not, it is taken to have been as quick as the other. */
static bool is_overlap(const op_t* a, const op_t* b) {
  const op_t *first = a->out_ns <= b->out_ns ? a : b, *second = first == a ? b : a;
  const op_t* timed = has_arrived(a->run, first) ? first : second;
  int64_t gap_ns = second->out_ns - first->out_ns;
  return gap_ns == 0 || gap_ns < timed->ended_ns - timed->out_ns || S3L_MUTANT(RACE_IN_TURN);
}

static bool has_met(const run_t* run, const op_t* first, const op_t* op) {
  for (const op_t* other = first; other < first + run->ops_len; other++)
    if (other != op && has_arrived(run, other) && is_overlap(op, other))
      return true;
  return false;
}

/* If several writers have won, the object is taken to be the last one's. */
static move_t judge_race(run_t* run, const op_t* first) {
  unsigned n = 0;
  run->race_won = run->race_unsure = run->race_met = 0;
  for (const op_t* op = first; op < first + run->ops_len; op++) {
    uint32_t bit = 1u << (op - first);
    run->race_met |= has_met(run, first, op) ? bit : 0;
    if (op->status == 0) {
      n++;
      run->race_won |= bit;
      confirm(run, op);
    } else if (op->outcome == S3LECT_UNCERTAIN) {
      run->race_unsure |= bit;
    } else if (!is_refused(op)) {
      (void)snprintf(run->race_error, sizeof(run->race_error), "%s", op->message);
      run->race_status = op->status;
    }
  }
  if (n > 1)
    (void)note(run, run->check, FAILED, "%u of %u writers were told they had won", n,
               (unsigned)run->writers);
  if (n <= 1 && !run->stale)
    return S3L_VERIFY_NEXT; /* look who it was */
  if (n == 1)
    count_winner(run, run->race_won);
  return end_look(run);
}

/* The bit of the writer whose body the object shows, or 0. The writers' bodies are the last. */
static uint32_t find_writer(const run_t* run, const op_t* op) {
  char body[S3L_VERIFY_BODY_SIZE];
  for (uint32_t i = 0; op->status == 0 && i < run->writers; i++) {
    s3l_verify_body(run, run->writes + 1 - run->writers + i, body);
    if (strcmp(op->shown, body) == 0)
      return 1u << i;
  }
  return 0;
}

/* At most one writer was told that it had won: the object must be that writer's, or else that of a
 * writer whose outcome is uncertain. */
static move_t judge_winner(run_t* run, const op_t* op) {
  uint32_t writer = find_writer(run, op);
  bool told = run->race_won != 0;
  if (s3l_verify_tells_nothing(op)) {
    if (told)
      count_winner(run, run->race_won);
  } else if ((told && writer == run->race_won) || (!told && (writer & run->race_unsure) != 0)) {
    count_winner(run, writer);
    if (!told && !is_create(run)) {
      note_etag(run, op->etag);
      set_now(run, op->etag, op->shown);
    }
  } else if (told && writer == 0) {
    run->stale = true;
    (void)note(run, S3L_CHECK_READ, FAILED, "an older object after a race");
  } else if (told) {
    (void)end_check(run, FAILED, "one writer was told it had won, the object is another's");
  } else if (writer != 0) {
    (void)end_check(run, FAILED, "a refused write was carried out");
  }
  return end_look(run);
}

/* ---- The table ---- */

#define SWAP  S3L_NEEDS_SWAP
#define READS S3L_NEEDS_READS
#define OLD   S3L_NEEDS_OLD
#define FULL  S3L_NEEDS_FULL
#define GET   s3lect_store_get
#define PUT   s3lect_store_put
#define DEL   s3lect_store_del
#define LIST  s3lect_store_list
#define MAIN  S3L_KEY_MAIN
#define RACE  S3L_KEY_RACE

/* check, what it needs, the request's key and condition, how it is sent; the request, who judges */
const s3l_verify_step_t s3l_verify_steps[] = {
    {S3L_CHECK_CREATE, 0, MAIN, S3LECT_IF_ABSENT, 0, PUT, judge_create},
    {S3L_CHECK_CREATE, 0, MAIN, S3LECT_ALWAYS, 0, PUT, judge_plain_create},
    {S3L_CHECK_CREATE_AGAIN, 0, MAIN, S3LECT_IF_ABSENT, 0, PUT, judge_refusal},
    {S3L_CHECK_READ, 0, MAIN, S3LECT_ALWAYS, 0, GET, judge_read},
    {S3L_CHECK_SWAP, 0, MAIN, S3LECT_IF_MATCH, 0, PUT, judge_swap},
    {S3L_CHECK_SWAP, 0, MAIN, S3LECT_ALWAYS, 0, GET, judge_refused_swap},
    {S3L_CHECK_SWAP, 0, MAIN, S3LECT_IF_MATCH, S3L_HOW_DISPUTED, PUT, judge_swap},
    {S3L_CHECK_SWAP_STALE, SWAP, MAIN, S3LECT_IF_MATCH, S3L_HOW_OLD_ETAG, PUT, judge_refusal},
    {S3L_CHECK_SWAP_MISSING, SWAP, S3L_KEY_MISSING, S3LECT_IF_MATCH, 0, PUT, judge_refusal},
    {S3L_CHECK_CONDITIONAL_GET, READS, MAIN, S3LECT_IF_CHANGED, 0, GET, judge_unchanged},
    {S3L_CHECK_CONDITIONAL_GET, READS | OLD, MAIN, S3LECT_IF_CHANGED, S3L_HOW_OLD_ETAG, GET,
     judge_changed},
    {S3L_CHECK_READ, READS, MAIN, S3LECT_IF_MATCH, 0, PUT, judge_rewrite},
    {S3L_CHECK_READ, READS, MAIN, S3LECT_ALWAYS, S3L_HOW_READERS, GET, judge_reads},
    {S3L_CHECK_EQUAL_BODIES, FULL, MAIN, S3LECT_IF_MATCH, 0, PUT, judge_rewrite},
    {S3L_CHECK_EQUAL_BODIES, FULL, MAIN, S3LECT_IF_MATCH, S3L_HOW_SAME_BODY, PUT, judge_equal_body},
    {S3L_CHECK_ONE_CREATE, 0, RACE, S3LECT_IF_ABSENT, S3L_HOW_WRITERS, PUT, judge_race},
    {S3L_CHECK_ONE_CREATE, READS, RACE, S3LECT_ALWAYS, 0, GET, judge_winner},
    {S3L_CHECK_ONE_CREATE, 0, RACE, S3LECT_ALWAYS, 0, DEL, judge_removal},
    {S3L_CHECK_ONE_SWAP, SWAP, MAIN, S3LECT_IF_MATCH, S3L_HOW_WRITERS, PUT, judge_race},
    {S3L_CHECK_ONE_SWAP, SWAP | READS, MAIN, S3LECT_ALWAYS, 0, GET, judge_winner},
    {S3L_CHECK_LIST, 0, MAIN, S3LECT_ALWAYS, 0, LIST, judge_list},
    {S3L_CHECK_DELETE, 0, MAIN, S3LECT_ALWAYS, 0, DEL, judge_delete},
    {S3L_CHECK_DELETE, READS, MAIN, S3LECT_ALWAYS, 0, GET, judge_deleted},
    {S3L_CHECK_RECREATE, S3L_NEEDS_DELETED, MAIN, S3LECT_IF_ABSENT, 0, PUT, judge_recreate},
};

const size_t s3l_verify_steps_len = sizeof(s3l_verify_steps) / sizeof(s3l_verify_steps[0]);
