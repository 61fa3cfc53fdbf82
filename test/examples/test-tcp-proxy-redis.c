/* examples/tcp-proxy in front of real replicas: three machines, each a redis-server, a proxy before
 * it and a way of its own to the store; writers that write through each proxy all the time; and
 * leaders that are killed, stopped, and cut off from the store, one after the other.
 *
 * What is proven, over N fail-overs:
 *
 *   0 acknowledged writes are lost. A write counts as acknowledged when the leader's Redis has
 * taken it and WAIT says that both others have it, too: whoever leads next has it. (Redis
 * replicates asynchronously; without WAIT, no proxy could keep what an old leader has acknowledged
 * alone.)
 *
 *   0 writes of an old epoch are accepted after one of a newer epoch. Each write carries the epoch
 *   that its writer has found on its connection, and goes through a script (EVAL) that refuses an
 *   epoch below the largest seen, appending the others to a list: in it, epochs never go back.
 * After each fail-over a write with the epoch before is tried, and must be refused.
 *
 *   0 writes reach the Redis of a leader that was stopped and has woken up: its list is as long
 * after as before, though its writers had written meanwhile.
 *
 * What the proxy does not do is done here, as an operator's hook would: whoever leads is promoted,
 * its epoch raised, then the others are made its replicas. A machine that was killed comes back
 * empty, and its proxy stands again only once its Redis has everything.
 *
 * 10 fail-overs; with S3LECT_SOAK=1, 100.
 *
 * The proxy runs with a lockfile only: its behaviour depends on who leads, not on the protocol.
 *
 * ctest labels: no-valgrind one-protocol slow */

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/redis_rig.h"
#include "lib/tcp_proxy_rig.h"
#include "lib/test.h"
#include "lib/wait.h"

#define MACHINES    3
#define ACKED_MAX   (1 << 20)
#define EACH_EPOCH  5 /* writes that each writer gets acknowledged before the next fail-over */
#define RETRY_MS    10
#define PACE_MS     5
#define WAIT_MS     "500"
#define PATIENCE_MS 10000

typedef struct machine_s {
  tcp_proxy_t proxy;
  proc_t *redis, *relay;
  int redis_port;
  char endpoint[64];
} machine_t;

typedef struct acked_s {
  uint64_t id, epoch;
} acked_t;

typedef struct writer_s {
  pthread_t thread;
  int number;
  atomic_int port; /* of its proxy; 0: it is not there */
  atomic_bool end;
  _Atomic uint64_t epoch; /* of the writes that were acknowledged last */
  atomic_uint in_epoch;   /* how many of them */
  uint64_t fenced, unknown, readonly;
  uint32_t len;
  acked_t* acked;
} writer_t;

static const char* const names[MACHINES] = {"a", "b", "c"};
static const char script[] =
    "local seen = tonumber(redis.call('GET', KEYS[1]) or '0') "
    "if tonumber(ARGV[1]) < seen then return redis.error_reply('FENCED by a newer epoch') end "
    "redis.call('SET', KEYS[1], ARGV[1]) "
    "return redis.call('RPUSH', KEYS[2], ARGV[1] .. ' ' .. ARGV[2])";

static s3proc_t s3;
static machine_t machines[MACHINES];
static writer_t writers[MACHINES];
static int leader;
static uint64_t epoch;

/* ---- Writers ---- */

