/* Peer mode from end to end: real processes with TLS and client certificates, a fake S3 in another
 * one. What is compared are the events' own times and the fake's log, never how long things took.
 *
 * ctest labels: no-valgrind slow. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/group_certs.h"
#include "lib/peer_proc.h"
#include "lib/protocol.h"
#include "lib/s3proc_case.h"
#include "lib/test.h"

#define NONE "\"event\":\"no_leader\""

static proc_t* elect(const char* id, const char* option, const char* value) {
  return s3l_peerproc_elect(&s3, &certs, id, option, value);
}

static proc_t* watch(const char* ca) {
  return s3proc_s3lect(&s3, "watch", NULL,
                       (const char*[]){"--leader-timeout", "2500ms", "--frequent", "300ms",
                                       "--infrequent", "1s", "--peer-cert", certs.good,
                                       "--peer-key", certs.key, "--peer-ca", ca, NULL});
}

static const char* fetch(const char* url) {
  return s3l_peerproc_fetch(&s3, &certs, url);
}

static s3l_requests_t requests(unsigned long* since) {
  return s3l_peerproc_requests(&s3, &certs, since);
}

static const char* address_of(void) {
  static char addr[128];
  char line[2048];
  assert_int_equal(s3proc_status(&s3, (const char*[]){"--json", NULL}, line), 0);
  snprintf(addr, sizeof addr, "%s", proc_json_string(line, "address"));
  return addr;
}

static void settle(proc_t* p[3]) {
  s3l_peerproc_settle(&s3, &certs, p);
}

static void followers_cost_the_store_nothing(void** state) {
  proc_t* p[3];
  unsigned long since = 0;
  settle(p);
  (void)requests(&since);
  for (int i = 0; i < 12; i++)
    proc_line(p[0], PROC_OUT, S3L_RENEWED);
  s3l_requests_t n = requests(&since);
  /* One write for each renewal, with epoch files a listing behind it; nothing else was asked. */
  assert_int_equal(n.all, n.puts + n.lists);
  assert_true(s3l_test_epochs() ? n.lists + 1 >= n.puts && n.lists <= n.puts + 1 : n.lists == 0);
  assert_true(n.puts >= 11 && n.puts <= 12 + 100); /* curl may have been slow to look */
  for (int i = 1; i < 3; i++)
    assert_null(proc_try_line(p[i], PROC_OUT, "\"event\":\"error\"", true));
}

static void pages(void** state) {
  proc_t* p[3];
  char url[256];
  settle(p);
  char addr[128];
  snprintf(addr, sizeof addr, "%s", address_of());
  snprintf(url, sizeof url, "https://%s/health/leadership", addr);
  const char* text = fetch(url);
  assert_non_null(strstr(text, "{\"leaderID\":\"a\",\"leaderAddr\":\"127.0.0.1:"));
  assert_non_null(strstr(text, "\"validForMs\":"));
  snprintf(url, sizeof url, "https://%s/metrics", addr);
  text = fetch(url);
  assert_non_null(strstr(
      text, "s3lect_is_leader{election=\"lock.json\",id=\"a\",path=\"/health/leadership\"} 1\n"));
  assert_non_null(strstr(text, "# TYPE s3lect_renewal_seconds histogram\n"));
  assert_non_null(strstr(text, "s3lect_renewal_seconds_bucket{election=\"lock.json\",id=\"a\",path="
                               "\"/health/leadership\",le=\"+Inf\"} "));
  snprintf(url, sizeof url, "https://%s/livez", addr);
  assert_string_equal(fetch(url), "ok\n");
  snprintf(url, sizeof url, "https://%s/readyz", addr);
  assert_string_equal(fetch(url), "ok\n");
  /* Certificates can be read again while others are connected. */
  proc_signal(p[0], SIGHUP);
  proc_line(p[0], PROC_ERR, "the certificates have been read again");
  assert_string_equal(fetch(url), "ok\n");
}

/* Who has started of those two; waits for it. */
typedef struct race_s {
  proc_t* const* p;
  char line[2048];
} race_t;

static bool has_started(void* arg) {
  race_t* race = arg;
  for (int i = 1; i < 3 && race->line[0] == '\0'; i++) {
    const char* line = proc_try_line(race->p[i], PROC_OUT, S3L_STARTED, true);
    if (line != NULL)
      snprintf(race->line, sizeof race->line, "%s", line);
  }
  return race->line[0] != '\0';
}

static const char* next_start(proc_t* const p[3]) {
  static race_t race;
  race.p = p;
  race.line[0] = '\0';
  procs_until(&s3.procs, has_started, &race);
  return race.line;
}

