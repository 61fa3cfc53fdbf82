/* verify/steps.c: the table of steps, and their judges (those of races are in races.c).
 *
 * Each body is written once, so a read shows whose write it sees. A failed check leaves the run in
 * a known state: a write that the store should have refused is taken note of like any other, and
 * the remaining checks go on from there. A result that is neither success nor refusal (no
 * permission, no bucket, no connection) ends the run: it says nothing about the store's conditions.
 */
#include <stdio.h>
#include <string.h>

#include "verify/run.h"

#define READ_ROUNDS 4 /* of a full run */
#define STATUS_SIZE 24

typedef s3l_verify_run_t run_t;
typedef s3l_verify_op_t op_t;
typedef s3l_verify_move_t move_t;

/* "412", or the error's name where there was no HTTP reply. */
static const char* status_of(const op_t* op, char out[STATUS_SIZE]) {
  if (op->http_status != 0)
    (void)snprintf(out, STATUS_SIZE, "%d", op->http_status);
  else
    (void)snprintf(out, STATUS_SIZE, "%s", op->status == 0 ? "done" : s3lect_err_name(op->status));
  return out;
}

/* ---- The ends of a check ---- */

static move_t end_check(run_t* run, s3lect_check_verdict_t verdict, const char* seen) {
  s3l_verify_see(run, run->check, verdict, "%s", seen);
  return S3L_VERIFY_CHECK_OVER;
}

static move_t passed(run_t* run, const char* seen) {
  return end_check(run, S3LECT_CHECK_PASSED, seen);
}

static move_t noted(run_t* run, const char* seen) {
  return end_check(run, S3LECT_CHECK_NOTED, seen);
}

static move_t failed(run_t* run, const char* seen) {
  return end_check(run, S3LECT_CHECK_FAILED, seen);
}

/* ---- create, create-after-delete ---- */

static move_t judge_create(run_t* run) {
  const op_t* op = &run->ops[0];
  if (op->status == 0) {
    s3l_verify_confirm(run, op);
    s3l_verify_see(run, S3L_CHECK_CREATE, S3LECT_CHECK_PASSED, "created, ETag %.80s", op->etag);
    return S3L_VERIFY_CHECK_OVER;
  }
  if (s3l_verify_is_refused(op) || op->status == S3LECT_EUNSUPPORTED) {
    (void)end_check(run, S3LECT_CHECK_INCONCLUSIVE, s3l_verify_said(op));
    return S3L_VERIFY_NEXT;
  }
  if (op->status != S3LECT_EETAG)
    return s3l_verify_give_up(run, op);
  s3l_verify_end(run, 0);
  return failed(run, s3l_verify_said(op));
}

/* The same write without a condition. If the store refuses this as well, the condition was not the
 * reason (encryption that the store does not have, an endpoint that is no store). */
static move_t judge_plain_create(run_t* run) {
  const op_t* op = &run->ops[0];
  if (op->status != 0 && op->status != S3LECT_EETAG)
    return s3l_verify_give_up(run, op);
  s3l_verify_end(run, 0);
  if (op->status != 0)
    return failed(run, s3l_verify_said(op));
  run->checks[S3L_CHECK_CREATE].verdict = S3LECT_CHECK_FAILED; /* by what judge_create saw */
  return S3L_VERIFY_CHECK_OVER;
}

static move_t judge_recreate(run_t* run) {
  const op_t* op = &run->ops[0];
  return op->status == 0 ? passed(run, "created") : noted(run, s3l_verify_said(op));
}

/* ---- create-again, swap-stale, swap-missing: writes that the store must refuse ---- */

static move_t judge_refusal(run_t* run) {
  const op_t* op = &run->ops[0];
  char status[STATUS_SIZE], seen[64];
  (void)status_of(op, status);
  if (op->status == 0) {
    s3l_verify_confirm(run, op);
    (void)snprintf(seen, sizeof(seen), "%s: it was %s", status,
                   op->key == S3L_KEY_MISSING ? "created" : "overwritten");
    return failed(run, seen);
  }
  if (!s3l_verify_is_refused(op))
    return s3l_verify_give_up(run, op);
  (void)snprintf(seen, sizeof(seen), "refused (%s)", status);
  return passed(run, seen);
}

/* ---- read-after-write ---- */

/* A read of the main object must show the last write. */
static void check_read(run_t* run, const op_t* op) {
  char status[STATUS_SIZE];
  bool newest = strcmp(op->shown, run->now_body) == 0;
  if (op->status == 0 && newest && strcmp(op->etag, run->now_etag) == 0) {
    s3l_verify_see(run, S3L_CHECK_READ, S3LECT_CHECK_PASSED, "the newest object");
    return;
  }
  run->stale = true;
  if (op->status != 0)
    s3l_verify_see(run, S3L_CHECK_READ, S3LECT_CHECK_FAILED, "%s right after a write",
                   status_of(op, status));
  else if (!newest)
    s3l_verify_see(run, S3L_CHECK_READ, S3LECT_CHECK_FAILED, "an older object after a write");
  else
    s3l_verify_see(run, S3L_CHECK_READ, S3LECT_CHECK_FAILED,
                   "ETag %.50s, but the write's reply said %.50s", op->etag, run->now_etag);
}

