/* test/lib/runproc.h: `s3lect run` from end to end. The command that it runs notes the time, and
 * the test compares these notes with the validity in the events. */
#ifndef TEST_LIB_RUNPROC_H
#define TEST_LIB_RUNPROC_H

#include "lib/s3proc.h"

#define RUNPROC_GRAIN_NS INT64_C(10000000) /* /proc/uptime has two decimals, rounded down */

/* Three processes (a command, its child, an orphaned grandchild) that note the time into the file
 * "log" for ever and heed nothing but SIGKILL. Each has noted it when its pid is in "pids". */
#define RUNPROC_FAMILY                                                                             \
  "trap '' TERM INT HUP QUIT; "                                                                    \
  "now() { read up rest </proc/uptime; echo $S3LECT_EPOCH $up >>log; }; "                          \
  "note() { now; sh -c 'echo $PPID' >>pids; while :; do now; sleep 0.01; done; }; "                \
  "( ( note ) & ); ( note ) & note"

/** s3lect run with a shell script, in the scratch folder; its events go to the file events-ID. */
proc_t* runproc_run(s3proc_t* s3, const char* id, const char* script);

/** The last validity that a candidate's events tell of while it led, by the clock of the notes. */
int64_t runproc_last_valid_until(const s3proc_t* s3, const char* id);

/** First and last time in the log that were noted under the log's first or last epoch. */
typedef struct runproc_notes_s {
  unsigned long first_epoch, last_epoch;
  int64_t last_of_first_ns, first_of_last_ns;
} runproc_notes_t;

runproc_notes_t runproc_notes(const s3proc_t* s3);

/** Every process in "pids", of which there are so many, is gone. */
void runproc_assert_all_gone(const s3proc_t* s3, int count);

#endif
