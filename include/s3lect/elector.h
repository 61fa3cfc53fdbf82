/* s3lect/elector.h: one candidate in one election.
 *
 * Vocabulary
 *   record     what the lockfile holds (s3lect/record.h): who leads, in which epoch
 *   leader timeout  how long a record stands without renewal before others may take it; "T" here
 *   renewal    the leader's next write of the record, which prolongs its validity
 *   validity   the instant, in lease time (s3lect_now_ns), at which this elector stops being leader
 *              unless a renewal is confirmed before
 *   epoch      the fencing token: grows with every leadership, never repeats. Pass it along with
 *              whatever you write, and let the receiver refuse a smaller one than it has seen: a
 *              process can always be paused between asking s3lect_elector_is_leader and acting on
 * it
 *
 * Lifecycle: init, start, (resign, stop, start ...), close. An init that fails leaves nothing to
 * clean up; after one that succeeds, close must be called, and the memory of the handle stays the
 * elector's until the close callback. Everything is called from the loop's thread, except the
 * three functions marked "any thread".
 *
 * Callbacks run from the loop, never inside a call of this API; any call is legal inside any
 * callback, close included. Per leadership: on_started_leading once, then on_renewed any number of
 * times, then on_stopped_leading exactly once, before the next on_started_leading. None runs after
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

/** What a callback is told; it and its strings are valid during the callback. */
struct s3lect_event_s {
  size_t size;    /* sizeof(s3lect_event_t) of the library */
  int32_t kind;   /* s3lect_event_kind_t */
  int32_t reason; /* stopped leading: s3lect_reason_t */
  int32_t error;  /* error: a negative code. Not all are failures: S3LECT_EREGION, S3LECT_ESKEW and
                     S3LECT_EETAG may be news of the store (s3lect_store_result_t), once each */
  uint32_t reserved;
  uint64_t epoch; /* started, stopped, renewed: one's own; new leader: the leader's, 0 if unknown;
                     claiming: that of the claim */
  int64_t valid_until_ns;  /* Lease time. Started, renewed: validity now in force. Stopped: the
                              instant at which leadership ended. Others: 0 if not leading */
  const char* leader_id;   /* the leader as far as is known; "" if none is, never of a new leader */
  const char* leader_addr; /* its server_addr; "" if it has given none, or none is known */
  const char* message;     /* error: one line for people; else "" */
  int64_t legal_ns; /* Lease time. Started, new leader: from when on what stood before could be
                       replaced, as far as this elector knew: its release was seen, or its time was
                       over. A take-over comes later by its requests (with epoch files there are
                       more of them), and where this elector let others go first after a
                       resignation of its own, or unverified answers in peer mode kept it from
                       looking. Of a new leader it may lie ahead, where a release was not seen.
                       0: nothing stood before. Claiming: from when on this elector may lead. Other
                       kinds: 0 */
};

/** Tells of what has happened. Any call is legal inside. */
typedef void (*s3lect_event_cb)(s3lect_elector_t* elector, const s3lect_event_t* event);
/** The elector is closed: its memory is the caller's again. The last callback that it makes. */
typedef void (*s3lect_elector_cb)(s3lect_elector_t* elector);
/** One line per thing that the election core is told and decides; `line` is valid during the call.
 * For looking at what an elector does; the text may change between versions. */
typedef void (*s3lect_trace_cb)(s3lect_elector_t* elector, const char* line);

/** The name of an s3lect_event_kind_t: "started_leading", "stopped_leading", "new_leader",
 * "renewed", "error", "claiming"; of anything else "unknown". Static. Any thread. */
S3LECT_EXTERN const char* s3lect_event_name(int kind);
/** The name of an s3lect_reason_t: "expired", "lost", "resigned", "stopped", "closed"; of anything
 * else "none". Static. Any thread. */
S3LECT_EXTERN const char* s3lect_reason_name(int reason);

/** How an absent leader is recognised. */
typedef enum {
  /* A record must stand unchanged for a whole leader timeout under this elector's own eyes. */
  S3LECT_EXPIRY_OBSERVED = 0,
  /* Also if the store's own clock says so: Date minus Last-Modified of one response, plus 2 s.
   * Saves the wait after a start. For stores whose nodes share a good clock: a step of that clock
   * may make two leaders. Refused for the file and memory stores, whose time is a local wall
   * clock's, and for stores without S3LECT_STORE_OWN_CLOCK. */
  S3LECT_EXPIRY_STORE_CLOCK = 1,
} s3lect_expiry_t;

