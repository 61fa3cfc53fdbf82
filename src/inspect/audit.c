/* inspect/audit.c: the public functions of an audit (s3lect/audit.h). */
#include "inspect/audit.h"

#include <string.h>

#include "inspect/list.h"
#include "util/error.h"
#include "util/mem.h"
#include "util/versioned.h"

#define CLOCK_ERROR_DEFAULT  1000
#define MAX_VERSIONS_DEFAULT 1000

static void destroy(s3l_audit_t* audit) {
  for (size_t i = 0; i < audit->len; i++)
    s3l_free(audit->all[i]);
  s3l_free(audit->all);
  s3l_free(audit->sources);
  s3l_free(audit->findings);
  s3l_free(audit);
}

/* ---- Logs ---- */

int s3lect_audit_add_event(s3lect_audit_t* handle, uint32_t log, const char* line, size_t len,
                           s3lect_error_t* error) {
  s3l_audit_t* audit = handle->internal;
  s3l_error_clear(error);
  if (audit == NULL || audit->from_store)
    return s3l_error_end(error, UV_EINVAL);
  return s3l_error_end(error, s3l_audit_event(audit, log, line, len, error));
}

/* ---- A store ---- */

static void on_read(s3l_audit_t* audit, int error, const char* message) {
  bool freed = audit->freed;
  audit->cb(audit->handle, error, message);
  if (freed) /* before the callback, which has not touched it */
    destroy(audit);
}

int s3lect_audit_read(s3lect_audit_t* handle, const s3lect_list_options_t* election,
                      s3lect_audit_cb cb, s3lect_error_t* error) {
  s3l_audit_t* audit = handle->internal;
  s3lect_list_options_t o;
  s3l_error_clear(error);
  if (audit == NULL || cb == NULL || audit->from_store || audit->sources_len > 0)
    return s3l_error_end(error, UV_EINVAL);
  int r = s3l_list_options(election, &o, error);
  if (r == 0 && o.lockfile_path == NULL)
    r = s3l_error_say(error, S3LECT_EOPTION, "lockfile_path", NULL,
                      "missing; give that of the election");
  if (r != 0)
    return r;
  r = s3l_audit_read(audit, &o, on_read);
  audit->from_store = r == 0;
  audit->cb = cb;
  return s3l_error_end(error, r);
}

void s3lect_audit_cancel(s3lect_audit_t* handle) {
  s3l_audit_t* audit = handle->internal;
  if (audit != NULL && audit->read != NULL)
    s3l_audit_read_cancel(audit->read);
}

/* ---- The judgement ---- */

int s3lect_audit_judge(s3lect_audit_t* handle, const s3lect_audit_report_t** report) {
  s3l_audit_t* audit = handle->internal;
  if (audit == NULL || audit->read != NULL)
    return audit == NULL ? UV_EINVAL : UV_EBUSY;
  *report = &audit->report;
  return s3l_audit_judge(audit);
}

const s3lect_leadership_t* s3lect_audit_leadership(const s3lect_audit_t* handle, size_t i) {
  const s3l_audit_t* audit = handle->internal;
  return audit != NULL && i < audit->report.leaderships ? &audit->all[i]->seen : NULL;
}

const s3lect_finding_t* s3lect_audit_finding(const s3lect_audit_t* handle, size_t i) {
  const s3l_audit_t* audit = handle->internal;
  return audit != NULL && i < audit->report.findings ? &audit->findings[i] : NULL;
}

/* ---- Life ---- */

int s3lect_audit_init(s3lect_audit_t* handle, const s3lect_audit_options_t* options,
                      s3lect_error_t* error) {
  s3lect_audit_options_t o;
  s3l_error_clear(error);
  int err = s3l_versioned_copy(error, "s3lect_audit_options", options, &o, sizeof o);
  if (err != 0)
    return err;
  s3l_audit_t* audit = s3l_calloc(1, sizeof *audit);
  if (audit == NULL)
    return s3l_error_end(error, UV_ENOMEM);
  audit->clock_error_ms = s3l_or_default(o.clock_error_ms, CLOCK_ERROR_DEFAULT);
  audit->one_machine = o.one_machine != 0;
  audit->max_versions = s3l_or_default(o.max_versions, MAX_VERSIONS_DEFAULT);
  audit->clocks = 1;
  audit->handle = handle;
  handle->internal = audit;
  return 0;
}

void s3lect_audit_free(s3lect_audit_t* handle) {
  s3l_audit_t* audit = handle->internal;
  handle->internal = NULL;
  if (audit == NULL)
    return;
  audit->freed = audit->read != NULL;
  if (audit->freed)
    s3l_audit_read_cancel(audit->read);
  else
    destroy(audit);
}

void s3lect_audit_options_init(s3lect_audit_options_t* options, size_t size) {
  memset(options, 0, size);
  options->size = size;
}

const char* s3lect_finding_name(int kind) {
  static const char* const names[] = {
      [S3LECT_FINDING_OVERLAP] = "overlap",
      [S3LECT_FINDING_POSSIBLE_OVERLAP] = "possible_overlap",
      [S3LECT_FINDING_SAME_EPOCH] = "same_epoch",
      [S3LECT_FINDING_EPOCH_FELL] = "epoch_fell",
  };
  return kind >= 0 && (size_t)kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}
