/* cli/suggest.h (L8): finds the name that a mistyped word may have meant. */
#ifndef S3L_CLI_NEAR_H
#define S3L_CLI_NEAR_H

#include <stdbool.h>
#include <stddef.h>

#define CLI_NEAR_NONE 32 /* the initial value of `best`; longer words match nothing */

/** Whether the name is similar to the word, and more so than `best`, which then becomes their
 * distance: few edits for the name's length, or the word is the beginning of the name. */
bool cli_is_near(const char* word, size_t len, const char* name, size_t* best);

#endif
