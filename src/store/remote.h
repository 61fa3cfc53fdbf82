/* store/remote.h: what the stores behind HTTP share. Each protocol is a dialect: it writes requests
 * and reads replies. All else is here: the client, the wait for credentials, plain proxies, the
 * correction of a wrong clock, notices, listings, and the store's functions.
 *
 * A request that finds no credentials at hand waits for them in their cache. From there on it
 * lives in the caller's struct: the HTTP request within its scratch space is composed and
 * signed when a connection is free, so that queued requests hold no memory and carry the time at
 * which they are sent. A put is handed to the HTTP client once, and is not replayable. It is sent
 * again only if the reply says that it had no effect.
 *
 * Lifecycle: s3l_remote_open makes the dialect's struct, which begins with an s3l_remote_t, opens
 * the credentials, and has the dialect open the rest. The struct ends when the store is closed.
 *
 * A dialect's state of one request begins with an s3l_remote_req_t and lies in the request's
 * scratch space (S3L_STORE_REQ_STATE_FITS). It is zeroed when the request starts. */
#ifndef S3L_STORE_REMOTE_H
#define S3L_STORE_REMOTE_H

#include "credentials/chain.h"
#include "http/client.h"
#include "store/remote_options.h"
#include "store/store.h"
#include "wire/draft.h"

#define S3L_REMOTE_MESSAGE_MAX 1024

/* What `list` of a dialect returns for a page that has nothing of what was asked for: the request
 * is sent again, for the next page. */
#define S3L_REMOTE_MORE 1

typedef struct s3l_remote_s s3l_remote_t;

typedef struct s3l_remote_req_s {
  s3lect_store_req_t* req;
  uint32_t clock_changes; /* as in the store, when the request was signed */
  bool clock_retried;     /* the request has been sent again for the clock, */
  bool renewed;           /* for other credentials */
  s3l_http_req_t http;
  s3l_creds_wait_t wait; /* for credentials */
} s3l_remote_req_t;

/** What a protocol does in its own way. */
typedef struct s3l_remote_dialect_s {
  size_t size; /* of the dialect's struct */

  const char* etag_header; /* in lower case */

  const char* unusable_keys; /* for people: why `write` refuses keys with S3LECT_ECREDENTIALS */

  const s3l_chain_kind_t* chain; /* where credentials come from that the options do not have */

  /* Opens the rest of the dialect's struct, which is zeroed. `config` begins the dialect's own.
   * Where this fails, `release` follows. */
  int (*open)(uv_loop_t* loop, s3l_remote_t* remote, const s3l_remote_config_t* config);

  /* Writes the request, signed with `keys` for the Unix time `now_ms`. `request` is as S3 would
   * have it; the function may change it. 0 and *len, or S3LECT_EOPTION (a value cannot be sent),
   * S3LECT_ETOOBIG (it does not fit), S3LECT_ECREDENTIALS (see above). */
  int (*write)(s3l_remote_t* remote, s3l_remote_req_t* rr, const s3l_s3_keys_t* keys,
               s3l_s3_request_t* request, int64_t now_ms, char* buf, size_t cap, size_t* len);

  /* Judges a reply: finds the verdict and calls s3l_remote_judge. */
  void (*read)(s3l_remote_t* remote, s3l_remote_req_t* rr, const s3l_http_reply_t* reply,
               s3lect_store_result_t* result);

  /* Reads the body of a listing with s3l_remote_read_listing. Returns the result's status. NULL:
   * the store has no listings. */
  int (*list)(s3l_remote_t* remote, s3l_remote_req_t* rr, s3l_span_t body,
              s3lect_store_result_t* result);

  /* After a refusal: whether the request has been sent again (s3l_remote_send, s3l_remote_renew).
   * The result's message may be made better. The clock is corrected without it. NULL: it is sent
   * again for other credentials only. */
  bool (*again)(s3l_remote_t* remote, s3l_remote_req_t* rr, const s3l_http_reply_t* reply,
                s3lect_store_result_t* result);

  /* The request ends with this result, unless the function changes it. May be NULL. */
  void (*end)(s3l_remote_t* remote, s3l_remote_req_t* rr, s3lect_store_result_t* result);

  /* Takes one pending notice: writes its text and returns its code; 0: there is none. May be
   * NULL. */
  int (*notice)(s3l_remote_t* remote, s3l_buf_t* text);

  /* Closes what `open` has opened. */
  void (*release)(s3l_remote_t* remote);
} s3l_remote_dialect_t;

/** What a result points to while its callback runs. */
typedef struct s3l_remote_scratch_s {
  void* listing; /* entries and the text that they point to; NULL: none yet */
  size_t listing_size;
  char etag[S3LECT_ETAG_SIZE];
  char message[S3L_REMOTE_MESSAGE_MAX];
} s3l_remote_scratch_t;

struct s3l_remote_s {
  const s3l_remote_dialect_t* dialect;
  s3l_http_client_t* client;
  s3l_creds_user_t creds;
  bool creds_borrowed;     /* from a provider of the caller's, which closes it */
  int64_t clock_offset_ms; /* the store's clock minus ours, where ours was refused; or 0 */

