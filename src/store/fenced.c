/* store/fenced.c: put and get of objects that keep the epoch of their writer (s3lect/fenced.h).
 *
 * A request reads the object, then writes it on the condition that it is still the version that was
 * read, and reads again whenever the write was refused or its reply was lost. It ends when it knows
 * how its write ended, or when its time is over.
 *
 * Invariants
 *   - every put is conditional: on absence, or on the ETag of a version whose epoch was seen and is
 *     not greater than the request's;
 *   - all attempts of one request write the same bytes, with one nonce, so that a version which
 *     shows the nonce is the request's own, whichever attempt it came from;
 *   - what was sent and not answered can be carried out later only while the version that it
 *     replaces is there: no ETag comes back. */
#include "s3lect/fenced.h"

#include <stdio.h>
#include <string.h>

#include "core/record.h"
#include "loop/loop.h"
#include "store/store.h"
#include "util/assert.h"
#include "util/backoff.h"
#include "util/buf.h"
#include "util/error_kind.h"
#include "util/hex.h"
#include "util/mem.h"
#include "util/mutant.h"
#include "util/span.h"

#define FENCE_WORD       "s3lect-fence "
#define NONCE_DIGITS     32
#define FENCE_MAX        (sizeof(FENCE_WORD) + 20 + 1 + NONCE_DIGITS + 1)
#define BODY_MAX_DEFAULT (1024 * 1024)
#define BODY_MOST        (UINT32_MAX - FENCE_MAX)
#define MESSAGE_MAX      512
#define PAUSE_FIRST_MS   20
#define PAUSE_MAX_MS     1000
#define DISPUTES_MAX     3
#define ATTEMPTS         3 /* at least so many have time, if the store is silent */

typedef struct fence_s {
  uint64_t epoch; /* 0: the object has no fence */
  s3l_span_t nonce;
  size_t len; /* of the line */
} fence_t;

typedef struct run_s {
  s3lect_fenced_t* req;
  s3l_loop_t* loop;
  s3l_task_t end;
  s3l_deadline_t pause;
  s3l_prng_t prng;
  int64_t until_ns;
  uint32_t failures; /* so far */
  uint32_t disputes; /* in a row: the store refused the ETag that it shows */
  bool get;
  bool begun;
  bool sent;   /* a request to the store is under way */
  bool unsure; /* an attempt may have been carried out */
  bool cancelled;
  bool ended;
  char nonce[NONCE_DIGITS];
  char refused[S3LECT_ETAG_SIZE]; /* the ETag of the last attempt that was refused, or "" */
  char* text;                     /* fence and content */
  size_t fence_len, text_len;
  s3lect_store_req_t io;
  s3lect_fenced_result_t result;
  char message[MESSAGE_MAX];
} run_t;

static void look(run_t* run);
static void write_it(run_t* run);

/* ---- Fences ---- */

/* False: it begins like a fence, and is none. */
static bool read_fence(s3l_span_t body, fence_t* out) {
  const s3l_span_t word = S3L_SPAN(FENCE_WORD);
  uint8_t bits[NONCE_DIGITS / 2];
  *out = (fence_t){0};
  if (!s3l_span_starts_with(body, word))
    return true;
  s3l_span_t line = {body.p, body.n < FENCE_MAX ? body.n : FENCE_MAX};
  const char* end = memchr(line.p, '\n', line.n);
  if (end == NULL)
    return false;
  out->len = (size_t)(end - body.p) + 1;
  line.n = out->len - 1;
  s3l_span_skip(&line, word.n);
  const char* blank = memchr(line.p, ' ', line.n);
  if (blank == NULL)
    return false;
  s3l_span_t epoch = {line.p, (size_t)(blank - line.p)};
  s3l_span_skip(&line, epoch.n + 1);
  out->nonce = line;
  return s3l_span_to_u64(epoch, &out->epoch) && out->epoch != 0 &&
         s3l_hex_decode(line, bits, sizeof(bits));
}

/* An election would lose its record. */
static bool is_lockfile(s3l_span_t body) {
  s3lect_record_t record;
  return body.n <= S3L_STORE_BODY_MAX_DEFAULT && s3l_record_parse(body, &record) == 0;
}