static int64_t last_valid_until(proc_t* proc) {
  int64_t last = 0;
  proc_rewind(proc, PROC_OUT);
  for (const char* line; (line = proc_try_line(proc, PROC_OUT, "{", true)) != NULL;)
    if (strstr(line, S3L_STARTED) != NULL || strstr(line, S3L_RENEWED) != NULL)
      last = proc_json_i64(line, "valid_until_ns");
  assert_true(last > 0);
  return last;
}

static void hands_over_at_sigterm(void** state) {
  proc_t* p[3];
  settle(p);
  proc_signal(p[0], SIGTERM);
  int64_t ended = proc_json_i64(proc_line(p[0], PROC_OUT, S3L_STOPPED), "valid_until_ns");
  const char* line = next_start(p);
  assert_true(proc_json_i64(line, "lease_ns") >= ended);
  assert_true(proc_json_i64(line, "epoch") > 1001);
  assert_int_equal(proc_wait(p[0]), 0);
}

/* Who takes over early, because the dead leader had promised when it ends, is never too early. */
static void fails_over_after_sigkill(void** state) {
  proc_t* p[3];
  settle(p);
  proc_signal(p[0], SIGKILL);
  assert_int_equal(proc_wait(p[0]), 128 + SIGKILL);
  const char* line = next_start(p);
  int64_t started = proc_json_i64(line, "lease_ns");
  assert_true(started >= last_valid_until(p[0]));
}

/* The leader reaches its followers, but not the store: they must not believe it for ever. */
static void a_leader_cut_off_from_the_store_is_replaced(void** state) {
  proc_t* p[3];
  char relay_url[128];
  proc_t* relay = s3proc_relay(&s3, "relay", relay_url, sizeof relay_url);
  p[0] = elect("a", "--endpoint", relay_url);
  proc_line(p[0], PROC_OUT, S3L_STARTED);
  p[1] = elect("b", NULL, NULL);
  p[2] = elect("c", NULL, NULL);
  proc_line(p[1], PROC_OUT, S3L_NEW);
  proc_line(p[2], PROC_OUT, S3L_NEW);
  for (int i = 0; i < 4; i++)
    proc_line(p[0], PROC_OUT, S3L_RENEWED);
  proc_signal(relay, SIGSTOP);
  const char* line = proc_line(p[0], PROC_OUT, S3L_STOPPED);
  assert_string_equal(proc_json_string(line, "reason"), "expired");
  int64_t ended = proc_json_i64(line, "valid_until_ns");
  line = next_start(p);
  assert_true(proc_json_i64(line, "lease_ns") >= ended);
  char leads[64];
  snprintf(leads, sizeof leads, "\"leader\":\"%s\"", proc_json_string(line, "leader"));
  proc_signal(relay, SIGCONT); /* what was on its way arrives late, and changes nothing */
  for (int i = 0; i < 3; i++) {
    proc_rewind(p[i], PROC_OUT); /* it may have said so before next_start saw the other's line */
    proc_line(p[i], PROC_OUT, leads);
  }
}

/* It sees the election through, and writes nothing itself: alone it leaves the lockfile as it is.
 */
static void watch_follows(void** state) {
  proc_t* w = watch(certs.ca);
  proc_line(w, PROC_OUT, NONE); /* the lockfile is released */
  unsigned long since = 0;
  assert_int_equal(requests(&since).puts, 1); /* the seed, which anybody might replace */
  proc_t* a = elect("a", NULL, NULL);
  const char* line = proc_line(w, PROC_OUT, S3L_NEW);
  assert_string_equal(proc_json_string(line, "leader"), "a");
  assert_int_equal(proc_json_i64(line, "epoch"), 1001);
  assert_int_equal(proc_end(a, SIGTERM), 0);
  proc_line(w, PROC_OUT, NONE);
  proc_t* b = elect("b", NULL, NULL);
  assert_string_equal(proc_json_string(proc_line(w, PROC_OUT, S3L_NEW), "leader"), "b");
  proc_signal(b, SIGKILL);
  proc_wait(b);
  int64_t gone = proc_json_i64(proc_line(w, PROC_OUT, NONE), "lease_ns");
  assert_true(gone >= last_valid_until(b));
  assert_int_equal(proc_end(w, SIGTERM), 0);
}

