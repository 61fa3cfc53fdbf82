/* sim/world.h: one run.
 *
 * The world owns true time, the heap of what happens next, the store, the nodes with their clocks
 * and cores, and the requests under way. A node executes its core's effects as the libuv executor
 * does: one request at a time, each ending exactly once and by its timeout, timers on the node's
 * slewed clock, set for 90 % of what is left, rounded up to a millisecond and a little late.
 *
 *   world.c    the loop; processes: begin, pause, crash
 *   node.c     the executor: events into a core, effects out of it
 *   net.c      requests on their way, and what becomes of them
 *   peer.c     asks, on their way from node to node
 *   fault.c    the plan's faults at work
 *   foreign.c  a writer that behaves like the Go package
 *   epochs.c   what is different with epoch files
 *   boundary.c    a network that looks at the clocks
 *
 * Lifetime of a request: issued by a node, arrives at the store (or is lost), is replied to (or
 * not), and is done for its node, at the latest by timeout. Its slot is free once it is done and
 * can no longer arrive. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"
#include "sim/heap.h"
#include "sim/log.h"
#include "sim/oracle.h"
#include "sim/plan.h"
#include "sim/rnd.h"
#include "sim/situations.h"
#include "sim/store.h"

#define SIM_REQUESTS_MAX 512
#define SIM_NO_REQUEST   UINT16_MAX

enum {
  SIM_ON_TIMER = 0, /* index: node */
  SIM_ON_ARRIVAL,   /* index: request */
  SIM_ON_REPLY,     /* index: request */
  SIM_ON_BROKEN,    /* index: request: its connection broke */
  SIM_ON_BEGIN,     /* index: node */
  SIM_ON_APP,       /* index: node: acknowledges */
  SIM_ON_FAULT,     /* index: fault */
  SIM_ON_FAULT_END, /* index: fault */
  SIM_ON_FOREIGN,   /* index: what the foreign writer does next */
  SIM_ON_ASK,       /* index: node that asked: its ask has arrived */
  SIM_ON_WAITED,    /* index: node that asked: it has been held for as long as it wished */
  SIM_ON_ANSWER,    /* index: node that asked: the answer has arrived */
  SIM_ON_TRIAL,     /* index: node whose leadership was to end; -1: it begins */
  SIM_ON_QUIET,     /* index: chapter */
  SIM_ON_NOISE,     /* index: chapter */
};

typedef struct sim_request_s {
  uint32_t stamp;
  uint16_t next_free;
  uint8_t node;
  uint8_t op; /* s3l_op_kind_t */
  bool is_write;
  bool is_list;
  bool is_gc;
  uint8_t condition; /* s3lect_condition_t */
  bool replayed;     /* lands for the second time */
  bool bare;
  bool done;     /* its node has been told, or is no more */
  bool in_limbo; /* will still arrive */
  bool landed;
  bool late;     /* was held up on purpose */
  bool claims;   /* creates the first file of a line */
  bool grants;   /* the claim of another node */
  bool undone;   /* all files are deleted just before it arrives */
  bool no_reply; /* the reply is lost */
  bool never_left;
  bool cancelled;
  s3l_ns_t sent_at;
  int8_t error;       /* sim_error_t that the store is to answer; -1 none */
  bool error_applies; /* ... after carrying it out */
  char etag[SIM_ETAG_SIZE];
  uint64_t file;
  s3l_ns_t reply_in;  /* how long the reply takes; 0: as the weather has it */
  uint32_t stale_len; /* what it overwrote, and is to come back */
  s3l_ns_t timeout_slewed;
  oracle_write_t write;
  char leader_id[24];
  char successor[24];
  char value[ORACLE_VALUE_SIZE];

  /* The reply. */
  int status;
  uint8_t outcome; /* s3lect_outcome_t */
  uint32_t retry_after_ms;
  char reply_etag[SIM_ETAG_SIZE];
  int64_t store_time_ms, modified_ms;
  s3l_ns_t served_at;
  s3l_listing_t listing;
  uint64_t listed_last;
  uint32_t body_len;
  char body[SIM_BODY_MAX]; /* what is written; then what was read */
  char stale[SIM_BODY_MAX];
} sim_request_t;

