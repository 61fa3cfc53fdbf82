/* The peer server's pages: /metrics is text that Prometheus takes, by a checker of the exposition
 * format (version 0.0.4) here; /livez and /readyz say what they are for, whoever leads. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/peer_rig.h"
#include "lib/script_store.h"
#include "lib/test.h"
#include "lib/wait.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

static s3l_house_t h;

/* ---- The format ---- */

#define FAMILIES_MAX 64
#define SAMPLES_MAX  512

typedef struct sample_s {
  char name[96];
  char labels[512]; /* without "le" */
  char le[32];
  double value;
} sample_t;

typedef struct page_s {
  char family[FAMILIES_MAX][96];
  char type[FAMILIES_MAX][16];
  size_t families;
  sample_t samples[SAMPLES_MAX];
  size_t len;
} page_t;

static page_t page;

static bool is_name(const char* s, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_:", s[i]) == NULL &&
        (i == 0 || strchr("0123456789", s[i]) == NULL))
      return false;
  return n > 0;
}

/* Reads {name="value",...}; *at is behind it. */
static void read_labels(const char** at, sample_t* s) {
  const char* p = *at;
  if (*p++ != '{')
    fail_msg("no labels: %s", *at);
  while (*p != '}') {
    const char* name = p;
    size_t n = strcspn(p, "=");
    assert_true(is_name(name, n));
    p += n;
    assert_memory_equal(p, "=\"", 2);
    p += 2;
    const char* value = p;
    for (; *p != '"'; p++) {
      assert_true(*p != '\n' && *p != '\0');
      if (*p == '\\')
        assert_non_null(strchr("\\\"n", *++p));
    }
    size_t len = (size_t)(p - value);
    if (n == 2 && memcmp(name, "le", 2) == 0)
      snprintf(s->le, sizeof s->le, "%.*s", (int)len, value);
    else
      snprintf(s->labels + strlen(s->labels), sizeof s->labels - strlen(s->labels), "%.*s;",
               (int)(len + n + 3), name);
    p++;
    assert_true(*p == ',' || *p == '}');
    p += *p == ',';
  }
  *at = p + 1;
}

static bool is_of_family(const sample_t* s, size_t f) {
  size_t n = strlen(page.family[f]);
  if (strncmp(s->name, page.family[f], n) != 0)
    return false;
  if (strcmp(page.type[f], "histogram") != 0)
    return s->name[n] == '\0';
  return strcmp(s->name + n, "_bucket") == 0 || strcmp(s->name + n, "_sum") == 0 ||
         strcmp(s->name + n, "_count") == 0;
}

static void read_sample(const char* line) {
  assert_true(page.len < SAMPLES_MAX);
  sample_t* s = &page.samples[page.len];
  memset(s, 0, sizeof *s);
  size_t n = strcspn(line, "{ ");
  assert_true(is_name(line, n));
  snprintf(s->name, sizeof s->name, "%.*s", (int)n, line);
  const char* at = line + n;
  read_labels(&at, s);
  assert_int_equal(*at, ' ');
  char* end;
  s->value = strtod(at + 1, &end);
  assert_true(end > at + 1 && *end == '\0');
  /* Samples follow their own family's head, so that none is torn apart. */
  assert_true(page.families > 0);
  if (!is_of_family(s, page.families - 1))
    fail_msg("%s is not of %s", s->name, page.family[page.families - 1]);
  for (size_t i = 0; i < page.len; i++)
    if (strcmp(page.samples[i].name, s->name) == 0 && strcmp(page.samples[i].le, s->le) == 0 &&
        strcmp(page.samples[i].labels, s->labels) == 0)
      fail_msg("twice: %s", line);
  page.len++;
}

/* "# HELP name text", then "# TYPE name type": once each. */
static void read_head(const char* line) {
  char name[96], word[16];
  if (strncmp(line, "# HELP ", 7) == 0) {
    assert_true(page.families < FAMILIES_MAX);
    assert_int_equal(sscanf(line, "# HELP %95s %15s", name, word), 2);
    for (size_t i = 0; i < page.families; i++)
      assert_string_not_equal(page.family[i], name);
    snprintf(page.family[page.families], sizeof page.family[0], "%s", name);
    page.type[page.families++][0] = '\0';
    return;
  }
  assert_int_equal(sscanf(line, "# TYPE %95s %15s", name, word), 2);
  assert_true(page.families > 0);
  assert_string_equal(page.family[page.families - 1], name);
  assert_string_equal(page.type[page.families - 1], ""); /* right behind its HELP */
  assert_true(strcmp(word, "gauge") == 0 || strcmp(word, "counter") == 0 ||
              strcmp(word, "histogram") == 0);
  size_t n = strlen(name);
  bool total = n > 6 && strcmp(name + n - 6, "_total") == 0;
  assert_int_equal(total, strcmp(word, "counter") == 0);
  snprintf(page.type[page.families - 1], sizeof page.type[0], "%s", word);
}

