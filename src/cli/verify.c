#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "store.h"
#include "text.h"

#define SUFFIX     ".verify-"
#define JSON_SIZE  16384
#define COLUMN_MAX 60

typedef struct run_s {
  cli_once_t once; /* first: start is given its address */
  uv_signal_t signals[2];
  s3lect_verify_t verify;
} run_t;

/* --- printing ------------------------------------------------------------------------------- */

static const char* dialect_name(int32_t dialect) {
  return dialect == S3LECT_ETAG_BARE     ? "bare"
         : dialect == S3LECT_ETAG_QUOTED ? "quoted"
                                         : "unknown";
}

/* The one to use there; the lockfile where both work: its renewals cost half. */
static const char* protocol_name(const s3lect_verify_report_t* r) {
  return r->lockfile.safety == S3LECT_SAFETY_SAFE ? "lockfile"
         : r->epochs.safety == S3LECT_SAFETY_SAFE ? "epochs"
                                                  : "";
}

static void print_json(const s3lect_verify_report_t* r) {
  static char line[JSON_SIZE];
  s3l_buf_t json;
  cli_json_open(&json, line, sizeof line);
  s3l_json_string(&json, "lockfile", s3lect_safety_name(r->lockfile.safety));
  s3l_json_u64(&json, "lockfile_races", r->lockfile.races);
  s3l_json_string(&json, "lockfile_reason", r->lockfile.reason);
  s3l_json_string(&json, "epochs", s3lect_safety_name(r->epochs.safety));
  s3l_json_u64(&json, "epochs_races", r->epochs.races);
  s3l_json_string(&json, "epochs_reason", r->epochs.reason);
  s3l_json_string(&json, "protocol", protocol_name(r));
  s3l_json_string(&json, "error", r->error != 0 ? s3lect_err_name(r->error) : "");
  s3l_json_key(&json, "checks");
  s3l_buf_putc(&json, '[');
  for (size_t i = 0; i < r->checks_len; i++) {
    s3l_json_key(&json, NULL);
    s3l_buf_putc(&json, '{');
    s3l_json_string(&json, "name", r->checks[i].name);
    s3l_json_string(&json, "expected", r->checks[i].expected);
    s3l_json_string(&json, "seen", r->checks[i].seen);
    s3l_json_string(&json, "verdict", s3lect_check_verdict_name(r->checks[i].verdict));
    s3l_buf_putc(&json, '}');
  }
  s3l_buf_putc(&json, ']');
  s3l_json_string(&json, "etag_dialect", dialect_name(r->etag_dialect));
  s3l_json_i64(&json, "etags_weak", r->etags_weak);
  if (r->clock_known) {
    s3l_json_i64(&json, "clock_offset_ms", r->clock_offset_ms);
    s3l_json_u64(&json, "clock_error_ms", r->clock_error_ms);
  }
  s3l_json_u64(&json, "latency_p50_us", r->latency_p50_us);
  s3l_json_u64(&json, "latency_p90_us", r->latency_p90_us);
  s3l_json_u64(&json, "latency_p99_us", r->latency_p99_us);
  s3l_json_u64(&json, "latency_max_us", r->latency_max_us);
  s3l_json_u64(&json, "requests", r->requests);
  s3l_json_u64(&json, "leftovers", r->leftovers);
  if (cli_json_close(&json) > 0)
    fputs(line, stdout);
}

static int longest(int width, const char* text) {
  int n = (int)strnlen(text, COLUMN_MAX);
  return n > width ? n : width;
}

static void print_checks(const s3lect_verify_report_t* r) {
  int name = 5, verdict = 7, expected = 8;
  for (size_t i = 0; i < r->checks_len; i++) {
    name = longest(name, r->checks[i].name);
    verdict = longest(verdict, s3lect_check_verdict_name(r->checks[i].verdict));
    expected = longest(expected, r->checks[i].expected);
  }
  printf("%-*s  %-*s  %-*s  %s\n", name, "check", verdict, "verdict", expected, "expected", "seen");
  for (size_t i = 0; i < r->checks_len; i++) {
    char seen[256];
    cli_format(seen, sizeof seen, "%s", r->checks[i].seen);
    s3l_buf_line(seen);
    printf("%-*s  %-*s  %-*s  %s\n", name, r->checks[i].name, verdict,
           s3lect_check_verdict_name(r->checks[i].verdict), expected, r->checks[i].expected,
           seen[0] != '\0' ? seen : "-");
  }
}

