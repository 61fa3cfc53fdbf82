/* fakes3/internal.h: declarations that the server's files share.
 *
 * Vocabulary
 *   request  one HTTP request; it outlives its connection if its effect is still to come
 *   plan     the fault rules that apply to a request, at most one per slot; fixed on arrival
 *   effect   the instant at which a request reads or changes the objects
 *   entry    the request's line in the log
 *   target   the request line's path and query
 *
 * Path of a request: conn.c reads bytes, http.c parses them, handle.c routes the request and times
 * its stages, auth.c checks the signature, ops.c has the effect, reply.c writes the reply. What
 * differs between the protocols is in protocol.h, s3.c, azure.c and gcs.c. */
#ifndef FAKES3_INTERNAL_H
#define FAKES3_INTERNAL_H

#include <llhttp.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <uv.h>

#include "fakes3/bytes.h"
#include "fakes3/fakes3.h"
#include "lib/test_server.h"
#include "util/list.h"
#include "util/span.h"

#define FAKES3_HEAD_MAX     (16u * 1024) /* request line and headers */
#define FAKES3_HEADERS_MAX  64
#define FAKES3_PARAMS_MAX   32
#define FAKES3_OBJECT_MAX   (5u * 1024 * 1024)
#define FAKES3_PENDING_MAX  (64u * 1024) /* pipelined behind the active request */
#define FAKES3_BUCKET_MAX   63
#define FAKES3_KEY_MAX      1024
#define FAKES3_SHA256_SIZE  32
#define FAKES3_SKEW_MAX_MS  (15 * 60 * 1000)
#define FAKES3_LOG_DEFAULT  10000
#define FAKES3_SESSIONS_MAX 256
#define FAKES3_SESSION_MS   300000
#define FAKES3_CONTROL_PATH "/_fakes3/"

typedef struct fakes3_conn_s fakes3_conn_t;
typedef struct fakes3_request_s fakes3_request_t;
typedef struct fakes3_protocol_s fakes3_protocol_t; /* protocol.h */

/* A session of a directory bucket, or a bearer token; all zero: none. */
typedef struct fakes3_session_s {
  char access_key[64]; /* of a token: who holds it */
  char secret_key[40];
  char token[48];
  char bucket[FAKES3_BUCKET_MAX + 1];
  int64_t ends_ms; /* by the server's wall clock */
} fakes3_session_t;

/* ---- Log: log.c ---- */

typedef struct fakes3_log_entry_s {
  s3l_list_t link;
  fakes3_entry_t e; /* its strings belong to the entry */
} fakes3_log_entry_t;

/* ---- Objects: objects.c ---- */

typedef struct fakes3_version_s {
  fakes3_bytes_t body;
  fakes3_bytes_t headers; /* lines of Content-Type and x-amz-meta-*, for replies */
  char etag[128];         /* with quotes */
  uint64_t generation;    /* Google's; 0: the protocol has none */
  int64_t modified_ms;
  uint64_t number; /* with --versioned: its ID, */
  struct fakes3_version_s* older;
} fakes3_version_t;

typedef struct fakes3_object_s {
  char* key;
  fakes3_version_t* now;    /* NULL: deleted */
  fakes3_version_t* before; /* of the newest change; NULL: did not exist */
  uint64_t changed_ns;
  fakes3_version_t* history; /* with --versioned: copies of all versions, the newest first */
  fakes3_version_t* cached;  /* in a proxy; NULL: nothing is */
  uint64_t cached_ns;
  int64_t cached_ms; /* the Date of the reply that was cached */
} fakes3_object_t;

typedef struct fakes3_bucket_s {
  s3l_list_t link;
  char* name;
  bool versioned;
  uint64_t versions;         /* how many it has had, with --versioned */
  bool given;                /* by option or PUT; survives a reset */
  fakes3_object_t** objects; /* sorted by key */
  size_t n;
  size_t cap;
} fakes3_bucket_t;

fakes3_bucket_t* fakes3_bucket_find(fakes3_t* s, s3l_span_t name);
fakes3_bucket_t* fakes3_bucket_add(fakes3_t* s, s3l_span_t name, bool given);

/** Index of the first object whose key is not less than this one. */
size_t fakes3_object_index(const fakes3_bucket_t* b, const char* key);
fakes3_object_t* fakes3_object_find(const fakes3_bucket_t* b, const char* key);

