/* Golden traces: each file in test/core/golden is a transcript of one scenario.
 *
 *   # comment
 *   config T=15000 renew=5000 ...        anything not named has its default
 *   0 start                              at 0 ms this happens (column 0: input)
 *   +20 done absent                      20 ms after the next request was sent
 *       read                             and the core decides this (indented: output)
 *   *7000 leading n=2 valid=9000 ...     7 s after the next probe was sent
 *   5020.5 deadline                      the core's own deadline came (output too)
 *   6000 probed later=5                  what the core says of itself, 5 ns after 6 s (output
 *                                        below)
 *   6000 probed by=b                     what it says then to the candidate of that incarnation
 *   7000 resign candidate id=b epoch=8   from here on the core may grant this candidacy
 *
 * The test plays the inputs and compares the whole transcript. With S3L_GOLDEN_UPDATE=1 it writes
 * the files anew instead: read the difference before you commit it. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "core/record.h"
#include "core/trace.h"
#include "lib/test.h"
#include "s3lect/errno.h"
#include "sim/core_step.h"

#define TEXT_MAX 65536
#define BASE     (INT64_C(1000) * S3L_SECOND) /* the clock does not begin at 0 */
#define WALL_MS  INT64_C(1700000000000)
#define OWN      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

typedef struct play_s {
  s3l_core_t core;
  s3l_epochs_t epochs;
  bool takeovers;            /* notices tell since when their leader could be replaced */
  s3l_ns_t now;              /* since BASE */
  s3lect_record_t candidate; /* write 0: there is none */
  char* out;
  size_t len;
} play_t;

static void say(play_t* p, const char* format, ...) __attribute__((format(printf, 2, 3)));

static void say(play_t* p, const char* format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(p->out + p->len, TEXT_MAX - p->len, format, args);
  va_end(args);
  assert_true(n >= 0 && (size_t)n < TEXT_MAX - p->len);
  p->len += (size_t)n;
}

static void step(play_t* p, s3l_event_t* ev) {
  s3l_effects_t fx;
  ev->wall_ms = WALL_MS + p->now / S3L_MS;
  ev->candidate = p->candidate.write > 0 ? &p->candidate : NULL;
  const char* wrong = sim_core_step(&p->core, BASE + p->now, ev, &fx);
  for (size_t i = 0; i < fx.len; i++) {
    char line[S3L_TRACE_SIZE];
    s3l_trace_effect(&fx.at[i], &fx.record, BASE + p->now, line, sizeof line);
    say(p, "    %s", line);
    if (p->takeovers && fx.at[i].takeover_at != 0)
      say(p, " takeover=%+.3fs", (double)(fx.at[i].takeover_at - BASE - p->now) / 1e9);
    say(p, "\n");
  }
  if (wrong != NULL)
    fail_msg("does not hold: %s", wrong);
}

static void say_time(play_t* p, s3l_ns_t at) {
  if (at % S3L_MS == 0)
    say(p, "%" PRId64, at / S3L_MS);
  else
    say(p, "%.3f", (double)at / 1e6);
}

/* Runs the core's own next deadline. */
static void run_next(play_t* p) {
  s3l_ns_t at = s3l_core_deadline(&p->core);
  s3l_event_t tick = {.kind = S3L_EV_TICK};
  if (at == S3L_NEVER || at - BASE < p->now) {
    fputs(p->out, stderr); /* too long for a message */
    fail_msg("the core waits for another input than the next one");
  }
  p->now = at - BASE;
  say_time(p, p->now);
  say(p, " deadline\n");
  step(p, &tick);
}

/* Runs the deadlines that lie before `until`. */
static void run_until(play_t* p, s3l_ns_t until) {
  while (s3l_core_deadline(&p->core) - BASE <= until)
    run_next(p);
  p->now = until;
}

/* When the line's input comes. */
static s3l_ns_t time_of(play_t* p, const char* line, char** rest) {
  s3l_ns_t at = (s3l_ns_t)(strtod(line + (line[0] == '*'), rest) * 1e6);
  if (line[0] == '*') {
    while (!p->core.peer.probing)
      run_next(p);
    return p->core.peer.sent_at - BASE + at;
  }
  if (line[0] != '+')
    return at;
  while (p->core.op.kind == S3L_OP_NONE)
    run_next(p);
  return p->core.op.sent_at - BASE + at;
}

