/* cli/plan.c: `s3lect plan` says what an election with given options does and costs. It reaches no
 * store. */
#include "plan.h"

#include <stdio.h>

#include "options_table.h"
#include "peer.h"
#include "store.h"
#include "terminal.h"
#include "text.h"

#define LATENCY_MS 100

#define PRICE_DATE "2026-11"

/* USD for a thousand requests in us-east-1, as in docs/operations.md. */
typedef struct prices_s {
  double put, list, get;
  const char* source;
} prices_t;

static const prices_t* prices_of(const cli_plan_t* plan) {
  static const prices_t standard = {
      0.005, 0.005, 0.0004, "AWS S3 Standard, us-east-1, https://aws.amazon.com/s3/pricing"};
  static const prices_t express = {
      /* it lists nothing */
      0.00113, 0, 0.00003, "AWS S3 Express One Zone, us-east-1, https://aws.amazon.com/s3/faqs"};
  return plan->is_express ? &express : &standard;
}

static double price_of(const cli_plan_t* plan, const cli_plan_requests_t* r) {
  const prices_t* p = prices_of(plan);
  return (r->puts * p->put + r->lists * p->list + r->gets * p->get) / 1000;
}

/* ---- JSON ---- */

static void put_time(const char* name, const cli_plan_time_t* time, const char* before) {
  printf("%s\"%s_worst_ms\":%.0f,\"%s_mean_ms\":%.0f", before, name, time->worst_ms, name,
         time->mean_ms);
}

static void put_requests(const cli_plan_t* plan, const char* name, const cli_plan_requests_t* r) {
  printf(",\"%s_puts\":%.0f,\"%s_lists\":%.0f,\"%s_gets\":%.0f", name, r->puts, name, r->lists,
         name, r->gets);
  if (plan->is_s3)
    printf(",\"%s_usd\":%.2f", name, price_of(plan, r));
}

static void print_json(const cli_plan_t* plan) {
  char text[CLI_PLAN_POLICY_SIZE];
  s3l_buf_t b;
  put_time("crash", &plan->times.crash, "{");
  put_time("lost_machine", &plan->times.lost_machine, ",");
  put_time("hand_over", &plan->times.hand_over, ",");
  put_time("first_start", &plan->times.first_start, ",");
  put_requests(plan, "leader", &plan->leader);
  put_requests(plan, "follower", &plan->follower);
  if (plan->electors > 0)
    printf(",\"connections\":%.0f", cli_plan_connections(plan));
  if (plan->is_s3)
    printf(",\"prices\":\"%s\",\"prices_of\":\"%s\"", prices_of(plan)->source, PRICE_DATE);
  s3l_buf_init(&b, text, sizeof text);
  cli_plan_policy(plan, &b);
  if (plan->is_s3 && s3l_buf_cstr(&b) != NULL) {
    for (char* p = text; *p != '\0'; p++) /* one line: strings hold no newline */
      *p = *p == '\n' ? ' ' : *p;
    printf(",\"policy\":%s", text);
  }
  printf(",\"advice\":[");
  for (size_t i = 0; i < plan->advice_len; i++) {
    s3l_buf_init(&b, text, sizeof text);
    s3l_json_put_string(&b, s3l_span_cstr(plan->advice[i].text));
    printf("%s{\"kind\":\"%s\",\"text\":%s}", i > 0 ? "," : "",
           plan->advice[i].kind == CLI_ADVICE_UNSAFE ? "unsafe" : "wasteful", s3l_buf_cstr(&b));
  }
  printf("]}\n");
}

/* ---- Text ---- */

static void print_time(const char* what, const cli_plan_time_t* time) {
  char worst[CLI_SPAN_SIZE], mean[CLI_SPAN_SIZE];
  cli_span((int64_t)(time->worst_ms + 0.5), worst);
  cli_span((int64_t)(time->mean_ms + 0.5), mean);
  printf("  %-26s at most %-12s mean %s\n", what, worst, mean);
}

static void print_requests(const cli_plan_t* plan, const char* who, const cli_plan_requests_t* r) {
  printf("  %-26s %.0f PUT, %.0f LIST, %.0f GET", who, r->puts, r->lists, r->gets);
  if (plan->is_s3)
    printf(": at most $%.2f", price_of(plan, r));
  printf("\n");
}

