/* fakes3/fakes3.h: a fake S3 on the caller's loop.
 *
 * A real HTTP/1.1 server that checks signatures, honours conditions as AWS does, and misbehaves on
 * command. All of it runs on one loop and each request takes effect within one callback, so that
 * what it does is linearizable; the log says in which order. It uses libc's heap directly, never
 * the library's memory hook, so that tests which count or fail the library's allocations are not
 * disturbed by it; out of memory ends the process.
 *
 * Lifecycle: start, use, stop; the server's memory is gone when the stop callback runs. All calls
 * are made on the loop's thread. README.md has the faults and the control path. */
#ifndef FAKES3_H
#define FAKES3_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

typedef struct fakes3_s fakes3_t;

#define FAKES3_ACCESS_KEY "test"
#define FAKES3_SECRET_KEY "testtest"
#define FAKES3_KEYS_MAX   8

typedef struct fakes3_key_s {
  const char* access_key;
  const char* secret_key;
  const char* token; /* NULL: requests with these keys carry no session token */
} fakes3_key_t;

/** All zero is a good start: plain HTTP on a free port of 127.0.0.1. */
typedef struct fakes3_options_s {
  const char* host;    /* 127.0.0.1 (NULL), ::1 or another address; "localhost" */
  uint16_t port;       /* 0: any */
  const char* region;  /* NULL: any region will do */
  const char* domain;  /* virtual-host addressing below this name, beside localhost */
  const char* buckets; /* "a,b": only these exist; NULL: a bucket appears when it is first used */
  fakes3_key_t keys[FAKES3_KEYS_MAX]; /* up to the first without an access key; none: test */
  const char* tls_cert;               /* PEM files */
  const char* tls_key;
  const char* tls_self;    /* directory: make a throwaway CA and certificate, write ca.pem there */
  const char* log_file;    /* appended to, one JSON object per line */
  size_t log_entries;      /* ended requests kept in memory; 0: 10,000 */
  int64_t clock_offset_ms; /* the server's wall clock is this far ahead */
  bool anonymous_reads;    /* GET and HEAD need no signature, as with a public bucket */
} fakes3_options_t;

/** Listens at once. 0, or a UV_* code with a sentence in `why`. */
int fakes3_start(uv_loop_t* loop, const fakes3_options_t* options, fakes3_t** server, char* why,
                 size_t why_cap);

/** "http://127.0.0.1:40123"; lives as long as the server. */
const char* fakes3_url(const fakes3_t* server);
uint16_t fakes3_port(const fakes3_t* server);

typedef void (*fakes3_stop_cb)(void* arg);

/** Ends every connection and forgets everything; what is yet to land never lands. */
void fakes3_stop(fakes3_t* server, fakes3_stop_cb cb, void* arg);

/* ---- Misbehaviour ---- */

/** Adds a rule, in the JSON that POST /_fakes3/faults takes. Its number (> 0), or UV_EINVAL with a
 * sentence in `why`, which may be NULL. */
int fakes3_fault(fakes3_t* server, const char* json, char* why, size_t why_cap);

/** Removes the rule of that number, or with 0 all of them. False if there is none. */
bool fakes3_fault_clear(fakes3_t* server, int rule);

/** Forgets all objects, what is yet to land, and the buckets that appeared by themselves. */
void fakes3_reset(fakes3_t* server);

void fakes3_set_clock_offset(fakes3_t* server, int64_t offset_ms);

/** Stops and resumes listening; a connect is refused meanwhile. Connections stay. */
int fakes3_listen(fakes3_t* server, bool on);

/** Closes all connections, with a reset. */
void fakes3_disconnect(fakes3_t* server);

/* ---- What happened ---- */

/** One request to a bucket or an object; control requests are not logged. Times are nanoseconds of
 * s3lect_now_ns(), 0 where the thing has not happened (yet). */
typedef struct fakes3_entry_s {
  uint64_t seq;   /* from 1, in order of arrival */
  uint64_t conn;  /* from 1, in order of acceptance */
  uint64_t order; /* of effects, from 1; 0: had none. A read or a refused write counts as one */
  uint64_t arrived_ns;
  uint64_t effect_ns;
  uint64_t replied_ns; /* handed to the socket, at least in part */
  bool ended;
  bool client_gone;   /* the client closed before the reply */
  int status;         /* of the reply, whether or not it was sent; 0: none was made */
  const char* method; /* PUT, GET, HEAD, DELETE, LIST, ... */
  const char* bucket;
  const char* key;
  const char* if_match; /* NULL: no such header */
  const char* if_none_match;
  const char* access_key; /* NULL: unsigned */
  const char* code;       /* of the S3 error; NULL: none */
  const char* etag;       /* of what was read or written; NULL: none */
  const char* fault;      /* names of the faults applied, with commas; NULL: none */
  size_t size;            /* of the request's body */
} fakes3_entry_t;

/** The oldest entry with a larger number, or NULL. Valid until the next turn of the loop. */
const fakes3_entry_t* fakes3_log_after(const fakes3_t* server, uint64_t seq);

typedef struct fakes3_counters_s {
  uint64_t connections; /* accepted so far, control's own included */
  uint64_t requests;    /* without control's */
  uint64_t in_flight;
  uint64_t get, head, put, del, list;
  uint64_t effects;
  uint64_t writes; /* that changed something */
  uint64_t faults; /* requests to which a fault was applied */
  uint64_t unauthorized;
  uint64_t malformed; /* not HTTP, or beyond a limit */
  uint64_t tls_handshakes;
  uint64_t tls_resumed;
} fakes3_counters_t;

void fakes3_counters(const fakes3_t* server, fakes3_counters_t* out);

/** Open now. */
size_t fakes3_connections(const fakes3_t* server);

#endif
