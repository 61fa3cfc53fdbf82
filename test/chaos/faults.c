/* The faults: what happens when one begins and when it ends. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "chaos/chaos.h"
#include "store/file/open.h"

/* The process that the fault met still runs. */
static bool is_same(const chaos_fault_t* f, const chaos_node_t* node) {
  return node->pid > 0 && node->life == f->life;
}

/* A number below n, from the part of the dice that `which` names. */
static unsigned roll(const chaos_fault_t* f, unsigned which, unsigned n) {
  return (unsigned)((f->dice >> (16 * which)) & 0xffff) % n;
}

/* --- processes ------------------------------------------------------------------------------ */

void chaos_unguard(chaos_t* chaos, const chaos_node_t* node) {
  chaos_note(chaos, "life %u is unguarded", node->life);
  chaos_oracle_unguarded(&chaos->oracle, node->life);
}

/* s3lect is stopped or killed while it may be the only one left to end its program. */
static void unguard_if_hurt(chaos_t* chaos, const chaos_node_t* node) {
  if (node->hurt)
    chaos_unguard(chaos, node);
}

static void begin_kill(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  if (node->held_ns != 0) /* nothing dies on a suspended machine */
    return;
  unguard_if_hurt(chaos, node);
  chaos_node_kill(node);
  node->restart_ns = s3lect_now_ns() + f->ms * CHAOS_MS;
}

static void begin_leave(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  chaos_node_leave(node);
  node->restart_ns = s3lect_now_ns() + f->ms * CHAOS_MS;
}

static void begin_stop(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  unguard_if_hurt(chaos, node);
  chaos_node_stop(node, true);
}

static void end_stop(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  if (is_same(f, node))
    chaos_node_stop(node, false);
}

static void begin_stutter(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  unguard_if_hurt(chaos, node);
  node->stutters++;
  if (node->pid > 0)
    setpriority(PRIO_PROCESS, (id_t)node->pid, 19);
}

static void end_stutter(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  if (!is_same(f, node) || node->stutters == 0 || --node->stutters > 0)
    return;
  if (node->stops == 0)
    kill(node->pid, SIGCONT);
}

static void begin_descriptors(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  if (node->pid > 0)
    (void)chaos_limit(node->pid, RLIMIT_NOFILE, chaos_open_files(node->pid) + roll(f, 0, 3));
}

static void end_descriptors(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  if (is_same(f, node))
    (void)chaos_limit(node->pid, RLIMIT_NOFILE, 1024);
}

static void begin_memory(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  if (node->pid > 0)
    (void)chaos_limit(node->pid, RLIMIT_AS, chaos_address_space(node->pid) + roll(f, 0, 9) * 16384);
}

static void end_memory(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  if (is_same(f, node))
    (void)chaos_limit(node->pid, RLIMIT_AS, UINT64_MAX);
}

static void replace_cert(chaos_node_t* node, const char* by) {
  s3l_certs_replace(node->cert, by);
  if (node->pid > 0 && node->has_told && !node->leaves)
    kill(node->pid, SIGHUP);
}

static void begin_certificates(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  const s3l_certs_t* c = &chaos->certs;
  const char* const bad[] = {c->expired, c->future, c->stranger, c->wrong, c->good, c->other_ca};
  const char* chosen = bad[roll(f, 0, sizeof bad / sizeof bad[0])];
  node->cert_unfit = chosen == c->other_ca;
  node->started_unfit = node->started_unfit || (node->cert_unfit && !node->has_told);
  replace_cert(node, chosen);
}

static void end_certificates(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  node->cert_unfit = false;
  replace_cert(node, chaos->certs.good);
}

/* --- s3lect run ----------------------------------------------------------------------------- */

enum { S3LECT = 1, KEEPER = 2, GUARD = 4, PROGRAM = 8 };

