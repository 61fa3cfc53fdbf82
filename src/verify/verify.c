/* verify/verify.c: the engine of s3lect_verify_start, which runs the table of steps.
 *
 * Steps run one after the other; the ops of a step are sent together. A step with one op is
 * retried: a store that throttles or fails is not taken for one that ignores conditions. If a write
 * may have been carried out, the engine reads the object instead of guessing. The run moves on in
 * the callback of a request and at the deadline `wake`. */
#include "s3lect/verify.h"

#include <stdio.h>
#include <string.h>

#include "util/assert.h"
#include "util/error.h"
#include "util/error_kind.h"
#include "util/hex.h"
#include "util/mem.h"
#include "util/mutant.h"
#include "util/utf8.h"
#include "util/versioned.h"
#include "verify/run.h"

#define DEFAULT_PREFIX      "s3lect-verify/"
#define DEFAULT_TIMEOUT_MS  5000
#define DEFAULT_CONCURRENCY 8
#define QUICK_CONCURRENCY   4
#define ROUNDS              30 /* of each race */
#define QUICK_ROUNDS        6
#define PLAIN_EVERY         6    /* in each such round of a race no byte is held back */
#define READERS             3    /* of a step that reads over several connections */
#define HURRIED_TIMEOUT_MS  1000 /* for removing objects after a cancel */
#define ATTEMPTS_MAX        4
#define THROTTLED_MS        1100 /* some stores allow one write a second to a key */
#define THROTTLED_MAX_MS    5000

/* Requests that are kept back for removing objects: two for each key. */
#define CLEANUP_MAX (2 * S3L_VERIFY_KEYS)

typedef s3l_verify_run_t run_t;
typedef s3l_verify_op_t op_t;
typedef s3l_verify_step_t step_t;

static void advance(run_t* run);

static void on_wake(s3l_deadline_t* deadline) {
  advance(S3L_CONTAINER_OF(deadline, run_t, wake));
}

static void wake(run_t* run, uint32_t after_ms) {
  s3l_loop_deadline_set(run->loop, &run->wake, s3l_clock_in_ms(after_ms));
}

/* ---- One op ---- */

static bool is_put(const op_t* op) {
  return op->send == s3lect_store_put;
}

static void keep_result(op_t* op, const s3lect_store_result_t* r) {
  op->status = r->status;
  op->outcome = r->outcome;
  op->retry_after_ms = r->retry_after_ms;
  op->answered = r->http_status != 0;
  op->listed = false;
  op->etag[0] = op->shown[0] = '\0';
  if (r->etag != NULL && strlen(r->etag) < sizeof(op->etag))
    memcpy(op->etag, r->etag, strlen(r->etag) + 1);
  if (r->body != NULL && r->body_len < sizeof(op->shown)) {
    memcpy(op->shown, r->body, r->body_len);
    op->shown[r->body_len] = '\0';
  }
  for (size_t i = 0; i < r->entries_len; i++)
    op->listed = op->listed || strcmp(r->entries[i].key, op->req.key) == 0;
  if (is_put(op) && op->status == 0 && op->etag[0] == '\0')
    op->status = S3LECT_EETAG; /* too long: an elector could not keep it either */
  bool spoke = r->message != NULL && r->message[0] != '\0';
  (void)snprintf(op->message, sizeof(op->message), "%s",
                 spoke ? r->message : s3lect_strerror(op->status));
  if (r->http_status != 0)
    (void)snprintf(op->code, sizeof(op->code), "%d", r->http_status);
  else
    (void)snprintf(op->code, sizeof(op->code), "%s",
                   op->status == 0 ? "done" : s3lect_err_name(op->status));
}

static void note_dialect(run_t* run, const op_t* op, uint32_t notes) {
  if ((notes & S3LECT_NOTE_ETAG_WEAK) != 0)
    run->etags_weak = true;
  if (!is_put(op) || op->status != 0)
    return;
  if ((notes & S3LECT_NOTE_ETAG_QUOTED) != 0)
    run->dialect = S3LECT_ETAG_QUOTED;
  if ((notes & S3LECT_NOTE_ETAG_BARE) != 0)
    run->dialect = S3LECT_ETAG_BARE;
}

