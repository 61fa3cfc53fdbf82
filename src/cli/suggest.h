/* cli/suggest.h (L8): what somebody may have meant by a word that is none. */
#ifndef S3L_CLI_NEAR_H
#define S3L_CLI_NEAR_H

#include <stdbool.h>
#include <stddef.h>

#define CLI_NEAR_NONE 32 /* what `best` begins with; longer words are near to nothing */

/** Whether a name is near enough to the word to be what was meant, and nearer than `best`, which is
 * then set to how near: a third of the letters, and the start of a word counts, too. */
bool cli_is_near(const char* word, size_t len, const char* name, size_t* best);

#endif
