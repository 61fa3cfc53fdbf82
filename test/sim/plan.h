/* sim/plan.h: what one seed decides before the run: who stands, on which clocks, with which
 * options, and what goes wrong when.
 *
 * A run is cut into chapters; in each, faults come for a while, then all is healed and it stays
 * quiet. A fault is one entry of a list, each with draws of its own, so that shrinking can leave
 * any of them out and the others stay what they were. */
#ifndef SIM_PLAN_H
#define SIM_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"
#include "sim/store.h"

#define SIM_NODES_MAX    9
#define SIM_FAULTS_MAX   2048
#define SIM_CHAPTERS_MAX 64

/** Kinds of trouble, as --faults names them. A row: bit, name, meaning. */
#define SIM_TROUBLES(XX)                                                                           \
  XX(LOSS, "loss", "requests or replies are lost")                                                 \
  XX(LATE, "late", "effects come long after the sender gave up")                                   \
  XX(SLOW, "slow", "requests take many times as long")                                             \
  XX(OUTAGE, "outage", "the store refuses or swallows everything")                                 \
  XX(PARTITION, "partition", "one node is cut off, in one direction or both")                      \
  XX(ERRORS, "errors", "403, 404, 409, 412, 429, 500, 503 and broken replies")                     \
  XX(PAUSE, "pause", "a process stands still while time goes on")                                  \
  XX(CRASH, "crash", "a process dies and comes back with the same ID")                             \
  XX(LEAVE, "leave", "resign, stop, close")                                                        \
  XX(STUCK, "stuck", "a store that does not keep the request timeout")                             \
  XX(WALL, "wall", "wall clocks are wrong, and jump")                                              \
  XX(DRIFT, "drift", "clocks run at different rates, up to the bound")                             \
  XX(SLEW, "slew", "NTP slews the clocks of timers by up to 83,333 ppm")                           \
  XX(OPTIONS, "options", "nodes with different option values")                                     \
  XX(DUPLICATE, "duplicate-id", "two nodes have one server ID")                                    \
  XX(DIALECT, "dialect", "stores that take If-Match in one spelling only")                         \
  XX(DELETE, "delete", "somebody deletes the lockfile by hand")                                    \
  XX(CORRUPT, "corrupt", "somebody overwrites it with something that is no record")                \
  XX(FOREIGN, "foreign", "a writer that behaves like the Go package")                              \
  XX(STORE_CLOCK, "store-clock", "nodes that judge expiry by the store's clock too")               \
  XX(PEERS, "peers",                                                                               \
     "followers that ask the leader; leaders that cannot be reached, are slow, lie")               \
  XX(REPLAY, "replay", "epoch files: writes land once more, later")                                \
  XX(LAG, "lag", "epoch files: listings show what was a while ago")                                \
  XX(NO_IF_MATCH, "no-if-match", "epoch files: stores without If-Match")                           \
  XX(BOUNDARY, "boundary",                                                                         \
     "epoch files: renewals at the last moment, and reads that are answered late")                 \
  XX(EPOCHS, "epochs", "the protocol of epoch files, instead of a lockfile")                       \
  XX(UNDONE, "undone", "epoch files: all are deleted by hand just before a late create lands")     \
  XX(BLIND, "blind",                                                                               \
     "epoch files: from some time on listings show nothing new, or nothing at all")                \
  XX(BEYOND_DRIFT, "beyond-drift", "clock rates beyond the bound: violations are to be expected")

typedef enum {
#define XX(name, text, what) SIM_TROUBLE_##name,
  SIM_TROUBLES(XX)
#undef XX
      SIM_TROUBLES_END
} sim_trouble_t;

#define SIM_BIT(name) (1u << SIM_TROUBLE_##name)
#define SIM_TROUBLES_ALL                                                                           \
  ((1u << SIM_TROUBLES_END) - 1 - SIM_BIT(BEYOND_DRIFT) - SIM_BIT(EPOCHS) - SIM_BIT(UNDONE) -      \
   SIM_BIT(BLIND))

/** Troubles by which it may be forgotten, or not be seen in time, which epoch file was the newest.
 */
#define SIM_FORGETFUL (SIM_BIT(CRASH) | SIM_BIT(LEAVE) | SIM_BIT(STORE_CLOCK) | SIM_BIT(LAG))

typedef enum {
  SIM_FAULT_LOSS = 0, /* a, b: how often requests and replies, per mille */
  SIM_FAULT_LATE,     /* a: how often, per mille; b: by how much at most, ms */
  SIM_FAULT_SLOW,     /* a: how many times as slow */
  SIM_FAULT_OUTAGE,   /* a: 1 refuses, 0 swallows */
  SIM_FAULT_CUT,      /* a: 1 requests, 2 replies, 3 both */
  SIM_FAULT_ERRORS,   /* a: how often, per mille; b: bits of sim_error_t */
  SIM_FAULT_STUCK,
  SIM_FAULT_PEER_CUT,    /* a: 0 asks are swallowed, 1 refused, 2 their connections break */
  SIM_FAULT_PEER_SLOW,   /* a: how many times as slow */
  SIM_FAULT_PEER_STALE,  /* a: how often an earlier answer is given, per mille */
  SIM_FAULT_PEER_WRONG,  /* a: how often another node answers, per mille */
  SIM_FAULT_PEER_LIES,   /* a: how often somebody between answers, per mille */
  SIM_FAULT_PEER_STAMPS, /* the leader's own endpoint says that it leads, whatever the store says */
  SIM_FAULT_WINDOWS_END, /* the above hold until they end, the others happen once */

  SIM_FAULT_PAUSE,
  SIM_FAULT_CRASH,
  SIM_FAULT_RESIGN,
  SIM_FAULT_STOP,
  SIM_FAULT_CLOSE,
  SIM_FAULT_WALL, /* a: by how much, ms */
  SIM_FAULT_RATE, /* a: ppb */
  SIM_FAULT_DELETE,
  SIM_FAULT_CORRUPT,  /* a: which kind of damage */
  SIM_FAULT_TRANSFER, /* a: to which node; as many as there are: to nobody who stands */
  SIM_FAULT_FOREIGN,  /* a: how far off its wall clock is, ms; b: 1 releases when it ends */
} sim_fault_kind_t;

