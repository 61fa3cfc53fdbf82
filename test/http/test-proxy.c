/* http/proxy: proxy URLs, NO_PROXY lists, the environment. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/proxy.h"
#include "lib/test.h"

static void reads_proxies(void** state) {
  static const struct {
    const char* text;
    const char* host;
    uint16_t port;
    const char* authorization;
  } good[] = {
      {"http://proxy:3128", "proxy", 3128, ""},
      {"http://proxy:3128/", "proxy", 3128, ""},
      {"proxy.example.com", "proxy.example.com", 80, ""},
      {" proxy:8080 ", "proxy", 8080, ""},
      {"HTTP://10.0.0.1", "10.0.0.1", 80, ""},
      {"http://[::1]:3128", "::1", 3128, ""},
      /* RFC 7617's own example, and its neighbours in base64. */
      {"http://Aladdin:open%20sesame@proxy:1", "proxy", 1, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="},
      {"http://a:b@proxy", "proxy", 80, "Basic YTpi"},
      {"http://a:bc@proxy", "proxy", 80, "Basic YTpiYw=="},
      {"http://a:bcd@proxy", "proxy", 80, "Basic YTpiY2Q="},
      {"http://user@proxy", "proxy", 80, "Basic dXNlcjo="},
      {"u:p%40ss@w@proxy:3", "proxy", 3, "Basic dTpwQHNzQHc="},
  };
  for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
    s3l_proxy_t p;
    const char* reason = NULL;
    if (!s3l_proxy_parse(s3l_span_cstr(good[i].text), &p, &reason))
      fail_msg("%s: %s", good[i].text, reason);
    assert_true(p.used);
    assert_string_equal(p.host, good[i].host);
    assert_int_equal(p.port, good[i].port);
    assert_string_equal(p.authorization, good[i].authorization);
  }
}

static void refuses_what_is_no_proxy(void** state) {
  static const char* const bad[] = {"",
                                    "http://",
                                    "https://proxy:3128",
                                    "socks5://proxy:1080",
                                    "http://proxy:0",
                                    "http://proxy:65536",
                                    "http://proxy:x",
                                    "http://proxy/path",
                                    "http://proxy?x",
                                    "http://pro xy",
                                    "http://a:%4@proxy",
                                    "http://a:%zz@proxy",
                                    "http://a:%"};
  char longer[2048];
  s3l_proxy_t p;
  const char* reason;
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    reason = NULL;
    if (s3l_proxy_parse(s3l_span_cstr(bad[i]), &p, &reason))
      fail_msg("\"%s\" was taken for a proxy", bad[i]);
    assert_false(p.used);
    assert_non_null(reason);
    assert_memory_equal(reason, "must", 4);
  }
  memset(longer, 'a', sizeof(longer));
  memcpy(longer, "http://", 7);
  memcpy(longer + sizeof(longer) - 8, "@proxy:1", 8);
  assert_false(s3l_proxy_parse((s3l_span_t){longer, sizeof(longer)}, &p, &reason));
  assert_false(s3l_proxy_parse((s3l_span_t){longer, sizeof(longer) - 8}, &p, &reason));
}

static void knows_what_goes_direct(void** state) {
  static const struct {
    const char* list;
    const char* host;
    uint16_t port;
    bool direct;
  } cases[] = {
      {"", "s3.example.com", 443, false},
      {"*", "s3.example.com", 443, true},
      {" a , * ", "s3.example.com", 443, true},
      {"example.com", "example.com", 443, true},
      {"example.com", "s3.example.com", 443, true},
      {"example.com", "S3.EXAMPLE.COM", 443, true},
      {"example.com", "notexample.com", 443, false},
      {".example.com", "example.com", 443, false},
      {".example.com", "s3.example.com", 443, true},
      {"example.com:443", "s3.example.com", 443, true},
      {"example.com:8443", "s3.example.com", 443, false},
      {"example.com:x", "s3.example.com", 443, false},
      {"x,y.z,s3.example.com", "s3.example.com", 443, true},
      {"10.0.0.1", "10.0.0.1", 80, true},
      {"10.0.0.1:80", "10.0.0.1", 80, true},
      {"10.0.0.1:81", "10.0.0.1", 80, false},
      {"10.0.0.1", "10.0.0.10", 80, false},
      {"0.1", "10.0.0.1", 80, false},
      {"10.0.0.0/8", "10.200.1.1", 80, true},
      {"10.0.0.0/8", "11.0.0.1", 80, false},
      {"10.0.0.128/25", "10.0.0.127", 80, false},
      {"10.0.0.128/25", "10.0.0.129", 80, true},
      {"0.0.0.0/0", "10.0.0.1", 80, true},
      {"10.0.0.0/33", "10.0.0.0", 80, false},
      {"10.0.0.0/x", "10.0.0.0", 80, false},
      {"10.0.0.0/8", "ten.example.com", 80, false},
      {"fd00::/8", "fd12::1", 80, true},
      {"fd00::/8", "10.0.0.1", 80, false},
      {"::1", "0:0:0:0:0:0:0:1", 80, true},
      {"[::1]", "::1", 80, true},
      {"[::1]:80", "::1", 80, true},
      {"[::1]:81", "::1", 80, false},
      {"[::1", "::1", 80, false},
      {",,", "a", 80, false},
      {".", "a.b", 80, false},
      {":80", "a", 80, false},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    if (s3l_proxy_excludes(s3l_span_cstr(cases[i].list), s3l_span_cstr(cases[i].host),
                           cases[i].port) != cases[i].direct)
      fail_msg("\"%s\" for %s:%u", cases[i].list, cases[i].host, cases[i].port);
  }
}

