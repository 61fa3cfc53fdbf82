/* store/s3/endpoint, s3_profile: where the options, the environment and the shared files lead to:
 * AWS's hosts in all partitions, other regions, profiles, proxies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/heap.h"
#include "lib/s3_config.h"
#include "lib/test.h"

/* ---- Dual stack, partitions ---- */

static void names_hosts_of_all_kinds(void** state) {
  static const char* const cases[][2] = {
      {"us-east-1", "my-bucket.s3.us-east-1.amazonaws.com"},
      {"us-gov-west-1", "my-bucket.s3.us-gov-west-1.amazonaws.com"},
      {"cn-northwest-1", "my-bucket.s3.cn-northwest-1.amazonaws.com.cn"},
      {"eusc-de-east-1", "my-bucket.s3.eusc-de-east-1.amazonaws.eu"},
  };
  s3lect_store_s3_options_t o = s3l_config_good();
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    o.region = cases[i][0];
    s3l_config_assert_host(&o, cases[i][1], cases[i][1], 443, true, false);
  }
  o.region = "eu-central-1";
  o.use_dualstack = 1;
  s3l_config_assert_host(&o, "my-bucket.s3.dualstack.eu-central-1.amazonaws.com",
                         "my-bucket.s3.dualstack.eu-central-1.amazonaws.com", 443, true, false);
  o.bucket = "my.bucket";
  s3l_config_assert_host(&o, "s3.dualstack.eu-central-1.amazonaws.com",
                         "s3.dualstack.eu-central-1.amazonaws.com", 443, true, true);
  o.use_dualstack = 0;
  setenv("AWS_USE_DUALSTACK_ENDPOINT", "TRUE", 1);
  o.region = "cn-north-1";
  s3l_config_assert_host(&o, "s3.dualstack.cn-north-1.amazonaws.com.cn",
                         "s3.dualstack.cn-north-1.amazonaws.com.cn", 443, true, true);
  o.use_dualstack = -1;
  s3l_config_assert_host(&o, "s3.cn-north-1.amazonaws.com.cn", "s3.cn-north-1.amazonaws.com.cn",
                         443, true, true);
  o.use_dualstack = 0;
  o.endpoint = "http://own:1"; /* which has no other name */
  s3l_config_assert_host(&o, "own:1", "own", 1, false, true);
}

static void moves_to_other_regions(void** state) {
  s3lect_store_s3_options_t o = s3l_config_good();
  s3l_s3_endpoint_t* e = &s3l_config.endpoint;
  static const char* const bad[] = {"", "auto", "cn-north-1", "x.evil-1", "eu/west-1", "eusc-de-1"};
  o.use_dualstack = 1;
  assert_int_equal(s3l_config_make(&o), 0);
  assert_true(s3l_s3_endpoint_move(e, S3L_SPAN("eu-south-2")));
  assert_string_equal(e->host, "my-bucket.s3.dualstack.eu-south-2.amazonaws.com");
  assert_string_equal(e->host_header, e->host);
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    if (s3l_s3_endpoint_move(e, s3l_span_cstr(bad[i])))
      fail_msg("moved to \"%s\"", bad[i]);
  }
  assert_string_equal(e->region, "eu-south-2");
  o.endpoint = "http://own:1"; /* stays where it is, and may call its regions what it likes */
  o.use_dualstack = 0;
  assert_int_equal(s3l_config_make(&o), 0);
  assert_true(s3l_s3_endpoint_move(e, S3L_SPAN("cn-north-1")));
  assert_true(s3l_s3_endpoint_move(e, S3L_SPAN("Home_1")));
  assert_string_equal(e->region, "Home_1");
  assert_string_equal(e->host_header, "own:1");
  assert_false(s3l_s3_endpoint_move(e, S3L_SPAN("a b")));
}

/* ---- Profiles ---- */

static char dir[64];

static const char* file(const char* name, const char* text) {
  static char path[96];
  snprintf(path, sizeof(path), "%s/%s", dir, name);
  FILE* f = fopen(path, "w");
  assert_non_null(f);
  assert_true(fputs(text, f) >= 0);
  assert_int_equal(fclose(f), 0);
  return path;
}

static int make_dir(void** state) {
  snprintf(dir, sizeof(dir), "/tmp/s3lect-s3-options-XXXXXX");
  return mkdtemp(dir) != NULL ? 0 : -1;
}

static int remove_dir(void** state) {
  static const char* const names[] = {"config", "credentials", "pipe"};
  char path[96];
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
    (void)unlink(path);
  }
  return rmdir(dir);
}