static void print_policy(const cli_plan_t* plan) {
  char text[CLI_PLAN_POLICY_SIZE];
  s3l_buf_t b;
  s3l_buf_init(&b, text, sizeof text);
  cli_plan_policy(plan, &b);
  if (s3l_buf_cstr(&b) != NULL)
    printf("\nIAM policy of an elector:\n%s", text);
}

static void print_text(const cli_plan_t* plan) {
  const cli_terminal_t* terminal = cli_terminal(plan->options);
  char latency[CLI_SPAN_SIZE];
  cli_span(plan->latency_ms, latency);
  printf("Time without a leader, if requests take at most %s:\n", latency);
  print_time("crash of the process", &plan->times.crash);
  print_time("loss of its machine", &plan->times.lost_machine);
  print_time("hand-over", &plan->times.hand_over);
  print_time("first start", &plan->times.first_start);
  printf("\nRequests in 30 days:\n");
  print_requests(plan, "leader", &plan->leader);
  print_requests(plan, "each follower", &plan->follower);
  if (plan->is_s3)
    printf("  (prices: %s, %s)\n", prices_of(plan)->source, PRICE_DATE);
  if (plan->electors > 0)
    printf("\n%u electors x %s / %u ms: %.0f connections\n", plan->electors, latency,
           plan->o.renew_interval_ms, cli_plan_connections(plan));
  if (plan->is_s3)
    print_policy(plan);
  printf(plan->advice_len > 0 ? "\n" : "");
  for (size_t i = 0; i < plan->advice_len; i++) {
    bool unsafe = plan->advice[i].kind == CLI_ADVICE_UNSAFE;
    printf("%s%s%s: %s\n", cli_style(terminal, unsafe ? CLI_BAD : CLI_WARN),
           unsafe ? "unsafe" : "wasteful", cli_style(terminal, CLI_PLAIN), plan->advice[i].text);
  }
}

/* ---- The command ---- */

/* As an elector would resolve them. The store and the peer client are only asked whether they are
 * there. */
static int resolve(cli_plan_t* plan) {
  static s3lect_store_t store;
  static s3lect_peer_client_t client;
  s3lect_error_t error;
  s3lect_elector_options_t given = plan->options->elector;
  given.store = &store;
  given.peer_client = cli_peer_asks(plan->options) ? &client : NULL;
  plan->o.size = sizeof plan->o;
  int r = s3lect_elector_options_resolve(&given, &plan->o, &error);
  if (r == 0)
    return 0;
  cli_say_error("", false, &error);
  return r == S3LECT_ETIMING ? CLI_EXIT_FAILED : CLI_EXIT_USAGE;
}

static bool is_unsafe(const cli_plan_t* plan) {
  for (size_t i = 0; i < plan->advice_len; i++)
    if (plan->advice[i].kind == CLI_ADVICE_UNSAFE)
      return true;
  return false;
}

int cli_plan(const cli_options_t* options) {
  static cli_plan_t plan;
  plan = (cli_plan_t){
      .options = options,
      .is_s3 = options->bucket[0] != '\0',
      .is_express = s3l_span_ends_with(s3l_span_cstr(options->bucket), S3L_SPAN("--x-s3")),
      .authenticated = options->client.plain_http == 0,
      .latency_ms = options->latency_ms != 0 ? options->latency_ms : LATENCY_MS,
      .electors = options->electors,
  };
  if (cli_peer_check(options) != 0)
    return CLI_EXIT_USAGE;
  int r = resolve(&plan);
  if (r != 0)
    return r;
  plan.times = cli_plan_times(&plan.o, plan.authenticated, plan.latency_ms);
  plan.leader = cli_plan_leader_requests(&plan.o);
  plan.follower = cli_plan_follower_requests(&plan.o, plan.authenticated);
  cli_plan_advise(&plan);
  if (options->json)
    print_json(&plan);
  else
    print_text(&plan);
  r = cli_flush();
  return r != 0 ? r : is_unsafe(&plan) ? CLI_EXIT_FAILED : 0;
}
