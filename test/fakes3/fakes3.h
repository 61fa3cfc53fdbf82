/* fakes3/fakes3.h: a fake S3 server on the caller's loop, which can also be Azure Blob Storage or
 * Google Cloud Storage.
 *
 * A real HTTP/1.1 server that checks signatures, honours conditions as the store does, and injects
 * faults on command. docs/fakes3.md describes the faults and the control path. Each request takes
 * effect within one callback, so the server is linearizable; the log tells the order of the
 * effects. The server uses libc's heap, never the library's memory hook, so it does not disturb
 * tests that count or fail the library's allocations. If memory runs out, the process ends.
 *
 * Lifecycle: start, use, stop. The server's memory is freed when the stop callback runs. All calls
 * are made on the loop's thread.
 *
 * Simulation. All state of a server is in its fakes3_t, so one process can run several servers, on
 * one loop or on several. It starts no thread. Its only clocks are s3l_clock_lease_ns and
 * s3l_clock_wall_ms (loop/clock.h) and the timers of its loop; OpenSSL's generator, for TLS, is its
 * only source of random numbers. It calls these functions of libuv, itself or through
 * lib/test_server.h, and a simulator replaces them:
 *   uv_tcp_init, uv_tcp_bind, uv_tcp_connect, uv_tcp_nodelay, uv_tcp_getsockname,
 *   uv_tcp_getpeername, uv_tcp_close_reset, uv_listen, uv_accept, uv_read_start, uv_read_stop,
 *   uv_write, uv_shutdown, uv_fileno, uv_timer_init, uv_timer_start, uv_timer_stop,
 *   uv_update_time, uv_is_active, uv_unref, uv_close.
 * If uv_fileno fails, all data is sent by uv_write; else most of it is sent by a system call. The
 * other functions of libuv that it calls only convert values (uv_ip4_addr, uv_strerror, ...). */
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

/* Azure's, of which the key is the well-known one of emulators. */
#define FAKES3_ACCOUNT "devstoreaccount1"
#define FAKES3_ACCOUNT_KEY                                                                         \
  "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

/* S3, Google: an access key. Azure: an account and its key in base64. With an empty secret key: a
 * bearer token, of Azure or Google, and the name that it has in the log. */
typedef struct fakes3_key_s {
  const char* access_key;
  const char* secret_key;
  const char* token; /* NULL: requests with these keys carry no session token */
} fakes3_key_t;

/** All zero: S3 over plain HTTP on a free port of 127.0.0.1, with the keys above. */
typedef struct fakes3_options_s {
  const char* protocol; /* "s3", "azure" or "gcs"; NULL: s3 */
  const char* host;     /* an IP address or "localhost"; NULL: 127.0.0.1 */
  uint16_t port;        /* 0: any */
  const char* region;   /* of signatures; NULL: any */
  const char* domain;   /* BUCKET.domain names a bucket, as BUCKET.localhost does */
  const char* buckets;  /* "a,b": only these exist; NULL: a bucket appears when it is first used */
  fakes3_key_t keys[FAKES3_KEYS_MAX]; /* the first one without an access key ends the list */
  const char* tls_cert;               /* PEM file */
  const char* tls_key;                /* PEM file */
  const char* tls_self;    /* directory: make a throwaway CA and certificate, write ca.pem there */
  const char* log_file;    /* appended to, one JSON object per line */
  size_t log_entries;      /* how many ended requests are kept in memory; 0: 10,000 */
  int64_t clock_offset_ms; /* how far the server's wall clock is ahead */
  uint64_t session_ms;     /* life of a directory bucket's session, or a token; 0: 300,000 */
  bool versioned;          /* buckets keep all versions of their objects */
  bool anonymous_reads;    /* GET and HEAD need no signature, as with a public bucket */
  unsigned verify_every;   /* of so many signatures one is computed again; 0: all. What a request
                              says of its key, time, scope and headers is always checked */
  /* Called when an object changes, inside its effect; `body` NULL: it was deleted. May be NULL. */
  void (*on_change)(void* arg, const char* key, const char* body, size_t n);
  void* on_change_arg;
} fakes3_options_t;

