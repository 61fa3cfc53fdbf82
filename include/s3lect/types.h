/* s3lect/types.h: types of the store and of the elector that need nothing but libc. */
#ifndef S3LECT_TYPES_H
#define S3LECT_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What must hold for a request to be carried out (RFC 9110 section 13.1). */
typedef enum {
  S3LECT_ALWAYS = 0,     /* no condition */
  S3LECT_IF_ABSENT = 1,  /* put: only where no object is (If-None-Match: *) */
  S3LECT_IF_MATCH = 2,   /* put, del: only over the object with this ETag (If-Match) */
  S3LECT_IF_CHANGED = 3, /* get: only if the ETag differs, else ENOTMODIFIED (If-None-Match) */
} s3lect_condition_t;

/** What is known of the effect of a request that has ended. */
typedef enum {
  S3LECT_SETTLED = 0,     /* the store answered: status says what it did */
  S3LECT_NOT_APPLIED = 1, /* the request had no effect and never will: never sent, or turned away */
  S3LECT_UNCERTAIN = 2,   /* it may have been carried out, or may still be */
} s3lect_outcome_t;

/** One object of a listing. */
typedef struct s3lect_store_entry_s {
  const char* key;
  const char* etag;
  uint64_t body_len;   /* bytes */
  int64_t modified_ms; /* Unix time, or 0 if not given */
  const char* version; /* with S3LECT_REQ_VERSIONS: its ID; else NULL */
} s3lect_store_entry_t;

/** How a request ended.
 *   status 0              get, put, del, list did what was asked
 *   S3LECT_ENOTMODIFIED   get with S3LECT_IF_CHANGED: the ETag still stands
 *   S3LECT_ENOTFOUND      get, put with S3LECT_IF_MATCH, del: there is no such object
 *   S3LECT_EPRECONDITION  put, del: the condition did not hold (412)
 *   S3LECT_ECONFLICT      put, del: another write was under way (409); read, then decide
 *   others                as s3lect/errno.h and libuv name them; outcome tells what that means
 * For get, outcome is always S3LECT_SETTLED or S3LECT_NOT_APPLIED: a read has no effect. */
typedef struct s3lect_store_result_s {
  uint32_t size; /* sizeof(s3lect_store_result_t) of whoever filled it */
  int32_t status;
  int32_t outcome;     /* s3lect_outcome_t */
  int32_t http_status; /* 0 where no HTTP reply was read */
  const char* etag; /* get, put: opaque; quotes belong to it where the store sends them; or NULL */
  const char* body; /* get */
  size_t body_len;
  int64_t store_time_ms;   /* the reply's own time (Date), Unix time in ms; 0 if not given */
  int64_t modified_ms;     /* when the object was written (Last-Modified); 0 if not given */
  uint32_t retry_after_ms; /* what a throttling store asked for; 0 if nothing */
  uint32_t truncated;      /* list: more keys follow */
  const char* message;     /* for people: what the store or the transport said; NULL if nothing.
                              With notice != 0: those */
  const s3lect_store_entry_t* entries; /* list: in key order */
  size_t entries_len;
  uint32_t notes; /* S3LECT_NOTE_*: what else there is to know of the reply */
  int32_t notice; /* 0, or with status 0 or S3LECT_ENOTMODIFIED the code of something about the
                   store that its operator should know, told once, in `message`: S3LECT_EREGION (the
                   bucket's region was learned), S3LECT_ESKEW (requests are signed with the
                   store's time), S3LECT_EETAG (ETags come weak), S3LECT_ECROWDED (renewals wait
                   long for a connection) */
  uint32_t connections; /* that the store has; 0: it has none, or does not say */
  int64_t waited_ns;    /* how long the request waited for a connection, and with
                           S3LECT_REQ_TOGETHER for the other requests */
} s3lect_store_result_t;

/* The ETag came weak (W/"..."): a proxy on the way rewrites replies. It is used as a strong one. */
#define S3LECT_NOTE_ETAG_WEAK 0x01u
/* How the ETag of S3LECT_IF_MATCH was sent: in its quotes, or without them. */
#define S3LECT_NOTE_ETAG_QUOTED 0x02u
#define S3LECT_NOTE_ETAG_BARE   0x04u

/** The kinds of events, and the callback of each. */
typedef enum {
  S3LECT_EVENT_STARTED_LEADING = 1, /* on_started_leading: this elector leads, with `epoch` */
  S3LECT_EVENT_STOPPED_LEADING = 2, /* on_stopped_leading: leadership is over, for `reason` */
  S3LECT_EVENT_NEW_LEADER = 3,      /* on_new_leader: the record of a new leadership was seen, or
                                       written by this elector; the leader's address has changed;
                                       or a leader that was silent for its leader timeout has
                                       renewed its record after all */
  S3LECT_EVENT_RENEWED = 4,         /* on_renewed: validity has been prolonged */
  S3LECT_EVENT_ERROR = 5,           /* on_error: something failed, or the operator should know it.
                                       The elector continues, unless verify_on_start found
                                       S3LECT_EUNSAFE. An error that repeats with the same message
                                       is reported once, and then after 10 s, 20 s, 40 s, ... up to
                                       once an hour */
  S3LECT_EVENT_CLAIMING = 6,        /* on_claiming: no leader could be identified. This elector has
                                       written a provisional claim (s3lect_record_t.claim) and
                                       waits in case an earlier leader is still active */
  S3LECT_EVENT_NO_LEADER = 7,       /* on_no_leader: this elector knows no leader any more, or none
                                       after its start: the record is released, absent or claimed
                                       only, it has stood unchanged for the leader timeout, or this
                                       elector's own leadership has ended. Between two such events
                                       on_new_leader or on_started_leading runs */
  S3LECT_EVENT_EXPIRING = 8,        /* on_expiring: no renewal has been confirmed, and leadership
                                       ends in warn_before_ms. Once for each validity. on_renewed
                                       says that the danger is over */
  S3LECT_EVENT_VALUE = 9,           /* on_value: the value that the leader of `epoch` publishes has
                                       been seen, and differs from the last one, or belongs to
                                       another epoch. The leader is told of its own, too, when the
                                       store has it. "": it publishes none (any more). Comes after
                                       on_new_leader of that epoch; on_no_leader ends a value as
                                       well */
} s3lect_event_kind_t;

/** Why leadership ended. */
typedef enum {
  S3LECT_REASON_NONE = 0,
  S3LECT_REASON_EXPIRED = 1,  /* validity passed before a renewal was confirmed */
  S3LECT_REASON_LOST = 2,     /* the store shows another elector's record */
  S3LECT_REASON_RESIGNED = 3, /* s3lect_elector_resign */
  S3LECT_REASON_STOPPED = 4,  /* s3lect_elector_stop */
  S3LECT_REASON_CLOSED = 5,   /* s3lect_elector_close */
} s3lect_reason_t;

#ifdef __cplusplus
}
#endif

#endif
