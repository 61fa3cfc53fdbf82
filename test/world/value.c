/* world/value.c: see value.h. */
#include "world/value.h"

#include <stdio.h>
#include <string.h>

#define NONE_EVERY 3
#define LONG_EVERY 8

/* What a body must escape, and what it must not. */
static const char filler[] = " \"a\\b\"\n\t/\x01\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x91";

static void fill(char text[S3LECT_VALUE_SIZE]) {
  size_t n = sizeof filler - 1;
  for (size_t len = strlen(text); len + n < S3LECT_VALUE_SIZE; len += n)
    memcpy(text + len, filler, n + 1);
}

void world_value_text(char text[S3LECT_VALUE_SIZE], int node, uint32_t life, unsigned count) {
  text[0] = '\0';
  if (count == 0 || (life + count) % NONE_EVERY == 0)
    return;
  (void)snprintf(text, S3LECT_VALUE_SIZE, "%d.%u.%u", node, life, count);
  if (count % LONG_EVERY == 0)
    fill(text);
}

bool world_value_key(char key[ORACLE_VALUE_SIZE], const char* text) {
  char whole[S3LECT_VALUE_SIZE] = "";
  int node;
  unsigned life, count;
  if (sscanf(text, "%d.%u.%u", &node, &life, &count) == 3)
    world_value_text(whole, node, life, count);
  (void)snprintf(key, ORACLE_VALUE_SIZE, "%.*s", (int)strcspn(text, " "), text);
  return strcmp(whole, text) == 0;
}
