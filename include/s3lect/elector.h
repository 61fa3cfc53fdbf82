/* s3lect/elector.h: one candidate in one election.
 *
 * Vocabulary
 *   record          the content of the lockfile (s3lect/record.h): the leader, its epoch, ...
 *   leader timeout  how long a record stands without renewal before others may replace it; T
 *   renewal         the leader's next write of the record, which prolongs its validity
 *   validity        the instant, in lease time (s3lect_now_ns), at which this elector stops being
 *                   leader unless a renewal is confirmed before
 *   epoch           the fencing token: it grows with every leadership and never repeats. Send it
 *                   with every write, and let the receiver refuse a smaller one than it has seen:
 *                   a process can be paused between s3lect_elector_is_leader and the write
 *
 * Lifecycle: init, start, (resign, stop, start ...), close. If init fails there is nothing to clean
 * up. If it succeeds, close must be called, and the handle's memory must stay valid until the close
 * callback. All functions are called from the loop's thread, except those marked "any thread".
 *
 * Callbacks run from the loop, never inside a call of this API. Any call is legal inside any
 * callback. For each leadership, on_started_leading runs once, then on_renewed any number of times,
 * then on_stopped_leading exactly once, before the next on_started_leading. No callback runs after
 * the close callback. */
#ifndef S3LECT_ELECTOR_H
#define S3LECT_ELECTOR_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "s3lect/errno.h"
#include "s3lect/export.h"
#include "s3lect/record.h"
#include "s3lect/store.h"
#include "s3lect/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct s3lect_elector_s s3lect_elector_t;
typedef struct s3lect_peer_client_s s3lect_peer_client_t; /* see s3lect/peer.h */
typedef struct s3lect_event_s s3lect_event_t;

/** The event that a callback receives. It and its strings are valid during the callback. */
struct s3lect_event_s {
  size_t size;    /* sizeof(s3lect_event_t) of the library */
  int32_t kind;   /* s3lect_event_kind_t */
  int32_t reason; /* stopped leading: s3lect_reason_t */
  int32_t error;  /* error: a negative code. S3LECT_EREGION, S3LECT_ESKEW and S3LECT_EETAG may be
                     notices about the store instead of failures (s3lect_store_result_t) */
  uint32_t reserved;
  uint64_t
      epoch; /* started, stopped, renewed, expiring: this elector's; new leader: the leader's, 0 if
                unknown; claiming: the claim's; no leader: the last leader's, 0 if unknown */
  int64_t valid_until_ns; /* Lease time. Started, renewed, expiring: the validity in force. Stopped:
                             the instant at which leadership ended. Others: 0 if not leading */
  const char* leader_id;  /* the leader as far as known; "" if there is none. Never "" for a
                             new leader, always "" for no leader */
  const char* leader_addr;     /* its server_addr; "" if it has set none, or there is no leader */
  const char* message;         /* error: one line of text; else "" */
  int64_t takeover_allowed_ns; /* Lease time. Started, new leader: from when on this elector could
                                  have replaced the record before, because it saw the release or
                                  its time was over; 0 if there was no record. May lie in the
                                  future for a new leader whose release was not seen. Claiming:
                                  from when on this elector may lead. Other kinds: 0 */
  const char* value; /* what the leader publishes, as far as known; "" if nothing, or there is none
                      */
};

/** Reports an event. Any call is legal inside. */
typedef void (*s3lect_event_cb)(s3lect_elector_t* elector, const s3lect_event_t* event);
/** The elector is closed and its memory is the caller's again. The last callback of an elector. */
typedef void (*s3lect_elector_cb)(s3lect_elector_t* elector);
/** One line for each input and decision of the election's core; `line` is valid during the call.
 * For debugging: the text may change between versions. */
typedef void (*s3lect_trace_cb)(s3lect_elector_t* elector, const char* line);

/** The name of an s3lect_event_kind_t: "started_leading", "stopped_leading", "new_leader",
 * "renewed", "error", "claiming", "no_leader", "expiring", "value", or "unknown". Static. Any
 * thread. */
S3LECT_EXTERN const char* s3lect_event_name(int kind);
/** The name of an s3lect_reason_t: "expired", "lost", "resigned", "stopped", "closed", or "none".
 * Static. Any thread. */
S3LECT_EXTERN const char* s3lect_reason_name(int reason);