/* Of readers over several connections at once, at least one must have been answered. */
static bool check_reads(run_t* run) {
  size_t answered = 0;
  for (size_t i = 0; i < run->ops_len; i++) {
    if (s3l_verify_tells_nothing(&run->ops[i]))
      continue;
    answered++;
    check_read(run, &run->ops[i]);
  }
  if (answered == 0)
    (void)s3l_verify_give_up(run, &run->ops[0]);
  return answered > 0;
}

static move_t judge_read(run_t* run) {
  (void)check_reads(run);
  return S3L_VERIFY_CHECK_OVER;
}

static move_t judge_reads(run_t* run) {
  bool more = check_reads(run) && ++run->round < (run->quick ? 1u : READ_ROUNDS);
  return more ? S3L_VERIFY_AGAIN : S3L_VERIFY_CHECK_OVER;
}

/* ---- swap ---- */

static move_t swap_failed(run_t* run, const char* what, const op_t* op) {
  s3l_verify_see(run, S3L_CHECK_SWAP, S3LECT_CHECK_FAILED, "%s%.120s", what, s3l_verify_said(op));
  run->no_swap = true;
  return S3L_VERIFY_CHECK_OVER;
}

static move_t judge_swap(run_t* run) {
  const op_t* op = &run->ops[0];
  bool disputed = (op->req.flags & S3LECT_REQ_ETAG_DISPUTED) != 0;
  if (op->status == 0) {
    s3l_verify_confirm(run, op);
    if (disputed && run->dialect == S3LECT_ETAG_UNKNOWN)
      run->dialect = S3LECT_ETAG_BARE;
    return passed(run, disputed ? "replaced, once the ETag came without quotes" : "replaced");
  }
  if (op->status == S3LECT_EPRECONDITION && !disputed)
    return S3L_VERIFY_NEXT;
  if (s3l_verify_is_refused(op))
    return swap_failed(run, "refused the very ETag that it shows: ", op);
  if (op->status == S3LECT_EUNSUPPORTED || op->status == S3LECT_EREFUSED ||
      op->status == S3LECT_EETAG)
    return swap_failed(run, "", op);
  return s3l_verify_give_up(run, op);
}

/* After a refusal: if the object still has the ETag, the store may want it in its other dialect. */
static move_t judge_refused_swap(run_t* run) {
  const op_t* op = &run->ops[0];
  if (op->status == 0 && strcmp(op->etag, run->now_etag) == 0)
    return S3L_VERIFY_NEXT;
  if (s3l_verify_tells_nothing(op))
    return s3l_verify_give_up(run, op);
  return swap_failed(run, "refused, and a read shows another ETag than the write's: ", op);
}

/* A write of the main object that prepares the next step. */
static move_t judge_rewrite(run_t* run) {
  const op_t* op = &run->ops[0];
  if (op->status == 0) {
    s3l_verify_confirm(run, op);
    return S3L_VERIFY_NEXT;
  }
  if (!s3l_verify_is_refused(op) || run->no_swap)
    return s3l_verify_give_up(run, op);
  return swap_failed(run, "refused a swap over the newest: ", op);
}

/* ---- conditional-get, equal-bodies ---- */

static move_t judge_unchanged(run_t* run) {
  const op_t* op = &run->ops[0];
  if (op->status != 0 && op->status != S3LECT_ENOTMODIFIED)
    return s3l_verify_give_up(run, op);
  (void)(op->status == 0 ? noted(run, "the whole object, though it had not changed")
                         : passed(run, "not modified"));
  return S3L_VERIFY_NEXT;
}

static move_t judge_changed(run_t* run) {
  const op_t* op = &run->ops[0];
  if (op->status == S3LECT_ENOTMODIFIED)
    return failed(run, "not modified, for an ETag that had been replaced");
  if (s3l_verify_tells_nothing(op))
    return s3l_verify_give_up(run, op);
  check_read(run, op);
  return S3L_VERIFY_CHECK_OVER;
}

static move_t judge_equal_body(run_t* run) {
  const op_t* op = &run->ops[0];
  if (op->status != 0)
    return end_check(run, S3LECT_CHECK_INCONCLUSIVE, s3l_verify_said(op));
  bool same = strcmp(op->etag, run->now_etag) == 0;
  s3l_verify_set_now(run, op->etag, op->body);
  return same ? noted(run, "the same ETag: it is made from the body")
              : passed(run, "different ETags");
}

/* ---- list, delete ---- */

static move_t judge_list(run_t* run) {
  const op_t* op = &run->ops[0];
  switch (op->status) {
  case 0:
    return op->listed ? passed(run, "listed") : failed(run, "not listed after it was written");
  case UV_ENOSYS:
    return failed(run, "the store cannot list objects");
  case S3LECT_EUNSUPPORTED:
  case S3LECT_ELISTING:
    return failed(run, s3l_verify_said(op));
  default:
    return s3l_verify_give_up(run, op);
  }
}