static void print_clock(const s3lect_verify_report_t* r) {
  int64_t ms = r->clock_offset_ms < 0 ? -r->clock_offset_ms : r->clock_offset_ms;
  char offset[CLI_SPAN_SIZE], error[CLI_SPAN_SIZE];
  if (!r->clock_known)
    return;
  cli_span(ms, offset);
  cli_span(r->clock_error_ms, error);
  if (ms <= r->clock_error_ms)
    printf("clock     the store's agrees with this machine's, to within %s\n", error);
  else
    printf("clock     the store's is %s %s this machine's, to within %s\n", offset,
           r->clock_offset_ms > 0 ? "ahead of" : "behind", error);
}

static void print_verdict(const char* protocol, const s3lect_verdict_t* verdict) {
  char reason[512];
  cli_format(reason, sizeof reason, "%s", verdict->reason);
  s3l_buf_line(reason);
  printf("%-8s  %s", protocol, s3lect_safety_name(verdict->safety));
  if (verdict->safety == S3LECT_SAFETY_SAFE)
    printf(" (%" PRIu32 " races of writers)\n", verdict->races);
  else
    printf(": %s\n", reason);
}

static void print_table(const s3lect_verify_report_t* r) {
  print_checks(r);
  printf("\n");
  print_verdict("lockfile", &r->lockfile);
  print_verdict("epochs", &r->epochs);
  if (protocol_name(r)[0] != '\0')
    printf("use       --protocol %s\n", protocol_name(r));
  if (r->etag_dialect != S3LECT_ETAG_UNKNOWN)
    printf("ETags     wanted %s in If-Match%s\n",
           r->etag_dialect == S3LECT_ETAG_BARE ? "without their quotes" : "as they are given",
           r->etags_weak ? "; something on the way weakens them" : "");
  print_clock(r);
  printf("latency   p50 %.1f ms, p90 %.1f ms, p99 %.1f ms, max %.1f ms\n",
         r->latency_p50_us / 1000.0, r->latency_p90_us / 1000.0, r->latency_p99_us / 1000.0,
         r->latency_max_us / 1000.0);
  printf("requests  %" PRIu32 "\n", r->requests);
}

/* --- the run -------------------------------------------------------------------------------- */

static void on_report(s3lect_verify_t* verify, const s3lect_verify_report_t* r) {
  run_t* run = verify->data;
  const s3lect_verdict_t* verdict =
      run->once.options->elector.protocol == S3LECT_PROTOCOL_EPOCHS ? &r->epochs : &r->lockfile;
  run->once.exit_code = verdict->safety == S3LECT_SAFETY_SAFE ? 0 : CLI_EXIT_FAILED;
  if (r->error == UV_ECANCELED)
    cli_say("interrupted");
  else if (run->once.options->json)
    print_json(r);
  else
    print_table(r);
  if (r->leftovers > 0)
    cli_say("%" PRIu32 " temporary objects %s" SUFFIX "... could not be removed", r->leftovers,
            run->once.options->store);
  if (cli_flush() != 0)
    run->once.exit_code = CLI_EXIT_FAILED;
  for (size_t i = 0; i < 2; i++)
    uv_close((uv_handle_t*)&run->signals[i], NULL);
  s3lect_store_close(&run->once.store, NULL);
}

/* The temporary objects are to be removed all the same. */
static void on_signal(uv_signal_t* signal, int signum) {
  run_t* run = signal->data;
  (void)signum;
  s3lect_verify_cancel(&run->verify);
}

static void watch_signals(run_t* run) {
  static const int signums[2] = {SIGINT, SIGTERM};
  for (size_t i = 0; i < 2; i++) {
    (void)uv_signal_init(&run->once.loop, &run->signals[i]);
    run->signals[i].data = run;
    (void)uv_signal_start(&run->signals[i], on_signal, signums[i]);
  }
}

static int start(cli_once_t* once) {
  run_t* run = (run_t*)once;
  const cli_options_t* options = once->options;
  char prefix[S3LECT_VERIFY_PREFIX_MAX + 16];
  s3lect_verify_options_t o;
  snprintf(prefix, sizeof prefix, "%s" SUFFIX, options->elector.lockfile_path);
  s3lect_verify_options_init(&o, sizeof o);
  o.store = &once->store;
  o.prefix = prefix;
  o.quick = (int32_t)options->quick;
  o.request_timeout_ms = options->elector.request_timeout_ms;
  run->verify.data = run;
  int r = s3lect_verify_start(&run->verify, &o, on_report, NULL);
  if (r == 0)
    watch_signals(run);
  return r;
}

int cli_verify(const cli_options_t* options) {
  static run_t run;
  if (strlen(options->elector.lockfile_path) + sizeof SUFFIX > S3LECT_VERIFY_PREFIX_MAX) {
    cli_say("the key in --store is too long to have temporary objects beside it");
    return CLI_EXIT_USAGE;
  }
  return cli_once(&run.once, options, start);
}