  s3l_s3_target_t target; /* of all requests; has an origin only behind a plain proxy */

  s3l_recover_t recovery; /* what may help the request whose reply is being read */

  /* Private. */
  s3lect_store_t* store;
  s3lect_store_close_cb close_cb;
  bool closing;
  uint32_t clock_changes; /* how often clock_offset_ms has changed */
  bool clock_notice;
  bool weak_told;
  bool names_requests; /* the store's replies have had request IDs so far */
  s3l_proxy_rules_t proxies;
  s3l_remote_scratch_t scratch;
  char origin[S3L_REMOTE_HOST_HEADER_MAX + 8]; /* "http://", and the host as in its header */
  char bucket[S3L_REMOTE_BUCKET_MAX];
  char proxy_authorization[S3L_PROXY_AUTHORIZATION_MAX];
};

/* ---- Opening ---- */

/** Opens the store; no libuv handle before the first request. Errors: UV_ENOMEM, S3LECT_ETLS, and
 * those of the credentials and of the dialect. */
int s3l_remote_open(uv_loop_t* loop, s3lect_store_t* store, const s3l_remote_dialect_t* dialect,
                    const s3lect_store_ops_t* ops, const s3l_remote_config_t* config);

/* ---- The functions of s3lect_store_ops_t ---- */

/** All that every such store has; flags and list are added. */
#define S3L_REMOTE_OPS                                                                             \
  .version = S3LECT_STORE_VERSION, .get = s3l_remote_submit, .put = s3l_remote_submit,             \
  .del = s3l_remote_submit, .cancel = s3l_remote_cancel, .close = s3l_remote_close

/** get, put, del and list. */
int s3l_remote_submit(s3lect_store_t* store, s3lect_store_req_t* req);
void s3l_remote_cancel(s3lect_store_t* store, s3lect_store_req_t* req);
void s3l_remote_close(s3lect_store_t* store, s3lect_store_close_cb cb);

/* ---- For dialects ---- */

/** Sends the request again. False: the client does not take it. */
bool s3l_remote_send(s3l_remote_t* remote, s3l_remote_req_t* rr);

/** Tells the credentials' cache of the refusal, and sends the request again as soon as there are
 * other credentials; once for each request. False: it had an effect, the cache has some at once, or
 * cannot wait. */
bool s3l_remote_renew(s3l_remote_t* remote, s3l_remote_req_t* rr,
                      const s3lect_store_result_t* refusal);

/** Carries out a verdict: status, outcome and recovery; on success what the operation returns, on
 * failure the message. */
void s3l_remote_judge(s3l_remote_t* remote, s3l_remote_req_t* rr, const s3l_http_reply_t* reply,
                      const s3l_store_verdict_t* verdict, const s3l_store_error_t* error,
                      s3lect_store_result_t* result);

/** Whether a 404 without a code does not come from the store. `id_header` is the header in which
 * the store names each request. To be called for every reply. */
bool s3l_remote_is_foreign_404(s3l_remote_t* remote, const s3l_http_reply_t* reply,
                               const char* id_header);

/** How a listing's document is made. */
typedef struct s3l_remote_listing_s {
  const char* document; /* the element around all */
  const char* item;     /* the element of each object */
  /* Reads one; text goes to `text` by s3l_remote_take_text. False: the listing is broken. */
  bool (*entry)(s3l_span_t inner, s3lect_store_entry_t* entry, s3l_buf_t* text);
} s3l_remote_listing_t;

/** Reads a listing into the result but for `truncated`; *doc is the inside of its document. Returns
 * 0, S3LECT_EBADREPLY, S3LECT_ELISTING (with a message) or UV_ENOMEM. */
int s3l_remote_read_listing(s3l_remote_t* remote, const s3lect_store_req_t* req, s3l_span_t body,
                            const s3l_remote_listing_t* listing, s3lect_store_result_t* result,
                            s3l_span_t* doc);

/** Decodes one element's text behind what `text` has; NULL if there is none. */
const char* s3l_remote_take_text(s3l_span_t inner, const char* name, s3l_buf_t* text);

/** Reads an entry of a listing as S3 writes it; its ETag is the text of the element `etag`. */
bool s3l_remote_read_contents(s3l_span_t inner, const char* etag, s3lect_store_entry_t* entry,
                              s3l_buf_t* text);

/** Whether a listing as S3 writes it says that more keys follow. */
bool s3l_remote_is_truncated(s3l_span_t doc);

/** Appends "; NAME REASON" to the result's message, if it fits. */
void s3l_remote_amend(s3lect_store_result_t* result, s3l_remote_t* remote, const char* name,
                      const char* reason);

/* ---- Within store/remote*.c ---- */

s3lect_store_result_t s3l_remote_result(s3l_remote_t* remote, s3l_remote_req_t* rr,
                                        const s3l_http_reply_t* reply);
/** Ends the use of a result: frees a large listing, and keeps a small one for the next result. */
void s3l_remote_scratch_trim(s3l_remote_scratch_t* scratch);
void s3l_remote_scratch_free(s3l_remote_scratch_t* scratch);

#endif
