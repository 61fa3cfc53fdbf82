#include "credentials/cache.h"

#include <stdio.h>
#include <string.h>

#include "util/backoff.h"
#include "util/mem.h"
#include "util/mutant.h"
#include "util/prng.h"

#define WHY_MAX     1024
#define LIFE_MAX_MS INT64_C(3155760000000) /* credentials that last for a century do not end */
#define REFUSED_MS  10000 /* refusals make the provider be asked no more often than this */

struct s3l_creds_cache_s {
  uv_loop_t* uv;
  s3l_loop_t* loop;                        /* NULL before the first wait */
  s3lect_credentials_provider_t* provider; /* NULL: the credentials are fixed */
  bool owned;
  s3lect_credentials_t* creds; /* or NULL */
  /* In lease time, so that a step of the wall clock ends nothing that is good. */
  int64_t ends_ms;
  int64_t refresh_ms; /* they are to be replaced from then on */
  bool refused;       /* by the store */
  int64_t refused_ns; /* when that last counted; 0: never */
  bool eager;         /* there were credentials that end: `look` replaces them in time */

  bool asking; /* the provider owes an answer */
  bool inside; /* of its get or cancel */
  bool early;  /* it answered inside; `look` goes on with this answer: */
  int early_status;
  s3lect_credentials_t* early_creds;

  uint32_t failures;   /* in a row */
  int64_t retry_at_ns; /* the provider is not asked before */
  int status;          /* of the last failure */

  s3l_list_t waiting;
  bool closing;
  void (*close_cb)(void* arg);
  void* close_arg;
  s3l_task_t task; /* closes, later frees */
  s3l_deadline_t look;
  s3lect_credentials_req_t req;
  s3l_creds_cache_options_t options;
  s3l_prng_t prng;
  char why[WHY_MAX];
};

static int64_t lease_ms(void) {
  return s3l_clock_lease_ns() / 1000000;
}

const s3l_creds_cache_options_t s3l_creds_cache_defaults = {
    .ahead_ms = 300000,
    .jitter_ms = 60000,
    .retry_ms = 1000,
    .retry_max_ms = 60000,
    .retry_none_ms = 5000,
    .wall_ms = s3l_clock_wall_ms,
    .lease_ms = lease_ms,
};

static bool is_good_at(const s3l_creds_cache_t* c, int64_t now) {
  return c->creds != NULL && !c->refused && now < c->ends_ms;
}

static bool is_good(const s3l_creds_cache_t* c) {
  return is_good_at(c, c->options.lease_ms());
}

/* ---- Waits ---- */

static void end_wait(s3l_creds_wait_t* wait, int status, const char* why) {
  const s3l_creds_user_t* user = wait->user;
  s3l_loop_deadline_clear(user->cache->loop, &wait->deadline);
  s3l_list_remove(&wait->link);
  wait->user = NULL;
  user->waited(wait, status, why);
}

static void on_wait_deadline(s3l_deadline_t* deadline) {
  s3l_creds_wait_t* wait = S3L_CONTAINER_OF(deadline, s3l_creds_wait_t, deadline);
  char text[64];
  (void)snprintf(text, sizeof text, "no credentials within %u ms", (unsigned)wait->timeout_ms);
  if (wait->cancelled)
    end_wait(wait, UV_ECANCELED, NULL);
  else
    end_wait(wait, UV_ETIMEDOUT, text);
}

/* Ends those that wait now. A callback may have the credentials refused: then the rest waits on. */
static void answer_all(s3l_creds_cache_t* c) {
  char why[WHY_MAX]; /* the provider may be asked in a callback, and answer in its get */
  s3l_list_t now;
  memcpy(why, c->why, sizeof why);
  s3l_list_move(&c->waiting, &now);
  if (S3L_MUTANT(WAITER_FORGOTTEN) && now.next != now.prev) {
    s3l_creds_wait_t* last = S3L_CONTAINER_OF(now.prev, s3l_creds_wait_t, link);
    s3l_loop_deadline_clear(c->loop, &last->deadline);
    s3l_list_remove(&last->link);
  }
  while (!s3l_list_empty(&now)) {
    s3l_creds_wait_t* wait = S3L_CONTAINER_OF(now.next, s3l_creds_wait_t, link);
    if (wait->cancelled) {
      end_wait(wait, UV_ECANCELED, NULL);
    } else if (is_good(c)) {
      end_wait(wait, 0, NULL);
    } else if (c->status != 0) {
      end_wait(wait, c->status, why);
    } else {
      s3l_list_remove(&wait->link);
      s3l_list_push_back(&c->waiting, &wait->link);
    }
  }
}

