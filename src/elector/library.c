/* elector/library.c: what concerns the library as a whole: its version, its memory, the names of
 * things. */
#include <string.h>
#include <uv.h>

#include "core/epochs.h"
#include "core/record.h"
#include "s3lect.h"
#include "util/mem.h"

const char* s3lect_version_string(void) {
  return S3LECT_VERSION_STRING;
}

int s3lect_set_allocator(void* (*malloc_func)(size_t), void* (*realloc_func)(void*, size_t),
                         void* (*calloc_func)(size_t, size_t), void (*free_func)(void*)) {
  if (malloc_func == NULL || realloc_func == NULL || calloc_func == NULL || free_func == NULL)
    return UV_EINVAL;
  s3l_mem_set(&(s3l_mem_hooks_t){malloc_func, realloc_func, calloc_func, free_func});
  return 0;
}

/* A word of a table whose first one stands for every other number, too. */
#define NAME(names, number)                                                                        \
  (names)[(number) > 0 && (size_t)(number) < sizeof(names) / sizeof *(names) ? (number) : 0]

const char* s3lect_event_name(int kind) {
  static const char* const names[] = {
      "unknown",
      [S3LECT_EVENT_STARTED_LEADING] = "started_leading",
      [S3LECT_EVENT_STOPPED_LEADING] = "stopped_leading",
      [S3LECT_EVENT_NEW_LEADER] = "new_leader",
      [S3LECT_EVENT_RENEWED] = "renewed",
      [S3LECT_EVENT_ERROR] = "error",
      [S3LECT_EVENT_CLAIMING] = "claiming",
      [S3LECT_EVENT_NO_LEADER] = "no_leader",
      [S3LECT_EVENT_EXPIRING] = "expiring",
      [S3LECT_EVENT_VALUE] = "value",
  };
  return NAME(names, kind);
}

const char* s3lect_reason_name(int reason) {
  static const char* const names[] = {
      "none",
      [S3LECT_REASON_EXPIRED] = "expired",
      [S3LECT_REASON_LOST] = "lost",
      [S3LECT_REASON_RESIGNED] = "resigned",
      [S3LECT_REASON_STOPPED] = "stopped",
      [S3LECT_REASON_CLOSED] = "closed",
  };
  return NAME(names, reason);
}

int s3lect_record_parse(const char* body, size_t body_len, s3lect_record_t* record) {
  return s3l_record_parse((s3l_span_t){body, body_len}, record);
}

int s3lect_epoch_file_parse(const char* body, size_t body_len, uint64_t epoch,
                            s3lect_record_t* record) {
  return s3l_record_parse_file((s3l_span_t){body, body_len}, epoch, record);
}

uint64_t s3lect_epoch_file_number(const char* prefix, const char* key) {
  size_t n = strlen(prefix);
  return strncmp(key, prefix, n) == 0 ? s3l_epochs_number(s3l_span_cstr(key + n)) : 0;
}
