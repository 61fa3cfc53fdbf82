/* cli/plan.h (L8): what `s3lect plan` works out before it prints. */
#ifndef S3L_CLI_PLAN_H
#define S3L_CLI_PLAN_H

#include "options.h"
#include "plan_times.h"
#include "util/buf.h"

#define CLI_PLAN_ADVICE_MAX  24
#define CLI_PLAN_POLICY_SIZE 16384

typedef enum { CLI_ADVICE_UNSAFE, CLI_ADVICE_WASTEFUL } cli_advice_kind_t;

typedef struct cli_advice_s {
  cli_advice_kind_t kind;
  char text[400]; /* what is wrong, and what to do */
} cli_advice_t;

typedef struct cli_plan_s {
  const cli_options_t* options;
  s3lect_elector_options_t o; /* with defaults; peer_client is only NULL or not */
  bool is_s3;
  bool is_express;     /* the bucket is a directory bucket (S3 Express One Zone) */
  bool authenticated;  /* peers answer over TLS */
  uint32_t latency_ms; /* of a request, at most */
  uint32_t electors;   /* in one process; 0: not given */
  cli_plan_times_t times;
  cli_plan_requests_t leader, follower;
  cli_advice_t advice[CLI_PLAN_ADVICE_MAX];
  size_t advice_len;
} cli_plan_t;

/** Connections that so many electors need, by the pool's arithmetic: N x latency / interval. */
double cli_plan_connections(const cli_plan_t* plan);

/** Notes every combination of options that is unsafe or wasteful, with what to do instead. */
void cli_plan_advise(cli_plan_t* plan);

/** Writes the smallest IAM policy for the elector, as JSON. */
void cli_plan_policy(const cli_plan_t* plan, s3l_buf_t* b);

#endif