/* ---- Asking the provider ---- */

static void look_in(s3l_creds_cache_t* c, uint64_t ms) {
  s3l_loop_deadline_ref(c->loop, &c->look, !s3l_list_empty(&c->waiting) || c->early);
  s3l_loop_deadline_set(c->loop, &c->look, s3l_clock_in_ms(ms));
}

static uint64_t pause_left_ms(const s3l_creds_cache_t* c) {
  int64_t left_ns = c->retry_at_ns - s3l_clock_lease_ns();
  return left_ns > 0 ? ((uint64_t)left_ns + 999999) / 1000000 : 0;
}

static void arm(s3l_creds_cache_t* c) {
  if (c->closing || (c->asking && !c->early))
    return; /* the answer arms */
  if (!s3l_list_empty(&c->waiting) || c->early) {
    look_in(c, 0);
    return;
  }
  if (!c->eager)
    return;
  int64_t now = c->options.lease_ms();
  uint64_t ms = pause_left_ms(c);
  if (c->creds != NULL && c->refresh_ms > now && (uint64_t)(c->refresh_ms - now) > ms)
    ms = (uint64_t)(c->refresh_ms - now);
  look_in(c, ms < LIFE_MAX_MS ? ms : LIFE_MAX_MS);
}

/* When credentials that come now end: what remains of their life by the wall clock of now. */
static int64_t end_of(const s3l_creds_cache_t* c, const s3lect_credentials_t* creds) {
  int64_t expires_ms = creds->expires_ms < 0 ? 1 : creds->expires_ms; /* long ago */
  int64_t left_ms = expires_ms - c->options.wall_ms();
  return expires_ms == 0 || left_ms > LIFE_MAX_MS ? INT64_MAX : c->options.lease_ms() + left_ms;
}

static void install(s3l_creds_cache_t* c, s3lect_credentials_t* creds, int64_t now) {
  s3l_creds_free(c->creds);
  c->creds = creds;
  c->ends_ms = end_of(c, creds);
  c->refused = false;
  c->failures = 0;
  c->status = 0;
  c->refresh_ms = INT64_MAX;
  if (c->ends_ms == INT64_MAX)
    return;
  int64_t quarter = (c->ends_ms - now) / 4;
  int64_t ahead = c->options.ahead_ms < quarter ? c->options.ahead_ms : quarter;
  int64_t jitter = c->options.jitter_ms < quarter ? c->options.jitter_ms : quarter;
  c->refresh_ms = c->ends_ms - ahead - (int64_t)s3l_prng_below(&c->prng, (uint64_t)jitter + 1);
  c->eager = true;
}

static void keep_why(s3l_creds_cache_t* c, const char* why) {
  (void)snprintf(c->why, sizeof c->why, "%s", why);
}

static void note_failure(s3l_creds_cache_t* c, int status, int64_t now) {
  c->status = status == UV_ENOMEM ? status : S3LECT_ECREDENTIALS;
  if (c->creds != NULL && now >= c->ends_ms) {
    s3l_creds_free(c->creds);
    c->creds = NULL;
  }
  c->refused = false; /* better than none, until their end */
  c->refresh_ms = now;
  uint32_t most = c->creds != NULL ? c->options.retry_max_ms : c->options.retry_none_ms;
  c->retry_at_ns =
      s3l_clock_in_ms(s3l_backoff_ms(c->options.retry_ms, most, ++c->failures, &c->prng));
}

static void end_if_closed(s3l_creds_cache_t* c);

/* The end of a question. Of a failure, c->why says the reason. */
static void settle(s3l_creds_cache_t* c, int status, s3lect_credentials_t* creds) {
  int64_t now = c->options.lease_ms();
  c->asking = false;
  if (c->closing) {
    s3l_creds_free(creds);
    if (!s3l_task_is_pending(&c->task)) /* else on_closing is still to come, and ends the cache */
      end_if_closed(c);
    return;
  }
  if (status == 0 && now >= end_of(c, creds)) {
    s3l_creds_free(creds);
    status = S3LECT_ECREDENTIALS;
    keep_why(c, "the credentials that came have expired already");
  }
  if (status == 0)
    install(c, creds, now);
  else
    note_failure(c, status, now);
  answer_all(c);
  arm(c);
}

