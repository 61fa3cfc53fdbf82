/* Options: every bad one ends in one line that names it, its value and the mend. A renewal of an
 * epoch file is two requests, for both of which there must be time. */
#include <stdio.h>
#include <string.h>

#include "lib/protocol.h"
#include "lib/test.h"
#include "s3lect.h"

static s3lect_store_t some_store;

static s3lect_elector_options_t good(void) {
  s3lect_elector_options_t o;
  s3lect_elector_options_init(&o, sizeof o);
  o.lockfile_path = "locks/db";
  o.server_id = "a";
  o.store = &some_store;
  o.protocol = s3l_test_protocol();
  return o;
}

static void expect(const s3lect_elector_options_t* o, int code, const char* part) {
  s3lect_error_t error;
  s3lect_elector_t e;
  uv_loop_t loop;
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(s3lect_elector_options_check(o, &error), code);
  assert_int_equal(error.code, code);
  if (strstr(error.text, part) == NULL)
    fail_msg("\"%s\" does not say \"%s\"", error.text, part);
  assert_true(error.option[0] != '\0');
  assert_memory_equal(error.text, error.option, strlen(error.option));
  assert_null(strchr(error.text, '\n'));
  assert_int_equal(s3lect_elector_options_check(o, NULL), code);
  s3lect_error_t same;
  assert_int_equal(s3lect_elector_init(&loop, &e, o, &same), code);
  assert_string_equal(same.text, error.text);
  assert_int_equal(uv_loop_close(&loop), 0); /* nothing to clean up */
}

/* S3LECT_EXPIRY_STORE_CLOCK with a store whose time is its own, or is not. */
static void expect_store_clock(uint32_t flags, int code) {
  s3lect_error_t error;
  s3lect_store_ops_t ops;
  uv_loop_t loop;
  s3lect_store_t store;
  s3lect_elector_options_t o = good();
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(s3lect_store_memory_init(&loop, &store, NULL), 0);
  o.expiry = S3LECT_EXPIRY_STORE_CLOCK;
  o.store = &store;
  const s3lect_store_ops_t* memory = store.ops;
  if (flags != 0) {
    ops = *memory;
    ops.flags = flags;
    store.ops = &ops;
  }
  assert_int_equal(s3lect_elector_options_check(&o, &error), code);
  if (code != 0)
    assert_non_null(
        strstr(error.text, "expiry: \"store-clock\" (S3LECT_EXPIRY_STORE_CLOCK) needs "));
  store.ops = memory;
  s3lect_store_close(&store, NULL);
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&loop), 0);
}

/* A store that takes one write a second to an object, on a loop of its own. */
typedef struct slow_store_s {
  uv_loop_t loop;
  s3lect_store_t store;
  const s3lect_store_ops_t* memory;
  s3lect_store_ops_t ops;
} slow_store_t;

static void open_slow_store(slow_store_t* s) {
  assert_int_equal(uv_loop_init(&s->loop), 0);
  assert_int_equal(s3lect_store_memory_init(&s->loop, &s->store, NULL), 0);
  s->memory = s->store.ops;
  s->ops = *s->memory;
  s->ops.flags |= S3LECT_STORE_SLOW_WRITES;
  s->store.ops = &s->ops;
}

static void close_slow_store(slow_store_t* s) {
  s->store.ops = s->memory;
  s3lect_store_close(&s->store, NULL);
  assert_int_equal(uv_run(&s->loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&s->loop), 0);
}

static void test_slow_writes(void** state) {
  slow_store_t s;
  s3lect_elector_options_t resolved = {.size = sizeof resolved};
  s3lect_elector_options_t o = good();
  open_slow_store(&s);
  o.renew_interval_ms = 999;
  assert_int_equal(s3lect_elector_options_check(&o, NULL), 0);
  o.store = &s.store;
  expect(&o, S3LECT_EOPTION,
         "renew_interval_ms: 999 ms is too short for this store, which takes one write a second to "
         "an object; raise it to 1000 ms or more");
  o.renew_interval_ms = 1000;
  assert_int_equal(s3lect_elector_options_check(&o, NULL), 0);
  /* No default is too short, and the others fit to it. */
  o.renew_interval_ms = 0;
  o.frequent_interval_ms = 100;
  assert_int_equal(s3lect_elector_options_resolve(&o, &resolved, NULL), 0);
  assert_int_equal(resolved.renew_interval_ms, 1000);
  assert_int_equal(resolved.release_timeout_ms, 2500);
  o.leader_timeout_ms = 2000;
  expect(&o, S3LECT_ETIMING, "renewal interval 1000 ms");
  /* Where one write a second is no limit. */
  o.store = &some_store;
  o.leader_timeout_ms = 0;
  assert_int_equal(s3lect_elector_options_resolve(&o, &resolved, NULL), 0);
  assert_int_equal(resolved.renew_interval_ms, 100);
  assert_int_equal(resolved.release_timeout_ms, 1000);
  close_slow_store(&s);
}

