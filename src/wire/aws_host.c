#include "wire/aws_host.h"

/* AWS's partitions beside the standard one, which includes GovCloud. */
static const struct {
  const char* prefix; /* of the region */
  const char* suffix;
} partitions[] = {
    {"cn-", ".amazonaws.com.cn"},    {"us-iso-", ".c2s.ic.gov"},
    {"us-isob-", ".sc2s.sgov.gov"},  {"us-isof-", ".csp.hci.ic.gov"},
    {"eu-isoe-", ".cloud.adc-e.uk"}, {"eusc-", ".amazonaws.eu"},
};

#define PARTITIONS (sizeof(partitions) / sizeof(partitions[0]))

s3l_span_t s3l_aws_suffix(s3l_span_t region) {
  for (size_t i = 0; i < PARTITIONS; i++) {
    if (s3l_span_starts_with(region, s3l_span_cstr(partitions[i].prefix)))
      return s3l_span_cstr(partitions[i].suffix);
  }
  return S3L_SPAN(".amazonaws.com");
}

static bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool s3l_aws_is_region(s3l_span_t name) {
  size_t hyphens = 0;
  if (name.n < 4 || name.n > 63 || !is_lower(name.p[0]) || !is_digit(name.p[name.n - 1]))
    return false;
  for (size_t i = 0; i < name.n; i++) {
    hyphens += name.p[i] == '-';
    if (!is_lower(name.p[i]) && !is_digit(name.p[i]) && name.p[i] != '-')
      return false;
  }
  return hyphens >= 2;
}

static bool ends_with(s3l_span_t s, s3l_span_t end) {
  return s.n >= end.n && s3l_span_ieq((s3l_span_t){s.p + s.n - end.n, end.n}, end);
}

/* Takes the last label off a name. */
static s3l_span_t take_label(s3l_span_t* name) {
  size_t start = name->n;
  while (start > 0 && name->p[start - 1] != '.')
    start--;
  s3l_span_t label = {name->p + start, name->n - start};
  name->n = start > 0 ? start - 1 : 0;
  return label;
}

/* `name` is the host without the suffix: "BUCKET.s3.REGION", ... */
static s3l_span_t region_before(s3l_span_t name) {
  static const s3l_span_t none = {NULL, 0};
  s3l_span_t label = take_label(&name);
  if (s3l_span_ieq(label, S3L_SPAN("s3")))
    return S3L_SPAN("us-east-1");
  if (s3l_span_starts_with(label, S3L_SPAN("s3-"))) {
    s3l_span_t region = {label.p + 3, label.n - 3};
    bool other = s3l_span_starts_with(region, S3L_SPAN("website-")) ||
                 s3l_span_starts_with(region, S3L_SPAN("fips-"));
    return !other && s3l_aws_is_region(region) ? region : none;
  }
  s3l_span_t before = take_label(&name);
  bool of_s3 = s3l_span_ieq(before, S3L_SPAN("s3")) || s3l_span_ieq(before, S3L_SPAN("s3-fips")) ||
               s3l_span_ieq(before, S3L_SPAN("dualstack"));
  return of_s3 && s3l_aws_is_region(label) ? label : none;
}

s3l_span_t s3l_aws_region_of_host(s3l_span_t host) {
  s3l_span_t suffix = S3L_SPAN(".amazonaws.com");
  for (size_t i = 0; i < PARTITIONS && !ends_with(host, suffix); i++)
    suffix = s3l_span_cstr(partitions[i].suffix);
  if (!ends_with(host, suffix))
    return (s3l_span_t){NULL, 0};
  s3l_span_t region = region_before((s3l_span_t){host.p, host.n - suffix.n});
  if (region.p != NULL && !s3l_span_eq(s3l_aws_suffix(region), suffix))
    return (s3l_span_t){NULL, 0};
  return region;
}
