/* sim/oracle.h: judges a run.
 *
 * Knows nothing of how an elector works. It is told what anybody could see from outside (what the
 * application is told, what is sent to the store and what the store does with it, what is_leader
 * is compared with) and the truth about time, and holds that against what the design promises.
 * All times are true time in ns; `boot` are readings of a node's own clock.
 *
 * Vocabulary
 *   believes    is_leader would answer yes: the node's process exists and its clock shows less
 *               than the validity it last published. A paused process still believes
 *   landed      carried out by the store; a write can land long after its sender gave it up */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORACLE_NODES_MAX  9
#define ORACLE_NAMES_MAX  32
#define ORACLE_CLAIMS     8
#define ORACLE_NAME_SIZE  64
#define ORACLE_VALUES     1024
#define ORACLE_VALUE_SIZE 24

#define ORACLE_CHECKS(XX)                                                                          \
  XX(EXCLUSION, "exclusion", "two nodes would answer is_leader with yes at one instant")           \
  XX(EPOCH_ORDER, "epoch-order", "an epoch is not greater than every one that was led before")     \
  XX(EPOCH_SHARED, "epoch-shared", "two leaderships, or the records of two, have one epoch")       \
  XX(PAIRING, "pairing", "what is told does not follow each other as promised")                    \
  XX(STOP_LATE, "stop-late", "stopped was not told by the end of validity, though it could be")    \
  XX(WARNING, "warning", "the end of a leadership was not warned of in time, or for nothing")      \
  XX(LEASE, "lease", "validity goes beyond what a landed write carries from its sending on")       \
  XX(RESURRECTED, "resurrected", "a leadership went on after its validity had ended")              \
  XX(LEADER_NAME, "leader-name", "a leader was named who never wrote a record, or a claim only")   \
  XX(RELEASE, "release", "a lease was released while it was held, or held after its release")      \
  XX(RELEASE_ACK, "release-ack", "a lease was released before the application acknowledged")       \
  XX(READ_BACK, "read-back", "something was written while an earlier write was uncertain")         \
  XX(WRITE_NUMBER, "write-number", "two writes of one incarnation had one number")                 \
  XX(LIVENESS, "liveness", "not exactly one lasting leader, though nothing stood in the way")      \
  XX(BUDGET, "budget", "more, or fewer, requests than a stable hour costs")                        \
  XX(REPLACED, "replaced", "a leader that was cut off from the store was not replaced in time")    \
  XX(HEAD_START, "head-start",                                                                     \
     "another took over before the head start of a named successor, or of a priority, ended")      \
  XX(VALUE, "value",                                                                               \
     "a value was told that the leader of its epoch did not write, or of an epoch that is over")   \
  XX(CONTRACT, "contract", "the core asked for what its interface rules out")

typedef enum {
#define XX(name, text, what) ORACLE_##name,
  ORACLE_CHECKS(XX)
#undef XX
      ORACLE_CHECKS_END
} oracle_check_t;

/** "exclusion" and so on, and its meaning. */
const char* oracle_check_name(oracle_check_t check);
const char* oracle_check_meaning(oracle_check_t check);

typedef struct oracle_violation_s {
  bool found;
  int64_t at;
  int node;
  int other; /* -1 if one node alone is to blame */
  char text[160];
} oracle_violation_t;

/** The options of a node that its users know. */
typedef struct oracle_config_s {
  uint32_t leader_timeout_ms;
  uint32_t renew_interval_ms;
  uint32_t frequent_interval_ms;
  uint32_t infrequent_interval_ms;
  uint32_t stop_ack_ms;
  uint32_t drift_ppm;
  uint32_t renew_deadline_ms;
  uint32_t warn_before_ms;
  int64_t head_start; /* how long it lets candidates of a higher priority go first */
  bool store_clock;   /* counts the record's age by the store's clock, too */
  bool peer_mode;     /* asks the leader, and answers as one */
  bool peer_proven;   /* as a leader it is known to be itself */
} oracle_config_t;

typedef enum {
  ORACLE_STARTED = 1,
  ORACLE_STOPPED,
  ORACLE_NEW_LEADER,
  ORACLE_RENEWED,
  ORACLE_ERROR,
  ORACLE_CLAIMING,
  ORACLE_NO_LEADER,
  ORACLE_EXPIRING,
  ORACLE_VALUE_TOLD,
} oracle_note_kind_t;

/** What a node tells its application. */
typedef struct oracle_note_s {
  oracle_note_kind_t kind;
  uint64_t epoch;
  int64_t valid_until;
  const char* leader_id; /* NEW_LEADER */
  const char* value;     /* VALUE_TOLD */
  bool stood_still;      /* the process did, after it had looked at the clock for this */
} oracle_note_t;

/** A write as it is sent. Of a writer that is none of the nodes, `node` is -1. */
typedef struct oracle_write_s {
  int node;
  uint32_t life; /* which process of that node's sent it */
  int64_t sent_boot;
  uint64_t epoch;
  uint64_t number;
  uint64_t incarnation; /* its first half */
  bool released;
  bool claims;           /* nobody leads by it */
  const char* leader_id; /* "" if what is written is no record */
  const char* successor; /* named by a release; NULL or "": none */
  const char* value;     /* of a leader; NULL or "": none */
  int64_t looked_at;     /* epoch files: when the store served what its sender knows of one */
} oracle_write_t;

