/* Whose candidacy the peer server keeps, and which of them its leader grants when it resigns: only
 * a lockfile's leader does.
 *
 * ctest labels: one-protocol */
#include <stdio.h>
#include <string.h>

#include "lib/group_certs.h"
#include "lib/peer_rig.h"
#include "lib/test.h"
#include "lib/wait.h"

#define HEALTH S3LECT_PEER_HEALTH_PATH
#define HERE   "127.0.0.1:1"
#define B      "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C      "cccccccccccccccccccccccccccccccc"

static s3l_house_t h;
static s3l_tls_context_t* good;

/* Elector a leads, by epoch 8. */
static void begin(void) {
  s3l_house_init(&h, &certs);
  s3l_house_open_leading(&h);
  good = s3l_client_context(certs.ca, certs.good);
}

static void end(void) {
  s3l_tls_context_free(good);
  s3l_house_end(&h);
}

/* What a follower says of itself. Static memory, for four of them. */
static const char* claim(const char* id, const char* addr, const char* by, unsigned write,
                         unsigned priority) {
  static char text[4][512];
  static unsigned next;
  char* out = text[next++ % 4];
  snprintf(out, sizeof text[0],
           "{\"leaderID\":\"%s\",\"leaderAddr\":\"%s\",\"lastUpdated\":\"2024-10-27T10:30:45Z\","
           "\"epoch\":9,\"incarnation\":\"%s\",\"write\":%u,\"leaderTimeoutMs\":15000,"
           "\"renewIntervalMs\":5000,\"acquired\":\"2024-10-27T10:30:45Z\",\"transitions\":5,"
           "\"priority\":%u}",
           id, addr, by, write, priority);
  return out;
}

static void say(s3l_caller_t* c, const char* fields, const char* claimed) {
  char request[S3LECT_PEER_HEADER_BYTES + 1024];
  snprintf(request, sizeof request, "GET " HEALTH " HTTP/1.1\r\nHost: x\r\n%s%s%s\r\n\r\n", fields,
           claimed != NULL ? "\r\nS3lect-Candidacy: " : "", claimed != NULL ? claimed : "");
  s3l_caller_send(c, request);
}

/* A client whose question is held. */
static s3l_caller_t* wait_as(s3l_tls_context_t* tls, const char* claimed) {
  s3l_caller_t* c = s3l_house_caller(&h, tls);
  s3l_caller_open(c);
  say(c, "Prefer: wait=3600", claimed);
  (void)s3l_house_ask(&h, tls, "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n", "404");
  assert_string_equal(c->text, "");
  return c;
}

static void resign(void) {
  assert_int_equal(s3lect_elector_resign(&h.e[0]), 0);
}

static void is_granted(s3l_caller_t* c, const char* id) {
  char want[64];
  snprintf(want, sizeof want, "{\"leaderID\":\"%s\"", id);
  s3l_caller_expect(c, want);
  s3l_caller_expect(c, "}");
  assert_non_null(strstr(c->text, "HTTP/1.1 200 OK\r\n"));
  assert_non_null(strstr(c->text, "\"epoch\":9,"));
  s3l_caller_free(c);
}

static void is_not_granted(s3l_caller_t* c) {
  s3l_caller_expect(c, "404 Not Found");
  assert_null(strstr(c->text, "leaderID"));
  s3l_caller_free(c);
}

/* The record is the candidate's, with its write number; how it was acquired is the leader's to say.
 * Its validity is the candidate's own to know. */
