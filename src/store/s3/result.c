#include "store/s3/result.h"

#include <stdio.h>
#include <string.h>

#include "store/s3/endpoint.h"
#include "store/store.h"
#include "util/mem.h"
#include "util/mutant.h"
#include "util/timefmt.h"
#include "util/url.h"
#include "util/xml.h"
#include "wire/aws_host.h"

static bool is_write(s3l_s3_op_t op) {
  return op == S3L_S3_PUT || op == S3L_S3_DELETE;
}

/* ---- Listings ---- */

/* Decodes one element's text into *text and moves *text behind it; NULL if there is none. */
static const char* take_text(s3l_span_t inner, const char* name, s3l_buf_t* text) {
  char* at = text->p + text->len;
  s3l_span_t raw;
  if (!s3l_xml_next(&inner, name, &raw) || !s3l_xml_decode(raw, at, text->cap - text->len))
    return NULL;
  text->len += strlen(at) + 1;
  return at;
}

static bool read_entry(s3l_span_t inner, s3lect_store_entry_t* e, s3l_buf_t* text) {
  char number[24], time[40];
  e->key = take_text(inner, "Key", text);
  e->etag = take_text(inner, "ETag", text);
  if (s3l_xml_text(inner, "Size", number, sizeof(number)) &&
      !s3l_span_to_u64(s3l_span_cstr(number), &e->body_len))
    return false;
  if (s3l_xml_text(inner, "LastModified", time, sizeof(time)) &&
      !s3l_time_parse_rfc3339(s3l_span_cstr(time), &e->modified_ms))
    e->modified_ms = 0;
  return e->key != NULL;
}

/* Memory for a listing. It is kept, so that a listing like the one before allocates nothing. */
static void* make_room(s3l_s3_scratch_t* scratch, size_t size) {
  if (scratch->listing_size < size) {
    s3l_s3_scratch_free(scratch);
    scratch->listing = s3l_malloc(size);
    scratch->listing_size = scratch->listing != NULL ? size : 0;
  }
  return scratch->listing;
}

/* Some stores normalise prefixes with empty segments, and list other keys. */
static int say_foreign(const char* prefix, const char* key, s3lect_store_result_t* r,
                       s3l_s3_scratch_t* scratch) {
  (void)snprintf(scratch->message, sizeof(scratch->message),
                 "the listing shows \"%.200s\", which does not begin with \"%.200s\"", key, prefix);
  s3l_buf_line(scratch->message);
  r->message = scratch->message;
  return S3LECT_ELISTING;
}

/* One block holds the entries and, after them, their text. Decoding never makes text longer. */
static int read_listing(const s3lect_store_req_t* req, s3l_span_t body, s3lect_store_result_t* r,
                        s3l_s3_scratch_t* scratch) {
  bool versions = (req->flags & S3LECT_REQ_VERSIONS) != 0;
  const char* item = versions ? "Version" : "Contents";
  s3l_span_t doc, rest, inner;
  char truncated[8];
  s3lect_store_entry_t* entries = NULL;
  size_t count = 0;
  if (!s3l_xml_next(&body, versions ? "ListVersionsResult" : "ListBucketResult", &doc))
    return S3LECT_EBADREPLY;
  for (rest = doc; s3l_xml_next(&rest, item, &inner);)
    count++;
  if (count > 0) {
    s3l_buf_t text;
    size_t text_size = doc.n + 3 * count;
    entries = make_room(scratch, count * sizeof(*entries) + text_size);
    if (entries == NULL)
      return UV_ENOMEM;
    memset(entries, 0, count * sizeof(*entries));
    s3l_buf_init(&text, (char*)(entries + count), text_size);
    rest = doc;
    for (size_t i = 0; i < count; i++) {
      if (!s3l_xml_next(&rest, item, &inner) || !read_entry(inner, &entries[i], &text))
        return S3LECT_EBADREPLY;
      if (versions)
        entries[i].version = take_text(inner, "VersionId", &text);
      if (versions && entries[i].version == NULL)
        return S3LECT_EBADREPLY;
      if (!s3l_span_starts_with(s3l_span_cstr(entries[i].key), s3l_span_cstr(req->key)))
        return say_foreign(req->key, entries[i].key, r, scratch);
    }
  }
  r->entries = entries;
  r->entries_len = count;
  r->truncated = s3l_xml_text(doc, "IsTruncated", truncated, sizeof(truncated)) &&
                 s3l_span_eq(s3l_span_cstr(truncated), S3L_SPAN("true"));
  return 0;
}

