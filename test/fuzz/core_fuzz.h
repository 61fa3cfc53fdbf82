/* fuzz/core_fuzz.h: one elector in the simulator's world, whose network, clock and application the
 * fuzzer is.
 *
 *   fuzz-core.c      the target, and what else may happen: time, and what the application asks for
 *   core_replies.c   what is answered: honestly, late, not at all, or a lie
 *   core_checks.c    what is checked after every step, beside the simulator's oracle */
#ifndef S3L_FUZZ_CORE_FUZZ_H
#define S3L_FUZZ_CORE_FUZZ_H

#include "fuzz.h"
#include "sim/world.h"

extern sim_world_t w; /* large */
extern fuzz_input_t in;

/** Who knows nothing better than what it was told cannot keep every promise: a store or a peer has
 * lied. */
extern bool lied;

/** What an authenticated leader said of one of its writes. */
void core_checks_hear(const s3l_peer_result_t* said);
void core_checks_begin(void);
/** Of the world's every step. */
void core_checks_step(sim_world_t* world, unsigned node, const s3l_event_t* event);
/** After every event of the fuzzer's choice. */
void core_checks_oracle(void);

/* Events of the fuzzer's choice. */
void core_answer(void);
void core_lose_reply(void);
void core_answer_with_lies(void);
void core_land_late(void);
void core_write_of_another(void);
void core_remove_object(void);
void core_gc_done(void);
void core_answer_probe(void);
void core_refuse_probe(void);
void core_answer_probe_with_lies(void);

#endif
