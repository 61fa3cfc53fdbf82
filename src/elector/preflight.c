#include "elector/preflight.h"

#include <stdio.h>
#include <string.h>

#include "elector/executor.h"
#include "loop/clock.h"

#define SUFFIX ".verify-"

/* Beside the lockfile, so that a policy that allows the one mostly allows the other. */
static void make_prefix(const char* key, char out[S3LECT_VERIFY_PREFIX_MAX + 1]) {
  size_t n = strlen(key);
  size_t most = S3LECT_VERIFY_PREFIX_MAX - (sizeof(SUFFIX) - 1);
  if (n > most) {
    n = most;
    while (n > 0 && ((unsigned char)key[n] & 0xc0) == 0x80) /* not within a character */
      n--;
  }
  memcpy(out, key, n);
  memcpy(out + n, SUFFIX, sizeof(SUFFIX));
}

static void try_again_later(s3l_executor_t* d, int error, const char* message) {
  d->preflight->error = error;
  d->preflight->retry_at = s3l_clock_lease_ns() + d->preflight->retry_ms * S3L_MS;
  s3l_executor_report(d, error, message);
}

static void refuse(s3l_executor_t* d, const char* reason) {
  char message[512];
  d->ask_start = false;
  d->preflight->error = S3LECT_EUNSAFE;
  (void)snprintf(message, sizeof(message), "not standing for election: %s", reason);
  s3l_executor_report(d, S3LECT_EUNSAFE, message);
}

static void on_verified(s3lect_verify_t* verify, const s3lect_verify_report_t* report) {
  s3l_executor_t* d = verify->data;
  d->preflight->running = false;
  const s3lect_verdict_t* verdict = s3l_files_of(d) != NULL ? &report->epochs : &report->lockfile;
  if (verdict->safety == S3LECT_SAFETY_SAFE) {
    d->preflight->passed = true;
    d->preflight->error = 0;
  } else if (d->ask_start && report->error != UV_ECANCELED) {
    if (verdict->safety == S3LECT_SAFETY_UNKNOWN)
      try_again_later(d, report->error, verdict->reason);
    else
      refuse(d, verdict->reason);
  }
  s3l_executor_wake(d);
}

bool s3l_preflight_is_open(s3l_executor_t* d) {
  s3l_preflight_t* a = d->preflight;
  char prefix[S3LECT_VERIFY_PREFIX_MAX + 1];
  s3lect_verify_options_t o;
  if (a == NULL || a->passed)
    return true;
  if (a->running || s3l_clock_lease_ns() < a->retry_at)
    return false;
  make_prefix(s3l_files_election(d), prefix);
  s3lect_verify_options_init(&o, sizeof o);
  o.store = d->req.store;
  o.prefix = prefix;
  o.request_timeout_ms = d->core.config.request_timeout_ms;
  o.quick = 1;
  a->verify.data = d;
  int err = s3lect_verify_start(&a->verify, &o, on_verified, NULL);
  a->running = err == 0;
  if (err != 0)
    try_again_later(d, err, NULL);
  return false;
}

int64_t s3l_preflight_deadline(const s3l_executor_t* d) {
  const s3l_preflight_t* a = d->preflight;
  return a != NULL && d->ask_start && !a->running && !a->passed ? a->retry_at : S3L_NEVER;
}

void s3l_preflight_cancel(s3l_executor_t* d) {
  if (d->preflight == NULL)
    return;
  d->preflight->retry_at = 0;
  if (d->preflight->running)
    s3lect_verify_cancel(&d->preflight->verify);
}

bool s3l_preflight_is_busy(const s3l_executor_t* d) {
  return d->preflight != NULL && d->preflight->running;
}

int s3l_preflight_error(const s3l_executor_t* d) {
  return d->preflight != NULL ? d->preflight->error : 0;
}
