#include "elector/validity.h"

#include "loop/clock.h"

int64_t s3l_validity_until(s3l_validity_t* v) {
  int64_t until = atomic_load_explicit(&v->until, memory_order_acquire);
  while (until != 0 && s3l_clock_lease_ns() >= until)
    if (atomic_compare_exchange_weak_explicit(&v->until, &until, 0, memory_order_acq_rel,
                                              memory_order_acquire))
      return 0;
  return until;
}

/* Whether a later validity of the epoch that is shown could be published: the process may have been
 * stopped since the core's reading of the clock, and other threads may have seen the end. */
static bool prolong(s3l_validity_t* v, int64_t until) {
  int64_t before = v->shown;
  return s3l_clock_lease_ns() < before &&
         atomic_compare_exchange_strong_explicit(&v->until, &before, until, memory_order_acq_rel,
                                                 memory_order_acquire);
}

/* The epoch goes first: whoever sees the new validity sees it too. */
bool s3l_validity_publish(s3l_validity_t* v, uint64_t epoch, int64_t until) {
  bool same = until != 0 && v->shown_epoch == epoch;
  atomic_store_explicit(&v->epoch, epoch, memory_order_release);
  if (same && until == v->shown)
    return true;
  bool late = same && !prolong(v, until);
  if (late)
    until = 0;
  if (!same || late)
    atomic_store_explicit(&v->until, until, memory_order_release);
  v->shown = until;
  if (until != 0)
    v->shown_epoch = epoch;
  return !late;
}

void s3l_validity_withdraw(s3l_validity_t* v) {
  atomic_store_explicit(&v->until, 0, memory_order_release);
}
