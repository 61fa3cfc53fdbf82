#include "core/epochs.h"

#include "util/assert.h"
#include <string.h>

#define STEM   (sizeof(S3L_EPOCHS_STEM) - 1)
#define DIGITS 10
#define ENDING ".json"

void s3l_epochs_tail(uint64_t number, char out[S3L_EPOCHS_TAIL_SIZE]) {
  S3L_ASSERT(number > 0 && number <= S3L_EPOCHS_MAX);
  memcpy(out, S3L_EPOCHS_STEM, STEM);
  for (size_t i = DIGITS; i-- > 0; number /= 10)
    out[STEM + i] = (char)('0' + number % 10);
  memcpy(out + STEM + DIGITS, ENDING, sizeof(ENDING));
}

uint64_t s3l_epochs_number(s3l_span_t tail) {
  uint64_t number = 0;
  if (tail.n != S3L_EPOCHS_TAIL_SIZE - 1 || !s3l_span_starts_with(tail, S3L_SPAN(S3L_EPOCHS_STEM)))
    return 0;
  for (size_t i = STEM; i < STEM + DIGITS; i++) {
    if (tail.p[i] < '0' || tail.p[i] > '9')
      return 0;
    number = number * 10 + (uint64_t)(tail.p[i] - '0');
  }
  s3l_span_t ending = {tail.p + STEM + DIGITS, tail.n - STEM - DIGITS};
  return s3l_span_eq(ending, S3L_SPAN(ENDING)) && number <= S3L_EPOCHS_MAX ? number : 0;
}

void s3l_listing_add(s3l_listing_t* l, uint64_t number, int64_t modified_ms) {
  if (number == 0)
    return;
  if (number > l->highest)
    l->highest = number;
  if (l->old_len == S3L_LISTING_OLD)
    return;
  l->old[l->old_len] = number;
  l->old_modified_ms[l->old_len++] = modified_ms;
}
