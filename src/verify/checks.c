/* verify/checks.c: what s3lect_verify tries, step by step; see verify_run.h.
 *
 * Every body is written once, so what a read shows tells whose write it was. A check that fails
 * leaves the run in a known state: writes that should have been refused and were not are taken
 * note of like any other, and the remaining checks go on from there. What is neither success nor
 * refusal (no permission, no bucket, no connection) ends the run: it says nothing about the store's
 * honesty. */
#include <stdio.h>
#include <string.h>

#include "verify/checks.h"

#define READ_ROUNDS 4 /* of a full run */

/* Replaces the main object, by a swap if the store has that. */
static s3l_verify_op_t* add_rewrite(s3l_verify_run_t* run) {
  if (run->no_swap)
    return s3l_verify_add(run, S3L_VERIFY_PUT, S3L_KEY_MAIN, S3LECT_ALWAYS, NULL);
  return s3l_verify_add(run, S3L_VERIFY_PUT, S3L_KEY_MAIN, S3LECT_IF_MATCH, run->now_etag);
}

/* True if the rewrite was carried out; else the step is over. */
static bool take_rewrite(s3l_verify_run_t* run, s3l_verify_check_t check) {
  s3l_verify_op_t* op = &run->ops[0];
  if (op->status == 0) {
    s3l_verify_confirm(run, op);
    return true;
  }
  if (s3l_verify_is_refused(op) && !run->no_swap) {
    s3l_verify_see(run, S3L_CHECK_SWAP, S3LECT_CHECK_FAILED,
                   "refused a swap over the newest: %.100s", s3l_verify_said(op));
    run->no_swap = true;
  } else {
    s3l_verify_give_up(run, check, op);
  }
  return false;
}

/* ---- create, create-again, read-after-write ---- */

/* Phases of the first create: 0 the create itself; 1, after a refusal, the same write without a
 * condition: if the store refuses that as well, the condition is not what it minds (encryption that
 * it does not have, an endpoint that is no store). */
static void start_create(s3l_verify_run_t* run) {
  (void)s3l_verify_add(run, S3L_VERIFY_PUT, S3L_KEY_MAIN,
                       run->phase == 0 ? S3LECT_IF_ABSENT : S3LECT_ALWAYS, NULL);
}

static bool done_create(s3l_verify_run_t* run) {
  s3l_verify_op_t* op = &run->ops[0];
  bool refused = s3l_verify_is_refused(op) || op->status == S3LECT_EUNSUPPORTED;
  if (run->phase == 1 && op->status == 0) {
    run->checks[S3L_CHECK_CREATE].verdict = S3LECT_CHECK_FAILED; /* with what phase 0 saw */
    s3l_verify_end(run, 0);
  } else if (op->status == 0) {
    s3l_verify_confirm(run, op);
    s3l_verify_see(run, S3L_CHECK_CREATE, S3LECT_CHECK_PASSED, "created, ETag %.80s", op->etag);
  } else if (run->phase == 0 && refused) {
    s3l_verify_see(run, S3L_CHECK_CREATE, S3LECT_CHECK_INCONCLUSIVE, "%s", s3l_verify_said(op));
    run->phase = 1;
    return false;
  } else if (op->status == S3LECT_EETAG) {
    s3l_verify_see(run, S3L_CHECK_CREATE, S3LECT_CHECK_FAILED, "%s", s3l_verify_said(op));
    s3l_verify_end(run, 0);
  } else {
    s3l_verify_give_up(run, S3L_CHECK_CREATE, op);
  }
  return true;
}

static bool done_create_again(s3l_verify_run_t* run) {
  s3l_verify_op_t* op = &run->ops[0];
  char status[24];
  if (op->status == 0) {
    s3l_verify_confirm(run, op);
    s3l_verify_see(run, S3L_CHECK_CREATE_AGAIN, S3LECT_CHECK_FAILED, "%s: it was overwritten",
                   s3l_verify_status(op, status));
  } else if (s3l_verify_is_refused(op)) {
    s3l_verify_see(run, S3L_CHECK_CREATE_AGAIN, S3LECT_CHECK_PASSED, "refused (%s)",
                   s3l_verify_status(op, status));
  } else {
    s3l_verify_give_up(run, S3L_CHECK_CREATE_AGAIN, op);
  }
  return true;
}

