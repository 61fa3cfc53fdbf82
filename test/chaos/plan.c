/* The plan of a seed: which fault begins when, and its execution. The faults are in faults.c. */
#include <inttypes.h>
#include <stdlib.h>

#include "chaos/chaos.h"

/* Faults come in bursts: what one alone does not break, two at once may. */
#define GAP_MIN_MS   20
#define GAP_BURST_MS 300
#define GAP_MAX_MS   2400

static bool fits(const chaos_t* chaos, const chaos_fault_kind_t* kind) {
  const chaos_config_t* config = chaos->config;
  unsigned there = (config->file ? 0u : CHAOS_ON_S3) | (config->peers ? CHAOS_ON_PEERS : 0u) |
                   (config->run ? CHAOS_ON_RUN : 0u);
#ifndef __SANITIZE_ADDRESS__
  there |= CHAOS_NO_ASAN;
#endif
  return (kind->needs & ~there) == 0;
}

static const chaos_fault_kind_t* choose(const chaos_t* chaos, s3l_prng_t* dice) {
  unsigned all = 0;
  for (size_t i = 0; i < chaos_fault_kinds_len; i++)
    all += fits(chaos, &chaos_fault_kinds[i]) ? chaos_fault_kinds[i].weight : 0;
  unsigned at = (unsigned)s3l_prng_below(dice, all);
  const chaos_fault_kind_t* kind = chaos_fault_kinds;
  for (;; kind++) {
    unsigned weight = fits(chaos, kind) ? kind->weight : 0;
    if (at < weight)
      return kind;
    at -= weight;
  }
}

static unsigned gap(s3l_prng_t* dice) {
  unsigned most = s3l_prng_below(dice, 5) < 2 ? GAP_BURST_MS : GAP_MAX_MS;
  return GAP_MIN_MS + (unsigned)s3l_prng_below(dice, most);
}

void chaos_plan_make(chaos_t* chaos, unsigned seconds) {
  s3l_prng_t dice;
  s3l_prng_seed(&dice, chaos->seed);
  size_t most = seconds * 1000 / GAP_MIN_MS + 1;
  chaos->plan = calloc(most, sizeof *chaos->plan);
  if (chaos->plan == NULL)
    abort();
  for (unsigned at = gap(&dice); at < seconds * 1000; at += gap(&dice)) {
    const chaos_fault_kind_t* kind = choose(chaos, &dice);
    chaos->plan[chaos->plan_len++] = (chaos_fault_t){
        .kind = kind,
        .at_ms = at,
        .ms = kind->min_ms + (unsigned)s3l_prng_below(&dice, kind->max_ms - kind->min_ms + 1),
        .node = (unsigned)s3l_prng_below(&dice, 2 * CHAOS_NODES),
        .dice = s3l_prng_next(&dice)};
  }
}

static const char* name_of(unsigned node, char text[16]) {
  snprintf(text, 16, node < CHAOS_NODES ? "candidate %u" : "the leader", node);
  return text;
}

void chaos_plan_print(const chaos_t* chaos, FILE* to) {
  char node[16];
  for (size_t i = 0; i < chaos->plan_len; i++) {
    const chaos_fault_t* f = &chaos->plan[i];
    fprintf(to, "%6u ms: %s, %u ms, %s, %016" PRIx64 "\n", f->at_ms, f->kind->name, f->ms,
            name_of(f->node, node), f->dice);
  }
}

static unsigned find_leader(const chaos_t* chaos, uint64_t dice) {
  for (unsigned i = 0; i < CHAOS_NODES; i++) {
    const chaos_leadership_t* l = chaos_oracle_leading(&chaos->oracle, chaos->nodes[i].life);
    if (l != NULL && l->valid_ns > s3lect_now_ns())
      return i;
  }
  return (unsigned)(dice % CHAOS_NODES);
}

static void begin(chaos_t* chaos, chaos_fault_t* f) {
  if (f->node >= CHAOS_NODES)
    f->node = find_leader(chaos, f->dice);
  chaos_node_t* node = &chaos->nodes[f->node];
  f->begun = true;
  f->life = node->life;
  chaos->faults++;
  chaos_note(chaos, "fault: %s, %u ms, life %u", f->kind->name, f->ms, node->life);
  f->kind->begin(chaos, f, node);
}

void chaos_plan_step(chaos_t* chaos, bool all) {
  int64_t ms = (s3lect_now_ns() - chaos->begun_ns) / CHAOS_MS;
  for (size_t i = 0; i < chaos->plan_len; i++) {
    chaos_fault_t* f = &chaos->plan[i];
    if (!f->begun && !all && ms >= f->at_ms)
      begin(chaos, f);
    if (!f->begun || f->ended || (!all && ms < (int64_t)f->at_ms + f->ms))
      continue;
    f->ended = true;
    chaos_note(chaos, "end of fault: %s, life %u", f->kind->name, f->life);
    if (f->kind->end != NULL)
      f->kind->end(chaos, f, &chaos->nodes[f->node]);
  }
}