/* While an elector exists, too. */
static void test_slow_writes_of_an_update(void** state) {
  slow_store_t s;
  s3lect_elector_t e;
  s3lect_error_t error;
  s3lect_elector_options_t o = good();
  open_slow_store(&s);
  o.store = &s.store;
  assert_int_equal(s3lect_elector_init(&s.loop, &e, &o, NULL), 0);
  o.renew_interval_ms = 500;
  assert_int_equal(s3lect_elector_update(&e, &o, &error), S3LECT_EOPTION);
  assert_string_equal(error.option, "renew_interval_ms");
  o.renew_interval_ms = 1500;
  assert_int_equal(s3lect_elector_update(&e, &o, &error), 0);
  s3lect_elector_close(&e, NULL);
  assert_int_equal(uv_run(&s.loop, UV_RUN_DEFAULT), 0);
  close_slow_store(&s);
}

static void test_missing_options(void** state) {
  s3lect_elector_options_t o = good();
  o.lockfile_path = NULL;
  expect(&o, S3LECT_EOPTION, "lockfile_path: missing");
  o = good();
  o.server_id = "";
  expect(&o, S3LECT_EOPTION, "server_id: missing");
  o = good();
  o.store = NULL;
  expect(&o, S3LECT_EOPTION, "store: missing");
}