/* What a read of the main object shows must be what was written last. */
static void judge_read(s3l_verify_run_t* run, const s3l_verify_op_t* op) {
  char status[24];
  if (op->status == 0 && strcmp(op->shown, run->now_body) == 0 &&
      strcmp(op->etag, run->now_etag) == 0) {
    s3l_verify_see(run, S3L_CHECK_READ, S3LECT_CHECK_PASSED, "the newest object");
    return;
  }
  run->stale = true;
  if (op->status != 0)
    s3l_verify_see(run, S3L_CHECK_READ, S3LECT_CHECK_FAILED, "%s right after a write",
                   s3l_verify_status(op, status));
  else if (strcmp(op->shown, run->now_body) != 0)
    s3l_verify_see(run, S3L_CHECK_READ, S3LECT_CHECK_FAILED, "an older object after a write");
  else
    s3l_verify_see(run, S3L_CHECK_READ, S3LECT_CHECK_FAILED,
                   "ETag %.50s, but the write's reply said %.50s", op->etag, run->now_etag);
}

static void start_read(s3l_verify_run_t* run) {
  (void)s3l_verify_add(run, S3L_VERIFY_GET, S3L_KEY_MAIN, S3LECT_ALWAYS, NULL);
}

static bool done_read(s3l_verify_run_t* run) {
  if (s3l_verify_tells_nothing(&run->ops[0]))
    s3l_verify_give_up(run, S3L_CHECK_READ, &run->ops[0]);
  else
    judge_read(run, &run->ops[0]);
  return true;
}

/* ---- swap ---- */

/* Phases: 0 the swap as the ETag came; 1, after a refusal, a look whether that ETag still stands;
 * 2 the swap again, disputed, so that the store tries its other dialect. */
static void start_swap(s3l_verify_run_t* run) {
  if (run->phase == 1) {
    start_read(run);
    return;
  }
  s3l_verify_op_t* op = add_rewrite(run);
  op->req.flags = run->phase == 2 ? S3LECT_REQ_ETAG_DISPUTED : 0;
}

static bool swap_failed(s3l_verify_run_t* run, const char* what, const s3l_verify_op_t* op) {
  s3l_verify_see(run, S3L_CHECK_SWAP, S3LECT_CHECK_FAILED, "%s%.120s", what, s3l_verify_said(op));
  run->no_swap = true;
  return true;
}

static bool done_swap(s3l_verify_run_t* run) {
  s3l_verify_op_t* op = &run->ops[0];
  if (run->phase == 1) {
    run->phase = 2;
    if (op->status == 0 && strcmp(op->etag, run->now_etag) == 0)
      return false;
    if (s3l_verify_tells_nothing(op)) {
      s3l_verify_give_up(run, S3L_CHECK_SWAP, op);
      return true;
    }
    return swap_failed(run, "refused, and a read shows another ETag than the write's: ", op);
  }
  if (op->status == 0) {
    s3l_verify_confirm(run, op);
    if (run->phase == 2 && run->dialect == S3LECT_ETAG_UNKNOWN)
      run->dialect = S3LECT_ETAG_BARE;
    s3l_verify_see(run, S3L_CHECK_SWAP, S3LECT_CHECK_PASSED, "replaced%s",
                   run->phase == 2 ? ", once the ETag came without quotes" : "");
    return true;
  }
  if (op->status == S3LECT_EPRECONDITION && run->phase == 0) {
    run->phase = 1;
    return false;
  }
  if (s3l_verify_is_refused(op))
    return swap_failed(run, "refused the very ETag that it shows: ", op);
  if (op->status == S3LECT_EUNSUPPORTED || op->status == S3LECT_EREFUSED ||
      op->status == S3LECT_EETAG)
    return swap_failed(run, "", op);
  s3l_verify_give_up(run, S3L_CHECK_SWAP, op);
  return true;
}

/* ---- swaps that must be refused ---- */

/* An ETag that the object never had: the newest with one digit changed. */
static void make_wrong_etag(const char* etag, char out[S3LECT_ETAG_SIZE]) {
  memcpy(out, etag, S3LECT_ETAG_SIZE);
  size_t n = strlen(out);
  for (size_t i = 0; i < n; i++) {
    if (out[i] != '"') {
      out[i] = out[i] == '0' ? '1' : '0';
      return;
    }
  }
}

static void start_swap_stale(s3l_verify_run_t* run) {
  if (run->no_swap)
    return;
  if (run->old_etag[0] == '\0' || strcmp(run->old_etag, run->now_etag) == 0)
    make_wrong_etag(run->now_etag, run->old_etag);
  (void)s3l_verify_add(run, S3L_VERIFY_PUT, S3L_KEY_MAIN, S3LECT_IF_MATCH, run->old_etag);
}

