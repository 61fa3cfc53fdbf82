/* verify/verify.c: the engine of s3lect_verify; see verify_run.h.
 *
 * Steps run one after the other; the ops of a step go out together. A step with one op is given
 * retries: a throttled or failing store is no lying one. A write that may have happened is looked
 * up, not guessed. Everything moves on from a request's callback or from the timer. */
#include "s3lect/verify.h"

#include <stdio.h>
#include <string.h>

#include "loop/clock.h"
#include "util/assert.h"
#include "util/error.h"
#include "util/error_kind.h"
#include "util/hex.h"
#include "util/mem.h"
#include "util/utf8.h"
#include "util/versioned.h"
#include "verify/run.h"

#define DEFAULT_PREFIX      "s3lect-verify/"
#define DEFAULT_TIMEOUT_MS  5000
#define DEFAULT_CONCURRENCY 8
#define QUICK_CONCURRENCY   4
#define ROUNDS              30 /* of each race */
#define QUICK_ROUNDS        6
#define HURRIED_TIMEOUT_MS  1000 /* for removing objects after a cancel */
#define ATTEMPTS_MAX        4
#define THROTTLED_MS        1100 /* some stores allow one write a second to a key */
#define THROTTLED_MAX_MS    5000

static void advance(s3l_verify_run_t* run);

static void on_timer(uv_timer_t* timer) {
  advance(timer->data);
}

static void wake(s3l_verify_run_t* run, uint32_t after_ms) {
  uv_update_time(run->timer.loop);
  int rc = uv_timer_start(&run->timer, on_timer, after_ms, 0);
  S3L_ASSERT(rc == 0);
  (void)rc;
}

/* ---- One op ---- */

static void copy_text(const char* from, char* to, size_t cap) {
  to[0] = '\0';
  if (from != NULL && strlen(from) < cap)
    memcpy(to, from, strlen(from) + 1);
}

static void keep_result(s3l_verify_op_t* op, const s3lect_store_result_t* r) {
  op->status = r->status;
  op->outcome = r->outcome;
  op->http_status = r->http_status;
  op->retry_after_ms = r->retry_after_ms;
  op->notes = r->notes;
  op->listed = false;
  copy_text(r->etag, op->etag, sizeof(op->etag));
  op->shown[0] = '\0';
  if (r->body != NULL && r->body_len < sizeof(op->shown)) {
    memcpy(op->shown, r->body, r->body_len);
    op->shown[r->body_len] = '\0';
  }
  for (size_t i = 0; i < r->entries_len; i++)
    op->listed = op->listed || strcmp(r->entries[i].key, op->run->keys[op->key]) == 0;
  op->message[0] = '\0';
  if (r->message != NULL)
    (void)snprintf(op->message, sizeof(op->message), "%s", r->message);
}

static void note_reply(s3l_verify_run_t* run, const s3l_verify_op_t* op) {
  if ((op->notes & S3LECT_NOTED_ETAG_WEAK) != 0)
    run->etags_weak = true;
  if (op->kind != S3L_VERIFY_PUT || op->status != 0)
    return;
  if ((op->notes & S3LECT_NOTED_ETAG_QUOTED) != 0)
    run->dialect = S3LECT_ETAG_QUOTED;
  if ((op->notes & S3LECT_NOTED_ETAG_BARE) != 0)
    run->dialect = S3LECT_ETAG_BARE;
}

static void on_done(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  s3l_verify_op_t* op = req->data;
  s3l_verify_run_t* run = op->run;
  op->pending = false;
  keep_result(op, result);
  note_reply(run, op);
  s3l_verify_measure(run, op, result);
  if (op->kind == S3L_VERIFY_PUT && op->status == 0 && op->etag[0] == '\0')
    op->status = S3LECT_EETAG; /* one that this cannot keep is none that an elector could */
  if (op->kind == S3L_VERIFY_PUT && (op->outcome == S3LECT_UNCERTAIN || op->status == S3LECT_EETAG))
    op->unsure = true;
  if (op->kind == S3L_VERIFY_PUT && (op->status == 0 || op->unsure))
    run->maybe[op->key] = true;
  if (op->kind == S3L_VERIFY_DEL && (op->status == 0 || op->status == S3LECT_ENOTFOUND))
    run->maybe[op->key] = false;
  if (--run->pending == 0)
    advance(run);
}

static int submit(s3l_verify_run_t* run, s3l_verify_op_t* op) {
  op->req.flags |= S3LECT_REQ_NO_NEWS; /* an elector's on_error is to have them */
  uint32_t budget = S3LECT_VERIFY_REQUESTS_MAX - (run->over ? 0 : S3L_VERIFY_CLEANUP_MAX);
  if (run->requests >= budget)
    return S3LECT_ERETRIES;
  switch (op->kind) {
  case S3L_VERIFY_GET:
    return s3lect_store_get(run->store, &op->req);
  case S3L_VERIFY_PUT:
    return s3lect_store_put(run->store, &op->req);
  case S3L_VERIFY_DEL:
    return s3lect_store_del(run->store, &op->req);
  case S3L_VERIFY_LIST:
  default:
    return s3lect_store_list(run->store, &op->req);
  }
}

