/* util/url: endpoints, and percent-encoding. */
#include "lib/test.h"
#include "util/url.h"

static void reads_urls(void** state) {
  static const struct {
    const char* text;
    bool tls, ip6;
    const char* host;
    uint16_t port;
    const char* path;
    const char* query;
  } good[] = {
      {"http://localhost", false, false, "localhost", 80, "", NULL},
      {"https://s3.eu-west-1.amazonaws.com", true, false, "s3.eu-west-1.amazonaws.com", 443, "",
       NULL},
      {"HTTPS://Host_1:65535/a/b?c=d?e", true, false, "Host_1", 65535, "/a/b", "c=d?e"},
      {"http://[::1]:9000/", false, true, "::1", 9000, "/", NULL},
      {"http://[fd00:ec2::254]", false, true, "fd00:ec2::254", 80, "", NULL},
      {"http://10.0.0.1:1?x", false, false, "10.0.0.1", 1, "", "x"},
      {"http://h?", false, false, "h", 80, "", ""},
  };
  for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
    s3l_url_t u;
    const char* reason = "";
    if (!s3l_url_parse(s3l_span_cstr(good[i].text), &u, &reason))
      fail_msg("%s: %s", good[i].text, reason);
    assert_int_equal(u.tls, good[i].tls);
    assert_int_equal(u.ip6, good[i].ip6);
    assert_true(s3l_span_eq(u.host, s3l_span_cstr(good[i].host)));
    assert_int_equal(u.port, good[i].port);
    assert_true(s3l_span_eq(u.path, s3l_span_cstr(good[i].path)));
    assert_int_equal(u.query.p == NULL, good[i].query == NULL);
    assert_true(s3l_span_eq(u.query, s3l_span_cstr(good[i].query)));
  }
}

static void refuses_other_urls(void** state) {
  static const char* const bad[] = {"",
                                    "localhost",
                                    "localhost:9000",
                                    "ftp://x",
                                    "http:",
                                    "http:/x",
                                    "http://",
                                    "http:///x",
                                    "http://:80",
                                    "http://h:",
                                    "http://h:0",
                                    "http://h:65536",
                                    "http://h:99999999999",
                                    "http://h:8a",
                                    "http://h:+1",
                                    "http://u@h",
                                    "http://u:p@h/",
                                    "http://h h",
                                    "http://h\r\nX: y",
                                    "http://h\x7f",
                                    "http://h#f",
                                    "http://h/#f",
                                    "http://[::1",
                                    "http://[::1]x",
                                    "http://[]",
                                    "http://[fe80::1%25eth0]",
                                    "http://[1]",
                                    "http://a%20b",
                                    "http://-h",
                                    "http://.h",
                                    "http://h\xC3\xA9",
                                    "http://a,b",
                                    "//h"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    s3l_url_t u;
    const char* reason = NULL;
    if (s3l_url_parse(s3l_span_cstr(bad[i]), &u, &reason))
      fail_msg("accepted %s", bad[i]);
    assert_non_null(reason);
    assert_false(s3l_url_parse(s3l_span_cstr(bad[i]), &u, NULL));
  }
  s3l_url_t u;
  assert_false(s3l_url_parse(S3L_SPAN("http://h\0"), &u, NULL));
  char host[300] = "http://";
  for (size_t i = 7; i < sizeof(host); i++)
    host[i] = 'a';
  assert_true(s3l_url_parse((s3l_span_t){host, 7 + 253}, &u, NULL));
  assert_false(s3l_url_parse((s3l_span_t){host, 7 + 254}, &u, NULL));
}

static void tells_addresses_from_names(void** state) {
  assert_true(s3l_url_host_is_ip(S3L_SPAN("127.0.0.1")));
  assert_true(s3l_url_host_is_ip(S3L_SPAN("::1")));
  assert_false(s3l_url_host_is_ip(S3L_SPAN("localhost")));
  assert_false(s3l_url_host_is_ip(S3L_SPAN("1.2.3.example")));
  assert_false(s3l_url_host_is_ip(S3L_SPAN("1.2.3")));
}

static void writes_hosts(void** state) {
  static const struct {
    const char* url;
    const char* host;
  } cases[] = {{"https://a.example:443/x", "a.example"}, {"https://a.example:80", "a.example:80"},
               {"http://a.example", "a.example"},        {"http://a.example:443", "a.example:443"},
               {"http://[::1]:9000", "[::1]:9000"},      {"https://[fd00::1]", "[fd00::1]"}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    char out[32];
    s3l_buf_t b;
    s3l_url_t url;
    assert_true(s3l_url_parse(s3l_span_cstr(cases[i].url), &url, NULL));
    s3l_buf_init(&b, out, sizeof(out));
    s3l_url_put_host(&b, url.host, url.ip6, url.port, url.tls);
    assert_string_equal(s3l_buf_cstr(&b), cases[i].host);
  }
}

static void encodes(void** state) {
  char out[200];
  s3l_buf_t b;
  s3l_buf_init(&b, out, sizeof(out));
  s3l_url_encode(&b, S3L_SPAN("leases/a b+c~d=1/\xC3\xA9"), true);
  assert_string_equal(s3l_buf_cstr(&b), "leases/a%20b%2Bc~d%3D1/%C3%A9");
  s3l_buf_init(&b, out, sizeof(out));
  s3l_url_encode(&b, S3L_SPAN("/%AZaz09-._~\x01\xff"), false);
  assert_string_equal(s3l_buf_cstr(&b), "%2F%25AZaz09-._~%01%FF");
  s3l_buf_init(&b, out, 5);
  s3l_url_encode(&b, S3L_SPAN("a//"), false);
  assert_true(b.overflow);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_urls),
      cmocka_unit_test(refuses_other_urls),
      cmocka_unit_test(tells_addresses_from_names),
      cmocka_unit_test(writes_hosts),
      cmocka_unit_test(encodes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