/* Stores normalise such keys, some of them only when they write. */
static void test_segments(void** state) {
  static const struct {
    const char* key;
    const char* lockfile; /* what the message says, or NULL */
    const char* prefix;
  } rows[] = {
      {"/locks/db", "\"/locks/db\": has an empty segment", "write \"locks/db\""},
      {"a//b/./c", "write \"a/b/c\"", "write \"a/b/c\""},
      {"a/../b", "a segment \".\" or \"..\"", "write \"a/b\""},
      {"./a", "write \"a\"", "write \"a\""},
      {"//", "write \"leader.json\"", "write \"jobs/\""},
      {"locks/db/", "write \"locks/db\"", NULL},
      {"locks/.", "write \"locks\"", NULL},
      {"..", "write \"leader.json\"", NULL},
      {"/jobs/", "write \"jobs\"", "write \"jobs/\""},
      {".a/b./..c/...", NULL, NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    s3lect_elector_options_t o = good();
    const char* part = s3l_test_epochs() ? rows[i].prefix : rows[i].lockfile;
    o.lockfile_path = rows[i].key;
    if (part != NULL)
      expect(&o, S3LECT_EOPTION, part);
    else
      assert_int_equal(s3lect_elector_options_check(&o, NULL), 0);
  }
}

static void test_strings_out_of_bounds(void** state) {
  char text[2000];
  memset(text, 'x', sizeof text);
  text[256] = '\0';
  s3lect_elector_options_t o = good();
  o.server_id = text;
  expect(&o, S3LECT_EOPTION, "server_id \"xxx");
  expect(&o, S3LECT_EOPTION, "256 bytes");
  o = good();
  o.server_addr = text + 0;
  text[256] = 'x';
  text[264] = '\0';
  expect(&o, S3LECT_EOPTION, "server_addr \"xxx");
  o = good();
  text[264] = 'x';
  text[1025] = '\0';
  o.lockfile_path = text;
  expect(&o, S3LECT_EOPTION, "lockfile_path \"xxx");
  o = good();
  o.server_id = "a\xff";
  expect(&o, S3LECT_EOPTION, "UTF-8");
}

static void test_unsafe_timing(void** state) {
  s3lect_elector_options_t o = good();
  o.leader_timeout_ms = 1000;
  expect(&o, S3LECT_ETIMING, "leader_timeout_ms: 1000 ms is unsafe");
  o = good();
  o.request_timeout_ms = 9000;
  expect(&o, S3LECT_ETIMING,
         s3l_test_epochs() ? "shorten the others by 9250 ms" : "shorten the others by 250 ms");
  o = good();
  o.renew_interval_ms = 14000;
  expect(&o, S3LECT_ETIMING, "renewal interval 14000 ms");
  o = good();
  o.drift_ppm = 200001;
  expect(&o, S3LECT_EOPTION, "drift_ppm");
  o = good();
  o.expiry = 7;
  expect(&o, S3LECT_EOPTION, "expiry: 7");
  expect_store_clock(0, S3LECT_EOPTION);
  expect_store_clock(S3LECT_STORE_OWN_CLOCK, 0);
  o = good();
  o.frequent_interval_ms = UINT32_MAX;
  expect(&o, S3LECT_EOPTION, "frequent_interval_ms: ");
  o = good();
  o.request_timeout_ms = UINT32_MAX;
  expect(&o, S3LECT_EOPTION, "request_timeout_ms: ");
  o = good();
  o.leader_timeout_ms = 86400001;
  expect(&o, S3LECT_EOPTION, "leader_timeout_ms: 86400001 ms is over the limit of 24 hours");
  o = good();
  o.leader_timeout_ms = 86400000;
  assert_int_equal(s3lect_elector_options_check(&o, NULL), 0);
  o = good();
  o.renew_interval_ms = o.request_timeout_ms = 2419200000;
  expect(&o, S3LECT_ETIMING, "leader_timeout_ms: 15000 ms is unsafe");
}

/* The value that a message proposes passes, and the next one does not. */
static void expect_most(uint32_t* value, s3lect_elector_options_t* o, const char* before) {
  s3lect_error_t error;
  unsigned ms = 0;
  assert_int_equal(s3lect_elector_options_check(o, &error), S3LECT_ETIMING);
  if (strncmp(error.text, before, strlen(before)) != 0)
    fail_msg("%s", error.text);
  const char* at = strstr(error.text, "lower it to ");
  assert_non_null(at);
  assert_int_equal(sscanf(at, "lower it to %u ms", &ms), 1);
  *value = ms;
  assert_int_equal(s3lect_elector_options_check(o, &error), 0);
  *value = ms + 1;
  assert_int_equal(s3lect_elector_options_check(o, &error), S3LECT_ETIMING);
}

static void test_deadlines(void** state) {
  s3lect_elector_options_t o = good(), resolved = {.size = sizeof resolved};
  assert_int_equal(s3lect_elector_options_resolve(&o, &resolved, NULL), 0);
  assert_int_equal(resolved.renew_deadline_ms, 5);
  assert_int_equal(resolved.warn_before_ms, 0);
  o.renew_deadline_ms = 4;
  expect(&o, S3LECT_EOPTION, "renew_deadline_ms: 4 ms is below 5 ms");
  o.renew_deadline_ms = 8900;
  expect_most(&o.renew_deadline_ms, &o, "renew_deadline_ms: 8900 ms does not fit into the leader ");
  o.renew_deadline_ms = 2000; /* the default of the request timeout makes room */
  o.leader_timeout_ms = 10000;
  assert_int_equal(s3lect_elector_options_resolve(&o, &resolved, NULL), 0);
  uint32_t left = 9900 - 3333 - 1100 - 1995;
  assert_int_equal(resolved.request_timeout_ms, s3l_test_epochs() ? left / 2 : 3000);
  o = good();
  o.warn_before_ms = 12000;
  expect_most(&o.warn_before_ms, &o, "warn_before_ms: 12000 ms before the end is before the next ");
  o = good();
  o.warn_before_ms = 9000;
  assert_int_equal(s3lect_elector_options_check(&o, NULL), 0);
  o.renew_deadline_ms = 3000;
  expect_most(&o.warn_before_ms, &o, "warn_before_ms: ");
}

static void test_priority(void** state) {
  s3lect_elector_options_t o = good(), resolved = {.size = sizeof resolved};
  assert_int_equal(s3lect_elector_options_resolve(&o, &resolved, NULL), 0);
  assert_int_equal(resolved.priority, 3);
  o.priority = 4;
  expect(&o, S3LECT_EOPTION, "priority: 4 is out of range; give 1, 2 or 3");
  o.priority = -1;
  expect(&o, S3LECT_EOPTION, "priority: -1 is out of range");
  o.priority = 1;
  assert_int_equal(s3lect_elector_options_check(&o, NULL), 0);
}

static void test_durations_out_of_bounds(void** state) {
#define DURATION(name)                                                                             \
  { offsetof(s3lect_elector_options_t, name), #name ": 2419200001 ms is over" }
  static const struct {
    size_t offset;
    const char* text;
  } rows[] = {
      DURATION(frequent_interval_ms), DURATION(infrequent_interval_ms), DURATION(renew_interval_ms),
      DURATION(request_timeout_ms),   DURATION(grace_period_ms),        DURATION(stop_ack_ms),
      DURATION(release_timeout_ms),   DURATION(peer_interval_ms),       DURATION(peer_timeout_ms),
      DURATION(renew_deadline_ms),    DURATION(warn_before_ms),
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    s3lect_elector_options_t o = good();
    *(uint32_t*)(void*)((char*)&o + rows[i].offset) = 2419200001;
    expect(&o, S3LECT_EOPTION, rows[i].text);
  }
}

static void test_peer_health_path(void** state) {
  static const char* const bad[] = {"", "health", "/a b", "/a#b"};
  char text[2000];
  s3lect_elector_options_t o = good();
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    o.peer_health_path = bad[i];
    expect(&o, S3LECT_EOPTION, "peer_health_path: must begin with '/'");
  }
  memset(text, '/', sizeof text);
  text[sizeof text - 1] = '\0';
  o.peer_health_path = text;
  expect(&o, S3LECT_EOPTION, "peer_health_path: 1999 bytes; at most ");
}

static void expect_proposal(uint32_t timeout, uint32_t renew, uint32_t request) {
  s3lect_error_t error;
  s3lect_elector_options_t o = good();
  o.leader_timeout_ms = timeout;
  o.renew_interval_ms = renew;
  o.request_timeout_ms = request;
  assert_int_equal(s3lect_elector_options_check(&o, &error), S3LECT_ETIMING);
  const char* at = strstr(error.text, "raise it to ");
  assert_non_null(at);
  unsigned ms = 0;
  assert_int_equal(sscanf(at, "raise it to %u ms", &ms), 1);
  o.leader_timeout_ms = ms;
  assert_int_equal(s3lect_elector_options_check(&o, &error), 0);
  assert_string_equal(error.text, "");
  o.leader_timeout_ms = ms - 2;
  assert_int_equal(s3lect_elector_options_check(&o, &error), S3LECT_ETIMING);
}

/* The timeout that the message proposes is one that passes, and the smallest one; also where other
 * options have defaults that depend on it. */
static void test_proposal_is_right(void** state) {
  expect_proposal(2000, 700, 700);
  expect_proposal(1000, 0, 0);
  expect_proposal(1, 0, 0);
  expect_proposal(5000, 0, 4000);
  expect_proposal(1500, 1000, 0);
}

/* Structs of another version: shorter ones are taken, longer ones if what is unknown is unset. */
static void test_struct_sizes(void** state) {
  struct {
    s3lect_elector_options_t o;
    char more[16];
  } newer;
  memset(&newer, 0, sizeof newer);
  newer.o = good();
  newer.o.size = sizeof newer;
  s3lect_error_t error;
  assert_int_equal(s3lect_elector_options_check(&newer.o, &error), 0);
  newer.more[3] = 1;
  expect(&newer.o, UV_ENOTSUP, "does not know");
  s3lect_elector_options_t o = good();
  o.size = sizeof o - 1;
  expect(&o, UV_EINVAL, "size");
  o.size = 8;
  expect(&o, UV_EINVAL, "size");
  o.size = 4097;
  expect(&o, UV_EINVAL, "size");
}

/* What an elector would go by, defaults that depend on others included. */
static void test_resolved(void** state) {
  s3lect_elector_options_t o = good(), resolved;
  s3lect_error_t error;
  resolved.size = sizeof resolved;
  assert_int_equal(s3lect_elector_options_resolve(&o, &resolved, &error), 0);
  assert_int_equal(resolved.size, sizeof resolved);
  assert_int_equal(resolved.leader_timeout_ms, 15000);
  assert_int_equal(resolved.frequent_interval_ms, 5000);
  assert_int_equal(resolved.infrequent_interval_ms, 5000);
  assert_int_equal(resolved.renew_interval_ms, 5000);
  assert_int_equal(resolved.request_timeout_ms, 3000);
  assert_int_equal(resolved.release_timeout_ms, 1000);
  assert_int_equal(resolved.drift_ppm, 10000);
  assert_ptr_equal(resolved.store, &some_store);
  assert_ptr_equal(resolved.server_id, o.server_id);
  s3lect_peer_client_t peer_client; /* in peer mode the store is hardly polled */
  o.peer_client = &peer_client;
  assert_int_equal(s3lect_elector_options_resolve(&o, &resolved, NULL), 0);
  assert_int_equal(resolved.infrequent_interval_ms, 30000);
  assert_int_equal(resolved.peer_interval_ms, 30000);
  o.peer_client = NULL;
  o.leader_timeout_ms = 6000;
  o.renew_interval_ms = 1500;
  assert_int_equal(s3lect_elector_options_resolve(&o, &resolved, NULL), 0);
  assert_int_equal(resolved.renew_interval_ms, 1500);
  assert_int_equal(resolved.request_timeout_ms, s3l_test_epochs() ? 3340 / 2 : 3000);
  o.renew_interval_ms = 0;
  o.leader_timeout_ms = 3000;
  assert_int_equal(s3lect_elector_options_resolve(&o, &resolved, NULL), 0);
  assert_int_equal(resolved.renew_interval_ms, 1000);
  /* 99 % of 3000, less 1000 and 1100 */
  assert_int_equal(resolved.request_timeout_ms, s3l_test_epochs() ? 870 / 2 : 870);
  /* Nobody looks less often while there is no leader than while there is one. */
  o.leader_timeout_ms = 0;
  o.infrequent_interval_ms = 2000;
  assert_int_equal(s3lect_elector_options_resolve(&o, &resolved, NULL), 0);
  assert_int_equal(resolved.frequent_interval_ms, 2000);
  assert_int_equal(resolved.renew_interval_ms, 5000);
  o.frequent_interval_ms = 3000; /* unless told to */
  assert_int_equal(s3lect_elector_options_resolve(&o, &resolved, NULL), 0);
  assert_int_equal(resolved.frequent_interval_ms, 3000);
  assert_int_equal(resolved.renew_interval_ms, 3000);
  o.frequent_interval_ms = o.infrequent_interval_ms = 0;
  o.leader_timeout_ms = 3000;
  assert_int_equal(s3lect_elector_options_resolve(&o, &resolved, NULL), 0);
  /* What it says passes is what passes: resolved options are options. */
  assert_int_equal(s3lect_elector_options_check(&resolved, &error), 0);
  resolved.size = 0;
  assert_int_equal(s3lect_elector_options_resolve(&o, &resolved, &error), UV_EINVAL);
  assert_non_null(strstr(error.text, "size: 0 of `resolved`"));
  resolved.size = sizeof resolved;
  o.leader_timeout_ms = 1000;
  assert_int_equal(s3lect_elector_options_resolve(&o, &resolved, &error), S3LECT_ETIMING);
  assert_non_null(strstr(error.text, "leader_timeout_ms: 1000 ms is unsafe"));
}

static void test_names(void** state) {
  assert_string_equal(s3lect_event_name(S3LECT_EVENT_STARTED_LEADING), "started_leading");
  assert_string_equal(s3lect_event_name(99), "unknown");
  assert_string_equal(s3lect_reason_name(S3LECT_REASON_LOST), "lost");
  assert_string_equal(s3lect_reason_name(-1), "none");
  assert_string_equal(s3lect_version_string(), S3LECT_VERSION_STRING);
  assert_int_equal(s3lect_set_allocator(NULL, NULL, NULL, NULL), UV_EINVAL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_slow_writes),
      cmocka_unit_test(test_slow_writes_of_an_update),
      cmocka_unit_test(test_missing_options),
      cmocka_unit_test(test_segments),
      cmocka_unit_test(test_strings_out_of_bounds),
      cmocka_unit_test(test_unsafe_timing),
      cmocka_unit_test(test_deadlines),
      cmocka_unit_test(test_priority),
      cmocka_unit_test(test_durations_out_of_bounds),
      cmocka_unit_test(test_peer_health_path),
      cmocka_unit_test(test_proposal_is_right),
      cmocka_unit_test(test_struct_sizes),
      cmocka_unit_test(test_resolved),
      cmocka_unit_test(test_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
