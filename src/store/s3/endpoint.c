#include "store/s3/endpoint.h"

#include <stdlib.h>
#include <string.h>

#include "credentials/settings.h"
#include "store/remote_options.h"
#include "store/s3/profile.h"
#include "store/store.h"
#include "util/buf.h"
#include "util/mutant.h"
#include "util/url.h"
#include "wire/aws_host.h"

#define PATH_MAX_BYTES   (3 * (S3L_STORE_KEY_MAX + S3L_S3_BUCKET_MAX) + 2)
#define DEFAULT_REGION   "us-east-1"
#define DIRECTORY_BUCKET "--x-s3"

typedef struct build_s {
  const s3lect_store_s3_options_t* o;
  s3l_s3_endpoint_t* e;
  s3lect_error_t* error;
  s3l_s3_profile_t profile; /* zero where it was not needed */
} build_t;

static int refuse(const build_t* b, const char* name, const char* value, const char* reason) {
  return s3l_error_say(b->error, S3LECT_EOPTION, name, value, "%s", reason);
}

/* ---- Bucket ---- */

static bool is_lower_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

static bool bucket_is_valid(const char* s, bool aws) {
  size_t n = strlen(s);
  if (n < 3 || n > (aws ? 63 : S3L_S3_BUCKET_MAX - 1))
    return false;
  for (size_t i = 0; i < n; i++) {
    bool inner = i > 0 && i + 1 < n;
    if (is_lower_alnum(s[i]) || (inner && (s[i] == '-' || s[i] == '.')))
      continue;
    if (aws || !(is_upper(s[i]) || s[i] == '_'))
      return false;
  }
  return strstr(s, "..") == NULL;
}

/* The zone in the name of a directory bucket, BASE--ZONE--x-s3; n == 0 if there is none. */
static s3l_span_t zone_of(const char* bucket) {
  s3l_span_t none = {NULL, 0};
  size_t end = strlen(bucket) - strlen(DIRECTORY_BUCKET), start = end;
  while (start >= 2 && strncmp(bucket + start - 2, "--", 2) != 0)
    start--;
  for (size_t i = 0; i < end; i++) {
    if (!is_lower_alnum(bucket[i]) && bucket[i] != '-')
      return none;
  }
  return start > 2 ? (s3l_span_t){bucket + start, end - start} : none;
}

static int build_bucket(build_t* b) {
  s3l_s3_endpoint_t* e = b->e;
  const char* s = s3l_set_or_null(b->o->bucket);
  if (s == NULL)
    return refuse(b, "bucket", NULL, "not set; name the bucket that holds the lockfile");
  if (!bucket_is_valid(s, e->aws))
    return refuse(b, "bucket", s,
                  e->aws ? "not a bucket name; use 3 to 63 lower-case letters, digits, '-' and '.'"
                         : "not a bucket name; use 3 to 255 letters, digits, '-', '.' and '_'");
  e->express = s3l_span_ends_with(s3l_span_cstr(s), S3L_SPAN(DIRECTORY_BUCKET));
  if (e->express && zone_of(s).n == 0)
    return refuse(b, "bucket", s,
                  "not the name of a directory bucket, which is BASE--ZONE--x-s3, as in "
                  "locks--usw2-az1--x-s3");
  (void)s3l_span_copy(s3l_span_cstr(s), e->bucket, sizeof(e->bucket));
  return 0;
}

/* ---- Hosts ---- */

bool s3l_s3_is_region(s3l_span_t name) {
  for (size_t i = 0; i < name.n; i++) {
    char c = name.p[i];
    if (!is_lower_alnum(c) && !is_upper(c) && c != '-' && c != '_')
      return false;
  }
  return name.n > 0 && name.n < S3L_S3_REGION_MAX;
}

/* Sets the host to `base`, with the bucket in front of it in virtual-host style. False: too long.
 */
static bool put_host(s3l_s3_endpoint_t* e, s3l_span_t base, bool ip6) {
  s3l_buf_t host, header;
  s3l_buf_init(&host, e->host, sizeof(e->host));
  if (!e->path_style) {
    s3l_buf_puts(&host, e->bucket);
    s3l_buf_putc(&host, '.');
  }
  s3l_buf_put(&host, base);
  if (s3l_buf_cstr(&host) == NULL)
    return false;
  s3l_buf_init(&header, e->host_header, sizeof(e->host_header));
  s3l_url_put_host(&header, s3l_buf_span(&host), ip6, e->port, e->tls);
  return s3l_buf_cstr(&header) != NULL;
}