/** What holds for a node's requests: the sum of the faults at work. */
typedef struct sim_weather_s {
  uint32_t loss_request, loss_reply; /* per mille */
  uint32_t late, late_ms;
  uint32_t slow;
  uint32_t errors, errors_set;
  bool cut_requests, cut_replies, refuses, stuck;
  bool fair; /* none of these */
  /* Of those who ask the node. */
  bool peer_cut, peer_stamps;
  uint32_t peer_cut_how, peer_slow;
  uint32_t peer_stale, peer_wrong, peer_lies; /* per mille */
} sim_weather_t;

#define SIM_FOREIGN_ID   "go-1"
#define SIM_FOREIGN_ADDR "10.1.0.1:8443"
enum { SIM_ASKED_NOBODY = -1, SIM_ASKED_FOREIGN = -2 };

typedef struct sim_answer_s {
  s3l_peer_kind_t kind;
  int status;
  s3lect_record_t record;
  char etag[SIM_ETAG_SIZE]; /* "" if none */
  int64_t valid_for_ms;
  bool authenticated, held;
} sim_answer_t;

/** The ask of a node that is under way. */
typedef struct sim_ask_s {
  bool active;
  bool waits; /* is held by the node that was asked */
  bool cancelled;
  uint32_t stamp;
  int asked; /* node, or one of the above */
  uint32_t wait_ms;
  s3l_ns_t sent_at; /* by the node's clock */
  s3l_ns_t timeout_slewed;
  sim_answer_t answer;
  sim_answer_t earlier; /* one from the same node, to be given again */
  int earlier_from;
  s3lect_record_t candidacy; /* said with it; write 0: none */
  /* One before, which the node that was asked holds still: its sender gave it up, or died. */
  s3lect_record_t left;
  int left_at; /* a node; SIM_ASKED_NOBODY: there is none */
} sim_ask_t;

typedef enum { SIM_DOWN = 0, SIM_UP } sim_process_t;

typedef struct sim_node_s {
  const sim_node_plan_t* plan;
  s3l_core_t core;
  sim_clock_t clock;  /* of leases */
  sim_clock_t slewed; /* of timers */
  int64_t wall_offset_ms;
  s3l_prng_t rnd; /* executor and application */
  s3l_prng_t net; /* its requests */
  sim_process_t process;
  uint32_t life;   /* counts processes */
  uint32_t starts; /* counts incarnations */
  s3l_ns_t paused_until;
  s3l_ns_t stopped_at; /* the step to come read the clock then, and was stopped; 0: none did */
  uint32_t timer_stamp;
  s3l_ns_t timer_at; /* true time that the timer is set for; S3L_NEVER: none is set */
  uint16_t request;
  uint16_t gc;          /* the request that removes an old file */
  uint64_t listed_last; /* where a listing's next page begins */
  s3l_epochs_t epochs;
  bool dialect_bare; /* this process's memory of the store's dialect */
  bool dialect_proven;
  bool wants_start; /* stands again once standing is over */
  bool closing;     /* its process ends with standing */
  s3l_ns_t start_at;
  char leader[S3LECT_ID_SIZE]; /* as in its core's view */
  char leader_addr[S3LECT_ADDR_SIZE];
  char value_seen[S3LECT_VALUE_SIZE]; /* likewise */
  char value[ORACLE_VALUE_SIZE];      /* that it publishes */
  uint32_t values;                    /* ... so many before, in this process */
  s3l_ns_t value_at;                  /* no other one before */
  s3l_ns_t config_at;                 /* no change of the options before */
  s3l_prng_t app;                     /* which options */
  sim_ask_t ask;
  s3lect_record_t candidate; /* whose question it holds, or to whom it is granting */
  s3l_prng_t peer_net;
  sim_answer_t said; /* what it could last say as a leader; record.leader_id "": nothing yet */
  sim_weather_t weather;
  s3l_ns_t second; /* steps are counted since */
  uint32_t steps;
  s3l_ns_t valid_marked; /* on the log */
  s3l_ns_t led_from;
} sim_node_t;

