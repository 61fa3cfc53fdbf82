/* world/judge.c: see judge.h. */
#include "world/judge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world/bucket.h"
#include "world/situations.h"
#include "world/told.h"
#include "world/value.h"

/* After that many renewals without If-Match an elector tries again whether the store has it. */
#define PLAIN_MAX 100

/* All is well for longer than that. */
#define VERIFIED_WITHIN_NS (500 * WORLD_S)

/* A follower looks at the store within this time, and then knows what its leader has renewed. */
#define KNOWN_NS (400 * WORLD_S)

enum { NOTHING, READING, WRITING };

typedef struct send_s {
  uint64_t epoch, number;
  int64_t sent;
  bool landed, denied; /* denied: the core was told that it had no effect */
  unsigned values;     /* that had been set by then */
  unsigned least; /* the oldest value that it may carry: the last one before the write before */
  bool granted;   /* by the leader before */
} send_t;

typedef struct birth_s {
  char incarnation[S3LECT_INCARNATION_SIZE];
  int node;
  uint32_t life;
  send_t sends[WORLD_SENDS];
  size_t sends_len;
  unsigned values; /* that its application has set */
} birth_t;

/* What a leader wrote in place of its release: the claim of another birth. */
#define GRANTS 64
typedef struct grant_s {
  birth_t* by;
  size_t send;  /* its index among those of `by` */
  uint64_t to;  /* the birth, counted from one */
  send_t claim; /* as if that birth had sent it then */
} grant_t;

static birth_t births[WORLD_BIRTHS];
static grant_t grants[GRANTS];
static size_t grants_len; /* of all */
static size_t births_len;
static bool absent_now; /* the lockfile */
static int64_t absent_until;
static uint64_t newest; /* epoch that was written since the store was emptied */

void world_judge_begin(void) {
  memset(births, 0, births_len * sizeof(births[0]));
  births_len = 0;
  grants_len = 0;
  absent_now = true;
  newest = 0;
}

void world_judge_emptied(void) {
  absent_now = true;
  newest = 0;
  oracle_deleted(&election.oracle);
}

void world_judge_birth(world_life_t* l) {
  if (births_len == WORLD_BIRTHS)
    abort();
  birth_t* b = &births[births_len];
  *b = (birth_t){.node = l->node->index, .life = l->number, .values = l->values};
  for (size_t i = 0; i < 16; i++)
    snprintf(b->incarnation + 2 * i, 3, "%02x", l->host->drawn[i]);
  l->birth = births_len++;
  l->born = true;
}

void world_judge_value(world_life_t* l, unsigned count) {
  if (l->born)
    births[l->birth].values = count;
}

static bool is_seen(const world_life_t* l) {
  return !l->ghost && l->has_elector;
}

bool world_judge_status(world_life_t* l, s3lect_status_t* status, bool* leads) {
  *status = (s3lect_status_t){.size = sizeof(*status)};
  if (!is_seen(l))
    return false;
  world_host_t* was = world_enter(l->host);
  unsigned stall_in = l->host->stall_in;
  l->host->stall_in = 0; /* the process does not stand still while it is looked at */
  int rc = s3lect_elector_status(&l->elector, status);
  *leads = s3lect_elector_is_leader(&l->elector) != 0;
  l->host->stall_in = stall_in;
  world_leave(was);
  return rc == 0;
}

/* What is_leader is compared with, now. */
void world_judge_look(world_life_t* l) {
  s3lect_status_t status;
  bool leads;
  if (!world_judge_status(l, &status, &leads))
    return;
  int64_t lease = world_lease_ns(l->host);
  if (leads != (status.valid_until_ns > lease))
    world_broken("%s: is_leader is %d, valid for %.3f ms", l->node->name, leads,
                 (double)(status.valid_until_ns - lease) / 1e6);
  oracle_valid(&election.oracle, l->node->index, world.now, status.valid_until_ns);
}

