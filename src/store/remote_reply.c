/* store/remote_reply.c: from an HTTP reply to a store result. */
#include <stdio.h>
#include <string.h>

#include "store/remote.h"
#include "util/mem.h"
#include "util/mutant.h"
#include "util/timefmt.h"
#include "util/xml.h"

/* A larger block is freed after the listing. */
#define LISTING_KEEP 8192

static bool is_write(const s3lect_store_req_t* req) {
  return req->op == S3LECT_OP_PUT || req->op == S3LECT_OP_DEL;
}

/* ---- Listings ---- */

const char* s3l_remote_take_text(s3l_span_t inner, const char* name, s3l_buf_t* text) {
  char* at = text->p + text->len;
  s3l_span_t raw;
  if (!s3l_xml_next(&inner, name, &raw) || !s3l_xml_decode(raw, at, text->cap - text->len))
    return NULL;
  text->len += strlen(at) + 1;
  return at;
}

bool s3l_remote_read_contents(s3l_span_t inner, const char* etag, s3lect_store_entry_t* e,
                              s3l_buf_t* text) {
  char number[24], time[40];
  e->key = s3l_remote_take_text(inner, "Key", text);
  e->etag = s3l_remote_take_text(inner, etag, text);
  if (s3l_xml_text(inner, "Size", number, sizeof(number)) &&
      !s3l_span_to_u64(s3l_span_cstr(number), &e->body_len))
    return false;
  if (s3l_xml_text(inner, "LastModified", time, sizeof(time)) &&
      !s3l_time_parse_rfc3339(s3l_span_cstr(time), &e->modified_ms))
    e->modified_ms = 0;
  return true;
}

bool s3l_remote_is_truncated(s3l_span_t doc) {
  char truncated[8];
  return s3l_xml_text(doc, "IsTruncated", truncated, sizeof(truncated)) &&
         s3l_span_eq(s3l_span_cstr(truncated), S3L_SPAN("true"));
}

/* Memory for a listing. It is kept, so that a listing like the one before allocates nothing. */
static void* make_room(s3l_remote_scratch_t* scratch, size_t size) {
  if (scratch->listing_size < size) {
    s3l_remote_scratch_free(scratch);
    scratch->listing = s3l_malloc(size);
    scratch->listing_size = scratch->listing != NULL ? size : 0;
  }
  return scratch->listing;
}

/* Some stores normalise prefixes with empty segments, and list other keys. */
static int say_foreign(const char* prefix, const char* key, s3lect_store_result_t* r,
                       s3l_remote_scratch_t* scratch) {
  (void)snprintf(scratch->message, sizeof(scratch->message),
                 "the listing shows \"%.200s\", which does not begin with \"%.200s\"", key, prefix);
  s3l_buf_line(scratch->message);
  r->message = scratch->message;
  return S3LECT_ELISTING;
}

/* One block holds the entries and, after them, their text. Decoding never makes text longer. */
int s3l_remote_read_listing(s3l_remote_t* m, const s3lect_store_req_t* req, s3l_span_t body,
                            const s3l_remote_listing_t* listing, s3lect_store_result_t* r,
                            s3l_span_t* doc) {
  s3l_span_t rest, inner;
  s3lect_store_entry_t* entries = NULL;
  size_t count = 0;
  if (!s3l_xml_next(&body, listing->document, doc))
    return S3LECT_EBADREPLY;
  for (rest = *doc; s3l_xml_next(&rest, listing->item, &inner);)
    count++;
  if (count > 0) {
    s3l_buf_t text;
    size_t text_size = doc->n + 3 * count;
    entries = make_room(&m->scratch, count * sizeof(*entries) + text_size);
    if (entries == NULL)
      return UV_ENOMEM;
    memset(entries, 0, count * sizeof(*entries));
    s3l_buf_init(&text, (char*)(entries + count), text_size);
    rest = *doc;
    for (size_t i = 0; i < count; i++) {
      if (!s3l_xml_next(&rest, listing->item, &inner) ||
          !listing->entry(inner, &entries[i], &text) || entries[i].key == NULL)
        return S3LECT_EBADREPLY;
      if (!s3l_span_starts_with(s3l_span_cstr(entries[i].key), s3l_span_cstr(req->key)))
        return say_foreign(req->key, entries[i].key, r, &m->scratch);
    }
  }
  r->entries = entries;
  r->entries_len = count;
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
      s3l_store_retry_after(s3l_http_reply_header(reply, "retry-after"), r->store_time_ms);
}

