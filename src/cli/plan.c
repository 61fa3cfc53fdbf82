/* cli/plan.c: `s3lect plan` prints what an election with given options does and costs
 * (s3lect/plan.h). It reaches no store. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options_table.h"
#include "peer.h"
#include "terminal.h"
#include "text.h"

#define LINE_SIZE 512

typedef struct plan_s {
  const cli_options_t* options;
  s3lect_plan_options_t given;
  s3lect_plan_t plan;
  s3lect_advice_t advice[S3LECT_ADVICE_MAX];
  char policy[S3LECT_POLICY_SIZE];
} plan_t;

/* An advice with the command's name of the option. */
static const char* advice_text(const s3lect_advice_t* advice, char line[LINE_SIZE]) {
  char buf[CLI_OPTION_SIZE];
  const char* name = cli_option_of(advice->option, false, buf);
  cli_format(line, LINE_SIZE, "%s%s", name != NULL ? name : advice->option,
             advice->text + strlen(advice->option));
  return line;
}

/* ---- JSON ---- */

static void put_time(const char* name, const s3lect_plan_time_t* time, const char* before) {
  printf("%s\"%s_worst_ms\":%" PRIu64 ",\"%s_mean_ms\":%" PRIu64, before, name, time->worst_ms,
         name, time->mean_ms);
}

static void put_requests(const s3lect_plan_t* plan, const char* name,
                         const s3lect_plan_requests_t* r) {
  printf(",\"%s_puts\":%" PRIu64 ",\"%s_lists\":%" PRIu64 ",\"%s_gets\":%" PRIu64, name, r->puts,
         name, r->lists, name, r->gets);
  if (plan->prices != NULL)
    printf(",\"%s_usd\":%.2f", name, r->usd);
}

static void print_json(plan_t* p) {
  const s3lect_plan_t* plan = &p->plan;
  char line[LINE_SIZE], text[6 * LINE_SIZE];
  put_time("crash", &plan->crash, "{");
  put_time("lost_machine", &plan->lost_machine, ",");
  put_time("hand_over", &plan->hand_over, ",");
  put_time("first_start", &plan->first_start, ",");
  put_requests(plan, "leader", &plan->leader);
  put_requests(plan, "follower", &plan->follower);
  if (p->options->electors > 0)
    printf(",\"connections\":%" PRIu32, plan->connections);
  if (plan->prices != NULL)
    printf(",\"prices\":\"%s\",\"prices_of\":\"%s\"", plan->prices, plan->prices_date);
  if (p->policy[0] != '\0') {
    for (char* c = p->policy; *c != '\0'; c++) /* one line: strings hold no newline */
      *c = *c == '\n' ? ' ' : *c;
    printf(",\"policy\":%s", p->policy);
  }
  printf(",\"advice\":[");
  for (size_t i = 0; i < plan->advice_len; i++) {
    s3l_buf_t b;
    s3l_buf_init(&b, text, sizeof text);
    s3l_json_put_string(&b, s3l_span_cstr(advice_text(&p->advice[i], line)));
    printf("%s{\"kind\":\"%s\",\"text\":%s}", i > 0 ? "," : "",
           p->advice[i].is_unsafe ? "unsafe" : "wasteful", s3l_buf_cstr(&b));
  }
  printf("]}\n");
}

/* ---- Text ---- */

static void print_time(const char* what, const s3lect_plan_time_t* time) {
  char worst[CLI_SPAN_SIZE], mean[CLI_SPAN_SIZE];
  cli_span((int64_t)time->worst_ms, worst);
  cli_span((int64_t)time->mean_ms, mean);
  printf("  %-26s at most %-12s mean %s\n", what, worst, mean);
}

static void print_requests(const s3lect_plan_t* plan, const char* who,
                           const s3lect_plan_requests_t* r) {
  printf("  %-26s %" PRIu64 " PUT, %" PRIu64 " LIST, %" PRIu64 " GET", who, r->puts, r->lists,
         r->gets);
  if (plan->prices != NULL)
    printf(": at most $%.2f", r->usd);
  printf("\n");
}

static void print_policy(const plan_t* p) {
  static const char* const titles[] = {
      [S3LECT_PLAN_S3] = "IAM policy of an elector",
      [S3LECT_PLAN_AZURE] = "Azure role of an elector, to be assigned at the container",
      [S3LECT_PLAN_GCS] = "Google role of an elector, to be granted on the bucket"};
  if (p->policy[0] != '\0')
    printf("\n%s:\n%s", titles[p->given.store], p->policy);
}