/* Sets AWS's host of the region. */
static bool put_aws_host(s3l_s3_endpoint_t* e) {
  char base[S3L_S3_REGION_MAX + S3L_S3_BUCKET_MAX + 48];
  s3l_buf_t b;
  e->tls = true;
  e->port = 443;
  s3l_buf_init(&b, base, sizeof(base));
  s3l_buf_puts(&b, e->express ? "s3express-" : "s3");
  if (e->express)
    s3l_buf_put(&b, zone_of(e->bucket));
  s3l_buf_puts(&b, e->dualstack ? ".dualstack." : ".");
  s3l_buf_puts(&b, e->region);
  s3l_buf_put(&b, s3l_aws_suffix(s3l_span_cstr(e->region)));
  return !b.overflow && put_host(e, s3l_buf_span(&b), false);
}

bool s3l_s3_endpoint_move(s3l_s3_endpoint_t* e, s3l_span_t region) {
  s3l_span_t suffix = s3l_aws_suffix(s3l_span_cstr(e->region));
  s3l_s3_endpoint_t moved = *e;
  if (e->express || !s3l_s3_is_region(region) ||
      !s3l_span_copy(region, moved.region, sizeof(moved.region)))
    return false;
  if (e->aws && (!s3l_aws_is_region(region) || !s3l_span_eq(s3l_aws_suffix(region), suffix) ||
                 !put_aws_host(&moved)))
    return false;
  *e = moved;
  return true;
}

/* ---- Addressing ---- */

/* Why the bucket cannot be part of the host's name, or NULL. (The "*" of a certificate stands for
 * one label, so that a bucket with dots does not match.) */
static const char* why_no_virtual_host(const build_t* b, const s3l_url_t* url) {
  if (s3l_url_host_is_ip(url->host))
    return "virtual-host style needs a host name in the endpoint, not an address; use path style";
  if (url->tls && strchr(b->e->bucket, '.') != NULL)
    return "virtual-host style over https cannot be used with a bucket name that has dots; use "
           "path "
           "style";
  for (const char* p = b->e->bucket; *p != '\0'; p++) {
    if (is_upper(*p) || *p == '_')
      return "virtual-host style cannot be used with this bucket name; use path style";
  }
  return NULL;
}

static int build_addressing(build_t* b, const s3l_url_t* url) {
  const char* why_not = why_no_virtual_host(b, url);
  switch (b->o->addressing) {
  case S3LECT_ADDRESSING_AUTO:
    b->e->path_style = (!b->e->aws && !b->e->express) || why_not != NULL;
    return 0;
  case S3LECT_ADDRESSING_PATH:
    if (b->e->aws && b->e->express)
      return refuse(
          b, "addressing", NULL,
          "AWS serves directory buckets (S3 Express One Zone) in virtual-host style only");
    b->e->path_style = true;
    return 0;
  case S3LECT_ADDRESSING_VIRTUAL_HOST:
    b->e->path_style = false;
    return why_not == NULL ? 0 : refuse(b, "addressing", NULL, why_not);
  default:
    return refuse(b, "addressing", NULL,
                  "not one of S3LECT_ADDRESSING_AUTO, _PATH and _VIRTUAL_HOST");
  }
}

/* ---- Region and endpoint ---- */

static int build_region(build_t* b, s3l_source_t s) {
  s3l_s3_endpoint_t* e = b->e;
  s3l_span_t region = s.value != NULL ? s3l_span_cstr(s.value) : S3L_SPAN(DEFAULT_REGION);
  if (region.n >= sizeof(e->region))
    return refuse(b, s.name, s.value, "not a region: too long");
  if (!s3l_s3_is_region(region))
    return refuse(b, s.name, s.value, "not a region; give one like eu-central-1");
  (void)s3l_span_copy(region, e->region, sizeof(e->region));
  return 0;
}

static int build_dualstack(build_t* b) {
  static const char variable[] = "AWS_USE_DUALSTACK_ENDPOINT";
  s3l_s3_endpoint_t* e = b->e;
  s3l_source_t s = s3l_source_choose(variable, NULL, variable, NULL);
  s = s3l_s3_or_property(s, &b->profile.dualstack);
  if (b->o->use_dualstack < -1 || b->o->use_dualstack > 1)
    return refuse(b, "use_dualstack", NULL, "not one of -1, 0 and 1");
  if (b->o->use_dualstack == 1 && !e->aws)
    return refuse(b, "use_dualstack", NULL,
                  "is for AWS's own endpoints, and another endpoint is set");
  if (s.value != NULL && !s3l_settings_is_true(s.value) &&
      !s3l_span_ieq(s3l_span_cstr(s.value), S3L_SPAN("false")))
    return refuse(b, s.name, s.value, "must be true or false");
  e->dualstack =
      b->o->use_dualstack != 0 ? b->o->use_dualstack == 1 : s3l_settings_is_true(s.value);
  return 0;
}

static int build_host(build_t* b, s3l_source_t s) {
  s3l_s3_endpoint_t* e = b->e;
  s3l_url_t url = {.tls = true, .host = S3L_SPAN("amazonaws.com")};
  int err = e->aws ? 0 : s3l_remote_parse_endpoint(s, &url, b->error);
  e->tls = url.tls;
  e->port = url.port;
  if (err == 0)
    err = build_addressing(b, &url);
  if (err != 0)
    return err;
  if (!(e->aws ? put_aws_host(e) : put_host(e, url.host, url.ip6)))
    return refuse(b, "endpoint", NULL,
                  "the host's name with the bucket in front of it is too long; use path style");
  return 0;
}