/* One write. False: the connection is of no more use. */
static bool write_once(writer_t* writer, redis_conn_t* conn, uint64_t of_epoch, uint64_t id) {
  char token[24], value[24], text[256], waited[256];
  snprintf(token, sizeof token, "%" PRIu64, of_epoch);
  snprintf(value, sizeof value, "%" PRIu64, id);
  const char* eval[] = {"EVAL", script, "2", "fence", "log", token, value, NULL};
  const char* wait[] = {"WAIT", "2", WAIT_MS, NULL};
  if (!redis_send(conn, eval) || !redis_send(conn, wait))
    return false;
  char kind = redis_reply(conn, text, sizeof text);
  char replicas = kind == '\0' ? '\0' : redis_reply(conn, waited, sizeof waited);
  writer->fenced += kind == '-' && strncmp(text, "FENCED", 6) == 0;
  writer->readonly += kind == '-' && strncmp(text, "READONLY", 8) == 0;
  if (kind != ':')
    return false;
  if (replicas != ':' || strcmp(waited, "2") != 0) {
    writer->unknown++; /* it may survive or not: nobody was told that it would */
    return replicas == ':';
  }
  if (atomic_load(&writer->epoch) != of_epoch) {
    atomic_store(&writer->in_epoch, 0);
    atomic_store(&writer->epoch, of_epoch);
  }
  atomic_fetch_add(&writer->in_epoch, 1);
  writer->acked[writer->len++] = (acked_t){id, of_epoch};
  return writer->len < ACKED_MAX;
}

static void* write_all_the_time(void* arg) {
  static const char* const get[] = {"GET", "fence", NULL};
  writer_t* writer = arg;
  uint64_t id = (uint64_t)(writer->number + 1) << 32;
  while (!atomic_load(&writer->end)) {
    redis_conn_t conn;
    char text[64];
    int port = atomic_load(&writer->port);
    if (port == 0 || !redis_open(&conn, port, PATIENCE_MS)) {
      (void)poll(NULL, 0, RETRY_MS);
      continue;
    }
    bool usable = redis_send(&conn, get) && redis_reply(&conn, text, sizeof text) == '$';
    uint64_t of_epoch = usable ? strtoull(text, NULL, 10) : 0;
    while (usable && !atomic_load(&writer->end)) {
      usable = write_once(writer, &conn, of_epoch, ++id);
      (void)poll(NULL, 0, usable ? PACE_MS : RETRY_MS);
    }
    redis_close(&conn);
  }
  return NULL;
}

static bool all_have_written(void* arg) {
  for (int i = 0; i < MACHINES; i++)
    if (atomic_load(&writers[i].epoch) != epoch || atomic_load(&writers[i].in_epoch) < EACH_EPOCH)
      return false;
  return true;
}

static void start_writers(void) {
  sigset_t all, before;
  sigfillset(&all); /* signals are the main thread's */
  assert_int_equal(pthread_sigmask(SIG_SETMASK, &all, &before), 0);
  for (int i = 0; i < MACHINES; i++) {
    writers[i].number = i;
    writers[i].acked = calloc(ACKED_MAX, sizeof(acked_t));
    assert_non_null(writers[i].acked);
    assert_int_equal(pthread_create(&writers[i].thread, NULL, write_all_the_time, &writers[i]), 0);
  }
  assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
}

/* ---- Machines ---- */

static void start_relay(int i) {
  char name[32];
  machine_t* m = &machines[i];
  snprintf(name, sizeof name, "relay-%s", names[i]);
  m->relay = s3proc_relay(&s3, name, m->endpoint, sizeof m->endpoint);
}

static void start_proxy(int i) {
  machine_t* m = &machines[i];
  const char* more[] = {"--endpoint", m->endpoint, NULL};
  const char* env[] = {"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=testtest", NULL};
  tcp_proxy_start(&s3, &m->proxy, names[i], m->redis_port, more, env);
  atomic_store(&writers[i].port, m->proxy.clients);
}

static void follow(int i) {
  char port[16];
  snprintf(port, sizeof port, "%d", machines[leader].redis_port);
  const char* replicaof[] = {"REPLICAOF", "127.0.0.1", port, NULL};
  redis_ask(machines[i].redis_port, replicaof);
}

/* The operator's hook on the machine that leads: from here on writes are of its epoch. */
static void promote(void) {
  char token[24];
  static const char* const alone[] = {"REPLICAOF", "NO", "ONE", NULL};
  snprintf(token, sizeof token, "%" PRIu64, epoch);
  const char* raise[] = {"SET", "fence", token, NULL};
  redis_ask(machines[leader].redis_port, alone);
  redis_ask(machines[leader].redis_port, raise);
}

