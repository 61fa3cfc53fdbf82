/* s3lect/peer.h: peer mode: in stable times followers ask the leader, not the store.
 *
 * Vocabulary
 *   peer server   answers, on the caller's loop, whether its electors lead: 200 with the confirmed
 *                 record from a valid leader, 404 from anybody else
 *   peer client   asks the leaders of the electors that were given it
 *   path          tells the elections of one server apart; by default /health/leadership
 *   held request  one that asked to wait (RFC 7240, "Prefer: wait=N"): it is answered when the
 *                 leadership ends, or after N seconds
 *
 * What a peer says makes a follower look at the store sooner, and never makes it believe more: it
 * makes nobody leader and extends nothing. What a leader says of the end of its own validity counts
 * only if TLS has shown that it is the leader who says it.
 *
 * The wire format is that of the Go package S3lect, whose processes may stand on either side. */
#ifndef S3LECT_PEER_H
#define S3LECT_PEER_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "s3lect/elector.h"
#include "s3lect/errno.h"
#include "s3lect/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct s3lect_peer_server_s s3lect_peer_server_t;

/** The handle is closed: its memory is the caller's again. From the loop, never inside close. */
typedef void (*s3lect_peer_server_cb)(s3lect_peer_server_t* server);
typedef void (*s3lect_peer_client_cb)(s3lect_peer_client_t* client);

/* ---- Client ---- */

/** Options of the peer client. Zero or NULL means the default. Strings are copied.
 * Of each pair of _file (a path) and _pem (the text itself) one at most is given. */
typedef struct s3lect_peer_client_options_s {
  size_t size;           /* sizeof(s3lect_peer_client_options_t); set by ..._options_init */
  const char* ca_file;   /* authorities that may have signed a leader's certificate; */
  const char* ca_pem;    /* default: the system's. */
  const char* cert_file; /* this process's own certificate, for servers that want one, */
  const char* cert_pem;
  const char* key_file; /* and its key */
  const char* key_pem;
  int32_t plain_http; /* 1: plain HTTP in place of TLS. Anybody on the way may answer in the
                         leader's name then, so no shortcut is taken from what is answered */
  uint32_t connect_timeout_ms; /* default 1000; the TLS handshake may take twice as long */
  uint32_t idle_timeout_ms;    /* an unused connection is closed after this; default 60000 */
} s3lect_peer_client_options_t;

/** A peer client. A fixed-size shell: the caller allocates it, must not move or copy it. One serves
 * any number of electors on its loop, and keeps connections to their leaders. */
struct s3lect_peer_client_s {
  void* data;      /* the caller's */
  uv_loop_t* loop; /* read-only */
  void* internal;
  void* reserved[8];
};

/** Sets every option to its default. `size` is sizeof(s3lect_peer_client_options_t). */
S3LECT_EXTERN void s3lect_peer_client_options_init(s3lect_peer_client_options_t* options,
                                                   size_t size);

/** Opens a client; connects only when used. Certificates are read here, synchronously. Errors, with
 * nothing to clean up: S3LECT_EOPTION, S3LECT_ETLS (a certificate or key), UV_EINVAL (a struct size
 * this library does not know), UV_ENOTSUP (an option that only a newer library knows), UV_ENOMEM.
 */
S3LECT_EXTERN int s3lect_peer_client_init(uv_loop_t* loop, s3lect_peer_client_t* client,
                                          const s3lect_peer_client_options_t* options,
                                          s3lect_error_t* error);

/** Takes up new authorities, certificate and key: with `options` NULL from the files that are in
 * use, read again, else from its ca, cert and key members, all of them (others are not looked at).
 * What is asked from now on goes by them, what is under way ends over its old connection. On
 * failure the old ones stay in use. A client with authorities of its own does not turn to the
 * system's: options without ca are refused then.
 * Errors: S3LECT_ETLS (a certificate or key), S3LECT_EOPTION (something is missing; or `options` is
 * NULL and there is something in use that came as text), UV_ENOMEM, UV_EINVAL (a client of plain
 * HTTP, or a struct size this library does not know), UV_ENOTSUP, UV_ECANCELED (closing). */
S3LECT_EXTERN int s3lect_peer_client_reload(s3lect_peer_client_t* client,
                                            const s3lect_peer_client_options_t* options,
                                            s3lect_error_t* error);

/** Closes a client. Questions to leaders end, and electors that were given the client ask the store
 * from then on; `cb` waits until the last of these electors is closed, too.
 * Close may be called once; `cb` (may be NULL) runs exactly once, from the loop, as the handle's
 * last callback, and the handle's memory is the caller's again. */
S3LECT_EXTERN void s3lect_peer_client_close(s3lect_peer_client_t* client, s3lect_peer_client_cb cb);

/* ---- Server ---- */

#define S3LECT_PEER_MAX_CONNECTIONS   2048 /* or half of the process's descriptors, if fewer */
#define S3LECT_PEER_HEADER_BYTES      8192
#define S3LECT_PEER_HEADER_TIMEOUT_MS 5000
#define S3LECT_PEER_IDLE_TIMEOUT_MS   75000
#define S3LECT_PEER_MAX_WAIT_MS       60000