/* That nobody leads is something to have seen. */
static void watch_says_nothing_before_the_store_has(void** state) {
  proc_t* a = elect("a", NULL, NULL);
  proc_line(a, PROC_OUT, S3L_STARTED);
  s3proc_fault(&s3, "{\"latency_ms\":500,\"match\":{\"method\":\"GET\"}}");
  proc_t* w = watch(certs.ca);
  const char* line = proc_line(w, PROC_OUT, "\"event\":");
  assert_string_equal(proc_json_string(line, "event"), "new_leader");
  assert_string_equal(proc_json_string(line, "leader"), "a");
}

/* It was started with an authority that no leader has a certificate of: so the store is what it
 * asks, and it says why. With the right one, at SIGHUP, it asks the leader. */
static void watch_takes_up_new_certificates(void** state) {
  char ca[S3L_CERTS_PATH_MAX + 16];
  unsigned long since = 0;
  snprintf(ca, sizeof ca, "%s/watch-ca.pem", certs.dir);
  s3l_certs_replace(ca, certs.other_ca);
  proc_t* a = elect("a", NULL, NULL);
  proc_line(a, PROC_OUT, S3L_STARTED);
  proc_t* w = watch(ca);
  proc_line(w, PROC_OUT, "\"error\":\"ETLSCA\"");
  s3l_certs_replace(ca, certs.key);
  proc_signal(w, SIGHUP);
  proc_line(w, PROC_ERR, "s3lect watch: the certificates stay as they were: ");
  s3l_certs_replace(ca, certs.ca);
  proc_signal(w, SIGHUP);
  proc_line(w, PROC_ERR, "s3lect watch: the certificates have been read again");
  proc_line(w, PROC_OUT, "\"error\":\"EPEERBACK\"");
  /* From some time on nobody but the leader comes to the store. */
  unsigned reads = 1;
  for (int i = 0; i < 100 && reads > 0; i++) {
    (void)requests(&since);
    for (int k = 0; k < 8; k++)
      proc_line(a, PROC_OUT, S3L_RENEWED);
    reads = requests(&since).gets;
  }
  assert_int_equal(reads, 0);
  assert_int_equal(proc_end(w, SIGTERM), 0);
  assert_int_equal(remove(ca), 0);
}

/* Whose certificate a server shows: the authority that curl finds it signed by, or "". */
static const char* shown(const char* addr) {
  const char* const cas[] = {certs.ca, certs.other_ca};
  char url[160];
  snprintf(url, sizeof url, "https://%s/livez", addr);
  for (size_t i = 0; i < 2; i++) {
    proc_t* curl = proc_spawn(
        &s3.procs, (const char*[]){"curl", "-s", "-f", "--cacert", cas[i], url, NULL}, NULL);
    int status = proc_wait(curl);
    proc_forget(curl);
    if (status == 0)
      return cas[i];
  }
  return "";
}

/* One file of three is bad: what can be used of the others is, and it says what is not. */
static void reloads_in_part(void** state) {
  char cert[S3L_CERTS_PATH_MAX + 16], ca[S3L_CERTS_PATH_MAX + 16], addr[128];
  snprintf(cert, sizeof cert, "%s/elect-cert.pem", certs.dir);
  snprintf(ca, sizeof ca, "%s/elect-ca.pem", certs.dir);
  s3l_certs_replace(cert, certs.good);
  s3l_certs_replace(ca, certs.ca);
  proc_t* a = s3proc_s3lect(&s3, "elect", "a",
                            (const char*[]){"--peer-listen", "127.0.0.1:0", "--peer-cert", cert,
                                            "--peer-key", certs.key, "--peer-ca", ca,
                                            "--peer-health", NULL});
  proc_line(a, PROC_OUT, S3L_STARTED);
  snprintf(addr, sizeof addr, "%s", address_of());
  assert_string_equal(shown(addr), certs.ca);
  s3l_certs_replace(cert, certs.stranger);
  s3l_certs_replace(ca, certs.key);
  proc_signal(a, SIGHUP);
  const char* line = proc_line(a, PROC_ERR,
                               "s3lect elect: answering with the new certificates, "
                               "but asking as before: ");
  assert_non_null(strstr(line, "there is no certificate in it"));
  assert_string_equal(shown(addr), certs.other_ca);
  s3l_certs_replace(cert, certs.key);
  s3l_certs_replace(ca, certs.ca);
  proc_signal(a, SIGHUP);
  proc_line(a, PROC_ERR, "s3lect elect: the certificates stay as they were: ");
  assert_string_equal(shown(addr), certs.other_ca);
  s3l_certs_replace(cert, certs.good);
  proc_signal(a, SIGHUP);
  proc_line(a, PROC_ERR, "s3lect elect: the certificates have been read again");
  assert_string_equal(shown(addr), certs.ca);
  assert_int_equal(proc_end(a, SIGTERM), 0);
  assert_int_equal(remove(cert), 0);
  assert_int_equal(remove(ca), 0);
}