/* Waits until one of the others leads. */
static void await_next_leader(int old) {
  const char* line = NULL;
  int i = old;
  while (line == NULL) {
    i = (i + 1) % MACHINES;
    if (i == old)
      s3l_turn(&s3.procs.loop); /* the proxies print, and the reader hears */
    else
      line = proc_try_line(machines[i].proxy.proc, PROC_OUT, "leading: epoch ", true);
  }
  uint64_t next = strtoull(strstr(line, "epoch ") + 6, NULL, 10);
  assert_true(next > epoch);
  leader = i;
  epoch = next;
}

static uint64_t list_length(int i) {
  static const char* const llen[] = {"LLEN", "log", NULL};
  return strtoull(redis_ask(machines[i].redis_port, llen), NULL, 10);
}

/* Through the new leader's proxy, as a client that has not noticed: the script refuses it. */
static void old_epoch_is_refused(uint64_t old_epoch) {
  redis_conn_t conn;
  char token[24], text[256];
  char kind = '\0';
  snprintf(token, sizeof token, "%" PRIu64, old_epoch);
  const char* eval[] = {"EVAL", script, "2", "fence", "log", token, "1", NULL};
  assert_true(redis_open(&conn, machines[leader].proxy.clients, PATIENCE_MS));
  assert_true(redis_send(&conn, eval));
  kind = redis_reply(&conn, text, sizeof text);
  redis_close(&conn);
  assert_int_equal(kind, '-');
  assert_int_equal(strncmp(text, "FENCED", 6), 0);
}

/* ---- What happens to leaders ---- */

static void end_proc(proc_t** proc, int signum) {
  proc_signal(*proc, signum);
  assert_int_equal(proc_wait(*proc), 128 + signum);
  proc_forget(*proc);
  *proc = NULL;
}

static void others_follow(int but) {
  for (int i = 0; i < MACHINES; i++)
    if (i != leader && i != but)
      follow(i);
}

/* The machine dies, and comes back empty. */
static void kill_machine(void) {
  int old = leader;
  atomic_store(&writers[old].port, 0);
  end_proc(&machines[old].proxy.proc, SIGKILL);
  end_proc(&machines[old].redis, SIGKILL);
  await_next_leader(old);
  promote();
  others_follow(old);
  machines[old].redis = redis_start(&s3.procs, machines[old].redis_port, s3.dir);
  follow(old);
  redis_await_synced(&s3.procs, machines[old].redis_port);
  start_proxy(old);
}

/* Only the proxy dies. */
static void kill_proxy(void) {
  int old = leader;
  atomic_store(&writers[old].port, 0);
  end_proc(&machines[old].proxy.proc, SIGKILL);
  await_next_leader(old);
  promote();
  others_follow(-1);
  start_proxy(old);
}

/* The proxy stops, and knows nothing of it when it wakes up. Its Redis is still the master that it
 * was: what the proxy passed on would be taken. */
static void stop_proxy(void) {
  int old = leader;
  proc_signal(machines[old].proxy.proc, SIGSTOP);
  await_next_leader(old);
  promote();
  others_follow(old);
  uint64_t before = list_length(old);
  proc_signal(machines[old].proxy.proc, SIGCONT);
  proc_line(machines[old].proxy.proc, PROC_OUT, "stopped: ");
  assert_int_equal(list_length(old), before);
  follow(old);
}

/* The machine cannot reach the store any more: its proxy stops leading before anybody else does. */
static void cut_off(void) {
  int old = leader;
  proc_signal(machines[old].relay, SIGSTOP);
  await_next_leader(old);
  assert_non_null(proc_try_line(machines[old].proxy.proc, PROC_OUT, "stopped: ", true));
  promote();
  others_follow(-1);
  proc_signal(machines[old].relay, SIGCONT);
}

/* ---- The test ---- */

/* What the last leader's Redis holds in the end. */
typedef struct log_s {
  acked_t* entries;
  size_t len;
} log_t;