int s3l_s3_endpoint_build(const s3lect_store_s3_options_t* options, s3l_s3_endpoint_t* out,
                          s3lect_error_t* error) {
  build_t b = {.o = options, .e = out, .error = error};
  bool ignored = s3l_settings_is_true(getenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"));
  s3l_source_t endpoint =
      s3l_source_choose("endpoint", options->endpoint, ignored ? NULL : "AWS_ENDPOINT_URL_S3",
                        ignored ? NULL : "AWS_ENDPOINT_URL");
  s3l_source_t region =
      s3l_source_choose("region", options->region, "AWS_REGION", "AWS_DEFAULT_REGION");
  int err = 0;
  if (endpoint.value == NULL || region.value == NULL)
    err = s3l_s3_profile_read(options->profile, &b.profile, error);
  if (err != 0)
    return err;
  region = s3l_s3_or_property(region, &b.profile.region);
  if (!ignored)
    endpoint = s3l_s3_or_property(endpoint, &b.profile.endpoint);
  out->aws = endpoint.value == NULL;
  err = build_region(&b, region);
  if (err == 0)
    err = build_bucket(&b);
  if (err == 0)
    err = build_dualstack(&b);
  return err != 0 ? err : build_host(&b, endpoint);
}

/* ---- Redirects ---- */

/* The host without the bucket that virtual-host style puts in front. */
static s3l_span_t base_of(const s3l_s3_endpoint_t* e) {
  s3l_span_t host = s3l_span_cstr(e->host);
  size_t bucket = e->path_style ? 0 : strlen(e->bucket) + 1;
  return (s3l_span_t){host.p + bucket, host.n - bucket};
}

static bool is_at_or_below(s3l_span_t host, s3l_span_t base) {
  if (host.n <= base.n || s3l_url_host_is_ip(base))
    return s3l_span_ieq(host, base);
  s3l_span_t end = {host.p + host.n - base.n, base.n};
  return s3l_span_ieq(end, base) && end.p[-1] == '.';
}

static bool is_trusted(const s3l_s3_endpoint_t* from, const s3l_url_t* url) {
  if (url->tls != from->tls || (url->port != from->port && !S3L_MUTANT(PORT_BELIEVED)))
    return false;
  if (from->aws)
    return s3l_span_ieq(s3l_aws_region_of_host(url->host), s3l_span_cstr(from->region));
  return is_at_or_below(url->host, base_of(from));
}

/* Whether the path is the object's: in path style, or without the bucket if the host begins with
 * it. */
static bool find_style(const s3l_s3_endpoint_t* from, const s3l_url_t* url, s3l_span_t key,
                       bool* path_style) {
  char text[PATH_MAX_BYTES];
  s3l_span_t bucket = s3l_span_cstr(from->bucket);
  s3l_buf_t b;
  s3l_buf_init(&b, text, sizeof(text));
  s3l_buf_putc(&b, '/');
  s3l_url_encode(&b, bucket, false);
  size_t before_key = b.len;
  if (key.n > 0)
    s3l_buf_putc(&b, '/');
  s3l_url_encode(&b, key, true);
  s3l_span_t whole = s3l_buf_span(&b);
  s3l_span_t path = url->path.n > 0 ? url->path : S3L_SPAN("/");
  s3l_span_t short_path =
      key.n > 0 ? (s3l_span_t){text + before_key, b.len - before_key} : S3L_SPAN("/");
  s3l_span_t first = {url->host.p, bucket.n < url->host.n ? bucket.n : 0};
  bool named = first.n > 0 && s3l_span_ieq(first, bucket) && url->host.p[bucket.n] == '.';
  *path_style = !b.overflow && s3l_span_eq(path, whole);
  return *path_style || (named && !b.overflow && s3l_span_eq(path, short_path));
}

bool s3l_s3_redirect(const s3l_s3_endpoint_t* from, s3l_span_t location, s3l_span_t key,
                     s3l_s3_endpoint_t* to) {
  const char* unused;
  s3l_url_t url;
  s3l_buf_t header;
  *to = *from;
  if (from->express || !s3l_url_parse(location, &url, &unused) || !is_trusted(from, &url) ||
      !find_style(from, &url, key, &to->path_style) ||
      !s3l_span_copy(url.host, to->host, sizeof(to->host)))
    return false;
  if (S3L_MUTANT(PORT_BELIEVED))
    to->port = url.port;
  s3l_buf_init(&header, to->host_header, sizeof(to->host_header));
  s3l_url_put_host(&header, url.host, url.ip6, url.port, url.tls);
  return s3l_buf_cstr(&header) != NULL;
}