/* Keeps account of which objects may exist. */
static void note_object(run_t* run, op_t* op) {
  if (op->send == s3lect_store_del && (op->status == 0 || op->status == S3LECT_ENOTFOUND))
    run->maybe[op->key] = false;
  if (!is_put(op))
    return;
  if (op->outcome == S3LECT_UNCERTAIN || op->status == S3LECT_EETAG)
    op->unsure = true;
  if (op->status == 0 || op->unsure)
    run->maybe[op->key] = true;
}

static void on_done(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  op_t* op = req->data;
  run_t* run = op->run;
  op->pending = false;
  op->out_ns = op->sent_ns + result->waited_ns;
  op->ended_ns = s3l_clock_lease_ns();
  keep_result(op, result);
  note_dialect(run, op, result->notes);
  s3l_verify_measure(run, op, result);
  note_object(run, op);
  if (--run->pending == 0)
    advance(run);
}

static void send_op(run_t* run, op_t* op) {
  uint32_t budget = S3LECT_VERIFY_REQUESTS_MAX - (run->over ? 0 : CLEANUP_MAX);
  op->sent_ns = s3l_clock_lease_ns();
  op->sent_wall_ms = s3l_clock_wall_ms();
  op->pending = true;
  run->pending++;
  int rc = run->requests < budget ? op->send(run->store, &op->req) : S3LECT_ERETRIES;
  if (rc == 0) {
    run->requests++;
    return;
  }
  op->pending = false;
  run->pending--;
  keep_result(op, &(s3lect_store_result_t){.size = sizeof(s3lect_store_result_t),
                                           .status = rc,
                                           .outcome = S3LECT_NOT_APPLIED});
  wake(run, 0); /* where no other op is pending, the run moves on from there */
}

static void send_all(run_t* run) {
  run->state = S3L_VERIFY_SENT;
  for (size_t i = 0; i < run->ops_len; i++)
    send_op(run, &run->ops[i]);
}

static void prepare(run_t* run, op_t* op, s3l_verify_send_t send, s3l_verify_key_t key) {
  memset(op, 0, sizeof(*op));
  op->run = run;
  op->send = send;
  op->key = key;
  op->req.data = op;
  op->req.key = run->keys[key];
  op->req.flags = S3LECT_REQ_NO_NOTICES; /* on_error of an elector is to have them */
  op->req.max_keys = send == s3lect_store_list ? 10 : 0;
  op->req.timeout_ms = run->timeout_ms;
  op->req.cb = on_done;
  if (!is_put(op))
    return;
  s3l_verify_body(run, ++run->writes, op->body);
  op->req.body = op->body;
  op->req.body_len = strlen(op->body);
}

/* ---- A step ---- */

static bool knows_old_etag(const run_t* run) {
  return run->old_etag[0] != '\0' && strcmp(run->old_etag, run->now_etag) != 0;
}

static bool applies(const run_t* run, const step_t* step) {
  bool deleted = run->checks[S3L_CHECK_DELETE].verdict == S3LECT_CHECK_PASSED;
  unsigned has = (run->no_swap ? 0 : S3L_NEEDS_SWAP) | (run->stale ? 0 : S3L_NEEDS_READS) |
                 (knows_old_etag(run) ? S3L_NEEDS_OLD : 0) | (run->quick ? 0 : S3L_NEEDS_FULL) |
                 (deleted ? S3L_NEEDS_DELETED : 0);
  return (step->needs & ~has) == 0;
}

/* An ETag that the object never had: the newest with one digit changed. Where ETags are numbers, it
 * is one, too: it does not begin with 0. */
static void make_wrong_etag(const char* etag, char out[S3LECT_ETAG_SIZE]) {
  memcpy(out, etag, S3LECT_ETAG_SIZE);
  char* digit = out + strspn(out, "\"");
  if (*digit != '\0')
    *digit = *digit == '1' ? '2' : '1';
}

static void name_key(run_t* run, s3l_verify_key_t key, uint32_t number) {
  (void)snprintf(run->keys[key], sizeof(run->keys[key]), "%s%s-%u", run->prefix, run->id,
                 (unsigned)number);
}

