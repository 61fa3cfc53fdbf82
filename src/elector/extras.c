#include "elector/extras.h"

#include "util/mem.h"

s3l_extras_t* s3l_extras_get(s3l_extras_t** extras) {
  if (*extras == NULL)
    *extras = s3l_calloc(1, sizeof **extras);
  return *extras;
}

void s3l_extras_free(s3l_extras_t* x) {
  if (x == NULL)
    return;
  s3l_free(x->transfer);
  s3l_free(x->granted);
  s3l_free(x->candidacy);
  s3l_free(x->value);
  s3l_free(x->value_waiting);
  s3l_free(x);
}