/* The text to write, in place of an earlier one. False: out of memory. */
static bool compose(run_t* run, const char* content, size_t len) {
  s3l_buf_t b;
  char* text = s3l_malloc(FENCE_MAX + len + 1);
  s3l_free(run->text);
  run->text = text;
  if (text == NULL)
    return false;
  s3l_buf_init(&b, text, FENCE_MAX + len + 1);
  s3l_buf_puts(&b, FENCE_WORD);
  s3l_buf_u64(&b, run->req->epoch);
  s3l_buf_putc(&b, ' ');
  s3l_buf_put(&b, (s3l_span_t){run->nonce, NONCE_DIGITS});
  s3l_buf_putc(&b, '\n');
  run->fence_len = b.len;
  s3l_buf_put(&b, (s3l_span_t){content, len});
  (void)s3l_buf_cstr(&b);
  S3L_ASSERT(!b.overflow);
  run->text_len = b.len;
  return true;
}

/* ---- The end ---- */

static void on_end(s3l_task_t* task) {
  run_t* run = S3L_CONTAINER_OF(task, run_t, end);
  s3lect_fenced_t* req = run->req;
  req->internal = NULL;
  req->cb(req, &run->result);
  s3l_free(run->text);
  s3l_free(run);
}

static void say(run_t* run, const char* text) {
  int n = snprintf(run->message, sizeof(run->message), "%s", text);
  s3l_buf_cut(run->message, sizeof(run->message), n);
}

static void end(run_t* run, int status) {
  S3L_ASSERT(!run->ended);
  run->ended = true;
  if (status != 0)
    run->result.outcome = run->unsure ? S3LECT_UNCERTAIN : S3LECT_NOT_APPLIED;
  if (status != 0 && run->message[0] == '\0')
    say(run, s3lect_strerror(status));
  if (status == 0)
    run->message[0] = '\0';
  run->result.status = status;
  run->result.message = run->message;
  s3l_loop_deadline_clear(run->loop, &run->pause);
  s3l_loop_leave(run->loop, &run->end);
}

static void end_well(run_t* run) {
  run->result.outcome = S3LECT_SETTLED;
  if (run->get) {
    run->result.body = run->text + run->fence_len;
    run->result.body_len = run->text_len - run->fence_len;
  }
  end(run, 0);
}

/* ---- Requests to the store ---- */

static void on_pause(s3l_deadline_t* deadline) {
  run_t* run = S3L_CONTAINER_OF(deadline, run_t, pause);
  const s3lect_fenced_t* req = run->req;
  bool knows = !run->get && req->etag[0] != '\0' && req->seen_epoch <= req->epoch;
  bool first = !run->begun;
  run->begun = true;
  if (run->cancelled)
    end(run, UV_ECANCELED);
  else if (s3l_clock_lease_ns() >= run->until_ns)
    end(run, UV_ETIMEDOUT);
  else if (first && knows)
    write_it(run);
  else
    look(run);
}

static void again(run_t* run, uint32_t at_least_ms) {
  uint32_t ms = s3l_backoff_ms(PAUSE_FIRST_MS, PAUSE_MAX_MS, ++run->failures, &run->prng);
  int64_t at = s3l_clock_in_ms(ms > at_least_ms ? ms : at_least_ms);
  s3l_loop_deadline_set(run->loop, &run->pause, at < run->until_ns ? at : run->until_ns);
}

static void keep_message(run_t* run, const s3lect_store_result_t* r, int status) {
  say(run, r->message != NULL && r->message[0] != '\0' ? r->message : s3lect_strerror(status));
}

/* A request to the store has failed, which has no other meaning. */
static void failed(run_t* run, const s3lect_store_result_t* r, int status) {
  keep_message(run, r, status);
  if (s3l_error_is_transient(status) && !run->cancelled)
    again(run, r->retry_after_ms);
  else
    end(run, status);
}

