/* world/value.h: the values that applications publish. Each text names who set it, so that one that
 * is told can be traced back to the write that it came with. */
#ifndef WORLD_VALUE_H
#define WORLD_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "s3lect.h"
#include "sim/oracle.h"

/** The text that a life of a node sets as its `count`th; "" (no value) for every third, and for 0.
 * Some are as long as a value may be. */
void world_value_text(char text[S3LECT_VALUE_SIZE], int node, uint32_t life, unsigned count);

/** What the oracle knows a text by: its beginning, which no other text has. False if no life sets
 * this text. */
bool world_value_key(char key[ORACLE_VALUE_SIZE], const char* text);

#endif
