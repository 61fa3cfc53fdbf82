/* cli/plan_advice.c: which options together are unsafe or wasteful, and what to do instead. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "text.h"

#define CONNECTIONS_DEFAULT 64   /* of the S3 store */
#define CONNECTIONS_MAX     1024 /* ... and the most that it accepts */
#define CLOCK_RATES_PPM     200  /* what quartz clocks differ by, at worst */
#define RARE_RENEWALS       2    /* a leader timeout should have room for so many renewals */
#define LONG_TIMEOUT_MS     120000

__attribute__((format(printf, 3, 4))) static void advise(cli_plan_t* plan, cli_advice_kind_t kind,
                                                         const char* format, ...) {
  if (plan->advice_len == CLI_PLAN_ADVICE_MAX)
    return;
  cli_advice_t* advice = &plan->advice[plan->advice_len++];
  va_list args;
  advice->kind = kind;
  va_start(args, format);
  s3l_buf_cut(advice->text, sizeof advice->text,
              vsnprintf(advice->text, sizeof advice->text, format, args));
  va_end(args);
}

#define UNSAFE(...)   advise(plan, CLI_ADVICE_UNSAFE, __VA_ARGS__)
#define WASTEFUL(...) advise(plan, CLI_ADVICE_WASTEFUL, __VA_ARGS__)

/* An interval as the command line takes it. Static, for one message. */
static const char* ms(double value) {
  static char text[4][CLI_SPAN_SIZE];
  static unsigned next;
  char* to = text[next++ % 4];
  if (value >= 1000)
    snprintf(to, CLI_SPAN_SIZE, "%gs", value / 1000);
  else
    snprintf(to, CLI_SPAN_SIZE, "%gms", value);
  return to;
}

static void advise_safety(cli_plan_t* plan) {
  const s3lect_elector_options_t* o = &plan->o;
  if (o->expiry == S3LECT_EXPIRY_STORE_CLOCK)
    UNSAFE("--expiry store-clock: two leaders if the store's clock is set forward: leave it away, "
           "unless the wait after a start is too long for you");
  if (o->drift_ppm < CLOCK_RATES_PPM)
    UNSAFE("--drift %uppm is less than what clocks may differ by: use %dppm or more, or leave it "
           "away (1%%)",
           o->drift_ppm, CLOCK_RATES_PPM);
  if (o->peer_client != NULL && !plan->authenticated)
    UNSAFE("--peer-plain-http: whoever is in the network can keep followers from taking over for "
           "a while: give certificates (--peer-cert, --peer-key, --peer-ca)");
  if (plan->latency_ms > o->request_timeout_ms)
    UNSAFE("--request-timeout %s is less than the %s that a request may take: renewals would fail. "
           "Raise --request-timeout and --leader-timeout",
           ms(o->request_timeout_ms), ms(plan->latency_ms));
  double term = o->leader_timeout_ms * (1 - o->drift_ppm / 1e6) - o->renew_deadline_ms;
  if (term < RARE_RENEWALS * (double)o->renew_interval_ms)
    UNSAFE("--renew %s: a leadership of %s has room for one renewal only, and one that is lost for "
           "longer than the retries last ends it. Use --renew %s or less",
           ms(o->renew_interval_ms), ms(o->leader_timeout_ms), ms(o->leader_timeout_ms / 3));
}

static void advise_followers(cli_plan_t* plan) {
  const s3lect_elector_options_t* o = &plan->o;
  if (o->infrequent_interval_ms > o->leader_timeout_ms && o->peer_client == NULL)
    WASTEFUL("--infrequent %s is longer than --leader-timeout %s: followers read once per leader "
             "timeout, and a hand-over may take as long as a crash",
             ms(o->infrequent_interval_ms), ms(o->leader_timeout_ms));
  if (o->frequent_interval_ms > o->infrequent_interval_ms)
    WASTEFUL("--frequent %s is longer than --infrequent %s: followers would read more slowly while "
             "there is no leader. Leave --frequent away",
             ms(o->frequent_interval_ms), ms(o->infrequent_interval_ms));
  if (o->peer_client == NULL && o->infrequent_interval_ms * 5 < o->renew_interval_ms)
    WASTEFUL("--infrequent %s: followers read a record more than five times between two renewals. "
             "Peer mode (--peer-listen) makes hand-overs as fast, and reads nothing",
             ms(o->infrequent_interval_ms));
}

static void advise_leader(cli_plan_t* plan) {
  const s3lect_elector_options_t* o = &plan->o;
  if (o->renew_interval_ms * 10 < o->leader_timeout_ms)
    WASTEFUL("--renew %s: more than ten renewals in each leader timeout cost requests. --renew %s "
             "is as safe",
             ms(o->renew_interval_ms), ms(o->leader_timeout_ms / 3));
  if (o->leader_timeout_ms > LONG_TIMEOUT_MS)
    WASTEFUL("--leader-timeout %s: nobody leads for so long after a crash",
             ms(o->leader_timeout_ms));
  if (o->no_release)
    WASTEFUL("--no-release: each orderly end costs the whole leader timeout, as a crash does. "
             "Leave it away");
  if (o->grace_period_ms > 0)
    WASTEFUL("--grace %s: nobody leads for so much longer at each change. Leases need no grace: "
             "leave it away, unless programs without leases take part",
             ms(o->grace_period_ms));
}

