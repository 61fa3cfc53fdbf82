#include "store/s3/redirect.h"

#include "store/store.h"
#include "util/buf.h"
#include "util/url.h"
#include "wire/aws_host.h"

#define PATH_MAX_BYTES (3 * (S3L_STORE_KEY_MAX + S3L_S3_BUCKET_MAX) + 2)

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
  if (url->tls != from->tls || url->port != from->port)
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
  if (!s3l_url_parse(location, &url, &unused) || !is_trusted(from, &url) ||
      !find_style(from, &url, key, &to->path_style) ||
      !s3l_span_copy(url.host, to->host, sizeof(to->host)))
    return false;
  s3l_buf_init(&header, to->host_header, sizeof(to->host_header));
  s3l_url_put_host(&header, url.host, url.ip6, url.port, url.tls);
  return s3l_buf_cstr(&header) != NULL;
}