/** When a record may be replaced. */
typedef enum {
  /* After this elector has observed it unchanged for a whole leader timeout. */
  S3LECT_EXPIRY_OBSERVED = 0,
  /* Also when the store's own clock shows this: Date minus Last-Modified of one response, plus 2 s.
   * Saves the wait after a start. A step of the store's clock may make two leaders. Refused for
   * stores without S3LECT_STORE_OWN_CLOCK, such as the file and memory stores. */
  S3LECT_EXPIRY_STORE_CLOCK = 1,
} s3lect_expiry_t;

/** How an election is stored. All candidates of an election use the same protocol. */
typedef enum {
  /* One object, replaced by compare-and-swap. Needs If-Match. Go processes can take part. */
  S3LECT_PROTOCOL_LOCKFILE = 0,
  /* One object per leadership, lockfile_path + "lock-0000000042.json"; the number is the epoch (the
   * first one is the store's time in seconds). Needs If-None-Match: * and listings that show what
   * was written a leader timeout ago. lockfile_path is the prefix, for example "locks/db/", of at
   * most 1004 bytes. A renewal is two requests, so the request timeout counts twice towards the
   * leader timeout. */
  S3LECT_PROTOCOL_EPOCHS = 1,
} s3lect_protocol_t;

/** Options of an elector. Zero or NULL means the default. Init copies the strings; the store and
 * the peer client must outlive the elector. Names and defaults of the first group are those of the
 * Go package. */
typedef struct s3lect_elector_options_s {
  size_t size; /* sizeof(s3lect_elector_options_t); set by s3lect_elector_options_init */

  const char* lockfile_path;       /* required: the object's key, or the prefix of epoch files. No
                                      segment may be empty, "." or "..": stores differ in which
                                      object such a key names. A prefix may end with '/' */
  const char* server_id;           /* required: unique for each process; 1..255 bytes of UTF-8 */
  const char* server_addr;         /* host:port at which others reach this server; may be NULL */
  uint32_t frequent_interval_ms;   /* interval of reads while leadership changes; default: the
                                      smaller of 5000 and the infrequent interval */
  uint32_t infrequent_interval_ms; /* interval of reads under a stable leader; a follower also reads
                                      when the observed record may be replaced. Default: 5000, or
                                      30000 with a peer_client */
  uint32_t leader_timeout_ms;      /* T: default 15000, at most 86400000 (24 h) */

  s3lect_store_t* store;       /* required; on the same loop */
  int32_t protocol;            /* s3lect_protocol_t */
  int32_t keep_epochs;         /* 1: keep old epoch files as a history; else a leader removes all
                                  but the newest two */
  uint32_t renew_interval_ms;  /* default: the smaller of T/3 and the frequent interval, if given,
                                  or 5000; at least 1000 where the store takes one write a second
                                  to an object (S3LECT_STORE_SLOW_WRITES) */
  uint32_t request_timeout_ms; /* of each attempt; default: the smaller of 3000 and what fits into T
                                  beside the renewal interval and the retry schedule */
  uint32_t drift_ppm;          /* bound on the difference of clock rates; default 10000 (1 %) */
  uint32_t grace_period_ms;    /* time between winning and on_started_leading; until then
                                  s3lect_elector_is_leader says no; default 0 */
  uint32_t release_timeout_ms; /* bound on the release at close; default 1000, or 2500 where the
                                  store takes one write a second to an object */
  uint32_t stop_ack_ms;        /* not 0: after on_stopped_leading the record is released only after
                                  s3lect_elector_ack, and not at all if that does not come within
                                  this time (others then wait for the leader timeout) */
  uint32_t renew_deadline_ms;  /* leadership ends so long before its validity would, unless a
                                  renewal has been confirmed by then: more time to stop before
                                  others may lead. At least 5, which is the default */
  uint32_t warn_before_ms;     /* not 0: on_expiring runs so long before leadership ends for want
                                  of a renewal. It must leave the renewal interval to the leader */
  int32_t no_release;          /* 1: let the record expire at stop and close */
  int32_t expiry;              /* s3lect_expiry_t */
  int32_t priority;        /* 1 to 3, default 3: higher goes first. Where a record is released or
                              its time is over, a candidate of 2 waits for one step more, a
                              candidate of 1 for two: 500 ms each, or a quarter of the renewal
                              interval if that is shorter. A successor that is named by a
                              transfer does not wait */
  int32_t observer;        /* 1: follow the election without being a candidate; never writes */
  int32_t verify_on_start; /* 1: test the store before the first start takes effect (the quick
                              part of s3lect_verify_start: about 80 requests to temporary
                              objects lockfile_path + ".verify-..."). If the store is unsafe,
                              on_error reports S3LECT_EUNSAFE and the elector stops */

  /* Peer mode: ask the leader instead of the store (s3lect/peer.h). */
  s3lect_peer_client_t* peer_client; /* NULL: off. On the same loop */
  const char* peer_health_path;      /* the path at every server of the election; default
                                        S3LECT_PEER_HEALTH_PATH */
  uint32_t peer_interval_ms;         /* maximum time between two questions to the leader; default:
                                        the infrequent interval */
  uint32_t peer_timeout_ms;          /* bound on an answer, not counting the time it is held on
                                        request; default 3000 */

  /* Callbacks; each may be NULL. The check for an election of the other protocol at the same key
   * (S3LECT_EPROTOCOL) runs only with an on_error. */
  s3lect_event_cb on_started_leading;
  s3lect_event_cb on_stopped_leading;
  s3lect_event_cb on_new_leader;
  s3lect_event_cb on_renewed;
  s3lect_event_cb on_error;
  s3lect_event_cb on_claiming;
  s3lect_event_cb on_no_leader;
  s3lect_event_cb on_expiring;
  s3lect_event_cb on_value;
  s3lect_trace_cb on_trace;
} s3lect_elector_options_t;