static log_t read_log(void) {
  static const char* const lrange[] = {"LRANGE", "log", "0", "-1", NULL};
  redis_conn_t conn;
  char text[64];
  assert_true(redis_open(&conn, machines[leader].redis_port, PROC_PATIENCE_MS));
  assert_true(redis_send(&conn, lrange));
  long len = redis_array(&conn);
  assert_true(len > 0);
  log_t log = {.entries = calloc((size_t)len, sizeof(acked_t)), .len = (size_t)len};
  assert_non_null(log.entries);
  for (size_t i = 0; i < log.len; i++) {
    assert_int_equal(redis_reply(&conn, text, sizeof text), '$');
    assert_int_equal(
        sscanf(text, "%" SCNu64 " %" SCNu64, &log.entries[i].epoch, &log.entries[i].id), 2);
  }
  redis_close(&conn);
  return log;
}

static int by_id(const void* a, const void* b) {
  uint64_t x = ((const acked_t*)a)->id, y = ((const acked_t*)b)->id;
  return x < y ? -1 : x > y;
}

static void judge(int fail_overs) {
  log_t log = read_log();
  uint64_t last = 0, went_back = 0, lost = 0, acked = 0, unknown = 0, fenced = 0;
  for (size_t i = 0; i < log.len; i++) {
    went_back += log.entries[i].epoch < last;
    last = log.entries[i].epoch;
  }
  qsort(log.entries, log.len, sizeof(acked_t), by_id);
  for (int w = 0; w < MACHINES; w++) {
    for (uint32_t i = 0; i < writers[w].len; i++) {
      const acked_t* want = &writers[w].acked[i];
      const acked_t* got = bsearch(want, log.entries, log.len, sizeof(acked_t), by_id);
      lost += got == NULL || got->epoch != want->epoch;
    }
    acked += writers[w].len;
    unknown += writers[w].unknown;
    fenced += writers[w].fenced;
  }
  free(log.entries);
  print_message("%d fail-overs: %" PRIu64 " writes acknowledged, %" PRIu64 " lost; %" PRIu64
                " of an old epoch accepted after a newer one; %" PRIu64
                " without an acknowledgement, %" PRIu64 " refused by their epoch\n",
                fail_overs, acked, lost, went_back, unknown, fenced + (uint64_t)fail_overs);
  assert_int_equal(lost, 0);
  assert_int_equal(went_back, 0);
  assert_true(acked >= (uint64_t)fail_overs * MACHINES * EACH_EPOCH);
}

static void loses_nothing(void** state) {
  static void (*const ways[])(void) = {kill_machine, stop_proxy, cut_off, kill_proxy};
  const int fail_overs = getenv("S3LECT_SOAK") != NULL ? 100 : 10;
  leader = 0;
  start_proxy(0);
  epoch = tcp_proxy_leads(&machines[0].proxy);
  promote();
  for (int i = 1; i < MACHINES; i++) {
    follow(i);
    redis_await_synced(&s3.procs, machines[i].redis_port);
    start_proxy(i);
  }
  start_writers();
  procs_until(&s3.procs, all_have_written, NULL);
  for (int i = 0; i < fail_overs; i++) {
    uint64_t old_epoch = epoch;
    ways[i % 4]();
    procs_until(&s3.procs, all_have_written, NULL);
    old_epoch_is_refused(old_epoch);
  }
  for (int i = 0; i < MACHINES; i++) {
    atomic_store(&writers[i].end, true);
    assert_int_equal(pthread_join(writers[i].thread, NULL), 0);
  }
  judge(fail_overs);
}

static int begin(void** state) {
  s3proc_begin(&s3, S3L_BUILD_DIR, NULL);
  for (int i = 0; i < MACHINES; i++) {
    start_relay(i);
    machines[i].redis_port = sock_free_port();
    machines[i].redis = redis_start(&s3.procs, machines[i].redis_port, s3.dir);
  }
  return 0;
}

static int end(void** state) {
  s3proc_end(&s3);
  for (int i = 0; i < MACHINES; i++)
    free(writers[i].acked);
  return 0;
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(loses_nothing, begin, end),
  };
  if (!redis_is_there()) {
    printf("skipped: no /usr/bin/redis-server here (Debian's redis-server has it)\n");
    return 77;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
