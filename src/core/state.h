/* core/state.h: the types of the election core: its configuration, events, effects and state. */
#ifndef S3L_CORE_STATE_H
#define S3L_CORE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/epochs.h"
#include "core/lease.h"
#include "s3lect/record.h"
#include "s3lect/types.h"
#include "util/prng.h"
#include "util/span.h"

#define S3L_EFFECTS_MAX 12
#define S3L_TEXT_SIZE   352 /* of a message that the core composes */
#define S3L_SENT_MAX    4   /* writes whose send time is remembered */

/** Leadership ends this much before validity, so that on_stopped_leading is delivered by then even
 * though timers have a grain of a millisecond. */
#define S3L_STOP_EARLY (5 * S3L_MS)
/** A request that is still under way this long after its time-out is cancelled: the store should
 * have ended it. */
#define S3L_OVERDUE (1 * S3L_SECOND)
/** After a transfer the successor alone may take over for this long, or for half of the leader
 * timeout where that is less. */
#define S3L_SUCCESSOR_PRIORITY (2 * S3L_SECOND)
/** A candidate lets others go first by one step for each level that its priority is below the
 * highest: by so long, or by a quarter of the renewal interval where that is less. */
#define S3L_PRIORITY_STEP (500 * S3L_MS)
#define S3L_PRIORITY_MAX  3

/** The longest wait that a probe asks for and that a server grants ("Prefer: wait", RFC 7240
 * section 4.3). A time-out is the sum of the wait, its drift and an option's duration, and fits
 * into 32 bits of ms. */
#define S3L_PEER_WAIT_MAX_S 3600

typedef struct s3l_protocol_s s3l_protocol_t; /* core/protocol.h */

typedef struct s3l_core_config_s {
  const s3l_protocol_t* protocol;
  s3l_epochs_t* epochs; /* the state of s3l_epoch_files */
  const char* id;       /* the owner's, as is addr; both must outlive the core */
  const char* addr;     /* "" if there is none */
  uint32_t leader_timeout_ms;
  uint32_t renew_interval_ms;
  uint32_t frequent_interval_ms;
  uint32_t infrequent_interval_ms;
  uint32_t request_timeout_ms;
  uint32_t release_timeout_ms;
  uint32_t grace_period_ms;
  uint32_t stop_ack_ms;
  uint32_t renew_deadline_ms; /* by so much leadership ends before the lease */
  uint32_t warn_before_ms;    /* the application is warned so long before that; 0: never */
  uint32_t drift_ppm;
  uint32_t peer_interval_ms; /* with peer_mode: maximum time between two probes */
  uint32_t peer_timeout_ms;  /* ... and how long an answer may take, waiting apart */
  uint8_t priority;          /* 1 to S3L_PRIORITY_MAX; 0: that */
  bool store_clock : 1;      /* S3LECT_EXPIRY_STORE_CLOCK */
  bool no_release : 1;
  bool observer : 1;  /* reads, and never takes over */
  bool peer_mode : 1; /* a follower asks the leader instead of the store while it can */
  bool candidacy : 1; /* ... and shows it who asks: see core/grant.h */
} s3l_core_config_t;

typedef enum {
  S3L_EV_TICK = 0, /* the deadline has come, or may have */
  S3L_EV_START,    /* stand in the election */
  S3L_EV_DONE,     /* the request under way has ended */
  S3L_EV_RESIGN,   /* give up leadership, go on standing */
  S3L_EV_STOP,     /* stop standing */
  S3L_EV_ACK,      /* the application has stopped acting as leader of an epoch */
  S3L_EV_PEER,     /* the probe under way has ended */
  S3L_EV_TRANSFER, /* resign, and name a successor */
  S3L_EV_GC_DONE,  /* the GC under way has ended */
  S3L_EV_EXPIRED,  /* a renewal could not be published before the validity before it was over */
} s3l_event_kind_t;

typedef enum {
  S3L_PEER_LEADING = 0, /* 200 */
  S3L_PEER_NOT_LEADING, /* 404 */
  S3L_PEER_FAILED,      /* refused, reset, timed out, not trusted, not understood, cancelled */
} s3l_peer_kind_t;

/** How a probe ended. Borrowed during the step. */
typedef struct s3l_peer_result_s {
  s3l_peer_kind_t kind;
  const s3lect_record_t* record; /* LEADING; else NULL */
  const char* etag;              /* LEADING: NULL if none was given, as by the Go package */
  int64_t valid_for_ms;          /* LEADING: -1 if none was given */
  bool authenticated;  /* LEADING: over TLS, to a certificate that was verified for the address */
  bool held;           /* LEADING: the server says that it has applied the wait */
  int status;          /* FAILED: a negative code */
  const char* message; /* FAILED: NULL if none */
} s3l_peer_result_t;

