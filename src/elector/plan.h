/* elector/plan.h: the parts of s3lect_elector_plan (s3lect/plan.h). Pure arithmetic and text. */
#ifndef S3L_ELECTOR_PLAN_H
#define S3L_ELECTOR_PLAN_H

#include <stdbool.h>

#include "s3lect/plan.h"
#include "util/buf.h"

/** Both sets of options, with their defaults. */
typedef struct s3l_plan_input_s {
  s3lect_elector_options_t elector; /* without the store and the peer client */
  s3lect_plan_options_t plan;
  bool is_express; /* the bucket is a directory bucket (S3 Express One Zone) */
} s3l_plan_input_t;

/** Fills the times of a plan. test/sim/test-plan.c compares them with simulated elections. */
void s3l_plan_times(const s3l_plan_input_t* in, s3lect_plan_t* plan);

/** Fills the requests of a plan, without their prices. */
void s3l_plan_requests(const s3l_plan_input_t* in, s3lect_plan_t* plan);

/** The connections that `electors` need, by the pool's arithmetic: N x latency / interval. */
uint32_t s3l_plan_connections(const s3l_plan_input_t* in);

/** Notes every combination of options that is unsafe or wasteful, with what to do instead. */
void s3l_plan_advise(const s3l_plan_input_t* in, s3lect_plan_t* plan);

/** Writes the smallest set of permissions, as JSON. */
void s3l_plan_policy(const s3l_plan_input_t* in, s3l_buf_t* b);

#endif