/** Makes `version` (NULL: deleted) the newest one of the key, and keeps the one before. */
void fakes3_object_set(fakes3_bucket_t* b, const char* key, fakes3_version_t* version);

/** Keeps a copy of the newest version, which exists, as a proxy does that caches a reply. */
void fakes3_object_cache(const fakes3_t* s, fakes3_object_t* o);

/** A version by its ID, as the request has it; NULL if there is none. */
const fakes3_version_t* fakes3_object_version(const fakes3_object_t* o, s3l_span_t id);
/** ListObjectVersions. */
void fakes3_op_versions(fakes3_request_t* r, const fakes3_bucket_t* b);

size_t fakes3_object_count(const fakes3_t* s);
void fakes3_bucket_remove(fakes3_bucket_t* b);
void fakes3_objects_clear(fakes3_t* s, bool given_too);

/* ---- Faults: faults.c, faults_parse.c ---- */

typedef enum {
  FAKES3_NUMBER, /* value */
  FAKES3_FLAG,   /* true */
  FAKES3_STATUS, /* with code, message, html, after_effect */
} fakes3_action_kind_t;

/* Rows: name in the JSON, kind, slot. In each slot the first rule that matches applies. */
#define FAKES3_ACTIONS(XX)                                                                         \
  XX(latency_ms, NUMBER, LATENCY)                                                                  \
  XX(reply_delay_ms, NUMBER, REPLY_DELAY)                                                          \
  XX(status, STATUS, OUTCOME)                                                                      \
  XX(drop_before, FLAG, OUTCOME)                                                                   \
  XX(drop_after, FLAG, OUTCOME)                                                                    \
  XX(reset_mid_reply, FLAG, OUTCOME)                                                               \
  XX(stall, FLAG, OUTCOME)                                                                         \
  XX(stall_after, FLAG, OUTCOME)                                                                   \
  XX(late_ms, NUMBER, OUTCOME)                                                                     \
  XX(truncate, FLAG, OUTCOME)                                                                      \
  XX(garbage, FLAG, OUTCOME)                                                                       \
  XX(refuse, FLAG, REFUSE)                                                                         \
  XX(refuse_ms, NUMBER, REFUSE)                                                                    \
  XX(http10, FLAG, FRAMING)                                                                        \
  XX(chunked, FLAG, FRAMING)                                                                       \
  XX(continue, NUMBER, CONTINUE)                                                                   \
  XX(close_after, FLAG, CLOSE)                                                                     \
  XX(no_etag, FLAG, ETAG)                                                                          \
  XX(weak_etag, FLAG, ETAG)                                                                        \
  XX(constant_etag, FLAG, ETAG)                                                                    \
  XX(gzip_etag, FLAG, ETAG)                                                                        \
  XX(long_etag, FLAG, ETAG)                                                                        \
  XX(added_etag, FLAG, ETAG)                                                                       \
  XX(bare_only, FLAG, DIALECT)                                                                     \
  XX(ignore_conditions, FLAG, DIALECT)                                                             \
  XX(no_if_match, FLAG, DIALECT)                                                                   \
  XX(endless_lists, FLAG, DIALECT)                                                                 \
  XX(plain_404, FLAG, DIALECT)                                                                     \
  XX(empty_lists, FLAG, DIALECT)                                                                   \
  XX(foreign_lists, FLAG, DIALECT)                                                                 \
  XX(short_lists, FLAG, DIALECT)                                                                   \
  XX(create_412, FLAG, DIALECT)                                                                    \
  XX(write_interval_ms, NUMBER, RATE)                                                              \
  XX(normalise_keys, FLAG, KEYS)                                                                   \
  XX(non_atomic, NUMBER, NON_ATOMIC)                                                               \
  XX(check_early, FLAG, CHECK)                                                                     \
  XX(stale_reads, NUMBER, STALE)                                                                   \
  XX(cached_ms, NUMBER, STALE)                                                                     \
  XX(replay_ms, NUMBER, REPLAY)                                                                    \
  XX(replay_answer_ms, NUMBER, REPLAY)

typedef enum {
  FAKES3_NONE,
#define XX(name, kind, slot) FAKES3_DO_##name,
  FAKES3_ACTIONS(XX)
#undef XX
      FAKES3_ACTION_COUNT
} fakes3_action_t;

