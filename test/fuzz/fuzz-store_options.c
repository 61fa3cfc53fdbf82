/* Options of the S3 store and what the environment adds to them.
 *
 * Input: a digit each for the addressing and for the options that are set by numbers, then a line
 * each: endpoint, bucket, region, access key, secret, token, CA file, AWS_ENDPOINT_URL, AWS_REGION,
 * AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, two headers, kind of encryption, KMS
 * key, bucket owner, AWS_USE_DUALSTACK_ENDPOINT, the proxy, and a region that a reply names, or a
 * host with one. A line "-" stands for: not set. */
#include "credentials/credentials.h"
#include "fuzz.h"
#include "store/s3/options.h"
#include "wire/aws_host.h"

enum { LINES = 20, FROM_ENV = 7, HEADERS = 12, WAY = 17 };

static const char* const env_names[HEADERS - FROM_ENV] = {
    "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN"};

static void set_environment(char* const* lines) {
  static const char* const others[] = {"AWS_ENDPOINT_URL_S3",
                                       "AWS_DEFAULT_REGION",
                                       "AWS_SECURITY_TOKEN",
                                       "AWS_CA_BUNDLE",
                                       "AWS_PROFILE",
                                       "AWS_DEFAULT_PROFILE",
                                       "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
                                       "https_proxy",
                                       "HTTPS_PROXY",
                                       "http_proxy",
                                       "AWS_USE_DUALSTACK_ENDPOINT"};
  for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
    FUZZ_CHECK(unsetenv(others[i]) == 0);
  FUZZ_CHECK(setenv("AWS_CONFIG_FILE", "/dev/null", 1) == 0); /* the machine's own say nothing */
  FUZZ_CHECK(setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null", 1) == 0);
  if (lines[WAY] != NULL)
    FUZZ_CHECK(setenv("AWS_USE_DUALSTACK_ENDPOINT", lines[WAY], 1) == 0);
  for (int i = FROM_ENV; i < HEADERS; i++) {
    const char* name = env_names[i - FROM_ENV];
    if (lines[i] == NULL)
      FUZZ_CHECK(unsetenv(name) == 0);
    else
      FUZZ_CHECK(setenv(name, lines[i], 1) == 0);
  }
}

/* Nothing in it can end the line, nor take the place of what s3lect sends itself. */
static void check_header(const s3l_sigv4_pair_t* h) {
  FUZZ_CHECK(h->name.n > 0 && h->name.n <= 64 && h->value.n > 0 && h->value.n <= 3072);
  for (size_t i = 0; i < h->name.n; i++)
    FUZZ_CHECK(h->name.p[i] > ' ' && h->name.p[i] < 0x7f && h->name.p[i] != ':');
  for (size_t i = 0; i < h->value.n; i++)
    FUZZ_CHECK((h->value.p[i] >= ' ' && h->value.p[i] < 0x7f) || h->value.p[i] == '\t');
  FUZZ_CHECK(!s3l_span_ieq(h->name, S3L_SPAN("host")));
  FUZZ_CHECK(!s3l_span_ieq(h->name, S3L_SPAN("if-match")));
  FUZZ_CHECK(!s3l_span_ieq(h->name, S3L_SPAN("content-length")));
}

/* A reply may name what it likes: AWS's host stays one of its own partition, any other where it is.
 */
static void check_move(s3l_s3_endpoint_t* e, s3l_span_t named) {
  s3l_s3_endpoint_t before = *e;
  s3l_span_t suffix = s3l_aws_suffix(s3l_span_cstr(e->region));
  s3l_span_t found = s3l_aws_region_of_host(named);
  FUZZ_CHECK(found.p == NULL || s3l_aws_is_region(found));
  if (!s3l_s3_endpoint_move(e, named)) {
    FUZZ_CHECK(memcmp(e, &before, sizeof(before)) == 0);
    return;
  }
  FUZZ_CHECK(s3l_span_eq(s3l_span_cstr(e->region), named));
  if (!e->aws) {
    FUZZ_CHECK(strcmp(e->host_header, before.host_header) == 0);
    return;
  }
  s3l_span_t host = s3l_span_cstr(e->host);
  FUZZ_CHECK(host.n > suffix.n && e->tls && strcmp(e->host, e->host_header) == 0);
  FUZZ_CHECK(s3l_span_eq((s3l_span_t){host.p + host.n - suffix.n, suffix.n}, suffix));
  FUZZ_CHECK(s3l_span_eq(s3l_aws_region_of_host(host), named));
}

static void check_config(const s3l_s3_config_t* c) {
  FUZZ_CHECK(c->endpoint.host[0] != '\0' && c->endpoint.host_header[0] != '\0' &&
             c->endpoint.bucket[0] != '\0');
  FUZZ_CHECK(fuzz_is_line(c->endpoint.host_header) && strchr(c->endpoint.host_header, ' ') == NULL);
  FUZZ_CHECK(strstr(c->endpoint.host_header, c->endpoint.host) != NULL &&
             strlen(c->endpoint.host) <= 253);
  FUZZ_CHECK(c->endpoint.path_style ||
             strncmp(c->endpoint.host, c->endpoint.bucket, strlen(c->endpoint.bucket)) == 0);
  FUZZ_CHECK(c->endpoint.region[0] != '\0' &&
             strcspn(c->endpoint.region, "/\r\n ") == strlen(c->endpoint.region));
  FUZZ_CHECK(strcmp(c->remote.http.host, c->endpoint.host) == 0 &&
             strcmp(c->remote.host_header, c->endpoint.host_header) == 0 &&
             c->remote.http.port > 0 && c->remote.http.max_connections > 0);
  FUZZ_CHECK(c->remote.http.max_connections <= 1024);
  for (size_t i = 0; i < c->headers.len; i++)
    check_header(&c->headers.pairs[i]);
  FUZZ_CHECK((c->remote.access_key == NULL) == (c->remote.secret == NULL));
  if (c->remote.access_key == NULL)
    return; /* then they are looked for when they are needed */
  FUZZ_CHECK(fuzz_is_line(c->remote.access_key) && fuzz_is_line(c->remote.secret));
  FUZZ_CHECK(c->remote.token == NULL ||
             (fuzz_is_line(c->remote.token) && strlen(c->remote.token) <= S3L_CREDS_TOKEN_MAX));
}

/* A secret must not be shown, where it is long enough not to be part of anything else. */
static void check_message(const char* message, char* const* lines) {
  static const int secrets[] = {4, 5, 10, 11};
  FUZZ_CHECK(message != NULL && message[0] != '\0' && fuzz_is_line(message));
  for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
    const char* secret = lines[secrets[i]];
    bool repeated = false;
    for (int k = 0; secret != NULL && k < LINES; k++)
      repeated |= k != secrets[i] && lines[k] != NULL && strstr(lines[k], secret) != NULL;
    if (secret != NULL && strncmp(secret, "secret:", 7) == 0 && strlen(secret) > 8 && !repeated)
      FUZZ_CHECK(strstr(message, secret) == NULL);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz_input_t in = {data, size};
  s3lect_store_s3_options_t o;
  s3l_s3_config_t config;
  s3lect_error_t error;
  char* lines[LINES];
  s3lect_store_s3_options_init(&o, sizeof(o));
  o.addressing = (int32_t)fuzz_choice(&in, 4);
  o.max_connections = fuzz_choice(&in, 10) * 200;
  (void)fuzz_line(&in);
  for (int i = 0; i < LINES; i++) {
    s3l_span_t line = fuzz_line(&in);
    lines[i] = s3l_span_eq(line, S3L_SPAN("-")) ? NULL : fuzz_string(line);
  }
  set_environment(lines);
  o.endpoint = lines[0];
  o.bucket = lines[1];
  o.region = lines[2];
  o.access_key_id = lines[3];
  o.secret_access_key = lines[4];
  o.session_token = lines[5];
  o.ca_file = lines[6];
  const char* headers[2];
  o.headers = headers;
  for (int i = HEADERS; i < HEADERS + 2; i++) {
    if (lines[i] != NULL && lines[i][0] != '\0') /* inputs may end before it */
      headers[o.headers_len++] = lines[i];
  }
  o.server_side_encryption = lines[HEADERS + 2];
  o.sse_kms_key_id = lines[HEADERS + 3];
  o.expected_bucket_owner = lines[HEADERS + 4];
  o.proxy = lines[WAY + 1];
  int err = s3l_s3_configure(&o, &config, &error);
  FUZZ_CHECK(err <= 0);
  if (err == 0) {
    check_config(&config);
    check_move(&config.endpoint, s3l_span_cstr(lines[WAY + 2]));
  } else {
    check_message(error.text, lines);
  }
  for (int i = 0; i < LINES; i++)
    free(lines[i]);
  return 0;
}