/* "name=value" within a line, or the fallback. */
static uint64_t number(const char* line, const char* name, uint64_t fallback) {
  char key[32];
  snprintf(key, sizeof key, " %s=", name);
  const char* at = strstr(line, key);
  return at != NULL ? strtoull(at + strlen(key), NULL, 10) : fallback;
}

static const char* word(const char* line, const char* name, char out[64], const char* fallback) {
  char key[32];
  snprintf(key, sizeof key, " %s=", name);
  const char* at = strstr(line, key);
  if (at == NULL)
    return fallback;
  at += strlen(key);
  snprintf(out, 64, "%.*s", (int)strcspn(at, " "), at);
  return out;
}

static bool has(const char* line, const char* flag) {
  const char* at = strstr(line, flag);
  return at != NULL && at[-1] == ' ' && (at[strlen(flag)] == '\0' || at[strlen(flag)] == ' ');
}

static void config(play_t* p, const char* line) {
  static char id[64];
  uint32_t t = (uint32_t)number(line, "T", 15000);
  s3l_core_config_t c = {
      .id = word(line, "id", id, "a"),
      .addr = "a:1",
      .leader_timeout_ms = t,
      .renew_interval_ms = (uint32_t)number(line, "renew", 5000),
      .frequent_interval_ms = (uint32_t)number(line, "frequent", 5000),
      .infrequent_interval_ms = (uint32_t)number(line, "infrequent", 30000),
      .request_timeout_ms = (uint32_t)number(line, "timeout", 3000),
      .release_timeout_ms = (uint32_t)number(line, "release", 1000),
      .grace_period_ms = (uint32_t)number(line, "grace", 0),
      .stop_ack_ms = (uint32_t)number(line, "ack", 0),
      .drift_ppm = (uint32_t)number(line, "drift", 10000),
      .renew_deadline_ms = (uint32_t)number(line, "deadline", 0),
      .warn_before_ms = (uint32_t)number(line, "warn", 0),
      .priority = (uint8_t)number(line, "priority", 0),
      .store_clock = has(line, "store-clock"),
      .no_release = has(line, "no-release"),
      .peer_mode = has(line, "peer"),
      .candidacy = has(line, "candidacy"),
      .peer_interval_ms = (uint32_t)number(line, "peer-interval", 30000),
      .peer_timeout_ms = (uint32_t)number(line, "peer-timeout", 3000),
      .protocol = has(line, "epochs") ? &s3l_epoch_files : &s3l_lockfile,
      .epochs = &p->epochs,
  };
  p->epochs.keep = has(line, "keep");
  p->takeovers = has(line, "takeovers");
  s3l_core_init(&p->core, &c);
}

/* A record that another, or this elector, wrote. */
static s3lect_record_t record(const char* line) {
  s3lect_record_t r;
  char text[64];
  memset(&r, 0, sizeof r);
  snprintf(r.leader_id, sizeof r.leader_id, "%s", word(line, "id", text, "b"));
  snprintf(r.leader_addr, sizeof r.leader_addr, "%s", word(line, "addr", text, ""));
  snprintf(r.successor, sizeof r.successor, "%s", word(line, "successor", text, ""));
  r.released = has(line, "released");
  r.last_updated_ms = WALL_MS;
  r.epoch = number(line, "epoch", 7);
  r.write = number(line, "n", 1);
  r.leader_timeout_ms = (uint32_t)number(line, "T", 15000);
  r.renew_interval_ms = (uint32_t)number(line, "renew", 5000);
  r.transitions = number(line, "transitions", 3);
  if (!has(line, "go"))
    memset(r.incarnation, word(line, "by", text, has(line, "own") ? "a" : "b")[0],
           S3LECT_INCARNATION_SIZE - 1);
  return r;
}

/* "listed=7,8,9", all written at `modified`; "listed=" if there is none. */
static bool listing_of(const char* line, int64_t modified_ms, s3l_listing_t* listing) {
  char key[] = " listed=";
  const char* at = strstr(line, key);
  if (at == NULL)
    return false;
  memset(listing, 0, sizeof *listing);
  listing->truncated = has(line, "more");
  for (char* p = strchr(at, '='); p[0] == '=' || p[0] == ',';)
    s3l_listing_add(listing, strtoull(p + 1, &p, 10), modified_ms);
  return true;
}