static void ask(run_t* run, int (*how)(s3lect_store_t*, s3lect_store_req_t*),
                s3lect_store_cb then) {
  uint32_t share_ms = run->req->timeout_ms / ATTEMPTS + 1;
  int64_t left_ms = (run->until_ns - s3l_clock_lease_ns()) / 1000000 + 1;
  S3L_ASSERT(!run->sent && !run->ended);
  run->io.timeout_ms = left_ms < 1 ? 1 : left_ms < share_ms ? (uint32_t)left_ms : share_ms;
  run->io.cb = then;
  int rc = how(run->req->store, &run->io);
  if (rc == 0)
    run->sent = true;
  else
    end(run, rc);
}

/* ---- Reading ---- */

static void know(run_t* run, const char* etag, uint64_t epoch) {
  s3lect_fenced_t* req = run->req;
  (void)s3l_span_copy(s3l_span_cstr(etag), req->etag, sizeof(req->etag));
  req->seen_epoch = epoch;
  run->result.epoch = epoch;
}

/* The object as it is: decides what follows. */
static void judge(run_t* run, s3l_span_t body) {
  s3lect_fenced_t* req = run->req;
  fence_t fence;
  if (!read_fence(body, &fence) || (req->epoch != 0 && is_lockfile(body))) {
    end(run, S3LECT_EBADFENCE);
    return;
  }
  run->result.epoch = req->seen_epoch = fence.epoch;
  if (req->epoch != 0 && fence.epoch > req->epoch && !S3L_MUTANT(FENCE_NOT_LOOKED_AT)) {
    end(run, S3LECT_EFENCED);
    return;
  }
  bool own = s3l_span_eq(fence.nonce, (s3l_span_t){run->nonce, NONCE_DIGITS});
  s3l_span_skip(&body, fence.len);
  if (run->get && !compose(run, body.p, body.n))
    end(run, UV_ENOMEM);
  else if (own || (run->get && (req->epoch == 0 || fence.epoch == req->epoch)))
    end_well(run);
  else
    write_it(run);
}

static void on_read(s3lect_store_req_t* io, const s3lect_store_result_t* r) {
  run_t* run = io->data;
  bool usable = r->etag != NULL && strlen(r->etag) < S3LECT_ETAG_SIZE;
  run->sent = false;
  if (run->cancelled) {
    end(run, UV_ECANCELED);
  } else if (r->status == 0 && usable) {
    know(run, r->etag, 0);
    judge(run, (s3l_span_t){r->body != NULL ? r->body : "", r->body_len});
  } else if (r->status == S3LECT_ENOTFOUND) {
    know(run, "", 0);
    if (run->get)
      end(run, S3LECT_ENOTFOUND);
    else
      write_it(run);
  } else if (r->status == S3LECT_ETOOBIG) { /* and would be the next time */
    end(run, S3LECT_ETOOBIG);
  } else {
    failed(run, r, r->status == 0 ? S3LECT_EETAG : r->status);
  }
}

static void look(run_t* run) {
  run->io.condition = S3LECT_ALWAYS;
  run->io.flags = 0;
  ask(run, s3lect_store_get, on_read);
}

/* ---- Writing ---- */

/* The object is no longer the version that was read, or so the store says. */
static void was_refused(run_t* run) {
  s3lect_fenced_t* req = run->req;
  bool disputed = req->etag[0] != '\0' && strcmp(run->refused, req->etag) == 0;
  run->disputes = disputed ? run->disputes + 1 : 0;
  memcpy(run->refused, req->etag, sizeof(run->refused));
  if (run->cancelled) {
    end(run, UV_ECANCELED);
  } else if (run->disputes > DISPUTES_MAX) {
    end(run, S3LECT_EDISPUTED);
  } else if (run->failures == 0) {
    run->failures++;
    look(run);
  } else {
    again(run, 0);
  }
}

