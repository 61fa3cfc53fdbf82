#include "elector/preflight.h"

#include <stdio.h>
#include <string.h>

#include "core/protocol.h"
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

static void try_again_later(s3l_preflight_t* p, int error, const char* message) {
  p->error = error;
  p->retry_at = s3l_clock_lease_ns() + p->retry_ms * S3L_MS;
  p->done(p, error, message);
}

static void refuse(s3l_preflight_t* p, const char* reason) {
  char message[512];
  p->wanted = false;
  p->error = S3LECT_EUNSAFE;
  (void)snprintf(message, sizeof(message), "not standing for election: %s", reason);
  p->done(p, S3LECT_EUNSAFE, message);
}

static void on_verified(s3lect_verify_t* verify, const s3lect_verify_report_t* report) {
  s3l_preflight_t* p = verify->data;
  const s3lect_verdict_t* verdict = p->listed ? &report->epochs : &report->lockfile;
  p->running = false;
  p->passed = verdict->safety == S3LECT_SAFETY_SAFE;
  if (p->passed)
    p->error = 0;
  if (p->passed || !p->wanted || report->error == UV_ECANCELED)
    p->done(p, 0, NULL);
  else if (verdict->safety == S3LECT_SAFETY_UNKNOWN)
    try_again_later(p, report->error, verdict->reason);
  else
    refuse(p, verdict->reason);
}

bool s3l_preflight_is_open(s3l_preflight_t* p, s3lect_store_t* store, const char* election,
                           const s3l_core_config_t* config) {
  char prefix[S3LECT_VERIFY_PREFIX_MAX + 1];
  s3lect_verify_options_t o;
  if (p == NULL || p->passed)
    return true;
  p->wanted = true;
  if (p->running || s3l_clock_lease_ns() < p->retry_at)
    return false;
  make_prefix(election, prefix);
  s3lect_verify_options_init(&o, sizeof o);
  o.store = store;
  o.prefix = prefix;
  o.request_timeout_ms = config->request_timeout_ms;
  o.quick = 1;
  p->listed = config->protocol->listed;
  p->retry_ms = config->frequent_interval_ms;
  p->verify.data = p;
  int err = s3lect_verify_start(&p->verify, &o, on_verified, NULL);
  p->running = err == 0;
  if (err != 0)
    try_again_later(p, err, NULL);
  return false;
}

int64_t s3l_preflight_deadline(const s3l_preflight_t* p) {
  return p != NULL && p->wanted && !p->running && !p->passed ? p->retry_at : S3L_NEVER;
}

void s3l_preflight_cancel(s3l_preflight_t* p) {
  if (p == NULL)
    return;
  p->wanted = false;
  p->retry_at = 0;
  if (p->running)
    s3lect_verify_cancel(&p->verify);
}

bool s3l_preflight_is_busy(const s3l_preflight_t* p) {
  return p != NULL && p->running;
}

int s3l_preflight_error(const s3l_preflight_t* p) {
  return p != NULL ? p->error : 0;
}