/* ---- Replies ---- */

static void read_headers(const s3l_http_reply_t* reply, s3lect_store_result_t* r) {
  s3l_span_t date = s3l_http_reply_header(reply, "date");
  s3l_span_t modified = s3l_http_reply_header(reply, "last-modified");
  if (!s3l_time_parse_http(date, &r->store_time_ms))
    r->store_time_ms = 0;
  if (!s3l_time_parse_http(modified, &r->modified_ms))
    r->modified_ms = 0;
  r->retry_after_ms =
      s3l_s3_retry_after(s3l_http_reply_header(reply, "retry-after"), r->store_time_ms);
}

/* Reads what the operation returns from a 2xx or 304. */
static void read_success(const s3lect_store_req_t* req, s3l_s3_op_t op,
                         const s3l_http_reply_t* reply, s3lect_store_result_t* r,
                         s3l_s3_scratch_t* scratch) {
  if (op == S3L_S3_LIST) {
    r->status = read_listing(req, reply->body, r, scratch);
    r->outcome = r->status == 0 ? S3LECT_SETTLED : S3LECT_NOT_APPLIED;
    return;
  }
  if (op == S3L_S3_DELETE)
    return;
  s3l_span_t etag = s3l_http_reply_header(reply, "etag");
  bool usable = s3l_s3_etag(etag, scratch->etag);
  if (usable && s3l_span_starts_with(s3l_span_trim(etag), S3L_SPAN("W/")))
    r->notes |= S3LECT_NOTE_ETAG_WEAK;
  r->etag = usable ? scratch->etag : NULL;
  if (S3L_MUTANT(ETAG_OF_REQUEST) && op == S3L_S3_PUT && req->etag != NULL)
    r->etag = req->etag;
  if (r->status == S3LECT_ENOTMODIFIED) {
    r->etag = usable ? scratch->etag : req->etag; /* a 304 need not repeat it */
    return;
  }
  if (!usable) {
    r->status = S3LECT_EETAG;
    r->outcome = op == S3L_S3_PUT ? S3LECT_UNCERTAIN : S3LECT_SETTLED;
    return;
  }
  if (op == S3L_S3_PUT)
    return;
  if (reply->status == S3LECT_ETOOBIG || reply->body.n > s3l_store_body_max(req)) {
    r->status = S3LECT_ETOOBIG; /* with its ETag, so that such an object can be replaced */
    return;
  }
  r->body = reply->body.n > 0 ? reply->body.p : "";
  r->body_len = reply->body.n;
}

/* The region that a reply names. Stores use one of these places. */
static s3l_span_t named_region(const s3l_http_reply_t* reply, const s3l_s3_error_t* error) {
  const char* unused;
  s3l_url_t url;
  s3l_span_t region = s3l_http_reply_header(reply, "x-amz-bucket-region");
  if (region.n > 0)
    return region;
  if (error->region[0] != '\0')
    return s3l_span_cstr(error->region);
  region = s3l_aws_region_of_host(s3l_span_cstr(error->endpoint));
  if (region.n == 0 && s3l_url_parse(s3l_http_reply_header(reply, "location"), &url, &unused))
    region = s3l_aws_region_of_host(url.host);
  return region;
}

/* Whether it is not the one that was asked; then the error has it. */
static bool names_other_region(const s3l_http_reply_t* reply, s3l_s3_error_t* error,
                               s3l_span_t asked) {
  char name[sizeof(error->region)];
  if (!s3l_span_copy(named_region(reply, error), name, sizeof(name)) ||
      !s3l_s3_is_region(s3l_span_cstr(name)) || s3l_span_eq(s3l_span_cstr(name), asked))
    name[0] = '\0';
  memcpy(error->region, name, sizeof(name));
  return name[0] != '\0';
}

static void describe(int http_status, const s3l_s3_error_t* error, const char* advice,
                     s3lect_store_result_t* r, s3l_s3_scratch_t* scratch) {
  s3l_buf_t b;
  s3l_buf_init(&b, scratch->message, sizeof(scratch->message));
  s3l_s3_describe(&b, http_status, error, advice);
  r->message = s3l_buf_cstr(&b);
}

