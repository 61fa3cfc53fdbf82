/* cli/audit.h (L8): leaderships as logs or a store tell of them, and whether they were as they must
 * be.
 *
 * Vocabulary
 *   source      what one process has logged (one candidate's ID in one file), or the store
 *   instant     a point in time by the clocks of a source: lease time, which only sources of one
 *               machine share, and wall time, which is wrong by up to the source's clock error
 *   leadership  one epoch of one source: from its start until, for certain, the last sign that it
 *               led, and at the latest until its validity ended. The two are the same if its end
 *               was logged
 *   finding     something that must not be, or that the clocks cannot exclude */
#ifndef S3L_CLI_AUDIT_H
#define S3L_CLI_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "options.h"

#define CLI_AUDIT_STORE_ERROR_MS 1000 /* Last-Modified has a grain of a second */

typedef struct cli_instant_s {
  unsigned clock;   /* instants of the same clock, not 0, have comparable lease times */
  int64_t lease_ns; /* if clock is not 0 */
  int64_t wall_ms;  /* Unix time */
  int64_t error_ms; /* of wall_ms */
} cli_instant_t;

typedef struct cli_leadership_s {
  char id[S3LECT_ID_SIZE];
  unsigned source;
  uint64_t epoch;
  cli_instant_t start;
  cli_instant_t certain; /* it led until here, unless it was over before it was told */
  cli_instant_t latest;  /* it did not lead after this */
  bool ended;            /* its end was logged, */
  char reason[32];       /* and why; else "" */
} cli_leadership_t;

typedef enum {
  CLI_OVERLAP,          /* two leaderships at the same time, for certain */
  CLI_POSSIBLE_OVERLAP, /* they look so, but clocks or a missing end may be the reason */
  CLI_SAME_EPOCH,       /* two leaderships with one epoch */
  CLI_EPOCH_FELL,       /* a later leadership has a smaller epoch */
  CLI_FINDINGS
} cli_finding_kind_t;

typedef struct cli_finding_s {
  cli_finding_kind_t kind;
  size_t first, second; /* leaderships */
  int64_t ms;           /* overlaps: for how long, as measured */
} cli_finding_t;

typedef struct cli_audit_s {
  cli_leadership_t* all; /* after cli_audit_judge in the order of their starts */
  size_t len, cap;
  unsigned sources;
  int64_t ahead_ms; /* with --one-machine: wall time less lease time; 0: not known yet */
  cli_finding_t* findings;
  size_t findings_len, findings_cap;
  size_t count[CLI_FINDINGS];
  size_t close; /* hand-overs that are shorter than the clocks' error: an overlap cannot be seen */
  size_t unlogged_ends;
} cli_audit_t;

/** Adds a leadership, zeroed. NULL without memory. */
cli_leadership_t* cli_audit_add(cli_audit_t* audit);
void cli_audit_free(cli_audit_t* audit);

/** The time from a to b, and by how much it may be wrong. */
int64_t cli_instant_diff_ms(const cli_instant_t* a, const cli_instant_t* b, int64_t* error_ms);

/** Judges all leaderships. Returns 0 or UV_ENOMEM. */
int cli_audit_judge(cli_audit_t* audit);

/** Whether something is wrong, for certain. */
bool cli_audit_is_wrong(const cli_audit_t* audit);

/** Reads the events of `elect` in an open file. `name` is for messages. `clock` is the number of
 * the last clock of a source, at first 1: with --one-machine all share that one. Returns 0, or
 * CLI_EXIT_USAGE after a line on stderr. */
int cli_audit_read(cli_audit_t* audit, const cli_options_t* options, FILE* file, const char* name,
                   unsigned* clock);

/** Reads the epoch files of the election in --store. Returns 0, or an exit status after a line on
 * stderr. */
int cli_audit_read_store(cli_audit_t* audit, const cli_options_t* options);

/** Prints all on stdout, for people or as one JSON object. */
void cli_audit_print(const cli_audit_t* audit, const cli_options_t* options);

/** Writes the picture. Returns 0 or CLI_EXIT_FAILED after a line on stderr. */
int cli_audit_draw(const cli_audit_t* audit, const char* path);

#endif