static void signal_family(chaos_node_t* node, unsigned whom, int signum) {
  pid_t keeper = chaos_child_of(node->pid, "lease-keeper");
  pid_t guard = chaos_child_of(keeper, "lease-guard");
  pid_t program = chaos_child_of(guard, NULL);
  if ((whom & PROGRAM) != 0 && program > 0)
    kill(program, signum);
  if ((whom & S3LECT) != 0 && signum == SIGKILL)
    chaos_node_kill(node);
  if ((whom & S3LECT) != 0 && signum != SIGKILL)
    chaos_node_stop(node, signum == SIGSTOP);
  if ((whom & KEEPER) != 0 && keeper > 0)
    kill(keeper, signum);
  if ((whom & GUARD) != 0 && guard > 0)
    kill(guard, signum);
}

/* `guarded`: the manual promises that the program is ended on time. */
static const struct {
  unsigned whom;
  int signum;
  bool guarded;
} attacks[] = {
    {GUARD, SIGKILL, true},
    {KEEPER, SIGKILL, true},
    {PROGRAM, SIGKILL, true},
    {GUARD, SIGSTOP, true},
    {KEEPER, SIGSTOP, true},
    {GUARD | KEEPER, SIGSTOP, true},
    {KEEPER | S3LECT, SIGSTOP, true},
    {GUARD | KEEPER, SIGKILL, false},
    {GUARD | S3LECT, SIGSTOP, false},
    {GUARD | KEEPER | S3LECT, SIGSTOP, false},
    {GUARD | KEEPER | S3LECT, SIGKILL, false},
};

#define ATTACKS (sizeof attacks / sizeof attacks[0])

static void begin_guard(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  unsigned which = roll(f, 0, ATTACKS);
  bool busy = node->stops > 0 || node->stutters > 0 || node->killed_ns != 0;
  if (node->pid == 0 || node->held_ns != 0)
    return;
  f->did = 1;
  if (!attacks[which].guarded || node->hurt || busy)
    chaos_unguard(chaos, node);
  node->hurt = true;
  signal_family(node, attacks[which].whom, attacks[which].signum);
}

static void end_guard(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  unsigned which = roll(f, 0, ATTACKS);
  if (f->did != 0 && is_same(f, node) && attacks[which].signum == SIGSTOP)
    signal_family(node, attacks[which].whom, SIGCONT);
}

/* --- the network ---------------------------------------------------------------------------- */

static void begin_partition(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  const chaos_way_t good = {0}, held = {.held = true}, slow = {.slow = true};
  const chaos_way_t trickled = {.slow = true, .step = 1 + roll(f, 1, 12)};
  const chaos_way_t cut = {.cut_after = 1 + roll(f, 1, 700)};
  const chaos_way_t ways[][2] = {{held, held}, {held, good}, {good, held},     {slow, slow},
                                 {slow, good}, {good, slow}, {trickled, good}, {good, trickled},
                                 {cut, good},  {good, cut},  {cut, cut}};
  const chaos_way_t* chosen = ways[roll(f, 0, sizeof ways / sizeof ways[0])];
  unsigned tick_ms = chosen[0].step + chosen[1].step > 0 ? 5 : 50 + roll(f, 2, 900);
  unsigned which = chaos->config->peers ? 1 + roll(f, 3, 3) : 1;
  if ((which & 1) != 0)
    chaos_relay_misbehave(&node->store, chosen, tick_ms);
  if ((which & 2) != 0)
    chaos_relay_misbehave(&node->peer, chosen, tick_ms);
}

static void end_partition(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  bool reset = roll(f, 2, 2) == 0;
  chaos_relay_heal(&node->store, reset);
  if (chaos->config->peers)
    chaos_relay_heal(&node->peer, reset);
}

/* --- the store ------------------------------------------------------------------------------ */