typedef struct sim_foreign_s {
  bool active;
  bool undead; /* goes on answering that it leads */
  uint32_t stamp;
  bool leads;
  bool releases;
  s3l_ns_t until;
  int64_t wall_offset_ms;
  char etag[SIM_ETAG_SIZE];
  bool absent;
  s3l_prng_t rnd;
} sim_foreign_t;

/** What the store holds, as far as situations are concerned. */
typedef struct sim_standing_s {
  enum { SIM_STANDS_NOTHING = 0, SIM_STANDS_RECORD, SIM_STANDS_FOREIGN, SIM_STANDS_DAMAGE } kind;
  unsigned node;
  uint32_t life;
  uint64_t incarnation;
  bool released;
  bool granted; /* written by the leader before */
  char successor[24];
} sim_standing_t;

typedef struct sim_world_s {
  const sim_plan_t* plan;
  uint32_t nodes_out; /* bit per node that never stands */
  s3l_ns_t until;
  s3l_ns_t t;
  sim_node_t nodes[SIM_NODES_MAX];
  uint16_t free_request;
  uint8_t
      who[SIM_FAULTS_MAX]; /* whom an active window was found to concern, plus one; 0: inactive */
  sim_standing_t standing;
  sim_foreign_t foreign;
  bool trial_stamps; /* ... and says all the same that it leads */
  int on_trial;      /* a leader that is cut off from the store alone; -1: none */
  s3l_prng_t trials;
  s3l_ns_t calm_at; /* when the chapter's faults have ended: nothing may be held up beyond it */
  size_t chapter;
  s3l_prng_t hand;
  uint64_t hand_count;
  s3l_effects_t effects;
  oracle_t oracle;
  unsigned wanted; /* checks at whose violation the run ends */
  sim_log_t* log;  /* NULL: nobody looks */
  /* What a step made is in `effects`, and is not carried out yet; or NULL. */
  void (*saw_step)(struct sim_world_s* w, unsigned node, const s3l_event_t* event);
  bool by_hand; /* nothing happens by itself: the caller says what arrives, and when */
  uint64_t digest;
  uint64_t faults_met;
  sim_situations_t met;
  sim_heap_t heap; /* from here on zeroed in part only: it is large */
  sim_request_t requests[SIM_REQUESTS_MAX];
  sim_store_t store;
} sim_world_t;

/* world.c */

/** Runs from the start to `until`, or to the first violation of a wanted check. */
void sim_world_run(sim_world_t* w);
void sim_world_init(sim_world_t* w, const sim_plan_t* plan);
/** In parts, between which a test may do anything. */
void sim_world_begin(sim_world_t* w);
void sim_world_advance(sim_world_t* w, s3l_ns_t by);
void sim_push(sim_world_t* w, s3l_ns_t at, int kind, unsigned index, uint32_t stamp);
/** Tells the oracle of a node's options. */
void sim_know(sim_world_t* w, unsigned node, const s3l_core_config_t* config);
void sim_begin(sim_world_t* w, unsigned node);
void sim_crash(sim_world_t* w, unsigned node);
void sim_pause(sim_world_t* w, unsigned node, s3l_ns_t until);
s3l_ns_t sim_boot(const sim_world_t* w, const sim_node_t* n);
/** `ms` from now, by the clock of a node's timers. */
s3l_ns_t sim_slewed_in(const sim_world_t* w, const sim_node_t* n, s3l_ns_t ms);
int64_t sim_wall_ms(const sim_world_t* w, const sim_node_t* n);
/** A node that believes it leads now; -1 if none does. */
int sim_leader(const sim_world_t* w);
void sim_met(sim_world_t* w, sim_situation_t situation);

/* node.c */

void sim_step(sim_world_t* w, unsigned node, s3l_event_t* event);
/** The node's application sets the next value, if no write is under way. */
void sim_publish(sim_world_t* w, unsigned node);
void sim_on_timer(sim_world_t* w, unsigned node);
void sim_stop(sim_world_t* w, unsigned node, bool closes, s3l_ns_t start_at);
void sim_rearm(sim_world_t* w, unsigned node);

/* net.c */

