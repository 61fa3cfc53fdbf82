/* world/bucket.c: see bucket.h. */
#include "world/bucket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world/judge.h"
#include "world/names.h"
#include "world/secrets.h"
#include "world/service.h"
#include "world/situations.h"
#include "world/socket.h"
#include "world/store.h"
#include "world/writer.h"

struct world_bucket_s bucket;

static void on_change(void* arg, const char* key, const char* body, size_t n) {
  (void)arg;
  if (strcmp(key, WORLD_WORK_KEY) == 0)
    world_writer_saw(body, n);
  else
    world_saw_change(key, body, n);
}

/* The lockfile is written under a condition only. Of epoch files judge.c counts the writes without
 * one. */
static void check(const fakes3_entry_t* e) {
  bool put = strcmp(e->method, "PUT") == 0;
  bool del = strcmp(e->method, "DELETE") == 0;
  bucket.requests++;
  bucket.puts += put;
  bucket.deletes += del;
  bucket.gets += strcmp(e->method, "GET") == 0;
  bucket.lists += strcmp(e->method, "LIST") == 0;
  bucket.faults += e->fault != NULL;
  /* Azure has no other word for a wrong signature. */
  if (e->code != NULL && (strcmp(e->code, "RequestTimeTooSkewed") == 0 ||
                          strcmp(e->code, "AuthenticationFailed") == 0))
    world_meet(WORLD_MET_SKEWED);
  if (put && strstr(e->key, ".verify-") == NULL && e->if_match == NULL &&
      e->if_none_match == NULL && !election.epochs)
    world_broken("a PUT of %s without a condition", e->key);
  if (e->code != NULL &&
      (strcmp(e->code, "SignatureDoesNotMatch") == 0 || strcmp(e->code, "InvalidRequest") == 0 ||
       strcmp(e->code, "MalformedXML") == 0))
    world_broken("%s %s: %s", e->method, e->key, e->code);
}

static void after_turn(world_host_t* host) {
  const fakes3_entry_t* e;
  fakes3_counters_t c;
  (void)host;
  if (bucket.server == NULL)
    return;
  while ((e = fakes3_log_after(bucket.server, bucket.seq)) != NULL && e->ended) {
    bucket.seq = e->seq;
    check(e);
  }
  fakes3_counters(bucket.server, &c);
  if (c.malformed > 0)
    world_broken("the store read something that is no HTTP");
}

void world_bucket_begin(uint64_t seed, bool tls) {
  char why[200];
  fakes3_options_t o = {
      .protocol = world_store->protocol,
      .host = "10.0.0.200",
      .port = WORLD_PORT,
      .log_entries = 256,
      .verify_every = WORLD_VERIFY_EVERY,
      .on_change = on_change,
      .keys = {world_store->key, {WORLD_ROLE_KEY, WORLD_ROLE_SECRET, WORLD_ROLE_TOKEN}},
      .tls_cert = tls ? world_secrets()->store : NULL,
      .tls_key = tls ? world_secrets()->key : NULL,
      .domain = "s3.world"};
  bucket = (struct world_bucket_s){
      .host = world_host_new(WORLD_STORE_ADDRESS, WORLD_STORE_MACHINE, seed)};
  bucket.host->after_turn = after_turn;
  bucket.host->wake_ns = 20 * WORLD_US;
  for (uint32_t i = 0; i < WORLD_STORE_FRONTENDS; i++)
    world_net.host_at[(WORLD_STORE_ADDRESS + i) & 255] = bucket.host;
  world_names.at[0] = (world_name_t){.name = "s3.world", .len = WORLD_STORE_FRONTENDS - 1};
  for (uint32_t i = 1; i < WORLD_STORE_FRONTENDS; i++)
    world_names.at[0].addresses[i - 1] = WORLD_STORE_ADDRESS + i;
  world_names.len = 1;
  world_host_t* was = world_enter(bucket.host);
  uv_update_time(&bucket.host->loop);
  if (fakes3_start(&bucket.host->loop, &o, &bucket.server, why, sizeof(why)) != 0) {
    fprintf(stderr, "s3lect-world: %s\n", why);
    abort();
  }
  world_leave(was);
}

static void on_stopped(void* arg) {
  (void)arg;
  bucket.stopped = true;
}

static world_host_t* enter(void) {
  world_host_t* was = world_enter(bucket.host);
  uv_update_time(&bucket.host->loop);
  world_wake(bucket.host);
  return was;
}

void world_bucket_stop(void) {
  world_host_t* was = enter();
  fakes3_t* server = bucket.server;
  fakes3_counters_t c;
  bucket.server = NULL;
  fakes3_counters(server, &c);
  world_met[WORLD_MET_TLS_FULL] += c.tls_handshakes - c.tls_resumed;
  world_met[WORLD_MET_TLS_RESUMED] += c.tls_resumed;
  fakes3_stop(server, on_stopped, NULL);
  world_leave(was);
}

bool world_bucket_end(void) {
  if (!bucket.stopped)
    return false;
  for (uint32_t i = 0; i < WORLD_STORE_FRONTENDS; i++)
    world_net.host_at[(WORLD_STORE_ADDRESS + i) & 255] = NULL;
  world_host_end(bucket.host);
  bucket.host = NULL;
  return true;
}

int world_bucket_fault(const char* json) {
  char why[200] = "";
  world_host_t* was = enter();
  int rule = fakes3_fault(bucket.server, json, why, sizeof(why));
  world_leave(was);
  world_log("store: %s", json);
  if (rule <= 0) {
    fprintf(stderr, "s3lect-world: %s: %s\n", json, why);
    abort();
  }
  return rule;
}

void world_bucket_clear(int rule) {
  world_host_t* was = enter();
  (void)fakes3_fault_clear(bucket.server, rule);
  world_leave(was);
  if (rule == 0)
    world_bucket_speak(bucket.dialect);
}

void world_bucket_speak(const char* dialect) {
  bucket.dialect = dialect;
  if (dialect != NULL)
    (void)world_bucket_fault(dialect);
}

void world_bucket_listen(bool on) {
  world_host_t* was = enter();
  (void)fakes3_listen(bucket.server, on);
  world_leave(was);
}

void world_bucket_restart(void) {
  world_host_t* was = enter();
  fakes3_disconnect(bucket.server);
  world_leave(was);
}

void world_bucket_empty(void) {
  world_host_t* was = enter();
  fakes3_reset(bucket.server);
  world_judge_emptied();
  world_writer_emptied();
  world_leave(was);
}

void world_bucket_move(uint32_t to) {
  to = 1 + to % (WORLD_STORE_FRONTENDS - 1);
  for (uint32_t i = 1; i < WORLD_STORE_FRONTENDS; i++)
    world_net.host_at[(WORLD_STORE_ADDRESS + i) & 255] = i == to ? bucket.host : NULL;
  world_names.at[0].addresses[0] = WORLD_STORE_ADDRESS + to;
  world_names.at[0].len = 1;
}