/* Nobody waits for the reply: the fake may be stopped, and then reads the request later. */
static void control(chaos_t* chaos, const char* method, const char* path, const char* body) {
  char request[512];
  struct sockaddr_in to;
  int* fd = &chaos->controls[chaos->controls_len++ % 8];
  int n = snprintf(request, sizeof request,
                   "%s /_fakes3/%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n%s",
                   method, path, strlen(body), body);
  (void)uv_ip4_addr("127.0.0.1", atoi(strrchr(chaos->s3.url, ':') + 1), &to);
  if (*fd > 0)
    close(*fd);
  *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(*fd, (struct sockaddr*)&to, sizeof to) != 0 ||
      send(*fd, request, (size_t)n, MSG_NOSIGNAL) != n)
    chaos_note(chaos, "no control request could be sent");
}

static void begin_store_stop(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  chaos->store_stops++;
  if (!chaos->config->file) {
    proc_signal(chaos->s3.fake, SIGSTOP);
  } else if (chaos->lock < 0) {
    chaos->lock = open(s3proc_path(&chaos->s3, S3L_FILE_LOCK), O_RDWR | O_CLOEXEC);
    if (chaos->lock >= 0)
      (void)flock(chaos->lock, LOCK_EX | LOCK_NB);
  }
}

static void end_store_stop(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  if (chaos->store_stops == 0 || --chaos->store_stops > 0)
    return;
  if (!chaos->config->file)
    proc_signal(chaos->s3.fake, SIGCONT);
  else if (chaos->lock >= 0)
    close(chaos->lock);
  chaos->lock = -1;
}

static void end_store_replaced(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  chaos->store_stops = 0;
  s3proc_replace_fake(&chaos->s3);
}

static void begin_store_emptied(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  if (!chaos->config->file) {
    control(chaos, "POST", "reset", "");
    return;
  }
  DIR* dir = opendir(chaos->s3.dir);
  for (const struct dirent* e; dir != NULL && (e = readdir(dir)) != NULL;)
    if (strncmp(e->d_name, "lock", 4) == 0)
      unlink(s3proc_path(&chaos->s3, e->d_name));
  if (dir != NULL)
    closedir(dir);
}

static const char* const errors[] = {
    "\"status\":503,\"code\":\"SlowDown\"",
    "\"status\":500,\"code\":\"InternalError\"",
    "\"status\":503,\"after_effect\":true",
    "\"status\":500,\"after_effect\":true,\"match\":{\"method\":\"PUT\"}",
    "\"status\":502,\"html\":\"<html>bad gateway</html>\"",
    "\"status\":404,\"html\":\"<html>not here</html>\"",
    "\"status\":403,\"code\":\"AccessDenied\"",
    "\"status\":409,\"code\":\"ConditionalRequestConflict\",\"match\":{\"method\":\"PUT\"}",
    "\"drop_before\":true",
    "\"drop_after\":true,\"match\":{\"method\":\"PUT\"}",
    "\"reset_mid_reply\":true",
    "\"stall\":true",
    "\"stall_after\":true,\"match\":{\"method\":\"PUT\"}",
    "\"late_ms\":900,\"match\":{\"method\":\"PUT\"}",
    "\"late_ms\":2600,\"match\":{\"method\":\"PUT\"}",
    "\"truncate\":true",
    "\"garbage\":true",
    "\"latency_ms\":500",
    "\"reply_delay_ms\":600",
    "\"chunked\":true",
    "\"http10\":true",
    "\"plain_404\":true",
    "\"close_after\":true",
    "\"refuse_ms\":700",
};

static void begin_store_errors(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  char rule[256], count[32] = "";
  const char* error = errors[roll(f, 0, sizeof errors / sizeof errors[0])];
  if (strstr(error, "refuse") == NULL)
    snprintf(count, sizeof count, ",\"count\":%u", 1 + roll(f, 1, 20));
  snprintf(rule, sizeof rule, "{%s%s}", error, count);
  chaos_note(chaos, "rule %s", rule);
  control(chaos, "POST", "faults", rule);
}

