/* fakes3/versions.c: ListObjectVersions: the versions of each key, the newest first. There are no
 * delete markers. */
#include <string.h>

#include "fakes3/internal.h"
#include "util/timefmt.h"

#define LIST_MAX 1000

static s3l_span_t param(const fakes3_request_t* r, const char* name) {
  const fakes3_pair_t* p = fakes3_param(r, name);
  return p != NULL ? p->value : (s3l_span_t){NULL, 0};
}

static void put_version(fakes3_bytes_t* b, const fakes3_object_t* o, const fakes3_version_t* v) {
  char time[S3L_TIME_RFC3339_SIZE];
  (void)s3l_time_format_rfc3339(v->modified_ms / 1000 * 1000, time);
  time[strlen(time) - 1] = '\0';
  fakes3_puts(b, "<Version><Key>");
  fakes3_put_xml(b, s3l_span_cstr(o->key));
  fakes3_printf(b, "</Key><VersionId>%llu</VersionId><IsLatest>%s</IsLatest>",
                (unsigned long long)v->number, v == o->history ? "true" : "false");
  fakes3_printf(b, "<LastModified>%s.000Z</LastModified><ETag>", time);
  fakes3_put_xml(b, s3l_span_cstr(v->etag));
  fakes3_printf(b, "</ETag><Size>%zu</Size></Version>", v->body.n);
}

void fakes3_op_versions(fakes3_request_t* r, const fakes3_bucket_t* b) {
  fakes3_bytes_t found = {NULL, 0, 0};
  fakes3_bytes_t after = {NULL, 0, 0};
  s3l_span_t prefix = param(r, "prefix");
  uint64_t max = LIST_MAX, older_than = 0, count = 0;
  bool truncated = false;
  if (!b->versioned) {
    fakes3_error_with(r, "NotImplemented", 0, "Started without --versioned");
    return;
  }
  fakes3_put_span(&after, param(r, "key-marker"));
  (void)s3l_span_to_u64(param(r, "max-keys"), &max);
  (void)s3l_span_to_u64(param(r, "version-id-marker"), &older_than);
  for (size_t i = 0; i < b->n; i++) {
    const fakes3_object_t* o = b->objects[i];
    int order = strcmp(o->key, fakes3_cstr(&after));
    bool is_marker = order == 0;
    if (!s3l_span_starts_with(s3l_span_cstr(o->key), prefix) || order < 0)
      continue;
    for (const fakes3_version_t* v = o->history; v != NULL; v = v->older) {
      if (is_marker && (older_than == 0 || v->number >= older_than))
        continue;
      truncated = truncated || count == max;
      if (count < max)
        put_version(&found, o, v);
      count += count < max;
    }
  }
  fakes3_puts(&r->reply.body, "<ListVersionsResult><IsTruncated>");
  fakes3_printf(&r->reply.body, "%s</IsTruncated>", truncated ? "true" : "false");
  fakes3_put_span(&r->reply.body, fakes3_span(&found));
  fakes3_puts(&r->reply.body, "</ListVersionsResult>");
  fakes3_bytes_free(&found);
  fakes3_bytes_free(&after);
  r->reply.status = 200;
  r->reply.type = "application/xml";
}