typedef struct oracle_node_s {
  oracle_config_t config;
  bool exists; /* a process runs, or is paused */
  uint32_t life;
  int64_t valid_until; /* as published; 0: none */
  int64_t carried;     /* clock up to which landed writes carry a lease */
  int64_t blocked;     /* true time up to which the process did not run */
  int64_t beyond;      /* true time up to which its leases are outside the promise */

  bool started; /* told, and not told stopped since */
  uint64_t epoch;
  int64_t promised; /* validity as last told ... */
  int64_t told_at;  /* ... by its own clock */
  bool warned;      /* ... and that it is about to end */
  bool leaderless;  /* told that there is no leader, and of none since */
  bool ack_owed;    /* a leadership has ended, and this or an earlier one is not acknowledged */

  uint64_t incarnation;
  uint64_t number;
  bool uncertain;
  bool read_back_sent;
  int64_t looked_at; /* when the store served the node's last read of the newest file it knows */

  uint64_t leader_epoch; /* of the leader last told; 0: of none since the end of the one before */
  uint64_t value_epoch;  /* of the value last told, */
  char value[ORACLE_VALUE_SIZE];

  uint32_t reads, writes; /* in the quiet spell */
} oracle_node_t;

typedef struct oracle_s {
  int nodes_len;
  int64_t (*boot)(void* ctx, int node, int64_t t);
  void* ctx;
  oracle_node_t nodes[ORACLE_NODES_MAX];

  uint64_t epoch_started;
  uint64_t epoch_stands;    /* in the record that the store holds; 0: none, or another's */
  uint64_t epoch_stands_by; /* incarnation */
  uint64_t epoch_released;
  char successor[ORACLE_NAME_SIZE]; /* named by the release that stands; "": none */
  int64_t successor_since;
  int64_t released_since; /* the record that stands has been released since; 0: it is not */
  uint64_t released_by;   /* incarnation */
  uint64_t epoch_newest;  /* epoch files: the highest number that was written */

  char names[ORACLE_NAMES_MAX][ORACLE_NAME_SIZE];
  size_t names_len;

  struct { /* claims that landed last */
    uint64_t epoch;
    char name[ORACLE_NAME_SIZE];
  } claims[ORACLE_CLAIMS];
  size_t claims_len; /* of all */

  struct { /* values that were written last */
    uint64_t epoch;
    char text[ORACLE_VALUE_SIZE];
  } values[ORACLE_VALUES];
  size_t values_len; /* of all */

  bool epochs; /* many files: what lands replaces no other epoch's; and a renewal is two requests */
  bool quiet;
  int64_t quiet_from;
  uint64_t leaderships;

  unsigned found; /* bit per check */
  oracle_violation_t violations[ORACLE_CHECKS_END];
} oracle_t;

/** `boot` tells what a node's clock shows at a true time. */
void oracle_init(oracle_t* o, int nodes, int64_t (*boot)(void* ctx, int node, int64_t t),
                 void* ctx);
void oracle_set_config(oracle_t* o, int node, const oracle_config_t* config);

/** A process begins, or ends without a word. */
void oracle_begins(oracle_t* o, int node, int64_t t);
void oracle_dies(oracle_t* o, int node, int64_t t);
/** The process stands in the election anew: what it was told before does not count. */
void oracle_stands(oracle_t* o, int node);
/** The node's process does not run before `until`. */
void oracle_blocked(oracle_t* o, int node, int64_t until);

/** The node's clock stood still, as that of a virtual machine that was paused. What its leases are
 * worth is outside the promise until then; all else is not. */
void oracle_beyond(oracle_t* o, int node, int64_t until);

/** What is_leader is compared with, from t on. */
void oracle_valid(oracle_t* o, int node, int64_t t, int64_t valid_until);
void oracle_note(oracle_t* o, int node, int64_t t, const oracle_note_t* note);
/** All that came of one step has been told: a value of an earlier epoch must not be left. */
void oracle_told(oracle_t* o, int node, int64_t t);
/** Keeps what a leader publishes; judges what a node was told of it. */
void oracle_value_sent(oracle_t* o, const oracle_write_t* write);
bool oracle_value_is_written(const oracle_t* o, uint64_t epoch, const char* text);
void oracle_value_note(oracle_t* o, int node, int64_t t, const oracle_note_t* note);
void oracle_acknowledged(oracle_t* o, int node);

void oracle_read_sent(oracle_t* o, int node, int64_t t);
/** `told`: the reply told what the object is, or that there is none. */
void oracle_read_done(oracle_t* o, int node, bool told);
/** ... and what it told of an epoch file was so at `at`. */
void oracle_looked(oracle_t* o, int node, int64_t at);
void oracle_write_sent(oracle_t* o, int64_t t, const oracle_write_t* write);
/** A node says the number of a write that another node may make for it. */
void oracle_candidacy_said(oracle_t* o, int64_t t, int node, uint64_t incarnation, uint64_t number);
/** `by` writes another node's claim in place of its own release; `write` is that node's, as if it
 * had been sent now. */
void oracle_grant_sent(oracle_t* o, int64_t t, int by, const oracle_write_t* write);
void oracle_write_done(oracle_t* o, int node, bool uncertain);
void oracle_write_landed(oracle_t* o, int64_t t, const oracle_write_t* write);
/** Somebody deleted the lockfile. */
void oracle_deleted(oracle_t* o);

/** All is well from t on, and has been for as long as a new leader may take; ... */
void oracle_quiet_begins(oracle_t* o, int64_t t);
/** ... up to here. */
void oracle_quiet_ends(oracle_t* o, int64_t t);

/** `former` led, has reached nobody's store since long enough, and was to be replaced by now. */
void oracle_trial_ends(oracle_t* o, int64_t t, int former);

/** What others found out. Only the first violation of each check is kept. */
void oracle_fail(oracle_t* o, oracle_check_t check, int64_t t, int node, int other,
                 const char* format, ...) __attribute__((format(printf, 6, 7)));

bool oracle_believes(const oracle_t* o, int node, int64_t t);

#endif