/* The buckets of each histogram grow, in their bounds and in what they count. */
static void check_buckets(void) {
  size_t buckets = 0;
  for (size_t i = 0; i < page.len; i++) {
    const sample_t* s = &page.samples[i];
    if (s->le[0] == '\0')
      continue;
    buckets++;
    const sample_t* next = &page.samples[i + 1];
    assert_true(i + 1 < page.len);
    if (strcmp(s->le, "+Inf") == 0) {
      assert_non_null(strstr(next->name, "_sum"));
      assert_string_equal(next[1].labels, s->labels);
      assert_non_null(strstr(next[1].name, "_count"));
      assert_true(next[1].value == s->value);
      continue;
    }
    assert_string_equal(next->labels, s->labels);
    assert_true(next->value >= s->value);
    assert_true(strcmp(next->le, "+Inf") == 0 || strtod(next->le, NULL) > strtod(s->le, NULL));
  }
  assert_true(buckets > 0);
}

/* Cuts the text into its lines. */
static void read_page(char* body) {
  memset(&page, 0, sizeof page);
  assert_int_equal(body[strlen(body) - 1], '\n');
  for (char* end; (end = strchr(body, '\n')) != NULL; body = end + 1) {
    *end = '\0';
    if (body[0] == '#')
      read_head(body);
    else
      read_sample(body);
  }
  check_buckets();
}