typedef struct s3l_event_s {
  s3l_event_kind_t kind;
  int64_t wall_ms;         /* Unix time now, for display and as a last resort for epochs */
  const char* incarnation; /* START: 32 hex digits, fresh */
  uint64_t seed;           /* START: for jitter */
  s3lect_reason_t reason;  /* STOP: STOPPED or CLOSED */
  uint64_t epoch;          /* ACK: of that leadership and all before */
  const s3lect_store_result_t* result; /* DONE, GC_DONE */
  const s3l_listing_t* listing;        /* DONE of a LIST that succeeded; else NULL */
  const s3l_peer_result_t* peer;       /* PEER */
  /* TRANSFER: another server's ID; must outlive the leadership's S3L_DO_RELEASED. */
  const char* successor;
  /* Any: the candidacy of a follower whose question this elector holds, whoever asked being known;
   * NULL: none is to be granted. From the WRITE of a grant to its DONE it is that one. */
  const s3lect_record_t* candidate;
} s3l_event_t;

typedef enum {
  S3L_DO_READ = 1, /* get the lockfile, on `condition` */
  S3L_DO_WRITE,    /* put `record` as the lockfile, on `condition` */
  S3L_DO_CANCEL,   /* end the request under way; its DONE is still to come */
  S3L_DO_NOTIFY,   /* tell the application */
  S3L_DO_STOPPED,  /* standing is over; nothing is under way */
  /* Probe the observed leader, at the address that came with s3l_effects_t.seen. Exactly one PEER
   * follows, after this step, and at the latest after wait_ms + timeout_ms. */
  S3L_DO_PROBE,
  S3L_DO_PROBE_CANCEL, /* end the probe under way; its PEER is still to come */
  /* Leadership has ended, and its release is written, or was given up, or none was due. Once per
   * leadership, after its STOPPED note if there is one. Peers whose probes wait are to be answered
   * now: an earlier answer would send them to the store too soon. */
  S3L_DO_RELEASED,
  /* With epoch files only. Their READ and WRITE, too, are about `file`. */
  S3L_DO_LIST,      /* list the files above `file`, or with `more` the next page */
  S3L_DO_GC,        /* delete `file`, beside the request under way; exactly one GC_DONE follows */
  S3L_DO_GC_CANCEL, /* end the GC under way; its GC_DONE is still to come */
} s3l_effect_kind_t;

typedef struct s3l_effect_s {
  s3l_effect_kind_t kind;
  /* READ, WRITE: etag stays valid until DONE; the record is in s3l_effects_t */
  const char* etag;
  uint32_t timeout_ms; /* PROBE: beyond wait_ms; allows for the drift and the slewing of the clock
                          that waits */
  bool disputed;       /* WRITE: see S3LECT_REQ_ETAG_DISPUTED */
  bool granted;        /* WRITE: `record` is the candidate's, not this elector's */
  uint32_t wait_ms;    /* PROBE: "Prefer: wait", in whole seconds; 0: answer at once */
  bool candidacy; /* PROBE: `record` is said with it, a candidacy or (released) its withdrawal */
  s3lect_condition_t condition; /* READ, WRITE */
  bool once;     /* NOTIFY of an error: the core does not repeat it as long as it lasts */
  bool more;     /* LIST */
  uint64_t file; /* READ, WRITE, LIST, GC; 0: the lockfile */
  /* NOTIFY */
  s3lect_event_kind_t note;
  s3lect_reason_t reason;
  int error;
  uint64_t epoch;
  s3l_ns_t valid_until;
  s3l_ns_t takeover_at; /* STARTED, NEW_LEADER, CLAIMING: see s3lect_event_t; else 0 */
  const char* message;  /* borrowed as the event's result and the effects are; NULL if none */
} s3l_effect_t;

typedef struct s3l_effects_s {
  const s3lect_record_t* candidate; /* the event's */
  size_t len;
  s3l_effect_t at[S3L_EFFECTS_MAX];
  s3lect_record_t record; /* of the WRITE, or of the PROBE with a candidacy, if there is one */
  /* The observation has changed, to `seen` (all zero unless RECORD). The core keeps no names: the
   * owner takes them from here, before it carries out anything in `at`. */
  bool changed;
  s3lect_record_t seen;
  char text[S3L_TEXT_SIZE]; /* what a NOTIFY of this step may have for its message */
} s3l_effects_t;

typedef enum {
  S3L_OBSERVED_UNKNOWN = 0,
  S3L_OBSERVED_ABSENT,
  S3L_OBSERVED_RECORD,
  S3L_OBSERVED_FOREIGN, /* something that is no record */
} s3l_observed_kind_t;