typedef enum {
  FAKES3_SLOT_LATENCY,
  FAKES3_SLOT_REPLY_DELAY,
  FAKES3_SLOT_OUTCOME,
  FAKES3_SLOT_REFUSE, /* of the server, never of a request */
  FAKES3_SLOT_FRAMING,
  FAKES3_SLOT_CONTINUE,
  FAKES3_SLOT_CLOSE,
  FAKES3_SLOT_ETAG,
  FAKES3_SLOT_DIALECT,
  FAKES3_SLOT_RATE,
  FAKES3_SLOT_KEYS,
  FAKES3_SLOT_NON_ATOMIC,
  FAKES3_SLOT_CHECK, /* of the server: there is no plan yet when the headers have come */
  FAKES3_SLOT_STALE,
  FAKES3_SLOT_REPLAY,
  FAKES3_SLOT_COUNT
} fakes3_slot_t;

typedef struct fakes3_match_s {
  char* method; /* NULL: any, as below */
  char* bucket;
  char* key;       /* prefix */
  char* condition; /* "if-match", "if-none-match", "any", "none" */
  char* access_key;
  char* header; /* a header with this name ... */
  char* value;  /* ... contains this text */
  uint64_t connection;
} fakes3_match_t;

typedef struct fakes3_rule_s {
  s3l_list_t link;
  unsigned refs; /* the server's list, and the plans of requests */
  int id;
  fakes3_match_t match;
  uint64_t skip;
  uint64_t count; /* left; UINT64_MAX: for ever */
  uint64_t applied;
  fakes3_action_t action;
  uint64_t value;   /* of a number; the status */
  uint64_t date_ms; /* of a status: what the reply's Date says; 0: the time */
  bool after_effect;
  char* code;
  char* message;
  char* html;
  char* location;
  char* json; /* the rule's text */
} fakes3_rule_t;

typedef struct fakes3_action_info_s {
  const char* name;
  fakes3_action_kind_t kind;
  fakes3_slot_t slot;
} fakes3_action_info_t;

extern const fakes3_action_info_t fakes3_actions[FAKES3_ACTION_COUNT];

/** A rule without number and with one reference, or NULL with a sentence in `why`. */
fakes3_rule_t* fakes3_rule_parse(s3l_span_t json, char* why, size_t why_cap);
void fakes3_rule_unref(fakes3_rule_t* rule);

/** Reads {"NAME": integer}; other members are an error. */
bool fakes3_parse_number(s3l_span_t json, const char* name, int64_t* out, char* why, size_t cap);

int fakes3_rule_add(fakes3_t* s, s3l_span_t json, char* why, size_t why_cap);

/** Fills the request's plan, and the fault of its log entry. */
void fakes3_plan(fakes3_request_t* r);
/** Whether the request's plan has that action. */
bool fakes3_plan_has(const fakes3_request_t* r, fakes3_action_t action);
/** The number of the plan's action in that slot; 0 where there is none. */
uint64_t fakes3_plan_value(const fakes3_request_t* r, fakes3_slot_t slot);
/** Whether the server has a rule with that action. */
bool fakes3_does(const fakes3_t* s, fakes3_action_t action);
/** ... and that is for this key. */
bool fakes3_does_to(const fakes3_t* s, fakes3_action_t action, const char* key);

/* ---- Requests: request.c, http.c, handle.c ---- */

typedef struct fakes3_pair_s {
  s3l_span_t name; /* of a header: lower-case */
  s3l_span_t value;
} fakes3_pair_t;

typedef struct fakes3_reply_s {
  int status;
  const char* code;       /* of the S3 error */
  fakes3_bytes_t headers; /* whole lines */
  fakes3_bytes_t body;
  const char* type; /* NULL: no body, or its type is among the headers */
  bool close;
} fakes3_reply_t;

struct fakes3_request_s {
  s3l_list_t link; /* in the server's requests */
  fakes3_t* server;
  fakes3_conn_t* conn; /* NULL: gone */
  uv_timer_t timer;
  void (*then)(fakes3_request_t* r); /* called by the timer */
  bool finished;

  llhttp_method_t method;
  bool http10;
  bool keep_alive;
  bool gives_token;   /* to a service of tokens, of Azure and Google */
  const char* reject; /* S3 code of the error that was found in the headers; NULL: none */
  fakes3_bytes_t target;
  fakes3_bytes_t head; /* names and values, concatenated */
  size_t ends_n;
  size_t headers_n;
  fakes3_bytes_t body;

