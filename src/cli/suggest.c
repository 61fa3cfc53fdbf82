#include "suggest.h"

#include <string.h>

/* Edits (insert, delete, replace) that turn one word into the other. */
static size_t distance(const char* a, size_t a_len, const char* b, size_t b_len) {
  size_t row[CLI_NEAR_NONE + 1];
  if (a_len > CLI_NEAR_NONE || b_len > CLI_NEAR_NONE)
    return CLI_NEAR_NONE;
  for (size_t j = 0; j <= b_len; j++)
    row[j] = j;
  for (size_t i = 1; i <= a_len; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b_len; j++) {
      size_t best = diagonal + (a[i - 1] != b[j - 1]);
      if (row[j] + 1 < best)
        best = row[j] + 1;
      if (row[j - 1] + 1 < best)
        best = row[j - 1] + 1;
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row[b_len];
}

bool cli_is_near(const char* word, size_t len, const char* name, size_t* best) {
  size_t name_len = strlen(name);
  size_t d = distance(word, len, name, name_len);
  if (len >= 3 && len < name_len && memcmp(word, name, len) == 0)
    d = 1;
  if (d > 1 + name_len / 4 || d >= *best)
    return false;
  *best = d;
  return true;
}