/* With --peer-reload, files that are replaced are enough: nobody sends a signal. */
static void looks_for_new_certificates(void** state) {
  char cert[S3L_CERTS_PATH_MAX + 16], addr[128];
  snprintf(cert, sizeof cert, "%s/looked-at.pem", certs.dir);
  s3l_certs_replace(cert, certs.good);
  proc_t* a = s3proc_s3lect(&s3, "elect", "a",
                            (const char*[]){"--peer-listen", "127.0.0.1:0", "--peer-cert", cert,
                                            "--peer-key", certs.key, "--peer-ca", certs.ca,
                                            "--peer-health", "--peer-reload", "50ms", NULL});
  proc_line(a, PROC_OUT, S3L_STARTED);
  snprintf(addr, sizeof addr, "%s", address_of());
  assert_string_equal(shown(addr), certs.ca);
  s3l_certs_replace(cert, certs.stranger);
  proc_line(a, PROC_ERR, "s3lect elect: the certificates have been read again");
  assert_string_equal(shown(addr), certs.other_ca);
  s3l_certs_replace(cert, certs.key);
  proc_line(a, PROC_ERR, "s3lect elect: the certificates stay as they were: ");
  assert_string_equal(shown(addr), certs.other_ca);
  /* A file that is missing is on its way. */
  assert_int_equal(remove(cert), 0);
  s3l_certs_replace(cert, certs.good);
  proc_line(a, PROC_ERR, "s3lect elect: the certificates have been read again");
  assert_string_equal(shown(addr), certs.ca);
  assert_int_equal(proc_end(a, SIGTERM), 0);
  assert_int_equal(remove(cert), 0);
}

static void refused(const char* const* options, const char* says) {
  proc_t* p = s3proc_s3lect(&s3, "elect", "a", options);
  assert_int_equal(proc_wait(p), 2);
  assert_non_null(strstr(proc_line(p, PROC_ERR, "s3lect elect: "), says));
  proc_forget(p);
}

static void says_what_is_wrong(void** state) {
#define WITH(...) ((const char*[]){__VA_ARGS__, NULL})
  refused(WITH("--peer-listen", "127.0.0.1:0"), "--peer-listen needs a certificate");
  refused(WITH("--peer-cert", certs.good), "the --peer options need to know whom to trust");
  refused(WITH("--peer-ca", certs.ca, "--peer-cert", certs.good),
          "--peer-key: missing; certificate and key are needed together");
  refused(WITH("--peer-plain-http", "--peer-ca", certs.ca),
          "--peer-plain-http: set beside certificates");
  refused(WITH("--peer-metrics"), "give --peer-listen HOST:PORT");
  refused(WITH("--peer-ca", "/nonexistent.pem"), "--peer-ca \"/nonexistent.pem\": cannot be read");
  refused(WITH("--peer-plain-http", "--peer-listen", "127.0.0.1:0", "--peer-client-auth"),
          "--peer-client-auth needs to know who signs");
  refused(WITH("--peer-plain-http", "--peer-reload", "1m"), "--peer-reload is for certificates");
  refused(WITH("--peer-plain-http", "--peer-listen", "nowhere"), "\"nowhere\"");
  refused(WITH("--peer-plain-http", "--peer-listen", "*:0"), "give --addr HOST:PORT");
  refused(WITH("--peer-plain-http", "--peer-listen", "[0::0]:0"), "give --addr HOST:PORT");
  refused(WITH("--peer-plain-http", "--peer-path", "health"), "--peer-path");
  refused(WITH("--peer-listen", "127.0.0.1:0", "--peer-cert", certs.good, "--peer-key", certs.ca),
          "--peer-key \"");
  refused(WITH("--peer-plain-http", "--peer-listen", "127.0.0.1:99999"),
          "--peer-listen \"127.0.0.1:99999\": must be ADDRESS:PORT");
  refused(WITH("--peer-ca", certs.key), "there is no certificate in it");
#undef WITH
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, begin_seeded, end)
      T(followers_cost_the_store_nothing),
      T(pages),
      T(hands_over_at_sigterm),
      T(fails_over_after_sigkill),
      T(a_leader_cut_off_from_the_store_is_replaced),
      T(watch_follows),
      T(watch_says_nothing_before_the_store_has),
      T(watch_takes_up_new_certificates),
      T(reloads_in_part),
      T(looks_for_new_certificates),
      T(says_what_is_wrong),
  };
  return cmocka_run_group_tests(tests, s3l_make_certs, s3l_remove_certs);
}