/** Options of the peer server. Zero or NULL means the default. Strings are copied. */
typedef struct s3lect_peer_server_options_s {
  size_t size;           /* sizeof(s3lect_peer_server_options_t); set by ..._options_init */
  const char* listen;    /* ADDRESS:PORT, [V6]:PORT, localhost:PORT, or *:PORT, all addresses;
                            port 0: any. Required */
  const char* cert_file; /* PEM chain, the server's own certificate first. One certificate is */
  const char* cert_pem;  /* required, unless plain_http */
  const char* key_file;
  const char* key_pem;
  const char* client_ca_file; /* clients must show a certificate signed by one of these; */
  const char* client_ca_pem;  /* default: clients show none */
  int32_t plain_http;         /* 1: plain HTTP in place of TLS; followers then take no shortcuts */
  int32_t metrics;            /* 1: serve /metrics, Prometheus text format */
  int32_t health;             /* 1: serve /livez and /readyz, which are separate from leadership */
  uint32_t max_connections;   /* default S3LECT_PEER_MAX_CONNECTIONS, but not more than half of
                                 what RLIMIT_NOFILE allows at init: a leader needs descriptors for
                                 its store. What is given here is not cut */
  uint32_t max_held;          /* requests held at once; others are answered at once. Default: three
                                 quarters of max_connections, and one less than all */
  uint32_t max_header_bytes;  /* default S3LECT_PEER_HEADER_BYTES */
  uint32_t header_timeout_ms; /* from a connection's or request's begin to the end of its head;
                                 default S3LECT_PEER_HEADER_TIMEOUT_MS */
  uint32_t idle_timeout_ms;   /* default S3LECT_PEER_IDLE_TIMEOUT_MS */
  uint32_t max_wait_ms;       /* how long a request is held at most; default
                                 S3LECT_PEER_MAX_WAIT_MS */
  uint32_t max_per_address;   /* connections of one client address (IPv6: of one /64 network).
                                 Default:   seven eighths of max_connections */
} s3lect_peer_server_options_t;

/** A peer server. A fixed-size shell: the caller allocates it, must not move or copy it. */
struct s3lect_peer_server_s {
  void* data;      /* the caller's */
  uv_loop_t* loop; /* read-only */
  void* internal;
  void* reserved[8];
};

/** Sets every option to its default. `size` is sizeof(s3lect_peer_server_options_t). */
S3LECT_EXTERN void s3lect_peer_server_options_init(s3lect_peer_server_options_t* options,
                                                   size_t size);

/** Opens a server and listens. It does not keep the loop alive. Errors, with nothing to clean up:
 * as of s3lect_peer_client_init, and what binding gives: UV_EADDRINUSE,
 * UV_EACCES, UV_EADDRNOTAVAIL. */
S3LECT_EXTERN int s3lect_peer_server_init(uv_loop_t* loop, s3lect_peer_server_t* server,
                                          const s3lect_peer_server_options_t* options,
                                          s3lect_error_t* error);

/** The port that is listened on, in the machine's byte order: the one of `listen`, or which one the
 * system gave for 0. Errors: UV_ECANCELED (closing, or closed). */
S3LECT_EXTERN int s3lect_peer_server_port(const s3lect_peer_server_t* server);

/** Answers for an elector of the same loop, under `path` (NULL: the elector's peer_health_path).
 * Ends with s3lect_peer_server_remove or when the elector is closed; whatever is held is answered
 * then. Errors: UV_EEXIST (the path is taken), UV_EALREADY (the elector is with a server),
 * S3LECT_EOPTION (no path: it must begin with '/'), UV_EINVAL (another loop), UV_ECANCELED (one of
 * the two is closing), UV_ENOMEM. */
S3LECT_EXTERN int s3lect_peer_server_add(s3lect_peer_server_t* server, s3lect_elector_t* elector,
                                         const char* path);

/** Answers for an elector no more: whatever is held for it is answered 404, and so is who asks from
 * now on. Errors: UV_ENOENT if the elector is not with this server. */
S3LECT_EXTERN int s3lect_peer_server_remove(s3lect_peer_server_t* server,
                                            s3lect_elector_t* elector);

/** Takes up new certificates, key and authorities: with `options` NULL from the files that are in
 * use, read again, else from its cert, key and client_ca members, all of them (others are not
 * looked at). Connections that are open stay open, and what is held is held on; new ones meet the
 * new certificate. On failure the old ones stay in use. A server that wants clients' certificates
 * does not cease to: options without client_ca are refused then.
 * Errors: S3LECT_ETLS (a certificate or key), S3LECT_EOPTION (something is missing; or `options` is
 * NULL and there is something in use that came as text), UV_ENOMEM, UV_EINVAL (a server of plain
 * HTTP, or a struct size this library does not know), UV_ENOTSUP, UV_ECANCELED (closing). */
S3LECT_EXTERN int s3lect_peer_server_reload(s3lect_peer_server_t* server,
                                            const s3lect_peer_server_options_t* options,
                                            s3lect_error_t* error);

/** Closes a server: it stops listening, answers held requests with 404 and closes all connections.
 * Its electors stay in their elections.
 * Close may be called once; `cb` (may be NULL) runs exactly once, from the loop, as the handle's
 * last callback, and the handle's memory is the caller's again. */
S3LECT_EXTERN void s3lect_peer_server_close(s3lect_peer_server_t* server, s3lect_peer_server_cb cb);

/* ---- For a server of your own ---- */

/** Enough for any body that s3lect_elector_peer_response writes. */
#define S3LECT_PEER_BODY_MAX 4608

/** What the peer server would answer a request with this method for this elector, for a server that
 * the program has already: returns the HTTP status, and writes the body (JSON if the status is 200,
 * to be sent as application/json with Cache-Control: no-store; else empty), without a NUL; *len is
 * its length. From the loop. 200: this elector leads. 404: it does not. 405: another method than
 * GET or HEAD (say "Allow: GET, HEAD"). Errors: UV_ENOBUFS (`cap` is too small). */
S3LECT_EXTERN int s3lect_elector_peer_response(const s3lect_elector_t* elector, const char* method,
                                               char* body, size_t cap, size_t* len);

#ifdef __cplusplus
}
#endif

#endif
