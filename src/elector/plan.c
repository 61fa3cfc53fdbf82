/* elector/plan.c: s3lect_elector_plan and s3lect_plan_policy: their options, and the prices. */
#include "elector/plan.h"

#include <string.h>

#include "elector/options.h"
#include "s3lect/store.h"
#include "util/error.h"
#include "util/versioned.h"

#define CONNECTIONS 64 /* the default of the stores */

#define PRICES_DATE "2026-11"

/* ---- Options ---- */

/* What the options of an elector are checked against. */
static s3lect_store_ops_t ops_of(const s3l_plan_input_t* in) {
  uint32_t slow = in->plan.store == S3LECT_PLAN_GCS ? S3LECT_STORE_SLOW_WRITES : 0;
  return (s3lect_store_ops_t){.version = S3LECT_STORE_VERSION,
                              .flags = S3LECT_STORE_OWN_CLOCK | S3LECT_STORE_IN_PROCESS | slow,
                              .list = in->is_express ? NULL : s3lect_store_list};
}

static int resolve_plan(const s3lect_plan_options_t* options, s3lect_plan_options_t* p,
                        s3lect_error_t* error) {
  int r = s3l_versioned_copy(error, "s3lect_plan_options", options, p, sizeof *p);
  if (r != 0)
    return r;
  p->latency_ms = s3l_or_default(p->latency_ms, S3LECT_PLAN_LATENCY_MS);
  p->max_connections = s3l_or_default(p->max_connections, CONNECTIONS);
  const char* wrong = (uint32_t)p->store > S3LECT_PLAN_GCS           ? "store"
                      : (uint32_t)p->peers > S3LECT_PLAN_PLAIN_PEERS ? "peers"
                                                                     : NULL;
  if (wrong == NULL)
    return 0;
  return s3l_error_say(error, S3LECT_EOPTION, wrong, NULL, "out of range");
}

/* As an elector would settle them. The store and the peer client are only asked whether they are
 * there, and what the store can. */
static int resolve(const s3lect_elector_options_t* elector, const s3lect_plan_options_t* options,
                   s3l_plan_input_t* in, s3lect_error_t* error) {
  s3lect_elector_options_t* o = &in->elector;
  s3lect_store_t store = {.data = NULL};
  s3l_error_clear(error);
  int r = resolve_plan(options, &in->plan, error);
  if (r == 0)
    r = s3l_versioned_copy(error, "s3lect_elector_options", elector, o, sizeof *o);
  if (r != 0)
    return r;
  in->is_express = in->plan.store == S3LECT_PLAN_S3 &&
                   s3l_span_ends_with(s3l_span_cstr(in->plan.bucket), S3L_SPAN("--x-s3"));
  s3lect_store_ops_t ops = ops_of(in);
  store.ops = in->plan.store != S3LECT_PLAN_OTHER ? &ops : NULL;
  o->store = &store;
  o->peer_client = in->plan.peers != S3LECT_PLAN_NO_PEERS ? (void*)&store : NULL;
  o->server_id = o->server_id != NULL ? o->server_id : "plan";
  r = s3l_elector_options_settle(o, error);
  o->store = NULL;
  o->peer_client = NULL;
  return r;
}

/* ---- Prices ---- */

/* USD for a thousand million requests, as in docs/operations.md. */
typedef struct prices_s {
  uint16_t put, list, get;
} prices_t;

#define EXPRESS 0 /* a row of its own; the others by s3lect_plan_store_t */

static const prices_t prices[] = {
    [EXPRESS] = {1130, 0, 30}, /* it lists nothing */
    [S3LECT_PLAN_S3] = {5000, 5000, 400},
    [S3LECT_PLAN_AZURE] = {5000, 5000, 400},
    [S3LECT_PLAN_GCS] = {5000, 5000, 400},
};
static const char* const sources[] = {
    [EXPRESS] = "AWS S3 Express One Zone, us-east-1, aws.amazon.com/s3/faqs",
    [S3LECT_PLAN_S3] = "AWS S3 Standard, us-east-1, aws.amazon.com/s3/pricing",
    [S3LECT_PLAN_AZURE] = "Azure Blob Storage, hot LRS, eastus, prices.azure.com",
    [S3LECT_PLAN_GCS] =
        "Google Cloud Storage Standard, one region, cloud.google.com/storage/pricing",
};

static void put_price(const prices_t* p, s3lect_plan_requests_t* r) {
  r->usd = (double)(int64_t)(r->puts * p->put + r->lists * p->list + r->gets * p->get) / 1e9;
}

static void put_prices(const s3l_plan_input_t* in, s3lect_plan_t* plan) {
  int row = in->is_express ? EXPRESS : in->plan.store;
  if (in->plan.store == S3LECT_PLAN_OTHER)
    return;
  plan->prices = sources[row];
  plan->prices_date = PRICES_DATE;
  put_price(&prices[row], &plan->leader);
  put_price(&prices[row], &plan->follower);
}

/* ---- The public functions ---- */

void s3lect_plan_options_init(s3lect_plan_options_t* options, size_t size) {
  memset(options, 0, size);
  options->size = size;
}

int s3lect_elector_plan(const s3lect_elector_options_t* elector,
                        const s3lect_plan_options_t* options, s3lect_plan_t* plan,
                        s3lect_error_t* error) {
  s3l_plan_input_t in;
  size_t size = plan->size;
  s3lect_advice_t* advice = plan->advice;
  uint32_t advice_max = plan->advice_max;
  s3l_error_clear(error);
  int r = s3l_versioned_check(error, "plan", "s3lect_plan", size, sizeof *plan);
  if (r == 0)
    r = resolve(elector, options, &in, error);
  if (r != 0)
    return r;
  memset(plan, 0, size);
  plan->size = size;
  plan->advice = advice;
  plan->advice_max = advice_max;
  s3l_plan_times(&in, plan);
  s3l_plan_requests(&in, plan);
  plan->connections = s3l_plan_connections(&in);
  s3l_plan_advise(&in, plan);
  put_prices(&in, plan);
  return 0;
}

int s3lect_plan_policy(const s3lect_elector_options_t* elector,
                       const s3lect_plan_options_t* options, char* text, size_t size,
                       s3lect_error_t* error) {
  s3l_plan_input_t in;
  s3l_buf_t b;
  int r = resolve(elector, options, &in, error);
  if (r != 0)
    return r;
  if (in.plan.store != S3LECT_PLAN_OTHER && in.plan.bucket == NULL)
    return s3l_error_say(error, S3LECT_EOPTION, "bucket", NULL, "missing; it is required");
  s3l_buf_init(&b, text, size);
  s3l_plan_policy(&in, &b);
  return s3l_buf_cstr(&b) != NULL ? 0 : s3l_error_end(error, UV_ENOBUFS);
}
