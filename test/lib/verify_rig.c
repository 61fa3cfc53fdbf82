#include "lib/verify_rig.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/test.h"
#include "lib/wait.h"

static bool in_call;

static void on_report(s3lect_verify_t* verify, const s3lect_verify_report_t* report) {
  s3l_verify_rig_t* r = verify->data;
  assert_false(in_call);
  assert_int_equal(report->size, sizeof(*report));
  r->done++;
  r->safety = report->lockfile.safety;
  r->epochs = report->epochs.safety;
  r->error = report->error;
  r->dialect = report->etag_dialect;
  r->weak = report->etags_weak;
  r->clock_known = report->clock_known;
  r->clock_offset_ms = report->clock_offset_ms;
  r->clock_error_ms = report->clock_error_ms;
  r->requests = report->requests;
  r->leftovers = report->leftovers;
  r->p50_us = report->latency_p50_us;
  r->p90_us = report->latency_p90_us;
  r->p99_us = report->latency_p99_us;
  r->max_us = report->latency_max_us;
  snprintf(r->reason, sizeof(r->reason), "%s", report->lockfile.reason);
  snprintf(r->epochs_reason, sizeof(r->epochs_reason), "%s", report->epochs.reason);
  r->checks_len = report->checks_len;
  for (size_t i = 0; i < report->checks_len && i < 24; i++) {
    snprintf(r->checks[i].name, sizeof(r->checks[i].name), "%s", report->checks[i].name);
    snprintf(r->checks[i].expected, sizeof(r->checks[i].expected), "%s",
             report->checks[i].expected);
    snprintf(r->checks[i].seen, sizeof(r->checks[i].seen), "%s", report->checks[i].seen);
    r->checks[i].verdict = report->checks[i].verdict;
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
  assert_true(rig->requests <= S3LECT_VERIFY_REQUESTS_MAX);
}

int s3l_verify_rig_check(const s3l_verify_rig_t* rig, const char* name) {
  for (size_t i = 0; i < rig->checks_len; i++)
    if (strcmp(rig->checks[i].name, name) == 0)
      return rig->checks[i].verdict;
  fail_msg("there is no check %s", name);
  return 0;
}

void s3l_verify_rig_print(const s3l_verify_rig_t* rig) {
  printf("lockfile %s (%s), epochs %s (%s), error %s\n", s3lect_safety_name(rig->safety),
         rig->reason, s3lect_safety_name(rig->epochs), rig->epochs_reason,
         s3lect_err_name(rig->error));
  for (size_t i = 0; i < rig->checks_len; i++)
    printf("  %-20s %-12s %s\n", rig->checks[i].name,
           s3lect_check_verdict_name(rig->checks[i].verdict), rig->checks[i].seen);
  printf("  dialect %d weak %d, %u requests, %u leftovers, clock %lld+-%u ms, %u/%u/%u/%u us\n",
         rig->dialect, rig->weak, rig->requests, rig->leftovers, (long long)rig->clock_offset_ms,
         rig->clock_error_ms, rig->p50_us, rig->p90_us, rig->p99_us, rig->max_us);
}

static bool is_named(const char* const* names, const char* name) {
  while (*names != NULL && strcmp(*names, name) != 0)
    names++;
  return *names != NULL;
}

void s3l_verify_rig_failed(const s3l_verify_rig_t* rig, const char* const* names) {
  char needle[48];
  bool good = true;
  for (size_t i = 0; i < rig->checks_len; i++) {
    bool failed = rig->checks[i].verdict == S3LECT_CHECK_FAILED;
    good = good && failed == is_named(names, rig->checks[i].name);
  }
  snprintf(needle, sizeof(needle), "(%s: ", names[0] != NULL ? names[0] : "");
  bool list_only = names[0] != NULL && strcmp(names[0], "list") == 0;
  const char* reason = list_only ? rig->epochs_reason : rig->reason;
  good = good && (names[0] != NULL ? strstr(reason, needle) != NULL : reason[0] == '\0');
  if (!good) {
    s3l_verify_rig_print(rig);
    fail_msg("other checks failed than was expected");
  }
}