static move_t judge_delete(run_t* run) {
  const op_t* op = &run->ops[0];
  if (op->status == 0)
    return S3L_VERIFY_NEXT;
  return op->status == UV_ENOSYS ? S3L_VERIFY_CHECK_OVER : noted(run, s3l_verify_said(op));
}

static move_t judge_deleted(run_t* run) {
  return run->ops[0].status == S3LECT_ENOTFOUND ? passed(run, "gone")
                                                : noted(run, "a read shows it still, or fails");
}

/* ---- The table ---- */

#define SWAP  S3L_NEEDS_SWAP
#define READS S3L_NEEDS_READS
#define OLD   S3L_NEEDS_OLD
#define FULL  S3L_NEEDS_FULL
#define GET   S3L_VERIFY_GET
#define PUT   S3L_VERIFY_PUT
#define DEL   S3L_VERIFY_DEL
#define LIST  S3L_VERIFY_LIST
#define MAIN  S3L_KEY_MAIN
#define RACE  S3L_KEY_RACE

/* check, what it needs, the request, its key and condition, how it is sent, who judges */
const s3l_verify_step_t s3l_verify_steps[] = {
    {S3L_CHECK_CREATE, 0, PUT, MAIN, S3LECT_IF_ABSENT, 0, judge_create},
    {S3L_CHECK_CREATE, 0, PUT, MAIN, S3LECT_ALWAYS, 0, judge_plain_create},
    {S3L_CHECK_CREATE_AGAIN, 0, PUT, MAIN, S3LECT_IF_ABSENT, 0, judge_refusal},
    {S3L_CHECK_READ, 0, GET, MAIN, S3LECT_ALWAYS, 0, judge_read},
    {S3L_CHECK_SWAP, 0, PUT, MAIN, S3LECT_IF_MATCH, 0, judge_swap},
    {S3L_CHECK_SWAP, 0, GET, MAIN, S3LECT_ALWAYS, 0, judge_refused_swap},
    {S3L_CHECK_SWAP, 0, PUT, MAIN, S3LECT_IF_MATCH, S3L_HOW_DISPUTED, judge_swap},
    {S3L_CHECK_SWAP_STALE, SWAP, PUT, MAIN, S3LECT_IF_MATCH, S3L_HOW_OLD_ETAG, judge_refusal},
    {S3L_CHECK_SWAP_MISSING, SWAP, PUT, S3L_KEY_MISSING, S3LECT_IF_MATCH, 0, judge_refusal},
    {S3L_CHECK_CONDITIONAL_GET, READS, GET, MAIN, S3LECT_IF_CHANGED, 0, judge_unchanged},
    {S3L_CHECK_CONDITIONAL_GET, READS | OLD, GET, MAIN, S3LECT_IF_CHANGED, S3L_HOW_OLD_ETAG,
     judge_changed},
    {S3L_CHECK_READ, READS, PUT, MAIN, S3LECT_IF_MATCH, 0, judge_rewrite},
    {S3L_CHECK_READ, READS, GET, MAIN, S3LECT_ALWAYS, S3L_HOW_READERS, judge_reads},
    {S3L_CHECK_EQUAL_BODIES, FULL, PUT, MAIN, S3LECT_IF_MATCH, 0, judge_rewrite},
    {S3L_CHECK_EQUAL_BODIES, FULL, PUT, MAIN, S3LECT_IF_MATCH, S3L_HOW_SAME_BODY, judge_equal_body},
    {S3L_CHECK_ONE_CREATE, 0, PUT, RACE, S3LECT_IF_ABSENT, S3L_HOW_WRITERS, s3l_verify_judge_race},
    {S3L_CHECK_ONE_CREATE, READS, GET, RACE, S3LECT_ALWAYS, 0, s3l_verify_judge_winner},
    {S3L_CHECK_ONE_CREATE, 0, DEL, RACE, S3LECT_ALWAYS, 0, s3l_verify_judge_removal},
    {S3L_CHECK_ONE_SWAP, SWAP, PUT, MAIN, S3LECT_IF_MATCH, S3L_HOW_WRITERS, s3l_verify_judge_race},
    {S3L_CHECK_ONE_SWAP, SWAP | READS, GET, MAIN, S3LECT_ALWAYS, 0, s3l_verify_judge_winner},
    {S3L_CHECK_LIST, 0, LIST, MAIN, S3LECT_ALWAYS, 0, judge_list},
    {S3L_CHECK_DELETE, 0, DEL, MAIN, S3LECT_ALWAYS, 0, judge_delete},
    {S3L_CHECK_DELETE, READS, GET, MAIN, S3LECT_ALWAYS, 0, judge_deleted},
    {S3L_CHECK_RECREATE, S3L_NEEDS_DELETED, PUT, MAIN, S3LECT_IF_ABSENT, 0, judge_recreate},
};

const size_t s3l_verify_steps_len = sizeof(s3l_verify_steps) / sizeof(s3l_verify_steps[0]);