#define CONFIG                                                                                     \
  "[default]\nregion = eu-west-3\n"                                                                \
  "[profile dev]\nregion = ap-south-1\nendpoint_url = http://profile:1\nservices = local\n"        \
  "use_dualstack_endpoint = true\n"                                                                \
  "[profile all]\nendpoint_url = http://all:2\n"                                                   \
  "[profile none]\nendpoint_url = http://all:2\nignore_configured_endpoint_urls = true\n"          \
  "use_dualstack_endpoint = true\n"                                                                \
  "[profile bad]\nregion = eu west\nendpoint_url = ftp://x\nuse_dualstack_endpoint = maybe\n"      \
  "[services local]\nsts =\n  endpoint_url = http://sts:3\ns3 =\n  endpoint_url = http://s3:4\n"

static s3lect_store_s3_options_t with_profiles(const char* profile) {
  s3lect_store_s3_options_t o = s3l_config_good();
  setenv("AWS_CONFIG_FILE", file("config", CONFIG), 1);
  if (profile != NULL)
    setenv("AWS_PROFILE", profile, 1);
  return o;
}

static void reads_profiles(void** state) {
  s3lect_store_s3_options_t o = with_profiles(NULL);
  s3l_config_assert_host(&o, "my-bucket.s3.eu-west-3.amazonaws.com",
                         "my-bucket.s3.eu-west-3.amazonaws.com", 443, true, false);
  o = with_profiles("dev"); /* its services come before its own endpoint */
  s3l_config_assert_host(&o, "s3:4", "s3", 4, false, true);
  assert_string_equal(s3l_config.endpoint.region, "ap-south-1");
  o = with_profiles("all");
  s3l_config_assert_host(&o, "all:2", "all", 2, false, true);
  assert_string_equal(s3l_config.endpoint.region, "us-east-1"); /* nothing of [default] */
  setenv("AWS_ENDPOINT_URL", "http://env:5", 1);
  s3l_config_assert_host(&o, "env:5", "env", 5, false, true);
  setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true", 1);
  s3l_config_assert_host(&o, "my-bucket.s3.us-east-1.amazonaws.com",
                         "my-bucket.s3.us-east-1.amazonaws.com", 443, true, false);
  o.endpoint = "http://own:6"; /* what is configured is ignored, what code says is not */
  s3l_config_assert_host(&o, "own:6", "own", 6, false, true);
  o = with_profiles("none");
  s3l_config_assert_host(&o, "my-bucket.s3.dualstack.us-east-1.amazonaws.com",
                         "my-bucket.s3.dualstack.us-east-1.amazonaws.com", 443, true, false);
  o.use_dualstack = -1;
  setenv("AWS_REGION", "eu-west-1", 1);
  s3l_config_assert_host(&o, "my-bucket.s3.eu-west-1.amazonaws.com",
                         "my-bucket.s3.eu-west-1.amazonaws.com", 443, true, false);
  /* The option names another one; the file of keys has the last word. */
  o = with_profiles("all");
  o.access_key_id = o.secret_access_key = NULL;
  o.profile = "dev";
  setenv("AWS_SHARED_CREDENTIALS_FILE", file("credentials", "[dev]\nregion = sa-east-1\n"), 1);
  s3l_config_assert_host(&o, "s3:4", "s3", 4, false, true);
  assert_string_equal(s3l_config.endpoint.region, "sa-east-1");
}

static void names_mistakes_in_profiles(void** state) {
  s3lect_store_s3_options_t o = with_profiles("bad");
  s3l_config_assert_refused(
      &o, S3LECT_EOPTION,
      "region of profile bad \"eu west\": not a region; give one like eu-central-1");
  o.region = "eu-west-1";
  s3l_config_assert_refused(
      &o, S3LECT_EOPTION, "use_dualstack_endpoint of profile bad \"maybe\": must be true or false");
  setenv("AWS_USE_DUALSTACK_ENDPOINT", "false", 1);
  s3l_config_assert_refused(
      &o, S3LECT_EOPTION,
      "endpoint_url of profile bad \"ftp://x\": must begin with http:// or https://");
  o = with_profiles("typo\n");
  char says[300];
  snprintf(says, sizeof(says),
           "profile \"typo?\": not in %s/config or /nonexistent/credentials (no such file or "
           "directory)",
           dir);
  s3l_config_assert_refused(&o, S3LECT_EOPTION, says);
  o.region = "eu-west-1"; /* nothing of it is needed: then it is not looked for */
  o.endpoint = "http://h";
  assert_int_equal(s3l_config_make(&o), 0);
  o = s3l_config_good();
  setenv("AWS_CONFIG_FILE", file("config", "[default]\nregion\n"), 1);
  s3lect_error_t error;
  char begin[160];
  assert_int_equal(s3lect_store_s3_options_check(&o, &error), S3LECT_EOPTION);
  snprintf(begin, sizeof(begin), "profile: %s/config, line 2: ", dir);
  assert_memory_equal(error.text, begin, strlen(begin));
}