  s3l_span_t path; /* raw */
  char* bucket;    /* "": none */
  char* key;       /* "": none */
  /* Conditions, as the log and the rules see them: If-Match and If-None-Match, or what the protocol
   * has in their place. Absent: none. */
  s3l_span_t if_match;
  s3l_span_t if_none_match;
  size_t params_n;

  int64_t arrived_ms; /* by the server's wall clock */
  fakes3_log_entry_t* entry;
  fakes3_rule_t* plan[FAKES3_SLOT_COUNT]; /* references; NULL: no rule of that slot matches */
  bool checked;                           /* non_atomic, check_early: the conditions held */
  bool refused;    /* check_early: the conditions did not hold; the reply is made */
  bool replaying;  /* it had its effect, and is to have it again */
  int64_t date_ms; /* of the reply; 0: the time at which it is sent */
  fakes3_reply_t reply;

  /* Only as many of each as there are have a value. */
  uint32_t ends[FAKES3_HEADERS_MAX * 2];
  fakes3_pair_t headers[FAKES3_HEADERS_MAX];
  fakes3_pair_t params[FAKES3_PARAMS_MAX]; /* decoded, in their own memory */
};

fakes3_request_t* fakes3_request_new(fakes3_conn_t* conn);

/** Removes the request from its connection, ends its log entry and frees it. */
void fakes3_request_finish(fakes3_request_t* r);
void fakes3_request_after(fakes3_request_t* r, uint64_t ms, void (*then)(fakes3_request_t* r));

/** The first header with that name, in lower case; NULL: none. */
const fakes3_pair_t* fakes3_header(const fakes3_request_t* r, const char* name);
s3l_span_t fakes3_header_value(const fakes3_request_t* r, const char* name);
const fakes3_pair_t* fakes3_param(const fakes3_request_t* r, const char* name);

/** Reads bucket, key and parameters from target and Host. NULL, or the S3 code of the error. */
const char* fakes3_request_route(fakes3_request_t* r);
/** Removes empty and "." segments from the key. */
void fakes3_request_normalise(fakes3_request_t* r);
bool fakes3_request_is_control(const fakes3_request_t* r);
const char* fakes3_request_method(const fakes3_request_t* r);

const llhttp_settings_t* fakes3_http_settings(void);

/** The headers have arrived, and the request is not rejected; the body may follow. */
void fakes3_handle_headers(fakes3_request_t* r);
/** A request has arrived (only its headers, if it is rejected). */
void fakes3_handle(fakes3_request_t* r);
void fakes3_control(fakes3_request_t* r);
/** Sends the reply that was made, if the client is still there, and ends the request. */
void fakes3_reply(fakes3_request_t* r);
void fakes3_handle_malformed(fakes3_conn_t* conn, const char* code);

/** True if the request is authorised; else makes the error reply. */
bool fakes3_auth_check(fakes3_request_t* r);
void fakes3_auth_free(fakes3_t* s);

/** Whether the request's bucket is a directory bucket, by its name. */
bool fakes3_is_express(const fakes3_request_t* r);
bool fakes3_is_create_session(const fakes3_request_t* r);
void fakes3_op_session(fakes3_request_t* r);
/** A new session for the request's bucket, or a token for `holder`. */
const fakes3_session_t* fakes3_session_new(fakes3_request_t* r, const char* holder);
/** Who holds that token; absent: it is unknown or its time is over. */
s3l_span_t fakes3_session_holder(const fakes3_request_t* r, s3l_span_t token);
/** The keys of a session, for a request to its bucket; false: the error reply is made. */
bool fakes3_session_check(fakes3_request_t* r, s3l_span_t access_key, fakes3_key_t* key);

/** True if the conditions hold; else makes the error reply. */
bool fakes3_op_check(fakes3_request_t* r);
/** Checks the conditions, unless r->checked, has the effect, and makes the reply. */
void fakes3_op_run(fakes3_request_t* r);

/* ---- Replies: reply.c ---- */