static void end_store_errors(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  control(chaos, "DELETE", "faults", "");
}

/* --- the lockfile, or the newest epoch file ------------------------------------------------- */

static void on_damaged(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  chaos_t* chaos = req->data;
  chaos->req_busy = false;
  chaos_note(chaos, "damaged %s: %d", req->key, result->status);
}

/* Replaces what was read, and nothing newer: a file that is gone must not come back. */
static void on_read(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  chaos_t* chaos = req->data;
  chaos->req_busy = false;
  if (result->status != 0 || result->etag == NULL)
    return;
  snprintf(chaos->etag, sizeof chaos->etag, "%s", result->etag);
  req->etag = chaos->etag;
  req->condition = S3LECT_IF_MATCH;
  req->body = chaos->body;
  req->body_len = strlen(chaos->body);
  req->cb = on_damaged;
  chaos->req_busy = s3lect_store_put(&chaos->store, req) == 0;
}

static void begin_damage(chaos_t* chaos, chaos_fault_t* f, chaos_node_t* node) {
  uint64_t epoch = 0;
  if (chaos->req_busy)
    return;
  for (size_t i = 0; i < chaos->oracle.leaderships_len; i++)
    if (chaos->oracle.leaderships[i].epoch > epoch)
      epoch = chaos->oracle.leaderships[i].epoch;
  snprintf(chaos->key, sizeof chaos->key,
           chaos->config->epochs ? "lock.jsonlock-%010" PRIu64 ".json" : "lock.json", epoch);
  snprintf(chaos->body, sizeof chaos->body,
           roll(f, 0, 2) == 0 ? "junk %016" PRIx64 : "{\"x\":\"%" PRIx64, f->dice);
  chaos->req =
      (s3lect_store_req_t){.data = chaos, .key = chaos->key, .timeout_ms = 1000, .cb = on_read};
  chaos->req_busy = s3lect_store_get(&chaos->store, &chaos->req) == 0;
}

/* --- all of them ---------------------------------------------------------------------------- */

const chaos_fault_kind_t chaos_fault_kinds[] = {
    {"kill", 8, 0, 4000, 0, begin_kill, NULL},
    {"leave", 4, 0, 3000, 0, begin_leave, NULL},
    {"stop", 8, 300, 5500, 0, begin_stop, end_stop},
    {"stutter", 4, 1000, 5000, 0, begin_stutter, end_stutter},
    {"descriptors", 4, 500, 5000, 0, begin_descriptors, end_descriptors},
    {"memory", 3, 500, 4000, CHAOS_NO_ASAN, begin_memory, end_memory},
    {"partition", 12, 500, 6000, CHAOS_ON_S3, begin_partition, end_partition},
    {"certificates", 6, 500, 5000, CHAOS_ON_PEERS, begin_certificates, end_certificates},
    {"attack on guard", 14, 300, 5000, CHAOS_ON_RUN, begin_guard, end_guard},
    {"store stopped", 4, 300, 5000, 0, begin_store_stop, end_store_stop},
    {"store replaced", 3, 0, 3000, CHAOS_ON_S3, begin_store_stop, end_store_replaced},
    {"store emptied", 5, 0, 0, 0, begin_store_emptied, NULL},
    {"store errors", 10, 300, 3000, CHAOS_ON_S3, begin_store_errors, end_store_errors},
    {"damage", 5, 0, 0, 0, begin_damage, NULL},
    {"wall clock", 4, 300, 6000, 0, chaos_begin_wall, chaos_end_wall},
    {"slewed clocks", 4, 2000, 9000, 0, chaos_begin_slew, chaos_end_slew},
    {"suspended", 6, 300, 6000, 0, chaos_begin_suspend, chaos_end_suspend},
};

const size_t chaos_fault_kinds_len = sizeof chaos_fault_kinds / sizeof chaos_fault_kinds[0];
