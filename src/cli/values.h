/* cli/values.h (L8): what options' values must look like, and what they are together. */
#ifndef S3L_CLI_VALUES_H
#define S3L_CLI_VALUES_H

#include <stdint.h>

#include "options.h"

/** Reads a length of time such as 500ms, 1.5s, 2m, 1h into milliseconds. Returns 0 or
 * S3LECT_EOPTION with what is wrong in `message`, to be put behind the option's name. */
int cli_duration_parse(const char* text, uint32_t* ms, char message[CLI_MESSAGE_SIZE]);

/** Reads a rate such as 1% or 10000ppm into ppm. Returns as cli_duration_parse. */
int cli_rate_parse(const char* text, uint32_t* ppm, char message[CLI_MESSAGE_SIZE]);

/** What concerns more than the single word: required ones, forms, defaults; takes --store apart.
 * Returns 0 or S3LECT_EOPTION with a line in `message`. */
int cli_options_check(cli_options_t* options, char message[CLI_MESSAGE_SIZE]);

#endif