static void prepare_op(run_t* run, const step_t* step) {
  S3L_ASSERT(run->ops_len < S3LECT_VERIFY_CONCURRENCY_MAX);
  op_t* op = &run->ops[run->ops_len++];
  prepare(run, op, step->send, step->key);
  bool plain = step->condition == S3LECT_IF_MATCH && run->no_swap;
  op->req.condition = plain ? S3LECT_ALWAYS : step->condition;
  if (op->req.condition == S3LECT_IF_MATCH || op->req.condition == S3LECT_IF_CHANGED)
    op->req.etag = (step->how & S3L_HOW_OLD_ETAG) != 0 ? run->old_etag : run->now_etag;
  /* The store does not know its dialect yet, where only a read told that a bare swap was done. */
  if ((step->how & S3L_HOW_DISPUTED) != 0 || run->dialect == S3LECT_ETAG_BARE)
    op->req.flags |= S3LECT_REQ_ETAG_DISPUTED;
  if ((step->how & S3L_HOW_WRITERS) != 0 && run->round % PLAIN_EVERY != PLAIN_EVERY - 1 &&
      !S3L_MUTANT(RACE_APART))
    op->req.flags |= S3LECT_REQ_TOGETHER;
  if ((step->how & S3L_HOW_SAME_BODY) != 0) {
    memcpy(op->body, run->now_body, sizeof(op->body));
    op->req.body_len = strlen(op->body);
  }
}

static void send_step(run_t* run, const step_t* step) {
  size_t n = (step->how & S3L_HOW_WRITERS) != 0   ? run->writers
             : (step->how & S3L_HOW_READERS) != 0 ? READERS
                                                  : 1;
  if ((step->how & S3L_HOW_OLD_ETAG) != 0 && !knows_old_etag(run))
    make_wrong_etag(run->now_etag, run->old_etag);
  if (step->send == s3lect_store_put && step->key == S3L_KEY_RACE)
    name_key(run, S3L_KEY_RACE, S3L_VERIFY_KEYS + run->races++);
  run->ops_len = 0;
  for (size_t i = 0; i < n; i++)
    prepare_op(run, step);
  run->attempt = 0;
  run->looking = false;
  send_all(run);
}

static void move(run_t* run, s3l_verify_move_t how) {
  const step_t* steps = s3l_verify_steps;
  if (how != S3L_VERIFY_AGAIN)
    run->step++;
  while (how == S3L_VERIFY_AGAIN && run->step > 0 && steps[run->step - 1].check == run->check)
    run->step--;
  while (how == S3L_VERIFY_CHECK_OVER && run->step < s3l_verify_steps_len &&
         steps[run->step].check == run->check)
    run->step++;
  if (run->step == s3l_verify_steps_len) {
    s3l_verify_end(run, 0);
  } else if (steps[run->step].check != run->check) {
    run->check = steps[run->step].check;
    run->round = run->winners = run->fruitless = 0;
  }
}

/* True if a step has been started, or is about to be after a pause. */
static bool start_step(run_t* run) {
  while (!run->over && !applies(run, &s3l_verify_steps[run->step]))
    move(run, S3L_VERIFY_NEXT);
  if (run->over)
    return false;
  if (run->pause_ms > 0) {
    run->state = S3L_VERIFY_BEGUN;
    wake(run, run->pause_ms);
    run->pause_ms = 0;
  } else {
    send_step(run, &s3l_verify_steps[run->step]);
  }
  return true;
}

/* ---- Retries of a single op ---- */

static uint32_t retry_delay(const run_t* run, const op_t* op) {
  uint32_t ms = run->attempt == 1 ? 100 : 1000;
  if (op->status != S3LECT_ETHROTTLED && op->retry_after_ms == 0)
    return ms;
  ms = op->retry_after_ms > THROTTLED_MS ? op->retry_after_ms : THROTTLED_MS;
  return ms < THROTTLED_MAX_MS ? ms : THROTTLED_MAX_MS;
}

/* A write that this attempt or an earlier one may have carried out, and that has not succeeded
 * since. */
static bool wants_look(const op_t* op) {
  return op->unsure && op->status != 0 && op->status != S3LECT_EETAG && op->status != UV_ECANCELED;
}

/* True if the op, or the read of its object, is sent again after a pause. */
static bool retry(run_t* run, const op_t* op) {
  if (!s3l_error_is_transient(op->status) || ++run->attempt >= ATTEMPTS_MAX)
    return false;
  run->state = S3L_VERIFY_RETRY;
  wake(run, retry_delay(run, op));
  return true;
}