static void send_op(s3l_verify_run_t* run, s3l_verify_op_t* op) {
  op->sent_ns = uv_hrtime();
  op->sent_wall_ms = s3l_clock_wall_ms();
  op->pending = true;
  run->pending++;
  int rc = submit(run, op);
  if (rc == 0) {
    run->requests++;
    return;
  }
  s3lect_store_result_t failed = {
      .size = sizeof(failed), .status = rc, .outcome = S3LECT_NOT_APPLIED};
  keep_result(op, &failed);
  op->pending = false;
  if (--run->pending == 0)
    wake(run, 0);
}

void s3l_verify_body(const s3l_verify_run_t* run, uint32_t n, char out[S3L_VERIFY_BODY_SIZE]) {
  (void)snprintf(out, S3L_VERIFY_BODY_SIZE, "{\"s3lectVerify\":\"%s\",\"write\":%u}\n", run->id,
                 (unsigned)n);
}

static void prepare(s3l_verify_run_t* run, s3l_verify_op_t* op, s3l_verify_kind_t kind,
                    s3l_verify_key_t key, s3lect_condition_t condition, const char* etag) {
  memset(op, 0, sizeof(*op));
  op->run = run;
  op->kind = kind;
  op->key = key;
  op->req.data = op;
  op->req.key = run->keys[key];
  op->req.condition = condition;
  op->req.etag = etag;
  op->req.max_keys = kind == S3L_VERIFY_LIST ? 10 : 0;
  op->req.timeout_ms = run->timeout_ms;
  op->req.cb = on_done;
  if (kind != S3L_VERIFY_PUT)
    return;
  s3l_verify_body(run, ++run->writes, op->body);
  op->req.body = op->body;
  op->req.body_len = strlen(op->body);
}

s3l_verify_op_t* s3l_verify_add(s3l_verify_run_t* run, s3l_verify_kind_t kind, s3l_verify_key_t key,
                                s3lect_condition_t condition, const char* etag) {
  S3L_ASSERT(run->ops_len < S3LECT_VERIFY_CONCURRENCY_MAX);
  s3l_verify_op_t* op = &run->ops[run->ops_len++];
  prepare(run, op, kind, key, condition, etag);
  return op;
}

static void send_all(s3l_verify_run_t* run) {
  run->pending++; /* so that one that cannot be sent does not end the batch while it is sent */
  for (size_t i = 0; i < run->ops_len; i++)
    send_op(run, &run->ops[i]);
  if (--run->pending == 0)
    wake(run, 0);
}

/* ---- Retries of a single op ---- */

static uint32_t retry_delay(const s3l_verify_run_t* run, const s3l_verify_op_t* op) {
  uint32_t ms = run->attempt == 1 ? 100 : 1000;
  if (op->status != S3LECT_ETHROTTLED && op->retry_after_ms == 0)
    return ms;
  ms = op->retry_after_ms > THROTTLED_MS ? op->retry_after_ms : THROTTLED_MS;
  return ms < THROTTLED_MAX_MS ? ms : THROTTLED_MAX_MS;
}

/* A write that an earlier attempt may have carried out, and that has not succeeded since. */
static bool wants_look(const s3l_verify_op_t* op) {
  return op->unsure && op->status != 0 && op->status != S3LECT_EETAG && op->status != UV_ECANCELED;
}

/* True if the step's only op is not over yet, and something has been done about that. */
static bool carry_on(s3l_verify_run_t* run) {
  s3l_verify_op_t* op = &run->ops[0];
  if (run->ops_len != 1 || run->over)
    return false;
  if (run->looking) {
    run->looking = false;
    if (run->look.status == 0 && strcmp(run->look.shown, op->body) == 0) {
      op->status = 0; /* it had happened */
      op->outcome = S3LECT_SETTLED;
      memcpy(op->etag, run->look.etag, sizeof(op->etag));
      return false;
    }
  } else if (wants_look(op)) {
    run->looking = true;
    prepare(run, &run->look, S3L_VERIFY_GET, op->key, S3LECT_ALWAYS, NULL);
    send_op(run, &run->look);
    return true;
  }
  if (!s3l_error_is_transient(op->status) || ++run->attempt >= ATTEMPTS_MAX)
    return false;
  run->state = S3L_VERIFY_RETRY;
  wake(run, retry_delay(run, op));
  return true;
}

/* ---- The end ---- */

static void on_closed(uv_handle_t* handle) {
  s3l_verify_run_t* run = handle->data;
  s3lect_verify_t* verify = run->handle;
  s3lect_verify_cb cb = run->cb;
  s3lect_verify_report_t report;
  s3l_verify_report(run, &report);
  verify->internal = NULL;
  cb(verify, &report);
  s3l_free(run); /* the report leads into it */
}

void s3l_verify_end(s3l_verify_run_t* run, int error) {
  if (run->over)
    return;
  run->over = true;
  run->error = error;
  run->ops_len = 0;
}

