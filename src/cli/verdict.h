/* cli/verdict.h (L8): whether an election has a leader, by what its object says and by the store's
 * own clock. */
#ifndef S3L_CLI_VERDICT_H
#define S3L_CLI_VERDICT_H

#include <s3lect.h>
#include <stdbool.h>

#include "util/json.h"
#include "view.h"

#define CLI_CLOCK_GRAIN_MS 2000 /* Date and Last-Modified each have a grain of one second */

typedef struct cli_verdict_s {
  bool present; /* there is an object: else nothing below counts */
  s3lect_record_t record;
  int64_t age_ms;      /* since the last write, when the object was read */
  bool by_store;       /* the age is by the store's clock, else by this machine's */
  uint32_t timeout_ms; /* the record's leader timeout, else the default */
} cli_verdict_t;

/** Reads the record in the result of a get: that of the epoch file `epoch`, or of a lockfile if
 * `epoch` is 0. `default_timeout_ms` counts if the record has no leader timeout. Makes its
 * names visible; the value is left as it is. Returns 0, or the code of the reader. */
int cli_verdict_read(cli_verdict_t* verdict, const s3lect_store_result_t* result, uint64_t epoch,
                     uint32_t default_timeout_ms);

/** "led", "absent", "released", "expired" or "claiming", if the object has not changed for so long
 * since it was read. Static. */
const char* cli_verdict_state(const cli_verdict_t* verdict, int64_t later_ms);
bool cli_verdict_is_led(const cli_verdict_t* verdict, int64_t later_ms);

/** Writes the members of `status --json`. */
void cli_verdict_json(const cli_verdict_t* verdict, s3l_buf_t* json);

/** The row of a table, when the object is known not to have changed for `unchanged_ms` since it was
 * read, `since_ms` ago. */
cli_view_row_t cli_verdict_row(const cli_verdict_t* verdict, const char* election,
                               int64_t unchanged_ms, int64_t since_ms);

#endif