/** The Go package's default. */
#define S3LECT_PEER_HEALTH_PATH "/health/leadership"

/** An elector. The caller allocates it, and must not move or copy it. */
struct s3lect_elector_s {
  void* data;      /* the caller's */
  uv_loop_t* loop; /* read-only */
  void* internal;
  void* reserved[8];
};

/** Sets every option to its default. `size` is sizeof(s3lect_elector_options_t). */
S3LECT_EXTERN void s3lect_elector_options_init(s3lect_elector_options_t* options, size_t size);

/** Checks options as s3lect_elector_init does, without I/O or allocation. Returns 0 or an error of
 * s3lect_elector_init; `error` may be NULL. */
S3LECT_EXTERN int s3lect_elector_options_check(const s3lect_elector_options_t* options,
                                               s3lect_error_t* error);

/** Checks options, and fills `resolved` with the values that an elector would use: defaults replace
 * zeros. The caller sets `resolved->size`. Pointers are copied. Errors: those of
 * s3lect_elector_options_check; UV_EINVAL (the size of `resolved` is unknown). */
S3LECT_EXTERN int s3lect_elector_options_resolve(const s3lect_elector_options_t* options,
                                                 s3lect_elector_options_t* resolved,
                                                 s3lect_error_t* error);

/** Prepares an elector. Does no I/O; no callback runs before start.
 * Errors, with nothing to clean up and, if `error` is not NULL, a text in it: S3LECT_EOPTION (a
 * missing or invalid option), S3LECT_ETIMING (renewal interval + retry schedule + request timeout
 * do not fit into the leader timeout), UV_EINVAL (an unknown struct size), UV_ENOTSUP (an option of
 * a newer library is set), UV_ECANCELED (the peer client is closing), UV_ENOMEM. */
S3LECT_EXTERN int s3lect_elector_init(uv_loop_t* loop, s3lect_elector_t* elector,
                                      const s3lect_elector_options_t* options,
                                      s3lect_error_t* error);

/** Takes part in the election until stop or close, under a new incarnation (random bits that
 * distinguish this start from all others). Keeps the loop alive. All callbacks may run from now on.
 * Errors: UV_EALREADY (started), UV_EBUSY (an earlier stop is still releasing the record),
 * UV_ECANCELED (closing), UV_EIO (the system gave no random bytes). */
S3LECT_EXTERN int s3lect_elector_start(s3lect_elector_t* elector);

/** Gives up leadership and stays a candidate. s3lect_elector_is_leader says no at once;
 * on_stopped_leading runs (S3LECT_REASON_RESIGNED); the record is released; and for one leader
 * timeout this elector lets others lead first. Errors: UV_EINVAL (not leading). */
S3LECT_EXTERN int s3lect_elector_resign(s3lect_elector_t* elector);