void world_judge_turn(world_host_t* host) {
  world_life_t* l = host->data;
  world_counters_t* c = &election.counters;
  c->bytes_most = host->bytes_most > c->bytes_most ? host->bytes_most : c->bytes_most;
  c->fds_most = host->fds > c->fds_most ? host->fds : c->fds_most;
  if (host->bytes > WORLD_BYTES_MAX || host->fds > WORLD_FDS_MAX)
    world_broken("%s has %zu bytes and %zu descriptors", l->node->name, host->bytes, host->fds);
  /* The oracle's own bound is the instant itself; a timer of ms comes after it. */
  oracle_blocked(&election.oracle, l->node->index, world.now);
  if (l->started || election.oracle.nodes[l->node->index].valid_until != 0)
    world_judge_look(l);
  if (is_seen(l))
    world_told_turn(l);
}

static bool begins(const char* line, const char* with) {
  return strncmp(line, with, strlen(with)) == 0;
}

static world_life_t* life_of(const s3lect_elector_t* elector) {
  return elector->data;
}

/* The ports that a process has been told of: the store's, the credentials service's, its peers'. */
void world_judge_connect(world_host_t* host, uint32_t address, uint16_t port) {
  uint32_t last = address & 255;
  bool known = port == WORLD_PEERPORT ? last >= 1 && last <= WORLD_NODES
               : port == WORLD_PORT   ? last >= 200 && last < 204
                                      : port == 80;
  if (!known)
    world_broken("a process at %08x connects to %08x port %u, which nobody told it", host->address,
                 address, port);
}

void world_judge_no_memory(world_host_t* host) {
  const world_life_t* l = host->data;
  if (!l->has_elector)
    world_meet(WORLD_MET_NO_MEMORY_START);
  else if (l->started)
    world_meet(WORLD_MET_NO_MEMORY_LEADING);
  if (l->request == READING)
    world_meet(WORLD_MET_NO_MEMORY_READ);
  else if (l->request == WRITING)
    world_meet(WORLD_MET_NO_MEMORY_WRITE);
}

bool world_judge_in_request(const world_life_t* l) {
  return l->request != NOTHING;
}

void world_judge_ack(world_event_t* event) {
  world_life_t* l = S3L_CONTAINER_OF(event, world_life_t, ack);
  world_host_t* was = world_enter(l->host);
  if (is_seen(l)) {
    oracle_acknowledged(&election.oracle, l->node->index);
    s3lect_elector_ack(&l->elector, l->epoch);
  }
  world_leave(was);
}

/* ---- The core's requests, from its trace ---- */

