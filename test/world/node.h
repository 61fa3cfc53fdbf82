/* world/node.h: the candidates of an election, each a process with the library's public API, and
 * what the oracle is told of them.
 *
 * Vocabulary
 *   node   one candidate, with its options; it lives again and again
 *   life   one process of a node: a host, a store, an elector, and in peer mode client and server
 *   ghost  a life that was killed: its host is mute, and closes everything unseen. Thereby each
 *          kill also shows that the library can be closed when nothing works any more
 *   birth  one start of an elector: one incarnation */
#ifndef WORLD_NODE_H
#define WORLD_NODE_H

#include "s3lect.h"
#include "sim/oracle.h"
#include "world/world.h"

#define WORLD_NODES  ORACLE_NODES_MAX
#define WORLD_BIRTHS 8192
#define WORLD_SENDS  32
/* What a process never needs more of, whatever happens. */
#define WORLD_BYTES_MAX     (2u << 20)
#define WORLD_FDS_MAX       64
#define WORLD_KEY           "locks/world"
#define WORLD_VERIFY_PREFIX WORLD_KEY ".verify-world/"
#define WORLD_PORT          9000
#define WORLD_PEERPORT      8443

typedef struct world_config_s {
  uint32_t leader_timeout_ms;
  uint32_t renew_interval_ms;
  uint32_t frequent_interval_ms;
  uint32_t infrequent_interval_ms;
  uint32_t request_timeout_ms;
  uint32_t grace_period_ms;
  uint32_t stop_ack_ms;
  uint32_t ack_delay_ms; /* of the application */
  uint32_t renew_deadline_ms;
  uint32_t warn_before_ms;
  int32_t priority;
  uint32_t max_connections;
  uint32_t idle_timeout_ms;
  bool store_clock;
  bool peer_mode;
  bool epochs;
  bool by_name;     /* the endpoint is a name, not an address */
  bool tls;         /* to the store */
  bool peer_tls;    /* among peers, with certificates on both sides */
  bool credentials; /* from a service, for minutes; else fixed keys */
  bool values;      /* the application publishes some */
  bool updates;     /* ... and changes its options */
} world_config_t;

typedef struct world_life_s world_life_t;
typedef struct world_node_s world_node_t;

typedef struct world_write_s {
  uint64_t epoch, number;
} world_write_t;

struct world_node_s {
  int index;
  char name[16];
  const char* id; /* its server ID: its name, or another node's */
  world_config_t config;
  world_life_t* life; /* NULL: down */
  uint32_t lives;
  int64_t lease_ppb; /* its machine's clocks */
  int64_t timer_ppb;
  int64_t blocked_until;
  uint32_t alloc_fail; /* of a life that begins */
};

struct world_life_s {
  world_host_t* host;
  world_node_t* node;
  uint32_t number;
  s3lect_store_t store;
  s3lect_credentials_provider_t credentials;
  s3lect_elector_t elector;
  s3lect_peer_client_t client;
  s3lect_peer_server_t server;
  s3lect_verify_t verify;
  world_config_t config;  /* the node's, and what has been changed since */
  char addr[32];          /* likewise */
  s3lect_fenced_t fenced; /* writer.c */
  char work[32];
  uint64_t work_epoch, work_emptied;
  unsigned works;
  bool working;
  /* These are to be closed. */
  bool has_store, has_elector, has_client, has_server, has_credentials, has_verify;
  bool closing;
  int64_t verify_since;
  unsigned lies, lie; /* the election's, when the examination began */
  bool ghost;
  int64_t closing_since;
  int request; /* of the core, that is under way; judge.c */
  int64_t asked_at;
  int64_t request_ns; /* the longest that one may take, by its clock */
  size_t birth;       /* of the elector's last start, if there was one */
  bool born;
  bool started;
  bool release_open;  /* a release is under way, and nobody was told that it may have failed */
  size_t release;     /* its index among the birth's sends */
  unsigned plain;     /* renewals that it may send without a condition */
  bool timeouts_told; /* that a leader's timeout is another one */
  uint64_t error;     /* the last one that was told */
  int64_t error_at;
  uint64_t epoch;
  int64_t promised;
  uint64_t absent_epoch; /* of the leader before, when nobody was told to lead */
  bool by_peer;          /* what is told next comes of a peer's answer */
  unsigned values;       /* that its application has set */
  world_event_t wish;    /* the application's next one; application.c */
  s3l_prng_t wishes;
  world_event_t ack;            /* the application's */
  world_write_t writing, asked; /* answers.c */
};

typedef struct world_counters_s {
  uint64_t leaderships;
  uint64_t renewals;
  uint64_t requests;
  uint64_t errors;
  uint64_t connections;
  uint64_t lives;
  uint64_t verdicts;       /* of s3lect_verify_start */
  uint64_t refused_starts; /* an init that failed, for want of memory or descriptors */
  size_t bytes_most;
  size_t fds_most;
} world_counters_t;

/* The store breaks its promises to those who examine it for this protocol. */
#define WORLD_LIES_LOCKFILE 1u
#define WORLD_LIES_EPOCHS   2u

extern struct world_election_s {
  uint64_t seed;
  int nodes_len;
  bool epochs;
  bool mixed; /* the electors have different leader timeouts */
  bool peers; /* some ask their leader */
  world_node_t nodes[WORLD_NODES];
  oracle_t oracle;
  world_counters_t counters;
  unsigned lies;         /* WORLD_LIES_ now, and the number of the lie; 0: none */
  unsigned lie;          /* the number of the last one */
  int64_t replays_until; /* a proxy may have given the answer to a request that it sent again */
  unsigned ghosts;       /* lives that are closing, killed or not */
  char broken[256];      /* what else went wrong; "": nothing */
} election;

void world_election_begin(uint64_t seed, int nodes);
/** A process begins; nothing happens if it cannot, as when it has no memory. */
void world_node_begin(world_node_t* node);
/** A process ends: by itself, closing all; by a signal; or with its machine, without a word. */
typedef enum { WORLD_LEAVES, WORLD_KILLED, WORLD_CRASHED } world_end_t;
void world_node_end(world_node_t* node, world_end_t how);
/** What its closing waited for has ended. */
void world_life_go_on(world_life_t* life);
/** Checks the store, as `s3lect verify --quick` does. */
void world_node_verify(world_node_t* node);
void world_node_resign(world_node_t* node, int to);
void world_node_pause(world_node_t* node, int64_t until);
/** Pauses its virtual machine, whose clocks do not see it. */
void world_node_freeze(world_node_t* node, int64_t until);
/** Sets the rates of its machine's clocks. */
void world_node_rates(world_node_t* node, int64_t lease_ppb, int64_t timer_ppb);

/** The store changed an object. */
void world_saw_change(const char* key, const char* body, size_t n);

/** Notes what broke a promise of the library; the first one is kept. */
void world_broken(const char* format, ...) __attribute__((format(printf, 1, 2)));

#endif