static void on_written(s3lect_store_req_t* io, const s3lect_store_result_t* r) {
  run_t* run = io->data;
  bool usable = r->etag != NULL && strlen(r->etag) < S3LECT_ETAG_SIZE;
  run->sent = false;
  bool lost =
      r->outcome == S3LECT_UNCERTAIN || r->status == S3LECT_EETAG || (r->status == 0 && !usable);
  run->unsure = run->unsure || lost;
  if (r->status == 0 && usable) {
    know(run, r->etag, run->req->epoch);
    end_well(run);
  } else if (r->status == S3LECT_EPRECONDITION || r->status == S3LECT_ENOTFOUND) {
    was_refused(run);
  } else if (lost && r->status != UV_ECANCELED) { /* the object will show it */
    keep_message(run, r, r->status);
    again(run, r->retry_after_ms);
  } else {
    failed(run, r, r->status);
  }
}

static void write_it(run_t* run) {
  const s3lect_fenced_t* req = run->req;
  bool known = req->etag[0] != '\0';
  S3L_ASSERT(req->epoch != 0 && run->text != NULL);
  S3L_ASSERT(!known || req->seen_epoch <= req->epoch);
  run->io.body = run->text;
  run->io.body_len = run->text_len;
  run->io.etag = known ? req->etag : NULL;
  run->io.condition = known ? S3LECT_IF_MATCH : S3LECT_IF_ABSENT;
  run->io.flags = known && strcmp(run->refused, req->etag) == 0 ? S3LECT_REQ_ETAG_DISPUTED : 0;
  if (S3L_MUTANT(FENCED_WITHOUT_CONDITION))
    run->io.condition = S3LECT_ALWAYS;
  ask(run, s3lect_store_put, on_written);
}

/* ---- The public functions ---- */

static bool is_valid(const s3lect_fenced_t* req, bool get) {
  if (req->key == NULL || req->key[0] == '\0' || strlen(req->key) > S3L_STORE_KEY_MAX ||
      req->timeout_ms == 0 || req->cb == NULL || req->body_max > BODY_MOST)
    return false;
  return get || (req->epoch != 0 && (req->body != NULL || req->body_len == 0) &&
                 req->body_len <= BODY_MOST);
}

static int prepare(run_t* run) {
  const s3lect_fenced_t* req = run->req;
  uint8_t bits[NONCE_DIGITS / 2];
  if (s3l_loop_random(bits, sizeof(bits)) != 0)
    return UV_EIO;
  s3l_hex_encode(bits, sizeof(bits), run->nonce);
  s3l_loop_seed(&run->prng);
  run->io.key = req->key;
  run->io.data = run;
  run->io.body_max = (req->body_max != 0 ? req->body_max : BODY_MAX_DEFAULT) + (uint32_t)FENCE_MAX;
  run->until_ns = s3l_clock_in_ms(req->timeout_ms);
  run->result.size = sizeof(run->result);
  return run->get || compose(run, req->body, req->body_len) ? 0 : UV_ENOMEM;
}

static int start(s3lect_store_t* store, s3lect_fenced_t* req, bool get) {
  if (!is_valid(req, get))
    return UV_EINVAL;
  run_t* run = s3l_calloc(1, sizeof(*run));
  if (run == NULL)
    return UV_ENOMEM;
  run->req = req;
  run->get = get;
  int err = prepare(run);
  if (err == 0)
    err = s3l_loop_join(store->loop, &run->loop);
  if (err != 0) {
    s3l_free(run->text);
    s3l_free(run);
    return err;
  }
  req->store = store;
  req->internal = run;
  s3l_task_init(&run->end, on_end);
  s3l_deadline_init(&run->pause, on_pause);
  s3l_loop_deadline_set(run->loop, &run->pause, s3l_clock_lease_ns());
  return 0;
}

int s3lect_fenced_put(s3lect_store_t* store, s3lect_fenced_t* req) {
  return start(store, req, false);
}

int s3lect_fenced_get(s3lect_store_t* store, s3lect_fenced_t* req) {
  return start(store, req, true);
}

void s3lect_fenced_cancel(s3lect_fenced_t* req) {
  run_t* run = req->internal;
  if (run == NULL || run->ended || run->cancelled)
    return;
  run->cancelled = true;
  if (run->sent)
    s3lect_store_cancel(req->store, &run->io);
  else
    s3l_loop_deadline_set(run->loop, &run->pause, s3l_clock_lease_ns());
}