/* A 404 is about the object if it says so by its code. Without a body it may be: no store that is
 * known answers a GET so, but some may. It is not, where the store's other replies had an ID of the
 * request, as most stores' have, and this one has none: a gateway before the store made it. */
static bool is_foreign_404(const s3l_http_reply_t* reply, s3l_s3_scratch_t* scratch) {
  bool has_id = s3l_http_reply_header(reply, "x-amz-request-id").n > 0;
  bool says_nothing = reply->status == 0 && reply->body.n == 0;
  scratch->names_requests = scratch->names_requests || has_id;
  if (S3L_MUTANT(PAGE_IS_ABSENCE))
    return false;
  return reply->http_status == 404 && (!says_nothing || (scratch->names_requests && !has_id));
}

static void read_reply(const s3lect_store_req_t* req, s3l_s3_op_t op, const s3l_http_reply_t* reply,
                       s3l_span_t region, s3lect_store_result_t* r, s3l_s3_scratch_t* scratch) {
  s3l_s3_error_t error = {0};
  /* The body of a GET's 200 is the object, whatever it looks like. */
  bool is_object = op == S3L_S3_GET && reply->http_status == 200;
  bool is_error = !is_object && s3l_s3_error_parse(reply->body, &error);
  s3l_span_t code = s3l_span_cstr(error.code);
  bool foreign = is_foreign_404(reply, scratch);
  if (code.n == 0 && (is_error || foreign))
    code = S3L_SPAN("InternalError"); /* an error document without a code */
  bool other_region = reply->http_status >= 300 && names_other_region(reply, &error, region);
  s3l_s3_verdict_t v = s3l_s3_verdict(op, reply->http_status, code, other_region);
  r->status = v.status;
  r->outcome = v.outcome;
  scratch->recovery = v.recovery;
  if (other_region)
    memcpy(scratch->region, error.region, sizeof(scratch->region));
  read_headers(reply, r);
  if (v.status == 0 || v.status == S3LECT_ENOTMODIFIED)
    read_success(req, op, reply, r, scratch);
  else /* a refused condition is normal in an election and needs no advice */
    describe(reply->http_status, &error, v.outcome != S3LECT_SETTLED ? v.advice : NULL, r, scratch);
}

s3lect_store_result_t s3l_s3_result(const s3lect_store_req_t* req, s3l_s3_op_t op,
                                    const s3l_http_reply_t* reply, s3l_span_t region,
                                    s3l_s3_scratch_t* scratch) {
  s3lect_store_result_t r = {.size = sizeof(r),
                             .status = reply->status,
                             .outcome = S3LECT_NOT_APPLIED,
                             .http_status = reply->http_status};
  scratch->recovery = S3L_S3_RECOVER_NOTHING;
  scratch->region[0] = '\0';
  /* The head of a reply that is too long is valid, and mostly enough: a long object, or a proxy's
   * long page. Only a listing and the 200 of a write are incomplete without their body. */
  bool head_decides = reply->status == S3LECT_ETOOBIG && reply->http_status >= 200 &&
                      (op == S3L_S3_GET || reply->http_status >= 300);
  if (reply->status == 0 || head_decides) {
    read_reply(req, op, reply, region, &r, scratch);
    return r;
  }
  if (is_write(op) && reply->sent && !S3L_MUTANT(LOST_IS_NOT_APPLIED))
    r.outcome = S3LECT_UNCERTAIN;
  r.message = reply->message;
  return r;
}

void s3l_s3_amend(s3lect_store_result_t* r, s3l_s3_scratch_t* scratch, const char* name,
                  const char* reason) {
  char text[S3L_S3_MESSAGE_MAX];
  int n = snprintf(text, sizeof(text), "%s%s%s %s", r->message != NULL ? r->message : "",
                   r->message != NULL ? "; " : "", name, reason);
  if (n < 0 || (size_t)n >= sizeof(text))
    return;
  memcpy(scratch->message, text, (size_t)n + 1);
  r->message = scratch->message;
}

void s3l_s3_scratch_trim(s3l_s3_scratch_t* scratch) {
  if (scratch->listing_size > S3L_S3_LISTING_KEEP)
    s3l_s3_scratch_free(scratch);
}

void s3l_s3_scratch_free(s3l_s3_scratch_t* scratch) {
  s3l_free(scratch->listing);
  scratch->listing = NULL;
  scratch->listing_size = 0;
}