static bool is_set(const char* variable) {
  const char* value = getenv(variable);
  return value != NULL && value[0] != '\0';
}

static void advise_protocol(cli_plan_t* plan) {
  const s3lect_elector_options_t* o = &plan->o;
  bool files = o->protocol == S3LECT_PROTOCOL_EPOCHS;
  bool elsewhere = plan->options->s3.endpoint != NULL || is_set("AWS_ENDPOINT_URL_S3") ||
                   is_set("AWS_ENDPOINT_URL");
  if (files && plan->is_s3 && !elsewhere)
    WASTEFUL("--protocol epochs costs twice of a lockfile for the leader, and AWS can hold a "
             "lockfile: leave it away, unless you want one object per leadership");
  if (files && o->keep_epochs)
    WASTEFUL("--keep-epochs: files are never removed: let a lifecycle rule of the bucket remove "
             "those that you need no more, but none of the last day");
}

static void advise_pool(cli_plan_t* plan) {
  double needed = cli_plan_connections(plan), ample = needed * 1.25;
  if (plan->electors == 0 || !plan->is_s3)
    return;
  if (needed > CONNECTIONS_MAX)
    UNSAFE("--electors %u need %.0f connections, more than the %d that a store may have: use "
           "several stores, or --renew %s with a longer --leader-timeout",
           plan->electors, needed, CONNECTIONS_MAX,
           ms((uint32_t)(plan->o.renew_interval_ms * needed / CONNECTIONS_MAX) + 1000));
  else if (needed > CONNECTIONS_DEFAULT * 0.8)
    UNSAFE("--electors %u need %.0f connections, and the store has %d by default: renewals would "
           "wait. Set max_connections to %.0f or more",
           plan->electors, needed, CONNECTIONS_DEFAULT,
           ample < CONNECTIONS_MAX ? ample : CONNECTIONS_MAX);
}

double cli_plan_connections(const cli_plan_t* plan) {
  double requests = plan->o.protocol == S3LECT_PROTOCOL_EPOCHS ? 2 : 1;
  double exact = plan->electors * requests * plan->latency_ms / plan->o.renew_interval_ms;
  return (double)(uint64_t)(exact + 0.999999);
}

void cli_plan_advise(cli_plan_t* plan) {
  advise_safety(plan);
  advise_pool(plan);
  advise_leader(plan);
  advise_followers(plan);
  advise_protocol(plan);
}

/* ---- The policy ---- */

static void put_statement(s3l_buf_t* b, const char* actions, const char* kind, const char* bucket,
                          const char* key, bool last) {
  char resource[2048];
  snprintf(resource, sizeof resource, "arn:aws:%s%s%s%s", kind, bucket, key[0] != '\0' ? "/" : "",
           key);
  s3l_buf_puts(b, "    {\"Effect\": \"Allow\", \"Action\": [");
  s3l_buf_puts(b, actions);
  s3l_buf_puts(b, "], \"Resource\": ");
  s3l_json_put_string(b, s3l_span_cstr(resource));
  s3l_buf_puts(b, last ? "}\n" : "},\n");
}

void cli_plan_policy(const cli_plan_t* plan, s3l_buf_t* b) {
  const cli_options_t* options = plan->options;
  const char* bucket = options->bucket;
  const char* key = plan->o.lockfile_path;
  const char* sse = options->s3.server_side_encryption;
  const char* kms = options->s3.sse_kms_key_id;
  bool files = plan->o.protocol == S3LECT_PROTOCOL_EPOCHS;
  bool encrypts = sse != NULL && strncmp(sse, "aws:kms", 7) == 0;
  char objects[1200];
  s3l_buf_puts(b, "{\n  \"Version\": \"2012-10-17\",\n  \"Statement\": [\n");
  if (plan->is_express) { /* of the whole bucket: sessions know no keys */
    put_statement(b, "\"s3express:CreateSession\"", "s3express:*:*:bucket/", bucket, "", true);
    s3l_buf_puts(b, "  ]\n}\n");
    return;
  }
  snprintf(objects, sizeof objects, "%s%s", key, files ? "lock-*" : "");
  put_statement(b,
                files && !plan->o.keep_epochs
                    ? "\"s3:GetObject\", \"s3:PutObject\", \"s3:DeleteObject\""
                    : "\"s3:GetObject\", \"s3:PutObject\"",
                "s3:::", bucket, objects, false);
  snprintf(objects, sizeof objects, "%s.verify-*", key);
  if (plan->o.verify_on_start)
    put_statement(b, "\"s3:GetObject\", \"s3:PutObject\", \"s3:DeleteObject\"", "s3:::", bucket,
                  objects, false);
  put_statement(b, "\"s3:ListBucket\"", "s3:::", bucket, "", !encrypts);
  if (encrypts && kms != NULL && strncmp(kms, "arn:aws:", 8) == 0)
    put_statement(b, "\"kms:GenerateDataKey\", \"kms:Decrypt\"", "", kms + 8, "", true);
  else if (encrypts)
    put_statement(b, "\"kms:GenerateDataKey\", \"kms:Decrypt\"", "kms:*:*:key/",
                  kms != NULL ? kms : "*", "", true);
  s3l_buf_puts(b, "  ]\n}\n");
}
