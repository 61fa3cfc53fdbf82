/* Where a 307 may send a request. Input: a digit for the endpoint, a line with the key, then the
 * Location. Whatever it says, the request stays with the endpoint's own hosts. */
#include <stdio.h>

#include "fuzz.h"
#include "store/s3/endpoint.h"
#include "util/url.h"

#define BUCKET "my-bucket"
#define REGION "eu-west-1"

static const struct {
  const char* host;
  const char* base; /* what the host must end with */
  bool tls, path_style, aws;
} endpoints[] = {
    {"store.example", "store.example", true, true, false},
    {BUCKET ".store.example", "store.example", false, false, false},
    {"10.0.0.1", "10.0.0.1", false, true, false},
    {"::1", "::1", false, true, false},
    {BUCKET ".s3." REGION ".amazonaws.com", ".amazonaws.com", true, false, true},
};

static bool ends_with(s3l_span_t s, s3l_span_t end) {
  return s.n >= end.n && s3l_span_ieq((s3l_span_t){s.p + s.n - end.n, end.n}, end);
}

static void check(const s3l_s3_endpoint_t* from, const char* base, const s3l_s3_endpoint_t* to) {
  s3l_span_t host = s3l_span_cstr(to->host), end = s3l_span_cstr(base);
  FUZZ_CHECK(ends_with(host, end) && fuzz_is_line(to->host) && fuzz_is_line(to->host_header));
  FUZZ_CHECK(host.n == end.n || base[0] == '.' || host.p[host.n - end.n - 1] == '.');
  FUZZ_CHECK(host.n == end.n || !s3l_url_host_is_ip(end));
  FUZZ_CHECK(to->tls == from->tls && to->aws == from->aws && to->port > 0);
  FUZZ_CHECK(strcmp(to->bucket, from->bucket) == 0 && strcmp(to->region, from->region) == 0);
  FUZZ_CHECK(strstr(to->host_header, to->host) != NULL);
  FUZZ_CHECK(to->path_style ||
             s3l_span_ieq((s3l_span_t){host.p, sizeof(BUCKET)}, S3L_SPAN(BUCKET ".")));
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz_input_t in = {data, size};
  s3l_s3_endpoint_t from, to;
  unsigned which = fuzz_choice(&in, sizeof(endpoints) / sizeof(endpoints[0]));
  (void)fuzz_line(&in);
  s3l_span_t key = fuzz_line(&in);
  memset(&from, 0, sizeof(from));
  from.tls = endpoints[which].tls;
  from.aws = endpoints[which].aws;
  from.path_style = endpoints[which].path_style;
  from.port = from.tls ? 443 : 80;
  snprintf(from.host, sizeof(from.host), "%s", endpoints[which].host);
  snprintf(from.host_header, sizeof(from.host_header), "%s", endpoints[which].host);
  snprintf(from.bucket, sizeof(from.bucket), "%s", BUCKET);
  snprintf(from.region, sizeof(from.region), "%s", REGION);
  if (s3l_s3_redirect(&from, fuzz_rest(&in), key, &to))
    check(&from, endpoints[which].base, &to);
  return 0;
}