static size_t body_of(const play_t* p, const char* line, char* body) {
  s3lect_record_t seen = record(line);
  char text[64];
  if (has(line, "others'")) /* another implementation's */
    return (size_t)snprintf(body, 2048, "{\"validity_ms\":%s,\"expired\":%s}",
                            word(line, "T", text, "60000"),
                            has(line, "expired") ? "true" : "false");
  return p->core.config.protocol->encode(&seen, body, 2048);
}

typedef struct reply_s {
  s3lect_store_result_t result;
  s3l_listing_t listing;
  bool listed;
  char body[2048];
  char etag[64];
} reply_t;

static bool read_reply(const play_t* p, const char* line, reply_t* reply) {
  static const struct {
    const char* word;
    int status;
    s3lect_outcome_t outcome;
  } ends[] = {{"unchanged", S3LECT_ENOTMODIFIED, S3LECT_SETTLED},
              {"absent", S3LECT_ENOTFOUND, S3LECT_SETTLED},
              {"refused", S3LECT_EPRECONDITION, S3LECT_SETTLED},
              {"conflict", S3LECT_ECONFLICT, S3LECT_SETTLED},
              {"denied", S3LECT_EDENIED, S3LECT_NOT_APPLIED},
              {"throttled", S3LECT_ETHROTTLED, S3LECT_NOT_APPLIED},
              {"failed", S3LECT_ESERVER, S3LECT_NOT_APPLIED},
              {"lost", S3LECT_EBADREPLY, S3LECT_UNCERTAIN},
              {"toobig", S3LECT_ETOOBIG, S3LECT_SETTLED},
              {"unsupported", S3LECT_EUNSUPPORTED, S3LECT_NOT_APPLIED},
              {"ok", 0, S3LECT_SETTLED}};
  s3lect_store_result_t* r = &reply->result;
  memset(reply, 0, sizeof *reply);
  r->etag = word(line, "etag", reply->etag, NULL);
  r->store_time_ms = (int64_t)number(line, "date", 0);
  r->modified_ms = (int64_t)number(line, "modified", 0);
  r->retry_after_ms = (uint32_t)number(line, "after", 0);
  reply->listed = listing_of(line, r->modified_ms, &reply->listing);
  if (has(line, "record"))
    r->body_len = body_of(p, line, reply->body);
  else if (has(line, "garbage"))
    r->body_len = (size_t)snprintf(reply->body, sizeof reply->body, "<html>not a record</html>");
  else if (!reply->listed)
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
      if (has(line, ends[i].word)) {
        r->status = ends[i].status;
        r->outcome = (int32_t)ends[i].outcome;
        return true;
      }
  r->body = reply->body;
  return r->body_len > 0 || reply->listed;
}

/* How the probe under way ends. */
static s3l_peer_result_t peer_result_of(const char* line, const s3lect_record_t* told,
                                        char etag[64]) {
  s3l_peer_result_t r = {.kind = S3L_PEER_LEADING,
                         .record = told,
                         .etag = word(line, "etag", etag, NULL),
                         .valid_for_ms = (int64_t)number(line, "valid", UINT64_MAX),
                         .authenticated = !has(line, "plain"),
                         .held = has(line, "held")};
  if (has(line, "leading"))
    return r;
  if (has(line, "not-leading"))
    return (s3l_peer_result_t){.kind = S3L_PEER_NOT_LEADING};
  if (!has(line, "failed"))
    fail_msg("cannot read the line \"%s\"", line);
  return (s3l_peer_result_t){.kind = S3L_PEER_FAILED, .status = -104};
}

/* What the core says of itself to a probe. */
static void say_confirmed(play_t* p, uint64_t later) {
  s3l_confirmed_t c;
  if (!s3l_core_confirmed(&p->core, BASE + p->now + (s3l_ns_t)later, &c))
    say(p, "    not-leading\n");
  else
    say(p,
        "    leading id=%s addr=%s by=%s epoch=%" PRIu64 " n=%" PRIu64 " etag=%s valid=%" PRIu64
        "\n",
        c.record.leader_id, c.record.leader_addr, c.record.incarnation, c.record.epoch,
        c.record.write, c.etag, c.valid_for_ms);
}

/* What the core says to a candidate whose claim it may have written. */
static void say_granted(play_t* p, char by) {
  s3l_confirmed_t c;
  char incarnation[S3LECT_INCARNATION_SIZE] = {0};
  memset(incarnation, by, sizeof incarnation - 1);
  if (s3l_core_granted(&p->core, incarnation, &c))
    say(p, "    granted epoch=%" PRIu64 " n=%" PRIu64 " etag=%s\n", c.record.epoch, c.record.write,
        c.etag);
  else
    say(p, "    not-granted\n");
}