static void print_text(const plan_t* p) {
  const s3lect_plan_t* plan = &p->plan;
  const cli_terminal_t* terminal = cli_terminal(p->options);
  char line[LINE_SIZE], latency[CLI_SPAN_SIZE];
  cli_span(p->given.latency_ms, latency);
  printf("Time without a leader, if requests take at most %s:\n", latency);
  print_time("crash of the process", &plan->crash);
  print_time("loss of its machine", &plan->lost_machine);
  print_time("hand-over", &plan->hand_over);
  print_time("first start", &plan->first_start);
  printf("\nRequests in 30 days:\n");
  print_requests(plan, "leader", &plan->leader);
  print_requests(plan, "each follower", &plan->follower);
  if (plan->prices != NULL)
    printf("  (prices: %s, %s)\n", plan->prices, plan->prices_date);
  if (p->options->electors > 0)
    printf("\n%u electors, requests of %s: %" PRIu32 " connections\n", p->options->electors,
           latency, plan->connections);
  print_policy(p);
  printf(plan->advice_len > 0 ? "\n" : "");
  for (size_t i = 0; i < plan->advice_len; i++) {
    bool unsafe = p->advice[i].is_unsafe != 0;
    printf("%s%s%s: %s\n", cli_style(terminal, unsafe ? CLI_BAD : CLI_WARN),
           unsafe ? "unsafe" : "wasteful", cli_style(terminal, CLI_PLAIN),
           advice_text(&p->advice[i], line));
  }
}

/* ---- The command ---- */

static bool is_set(const char* variable) {
  const char* value = getenv(variable);
  return value != NULL && value[0] != '\0';
}

static s3lect_plan_options_t plan_options(const cli_options_t* options) {
  s3lect_plan_options_t given;
  static const int32_t stores[] = {[CLI_STORE_S3] = S3LECT_PLAN_S3,
                                   [CLI_STORE_FILE] = S3LECT_PLAN_OTHER,
                                   [CLI_STORE_AZURE] = S3LECT_PLAN_AZURE,
                                   [CLI_STORE_GOOGLE] = S3LECT_PLAN_GCS};
  bool peers = cli_peer_asks(options);
  s3lect_plan_options_init(&given, sizeof given);
  given.store = stores[options->kind];
  given.peers = !peers                       ? S3LECT_PLAN_NO_PEERS
                : options->client.plain_http ? S3LECT_PLAN_PLAIN_PEERS
                                             : S3LECT_PLAN_PEERS;
  given.bucket = options->bucket;
  given.custom_endpoint =
      options->s3.endpoint != NULL || is_set("AWS_ENDPOINT_URL_S3") || is_set("AWS_ENDPOINT_URL");
  given.latency_ms = options->latency_ms != 0 ? options->latency_ms : S3LECT_PLAN_LATENCY_MS;
  given.electors = options->electors;
  given.server_side_encryption = options->s3.server_side_encryption;
  given.sse_kms_key_id = options->s3.sse_kms_key_id;
  return given;
}

int cli_plan(const cli_options_t* options) {
  static plan_t p;
  s3lect_error_t error;
  p = (plan_t){.options = options, .given = plan_options(options)};
  p.plan =
      (s3lect_plan_t){.size = sizeof p.plan, .advice = p.advice, .advice_max = S3LECT_ADVICE_MAX};
  if (cli_peer_check(options) != 0)
    return CLI_EXIT_USAGE;
  int r = s3lect_elector_plan(&options->elector, &p.given, &p.plan, &error);
  if (r == 0)
    r = s3lect_plan_policy(&options->elector, &p.given, p.policy, sizeof p.policy, &error);
  if (r != 0) {
    cli_say_error("", false, &error);
    return r == S3LECT_ETIMING ? CLI_EXIT_FAILED : CLI_EXIT_USAGE;
  }
  bool unsafe = false;
  for (size_t i = 0; i < p.plan.advice_len; i++)
    unsafe = unsafe || p.advice[i].is_unsafe != 0;
  if (options->json)
    print_json(&p);
  else
    print_text(&p);
  r = cli_flush();
  return r != 0 ? r : unsafe ? CLI_EXIT_FAILED : 0;
}