/** Creates a server on the loop; it listens when this returns. 0, or a UV_* code with a sentence in
 * `why`. */
int fakes3_start(uv_loop_t* loop, const fakes3_options_t* options, fakes3_t** server, char* why,
                 size_t why_cap);

/** "http://127.0.0.1:40123"; valid as long as the server. */
const char* fakes3_url(const fakes3_t* server);
uint16_t fakes3_port(const fakes3_t* server);

typedef void (*fakes3_stop_cb)(void* arg);

/** Closes all connections, drops writes that have not taken effect yet, and frees the server; then
 * calls `cb`, unless that is NULL. */
void fakes3_stop(fakes3_t* server, fakes3_stop_cb cb, void* arg);

/* ---- Faults ---- */

/** Adds a rule, in the JSON that POST /_fakes3/faults takes. Returns its number (> 0), or UV_EINVAL
 * with a sentence in `why`, which may be NULL. */
int fakes3_fault(fakes3_t* server, const char* json, char* why, size_t why_cap);

/** Removes the rule with that number; 0: all rules. False if there is no such rule. */
bool fakes3_fault_clear(fakes3_t* server, int rule);

/** Removes all objects, writes that have not taken effect yet, and the buckets that neither an
 * option nor a PUT has created. */
void fakes3_reset(fakes3_t* server);

/** Forgets all sessions of directory buckets, and all tokens that were given: requests with them
 * are refused from now on. */
void fakes3_end_sessions(fakes3_t* server);

void fakes3_set_clock_offset(fakes3_t* server, int64_t offset_ms);

/** Stops or resumes listening; without a listener connects are refused. Open connections stay. */
int fakes3_listen(fakes3_t* server, bool on);

/** Resets all connections. */
void fakes3_disconnect(fakes3_t* server);

/* ---- Log ---- */

/** One request to a bucket or an object; control requests are not logged. Times are lease time in
 * nanoseconds; 0: has not happened. */
typedef struct fakes3_entry_s {
  uint64_t seq;   /* from 1, in order of arrival */
  uint64_t conn;  /* from 1, in order of acceptance */
  uint64_t order; /* of effects, from 1; 0: no effect. Reads and refused writes count, too */
  uint64_t arrived_ns;
  uint64_t effect_ns;
  uint64_t replied_ns; /* when the reply, or a part of it, was sent */
  bool ended;
  bool client_gone;   /* the client closed before the reply */
  int status;         /* of the reply, sent or not; 0: no reply was made */
  const char* method; /* PUT, GET, HEAD, DELETE, LIST, SESSION, TOKEN, ... */
  const char* bucket;
  const char* key;
  /* NULL: no such header, likewise below. A generation that must match is if_match; that there must
     be no object is "*" in if_none_match. */
  const char* if_match;
  const char* if_none_match;
  const char* access_key; /* NULL: unsigned */
  const char* code;       /* of the error; NULL: none */
  const char* etag;       /* of the object that was read or written, or Google's generation */
  const char* fault;      /* names of the actions that were applied, with commas; NULL: none */
  size_t size;            /* of the request's body */
} fakes3_entry_t;

/** The oldest entry with a larger number, or NULL. Valid until the next turn of the loop. */
const fakes3_entry_t* fakes3_log_after(const fakes3_t* server, uint64_t seq);

typedef struct fakes3_counters_s {
  uint64_t connections; /* accepted so far, also for control requests */
  uint64_t requests;    /* without control requests */
  uint64_t in_flight;
  uint64_t get, head, put, del, list, sessions;
  uint64_t effects;
  uint64_t writes; /* that changed something */
  uint64_t faults; /* requests to which a fault was applied */
  uint64_t unauthorized;
  uint64_t malformed; /* not HTTP, or a limit was exceeded */
  uint64_t tls_handshakes;
  uint64_t tls_resumed;
} fakes3_counters_t;

void fakes3_counters(const fakes3_t* server, fakes3_counters_t* out);

/** How many connections are open. */
size_t fakes3_connections(const fakes3_t* server);

#endif