static void look_at_object(run_t* run) {
  run->state = S3L_VERIFY_SENT;
  run->looking = true;
  prepare(run, &run->ops[1], s3lect_store_get, run->ops[0].key);
  send_op(run, &run->ops[1]);
}

/* The object was read. True if the op goes on. */
static bool carry_on_after_look(run_t* run) {
  op_t *op = &run->ops[0], *look = &run->ops[1];
  if (look->status == 0 && strcmp(look->shown, op->body) == 0) {
    op->status = 0; /* the write had been carried out */
    op->outcome = S3LECT_SETTLED;
    memcpy(op->etag, look->etag, sizeof(op->etag));
    memcpy(op->code, look->code, sizeof(op->code));
    return false;
  }
  if (s3l_error_is_transient(op->status)) {
    run->looking = false;
    return retry(run, op);
  }
  /* A refusal may be due to the op's own earlier attempt. Only a read can tell. */
  if (!s3l_verify_tells_nothing(look) || S3L_MUTANT(LOOK_OMITTED))
    return false;
  if (retry(run, look))
    return true;
  (void)s3l_verify_give_up(run, look);
  return false;
}

/* True if the only op of the step goes on: it is sent again, or its object is read. */
static bool carry_on(run_t* run) {
  op_t* op = &run->ops[0];
  if (run->ops_len != 1)
    return false;
  if (run->looking)
    return carry_on_after_look(run);
  if (!wants_look(op))
    return retry(run, op);
  look_at_object(run);
  return true;
}

/* ---- Cleaning up ---- */

static void remove_leftovers(run_t* run) {
  run->ops_len = 0;
  for (size_t i = 0; i < S3L_VERIFY_KEYS; i++) {
    if (!run->maybe[i])
      continue;
    op_t* op = &run->ops[run->ops_len++];
    prepare(run, op, s3lect_store_del, (s3l_verify_key_t)i);
    if (run->cancelled && op->req.timeout_ms > HURRIED_TIMEOUT_MS)
      op->req.timeout_ms = HURRIED_TIMEOUT_MS;
  }
  run->cleanups++;
  send_all(run);
}

/* Removes the objects that may exist, twice at most. True while there is something to wait for. */
static bool clean_up(run_t* run) {
  bool again = run->cleanups == 0;
  run->leftovers = run->kept;
  for (size_t i = 0; i < S3L_VERIFY_KEYS; i++)
    run->leftovers += run->maybe[i] ? 1 : 0;
  for (size_t i = 0; run->cleanups == 1 && !run->cancelled && i < run->ops_len; i++)
    again = again || s3l_error_is_transient(run->ops[i].status);
  if (run->leftovers == run->kept || !again)
    return false;
  if (run->cleanups == 0 || run->state == S3L_VERIFY_RETRY) {
    remove_leftovers(run);
  } else {
    run->state = S3L_VERIFY_RETRY;
    wake(run, THROTTLED_MS);
  }
  return true;
}

static void on_left(s3l_task_t* task) {
  run_t* run = S3L_CONTAINER_OF(task, run_t, left);
  s3lect_verify_t* verify = run->handle;
  s3lect_verify_report_t report;
  s3l_verify_report(run, &report);
  verify->internal = NULL;
  run->cb(verify, &report);
  s3l_free(run); /* the report points into it */
}

/* ---- Moving on ---- */

/* The results of the step are complete. */
static void move_on(run_t* run) {
  s3l_verify_move_t how = s3l_verify_steps[run->step].judge(run, run->ops);
  if (!run->over)
    move(run, how);
}

static void advance(run_t* run) {
  if (run->pending > 0)
    return; /* the deadline, while another request is under way */
  if (run->cancelled)
    s3l_verify_end(run, UV_ECANCELED);
  if (!run->over && run->state == S3L_VERIFY_RETRY) {
    run->state = S3L_VERIFY_SENT;
    if (run->looking)
      look_at_object(run);
    else
      send_op(run, &run->ops[0]);
    return;
  }
  if (!run->over && run->state == S3L_VERIFY_SENT) {
    if (carry_on(run))
      return;
    if (!run->over)
      move_on(run);
  }
  if (start_step(run) || clean_up(run))
    return;
  s3l_loop_deadline_clear(run->loop, &run->wake);
  s3l_loop_leave(run->loop, &run->left);
}