/** Makes the error reply of that code, S3's or the protocol's, with its status and message. */
void fakes3_error(fakes3_request_t* r, const char* code);
/** The same with another status or message; 0 or NULL: the code's. */
void fakes3_error_with(fakes3_request_t* r, const char* code, int status, const char* message);
/** Adds an element to the error that was made last. */
void fakes3_error_add(fakes3_request_t* r, const char* element, s3l_span_t text);
/** The most frequent code of that status. */
const char* fakes3_default_code(const fakes3_request_t* r, int status);
/** Makes it empty, for another one. */
void fakes3_reply_clear(fakes3_reply_t* reply);
/** Makes a reply as from a proxy. */
void fakes3_html(fakes3_request_t* r, int status, const char* html);
/** The reply's bytes, framed as the plan says. Once per reply. */
void fakes3_reply_bytes(fakes3_request_t* r, fakes3_bytes_t* out);
bool fakes3_reply_closes(const fakes3_request_t* r);

/* ---- Log ---- */

fakes3_log_entry_t* fakes3_log_begin(fakes3_request_t* r);
void fakes3_log_effect(fakes3_request_t* r);
void fakes3_log_set(const char** field, s3l_span_t value);
void fakes3_log_end(fakes3_request_t* r);
void fakes3_log_put(fakes3_bytes_t* out, const fakes3_entry_t* e);
void fakes3_log_free(fakes3_t* s);

/* ---- TLS: tls.c ---- */

SSL_CTX* fakes3_tls_files(const char* cert, const char* key, char* why, size_t cap);
/** With a throwaway authority and certificate; writes DIR/ca.pem. */
SSL_CTX* fakes3_tls_self(const char* dir, const char* domain, const char* host, char* why,
                         size_t cap);

/* ---- Connections: conn.c ---- */

struct fakes3_conn_s {
  s3l_test_conn_t tcp; /* first */
  fakes3_t* server;
  uint64_t id;
  bool loopback;
  llhttp_t parser;
  fakes3_bytes_t in; /* plain text that is not parsed yet */
  fakes3_request_t* building;
  fakes3_request_t* active;
  bool parsing;
};

typedef enum { FAKES3_KEEP, FAKES3_CLOSE, FAKES3_RESET } fakes3_after_t;

/** Prepares s->tcp. */
void fakes3_conn_serve(fakes3_t* s);
/** Sends; then reads the next request, closes in good order, or resets. */
void fakes3_conn_send(fakes3_conn_t* c, s3l_span_t bytes, fakes3_after_t after);
void fakes3_conn_close(fakes3_conn_t* c);
void fakes3_conn_reset(fakes3_conn_t* c);

/* ---- Server: server.c ---- */

struct fakes3_s {
  uv_loop_t* loop;
  const fakes3_protocol_t* protocol;
  s3l_test_server_t tcp;
  bool stopping;
  uv_timer_t relisten;
  size_t handles; /* that are open, without those of `tcp` */
  struct sockaddr_storage address;
  char url[128];
  char* host;
  char* region;
  char* domain;
  bool any_bucket;
  fakes3_key_t keys[FAKES3_KEYS_MAX];
  size_t keys_n;
  fakes3_session_t sessions[FAKES3_SESSIONS_MAX]; /* the newest ones */
  uint64_t sessions_made;
  uint64_t session_ms; /* also a token's life */
  uint64_t unique;     /* the last number that fakes3_unique has given */
  EVP_MD* sha256;      /* auth.c's */
  EVP_MD_CTX* hashing;
  struct {
    char* scope; /* NULL: none yet */
    uint8_t key[FAKES3_SHA256_SIZE];
  } signing; /* the last signing key */
  int64_t clock_offset_ms;
  bool anonymous_reads;
  bool versioned;
  unsigned verify_every;
  uint64_t signatures;
  void (*on_change)(void* arg, const char* key, const char* body, size_t n);
  void* on_change_arg;
  s3l_list_t requests;
  s3l_list_t buckets;
  s3l_list_t rules;
  int last_rule;
  s3l_list_t log;
  size_t log_n;
  size_t log_max;
  uint64_t last_seq;
  FILE* log_file;
  fakes3_counters_t counters;
  fakes3_stop_cb stop_cb;
  void* stop_arg;
};

uint64_t fakes3_lease_ns(void);
int64_t fakes3_wall_ms(const fakes3_t* s);
/** Call when a handle that counts in `handles` has closed. */
void fakes3_handle_closed(fakes3_t* s);

#endif