/* A pipe that nobody writes to would hold up the caller for ever; nor is a file without end read.
 */
static void reads_ordinary_files_only(void** state) {
  char path[96];
  s3lect_store_s3_options_t o = s3l_config_good();
  snprintf(path, sizeof(path), "%s/pipe", dir);
  assert_int_equal(mkfifo(path, 0600), 0);
  setenv("AWS_CONFIG_FILE", path, 1);
  setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/zero", 1);
  assert_int_equal(s3l_config_make(&o), 0);
  assert_string_equal(s3l_config.endpoint.region, "us-east-1");
  setenv("AWS_CONFIG_FILE", dir, 1);
  assert_int_equal(s3l_config_make(&o), 0);
  static char large[(1 << 20) + 2];
  memset(large, '\n', sizeof(large) - 1);
  snprintf(path, sizeof(path), "%s", file("config", large));
  setenv("AWS_CONFIG_FILE", path, 1);
  char line[200];
  snprintf(line, sizeof(line), "profile: the shared file %s is too large to be one", path);
  s3l_config_assert_refused(&o, S3LECT_EOPTION, line);
}

/* ---- Lack of memory ---- */

/* Each allocation of opening a store by a profile fails in turn. */
static void bears_lack_of_memory(void** state) {
  s3lect_store_s3_options_t o = with_profiles("dev");
  s3lect_store_t store;
  uv_loop_t loop;
  int err = UV_ENOMEM;
  setenv("AWS_SHARED_CREDENTIALS_FILE", file("credentials", "[dev]\nregion = eu-west-1\n"), 1);
  setenv("http_proxy", "http://u:p@proxy:1", 1);
  setenv("no_proxy", "x", 1);
  assert_int_equal(uv_loop_init(&loop), 0);
  s3l_heap_install();
  size_t n = 0;
  for (; err != 0; n++) {
    s3l_heap_fail_at(n, false);
    err = s3lect_store_s3_init(&loop, &store, &o, NULL);
    assert_int_equal(s3l_heap_fail_end(), err != 0);
    assert_true(err == 0 || err == UV_ENOMEM);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  }
  assert_true(n > 10);
  s3lect_store_close(&store, NULL);
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&loop), 0);
  s3l_heap_remove();
}

/* ---- Proxies ---- */

static void finds_proxies(void** state) {
  s3lect_store_s3_options_t o = s3l_config_good();
  setenv("HTTPS_PROXY", "http://user:pass@proxy:3128", 1);
  setenv("http_proxy", "http://plain:1", 1);
  assert_int_equal(s3l_config_make(&o), 0);
  assert_string_equal(s3l_config.remote.proxy.host, "proxy");
  assert_int_equal(s3l_config.remote.proxy.port, 3128);
  assert_ptr_equal(s3l_config.remote.http.proxy, &s3l_config.remote.proxy);
  setenv("NO_PROXY", ".us-east-1.amazonaws.com", 1);
  assert_int_equal(s3l_config_make(&o), 0);
  assert_false(s3l_config.remote.proxy.used);
  o.region = "eu-west-1";
  assert_int_equal(s3l_config_make(&o), 0);
  assert_true(s3l_config.remote.proxy.used);
  o.endpoint = "http://store.example:9000";
  assert_int_equal(s3l_config_make(&o), 0);
  assert_string_equal(s3l_config.remote.proxy.host, "plain");
  o.proxy = "own:2";
  assert_int_equal(s3l_config_make(&o), 0);
  assert_string_equal(s3l_config.remote.proxy.host, "own");
  o.proxy = "";
  assert_int_equal(s3l_config_make(&o), 0);
  assert_false(s3l_config.remote.proxy.used);
  /* What is wrong is named without being shown: it may hold a password. */
  o.proxy = "socks5://u:secret@x";
  s3l_config_assert_refused(&o, S3LECT_EOPTION,
                            "proxy: must begin with http://: no other kind of proxy is "
                            "supported");
  o = s3l_config_good();
  setenv("https_proxy", "https://u:secret@x", 1);
  s3l_config_assert_refused(
      &o, S3LECT_EOPTION,
      "https_proxy: must begin with http://: TLS to the proxy itself is not supported");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_hosts_of_all_kinds),
      cmocka_unit_test(moves_to_other_regions),
      cmocka_unit_test(reads_profiles),
      cmocka_unit_test(names_mistakes_in_profiles),
      cmocka_unit_test(reads_ordinary_files_only),
      cmocka_unit_test(bears_lack_of_memory),
      cmocka_unit_test(finds_proxies),
  };
  return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
