/* inspect/audit.h: what the files of an audit share (s3lect/audit.h has the vocabulary).
 *
 * audit_log.c and audit_store.c add leaderships, audit_judge.c compares them, audit.c has the
 * public functions. */
#ifndef S3L_INSPECT_AUDIT_H
#define S3L_INSPECT_AUDIT_H

#include <stdbool.h>

#include "s3lect/audit.h"

#define S3L_AUDIT_STORE_ERROR_MS 1000 /* Last-Modified has a grain of a second */

/* The instants of a leadership. */
typedef enum {
  S3L_START,
  S3L_CERTAIN, /* it led until here, unless it was over before it was told */
  S3L_LATEST,  /* it did not lead after this */
  S3L_INSTANTS
} s3l_instant_t;

typedef struct s3l_leadership_s {
  s3lect_leadership_t seen; /* first: s3lect_audit_leadership gives its address */
  unsigned clock;           /* leaderships of the same one, not 0, have comparable lease times */
  int64_t lease_ns[S3L_INSTANTS]; /* if clock is not 0 */
  int64_t wall_ms[S3L_INSTANTS];  /* Unix time */
  int64_t start_error_ms;         /* of the start's wall time, */
  int64_t error_ms;               /* and of the two others */
} s3l_leadership_t;

/* A candidate within a log. */
typedef struct s3l_audit_source_s {
  uint32_t log;
  char id[S3LECT_ID_SIZE];
  unsigned clock;
  int64_t last_ns;        /* lease time of its last event */
  s3l_leadership_t* open; /* whose end is not logged yet, or NULL */
} s3l_audit_source_t;

typedef struct s3l_audit_read_s s3l_audit_read_t;

typedef struct s3l_audit_s {
  s3lect_audit_t* handle;
  s3lect_audit_cb cb; /* of the read */
  int64_t clock_error_ms;
  bool one_machine;
  uint32_t max_versions;
  unsigned clocks;  /* the highest number of a clock so far; at first that of the one machine */
  int64_t ahead_ms; /* one machine: wall time less lease time; 0: not known yet */
  s3l_leadership_t** all; /* after a judgement in the order of their starts */
  size_t len, cap;
  s3l_audit_source_t* sources;
  size_t sources_len, sources_cap;
  s3l_audit_read_t* read; /* under way, or NULL */
  bool from_store;
  bool freed;
  s3lect_finding_t* findings;
  size_t findings_cap;
  s3lect_audit_report_t report;
} s3l_audit_t;

/* ---- audit_log.c ---- */

int s3l_audit_event(s3l_audit_t* audit, uint32_t log, const char* line, size_t len,
                    s3lect_error_t* error);

/* ---- audit_judge.c ---- */

/** Adds a leadership. Returns 0, S3LECT_ETOOBIG or UV_ENOMEM. */
int s3l_audit_add(s3l_audit_t* audit, const char id[S3LECT_ID_SIZE], uint64_t epoch,
                  s3l_leadership_t** out);

/** Its end is known, for that reason. */
void s3l_audit_set_end(s3l_leadership_t* leadership, bool ended, const char* reason);

/** Fills findings and report. Returns 0 or UV_ENOMEM. */
int s3l_audit_judge(s3l_audit_t* audit);

/* ---- audit_store.c ---- */

/** Begins to read. `then` runs once if that returns 0, when `audit->read` is NULL again. */
int s3l_audit_read(s3l_audit_t* audit, const s3lect_list_options_t* election,
                   void (*then)(s3l_audit_t* audit, int error, const char* message));
void s3l_audit_read_cancel(s3l_audit_read_t* read);

#endif