/** Statuses of an ERRORS fault. */
typedef enum {
  SIM_ERROR_403 = 0,
  SIM_ERROR_404,
  SIM_ERROR_409,
  SIM_ERROR_412,
  SIM_ERROR_429,
  SIM_ERROR_500,
  SIM_ERROR_503,
  SIM_ERROR_NO_ETAG,
  SIM_ERROR_BAD_REPLY,
  SIM_ERRORS_END,
} sim_error_t;

/** Whom a fault concerns, besides a node's number. */
enum { SIM_WHO_LEADER = 200, SIM_WHO_FOLLOWER, SIM_WHO_ALL };

typedef struct sim_fault_s {
  s3l_ns_t at;
  s3l_ns_t until;
  int64_t a, b;
  uint8_t kind;
  uint8_t who;
} sim_fault_t;

typedef struct sim_node_plan_s {
  s3l_core_config_t config;
  char id[24];
  char addr[24];
  int64_t ppb;
  int64_t slew_ppb; /* of the clock of its timers, on top */
  s3l_ns_t boot;    /* what its clock shows when the run begins */
  int64_t wall_offset_ms;
  s3l_ns_t starts_at;
  bool peer_tls;         /* as a leader it is known to be itself */
  bool peer_holds;       /* ... and holds answers back */
  uint32_t ack_delay_ms; /* the application takes so long; UINT32_MAX: it never acknowledges */
} sim_node_plan_t;

typedef struct sim_plan_s {
  uint64_t seed;
  unsigned nodes_len;
  uint32_t troubles;
  s3l_ns_t end;
  sim_node_plan_t nodes[SIM_NODES_MAX];
  bool uniform; /* all have the same leader timeout */

  s3l_ns_t latency; /* typical way, one direction */
  sim_dialect_t dialect;
  int64_t store_unix_ms;
  int64_t store_ppb;
  bool slow_writes; /* it takes one write a second to each object, as Google's */

  bool epochs; /* the rest is about epoch files */
  bool no_if_match;
  bool keep_epochs;
  s3l_ns_t list_lag;
  bool blind; /* listings show what there was at blind_from at the latest: there is no progress */
  s3l_ns_t blind_from;
  uint32_t list_page;

  s3l_ns_t settle; /* after faults end there is one leader within this */
  size_t chapters_len;
  struct {
    s3l_ns_t calm_from;  /* no fault is at work from here on, ... */
    s3l_ns_t quiet_from; /* ... from here on a leader must have settled, ... */
    s3l_ns_t quiet_to;   /* ... up to here; then the leader may be tried by cutting it off */
    size_t faults_from, faults_to;
  } chapters[SIM_CHAPTERS_MAX];

  size_t faults_len;
  sim_fault_t faults[SIM_FAULTS_MAX];
} sim_plan_t;

const char* sim_trouble_name(sim_trouble_t trouble);
const char* sim_trouble_meaning(sim_trouble_t trouble);
/** "all", "none", or names separated by commas. False: an unknown name (`bad` is set to it). */
bool sim_troubles_parse(const char* list, uint32_t* troubles, char* bad, size_t bad_size);
const char* sim_fault_name(int kind);

/** How long before a chapter ends its quiet does, where peers are asked: for the trial. */
#define SIM_TRIAL (480 * S3L_SECOND)

/** Who asks and is asked, and what goes wrong between. */
void sim_plan_peer_nodes(sim_plan_t* plan);
void sim_plan_peer_faults(sim_plan_t* plan, s3l_ns_t from, s3l_ns_t calm_from);

/** How long a fault lasts: short of a lease, about one, or many. */
s3l_ns_t sim_plan_duration(s3l_prng_t* g, const sim_plan_t* plan);

/** Decides a run. */
void sim_plan(sim_plan_t* plan, uint64_t seed, unsigned nodes, unsigned hours, uint32_t troubles);

/** A run without faults, and without a seed: by hand. Its latency is not set. */
void sim_plan_plain(sim_plan_t* plan, unsigned nodes, s3l_ns_t end);

/** A node's options from few: the rest as the library's defaults would be. */
void sim_plan_config(sim_node_plan_t* node, unsigned index, uint32_t leader_timeout_ms);
/** How long a node lets others go first, as its users know it. */
int64_t sim_plan_head_start(const s3l_core_config_t* config);
/** Within how long after the last fault there must be one leader: sim_plan sets it. */
s3l_ns_t sim_plan_settle(const sim_plan_t* plan);

#endif