static void judge_refusal(s3l_verify_run_t* run, s3l_verify_check_t check, const char* otherwise) {
  s3l_verify_op_t* op = &run->ops[0];
  char status[24];
  if (op->status == 0) {
    s3l_verify_confirm(run, op);
    s3l_verify_see(run, check, S3LECT_CHECK_FAILED, "%s: %s", s3l_verify_status(op, status),
                   otherwise);
  } else if (s3l_verify_is_refused(op)) {
    s3l_verify_see(run, check, S3LECT_CHECK_PASSED, "refused (%s)", s3l_verify_status(op, status));
  } else {
    s3l_verify_give_up(run, check, op);
  }
}

static bool done_swap_stale(s3l_verify_run_t* run) {
  judge_refusal(run, S3L_CHECK_SWAP_STALE, "it was overwritten");
  return true;
}

static void start_swap_missing(s3l_verify_run_t* run) {
  if (!run->no_swap)
    (void)s3l_verify_add(run, S3L_VERIFY_PUT, S3L_KEY_MISSING, S3LECT_IF_MATCH, run->now_etag);
}

static bool done_swap_missing(s3l_verify_run_t* run) {
  judge_refusal(run, S3L_CHECK_SWAP_MISSING, "it was created");
  return true;
}

/* ---- conditional GET ---- */

static void start_get_unchanged(s3l_verify_run_t* run) {
  if (!run->stale)
    (void)s3l_verify_add(run, S3L_VERIFY_GET, S3L_KEY_MAIN, S3LECT_IF_CHANGED, run->now_etag);
}

static bool done_get_unchanged(s3l_verify_run_t* run) {
  s3l_verify_op_t* op = &run->ops[0];
  if (op->status == S3LECT_ENOTMODIFIED)
    s3l_verify_see(run, S3L_CHECK_CONDITIONAL_GET, S3LECT_CHECK_PASSED, "not modified");
  else if (op->status == 0)
    s3l_verify_see(run, S3L_CHECK_CONDITIONAL_GET, S3LECT_CHECK_NOTED,
                   "the whole object, though it had not changed");
  else
    s3l_verify_give_up(run, S3L_CHECK_CONDITIONAL_GET, op);
  return true;
}

/* An ETag that has been replaced, if there was one: only then can a 304 be told to be wrong. */
static void start_get_changed(s3l_verify_run_t* run) {
  bool known = run->old_etag[0] != '\0' && strcmp(run->old_etag, run->now_etag) != 0;
  if (known && !run->stale)
    (void)s3l_verify_add(run, S3L_VERIFY_GET, S3L_KEY_MAIN, S3LECT_IF_CHANGED, run->old_etag);
}

static bool done_get_changed(s3l_verify_run_t* run) {
  s3l_verify_op_t* op = &run->ops[0];
  if (op->status == S3LECT_ENOTMODIFIED)
    s3l_verify_see(run, S3L_CHECK_CONDITIONAL_GET, S3LECT_CHECK_FAILED,
                   "not modified, for an ETag that had been replaced");
  else if (s3l_verify_tells_nothing(op))
    s3l_verify_give_up(run, S3L_CHECK_CONDITIONAL_GET, op);
  else
    judge_read(run, op);
  return true;
}

/* ---- read-after-write, again and again ---- */

/* Phase 0 writes, phase 1 reads what was written, over several connections at once. */
static void start_read_rounds(s3l_verify_run_t* run) {
  if (run->stale)
    return;
  if (run->phase == 0) {
    (void)add_rewrite(run);
    return;
  }
  for (int i = 0; i < S3L_VERIFY_READERS; i++)
    start_read(run);
}

static bool done_read_rounds(s3l_verify_run_t* run) {
  size_t told = 0;
  if (run->phase == 0) {
    run->phase = 1;
    return !take_rewrite(run, S3L_CHECK_READ);
  }
  for (size_t i = 0; i < run->ops_len; i++) {
    if (s3l_verify_tells_nothing(&run->ops[i]))
      continue;
    told++;
    judge_read(run, &run->ops[i]);
  }
  if (told == 0) {
    s3l_verify_give_up(run, S3L_CHECK_READ, &run->ops[0]);
    return true;
  }
  run->phase = 0;
  return ++run->round >= (run->quick ? 1u : READ_ROUNDS);
}

/* ---- equal bodies ---- */

static void start_equal_bodies(s3l_verify_run_t* run) {
  if (run->quick)
    return;
  s3l_verify_op_t* op = add_rewrite(run);
  if (run->phase == 1) { /* what is there already */
    memcpy(op->body, run->now_body, sizeof(op->body));
    op->req.body_len = strlen(op->body);
  }
}

