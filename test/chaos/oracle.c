#include "chaos/oracle.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void violated(chaos_oracle_t* o, const char* format,
                                                           ...) {
  char text[256];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  o->violations++;
  if (o->violated != NULL)
    o->violated(o->arg, text);
}

/* Room for one more element, zeroed. */
static void* append(void* list, size_t* len, size_t size) {
  char* grown = realloc(list, (*len + 1) * size);
  if (grown == NULL)
    abort();
  memset(grown + *len * size, 0, size);
  ++*len;
  return grown;
}

static chaos_leadership_t* leading(const chaos_oracle_t* o, unsigned life) {
  for (size_t i = o->leaderships_len; i-- > 0;)
    if (o->leaderships[i].life == life)
      return o->leaderships[i].ended ? NULL : &o->leaderships[i];
  return NULL;
}

const chaos_leadership_t* chaos_oracle_leading(const chaos_oracle_t* o, unsigned life) {
  return leading(o, life);
}

static void end(chaos_leadership_t* l, int64_t at_ns, bool died) {
  l->ended = true;
  l->died = died;
  l->end_ns = at_ns < l->valid_ns ? at_ns : l->valid_ns;
}

static void start(chaos_oracle_t* o, unsigned life, uint64_t epoch, int64_t lease_ns,
                  int64_t valid_until_ns) {
  chaos_leadership_t* before = leading(o, life);
  if (before != NULL) {
    violated(o, "life %u: epoch %" PRIu64 " started, but epoch %" PRIu64 " has not stopped", life,
             epoch, before->epoch);
    end(before, lease_ns, false);
  }
  o->leaderships = append(o->leaderships, &o->leaderships_len, sizeof *o->leaderships);
  chaos_leadership_t* l = &o->leaderships[o->leaderships_len - 1];
  l->life = life;
  l->epoch = epoch;
  /* A process that was stopped before it could tell, told it when it was over. */
  l->started_ns = lease_ns < valid_until_ns ? lease_ns : valid_until_ns - o->leader_timeout_ns;
  l->valid_ns = valid_until_ns;
  if (valid_until_ns > lease_ns + o->leader_timeout_ns)
    violated(o, "life %u: epoch %" PRIu64 " is valid for more than a leader timeout", life, epoch);
}

void chaos_oracle_event(chaos_oracle_t* o, unsigned life, chaos_kind_t kind, uint64_t epoch,
                        int64_t lease_ns, int64_t valid_until_ns) {
  if (kind == CHAOS_STARTED) {
    start(o, life, epoch, lease_ns, valid_until_ns);
    return;
  }
  chaos_leadership_t* l = leading(o, life);
  if (l == NULL || l->epoch != epoch) {
    violated(o, "life %u: epoch %" PRIu64 " was renewed or has stopped, but does not lead", life,
             epoch);
  } else if (kind == CHAOS_RENEWED) {
    if (valid_until_ns < l->valid_ns || valid_until_ns > lease_ns + o->leader_timeout_ns)
      violated(o, "life %u: epoch %" PRIu64 " was renewed to an impossible validity", life, epoch);
    l->valid_ns = valid_until_ns;
    l->renewals++;
    o->renewals++;
  } else {
    if (valid_until_ns > lease_ns || valid_until_ns > l->valid_ns)
      violated(o, "life %u: epoch %" PRIu64 " has stopped, but its validity has not", life, epoch);
    end(l, valid_until_ns, false);
    l->lost = kind == CHAOS_LOST;
  }
}

void chaos_oracle_ended(chaos_oracle_t* o, unsigned life, int64_t at_ns, bool orderly) {
  chaos_leadership_t* l = leading(o, life);
  if (l == NULL)
    return;
  if (orderly)
    violated(o, "life %u exited in order, but epoch %" PRIu64 " has not stopped", life, l->epoch);
  end(l, at_ns, true);
}

void chaos_oracle_unguarded(chaos_oracle_t* o, unsigned life) {
  o->unguarded = append(o->unguarded, &o->unguarded_len, sizeof *o->unguarded);
  o->unguarded[o->unguarded_len - 1] = life;
}