/* What the provider said in its get or cancel, or that it refused to be asked. */
static void keep_early(s3l_creds_cache_t* c, int status, s3lect_credentials_t* creds) {
  s3l_creds_free(c->early_creds);
  c->early = true;
  c->early_status = status;
  c->early_creds = creds;
}

static void settle_early(s3l_creds_cache_t* c) {
  s3lect_credentials_t* creds = c->early_creds;
  c->early = false;
  c->early_creds = NULL;
  settle(c, c->early_status, creds);
}

/* A provider that was compiled against an older header may give a smaller struct. */
static int copy(const s3lect_credentials_t* from, s3lect_credentials_t** out,
                s3lect_error_t* error) {
  s3lect_credentials_t known = {0};
  if (from != NULL)
    memcpy(&known, from, from->size < sizeof known ? from->size : sizeof known);
  return s3l_creds_new(s3l_span_cstr(known.access_key_id), s3l_span_cstr(known.secret_access_key),
                       s3l_span_cstr(known.session_token), known.expires_ms, out, error);
}

static void on_answer(s3lect_credentials_req_t* req, int status,
                      const s3lect_credentials_t* credentials, const char* message) {
  s3l_creds_cache_t* c = req->data;
  s3lect_credentials_t* creds = NULL;
  s3lect_error_t error = {0};
  if (!c->asking || c->early)
    return; /* a second answer */
  if (status != 0)
    keep_why(c, message != NULL ? message : s3lect_strerror(status));
  else if ((status = copy(credentials, &creds, &error)) != 0)
    keep_why(c, error.text);
  if (c->inside)
    keep_early(c, status, creds);
  else
    settle(c, status, creds);
}

/* False if the provider is not to be asked now. */
static bool ask(s3l_creds_cache_t* c) {
  if (c->asking)
    return true;
  if (c->provider == NULL || c->closing || pause_left_ms(c) > 0)
    return false;
  c->req = (s3lect_credentials_req_t){.data = c, .cb = on_answer, .provider = c->provider};
  c->asking = true;
  c->inside = true;
  int err = c->provider->ops->get(c->provider, &c->req);
  c->inside = false;
  if (err != 0) {
    keep_why(c, s3lect_strerror(err));
    keep_early(c, err, NULL);
  }
  arm(c);
  return true;
}

static void on_look(s3l_deadline_t* deadline) {
  s3l_creds_cache_t* c = S3L_CONTAINER_OF(deadline, s3l_creds_cache_t, look);
  if (c->early) {
    settle_early(c);
    return;
  }
  if (!c->asking || is_good(c))
    answer_all(c);
  if (!s3l_list_empty(&c->waiting) ||
      (c->eager && (c->creds == NULL || c->options.lease_ms() >= c->refresh_ms)))
    (void)ask(c);
  arm(c);
}

/* ---- What the owner calls ---- */

const s3lect_credentials_t* s3l_creds_cache_get(s3l_creds_cache_t* c) {
  int64_t now = c->options.lease_ms();
  if (!is_good_at(c, now))
    return NULL;
  if (c->loop != NULL && now >= c->refresh_ms)
    (void)ask(c);
  return c->creds;
}

int s3l_creds_wait(s3l_creds_user_t* user, s3l_creds_wait_t* wait, int64_t until_ns) {
  s3l_creds_cache_t* c = user->cache;
  if (c->closing)
    return UV_ECANCELED;
  if (c->loop == NULL && s3l_loop_join(c->uv, &c->loop) != 0)
    return UV_ENOMEM;
  wait->user = user;
  wait->timeout_ms = (uint32_t)((until_ns - s3l_clock_lease_ns() + 999999) / 1000000);
  wait->cancelled = false;
  s3l_list_push_back(&c->waiting, &wait->link);
  s3l_deadline_init(&wait->deadline, on_wait_deadline);
  s3l_loop_deadline_set(c->loop, &wait->deadline, until_ns);
  if (is_good(c) || !ask(c))
    look_in(c, 0);
  return 0;
}

void s3l_creds_wait_cancel(s3l_creds_wait_t* wait) {
  if (wait->user == NULL || wait->cancelled)
    return;
  wait->cancelled = true;
  if (!wait->user->cache->closing)
    s3l_loop_deadline_set(wait->user->cache->loop, &wait->deadline, 0);
}

