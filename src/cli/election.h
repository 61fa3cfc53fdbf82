/* cli/election.h (L8): how an election of s3lect_list_t is shown. */
#ifndef S3L_CLI_ELECTION_H
#define S3L_CLI_ELECTION_H

#include <s3lect.h>
#include <stdbool.h>

#include "util/json.h"
#include "view.h"

/** Whether there is an object that holds a record. */
bool cli_election_exists(const s3lect_election_t* election);
bool cli_election_is_led(const s3lect_election_t* election);

/** The name of the leader, or of the last one. */
const char* cli_election_leader(const s3lect_election_t* election);

/** Writes the members of `status --json`. */
void cli_election_json(const s3lect_election_t* election, s3l_buf_t* json);

/** The row of a table, as of now. */
cli_view_row_t cli_election_row(const s3lect_election_t* election);

#endif
