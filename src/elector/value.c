#include "elector/value.h"

#include <string.h>
#include <uv.h>

#include "core/record.h"
#include "s3lect/errno.h"
#include "util/mem.h"
#include "util/utf8.h"

/* An address at its longest in a body: an update may change it while the value stays. */
#define ADDR_MAX (6 * (size_t)S3LECT_ADDR_SIZE)

int s3l_value_make(const char* id, const char* text, bool at_once, s3l_value_t** out) {
  s3l_span_t s = s3l_span_cstr(text);
  if (s.n >= S3LECT_VALUE_SIZE || !s3l_utf8_is_valid(s))
    return S3LECT_EOPTION;
  size_t body_size = s3l_record_encode_max(id, "", "") + ADDR_MAX + s3l_record_value_max(text) +
                     S3L_RECORD_FILE_MORE;
  s3l_value_t* v = s3l_calloc(1, sizeof *v + s.n + 1 + body_size);
  if (v == NULL)
    return UV_ENOMEM;
  v->at_once = at_once;
  v->body_size = body_size;
  memcpy(v->text, text, s.n + 1);
  v->body = v->text + s.n + 1;
  *out = v;
  return 0;
}

s3l_value_t* s3l_value_apply(s3l_value_t** waiting, s3l_value_t** now, s3l_core_t* core) {
  s3l_value_t* before = *now;
  s3l_value_t* v = *waiting;
  bool none = v->text[0] == '\0';
  *waiting = NULL;
  *now = none ? NULL : v;
  s3l_core_set_value(core, none ? "" : v->text, v->at_once);
  if (none)
    s3l_free(v);
  return before;
}