static void clear(void) {
  static const char* const names[] = {"HTTPS_PROXY", "https_proxy", "HTTP_PROXY",
                                      "http_proxy",  "NO_PROXY",    "no_proxy"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    unsetenv(names[i]);
}

static bool by_environment(bool tls, const char* host, s3l_proxy_t* p, const char** name,
                           const char** reason) {
  const s3l_proxy_rules_t rules = s3l_proxy_rules(NULL);
  return s3l_proxy_choose(&rules, tls, s3l_span_cstr(host), 443, p, name, reason);
}

static const char* chosen(bool tls, const char* host) {
  static s3l_proxy_t p;
  const char *name, *reason;
  assert_true(by_environment(tls, host, &p, &name, &reason));
  return p.used ? p.host : "";
}

static void reads_the_environment(void** state) {
  s3l_proxy_t p;
  const char *name, *reason;
  clear();
  assert_string_equal(chosen(true, "s3.example.com"), "");
  setenv("HTTPS_PROXY", "http://upper:1", 1);
  assert_string_equal(chosen(true, "s3.example.com"), "upper");
  assert_string_equal(chosen(false, "s3.example.com"), "");
  setenv("https_proxy", "lower:1", 1);
  assert_string_equal(chosen(true, "s3.example.com"), "lower");
  setenv("https_proxy", "", 1); /* empty is unset */
  assert_string_equal(chosen(true, "s3.example.com"), "upper");
  setenv("HTTP_PROXY", "http://cgi:1", 1);
  assert_string_equal(chosen(false, "s3.example.com"), "");
  setenv("http_proxy", "http://plain:1", 1);
  assert_string_equal(chosen(false, "s3.example.com"), "plain");
  setenv("NO_PROXY", "s3.example.com", 1);
  assert_string_equal(chosen(true, "s3.example.com"), "");
  setenv("no_proxy", "other.example.com", 1);
  assert_string_equal(chosen(true, "s3.example.com"), "upper");
  assert_string_equal(chosen(true, "localhost"), "");
  assert_string_equal(chosen(true, "127.0.0.2"), "");
  assert_string_equal(chosen(true, "::1"), "");
  setenv("HTTPS_PROXY", "https://user:secret@proxy:1", 1);
  assert_false(by_environment(true, "s3.example.com", &p, &name, &reason));
  assert_string_equal(name, "HTTPS_PROXY");
  assert_null(strstr(reason, "secret"));
  clear();
}

/* An option is for all origins, and a copy outlives what it was made of. */
static void takes_an_option_first(void** state) {
  char text[] = "http://own:3128";
  s3l_proxy_rules_t rules, copy;
  s3l_proxy_t p;
  const char *name, *reason;
  clear();
  setenv("https_proxy", "http://other:1", 1);
  setenv("no_proxy", "*", 1);
  rules = s3l_proxy_rules(text);
  assert_int_equal(s3l_proxy_rules_copy(&rules, &copy), 0);
  memset(text, 'x', sizeof(text) - 1);
  assert_true(s3l_proxy_choose(&copy, true, S3L_SPAN("localhost"), 443, &p, &name, &reason));
  assert_string_equal(p.host, "own");
  assert_true(s3l_proxy_choose(&copy, false, S3L_SPAN("s3.test"), 80, &p, &name, &reason));
  assert_string_equal(p.host, "own");
  s3l_proxy_rules_free(&copy);
  rules = s3l_proxy_rules("");
  unsetenv("no_proxy");
  assert_true(s3l_proxy_choose(&rules, true, S3L_SPAN("s3.test"), 443, &p, &name, &reason));
  assert_false(p.used);
  rules = s3l_proxy_rules("socks5://x");
  assert_false(s3l_proxy_choose(&rules, true, S3L_SPAN("s3.test"), 443, &p, &name, &reason));
  assert_string_equal(name, "proxy");
  clear();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_proxies),          cmocka_unit_test(refuses_what_is_no_proxy),
      cmocka_unit_test(knows_what_goes_direct), cmocka_unit_test(reads_the_environment),
      cmocka_unit_test(takes_an_option_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