/** What the store holds of an election. */
typedef enum {
  /* One object, replaced by compare-and-swap. Needs If-Match; Go processes can take part. */
  S3LECT_PROTOCOL_LOCKFILE = 0,
  /* One object per leadership, lockfile_path + "lock-0000000042.json", with the epoch for its
   * number (of ten digits; a first one is the store's time in seconds). Needs no more than
   * If-None-Match: *, and listings that show what was written within a leader timeout.
   * lockfile_path is the prefix of all, say "locks/db/", of at most 1004 bytes. A renewal is two
   * requests, so the request timeout counts twice towards the leader timeout. */
  S3LECT_PROTOCOL_EPOCHS = 1,
} s3lect_protocol_t;

/** Options. Zero or NULL means the default. Strings are copied by init; the store is not: it must
 * outlive the elector. Names and defaults of the first group are the Go package's. */
typedef struct s3lect_elector_options_s {
  size_t size; /* sizeof(s3lect_elector_options_t); set by s3lect_elector_options_init */

  const char* lockfile_path;       /* the object's key, or the prefix of epoch files; required. No
                                      segment of it may be empty, "." or "..": stores differ in the
                                      object that such a key names. A prefix may end with '/' */
  const char* server_id;           /* unique per process; required; 1..255 bytes of UTF-8 */
  const char* server_addr;         /* host:port at which others reach this server; may be NULL */
  uint32_t frequent_interval_ms;   /* polling while leadership is in transition; default: the
                                      smaller of 5000 and the infrequent interval */
  uint32_t infrequent_interval_ms; /* polling under a stable leader; the follower also looks when
                                      the record that it saw may be replaced. Default: 5000, or
                                      30000 with a peer_client */
  uint32_t leader_timeout_ms;      /* T: default 15000, at most 86400000 (24 h) */

  s3lect_store_t* store;       /* required; on the same loop */
  uint32_t renew_interval_ms;  /* default: the smaller of T/3 and the frequent interval, which
                                  counts as 5000 where it is not given */
  uint32_t request_timeout_ms; /* each attempt; default: the smaller of 3000 and what fits into T
                                  beside the renewal interval and the retry schedule */
  uint32_t drift_ppm;          /* bound on the difference of clock rates; default 10000 (1 %) */
  uint32_t grace_period_ms;    /* a new leader waits this long before on_started_leading, and
                                  before s3lect_elector_is_leader says yes; default 0 */
  uint32_t release_timeout_ms; /* bound on the release at close; default 1000 */
  uint32_t stop_ack_ms;        /* when not 0: after on_stopped_leading, the record is released only
                                  after s3lect_elector_ack, and not at all if that has not come
                                  within this time (others then wait the timeout out) */
  int32_t no_release;          /* 1: leave the record to expire on stop and close */
  int32_t expiry;              /* s3lect_expiry_t */

  /* Each may be NULL. */
  s3lect_event_cb on_started_leading;
  s3lect_event_cb on_stopped_leading;
  s3lect_event_cb on_new_leader;
  s3lect_event_cb on_renewed;
  s3lect_event_cb on_error;
  s3lect_trace_cb on_trace;

  int32_t verify_on_start; /* 1: before it first stands, try whether the store keeps its conditions
                              (the quick part of s3lect_verify_start: about 80 requests to temporary
                              objects named lockfile_path + ".verify-..."). If it does not, on_error
                              gets S3LECT_EUNSAFE and the elector stops standing */

  /* Peer mode: while a leader stands, ask it instead of the store (s3lect/peer.h). */
  s3lect_peer_client_t* peer_client; /* NULL: off. On the same loop */
  const char* peer_health_path;      /* of every server in the election; default
                                        S3LECT_PEER_HEALTH_PATH */
  uint32_t peer_interval_ms; /* how often the leader is asked at the least; default: the infrequent
                                interval */
  uint32_t peer_timeout_ms;  /* how long its answer may take, waiting apart; default 3000 */

  int32_t observe; /* 1: follow the election, and never stand in it: writes nothing */

  int32_t protocol;    /* s3lect_protocol_t: the same for all who stand in the election. Once per
                          start the elector looks for a leader of the other protocol at the same
                          key, if there is an on_error to report S3LECT_EPROTOCOL to */
  int32_t keep_epochs; /* S3LECT_PROTOCOL_EPOCHS. 1: old epoch files are left, as a record of who
                          led when; else a leader removes them, all but the newest two */

  s3lect_event_cb on_claiming; /* may be NULL */
} s3lect_elector_options_t;

