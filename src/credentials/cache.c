#include "credentials/cache.h"

#include <stdbool.h>
#include <stddef.h>

#include "s3lect/errno.h"
#include "util/buf.h"
#include "util/mem.h"
#include "util/prng.h"

#define NS_PER_MS   1000000u
#define WHY_MAX     1024
#define LOOK_MS     600000 /* the timer looks at least so often: the wall clock may have been set */
#define REFUSED_MS  10000  /* refusals make the source be asked no more often than this */
#define DOUBLES_MAX 16

typedef struct cache_s {
  s3l_creds_provider_t provider;
  uv_loop_t* loop;
  s3l_creds_source_t* source;
  s3l_creds_cache_options_t options;
  s3l_creds_fetch_t fetch;
  s3l_prng_t prng;

  s3l_creds_t* creds;  /* or NULL */
  int64_t refresh_ms;  /* Unix time from when on they are to be replaced */
  bool refused;        /* by somebody who checks them */
  uint64_t refused_ns; /* when that last counted; 0: never */
  bool eager;          /* there was a set that ends: the timer looks after the next one */

  bool fetching;
  unsigned failures;    /* in a row */
  uint64_t retry_at_ns; /* the source is left alone until then */
  int status;           /* of the last failure */
  char why[WHY_MAX];

  s3l_list_t waiting;
  uv_timer_t timer;
  bool has_timer; /* from the first question on */
  bool closing;
  bool source_closed;
  void (*close_cb)(void* arg);
  void* close_arg;
} cache_t;

const s3l_creds_cache_options_t s3l_creds_cache_defaults = {
    .ahead_ms = 300000,
    .jitter_ms = 60000,
    .retry_ms = 1000,
    .retry_max_ms = 60000,
    .retry_none_ms = 5000,
    .wall_ms = s3l_creds_wall_ms,
};

int64_t s3l_creds_wall_ms(void) {
  uv_timeval64_t now;
  if (uv_gettimeofday(&now) != 0)
    return 0; /* it fails only for a bad pointer */
  return now.tv_sec * 1000 + now.tv_usec / 1000;
}

static bool has_ended(const s3l_creds_t* creds, int64_t now) {
  return creds->expires_ms != 0 && creds->expires_ms <= now;
}

static bool is_good(const cache_t* c, int64_t now) {
  return c->creds != NULL && !c->refused && !has_ended(c->creds, now);
}

/* ---- The timer ---- */

static void on_timer(uv_timer_t* timer);

static void arm(cache_t* c, uint64_t ms) {
  if (!c->closing)
    (void)uv_timer_start(&c->timer, on_timer, ms, 0);
}

static uint64_t pause_left_ms(const cache_t* c) {
  uint64_t now = uv_hrtime();
  return c->retry_at_ns > now ? (c->retry_at_ns - now + NS_PER_MS - 1) / NS_PER_MS : 0;
}

static void rearm(cache_t* c) {
  if (c->closing || c->fetching)
    return; /* its end arms */
  if (!s3l_list_empty(&c->waiting)) {
    arm(c, 0);
    return;
  }
  if (!c->eager)
    return;
  int64_t now = c->options.wall_ms();
  uint64_t ms = pause_left_ms(c);
  if (c->creds != NULL && c->refresh_ms > now && (uint64_t)(c->refresh_ms - now) > ms)
    ms = (uint64_t)(c->refresh_ms - now);
  arm(c, ms < LOOK_MS ? ms : LOOK_MS);
}

static void need_timer(cache_t* c) {
  if (c->has_timer)
    return;
  (void)uv_timer_init(c->loop, &c->timer); /* cannot fail */
  uv_unref((uv_handle_t*)&c->timer);
  c->has_timer = true;
}

/* ---- Asking the source ---- */

/* False while the source is left alone. */
static bool refresh(cache_t* c) {
  if (c->fetching)
    return true;
  if (c->closing || pause_left_ms(c) > 0)
    return false;
  need_timer(c);
  (void)uv_timer_stop(&c->timer);
  c->fetching = true;
  c->source->ops->fetch(c->source, &c->fetch);
  return true;
}

static void answer(cache_t* c, int status) {
  s3l_list_t now;
  s3l_list_init(&now);
  while (!s3l_list_empty(&c->waiting)) {
    s3l_list_t* l = c->waiting.next;
    s3l_list_remove(l);
    s3l_list_push_back(&now, l);
  }
  while (!s3l_list_empty(&now)) {
    s3l_creds_wait_t* wait = S3L_CONTAINER_OF(now.next, s3l_creds_wait_t, link);
    s3l_list_remove(&wait->link);
    wait->cb(wait, status);
  }
}

static void install(cache_t* c, s3l_creds_t* creds, int64_t now) {
  s3l_creds_free(c->creds);
  c->creds = creds;
  c->refused = false;
  c->failures = 0;
  c->status = 0;
  c->refresh_ms = INT64_MAX;
  if (creds->expires_ms == 0)
    return;
  int64_t life = creds->expires_ms - now;
  int64_t ahead = c->options.ahead_ms;
  if (ahead > life / 4)
    ahead = life / 4;
  int64_t jitter = c->options.jitter_ms;
  if (jitter > life / 4)
    jitter = life / 4;
  c->refresh_ms =
      creds->expires_ms - ahead - (int64_t)s3l_prng_below(&c->prng, (uint64_t)jitter + 1);
  c->eager = true;
}

/* How long the source is left alone after a failure; up to a quarter less, so that many processes
 * do not come together. */