static void probed(play_t* p, const char* line) {
  char by[64];
  if (word(line, "by", by, NULL) != NULL)
    say_granted(p, by[0]);
  else
    say_confirmed(p, number(line, "later", 0));
}

static void input(play_t* p, const char* line) {
  char* rest;
  s3l_ns_t at = time_of(p, line, &rest);
  char etag[64];
  reply_t reply;
  static char successor[64]; /* until the release is over */
  s3lect_record_t told = record(line);
  s3l_peer_result_t peer;
  s3l_event_t ev = {.kind = S3L_EV_TICK, .result = &reply.result, .peer = &peer};
  if (has(rest, "blocked")) /* the loop stood still until now */
    p->now = at;
  else
    run_until(p, at);
  say(p, "%s\n", line);
  if (has(rest, "end"))
    return;
  if (has(rest, "probed")) {
    probed(p, rest);
    return;
  }
  if (has(rest, "candidate"))
    p->candidate = told;
  if (has(rest, "start"))
    ev = (s3l_event_t){.kind = S3L_EV_START, .incarnation = OWN, .seed = 1};
  else if (line[0] == '*') {
    ev.kind = S3L_EV_PEER;
    peer = peer_result_of(rest, &told, etag);
  } else if (has(rest, "transfer"))
    ev = (s3l_event_t){.kind = S3L_EV_TRANSFER, .successor = word(rest, "to", successor, "")};
  else if (has(rest, "resign"))
    ev.kind = S3L_EV_RESIGN;
  else if (has(rest, "expired"))
    ev.kind = S3L_EV_EXPIRED;
  else if (has(rest, "stop"))
    ev = (s3l_event_t){.kind = S3L_EV_STOP, .reason = S3LECT_REASON_STOPPED};
  else if (has(rest, "ack"))
    ev = (s3l_event_t){.kind = S3L_EV_ACK, .epoch = number(rest, "epoch", UINT64_MAX)};
  else if (has(rest, "blocked"))
    ev.kind = S3L_EV_TICK;
  else {
    ev.kind = has(rest, "gc-done") ? S3L_EV_GC_DONE : S3L_EV_DONE;
    if (!read_reply(p, rest, &reply))
      fail_msg("cannot read the line \"%s\"", line);
    ev.listing = reply.listed ? &reply.listing : NULL;
  }
  step(p, &ev);
}

/* Whether a line is played, rather than something that the core decided. */
static bool is_input(const char* line) {
  return (line[0] == '+' || line[0] == '*' || (line[0] >= '0' && line[0] <= '9')) &&
         strstr(line, " deadline") == NULL;
}

static void play(const char* path) {
  static char text[TEXT_MAX], out[TEXT_MAX], copy[TEXT_MAX];
  play_t p = {.out = out};
  FILE* f = fopen(path, "r");
  assert_non_null(f);
  size_t n = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  text[n] = '\0';
  memcpy(copy, text, n + 1);
  char* save = NULL;
  for (char* line = strtok_r(copy, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
    if (line[0] == '#') {
      say(&p, "%s\n", line);
    } else if (strncmp(line, "config", 6) == 0) {
      say(&p, "%s\n", line);
      config(&p, line);
    } else if (is_input(line)) {
      input(&p, line);
    }
  }
  if (getenv("S3L_GOLDEN_UPDATE") != NULL) {
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(out, 1, p.len, f), p.len);
    assert_int_equal(fclose(f), 0);
    return;
  }
  if (strcmp(text, out) == 0)
    return;
  fputs(out, stderr); /* too long for a message */
  fail_msg("%s: the transcript is now as above", path);
}

static void test_golden_traces(void** state) {
  const char* folder = S3L_TEST_DIR "/core/golden";
  DIR* dir = opendir(folder);
  assert_non_null(dir);
  int played = 0;
  for (struct dirent* e = readdir(dir); e != NULL; e = readdir(dir)) {
    char path[512];
    if (strstr(e->d_name, ".trace") == NULL)
      continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    print_message("  %s\n", e->d_name);
    play(path);
    played++;
  }
  closedir(dir);
  assert_true(played >= 10); /* a folder that was not found, or emptied, must not pass */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden_traces)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