/** The Go package's default. */
#define S3LECT_PEER_HEALTH_PATH "/health/leadership"

/** An elector. A fixed-size shell: the caller allocates it, must not move or copy it. */
struct s3lect_elector_s {
  void* data;      /* the caller's */
  uv_loop_t* loop; /* read-only */
  void* internal;
  void* reserved[8];
};

/** Sets every option to its default. `size` is sizeof(s3lect_elector_options_t). */
S3LECT_EXTERN void s3lect_elector_options_init(s3lect_elector_options_t* options, size_t size);

/** Checks options without opening anything. Returns what s3lect_elector_init would, but for
 * UV_ENOMEM. */
S3LECT_EXTERN int s3lect_elector_options_check(const s3lect_elector_options_t* options,
                                               s3lect_error_t* error);

/** Fills `resolved`, whose `size` the caller has set, with the options as an elector would go by
 * them: defaults in place of zeros, those that depend on others included. Pointers are as given.
 * Else as s3lect_elector_options_check. Further errors: UV_EINVAL (the size of `resolved` is none
 * of this struct). */
S3LECT_EXTERN int s3lect_elector_options_resolve(const s3lect_elector_options_t* options,
                                                 s3lect_elector_options_t* resolved,
                                                 s3lect_error_t* error);

/** Prepares an elector; does no I/O and calls nothing back.
 * Errors, with nothing to clean up: S3LECT_EOPTION (a missing or invalid option), S3LECT_ETIMING
 * (renewal interval + retry schedule + request timeout do not fit into the leader timeout),
 * UV_EINVAL (a struct size this library does not know), UV_ENOTSUP (an option is set that only a
 * newer library knows), UV_ECANCELED (the peer client is closing), UV_ENOMEM. */
S3LECT_EXTERN int s3lect_elector_init(uv_loop_t* loop, s3lect_elector_t* elector,
                                      const s3lect_elector_options_t* options,
                                      s3lect_error_t* error);

/** Stands in the election, under a fresh incarnation (random bits that tell it from any other with
 * its ID), until stop or close. Keeps the loop alive. Callbacks run from now on.
 * Errors: UV_EALREADY, UV_EBUSY (an earlier stop is still releasing the record), UV_ECANCELED
 * (closing), UV_EIO (the system gave no random bytes). */
S3LECT_EXTERN int s3lect_elector_start(s3lect_elector_t* elector);

/** Gives up leadership but goes on standing: s3lect_elector_is_leader is 0 from here on,
 * on_stopped_leading runs (S3LECT_REASON_RESIGNED), the record is released, and for one leader
 * timeout others go first. Errors: UV_EINVAL if it is not leading. */
S3LECT_EXTERN int s3lect_elector_resign(s3lect_elector_t* elector);

/** As resign, and names the process that shall lead next: it alone may take over during a head
 * start (two seconds, or half of the leader timeout where that is shorter), anybody afterwards. It
 * must stand in the election already to make use of it. Errors: UV_EINVAL if it is not leading,
 * S3LECT_EOPTION (`to_id` is empty, too long, not UTF-8 or this elector's own), UV_ENOMEM. */
S3LECT_EXTERN int s3lect_elector_transfer(s3lect_elector_t* elector, const char* to_id);

/** Stops standing, releasing the record if it leads. on_stopped_leading still runs, then nothing
 * until the next start. Keeps the loop alive until the record has been released, or could not be.
 * Errors: UV_EALREADY if it does not stand. */
S3LECT_EXTERN int s3lect_elector_stop(s3lect_elector_t* elector);

/** With stop_ack_ms: acknowledges that the work of a leadership has ended, so that the record may
 * be released. `epoch` is that of the on_stopped_leading event; the call also acknowledges every
 * earlier leadership. It may be made inside on_stopped_leading or at any time after it. It has no
 * effect for any other epoch than that of the leadership that ended last. */
S3LECT_EXTERN void s3lect_elector_ack(s3lect_elector_t* elector, uint64_t epoch);

/** Closes an elector. It stops standing and, if it leads, runs on_stopped_leading and releases the
 * record, which takes at most release_timeout_ms (after stop_ack_ms, if that is set).
 * Close may be called once; `cb` (may be NULL) runs exactly once, from the loop, as the handle's
 * last callback, and the handle's memory is the caller's again. Errors: UV_EALREADY (it is closing
 * already: this `cb` does not run). */
S3LECT_EXTERN int s3lect_elector_close(s3lect_elector_t* elector, s3lect_elector_cb cb);

