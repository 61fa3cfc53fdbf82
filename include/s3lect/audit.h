/* s3lect/audit.h: whether two leaders of one election ever led together, and whether epochs grew.
 *
 * Judges afterwards, from what processes have logged or from what a store remembers. It says what
 * can be seen of an election that was held; it does not prove that the next one is safe.
 *
 * Vocabulary
 *   log          the events of one process, as lines of JSON: what `s3lect elect` prints and
 *                `s3lect run --events` writes, or a program of yours in its on_event callbacks
 *   source       one candidate in one log; or the store
 *   leadership   one epoch of one source: from its start until, for certain, the last sign that it
 *                led, and at the latest until its validity ended. The two are the same if its end
 *                was logged
 *   clock error  by how much the wall clocks of two machines may differ. Lease times of one machine
 *                are comparable exactly
 *   finding      two leaderships that must not be so, or that the clocks cannot exclude */
#ifndef S3LECT_AUDIT_H
#define S3LECT_AUDIT_H

#include <stddef.h>
#include <stdint.h>

#include "s3lect/errno.h"
#include "s3lect/export.h"
#include "s3lect/list.h"
#include "s3lect/record.h"

#ifdef __cplusplus
extern "C" {
#endif

#define S3LECT_AUDIT_MAX 1000000 /* leaderships of one audit; with more, it says ETOOBIG */

typedef struct s3lect_audit_s s3lect_audit_t;

typedef enum {
  S3LECT_FINDING_OVERLAP = 0,          /* both led at the same time, for certain */
  S3LECT_FINDING_POSSIBLE_OVERLAP = 1, /* it looks so, but clocks or a missing end may be why */
  S3LECT_FINDING_SAME_EPOCH = 2,       /* two leaderships with one epoch */
  S3LECT_FINDING_EPOCH_FELL = 3,       /* the later leadership has a smaller epoch */
} s3lect_finding_kind_t;

/** One leadership. Valid until the audit is freed. Times are Unix time in ms. */
typedef struct s3lect_leadership_s {
  size_t size; /* sizeof(s3lect_leadership_t) of the library */
  char id[S3LECT_ID_SIZE];
  uint64_t epoch;
  uint32_t source; /* counts the sources from 0 */
  int32_t ended;   /* 1: its end is known */
  char reason[32]; /* of that end, or "" */
  int64_t from_ms;
  int64_t until_ms;  /* it led until here for certain, unless it was over before it was told */
  int64_t latest_ms; /* it did not lead after this */
} s3lect_leadership_t;

/** One finding. Valid until the next judgement. */
typedef struct s3lect_finding_s {
  size_t size;   /* sizeof(s3lect_finding_t) of the library */
  int32_t kind;  /* s3lect_finding_kind_t */
  size_t first;  /* places of the two leaderships, for s3lect_audit_leadership, */
  size_t second; /* of which this one began later as far as can be seen */
  int64_t ms;    /* overlaps: for how long, as measured */
} s3lect_finding_t;

/** A judgement. Valid until the next one. */
typedef struct s3lect_audit_report_s {
  size_t size;        /* sizeof(s3lect_audit_report_t) of the library */
  int32_t wrong;      /* 1: something is wrong for certain: any finding but a possible overlap */
  uint32_t sources;   /* with a leadership or without */
  size_t leaderships; /* in the order of their starts */
  size_t findings;    /* in all, of which: */
  size_t overlaps;
  size_t possible_overlaps;
  size_t same_epochs;
  size_t epochs_fell;
  size_t close;          /* hand-overs that were shorter than the clock error can tell */
  size_t unlogged_ends;  /* leaderships whose end is not known */
  int32_t more_versions; /* 1: the lockfile has more versions than max_versions */
} s3lect_audit_report_t;

/** A store has been read. Runs exactly once for each successful s3lect_audit_read, from the loop,
 * never inside the call that started or cancelled it. `status` is 0, or an error, with `message`:
 * one line of text, valid during the call; else "". After an error the audit has a part of the
 * leaderships. Any call is legal inside, s3lect_audit_free included. */
typedef void (*s3lect_audit_cb)(s3lect_audit_t* audit, int status, const char* message);

/** Options. Zero means the default. */
typedef struct s3lect_audit_options_s {
  size_t size;             /* sizeof(s3lect_audit_options_t); set by s3lect_audit_options_init */
  uint32_t clock_error_ms; /* by how much a wall clock may be wrong; default 1000 */
  int32_t one_machine;     /* 1: all logs are of one machine, whose lease times are compared */
  uint32_t max_versions;   /* of a lockfile, the newest ones; default 1000 */
} s3lect_audit_options_t;

/** A handle. A fixed-size shell: the caller allocates it, must not move or copy it. */
struct s3lect_audit_s {
  void* data; /* the caller's */
  void* internal;
  void* reserved[4];
};

/** Sets every option to its default. `size` is sizeof(s3lect_audit_options_t). */
S3LECT_EXTERN void s3lect_audit_options_init(s3lect_audit_options_t* options, size_t size);

/** Initialises an audit of one election. Errors, with nothing to free: UV_EINVAL (a struct size
 * this library does not know), UV_ENOTSUP (an option is set that only a newer library knows),
 * UV_ENOMEM. */
S3LECT_EXTERN int s3lect_audit_init(s3lect_audit_t* audit, const s3lect_audit_options_t* options,
                                    s3lect_error_t* error);

/** Adds one event of a log: a JSON object of `len` bytes with the members event
 * (s3lect_event_name), id (the candidate's), epoch, lease_ns (s3lect_now_ns at the event),
 * valid_until_ns, time (RFC 3339), and reason if leadership ended. Others are ignored. Events of
 * one log come in their order. `log` is a number of the caller's, which differs for each log. The
 * text is copied. Errors, with a text in `error` (which may be NULL): S3LECT_ERECORD (no event, or
 * one without these members), UV_EINVAL (the audit reads a store, or is freed), S3LECT_ETOOBIG,
 * UV_ENOMEM. */
S3LECT_EXTERN int s3lect_audit_add_event(s3lect_audit_t* audit, uint32_t log, const char* line,
                                         size_t len, s3lect_error_t* error);

/** Reads what a store remembers of one election, on the store's loop: the epoch files that
 * keep_epochs has kept, or the versions of a lockfile in a versioned bucket. Of `election`,
 * `store` and `lockfile_path` are required, and `prefix` must be NULL; its request_timeout_ms
 * should be that of the electors. An audit judges either logs or one store. The store must stay
 * open until the callback. Errors, with no callback: S3LECT_EOPTION (an option), UV_EINVAL (a
 * struct size this library does not know, `cb` is NULL, or the audit has events, has read a store
 * already or is freed), UV_ENOTSUP (an option is set that only a newer library knows), UV_ENOSYS
 * (the store cannot list, or keeps no versions), UV_ENOMEM, and what the store returns. */
S3LECT_EXTERN int s3lect_audit_read(s3lect_audit_t* audit, const s3lect_list_options_t* election,
                                    s3lect_audit_cb cb, s3lect_error_t* error);

/** Cancels s3lect_audit_read: its callback runs soon, with UV_ECANCELED unless it had failed
 * before. No-op otherwise. */
S3LECT_EXTERN void s3lect_audit_cancel(s3lect_audit_t* audit);

/** Judges all leaderships that have been added. Events may be added afterwards, and judged again.
 * Errors: UV_EBUSY (a store is being read), UV_EINVAL (the audit is freed), UV_ENOMEM. */
S3LECT_EXTERN int s3lect_audit_judge(s3lect_audit_t* audit, const s3lect_audit_report_t** report);

/** Returns the leadership or the finding at place `i` of the last judgement; NULL behind the last
 * one. */
S3LECT_EXTERN const s3lect_leadership_t* s3lect_audit_leadership(const s3lect_audit_t* audit,
                                                                 size_t i);
S3LECT_EXTERN const s3lect_finding_t* s3lect_audit_finding(const s3lect_audit_t* audit, size_t i);

/** Frees an audit. Cancels s3lect_audit_read: its callback still runs, and `audit` must stay until
 * then. No-op if it is freed already. */
S3LECT_EXTERN void s3lect_audit_free(s3lect_audit_t* audit);

/** "overlap", "possible_overlap", "same_epoch" or "epoch_fell", of an s3lect_finding_kind_t.
 * Static. Any thread. */
S3LECT_EXTERN const char* s3lect_finding_name(int kind);

#ifdef __cplusplus
}
#endif

#endif