void sim_issue(sim_world_t* w, unsigned node, const s3l_effect_t* effect);
/** `request` is a node's. */
void sim_cancel(sim_world_t* w, unsigned node, uint16_t request);
/** The first half of a record's incarnation. */
uint64_t sim_incarnation(const s3lect_record_t* record);
/** A write is carried out, if its condition holds. */
sim_reply_t sim_put(sim_world_t* w, const sim_request_t* request);
/** A request ends for its node. */
void sim_done(sim_world_t* w, sim_request_t* request, const s3lect_store_result_t* result,
              const s3l_listing_t* listing);
void sim_timed_out(sim_world_t* w, uint16_t request);
void sim_on_arrival(sim_world_t* w, unsigned request);
void sim_on_reply(sim_world_t* w, unsigned request);
void sim_on_broken(sim_world_t* w, unsigned request);
/** The node's process is gone: what it sent may still arrive. */
void sim_forget_request(sim_world_t* w, unsigned node);

/* peer.c */

void sim_ask(sim_world_t* w, unsigned node, const s3l_effect_t* effect);
void sim_ask_cancel(sim_world_t* w, unsigned node);
void sim_ask_timed_out(sim_world_t* w, unsigned node);
void sim_on_ask(sim_world_t* w, unsigned node);
void sim_on_waited(sim_world_t* w, unsigned node);
void sim_on_answer(sim_world_t* w, unsigned node);
/** The node leads no more: those who wait are answered. */
void sim_answer_waiting(sim_world_t* w, unsigned node);
/** The candidacy that the node may grant, as its peer server picks one; NULL: none. */
const s3lect_record_t* sim_candidate(sim_world_t* w, unsigned node, const char* successor);
/** The node was announced, or renewed its lease. */
void sim_peer_led(sim_world_t* w, unsigned node);
/** The node's process is gone. */
void sim_peer_died(sim_world_t* w, unsigned node);
/** Cuts the leader off from the store alone, or sees what has come of it. */
void sim_on_trial(sim_world_t* w, int node);
/** Whether nothing goes wrong but what a trial does; that comes when the next chapter has begun. */
static inline bool sim_is_calm(const sim_world_t* w) {
  return w->t >= w->calm_at || w->on_trial >= 0;
}

/* boundary.c */

typedef enum { SIM_BOUNDARY_OFF, SIM_BOUNDARY_TRAVELS, SIM_BOUNDARY_LOST } sim_boundary_t;

/** What becomes of a request, and when it arrives. */
sim_boundary_t sim_boundary(sim_world_t* w, sim_request_t* request, s3l_ns_t* at);
/** A write is about to be carried out; and whether what it overwrote is to come back. */
void sim_boundary_arrives(sim_world_t* w, sim_request_t* request);
bool sim_boundary_replays(sim_request_t* request);

/* epochs.c */

/** A list or a delete arrives. */
void sim_files_list(sim_world_t* w, sim_request_t* request);
void sim_files_gc(sim_world_t* w, const sim_request_t* request);
/** Whether a write that has just landed is to land once more; and that. */
bool sim_files_replays(sim_world_t* w, const sim_request_t* request);
void sim_files_replay(sim_world_t* w, const sim_request_t* request);
void sim_files_by_hand(sim_world_t* w, const sim_fault_t* fault);
/** At the end of a quiet spell. */
void sim_files_check(sim_world_t* w);
void sim_files_check_claim(sim_world_t* w, const sim_request_t* r);
/** Whether a create is held up until all files are deleted; and that. */
bool sim_files_undoes(sim_world_t* w, const sim_request_t* request);
void sim_files_undo(sim_world_t* w, const sim_request_t* request);

/* fault.c */

/** Sums up what holds for each node. */
void sim_set_weather(sim_world_t* w);

void sim_on_fault(sim_world_t* w, unsigned fault);
void sim_on_fault_end(sim_world_t* w, unsigned fault);

/* foreign.c */

void sim_foreign_begin(sim_world_t* w, const sim_fault_t* fault);
void sim_foreign_end(sim_world_t* w);
void sim_on_foreign(sim_world_t* w, unsigned what);

#endif