static uint64_t pause_ms(cache_t* c, bool served) {
  uint64_t most = served ? c->options.retry_max_ms : c->options.retry_none_ms;
  uint64_t ms = (uint64_t)c->options.retry_ms
                << (c->failures < DOUBLES_MAX ? c->failures : DOUBLES_MAX);
  ms = ms < most ? ms : most;
  return ms - s3l_prng_below(&c->prng, ms / 4 + 1);
}

static void note_failure(cache_t* c, int status, const char* why, int64_t now) {
  s3l_buf_t b;
  s3l_buf_init(&b, c->why, sizeof(c->why));
  s3l_span_t text = s3l_span_cstr(why != NULL ? why : "no reason was given");
  if (text.n >= sizeof(c->why))
    text.n = sizeof(c->why) - 1;
  s3l_buf_put(&b, text);
  (void)s3l_buf_cstr(&b);
  c->status = status;
  if (c->creds != NULL && has_ended(c->creds, now)) {
    s3l_creds_free(c->creds);
    c->creds = NULL;
  }
  c->refused = false; /* better than none, until its end */
  c->refresh_ms = now;
  c->retry_at_ns = uv_hrtime() + pause_ms(c, c->creds != NULL) * NS_PER_MS;
  c->failures++;
}

static void on_fetched(s3l_creds_fetch_t* fetch, int status, s3l_creds_t* creds, const char* why) {
  cache_t* c = S3L_CONTAINER_OF(fetch, cache_t, fetch);
  int64_t now = c->options.wall_ms();
  c->fetching = false;
  if (status == 0 && has_ended(creds, now)) {
    s3l_creds_free(creds);
    status = S3LECT_ECREDENTIALS;
    why = "the credentials that came have expired already";
  }
  if (status == 0)
    install(c, creds, now);
  else
    note_failure(c, status, why, now);
  answer(c, is_good(c, now) ? 0 : c->status);
  rearm(c);
}

static void on_timer(uv_timer_t* timer) {
  cache_t* c = S3L_CONTAINER_OF(timer, cache_t, timer);
  int64_t now = c->options.wall_ms();
  if (!s3l_list_empty(&c->waiting)) /* they came while the source was left alone */
    answer(c, is_good(c, now) ? 0 : c->status);
  if (c->eager && (c->creds == NULL || now >= c->refresh_ms))
    (void)refresh(c);
  rearm(c);
}

/* ---- The provider ---- */

static const s3l_creds_t* cache_get(s3l_creds_provider_t* provider, s3l_creds_wait_t* wait) {
  cache_t* c = S3L_CONTAINER_OF(provider, cache_t, provider);
  int64_t now = c->options.wall_ms();
  if (is_good(c, now)) {
    if (now >= c->refresh_ms)
      (void)refresh(c);
    return c->creds;
  }
  if (wait == NULL)
    return NULL;
  need_timer(c);
  s3l_list_push_back(&c->waiting, &wait->link);
  if (!refresh(c))
    arm(c, 0);
  return NULL;
}

static const char* cache_why(const s3l_creds_provider_t* provider) {
  const cache_t* c = (const cache_t*)(const void*)provider;
  return c->status != 0 && !is_good(c, c->options.wall_ms()) ? c->why : "";
}

static void cache_refused(s3l_creds_provider_t* provider) {
  cache_t* c = S3L_CONTAINER_OF(provider, cache_t, provider);
  uint64_t now = uv_hrtime();
  if (c->creds == NULL || c->refused ||
      (c->refused_ns != 0 && now - c->refused_ns < (uint64_t)REFUSED_MS * NS_PER_MS))
    return;
  c->refused = true;
  c->refused_ns = now;
}

static void end_if_closed(cache_t* c) {
  if (!c->source_closed || c->has_timer)
    return;
  void (*cb)(void*) = c->close_cb;
  void* arg = c->close_arg;
  answer(c, UV_ECANCELED);
  s3l_creds_free(c->creds);
  s3l_free(c);
  if (cb != NULL)
    cb(arg);
}

static void on_timer_closed(uv_handle_t* handle) {
  cache_t* c = S3L_CONTAINER_OF(handle, cache_t, timer);
  c->has_timer = false;
  end_if_closed(c);
}

static void on_source_closed(void* arg) {
  cache_t* c = arg;
  c->source_closed = true;
  end_if_closed(c);
}

static void cache_close(s3l_creds_provider_t* provider, void (*cb)(void* arg), void* arg) {
  cache_t* c = S3L_CONTAINER_OF(provider, cache_t, provider);
  c->closing = true;
  c->close_cb = cb;
  c->close_arg = arg;
  if (c->has_timer)
    uv_close((uv_handle_t*)&c->timer, on_timer_closed);
  c->source->ops->close(c->source, on_source_closed, c);
}

static const s3l_creds_ops_t cache_ops = {
    .get = cache_get, .why = cache_why, .refused = cache_refused, .close = cache_close};

int s3l_creds_cache(uv_loop_t* loop, s3l_creds_source_t* source,
                    const s3l_creds_cache_options_t* options, s3l_creds_provider_t** out) {
  cache_t* c = s3l_calloc(1, sizeof(*c));
  if (c == NULL) {
    source->ops->close(source, NULL, NULL);
    return UV_ENOMEM;
  }
  c->provider.ops = &cache_ops;
  c->loop = loop;
  c->source = source;
  c->options = *options;
  c->fetch.done = on_fetched;
  s3l_list_init(&c->waiting);
  s3l_prng_seed(&c->prng, uv_hrtime() ^ (uint64_t)(uintptr_t)c);
  *out = &c->provider;
  return 0;
}