/** 1 only if this elector leads and its validity has not passed at this instant: a comparison
 * with the clock, never a flag. 0 otherwise, also before start and while closing. Any thread (while
 * the handle is open), lock-free. */
S3LECT_EXTERN int s3lect_elector_is_leader(const s3lect_elector_t* elector);

/** Milliseconds until validity ends, rounded down; 0 if not leading. Any thread, lock-free. */
S3LECT_EXTERN uint64_t s3lect_elector_valid_for_ms(const s3lect_elector_t* elector);

/** The epoch of the leadership that this elector holds, or held last; 0 before the first. Any
 * thread, lock-free. Take it once, when work begins, then ask s3lect_elector_is_leader: an epoch
 * that was read before a positive answer may be older than the leadership, which the receiver of a
 * fencing token refuses, but never newer. */
S3LECT_EXTERN uint64_t s3lect_elector_epoch(const s3lect_elector_t* elector);

typedef enum {
  S3LECT_ROLE_STOPPED = 0,
  S3LECT_ROLE_FOLLOWER = 1,
  S3LECT_ROLE_LEADER = 2,
} s3lect_role_t;

/** A snapshot of what an elector knows. */
typedef struct s3lect_status_s {
  size_t size;             /* set by the caller: sizeof(s3lect_status_t) */
  int32_t role;            /* s3lect_role_t */
  int32_t last_error;      /* 0, or the error that on_error was told last */
  uint64_t epoch;          /* as s3lect_elector_epoch */
  int64_t valid_until_ns;  /* Lease time; 0 if not leading */
  s3lect_record_t record;  /* the last record seen or written; leader_id "" if there is none */
  int64_t leader_until_ns; /* Lease time; of a record that is another's: when it may be replaced
                              unless it changes. Whoever it names may be gone by then. 0: no leader
                              is known, or it is this elector */
  int32_t known;           /* 1: the store has told what it holds, since start; else the record says
                              nothing, not even that there is none */
  int32_t peer_error;      /* peer mode: why the store is read in place of asking the leader, as the
                              last question failed; 0: it did not */
} s3lect_status_t;

/** Counters since init. */
typedef struct s3lect_stats_s {
  size_t size;                 /* set by the caller: sizeof(s3lect_stats_t) */
  uint64_t reads;              /* requests to the store for the lockfile, or to list epoch files */
  uint64_t reads_not_modified; /* of those, answered: as before */
  uint64_t writes;             /* requests that write, of any kind */
  uint64_t renewals;           /* confirmed */
  uint64_t leaderships;        /* started */
  uint64_t retries;            /* attempts beyond an operation's first */
  uint64_t failures;           /* operations given up */
  uint64_t unknown_outcomes;   /* writes whose reply was lost */
  uint64_t unknown_resolved;   /* of those, found to have been carried out */
  uint64_t conflicts;          /* writes answered 412, 404 or 409 */
  uint64_t late_replies;       /* renewals confirmed after their validity */
  uint64_t peer_checks;        /* questions to the leader (s3lect/peer.h) */
  uint64_t peer_answers;       /* of those, answered by it acceptably */
  uint64_t peer_failures;      /* ... not answered, late, or not by a leader */
  uint64_t peer_refused;       /* ... answered by what cannot be true */
} s3lect_stats_t;

/** Fills `status`, whose `size` the caller has set, with what the elector knows at this instant.
 * Nothing is asked of anybody. From the loop's thread.
 * Errors: UV_EINVAL (a size this library does not know), UV_ECANCELED (closed). */
S3LECT_EXTERN int s3lect_elector_status(const s3lect_elector_t* elector, s3lect_status_t* status);

/** Fills `stats`, whose `size` the caller has set, with the counters as they are now. From the
 * loop's thread. Errors: as s3lect_elector_status. */
S3LECT_EXTERN int s3lect_elector_stats(const s3lect_elector_t* elector, s3lect_stats_t* stats);

/** The leader's ID as last seen, "" if none is known or the elector is closed; valid until the loop
 * runs again. It may have died since: s3lect_elector_status tells until when to believe it. */
S3LECT_EXTERN const char* s3lect_elector_leader(const s3lect_elector_t* elector);

/** Has the elector keep its loop alive while it stands (the default), as uv_ref. No effect when it
 * is closed. */
S3LECT_EXTERN void s3lect_elector_ref(s3lect_elector_t* elector);
/** Has it not, as uv_unref: then uv_run may return while it stands, and nothing renews. */
S3LECT_EXTERN void s3lect_elector_unref(s3lect_elector_t* elector);

#ifdef __cplusplus
}
#endif

#endif