static uint64_t number_after(const char* line, const char* name) {
  const char* at = strstr(line, name);
  return at != NULL ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* Epoch files are renewed without a condition only where the store has refused If-Match, and that
 * is tried again. */
static void check_condition(world_life_t* l, const char* line) {
  if (strstr(line, " if-match") != NULL || strstr(line, " if-absent") != NULL)
    return;
  if (l->plain-- == 0)
    world_broken("%s: %s, without a condition", l->node->name, line);
}

static birth_t* born(const char* incarnation, uint64_t* id) {
  for (size_t i = births_len; i-- > 0;)
    if (strcmp(births[i].incarnation, incarnation) == 0) {
      *id = i + 1;
      return &births[i];
    }
  return NULL;
}

/* The claim of a follower is written: of one that runs still as if he had sent it now himself. */
static void saw_grant(world_life_t* l, size_t send, const char* incarnation, oracle_write_t w) {
  char whose[S3LECT_INCARNATION_SIZE];
  uint64_t id = 0;
  snprintf(whose, sizeof(whose), "%s", incarnation);
  const birth_t* b = born(whose, &id);
  if (b == NULL) {
    world_broken("%s: nobody was born as %s", l->node->name, whose);
    return;
  }
  const world_life_t* of = election.nodes[b->node].life;
  bool runs = of != NULL && of->number == b->life;
  w.node = b->node;
  w.life = b->life;
  w.incarnation = id;
  w.leader_id = election.nodes[b->node].id;
  w.sent_boot = runs ? world_lease_ns(of->host) : INT64_MIN / 2;
  grants[grants_len++ % GRANTS] = (grant_t){
      .by = &births[l->birth],
      .send = send,
      .to = id,
      .claim = {.epoch = w.epoch, .number = w.number, .sent = w.sent_boot, .granted = true}};
  world_meet(WORLD_MET_GRANTED);
  oracle_grant_sent(&election.oracle, world.now, l->node->index, &w);
}

static void saw_write(world_life_t* l, const char* line) {
  birth_t* b = &births[l->birth];
  uint64_t epoch = number_after(line, " epoch=");
  uint64_t number = number_after(line, " n=");
  const send_t* before = b->sends_len > 0 ? &b->sends[(b->sends_len - 1) % WORLD_SENDS] : NULL;
  size_t i = b->sends_len++ % WORLD_SENDS;
  b->sends[i] = (send_t){.epoch = epoch,
                         .number = number,
                         .sent = world_lease_ns(l->host),
                         .values = b->values,
                         .least = before != NULL ? before->values : 0};
  oracle_write_t w = {.node = l->node->index,
                      .life = l->number,
                      .sent_boot = world_lease_ns(l->host),
                      .epoch = epoch,
                      .number = number,
                      .incarnation = l->birth + 1,
                      .released = strstr(line, " released") != NULL,
                      .leader_id = l->node->id};
  check_condition(l, line);
  const char* granted = strstr(line, " granted=");
  l->release_open = w.released || granted != NULL;
  l->release = i;
  l->request = WRITING;
  l->asked_at = world.now;
  world_judge_look(l);
  if (granted != NULL)
    saw_grant(l, i, granted + strlen(" granted="), w);
  else
    oracle_write_sent(&election.oracle, world.now, &w);
}

/* What the core is told of a write is true. Where a proxy sends a write again, and gives the answer
 * to that, it is told that the condition did not hold. */
static void check_write(world_life_t* l, const char* line) {
  birth_t* b = &births[l->birth];
  size_t i = (b->sends_len - 1) % WORLD_SENDS;
  if (strstr(line, " uncertain") != NULL) {
    world_meet(WORLD_MET_UNCERTAIN);
    if (b->sends[i].landed)
      world_meet(WORLD_MET_UNCERTAIN_LANDED);
    return;
  }
  if (begins(line, "done ok") && !b->sends[i].landed)
    world_broken("%s: write %" PRIu64 " is confirmed, and has not landed", l->node->name,
                 b->sends[i].number);
  bool refused = begins(line, "done EPRECONDITION") || begins(line, "done ETHROTTLED");
  bool replayed = refused && world.now < election.replays_until;
  if (begins(line, "done EUNSUPPORTED") || begins(line, "done EREFUSED"))
    l->plain = PLAIN_MAX;
  b->sends[i].denied = !begins(line, "done ok") && !replayed;
  if (b->sends[i].denied && b->sends[i].landed)
    world_broken("%s: write %" PRIu64 " has landed: %s", l->node->name, b->sends[i].number, line);
}

/* A release that was not confirmed is told of, unless the store showed what became of it. */
static void check_release(const world_life_t* l, const char* line) {
  if (l->release_open && !births[l->birth].sends[l->release].landed)
    world_broken("%s: %s, and nobody is told that the release failed", l->node->name, line);
}

/* A follower whose leader timeout is not the leader's is told so; an examination has ended. */
void world_judge_quiet(void) {
  const world_life_t* leader = NULL;
  for (int i = 0; i < election.nodes_len; i++)
    if (oracle_believes(&election.oracle, i, world.now))
      leader = election.nodes[i].life;
  for (int i = 0; i < election.nodes_len && leader != NULL; i++) {
    const world_node_t* n = &election.nodes[i];
    if (n->life != NULL && n->life->has_verify &&
        world.now - n->life->verify_since > VERIFIED_WITHIN_NS)
      world_broken("%s: verify goes on for %.0f s", n->name,
                   (double)(world.now - n->life->verify_since) / 1e9);
    if (n->life != NULL && strcmp(n->id, leader->node->id) != 0 &&
        n->life->config.leader_timeout_ms != leader->config.leader_timeout_ms &&
        !n->life->timeouts_told)
      world_broken("%s is not told that the leader's timeout is another one", n->name);
  }
  if (leader != NULL && world.now - election.oracle.quiet_from >= KNOWN_NS)
    world_told_all(leader);
}

/* What it is told of absence, too. */
static void check_absence(const world_life_t* l, const char* line) {
  if (!election.epochs && begins(line, "done ENOTFOUND") && l->asked_at > absent_until &&
      !absent_now)
    world_broken("%s: told that there is no lockfile, which there is since %.3f s", l->node->name,
                 (double)(world.now - absent_until) / 1e9);
}

/* A line of the trace about a peer's answer. */
static void saw_peer(const char* line) {
  if (begins(line, "peer leading")) {
    bool proven = strstr(line, " authenticated") != NULL;
    world_meet(proven ? WORLD_MET_PEER_PROVEN : WORLD_MET_PEER_PLAIN);
    if (strstr(line, " held") != NULL)
      world_meet(WORLD_MET_PEER_HELD);
  } else if (begins(line, "peer failed")) {
    world_meet(WORLD_MET_PEER_FAILED);
  } else if (begins(line, "peer not-leading")) {
    world_meet(WORLD_MET_PEER_ENDED);
  }
}

/* Timers run on the slewed clock. The core gives up a request that is 1 s late, and waits on. */
static void check_duration(const world_life_t* l, const char* line) {
  bool ran = l->node->blocked_until < l->asked_at &&
             world.now >= election.oracle.nodes[l->node->index].beyond;
  if (ran && world.now - l->asked_at > l->request_ns * 11 / 10 + WORLD_S / 2)
    world_broken("%s: %s, after %.3f s", l->node->name, line,
                 (double)(world.now - l->asked_at) / 1e9);
}

static void saw_done(world_life_t* l, const char* line) {
  int node = l->node->index;
  if (strstr(line, " not-applied") != NULL)
    world_meet(WORLD_MET_NEVER_SENT);
  check_duration(l, line);
  if (begins(line, "done ok") || begins(line, "done EPRECONDITION") ||
      begins(line, "done ENOTFOUND") || begins(line, "done ECONFLICT"))
    l->release_open = false;
  if (l->request == WRITING)
    check_write(l, line);
  else if (l->request == READING)
    check_absence(l, line);
  if (l->request == READING)
    oracle_read_done(&election.oracle, node,
                     begins(line, "done ok") || begins(line, "done listed") ||
                         begins(line, "done ENOTFOUND") || begins(line, "done ENOTMODIFIED"));
  else if (l->request == WRITING)
    oracle_write_done(&election.oracle, node, strstr(line, " uncertain") != NULL);
  l->request = NOTHING;
}

void world_judge_trace(s3lect_elector_t* elector, const char* line) {
  world_life_t* l = life_of(elector);
  if (l->ghost)
    return;
  world_log("%s: %s", l->node->name, line);
  if (!begins(line, "notify"))
    l->by_peer = begins(line, "peer leading");
  if (begins(line, "write")) {
    saw_write(l, line);
  } else if (begins(line, "read") || begins(line, "list ")) {
    l->request = READING;
    l->asked_at = world.now;
    oracle_read_sent(&election.oracle, l->node->index, world.now);
  } else if (begins(line, "done")) {
    saw_done(l, line);
  } else if (begins(line, "released") || begins(line, "stopped")) {
    check_release(l, line);
  } else {
    saw_peer(line);
  }
}

/* ---- What lands ---- */

/* The claim of birth `id` lands by the hand of another: by the newest of his writes, where he wrote
 * it more than once. */
static const send_t* landed_by_grant(uint64_t id, uint64_t epoch, uint64_t number) {
  for (size_t k = grants_len; k > 0 && k + GRANTS > grants_len; k--) {
    grant_t* g = &grants[(k - 1) % GRANTS];
    if (g->to != id || g->claim.epoch != epoch || g->claim.number != number)
      continue;
    g->by->sends[g->send].landed = true;
    return &g->claim;
  }
  return NULL;
}

/* The write that lands, as it was sent; NULL: that was long ago. */
static const send_t* landed(birth_t* b, uint64_t id, uint64_t epoch, uint64_t number) {
  for (size_t i = 0; i < WORLD_SENDS; i++)
    if (b->sends[i].epoch == epoch && b->sends[i].number == number) {
      b->sends[i].landed = true;
      if (b->sends[i].denied)
        world_broken("n%d: write %" PRIu64 " lands, and was told to have no effect", b->node,
                     number);
      return &b->sends[i];
    }
  return landed_by_grant(id, epoch, number);
}

/* A write carries the value that the application had set last, or a moment before. */
static void check_value(const birth_t* b, const send_t* send, const s3lect_record_t* r) {
  char text[S3LECT_VALUE_SIZE];
  bool none = r->released != 0 || r->claim != 0 || (send != NULL && send->granted);
  bool found = none && r->value[0] == '\0';
  for (unsigned i = send != NULL ? send->least : 0; !none && !found && i <= b->values; i++) {
    world_value_text(text, b->node, b->life, i);
    found = strcmp(text, r->value) == 0;
  }
  if (!found)
    world_broken("n%d: write %" PRIu64 " carries the value %.40s, which is none of its application",
                 b->node, r->write, r->value);
}

static bool parse(const char* key, const char* body, size_t n, s3lect_record_t* r) {
  if (!election.epochs)
    return strcmp(key, WORLD_KEY) == 0 && s3lect_record_parse(body, n, r) == 0;
  uint64_t number = s3lect_epoch_file_number(WORLD_KEY, key);
  return number > 0 && s3lect_epoch_file_parse(body, n, number, r) == 0;
}

/* Epochs of claims over absence are the store's time, which no proxy's clock changes; all others
 * follow one. The newest two epoch files are not deleted. */
static void check_epoch(const s3lect_record_t* r) {
  uint64_t now_ms = (uint64_t)world_wall_ms(bucket.host);
  uint64_t most = (election.epochs ? now_ms / 1000 : now_ms) + 1000000;
  if (r->epoch > most)
    world_broken("epoch %" PRIu64 " is from no clock of the store", r->epoch);
  newest = r->epoch > newest ? r->epoch : newest;
}

static void check_deletion(const char* key) {
  if (!election.epochs)
    world_broken("somebody deletes the lockfile");
  else if (s3lect_epoch_file_number(WORLD_KEY, key) + 1 >= newest)
    world_broken("%s is deleted, one of the newest two", key);
}

void world_saw_change(const char* key, const char* body, size_t n) {
  s3lect_record_t r;
  uint64_t id = 0;
  if (strstr(key, ".verify-") != NULL || election.nodes_len == 0)
    return; /* no part of the election, or there is none */
  if (body == NULL) {
    check_deletion(key);
    return;
  }
  birth_t* b = parse(key, body, n, &r) ? born(r.incarnation, &id) : NULL;
  if (b == NULL) {
    world_broken("%s: no candidate wrote %.*s", key, (int)(n < 120 ? n : 120), body);
    return;
  }
  if (absent_now && !election.epochs)
    absent_until = world.now;
  absent_now = false;
  check_epoch(&r);
  world_log("store: write %" PRIu64 " of %s lands, epoch %" PRIu64, r.write, r.leader_id, r.epoch);
  const send_t* send = landed(b, id, r.epoch, r.write);
  char value[ORACLE_VALUE_SIZE];
  (void)world_value_key(value, r.value);
  check_value(b, send, &r);
  oracle_write_t w = {.node = b->node,
                      .life = b->life,
                      .sent_boot = send != NULL ? send->sent : INT64_MIN / 2,
                      .epoch = r.epoch,
                      .number = r.write,
                      .incarnation = id,
                      .released = r.released != 0,
                      .claims = r.claim != 0,
                      .leader_id = election.nodes[b->node].id,
                      .successor = r.successor,
                      .value = value};
  oracle_value_sent(&election.oracle, &w);
  oracle_write_landed(&election.oracle, world.now, &w);
}
