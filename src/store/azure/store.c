/* store/azure/store.c: Azure Blob Storage as a store: a dialect of store/remote.h.
 *
 * Azure lists from the start of the prefix, or from an opaque marker of its own that the page
 * before gave. So a listing after a key reads pages until one has a greater key. The store keeps
 * the last marker that it used, for listings after a key of that page.
 *
 * A marker names the key that comes next when it is given. A key that is created later, between the
 * page's last key and that one, is not listed from the marker. So a marker is good for listings
 * after the first key that was listed from it, or after a greater key, and for no others. */
#include <string.h>

#include "credentials/azure.h"
#include "store/azure/options.h"
#include "store/remote.h"
#include "util/mem.h"
#include "util/mutant.h"
#include "util/timefmt.h"
#include "util/xml.h"
#include "wire/azure_reply.h"
#include "wire/azure_request.h"

#define PAGE_MAX   1000 /* keys */
#define MARKER_MAX 2048

typedef struct position_s {
  char prefix[S3L_STORE_KEY_MAX + 1];
  char first[S3L_STORE_KEY_MAX + 1]; /* the first key listed from the marker; "": not known yet */
  char marker[MARKER_MAX];
} position_t;

typedef struct azure_s {
  s3l_remote_t remote;
  s3l_sha256_t engine;
  position_t* position; /* of the last listing that read further pages; or NULL */
} azure_t;

typedef struct state_s {
  s3l_remote_req_t rr;
  position_t* position; /* of the page to read; NULL: it is the first one of this listing */
} state_t;

S3L_STORE_REQ_STATE_FITS(state_t);

static azure_t* azure_of(s3l_remote_t* remote) {
  return S3L_CONTAINER_OF(remote, azure_t, remote);
}

static state_t* state_of(s3l_remote_req_t* rr) {
  return S3L_CONTAINER_OF(rr, state_t, rr);
}

/* ---- One request ---- */

/* Where the page begins, without leaving out a key that is asked for. */
static s3l_span_t marker_for(const azure_t* azure, const state_t* s) {
  const s3lect_store_req_t* req = s->rr.req;
  const position_t* p = azure->position;
  if (s->position != NULL)
    return s3l_span_cstr(s->position->marker);
  bool fits = p != NULL && req->after != NULL && strcmp(p->prefix, req->key) == 0 &&
              strcmp(p->first, req->after) <= 0;
  return fits ? s3l_span_cstr(p->marker) : S3L_SPAN("");
}

static int azure_write(s3l_remote_t* remote, s3l_remote_req_t* rr, const s3l_s3_keys_t* keys,
                       s3l_s3_request_t* request, int64_t now_ms, char* buf, size_t cap,
                       size_t* len) {
  azure_t* azure = azure_of(remote);
  if (request->after.p != NULL)
    request->max_keys = PAGE_MAX;
  if (request->op == S3L_S3_LIST)
    request->after = marker_for(azure, state_of(rr));
  return s3l_azure_request_write(&azure->engine, &remote->target, keys, request, now_ms, buf, cap,
                                 len);
}

static void azure_read(s3l_remote_t* remote, s3l_remote_req_t* rr, const s3l_http_reply_t* reply,
                       s3lect_store_result_t* r) {
  s3l_store_error_t error = {0};
  if (reply->http_status >= 300)
    s3l_azure_error_parse(s3l_http_reply_header(reply, "x-ms-error-code"),
                          s3l_http_reply_header(reply, "x-ms-request-id"), reply->body, &error);
  s3l_store_verdict_t v =
      s3l_azure_verdict((s3l_op_t)rr->req->op, reply->http_status, s3l_span_cstr(error.code));
  s3l_remote_judge(remote, rr, reply, &v, &error, r);
}

/* ---- Listings ---- */

/* Listings have ETags without the quotes that belong to them everywhere else. */
static const char* take_etag(s3l_span_t inner, s3l_buf_t* text) {
  size_t start = text->len;
  s3l_buf_putc(text, '"');
  const char* etag = s3l_remote_take_text(inner, "Etag", text);
  if (etag == NULL || etag[0] == '"' || etag[0] == '\0')
    return etag;
  text->p[text->len - 1] = '"';
  s3l_buf_putc(text, '\0');
  return text->p + start;
}

static bool read_entry(s3l_span_t inner, s3lect_store_entry_t* e, s3l_buf_t* text) {
  char number[24], time[40];
  e->key = s3l_remote_take_text(inner, "Name", text);
  e->etag = take_etag(inner, text);
  if (s3l_xml_text(inner, "Content-Length", number, sizeof(number)) &&
      !s3l_span_to_u64(s3l_span_cstr(number), &e->body_len))
    return false;
  if (!s3l_xml_text(inner, "Last-Modified", time, sizeof(time)) ||
      !s3l_time_parse_http(s3l_span_cstr(time), &e->modified_ms))
    e->modified_ms = 0;
  return true;
}