static bool is_unguarded(const chaos_oracle_t* o, unsigned life) {
  for (size_t i = 0; i < o->unguarded_len; i++)
    if (o->unguarded[i] == life)
      return true;
  return false;
}

void chaos_oracle_write(chaos_oracle_t* o, unsigned life, uint64_t epoch, int64_t at_ns,
                        bool accepted) {
  size_t i = 0;
  while (i < o->writes_len && (o->writes[i].epoch != epoch || o->writes[i].life != life))
    i++;
  if (i == o->writes_len)
    o->writes = append(o->writes, &o->writes_len, sizeof *o->writes);
  chaos_writes_t* w = &o->writes[i];
  w->epoch = epoch;
  w->life = life;
  w->last_ns = at_ns;
  if (!accepted) {
    w->fenced++;
    o->fenced++;
    return;
  }
  w->accepted++;
  o->accepted++;
  if (epoch < o->accepted_epoch)
    violated(o, "life %u: the register accepted epoch %" PRIu64 " after epoch %" PRIu64, life,
             epoch, o->accepted_epoch);
  else
    o->accepted_epoch = epoch;
}

/* --- the end -------------------------------------------------------------------------------- */

static int by_start(const void* a, const void* b) {
  const chaos_leadership_t *x = a, *y = b;
  return x->started_ns < y->started_ns ? -1 : x->started_ns > y->started_ns;
}

static void judge_leaderships(chaos_oracle_t* o) {
  const chaos_leadership_t* last = NULL; /* the one that ended last among those so far */
  uint64_t epoch = 0;
  if (o->leaderships_len > 0)
    qsort(o->leaderships, o->leaderships_len, sizeof *o->leaderships, by_start);
  for (size_t i = 0; i < o->leaderships_len; i++) {
    const chaos_leadership_t* l = &o->leaderships[i];
    if (!l->ended)
      violated(o, "life %u: epoch %" PRIu64 " neither stopped nor died", l->life, l->epoch);
    if (last != NULL && l->started_ns < last->end_ns) {
      o->overlaps++;
      violated(o,
               "two leaders: life %u, epoch %" PRIu64 " started %.3f ms before life %u, epoch "
               "%" PRIu64 " ended",
               l->life, l->epoch, (double)(last->end_ns - l->started_ns) / 1e6, last->life,
               last->epoch);
    }
    if (l->epoch <= epoch)
      violated(o, "life %u: epoch %" PRIu64 " after epoch %" PRIu64, l->life, l->epoch, epoch);
    else
      epoch = l->epoch;
    if (last == NULL || l->end_ns > last->end_ns)
      last = l;
  }
}

/* Until when a program may write. A renewal that its process was killed before telling counts. A
 * loss comes as a surprise; the program is then ended at once, and nobody else leads before the old
 * validity is over. */
static int64_t last_write(const chaos_oracle_t* o, const chaos_leadership_t* l) {
  if (l->died)
    return l->end_ns + o->leader_timeout_ns;
  return l->lost ? l->valid_ns : l->end_ns;
}

static void judge_writes(chaos_oracle_t* o) {
  for (size_t i = 0; i < o->writes_len; i++) {
    const chaos_writes_t* w = &o->writes[i];
    if (is_unguarded(o, w->life))
      continue;
    if (w->fenced > 0)
      violated(o, "life %u, epoch %" PRIu64 ": only fencing stopped %u writes", w->life, w->epoch,
               w->fenced);
    for (size_t k = 0; k < o->leaderships_len; k++) {
      const chaos_leadership_t* l = &o->leaderships[k];
      int64_t late = w->last_ns - last_write(o, l);
      if (l->life == w->life && l->epoch == w->epoch && late > 0)
        violated(o, "life %u, epoch %" PRIu64 ": the program wrote %.3f ms after its leadership",
                 w->life, w->epoch, (double)late / 1e6);
    }
  }
}

void chaos_oracle_judge(chaos_oracle_t* o) {
  judge_leaderships(o);
  judge_writes(o);
}

void chaos_oracle_free(chaos_oracle_t* o) {
  free(o->leaderships);
  free(o->writes);
  free(o->unguarded);
}