void s3l_creds_wait_cancel_all(s3l_creds_user_t* user) {
  s3l_creds_cache_t* c = user->cache;
  s3l_list_t now;
  s3l_list_move(&c->waiting, &now);
  while (!s3l_list_empty(&now)) {
    s3l_creds_wait_t* wait = S3L_CONTAINER_OF(now.next, s3l_creds_wait_t, link);
    if (wait->user == user) {
      end_wait(wait, UV_ECANCELED, NULL);
    } else {
      s3l_list_remove(&wait->link);
      s3l_list_push_back(&c->waiting, &wait->link);
    }
  }
}

const char* s3l_creds_cache_why(const s3l_creds_cache_t* c) {
  return c->status != 0 && !is_good(c) ? c->why : "";
}

void s3l_creds_cache_refused(s3l_creds_cache_t* c) {
  int64_t now = s3l_clock_lease_ns();
  if (c->provider == NULL || c->creds == NULL || c->refused ||
      (c->refused_ns != 0 && now - c->refused_ns < (int64_t)REFUSED_MS * 1000000))
    return;
  c->refused = true;
  c->refused_ns = now;
}

/* ---- Opening and closing ---- */

static s3l_creds_cache_t* create(uv_loop_t* uv, const s3l_creds_cache_options_t* options) {
  s3l_creds_cache_t* c = s3l_calloc(1, sizeof *c);
  if (c == NULL)
    return NULL;
  c->uv = uv;
  c->options = *options;
  s3l_list_init(&c->waiting);
  s3l_deadline_init(&c->look, on_look);
  s3l_loop_seed(&c->prng);
  return c;
}

int s3l_creds_cache_open(s3lect_credentials_provider_t* provider, bool owned,
                         const s3l_creds_cache_options_t* options, s3l_creds_cache_t** out) {
  s3l_creds_cache_t* c = create(provider->loop, options);
  if (c == NULL) {
    if (owned)
      provider->ops->close(provider, NULL);
    return UV_ENOMEM;
  }
  c->provider = provider;
  c->owned = owned;
  if (owned)
    provider->data = c;
  *out = c;
  return 0;
}

int s3l_creds_cache_fixed(uv_loop_t* loop, const char* access_key, const char* secret,
                          const char* token, s3l_creds_cache_t** out, s3lect_error_t* error) {
  s3lect_credentials_t* creds;
  int err = s3l_creds_new(s3l_span_cstr(access_key), s3l_span_cstr(secret), s3l_span_cstr(token), 0,
                          &creds, error);
  if (err != 0)
    return err;
  *out = create(loop, &s3l_creds_cache_defaults);
  if (*out == NULL) {
    s3l_creds_free(creds);
    return UV_ENOMEM;
  }
  install(*out, creds, 0);
  return 0;
}

static void on_left(s3l_task_t* task) {
  s3l_creds_cache_t* c = S3L_CONTAINER_OF(task, s3l_creds_cache_t, task);
  void (*cb)(void*) = c->close_cb;
  void* arg = c->close_arg;
  s3l_creds_free(c->creds);
  s3l_free(c);
  if (cb != NULL)
    cb(arg);
}

static void leave(s3l_creds_cache_t* c) {
  s3l_task_init(&c->task, on_left);
  if (c->loop != NULL)
    s3l_loop_leave(c->loop, &c->task);
  else
    on_left(&c->task);
}

static void on_provider_closed(s3lect_credentials_provider_t* provider) {
  leave(provider->data);
}

static void end_if_closed(s3l_creds_cache_t* c) {
  if (c->asking)
    return;
  if (!c->owned) {
    leave(c);
    return;
  }
  c->provider->ops->close(c->provider, on_provider_closed);
}

static void on_closing(s3l_task_t* task) {
  s3l_creds_cache_t* c = S3L_CONTAINER_OF(task, s3l_creds_cache_t, task);
  while (!s3l_list_empty(&c->waiting))
    end_wait(S3L_CONTAINER_OF(c->waiting.next, s3l_creds_wait_t, link), UV_ECANCELED, NULL);
  if (c->asking && !c->early) {
    c->inside = true;
    c->provider->ops->cancel(c->provider, &c->req);
    c->inside = false;
  }
  if (c->early)
    settle_early(c);
  else
    end_if_closed(c);
}

void s3l_creds_cache_close(s3l_creds_cache_t* c, void (*cb)(void* arg), void* arg) {
  c->closing = true;
  c->close_cb = cb;
  c->close_arg = arg;
  if (c->loop == NULL) {
    end_if_closed(c);
    return;
  }
  s3l_loop_deadline_clear(c->loop, &c->look);
  s3l_task_init(&c->task, on_closing);
  s3l_loop_defer(c->loop, &c->task);
}
