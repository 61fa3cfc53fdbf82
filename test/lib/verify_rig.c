#include "lib/verify_rig.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/test.h"
#include "lib/wait.h"

static bool in_call;

static const char* keep(s3l_verify_rig_t* r, const char* text) {
  size_t n = strlen(text) + 1;
  char* kept = r->texts + r->texts_len;
  assert_true(n <= sizeof(r->texts) - r->texts_len);
  r->texts_len += n;
  return memcpy(kept, text, n);
}

static void on_report(s3lect_verify_t* verify, const s3lect_verify_report_t* report) {
  s3l_verify_rig_t* r = verify->data;
  assert_false(in_call);
  assert_int_equal(report->size, sizeof(*report));
  assert_true(report->checks_len <= S3L_VERIFY_CHECKS_MAX);
  r->done++;
  r->report = *report;
  r->report.lockfile.reason = keep(r, report->lockfile.reason);
  r->report.epochs.reason = keep(r, report->epochs.reason);
  r->report.checks = r->checks;
  for (size_t i = 0; i < report->checks_len; i++) {
    const s3lect_check_t* c = &report->checks[i];
    r->checks[i] =
        (s3lect_check_t){keep(r, c->name), keep(r, c->expected), keep(r, c->seen), c->verdict};
  }
}

int s3l_verify_rig_try(s3l_verify_rig_t* rig, const s3lect_verify_options_t* options) {
  memset(rig, 0, sizeof(*rig));
  rig->verify.data = rig;
  in_call = true;
  int err = s3lect_verify_start(&rig->verify, options, on_report, NULL);
  in_call = false;
  assert_int_equal(rig->done, 0);
  return err;
}

void s3l_verify_rig_start(s3l_verify_rig_t* rig, const s3lect_verify_options_t* options) {
  assert_int_equal(s3l_verify_rig_try(rig, options), 0);
}

void s3l_verify_rig_run(s3l_verify_rig_t* rig, const s3lect_verify_options_t* options) {
  s3l_verify_rig_start(rig, options);
  s3l_wait_count(rig->verify.loop, &rig->done, 1, "the end of a verification");
  assert_int_equal(rig->done, 1);
  assert_true(rig->report.requests <= S3LECT_VERIFY_REQUESTS_MAX);
}

int s3l_verify_rig_check(const s3l_verify_rig_t* rig, const char* name) {
  for (size_t i = 0; i < rig->report.checks_len; i++)
    if (strcmp(rig->checks[i].name, name) == 0)
      return rig->checks[i].verdict;
  fail_msg("there is no check %s", name);
  return 0;
}

void s3l_verify_rig_print(const s3l_verify_rig_t* rig) {
  printf("lockfile %s (%s), epochs %s (%s), error %s\n",
         s3lect_safety_name(rig->report.lockfile.safety), rig->report.lockfile.reason,
         s3lect_safety_name(rig->report.epochs.safety), rig->report.epochs.reason,
         s3lect_err_name(rig->report.error));
  for (size_t i = 0; i < rig->report.checks_len; i++)
    printf("  %-20s %-12s %s\n", rig->checks[i].name,
           s3lect_check_verdict_name(rig->checks[i].verdict), rig->checks[i].seen);
  printf("  dialect %d weak %d, %u requests, %u leftovers, clock %lld+-%u ms, %u/%u/%u/%u us\n",
         rig->report.etag_dialect, rig->report.etags_weak, rig->report.requests,
         rig->report.leftovers, (long long)rig->report.clock_offset_ms, rig->report.clock_error_ms,
         rig->report.latency_p50_us, rig->report.latency_p90_us, rig->report.latency_p99_us,
         rig->report.latency_max_us);
}

static bool is_named(const char* const* names, const char* name) {
  while (*names != NULL && strcmp(*names, name) != 0)
    names++;
  return *names != NULL;
}

void s3l_verify_rig_failed(const s3l_verify_rig_t* rig, const char* const* names) {
  char needle[48];
  bool good = true;
  for (size_t i = 0; i < rig->report.checks_len; i++) {
    bool failed = rig->checks[i].verdict == S3LECT_CHECK_FAILED;
    good = good && failed == is_named(names, rig->checks[i].name);
  }
  snprintf(needle, sizeof(needle), "(%s: ", names[0] != NULL ? names[0] : "");
  bool list_only = names[0] != NULL && strcmp(names[0], "list") == 0;
  const char* reason = list_only ? rig->report.epochs.reason : rig->report.lockfile.reason;
  good = good && (names[0] != NULL ? strstr(reason, needle) != NULL : reason[0] == '\0');
  if (!good) {
    s3l_verify_rig_print(rig);
    fail_msg("other checks failed than was expected");
  }
}
