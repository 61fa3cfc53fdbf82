/* fuzz/core_world.h: the core of the election and the world that the fuzzer makes around it.
 *
 *   fuzz-core.c     the target, and what else may happen: time, and what the application asks for
 *   core_store.c    the store: honest replies, lost and late ones, and lies
 *   core_peer.c     the leader in view, or whoever answers in its place
 *   core_checks.c   what is checked from outside, after every step: whatever it is told the core
 *                   must keep its invariants (core/core.h), and fit its effects into their bounds
 */
#ifndef S3L_FUZZ_CORE_WORLD_H
#define S3L_FUZZ_CORE_WORLD_H

#include <stdbool.h>

#include "core/core.h"
#include "fuzz.h"

#define WRITES_MAX  64
#define BODY_MAX    4096
#define WORDS_MAX   64
#define LISTS_MAX   64
#define OBJECTS_MAX 6 /* the lowest goes when there is one more */

typedef struct write_s {
  s3l_ns_t at;
  uint64_t epoch;
  char incarnation[S3LECT_INCARNATION_SIZE];
} write_t;

/* What an authenticated leader said of one of its writes. */
typedef struct word_s {
  uint64_t epoch, write;
  char incarnation[S3LECT_INCARNATION_SIZE];
  s3l_ns_t over; /* its validity has ended, whatever the clocks' rates */
} word_t;

typedef struct object_s {
  bool exists;
  uint64_t number; /* of an epoch file; 0: the lockfile */
  int64_t modified_ms;
  char etag[32];
  char body[BODY_MAX];
  size_t body_len;
} object_t;

typedef struct world_s {
  fuzz_input_t in;
  s3l_core_t core;
  s3l_effects_t fx;
  s3l_ns_t now;
  int64_t wall_ms;

  object_t objects[OBJECTS_MAX]; /* an honest store's */
  unsigned version;
  unsigned starts;

  /* The request under way. */
  enum { NOTHING = 0, READING, WRITING, LISTING } under_way;
  uint64_t file; /* which; LISTING: behind which */
  bool plain;
  bool landed; /* the write has taken effect already */
  bool cancelled;
  char etag[S3LECT_ETAG_SIZE];
  s3lect_record_t record;

  s3l_epochs_t epochs; /* of that protocol */
  bool sweeping;
  bool sweep_cancelled;
  uint64_t sweep; /* the file to be removed */

  bool asking;
  bool ask_cancelled;
  word_t words[WORDS_MAX];
  unsigned words_len;

  /* What the application was told, and what was written. */
  bool announced;
  uint64_t epoch;
  uint64_t epoch_told;
  s3l_ns_t valid_until;
  uint64_t last_write;
  char incarnation[S3LECT_INCARNATION_SIZE];
  write_t writes[WRITES_MAX];
  unsigned writes_len;
  s3l_ns_t lists[LISTS_MAX]; /* when they were sent */
  unsigned lists_len;
} world_t;

extern world_t w; /* large */

/** With epoch files, else with a lockfile. */
static inline bool fuzz_core_by_files(void) {
  return w.core.config.protocol == &s3l_epoch_files;
}

/** One step of the core, and all checks. */
void fuzz_core_step(s3l_event_t* event);

/* core_store.c: events of the fuzzer's choice. */
void fuzz_core_answer(void);
void fuzz_core_lose_reply(void);
void fuzz_core_answer_with_lies(void);
void fuzz_core_write_of_another(void);
void fuzz_core_remove_object(void);
void fuzz_core_swept(void);
const char* fuzz_core_lie_about_etag(char buf[200]);
s3l_span_t fuzz_core_lie_about_record(char body[BODY_MAX]);
/** A record as the store has it; returns its length, 0: it does not fit. */
size_t fuzz_core_encode(const s3lect_record_t* record, char body[BODY_MAX]);

/* core_peer.c */
void fuzz_core_answer_ask(void);
void fuzz_core_refuse_ask(void);
void fuzz_core_answer_ask_with_lies(void);

#endif
