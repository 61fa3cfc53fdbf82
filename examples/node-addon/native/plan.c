/* plan(elector, options): s3lect_elector_plan and s3lect_plan_policy, which lib/plan.js wraps. */
#include <string.h>

#include "addon.h"

#define OPTION(kind, name, member)                                                                 \
  { name, kind, offsetof(s3lect_plan_options_t, member) }

static const field_t fields[] = {
    OPTION(FIELD_INT32, "store", store),
    OPTION(FIELD_INT32, "peers", peers),
    OPTION(FIELD_TEXT, "bucket", bucket),
    OPTION(FIELD_BOOL, "customEndpoint", custom_endpoint),
    OPTION(FIELD_UINT32, "latencyMs", latency_ms),
    OPTION(FIELD_UINT32, "electors", electors),
    OPTION(FIELD_UINT32, "maxConnections", max_connections),
    OPTION(FIELD_TEXT, "serverSideEncryption", server_side_encryption),
    OPTION(FIELD_TEXT, "sseKmsKeyId", sse_kms_key_id),
};

static napi_value new_object(napi_env env) {
  napi_value out;
  return napi_create_object(env, &out) == napi_ok ? out : value_undefined(env);
}

static napi_value time_of(napi_env env, const s3lect_plan_time_t* time) {
  napi_value out = new_object(env);
  value_put(env, out, "worstMs", value_number(env, (double)time->worst_ms));
  value_put(env, out, "meanMs", value_number(env, (double)time->mean_ms));
  return out;
}

static napi_value requests_of(napi_env env, const s3lect_plan_t* plan,
                              const s3lect_plan_requests_t* requests) {
  napi_value out = new_object(env);
  value_put(env, out, "puts", value_number(env, (double)requests->puts));
  value_put(env, out, "lists", value_number(env, (double)requests->lists));
  value_put(env, out, "gets", value_number(env, (double)requests->gets));
  if (plan->prices != NULL)
    value_put(env, out, "usd", value_number(env, requests->usd));
  return out;
}

/* `option` as the library spells it. */
static napi_value advice_of(napi_env env, const s3lect_plan_t* plan) {
  napi_value out;
  if (napi_create_array_with_length(env, plan->advice_len, &out) != napi_ok)
    return value_undefined(env);
  for (uint32_t i = 0; i < plan->advice_len; i++) {
    const s3lect_advice_t* advice = &plan->advice[i];
    napi_value one = new_object(env);
    value_put(env, one, "kind", value_text(env, advice->is_unsafe ? "unsafe" : "wasteful"));
    value_put(env, one, "option", value_text(env, advice->option));
    value_put(env, one, "message", value_text(env, advice->text));
    (void)napi_set_element(env, out, i, one);
  }
  return out;
}

static napi_value plan_of(napi_env env, const s3lect_plan_t* plan, const char* policy) {
  napi_value out = new_object(env);
  value_put(env, out, "crash", time_of(env, &plan->crash));
  value_put(env, out, "lostMachine", time_of(env, &plan->lost_machine));
  value_put(env, out, "handOver", time_of(env, &plan->hand_over));
  value_put(env, out, "firstStart", time_of(env, &plan->first_start));
  value_put(env, out, "leader", requests_of(env, plan, &plan->leader));
  value_put(env, out, "follower", requests_of(env, plan, &plan->follower));
  value_put(env, out, "connections", value_number(env, plan->connections));
  value_put(env, out, "prices", value_text(env, plan->prices));
  value_put(env, out, "pricesDate", value_text(env, plan->prices_date));
  value_put(env, out, "policy", value_text(env, policy[0] != '\0' ? policy : NULL));
  value_put(env, out, "advice", advice_of(env, plan));
  return out;
}

napi_value plan_make(napi_env env, napi_callback_info info) {
  napi_value argv[2], out = NULL;
  size_t argc = 2;
  texts_t texts = {0};
  s3lect_error_t error = {0};
  s3lect_elector_options_t elector;
  s3lect_plan_options_t options;
  s3lect_advice_t advice[S3LECT_ADVICE_MAX];
  s3lect_plan_t plan = {.size = sizeof plan, .advice = advice, .advice_max = S3LECT_ADVICE_MAX};
  char* policy = memory_zeroed(S3LECT_POLICY_SIZE);
  if (policy == NULL)
    return error_throw(env, UV_ENOMEM, NULL);
  s3lect_elector_options_init(&elector, sizeof elector);
  s3lect_plan_options_init(&options, sizeof options);
  if (napi_get_cb_info(env, info, &argc, argv, NULL, NULL) != napi_ok)
    error_throw_last(env);
  else if (elector_fields_read(env, argv[0], &elector, &texts) &&
           fields_read(env, argv[1], fields, sizeof fields / sizeof *fields, &options, &texts)) {
    int r = s3lect_elector_plan(&elector, &options, &plan, &error);
    if (r == 0)
      r = s3lect_plan_policy(&elector, &options, policy, S3LECT_POLICY_SIZE, &error);
    if (r == 0)
      out = plan_of(env, &plan, policy);
    else
      error_throw_option(env, &error);
  }
  texts_free(&texts);
  memory_free(policy);
  return out;
}