/* ---- The public functions ---- */

static int check_options(const s3lect_verify_options_t* o, s3lect_error_t* error) {
  if (o->store == NULL)
    return s3l_error_say(error, S3LECT_EOPTION, "store", NULL, "missing; give the store to try");
  if (o->concurrency < 2 || o->concurrency > S3LECT_VERIFY_CONCURRENCY_MAX)
    return s3l_error_say(error, S3LECT_EOPTION, "concurrency", NULL, "%u; it must be from 2 to %d",
                         (unsigned)o->concurrency, S3LECT_VERIFY_CONCURRENCY_MAX);
  s3l_span_t prefix = s3l_span_cstr(o->prefix);
  if (prefix.n > S3LECT_VERIFY_PREFIX_MAX || !s3l_utf8_is_valid(prefix))
    return s3l_error_say(error, S3LECT_EOPTION, "prefix", o->prefix,
                         "must be UTF-8 of at most %d bytes", S3LECT_VERIFY_PREFIX_MAX);
  return 0;
}

static int open_run(run_t* run, const s3lect_verify_options_t* o) {
  unsigned char bytes[8];
  if (s3l_loop_random(bytes, sizeof(bytes)) != 0)
    return UV_EIO;
  s3l_hex_encode(bytes, sizeof(bytes), run->id);
  run->store = o->store;
  run->quick = o->quick != 0;
  run->timeout_ms = o->request_timeout_ms;
  run->rounds = run->quick ? QUICK_ROUNDS : ROUNDS;
  run->writers =
      run->quick && o->concurrency > QUICK_CONCURRENCY ? QUICK_CONCURRENCY : o->concurrency;
  memcpy(run->prefix, o->prefix, strlen(o->prefix) + 1);
  for (int i = 0; i < S3L_VERIFY_KEYS; i++)
    name_key(run, (s3l_verify_key_t)i, (uint32_t)i + 1);
  s3l_verify_report_init(run);
  s3l_deadline_init(&run->wake, on_wake);
  s3l_task_init(&run->left, on_left);
  return s3l_loop_join(o->store->loop, &run->loop);
}

int s3lect_verify_start(s3lect_verify_t* verify, const s3lect_verify_options_t* options,
                        s3lect_verify_cb cb, s3lect_error_t* error) {
  s3lect_verify_options_t o;
  s3l_error_clear(error);
  if (cb == NULL)
    return s3l_error_end(error, UV_EINVAL);
  int err = s3l_versioned_copy(error, "s3lect_verify_options", options, &o, sizeof(o));
  if (err != 0)
    return err;
  o.prefix = o.prefix != NULL ? o.prefix : DEFAULT_PREFIX;
  o.concurrency = s3l_or_default(o.concurrency, DEFAULT_CONCURRENCY);
  o.request_timeout_ms = s3l_or_default(o.request_timeout_ms, DEFAULT_TIMEOUT_MS);
  err = check_options(&o, error);
  if (err != 0)
    return err;
  run_t* run = s3l_calloc(1, sizeof(*run));
  if (run == NULL)
    return s3l_error_end(error, UV_ENOMEM);
  err = open_run(run, &o);
  if (err != 0) {
    s3l_free(run);
    return s3l_error_end(error, err);
  }
  run->handle = verify;
  run->cb = cb;
  verify->loop = o.store->loop;
  verify->internal = run;
  wake(run, 0);
  return 0;
}

void s3lect_verify_cancel(s3lect_verify_t* verify) {
  run_t* run = verify->internal;
  if (run == NULL || run->over || run->cancelled)
    return;
  run->cancelled = true;
  for (size_t i = 0; i < S3LECT_VERIFY_CONCURRENCY_MAX; i++) {
    if (run->ops[i].pending)
      s3lect_store_cancel(run->store, &run->ops[i].req);
  }
  if (run->pending == 0)
    wake(run, 0);
}

void s3lect_verify_options_init(s3lect_verify_options_t* options, size_t size) {
  memset(options, 0, size);
  options->size = size;
}