/** Resigns and names the successor. For two seconds, or half of the leader timeout if that is
 * shorter, only the elector with the server ID `to_id` may take over; afterwards any elector may.
 * The successor must already take part in the election. Errors: UV_EINVAL (not leading),
 * S3LECT_EOPTION (`to_id` is empty, too long, not UTF-8 or this elector's own), UV_ENOMEM. */
S3LECT_EXTERN int s3lect_elector_transfer(s3lect_elector_t* elector, const char* to_id);

/** Changes options of an elector, at any time. `options` are complete, as for s3lect_elector_init,
 * and are checked as there. What may differ: server_addr, priority, all intervals and time limits,
 * and leader_timeout_ms unless this elector leads, is about to, or releases its record. The
 * callbacks, keep_epochs and verify_on_start are not looked at. Takes effect from the loop, as soon
 * as no write is under way; the record shows it with the next renewal, and followers learn another
 * address by on_new_leader. A call before that replaces the call before. On error nothing changes:
 * those of s3lect_elector_init; S3LECT_EOPTION (another option differs); UV_EBUSY
 * (leader_timeout_ms cannot change now); UV_ECANCELED (closing). */
S3LECT_EXTERN int s3lect_elector_update(s3lect_elector_t* elector,
                                        const s3lect_elector_options_t* options,
                                        s3lect_error_t* error);

/** Sets the value that this elector publishes while it leads: up to 1 KiB of UTF-8, of any content
 * but NUL, which is copied; NULL or "" for none. It stays for every later leadership, until it is
 * set again; a call before that replaces the call before. The next write of the record carries it:
 * the take-over, or the next renewal, without a further request. If `at_once` is not 0, a leader
 * renews for it as soon as no other request is under way. Followers see it by on_value and in
 * s3lect_status_t.record, which in peer mode needs no request to the store; they never see it under
 * another epoch. An observer publishes nothing. May be called before start. Errors: S3LECT_EOPTION
 * (`text` is too long or not UTF-8), UV_ENOMEM, UV_ECANCELED (closing). */
S3LECT_EXTERN int s3lect_elector_set_value(s3lect_elector_t* elector, const char* text,
                                           int at_once);

/** Leaves the election, and releases the record if this elector leads. on_stopped_leading runs in
 * that case (S3LECT_REASON_STOPPED), and no other callback but on_error until the next start. Keeps
 * the loop alive until the release has succeeded or failed. Errors: UV_EALREADY (not started). */
S3LECT_EXTERN int s3lect_elector_stop(s3lect_elector_t* elector);

/** With stop_ack_ms: acknowledges that the work of a leadership has ended, so that the record may
 * be released. `epoch` is that of the on_stopped_leading event; the call also acknowledges every
 * earlier leadership. It may be made inside on_stopped_leading or at any time after it. It has no
 * effect for any other epoch than that of the leadership that ended last. */
S3LECT_EXTERN void s3lect_elector_ack(s3lect_elector_t* elector, uint64_t epoch);

/** Closes an elector. It leaves the election and, if it leads, runs on_stopped_leading and releases
 * the record, which takes at most release_timeout_ms (after stop_ack_ms, if that is set).
 * Close may be called once; `cb` (may be NULL) runs exactly once, from the loop, as the handle's
 * last callback, and the handle's memory is the caller's again. Errors: UV_EALREADY (it is closing
 * already: this `cb` does not run). */
S3LECT_EXTERN int s3lect_elector_close(s3lect_elector_t* elector, s3lect_elector_cb cb);

/** Returns 1 if this elector leads and its validity has not passed at this instant, else 0.
 * Compares with the clock at each call. Any thread, while the handle is open; lock-free. */
S3LECT_EXTERN int s3lect_elector_is_leader(const s3lect_elector_t* elector);

/** Returns the milliseconds until validity ends, rounded down; 0 if not leading. Any thread, while
 * the handle is open; lock-free. */
S3LECT_EXTERN uint64_t s3lect_elector_valid_for_ms(const s3lect_elector_t* elector);

/** Returns the epoch of the present leadership, or else of the last one; 0 before the first. Any
 * thread, while the handle is open; lock-free. Read the epoch first and call
 * s3lect_elector_is_leader after it: then the epoch is never newer than the leadership. (It may be
 * older, and the receiver of the fencing token then refuses it.) */
S3LECT_EXTERN uint64_t s3lect_elector_epoch(const s3lect_elector_t* elector);