/** What an observation keeps of a record: all but its names and value. */
typedef struct s3l_observed_record_s {
  uint64_t epoch;
  uint64_t write;
  uint64_t leader; /* fingerprint of its leader_id */
  uint64_t addr;   /* fingerprint of its leader_addr; 0: none, or this elector's own */
  int64_t last_updated_ms;
  int64_t acquired_ms;
  uint64_t transitions;
  uint32_t leader_timeout_ms;
  uint32_t renew_interval_ms;
  uint32_t value; /* fingerprint of its value; 0: none */
  bool released : 1;
  bool claim : 1;           /* a provisional claim */
  bool namesake : 1;        /* its leader_id is this elector's */
  bool successor_first : 1; /* released, and names another elector as successor */
  bool successor_own : 1;   /* ... or this one */
  char incarnation[S3LECT_INCARNATION_SIZE];
} s3l_observed_record_t;

typedef struct s3l_observation_s {
  uint8_t kind;       /* s3l_observed_kind_t */
  bool own;           /* a record of this incarnation */
  bool renewing;      /* its leader was seen to renew it */
  uint8_t renewals;   /* ... how often, up to two */
  bool overwrote_own; /* it replaced a record of this elector */
  bool same_write;    /* the record before had the same write number: only the ETag changed */
  bool pending;       /* it has changed, and is not yet reported */
  s3l_ns_t takeover_at;
  s3l_observed_record_t record; /* an empty one unless RECORD */
  s3l_ns_t first_seen;          /* receipt of the first reply that showed it */
  s3l_ns_t takeover_before;     /* takeover_at of what stood before this leadership; 0: nothing */
  const char* fault;            /* FOREIGN: what is wrong with it; static */
  char etag[S3LECT_ETAG_SIZE];  /* "" unless RECORD or FOREIGN */
} s3l_observation_t;

typedef enum {
  S3L_OP_NONE = 0,
  S3L_OP_READ,
  S3L_OP_TAKE_OVER,
  S3L_OP_RENEW,
  S3L_OP_RELEASE,
} s3l_op_kind_t;

/** The request under way; for a write also what is needed to recognise its record. */
typedef struct s3l_op_s {
  s3l_op_kind_t kind;
  bool conditional; /* on an ETag */
  bool disputed;
  bool cancelled;
  bool grants; /* a RELEASE: it writes the claim of a candidate */
  s3l_ns_t sent_at;
  s3l_ns_t overdue_at;
  uint64_t epoch;
  uint64_t transitions;
  int64_t acquired_ms;
  int64_t wall_ms;
  const char* value; /* of a write */
} s3l_op_t;

typedef struct s3l_sent_s {
  uint64_t epoch;
  uint64_t write : 63; /* 0: empty */
  uint64_t provisional : 1;
  s3l_ns_t at;
} s3l_sent_t;

/** What the leader's last acceptable answer said; see core/peer.h. */
typedef enum {
  S3L_ANSWER_NONE = 0,
  S3L_ANSWER_LEGACY,        /* that it leads (the Go package) */
  S3L_ANSWER_UNVERIFIED,    /* how long its validity lasts, perhaps not from the leader itself */
  S3L_ANSWER_AUTHENTICATED, /* the same, from the leader itself */
} s3l_answer_t;

typedef struct s3l_peer_s {
  uint32_t wait_ms;   /* of the probe under way */
  uint8_t answer;     /* s3l_answer_t */
  uint8_t repeats;    /* reads that follow the next one soon: a release may be on its way */
  uint8_t unanswered; /* probes of a leader that never answered */
  bool probing : 1;
  bool cancelled : 1;
  bool misdirected : 1; /* the probe under way went to a leader that is no longer observed */
  bool good : 1;        /* the last answer was acceptable */
  bool steady : 1;      /* the last read showed a leader that renews */
  bool read_again : 1;  /* the read under way was sent before the leader became suspect */
  bool open : 1;        /* a candidacy may still be granted */
  bool withdraws : 1;   /* standing ends when the leader has been told, or cannot be, ... */
  bool withdrawing : 1; /* ... by the probe under way */
  bool reported : 1;    /* this leader's failure to answer has been reported */
  int error;            /* why the store is read instead; 0: it is not, or not yet */
  s3l_ns_t until;       /* how long the answer counts, if no newer one comes */
  uint64_t write;       /* the number of the write that the answer is about */
  s3l_ns_t probe_at;    /* no probe before */
  s3l_ns_t sent_at;     /* of the probe under way, or the last one */
  s3l_ns_t store_at;    /* when the store was last read */
} s3l_peer_t;