static bool done_equal_bodies(s3l_verify_run_t* run) {
  s3l_verify_op_t* op = &run->ops[0];
  if (run->phase == 0) {
    run->phase = 1;
    return !take_rewrite(run, S3L_CHECK_EQUAL_BODIES);
  }
  if (op->status != 0) {
    s3l_verify_see(run, S3L_CHECK_EQUAL_BODIES, S3LECT_CHECK_INCONCLUSIVE, "%s",
                   s3l_verify_said(op));
    return true;
  }
  bool same = strcmp(op->etag, run->now_etag) == 0;
  s3l_verify_set_now(run, op->etag, op->body);
  s3l_verify_see(run, S3L_CHECK_EQUAL_BODIES, same ? S3LECT_CHECK_NOTED : S3LECT_CHECK_PASSED,
                 same ? "the same ETag: it is made from the body" : "different ETags");
  return true;
}

/* ---- list, delete, create after delete ---- */

static void start_list(s3l_verify_run_t* run) {
  if (run->store->ops->list == NULL)
    s3l_verify_see(run, S3L_CHECK_LIST, S3LECT_CHECK_FAILED, "the store cannot list objects");
  else
    (void)s3l_verify_add(run, S3L_VERIFY_LIST, S3L_KEY_MAIN, S3LECT_ALWAYS, NULL);
}

static bool done_list(s3l_verify_run_t* run) {
  s3l_verify_op_t* op = &run->ops[0];
  if (op->status == 0 && op->listed)
    s3l_verify_see(run, S3L_CHECK_LIST, S3LECT_CHECK_PASSED, "listed");
  else if (op->status == 0)
    s3l_verify_see(run, S3L_CHECK_LIST, S3LECT_CHECK_FAILED, "not listed after it was written");
  else if (op->status == S3LECT_EUNSUPPORTED || op->status == S3LECT_ELISTING)
    s3l_verify_see(run, S3L_CHECK_LIST, S3LECT_CHECK_FAILED, "%s", s3l_verify_said(op));
  else
    s3l_verify_give_up(run, S3L_CHECK_LIST, op);
  return true;
}

/* Phase 0 deletes, phase 1 looks. */
static void start_delete(s3l_verify_run_t* run) {
  if (run->store->ops->del != NULL)
    (void)s3l_verify_add(run, run->phase == 0 ? S3L_VERIFY_DEL : S3L_VERIFY_GET, S3L_KEY_MAIN,
                         S3LECT_ALWAYS, NULL);
}

static bool done_delete(s3l_verify_run_t* run) {
  s3l_verify_op_t* op = &run->ops[0];
  if (run->phase == 0 && op->status == 0) {
    run->phase = 1;
    return run->stale;
  }
  if (run->phase == 0)
    s3l_verify_see(run, S3L_CHECK_DELETE, S3LECT_CHECK_NOTED, "%s", s3l_verify_said(op));
  else if (op->status == S3LECT_ENOTFOUND)
    s3l_verify_see(run, S3L_CHECK_DELETE, S3LECT_CHECK_PASSED, "gone");
  else
    s3l_verify_see(run, S3L_CHECK_DELETE, S3LECT_CHECK_NOTED, "a read shows it still, or fails");
  return true;
}

static void start_recreate(s3l_verify_run_t* run) {
  if (run->checks[S3L_CHECK_DELETE].verdict == S3LECT_CHECK_PASSED)
    start_create(run);
}

static bool done_recreate(s3l_verify_run_t* run) {
  s3l_verify_op_t* op = &run->ops[0];
  s3l_verify_see(run, S3L_CHECK_RECREATE,
                 op->status == 0 ? S3LECT_CHECK_PASSED : S3LECT_CHECK_NOTED, "%s",
                 op->status == 0 ? "created" : s3l_verify_said(op));
  return true;
}

/* ---- The steps ---- */

static const struct {
  void (*start)(s3l_verify_run_t* run);
  bool (*done)(s3l_verify_run_t* run);
} steps[] = {
    {start_create, done_create},
    {start_create, done_create_again},
    {start_read, done_read},
    {start_swap, done_swap},
    {start_swap_stale, done_swap_stale},
    {start_swap_missing, done_swap_missing},
    {start_get_unchanged, done_get_unchanged},
    {start_get_changed, done_get_changed},
    {start_read_rounds, done_read_rounds},
    {start_equal_bodies, done_equal_bodies},
    {s3l_verify_start_create_race, s3l_verify_done_create_race},
    {s3l_verify_start_swap_race, s3l_verify_done_swap_race},
    {start_list, done_list},
    {start_delete, done_delete},
    {start_recreate, done_recreate},
};

bool s3l_verify_step_start(s3l_verify_run_t* run) {
  if (run->step >= sizeof(steps) / sizeof(steps[0]))
    return false;
  steps[run->step].start(run);
  return true;
}

bool s3l_verify_step_done(s3l_verify_run_t* run) {
  return steps[run->step].done(run);
}