typedef enum {
  S3LECT_ROLE_STOPPED = 0,
  S3LECT_ROLE_FOLLOWER = 1,
  S3LECT_ROLE_LEADER = 2,
} s3lect_role_t;

/** A snapshot of an elector's state. */
typedef struct s3lect_status_s {
  size_t size;             /* set by the caller: sizeof(s3lect_status_t) */
  int32_t role;            /* s3lect_role_t */
  int32_t last_error;      /* 0, or the last error that on_error reported */
  uint64_t epoch;          /* as s3lect_elector_epoch */
  int64_t valid_until_ns;  /* Lease time; 0 if not leading */
  s3lect_record_t record;  /* the last record seen or written; leader_id "" if there is none */
  int64_t leader_until_ns; /* Lease time: when another elector's record may be replaced unless it
                              changes; its leader may have stopped earlier. 0: there is no leader,
                              or it is this elector */
  int32_t observed;        /* 1: the store has shown its content since start; else `record` says
                              nothing, not even that there is none */
  int32_t peer_error;      /* peer mode: why the last question to the leader failed, so that this
                              elector reads the store instead; 0: it did not fail */
} s3lect_status_t;

/** Counters since init. */
typedef struct s3lect_stats_s {
  size_t size;                 /* set by the caller: sizeof(s3lect_stats_t) */
  uint64_t reads;              /* requests to the store for the lockfile, or to list epoch files */
  uint64_t reads_not_modified; /* of those, answered "not modified" */
  uint64_t writes;             /* requests that write, of any kind */
  uint64_t renewals;           /* confirmed */
  uint64_t leaderships;        /* started */
  uint64_t retries;            /* attempts beyond an operation's first */
  uint64_t failures;           /* operations given up */
  uint64_t unknown_outcomes;   /* writes whose reply was lost */
  uint64_t unknown_resolved;   /* of those, found to be applied */
  uint64_t conflicts;          /* writes answered 412, 404 or 409 */
  uint64_t late_replies;       /* renewals confirmed after their validity */
  uint64_t peer_checks;        /* questions to the leader (s3lect/peer.h) */
  uint64_t peer_answers;       /* of those, answered by it acceptably */
  uint64_t peer_failures;      /* ... not answered, late, or not by a leader */
  uint64_t peer_refused;       /* ... answered with something impossible */
} s3lect_stats_t;

/** Fills `status`, whose `size` the caller has set, with the present state. Sends no request.
 * Errors: UV_EINVAL (an unknown size), UV_ECANCELED (closed). */
S3LECT_EXTERN int s3lect_elector_status(const s3lect_elector_t* elector, s3lect_status_t* status);

/** Fills `stats`, whose `size` the caller has set, with the present counters. Errors: as
 * s3lect_elector_status. */
S3LECT_EXTERN int s3lect_elector_stats(const s3lect_elector_t* elector, s3lect_stats_t* stats);

/** Writes the metrics of `n` electors of one loop as one page in Prometheus's text format, which a
 * program with its own HTTP server sends as "text/plain; version=0.0.4" (docs/monitoring.md lists
 * them). Like snprintf: returns the length of the page without a NUL, and writes as much of it as
 * fits into `size` bytes, with a NUL; if `size` is 0, `text` may be NULL. Give the length 1 KiB
 * more room for the next call: numbers grow. Requests and their times are counted from the
 * elector's first page, or place at a peer server, on. Errors: UV_ECANCELED (an elector is closed),
 * UV_ENOMEM. */
S3LECT_EXTERN int s3lect_elector_metrics(s3lect_elector_t* const* electors, size_t n, char* text,
                                         size_t size);

/** Returns the ID of the last known leader; "" if there is none or the elector is closed. Valid
 * until the loop runs again. The leader may have crashed: see leader_until_ns in s3lect_status_t.
 */
S3LECT_EXTERN const char* s3lect_elector_leader(const s3lect_elector_t* elector);

/** Makes a started elector keep the loop alive, which is the default. No effect after close. */
S3LECT_EXTERN void s3lect_elector_ref(s3lect_elector_t* elector);
/** Stops keeping the loop alive. uv_run may then return while the elector runs, and its lease will
 * expire. No effect after close. */
S3LECT_EXTERN void s3lect_elector_unref(s3lect_elector_t* elector);

#ifdef __cplusplus
}
#endif

#endif