/* Objects that may be there; `again` says whether asking once more may help to remove one. */
static uint32_t count_leftovers(const s3l_verify_run_t* run, bool* again) {
  uint32_t n = 0;
  *again = run->sweeps == 0;
  for (size_t i = 0; i < S3L_VERIFY_KEYS; i++)
    n += run->maybe[i] ? 1 : 0;
  for (size_t i = 0; run->sweeps == 1 && !run->cancelled && i < run->ops_len; i++)
    *again = *again || s3l_error_is_transient(run->ops[i].status);
  return n;
}

static void sweep(s3l_verify_run_t* run) {
  run->ops_len = 0;
  for (size_t i = 0; i < S3L_VERIFY_KEYS; i++) {
    if (!run->maybe[i])
      continue;
    s3l_verify_op_t* op =
        s3l_verify_add(run, S3L_VERIFY_DEL, (s3l_verify_key_t)i, S3LECT_ALWAYS, NULL);
    if (run->cancelled && op->req.timeout_ms > HURRIED_TIMEOUT_MS)
      op->req.timeout_ms = HURRIED_TIMEOUT_MS;
  }
  run->state = S3L_VERIFY_SENT;
  run->sweeps++;
  send_all(run);
}

/* True while there is something to wait for. */
static bool clean_up(s3l_verify_run_t* run) {
  bool again;
  uint32_t there = count_leftovers(run, &again);
  run->leftovers = run->kept + there;
  if (there == 0 || !again)
    return false;
  if (run->sweeps == 0 || run->state == S3L_VERIFY_RETRY) {
    sweep(run);
  } else {
    run->state = S3L_VERIFY_RETRY;
    wake(run, THROTTLED_MS);
  }
  return true;
}

/* ---- Moving on ---- */

static void next_step(s3l_verify_run_t* run) {
  run->step++;
  run->phase = run->round = run->winners = run->fruitless = 0;
}

/* True if a step has been started that has something to wait for. */
static bool start_step(s3l_verify_run_t* run) {
  while (!run->over) {
    run->ops_len = 0;
    if (run->pause_ms > 0) {
      run->state = S3L_VERIFY_BEGUN;
      wake(run, run->pause_ms);
      run->pause_ms = 0;
      return true;
    }
    run->attempt = 0;
    run->looking = false;
    if (!s3l_verify_step_start(run)) {
      s3l_verify_end(run, 0);
    } else if (run->ops_len > 0) {
      run->state = S3L_VERIFY_SENT;
      send_all(run);
      return true;
    } else {
      next_step(run);
    }
  }
  return false;
}

static void advance(s3l_verify_run_t* run) {
  if (run->pending > 0)
    return; /* a wake-up that an answer has overtaken */
  if (run->cancelled)
    s3l_verify_end(run, UV_ECANCELED);
  if (!run->over && run->state == S3L_VERIFY_RETRY) {
    run->state = S3L_VERIFY_SENT;
    send_op(run, &run->ops[0]);
    return;
  }
  if (!run->over && run->state == S3L_VERIFY_SENT) {
    if (carry_on(run))
      return;
    if (s3l_verify_step_done(run))
      next_step(run);
  }
  if (!start_step(run) && !clean_up(run))
    uv_close((uv_handle_t*)&run->timer, on_closed);
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

void s3l_verify_name_key(s3l_verify_run_t* run, s3l_verify_key_t key, uint32_t number) {
  (void)snprintf(run->keys[key], sizeof(run->keys[key]), "%s%s-%u", run->prefix, run->id,
                 (unsigned)number);
}

static int open_run(s3l_verify_run_t* run, const s3lect_verify_options_t* o) {
  unsigned char bytes[8];
  if (uv_random(NULL, NULL, bytes, sizeof(bytes), 0, NULL) != 0)
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
    s3l_verify_name_key(run, (s3l_verify_key_t)i, (uint32_t)i + 1);
  s3l_verify_report_init(run);
  run->timer.data = run;
  return uv_timer_init(o->store->loop, &run->timer);
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
  s3l_verify_run_t* run = s3l_calloc(1, sizeof(*run));
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
  s3l_verify_run_t* run = verify->internal;
  if (run == NULL || run->over || run->cancelled)
    return;
  run->cancelled = true;
  for (size_t i = 0; i < run->ops_len; i++) {
    if (run->ops[i].pending)
      s3lect_store_cancel(run->store, &run->ops[i].req);
  }
  if (run->look.pending)
    s3lect_store_cancel(run->store, &run->look.req);
  if (run->pending == 0)
    wake(run, 0);
}

void s3lect_verify_options_init(s3lect_verify_options_t* options, size_t size) {
  s3lect_verify_options_t defaults = {.size = size,
                                      .prefix = DEFAULT_PREFIX,
                                      .concurrency = DEFAULT_CONCURRENCY,
                                      .request_timeout_ms = DEFAULT_TIMEOUT_MS};
  memset(options, 0, size);
  memcpy(options, &defaults, size < sizeof(defaults) ? size : sizeof(defaults));
}