/* Goes on to the next page. */
static int set_position(state_t* s, const char* marker) {
  position_t* p = s->position != NULL ? s->position : s3l_malloc(sizeof(*p));
  if (p == NULL)
    return UV_ENOMEM;
  s->position = p;
  p->first[0] = '\0';
  (void)s3l_span_copy(s3l_span_cstr(s->rr.req->key), p->prefix, sizeof(p->prefix)); /* both fit */
  (void)s3l_span_copy(s3l_span_cstr(marker), p->marker, sizeof(p->marker));
  return S3L_REMOTE_MORE;
}

/* The marker of the next page, "" if there is none. Without a marker that can be used, the listing
 * would seem to be complete. */
static bool take_marker(s3l_span_t doc, char marker[MARKER_MAX]) {
  s3l_span_t raw;
  marker[0] = '\0';
  return !s3l_xml_next(&doc, "NextMarker", &raw) || s3l_xml_decode(raw, marker, MARKER_MAX);
}

/* Leaves out the keys that were not asked for. */
static void trim(const s3lect_store_req_t* req, s3lect_store_result_t* r) {
  while (req->after != NULL && r->entries_len > 0 && strcmp(r->entries->key, req->after) <= 0) {
    r->entries++;
    r->entries_len--;
  }
  if (r->entries_len > req->max_keys) {
    r->entries_len = req->max_keys;
    r->truncated = true;
  }
}

static int azure_list(s3l_remote_t* remote, s3l_remote_req_t* rr, s3l_span_t body,
                      s3lect_store_result_t* r) {
  static const s3l_remote_listing_t blobs = {"EnumerationResults", "Blob", read_entry};
  const s3lect_store_req_t* req = rr->req;
  char marker[MARKER_MAX];
  s3l_span_t doc;
  position_t* position = state_of(rr)->position;
  int err = s3l_remote_read_listing(remote, req, body, &blobs, r, &doc);
  if (err != 0)
    return err;
  if (!take_marker(doc, marker))
    return S3LECT_EBADREPLY;
  if (position != NULL && r->entries_len > 0)
    (void)s3l_span_copy(s3l_span_cstr(r->entries->key), position->first, sizeof(position->first));
  bool more = marker[0] != '\0';
  r->truncated = more;
  trim(req, r);
  return more && r->entries_len == 0 ? set_position(state_of(rr), marker) : 0;
}

/* The position of a listing that succeeded serves later ones. */
static void azure_end(s3l_remote_t* remote, s3l_remote_req_t* rr, s3lect_store_result_t* r) {
  azure_t* azure = azure_of(remote);
  state_t* s = state_of(rr);
  if (s->position == NULL)
    return;
  if (r->status == 0 && s->position->first[0] != '\0') {
    s3l_free(azure->position);
    azure->position = s->position;
  } else {
    s3l_free(s->position);
  }
  s->position = NULL;
}

/* ---- The store ---- */

static int azure_open(uv_loop_t* loop, s3l_remote_t* remote, const s3l_remote_config_t* config) {
  (void)loop;
  (void)config;
  return s3l_sha256_open(&azure_of(remote)->engine) ? 0 : UV_ENOMEM;
}

static void azure_release(s3l_remote_t* remote) {
  azure_t* azure = azure_of(remote);
  s3l_sha256_close(&azure->engine);
  s3l_free(azure->position);
}

static const s3l_remote_dialect_t azure_dialect = {
    .size = sizeof(azure_t),
    .etag_header = "etag",
    .chain = &s3l_chain_azure,
    .open = azure_open,
    .write = azure_write,
    .read = azure_read,
    .list = azure_list,
    .end = azure_end,
    .release = azure_release,
};

static const s3lect_store_ops_t azure_ops = {S3L_REMOTE_OPS, .flags = S3LECT_STORE_OWN_CLOCK,
                                             .list = s3l_remote_submit};

int s3lect_store_azure_init(uv_loop_t* loop, s3lect_store_t* store,
                            const s3lect_store_azure_options_t* options, s3lect_error_t* error) {
  s3l_azure_config_t config;
  s3l_error_clear(error);
  int err = s3l_azure_configure(options, &config, error);
  if (err == 0)
    err = s3l_remote_open(loop, store, &azure_dialect, &azure_ops, &config.remote);
  s3l_wipe(&config, sizeof(config));
  return s3l_error_end(error, err);
}