static void test_the_claim_stands_in_place_of_the_release(void** state) {
  begin();
  s3l_caller_t* b = wait_as(good, claim("b", HERE, B, 17, 1));
  s3l_caller_t* watcher = wait_as(good, NULL);
  resign();
  s3l_caller_expect(b, "\"validForMs\":0}");
  assert_non_null(strstr(b->text, "\"incarnation\":\"" B "\",\"write\":17,"));
  assert_non_null(strstr(b->text, "\"leaderAddr\":\"" HERE "\""));
  assert_non_null(strstr(b->text, "\"transitions\":"));
  assert_null(strstr(b->text, "2024-10-27"));
  is_granted(b, "b");
  is_not_granted(watcher);
  /* One who asks again, since the answer was lost, gets it again. Others do not. */
  s3l_caller_t* again = s3l_house_caller(&h, good);
  s3l_caller_open(again);
  say(again, "Accept: */*", claim("b", HERE, B, 18, 1));
  is_granted(again, "b");
  again = s3l_house_caller(&h, good);
  s3l_caller_open(again);
  say(again, "Accept: */*", claim("c", HERE, C, 1, 1));
  is_not_granted(again);
  end();
}

/* ---- Who counts ---- */

static void test_only_at_an_address_of_the_certificate(void** state) {
  const struct {
    const char* cert;
    const char* addr;
    bool granted;
  } rows[] = {
      {certs.good, HERE, true},
      {certs.good, "localhost", true},
      {certs.good, "[::1]:8443", true},
      {certs.good, "127.0.0.2:1", false},
      {certs.good, "example.com:1", false},
      {certs.good, "127.0.0.1:1/x", false},
      {certs.good, "127.0.0.1:1@example.com:1", false},
      {certs.good, "example.com:1@127.0.0.1:1", false},
      {certs.good, "127.0.0.1:65536", false},
      {certs.good, "", false},
      {certs.wrong, "192.0.2.1:9", true},
      {certs.wrong, "wrong.example:9", true},
      {certs.wrong, HERE, false}, /* it comes from there, but its certificate says otherwise */
      {certs.cn_only, "localhost:1", false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    print_message("  %s\n", rows[i].addr);
    begin();
    s3l_tls_context_t* tls = s3l_client_context(certs.ca, rows[i].cert);
    s3l_caller_t* b = wait_as(tls, claim("b", rows[i].addr, B, 1, 1));
    resign();
    if (rows[i].granted)
      is_granted(b, "b");
    else
      is_not_granted(b);
    s3l_tls_context_free(tls);
    end();
  }
}

/* A server that asks for no certificate does not know who asks. */
static void test_nobody_without_a_certificate(void** state) {
  for (int plain = 0; plain < 2; plain++) {
    s3l_house_init(&h, plain ? NULL : &certs);
    h.options.client_ca_file = NULL;
    s3l_house_open_leading(&h);
    s3l_tls_context_t* tls = plain ? NULL : s3l_client_context(certs.ca, certs.good);
    s3l_caller_t* b = wait_as(tls, claim("b", HERE, B, 1, 1));
    resign();
    is_not_granted(b);
    if (tls != NULL)
      s3l_tls_context_free(tls);
    s3l_house_end(&h);
  }
}

/* ---- What counts ---- */

#define TIME  "\"lastUpdated\":\"2024-10-27T10:30:45Z\""
#define WHO   "\"leaderID\":\"b\",\"leaderAddr\":\"" HERE "\"," TIME
#define LEASE "\"leaderTimeoutMs\":15000,\"renewIntervalMs\":5000"

/* All of them at once: each asks as somebody else. */
static void test_what_is_no_candidacy(void** state) {
  static const char* const bad[] = {
      "",
      "{}",
      "null",
      "[" WHO "]",
      "{" WHO "}",
      "{" WHO ",\"epoch\":9,\"incarnation\":\"" B "\",\"write\":1," LEASE "}", /* no priority */
      "{" WHO ",\"epoch\":9,\"incarnation\":\"" B "\",\"write\":1," LEASE ",\"priority\":0}",
      "{" WHO ",\"epoch\":9,\"incarnation\":\"" B "\",\"write\":1," LEASE ",\"priority\":256}",
      "{" WHO ",\"epoch\":9,\"incarnation\":\"" B "\",\"write\":1," LEASE ",\"priority\":\"1\"}",
      "{" WHO ",\"epoch\":9,\"incarnation\":\"" B "\",\"write\":0," LEASE ",\"priority\":1}",
      "{" WHO ",\"epoch\":9,\"incarnation\":\"" B "\",\"write\":\"1\"," LEASE ",\"priority\":1}",
      "{" WHO ",\"epoch\":9,\"incarnation\":\"bbb\",\"write\":1," LEASE ",\"priority\":1}",
      "{" WHO ",\"epoch\":9,\"write\":1," LEASE ",\"priority\":1}",
      "{" WHO ",\"epoch\":-9,\"incarnation\":\"" B "\",\"write\":1," LEASE ",\"priority\":1}",
      "{" WHO ",\"epoch\":9,\"incarnation\":\"" B "\",\"write\":1," LEASE ",\"priority\":1",
      /* Of another leadership, with another leader timeout, or under the leader's own ID. */
      "{" WHO ",\"epoch\":8,\"incarnation\":\"" B "\",\"write\":1," LEASE ",\"priority\":1}",
      "{" WHO ",\"epoch\":10,\"incarnation\":\"" B "\",\"write\":1," LEASE ",\"priority\":1}",
      "{" WHO ",\"epoch\":9,\"incarnation\":\"" B "\",\"write\":1,\"leaderTimeoutMs\":15001,"
      "\"renewIntervalMs\":5000,\"priority\":1}",
      "{" WHO ",\"epoch\":9,\"incarnation\":\"" B "\",\"write\":1,\"priority\":1}",
      "{\"leaderID\":\"\",\"leaderAddr\":\"" HERE "\"," TIME ",\"epoch\":9,\"incarnation\":\"" B
      "\",\"write\":1," LEASE ",\"priority\":1}",
      "{\"leaderID\":\"a\",\"leaderAddr\":\"" HERE "\"," TIME ",\"epoch\":9,\"incarnation\":\"" B
      "\",\"write\":1," LEASE ",\"priority\":1}",
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    begin();
    s3l_caller_t* c = wait_as(good, bad[i]);
    resign();
    is_not_granted(c);
    end();
  }
}

/* A field that the server's limit of a head leaves no room for: the server refuses the request. */
static void test_too_large_a_field(void** state) {
  char huge[S3LECT_PEER_HEADER_BYTES];
  begin();
  memset(huge, ' ', sizeof huge - 1);
  huge[0] = '{';
  huge[sizeof huge - 1] = '\0';
  s3l_caller_t* c = s3l_house_caller(&h, good);
  s3l_caller_open(c);
  say(c, "Prefer: wait=3600", huge);
  s3l_caller_expect(c, "431 ");
  s3l_caller_free(c);
  end();
}

/* The first of several fields is the one that counts, in any case of its name. */
static void test_several_fields(void** state) {
  char fields[1200];
  for (int first = 0; first < 2; first++) {
    begin();
    s3l_caller_t* c = s3l_house_caller(&h, good);
    s3l_caller_open(c);
    snprintf(fields, sizeof fields, "Prefer: wait=3600\r\nS3LECT-candidacy: %s",
             first == 0 ? claim("b", HERE, B, 1, 1) : "{}");
    say(c, fields, first == 0 ? claim("c", HERE, C, 1, 1) : claim("b", HERE, B, 1, 1));
    (void)s3l_house_ask(&h, good, "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n", "404");
    resign();
    if (first == 0)
      is_granted(c, "b");
    else
      is_not_granted(c);
    end();
  }
}

/* ---- What is left of it ---- */

/* An earlier question may still be held, for a client that has given it up: it counts no longer. */
static void test_a_later_question_voids_the_earlier(void** state) {
  static const char* const fields[] = {"Prefer: wait=3600", "Accept: */*"};
  for (size_t i = 0; i < 2; i++) {
    begin();
    s3l_caller_t* first = wait_as(good, claim("b", HERE, B, 1, 1));
    s3l_caller_t* later = s3l_house_caller(&h, good);
    s3l_caller_open(later);
    say(later, fields[i], claim("b", HERE, B, 2, 1));
    (void)s3l_house_ask(&h, good, "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n", "404");
    resign();
    if (i == 0) {
      s3l_caller_expect(later, "\"write\":2,");
      is_granted(later, "b");
      is_granted(first, "b"); /* the same claim, whichever connection it is told on */
    } else {                  /* not held: answered at once, by the leader that still leads */
      s3l_caller_expect(later, "{\"leaderID\":\"a\"");
      s3l_caller_free(later);
      is_not_granted(first);
    }
    end();
  }
}

static void test_a_withdrawal(void** state) {
  char withdrawn[512];
  for (int whose = 0; whose < 2; whose++) {
    begin();
    s3l_caller_t* b = wait_as(good, claim("b", HERE, B, 1, 1));
    s3l_caller_t* last = s3l_house_caller(&h, good);
    s3l_caller_open(last);
    const char* of = whose == 0 ? B : C;
    snprintf(withdrawn, sizeof withdrawn,
             "{\"leaderID\":\"b\",\"leaderAddr\":\"" HERE "\",\"lastUpdated\":"
             "\"0001-01-01T00:00:00Z\",\"epoch\":9,\"incarnation\":\"%s\",\"write\":1," LEASE
             ",\"transitions\":5,\"priority\":1}",
             of);
    say(last, "Accept: */*", withdrawn);
    s3l_caller_expect(last, "{\"leaderID\":\"a\""); /* who leads still */
    s3l_caller_free(last);
    resign();
    if (whose == 0)
      is_not_granted(b);
    else
      is_granted(b, "b");
    end();
  }
}

static void test_one_who_has_left(void** state) {
  begin();
  s3l_caller_t* b = wait_as(good, claim("b", HERE, B, 1, 3));
  s3l_caller_t* c = wait_as(good, claim("c", HERE, C, 1, 1));
  s3l_caller_free(b);
  (void)s3l_house_ask(&h, good, "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n", "404");
  resign();
  is_granted(c, "c");
  end();
}

/* ---- Which one ---- */

static void test_the_highest_priority(void** state) {
  begin();
  s3l_caller_t* b = wait_as(good, claim("b", HERE, B, 1, 1));
  s3l_caller_t* c = wait_as(good, claim("c", HERE, C, 1, 3));
  s3l_caller_t* d = wait_as(good, claim("d", HERE, "dddddddddddddddddddddddddddddddd", 1, 3));
  resign();
  is_granted(c, "c"); /* d has waited for less long */
  is_not_granted(b);
  is_not_granted(d);
  end();
}

static void test_the_longest_wait(void** state) {
  begin();
  s3l_caller_t* b = wait_as(good, claim("b", HERE, B, 1, 2));
  s3l_caller_t* c = wait_as(good, claim("c", HERE, C, 1, 2));
  resign();
  is_granted(b, "b");
  is_not_granted(c);
  end();
}

static void test_the_named_successor(void** state) {
  static const char* const to[] = {"c", "nobody"};
  for (size_t i = 0; i < 2; i++) {
    begin();
    s3l_caller_t* b = wait_as(good, claim("b", HERE, B, 1, 3));
    s3l_caller_t* c = wait_as(good, claim("c", HERE, C, 1, 1));
    assert_int_equal(s3lect_elector_transfer(&h.e[0], to[i]), 0);
    if (i == 0)
      is_granted(c, "c");
    else
      is_not_granted(c);
    is_not_granted(b);
    end();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_claim_stands_in_place_of_the_release),
      cmocka_unit_test(test_only_at_an_address_of_the_certificate),
      cmocka_unit_test(test_nobody_without_a_certificate),
      cmocka_unit_test(test_what_is_no_candidacy),
      cmocka_unit_test(test_too_large_a_field),
      cmocka_unit_test(test_several_fields),
      cmocka_unit_test(test_a_later_question_voids_the_earlier),
      cmocka_unit_test(test_a_withdrawal),
      cmocka_unit_test(test_one_who_has_left),
      cmocka_unit_test(test_the_highest_priority),
      cmocka_unit_test(test_the_longest_wait),
      cmocka_unit_test(test_the_named_successor),
  };
  return cmocka_run_group_tests(tests, s3l_make_certs, s3l_remove_certs);
}