typedef struct s3l_core_stats_s {
  uint32_t reads, reads_not_modified, writes, renewals, leaderships, retries, failures;
  uint32_t unknown_outcomes, unknown_resolved, conflicts, late_replies;
  uint32_t peer_checks;   /* probes */
  uint32_t peer_answers;  /* ... answered acceptably by the observed leader */
  uint32_t peer_failures; /* ... failed, late, or answered that it does not lead */
  uint32_t peer_refused;  /* ... whose answer contradicted the store, or itself */
} s3l_core_stats_t;

typedef enum { S3L_PHASE_STOPPED = 0, S3L_PHASE_STANDING, S3L_PHASE_LEAVING } s3l_phase_t;

/** The state. Plain data, may be copied; owners read it, only the core writes it. Small fields
 * stand where they fill the holes between large ones: there may be thousands of cores. What the
 * code uses most stands in the first 128 bytes, which the shortest instructions reach. */
typedef struct s3l_core_s {
  s3l_ns_t now;
  bool leading;
  bool announced;             /* on_started_leading has run */
  bool provisional;           /* the elector's own observed record is a provisional claim */
  bool leaderless;            /* on_no_leader has run, and no leader was reported since */
  uint8_t phase;              /* s3l_phase_t */
  bool read_back : 1;         /* read before anything else: a write was refused or is uncertain */
  bool refused : 1;           /* the last write was refused by its ETag condition */
  bool disputed_reported : 1; /* S3LECT_EDISPUTED was reported for the observed ETag */
  bool watching : 1;
  bool release_owed : 1;
  bool ack_owed : 1;
  bool releasing : 1;
  bool gc_busy : 1;    /* a GC is under way */
  bool warned : 1;     /* on_expiring has run for this validity */
  bool publish : 1;    /* the value is not in the record yet, and is to be written at once */
  bool value_due : 1;  /* another value, or that of another leadership, is still to be reported */
  bool value_told : 1; /* the value that was reported last is not "" */
  uint8_t attempt;     /* failed attempts of the operation under way */
  s3l_ns_t poll_at;
  s3l_ns_t valid_until; /* 0 unless leading */
  s3l_peer_t peer;      /* the probe under way, and what the leader answered */
  s3l_observation_t observed;
  s3l_core_config_t config;
  uint64_t write; /* number of the last write */
  int64_t wall_ms;
  s3l_prng_t prng;
  s3l_sent_t sent[S3L_SENT_MAX];

  /* Remembered for as long as the core lives, over all incarnations. */
  uint64_t epoch_seen;         /* highest epoch ever seen or written */
  int64_t store_time_ms;       /* the store's clock ... */
  s3l_ns_t store_time_at;      /* ... when its reply was received */
  uint64_t leader_reported;    /* fingerprint of the leader last announced */
  uint64_t duplicate_reported; /* fingerprint of the duplicate last reported */
  const char* value;           /* to publish; the owner's; "" for none */

  /* Leadership. */
  uint64_t epoch;      /* that is led, or was led last; 0: none was */
  s3l_ns_t renewed_at; /* sending of the newest write that is known to have been applied */
  s3l_ns_t announce_at;
  s3l_ns_t renew_at;

  /* The request under way and what comes next. */
  s3l_op_t op;
  s3l_ns_t read_back_at;
  uint64_t uncertain;  /* number of the write whose outcome is unknown; 0: none */
  s3l_ns_t op_started; /* of the operation under way: its first attempt */
  s3l_ns_t not_before; /* the next attempt at a write */
  s3l_ns_t hold_until; /* no take-over before: others go first after a resignation */

  /* Leaving, and resignation. */
  const char* successor; /* named by the release that is owed; NULL: none */
  s3l_ns_t ack_until;
  uint64_t
      unacknowledged; /* newest epoch whose end the application has not acknowledged; 0: none */
  s3l_ns_t leave_by;
  s3l_ns_t gc_overdue_at;

  s3l_core_stats_t stats;
  int last_error;
  uint32_t timeout_seen_ms; /* largest leader timeout seen in a record, over all incarnations */
  char incarnation[S3LECT_INCARNATION_SIZE];
  bool gc_cancelled;
  uint8_t poll_attempt;
} s3l_core_t;

/** Whether the observed record names a leader: it is neither released nor a provisional claim. */
bool s3l_core_names_leader(const s3l_core_t* core);

/** The observed record without its names and value, which stay empty; all zero if there is none. */
void s3l_core_record(const s3l_core_t* core, s3lect_record_t* record);

/** What is_leader is compared with: validity if leadership has been announced, else 0. */
static inline s3l_ns_t s3l_core_valid_until(const s3l_core_t* c) {
  return c->announced ? c->valid_until : 0;
}

#endif