static void fetch(void) {
  s3l_caller_t* c = s3l_house_caller(&h, NULL);
  s3l_caller_open(c);
  s3l_caller_talk(c, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "\r\n\r\n",
                  true);
  char* text = c->text;
  assert_non_null(strstr(text, "HTTP/1.1 200 OK\r\n"));
  assert_non_null(strstr(text, "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  read_page(strstr(text, "\r\n\r\n") + 4);
  s3l_caller_free(c);
}

static double value(const char* name, const char* label) {
  for (size_t i = 0; i < page.len; i++)
    if (strcmp(page.samples[i].name, name) == 0 && strstr(page.samples[i].labels, label) != NULL)
      return page.samples[i].value;
  fail_msg("no %s of %s", name, label);
  return -1;
}

/* ---- Metrics ---- */

static bool has_renewed(void* arg) {
  s3lect_stats_t stats = {.size = sizeof stats};
  assert_int_equal(s3lect_elector_stats(&h.e[0], &stats), 0);
  return stats.renewals >= 3;
}

static void test_metrics(void** state) {
  s3l_house_init(&h, NULL);
  h.options.metrics = 1;
  s3l_house_open(&h);
  h.o[0].frequent_interval_ms = h.o[0].infrequent_interval_ms = 100;
  assert_int_equal(s3lect_elector_init(&h.loop, &h.e[0], &h.o[0], NULL), 0);
  h.is_open[0] = true;
  assert_int_equal(s3lect_peer_server_add(&h.server, &h.e[0], "/a"), 0);
  fetch();
  assert_true(value("s3lect_is_leader", "path=\"/a\"") == 0);
  assert_true(value("s3lect_valid_for_seconds", "path=\"/a\"") == 0);
  assert_true(value("s3lect_store_requests_total", "result=\"ok\"") == 0);
  s3l_house_close_elector(&h, 0);

  s3l_house_lead(&h, 0);
  s3l_house_stand(&h, 1);
  assert_int_equal(s3lect_peer_server_add(&h.server, &h.e[0], "/a"), 0);
  assert_int_equal(s3lect_peer_server_add(&h.server, &h.e[1], "/b"), 0);
  s3l_wait(&h.loop, has_renewed, NULL, "renewals");
  fetch();
  assert_true(value("s3lect_is_leader", "id=\"a\"") == 1);
  assert_true(value("s3lect_is_leader", "id=\"b\"") == 0);
  assert_true(value("s3lect_epoch", "id=\"a\"") == (double)s3lect_elector_epoch(&h.e[0]));
  double left = value("s3lect_valid_for_seconds", "id=\"a\"");
  assert_true(left > 0 && left <= 15);
  assert_true(value("s3lect_leaderships_total", "id=\"a\"") == 1);
  assert_true(value("s3lect_renewals_total", "id=\"a\"") >= 3);
  /* What is counted of requests begins when the elector is added. */
  double count = value("s3lect_renewal_seconds_count", "id=\"a\"");
  assert_true(count >= 2 && count <= value("s3lect_renewals_total", "id=\"a\""));
  assert_true(value("s3lect_store_requests_total", "id=\"a\";path=\"/a\";operation=\"put\";"
                                                   "result=\"ok\"") >= count);
  s3l_house_end(&h);
}

/* Elections of one key and one ID, in different stores, say: their paths tell them apart. Names
 * that need escapes get them. */
static void test_metrics_of_namesakes(void** state) {
  s3lect_store_t other;
  s3l_house_init(&h, NULL);
  h.options.metrics = 1;
  s3l_house_open(&h);
  assert_int_equal(s3lect_store_memory_init(&h.loop, &other, NULL), 0);
  h.o[0].lockfile_path = h.o[1].lockfile_path = "locks/\"a\\b\"";
  h.o[0].server_id = h.o[1].server_id = "line\none";
  h.o[1].store = &other;
  s3l_house_stand(&h, 0);
  s3l_house_stand(&h, 1);
  assert_int_equal(s3lect_peer_server_add(&h.server, &h.e[0], "/a"), 0);
  assert_int_equal(s3lect_peer_server_add(&h.server, &h.e[1], "/b"), 0);
  fetch();
  assert_true(value("s3lect_is_leader",
                    "election=\"locks/\\\"a\\\\b\\\"\";id=\"line\\none\";path=\"/b\"") == 0);
  s3l_house_close_elector(&h, 1);
  s3l_house_close_elector(&h, 0);
  s3lect_store_close(&other, NULL);
  s3l_house_end(&h);
}

/* Without a server: for a program that has its own. */
static void test_metrics_of_an_embedder(void** state) {
  static char text[65536];
  s3lect_elector_t* const both[] = {&h.e[0], &h.e[1]};
  s3l_house_init(&h, NULL);
  s3l_house_open(&h);
  s3l_house_lead(&h, 0);
  s3l_house_stand(&h, 1);
  int len = s3lect_elector_metrics(both, 2, NULL, 0);
  assert_true(len > 0);
  s3l_wait(&h.loop, has_renewed, NULL, "renewals");
  memset(text, 'x', sizeof text);
  assert_true(s3lect_elector_metrics(both, 2, text, 10) >= len);
  assert_string_equal(text, "# HELP s3");
  assert_int_equal(text[10], 'x');
  len = s3lect_elector_metrics(both, 2, text, sizeof text);
  assert_int_equal(len, strlen(text));
  read_page(text);
  assert_true(value("s3lect_is_leader", "id=\"a\"") == 1);
  assert_true(value("s3lect_is_leader", "id=\"b\"") == 0);
  /* Counted from the first page on. */
  double count = value("s3lect_renewal_seconds_count", "id=\"a\"");
  assert_true(count >= 2 && count <= value("s3lect_renewals_total", "id=\"a\""));
  assert_true(value("s3lect_renewal_seconds_sum", "id=\"a\"") < 60);
  assert_true(s3lect_elector_metrics(both, 0, text, sizeof text) > 0);
  s3l_house_close_elector(&h, 1);
  assert_int_equal(s3lect_elector_metrics(both, 2, text, sizeof text), UV_ECANCELED);
  s3l_house_end(&h);
}

/* ---- Pages apart from peers ---- */

static void assert_pages(bool leads) {
  (void)s3l_house_ask_pages(&h, GET("/livez"), "200 OK");
  (void)s3l_house_ask_pages(&h, GET("/readyz"), "200 OK");
  assert_non_null(strstr(s3l_house_ask_pages(&h, GET("/metrics"), "# TYPE"), " 200 OK"));
  char wanted[64] = "not leader\n";
  if (leads)
    snprintf(wanted, sizeof wanted, "\nleader %" PRIu64 "\n", s3lect_elector_epoch(&h.e[0]));
  const char* text = s3l_house_ask_pages(&h, GET("/leader"), wanted);
  assert_non_null(strstr(text, leads ? " 200 OK" : " 503 Service Unavailable"));
  (void)s3l_house_ask_pages(&h, GET(S3LECT_PEER_HEALTH_PATH), "404 Not Found");
  (void)s3l_house_ask_pages(&h, "PUT /leader HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
                            "405 Method Not Allowed");
  (void)s3l_house_ask_pages(&h, "HEAD /leader HTTP/1.1\r\nHost: x\r\n\r\n",
                            leads ? "200 OK" : "503 Service Unavailable");
}

/* Beside the answers to peers, where the pages are not served. */
static void test_pages_beside_peers(void** state) {
  s3l_house_init(&h, NULL);
  h.options.pages_listen = "127.0.0.1:0";
  s3l_house_open(&h);
  assert_true(s3lect_peer_server_port(&h.server) != s3lect_peer_server_pages_port(&h.server));
  (void)s3l_house_ask_pages(&h, GET("/leader"), "503 Service Unavailable"); /* nobody is there */
  s3l_house_lead(&h, 0);
  assert_int_equal(s3lect_peer_server_add(&h.server, &h.e[0], NULL), 0);
  assert_pages(true);
  (void)s3l_house_ask(&h, NULL, GET(S3LECT_PEER_HEALTH_PATH), "200 OK");
  (void)s3l_house_ask(&h, NULL, GET("/leader"), "404 Not Found");
  (void)s3l_house_ask(&h, NULL, GET("/metrics"), "404 Not Found");
  s3l_house_end(&h);
}

/* Without peers. Who resigns is no leader at that instant. */
static void test_pages_alone(void** state) {
  s3l_house_init(&h, NULL);
  h.options.listen = NULL;
  h.options.pages_listen = "127.0.0.1:0";
  s3l_house_open(&h);
  assert_int_equal(s3lect_peer_server_port(&h.server), UV_EINVAL);
  assert_int_equal(s3lect_peer_server_reload(&h.server, NULL, NULL), UV_EINVAL);
  s3l_house_lead(&h, 0);
  assert_int_equal(s3lect_peer_server_add(&h.server, &h.e[0], NULL), 0);
  assert_pages(true);
  assert_int_equal(s3lect_elector_resign(&h.e[0]), 0);
  assert_pages(false);
  s3l_house_close_server(&h);
  assert_int_equal(s3lect_peer_server_pages_port(&h.server), UV_ECANCELED);
  s3l_house_end(&h);
}

/* An address that is taken, or is none: the message names the option. */
static void test_pages_that_cannot_be_served(void** state) {
  static const struct {
    const char* at;
    int err;
  } cases[] = {{NULL, UV_EADDRINUSE}, {"nowhere:1", S3LECT_EOPTION}};
  s3lect_peer_server_t other;
  s3lect_error_t error;
  char taken[32];
  s3l_house_init(&h, NULL);
  s3l_house_open(&h);
  snprintf(taken, sizeof taken, "127.0.0.1:%d", s3lect_peer_server_port(&h.server));
  for (size_t i = 0; i < 4; i++) {
    s3lect_peer_server_options_t o = h.options;
    o.pages_listen = cases[i / 2].at != NULL ? cases[i / 2].at : taken;
    o.listen = i % 2 != 0 ? "127.0.0.1:0" : NULL;
    assert_int_equal(s3lect_peer_server_init(&h.loop, &other, &o, &error), cases[i / 2].err);
    assert_string_equal(error.option, "pages_listen");
    assert_memory_equal(error.text, "pages_listen \"", 14);
  }
  s3l_house_end(&h);
}

/* ---- Health ---- */

static void test_health_is_not_leadership(void** state) {
  s3l_script_store_t script;
  s3lect_record_t led = s3l_script_store_released();
  led.released = 0;
  led.last_updated_ms = 1700000000000;
  s3l_house_init(&h, NULL);
  h.options.health = 1;
  s3l_house_open(&h);
  (void)s3l_house_ask(&h, NULL, GET("/livez"), "200 OK");
  (void)s3l_house_ask(&h, NULL, GET("/readyz"), "503 Service Unavailable"); /* nobody stands */
  s3l_script_store_init(&h.loop, &script);
  s3l_wait_pace(S3L_PACE_SOCKETS);
  h.o[0].store = &script.store;
  s3l_house_stand(&h, 0);
  assert_int_equal(s3lect_peer_server_add(&h.server, &h.e[0], NULL), 0);
  s3l_script_store_expect(&script, false);
  (void)s3l_house_ask(&h, NULL, GET("/livez"), "200 OK");
  const char* text = s3l_house_ask(&h, NULL, GET("/readyz"), "not yet\n");
  assert_non_null(strstr(text, "503 Service Unavailable"));
  s3l_script_store_show(&script, &led, "\"1\"");
  text = s3l_house_ask(&h, NULL, GET("/readyz"), "ok\n"); /* a follower is as ready as a leader */
  assert_non_null(strstr(text, "200 OK"));
  assert_int_equal(s3lect_elector_is_leader(&h.e[0]), 0);
  (void)s3l_house_ask(&h, NULL, GET("/metrics"), "404 Not Found");
  assert_int_equal(s3lect_elector_stop(&h.e[0]), 0);
  (void)s3l_house_ask(&h, NULL, GET("/livez"), "200 OK");
  (void)s3l_house_ask(&h, NULL, GET("/readyz"), "503 Service Unavailable");
  s3l_house_close_elector(&h, 0);
  s3lect_store_close(&script.store, NULL);
  s3l_house_end(&h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_metrics),
      cmocka_unit_test(test_metrics_of_namesakes),
      cmocka_unit_test(test_metrics_of_an_embedder),
      cmocka_unit_test(test_pages_beside_peers),
      cmocka_unit_test(test_pages_alone),
      cmocka_unit_test(test_pages_that_cannot_be_served),
      cmocka_unit_test(test_health_is_not_leadership),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