/* Reads the object, or the ETag of one, from a 2xx or 304. */
static void read_object(s3l_remote_t* m, const s3lect_store_req_t* req,
                        const s3l_http_reply_t* reply, s3lect_store_result_t* r) {
  s3l_span_t etag = s3l_http_reply_header(reply, m->dialect->etag_header);
  bool usable = s3l_store_etag(etag, m->scratch.etag);
  if (usable && s3l_span_starts_with(s3l_span_trim(etag), S3L_SPAN("W/")))
    r->notes |= S3LECT_NOTE_ETAG_WEAK;
  r->etag = usable ? m->scratch.etag : NULL;
  if (S3L_MUTANT(ETAG_OF_REQUEST) && req->op == S3LECT_OP_PUT && req->etag != NULL)
    r->etag = req->etag;
  if (r->status == S3LECT_ENOTMODIFIED) {
    r->etag = usable ? m->scratch.etag : req->etag; /* a 304 need not repeat it */
    return;
  }
  if (!usable) {
    r->status = S3LECT_EETAG;
    r->outcome = req->op == S3LECT_OP_PUT ? S3LECT_UNCERTAIN : S3LECT_SETTLED;
    return;
  }
  if (req->op == S3LECT_OP_PUT)
    return;
  if (reply->status == S3LECT_ETOOBIG || reply->body.n > s3l_store_body_max(req)) {
    r->status = S3LECT_ETOOBIG; /* with its ETag, so that such an object can be replaced */
    return;
  }
  r->body = reply->body.n > 0 ? reply->body.p : "";
  r->body_len = reply->body.n;
}

static void read_success(s3l_remote_t* m, s3l_remote_req_t* rr, const s3l_http_reply_t* reply,
                         s3lect_store_result_t* r) {
  if (rr->req->op == S3LECT_OP_LIST) {
    r->status = m->dialect->list(m, rr, reply->body, r);
    r->outcome = r->status == 0 ? S3LECT_SETTLED : S3LECT_NOT_APPLIED;
  } else if (rr->req->op != S3LECT_OP_DEL) {
    read_object(m, rr->req, reply, r);
  }
}

void s3l_remote_judge(s3l_remote_t* m, s3l_remote_req_t* rr, const s3l_http_reply_t* reply,
                      const s3l_store_verdict_t* v, const s3l_store_error_t* error,
                      s3lect_store_result_t* r) {
  r->status = v->status;
  r->outcome = v->outcome;
  m->recovery = v->recovery;
  if (v->status == 0 || v->status == S3LECT_ENOTMODIFIED) {
    read_success(m, rr, reply, r);
    return;
  }
  /* A refused condition is normal in an election and needs no advice. */
  s3l_buf_t b;
  s3l_buf_init(&b, m->scratch.message, sizeof(m->scratch.message));
  s3l_store_error_describe(&b, reply->http_status, error,
                           v->outcome != S3LECT_SETTLED ? v->advice : NULL);
  r->message = s3l_buf_cstr(&b);
}

/* A 404 is about the object if it says so by its code. Without a body it may be: no store that is
 * known answers a GET so, but some may. It is not, where the store's other replies had an ID of the
 * request, as most stores' have, and this one has none: a gateway before the store made it. */
bool s3l_remote_is_foreign_404(s3l_remote_t* m, const s3l_http_reply_t* reply,
                               const char* id_header) {
  bool has_id = s3l_http_reply_header(reply, id_header).n > 0;
  bool says_nothing = reply->status == 0 && reply->body.n == 0;
  m->names_requests = m->names_requests || has_id;
  if (S3L_MUTANT(PAGE_IS_ABSENCE))
    return false;
  return reply->http_status == 404 && (!says_nothing || (m->names_requests && !has_id));
}

s3lect_store_result_t s3l_remote_result(s3l_remote_t* m, s3l_remote_req_t* rr,
                                        const s3l_http_reply_t* reply) {
  s3lect_store_result_t r = {.size = sizeof(r),
                             .status = reply->status,
                             .outcome = S3LECT_NOT_APPLIED,
                             .http_status = reply->http_status};
  m->recovery = S3L_RECOVER_NOTHING;
  /* The head of a reply that is too long is valid, and mostly enough: a long object, or a proxy's
   * long page. Only a listing and the 200 of a write are incomplete without their body. */
  bool head_decides = reply->status == S3LECT_ETOOBIG && reply->http_status >= 200 &&
                      (rr->req->op == S3LECT_OP_GET || reply->http_status >= 300);
  if (reply->status == 0 || head_decides) {
    read_headers(reply, &r);
    m->dialect->read(m, rr, reply, &r);
    return r;
  }
  if (is_write(rr->req) && reply->sent && !S3L_MUTANT(LOST_IS_NOT_APPLIED))
    r.outcome = S3LECT_UNCERTAIN;
  r.message = reply->message;
  return r;
}

void s3l_remote_amend(s3lect_store_result_t* r, s3l_remote_t* m, const char* name,
                      const char* reason) {
  char text[S3L_REMOTE_MESSAGE_MAX];
  int n = snprintf(text, sizeof(text), "%s%s%s %s", r->message != NULL ? r->message : "",
                   r->message != NULL ? "; " : "", name, reason);
  if (n < 0 || (size_t)n >= sizeof(text))
    return;
  memcpy(m->scratch.message, text, (size_t)n + 1);
  r->message = m->scratch.message;
}

void s3l_remote_scratch_trim(s3l_remote_scratch_t* scratch) {
  if (scratch->listing_size > LISTING_KEEP)
    s3l_remote_scratch_free(scratch);
}

void s3l_remote_scratch_free(s3l_remote_scratch_t* scratch) {
  s3l_free(scratch->listing);
  scratch->listing = NULL;
  scratch->listing_size = 0;
}
