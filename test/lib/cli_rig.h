/* test/lib/cli_rig.h: the s3lect command on a fake store in the test's own process, and the tests
 * that hold for the command on each kind of store. */
#ifndef TEST_LIB_CLI_RIG_H
#define TEST_LIB_CLI_RIG_H

#include "fakes3/fakes3.h"
#include "lib/proc.h"

#define CLI_RIG_AWS_KEYS                                                                           \
  { "AWS_ACCESS_KEY_ID=" FAKES3_ACCESS_KEY, "AWS_SECRET_ACCESS_KEY=" FAKES3_SECRET_KEY, NULL }

/* A command that must fail, and what standard error must say. */
typedef struct cli_rig_mistake_s {
  const char* env[3]; /* ends with NULL */
  const char* command;
  const char* store; /* --store */
  int status;
  const char* says;
} cli_rig_mistake_t;

typedef struct cli_rig_store_s {
  fakes3_options_t fake;
  const char* url;          /* --store, up to the key */
  const char* bucket;       /* the bucket or container of that URL */
  const char* keys[3];      /* credentials, as variables of the environment; ends with NULL */
  const char* timing[5];    /* options of `s3lect elect`; ends with NULL */
  const char* limit;        /* a fault that verify and elections must bear; NULL: none */
  const char* outage;       /* the fault of an outage */
  const char* checks[5][2]; /* lines of verify, in their order: a part, and another one */
  const char* epochs;       /* how verify's line on epoch files begins */
  const cli_rig_mistake_t* mistakes; /* ends with a row that says nothing */
} cli_rig_store_t;

typedef struct cli_rig_s {
  const cli_rig_store_t* store;
  const char* program;
  procs_t procs;
  fakes3_t* fake;
} cli_rig_t;

extern cli_rig_t cli_rig; /* which all functions here use */

/* Set-up, for a test program's own, and tear-down of a test. */
int cli_rig_begin(const cli_rig_store_t* store, const char* program);
int cli_rig_end(void** state);

/** Adds a fault rule, and gives its number; fails the test if the rule is refused. */
int cli_rig_fault(const char* json);

/** Starts `s3lect COMMAND` on the fake, with these variables and more options (ends with NULL; may
 * be NULL). `store` is --store. */
proc_t* cli_rig_s3lect_as(const char* const* env, const char* command, const char* store,
                          const char* const* more);
/** The same with the store's credentials, on a key of its bucket. */
proc_t* cli_rig_s3lect(const char* command, const char* key, const char* const* more);
/** `s3lect elect`; `protocol` NULL: the default. */
proc_t* cli_rig_elect(const char* id, const char* key, const char* protocol);
/** The epoch of the next event started_leading. */
int64_t cli_rig_next_epoch(proc_t* p);
/** Asserts that a process says this on standard error, and exits with that status. */
void cli_rig_fails(proc_t* p, int status, const char* says);

/* ---- Tests ---- */

void cli_rig_verify_says_lockfile(void** state);
/* Takes each condition away. */
void cli_rig_verify_finds_lies(void** state);
/* Three processes elect, through a kill, a hand-over and an outage. */
void cli_rig_three_elect_with_a_lockfile(void** state);
void cli_rig_three_elect_with_epoch_files(void** state);
void cli_rig_lists_and_reads(void** state);
void cli_rig_names_mistakes(void** state);

#endif
