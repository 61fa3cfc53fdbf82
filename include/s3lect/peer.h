/* s3lect/peer.h: peer mode: followers of a stable leader ask the leader instead of the store.
 *
 * Vocabulary
 *   peer server   answers, on the caller's loop, whether its electors lead: 200 with the confirmed
 *                 record if the elector leads, else 404
 *   peer client   asks the leaders, for the electors that use it
 *   path          distinguishes the elections of one server; by default /health/leadership
 *   held request  a request with "Prefer: wait=N" (RFC 7240): it is answered when the leadership
 *                 ends, or after N seconds
 *
 * An answer can make a follower read the store sooner. It prolongs no lease. A leader's statement
 * of when its validity ends counts only over TLS that has verified the leader.
 *
 * Hand-over: a follower over TLS sends with its question the record by which it would lead next. If
 * the server has verified a client certificate for the address in this record, a leader that
 * resigns writes the record in place of its release, and its answer makes the follower leader. This
 * needs client_ca_file of the server, cert_file of the client, and S3LECT_PROTOCOL_LOCKFILE;
 * otherwise the leader releases, and the followers take over by their own writes (docs/peers.md).
 *
 * The wire format is that of the Go package S3lect, whose processes may be on either side. */
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
  int32_t plain_http; /* 1: plain HTTP instead of TLS. Anybody in the network may then answer in
                         the leader's name, so answers only save reads */
  uint32_t connect_timeout_ms; /* default 1000; the TLS handshake may take twice as long */
  uint32_t idle_timeout_ms;    /* an unused connection is closed after this; default 60000 */
} s3lect_peer_client_options_t;

/** A peer client. The caller allocates it, and must not move or copy it. One client serves any
 * number of electors on its loop, and keeps connections to their leaders. */
struct s3lect_peer_client_s {
  void* data;      /* the caller's */
  uv_loop_t* loop; /* read-only */
  void* internal;
  void* reserved[8];
};

/** Sets every option to its default. `size` is sizeof(s3lect_peer_client_options_t). */
S3LECT_EXTERN void s3lect_peer_client_options_init(s3lect_peer_client_options_t* options,
                                                   size_t size);

/** Opens a client. Reads the certificates synchronously, and connects only when it is used. Errors,
 * with nothing to clean up: S3LECT_EOPTION, S3LECT_ETLS (a certificate or key), UV_EINVAL (an
 * unknown struct size), UV_ENOTSUP (an option of a newer library is set), UV_ENOMEM.
 */
S3LECT_EXTERN int s3lect_peer_client_init(uv_loop_t* loop, s3lect_peer_client_t* client,
                                          const s3lect_peer_client_options_t* options,
                                          s3lect_error_t* error);

/** Replaces authorities, certificate and key for new connections. With `options` NULL it reads the
 * files in use again; otherwise it uses the ca, cert and key members of `options`, all of them, and
 * ignores the other members. Questions under way end over their old connections. On failure nothing
 * changes. A client with its own authorities does not change to the system's: options without ca
 * are refused.
 * Errors: S3LECT_ETLS (a certificate or key), S3LECT_EOPTION (a member is missing; or `options` is
 * NULL and something in use was given as text), UV_ENOMEM, UV_EINVAL (a plain HTTP client, or an
 * unknown struct size), UV_ENOTSUP, UV_ECANCELED (closing). */
S3LECT_EXTERN int s3lect_peer_client_reload(s3lect_peer_client_t* client,
                                            const s3lect_peer_client_options_t* options,
                                            s3lect_error_t* error);

/** Closes a client. Questions to leaders end, and electors that use the client read the store from
 * then on. `cb` runs after the last of these electors is closed.
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
                            port 0: any. Required, unless pages_listen is given */
  const char* cert_file; /* PEM chain, the server's own certificate first. One certificate is */
  const char* cert_pem;  /* required, unless plain_http */
  const char* key_file;
  const char* key_pem;
  const char* client_ca_file; /* clients must present a certificate signed by one of these; */
  const char* client_ca_pem;  /* default: clients present none, and none is handed leadership */
  int32_t plain_http;         /* 1: plain HTTP instead of TLS; followers then trust no answer */
  int32_t metrics;            /* 1: serve /metrics, Prometheus text format */
  int32_t health;             /* 1: serve /livez and /readyz, which do not depend on leadership */
  uint32_t max_connections;   /* default S3LECT_PEER_MAX_CONNECTIONS, but at most half of
                                 RLIMIT_NOFILE   at init, because a leader needs descriptors for its
                                 store. A value given here is not reduced */
  uint32_t max_held;          /* requests held at once; others are answered at once. Default: three
                                 quarters of max_connections, and one less than all */
  uint32_t max_header_bytes; /* default S3LECT_PEER_HEADER_BYTES. A follower's candidacy takes about
                                300 bytes of it, at most 3,500; without room for it the follower is
                                refused (431) and reads the store */
  uint32_t header_timeout_ms; /* from the start of a connection or request to the end of its head;
                                 default S3LECT_PEER_HEADER_TIMEOUT_MS */
  uint32_t idle_timeout_ms;   /* default S3LECT_PEER_IDLE_TIMEOUT_MS */
  uint32_t max_wait_ms;       /* maximum time for which a request is held; default
                                 S3LECT_PEER_MAX_WAIT_MS */
  uint32_t max_per_address;   /* connections of one client address (IPv6: of one /64 network).
                                 Default: seven eighths of max_connections */
  const char* pages_listen;   /* an address as in `listen`, at which /metrics, /livez, /readyz and
                                 /leader are served in plain HTTP, and nothing else. Use a loopback
                                 address, or a network whose members may read all of this. /leader
                                 is 200 if all electors of this server lead, else 503; its text is
                                 "leader EPOCH" with one elector. Default: none */
} s3lect_peer_server_options_t;

/** A peer server. The caller allocates it, and must not move or copy it. */
struct s3lect_peer_server_s {
  void* data;      /* the caller's */
  uv_loop_t* loop; /* read-only */
  void* internal;
  void* reserved[8];
};

/** Sets every option to its default. `size` is sizeof(s3lect_peer_server_options_t). */
S3LECT_EXTERN void s3lect_peer_server_options_init(s3lect_peer_server_options_t* options,
                                                   size_t size);

/** Opens a server and listens. The server does not keep the loop alive. Errors, with nothing to
 * clean up (but if pages_listen fails beside `listen`, the loop must run once more): those of
 * s3lect_peer_client_init, and of bind: UV_EADDRINUSE, UV_EACCES, UV_EADDRNOTAVAIL. */
S3LECT_EXTERN int s3lect_peer_server_init(uv_loop_t* loop, s3lect_peer_server_t* server,
                                          const s3lect_peer_server_options_t* options,
                                          s3lect_error_t* error);

/** Returns the port that the server listens on, in host byte order: that of `listen`, or the one
 * that the system chose for 0. Errors: UV_ECANCELED (closing, or closed), UV_EINVAL (without
 * `listen`). */
S3LECT_EXTERN int s3lect_peer_server_port(const s3lect_peer_server_t* server);

/** The same for `pages_listen`. */
S3LECT_EXTERN int s3lect_peer_server_pages_port(const s3lect_peer_server_t* server);

/** Answers for an elector of the same loop, under `path` (NULL: the elector's peer_health_path).
 * Ends with s3lect_peer_server_remove or when the elector is closed; held requests are answered
 * then. Errors: UV_EEXIST (the path is taken), UV_EALREADY (the elector has a server),
 * S3LECT_EOPTION (the path does not begin with '/'), UV_EINVAL (another loop), UV_ECANCELED (one of
 * the two is closing), UV_ENOMEM. */
S3LECT_EXTERN int s3lect_peer_server_add(s3lect_peer_server_t* server, s3lect_elector_t* elector,
                                         const char* path);

/** Stops answering for an elector: held and new requests for it are answered with 404. Errors:
 * UV_ENOENT (the elector is not with this server). */
S3LECT_EXTERN int s3lect_peer_server_remove(s3lect_peer_server_t* server,
                                            s3lect_elector_t* elector);

/** Replaces certificate, key and authorities for new connections. With `options` NULL it reads the
 * files in use again; otherwise it uses the cert, key and client_ca members of `options`, all of
 * them, and ignores the other members. Open connections stay open, and held requests stay held. On
 * failure nothing changes. A server that requires client certificates continues to do so: options
 * without client_ca are refused.
 * Errors: S3LECT_ETLS (a certificate or key), S3LECT_EOPTION (a member is missing; or `options` is
 * NULL and something in use was given as text), UV_ENOMEM, UV_EINVAL (a plain HTTP server, or an
 * unknown struct size), UV_ENOTSUP, UV_ECANCELED (closing). */
S3LECT_EXTERN int s3lect_peer_server_reload(s3lect_peer_server_t* server,
                                            const s3lect_peer_server_options_t* options,
                                            s3lect_error_t* error);

/** Closes a server: it stops listening, answers held requests with 404 and closes all connections.
 * Its electors stay in their elections.
 * Close may be called once; `cb` (may be NULL) runs exactly once, from the loop, as the handle's
 * last callback, and the handle's memory is the caller's again. */
S3LECT_EXTERN void s3lect_peer_server_close(s3lect_peer_server_t* server, s3lect_peer_server_cb cb);

/* ---- For your own server ---- */

/** Enough for any body that s3lect_elector_peer_response writes. */
#define S3LECT_PEER_BODY_MAX 10880

/** Makes the peer server's answer to a request with this method, for a program that has its own
 * HTTP server. Returns the HTTP status: 200 (this elector leads), 404 (it does not) or 405 (a
 * method other than GET and HEAD: send "Allow: GET, HEAD"). Writes the body without a NUL, and its
 * length to *len: JSON for 200, to be sent as application/json with Cache-Control: no-store; else
 * it is empty. Errors: UV_ENOBUFS (`cap` is too small). */
S3LECT_EXTERN int s3lect_elector_peer_response(const s3lect_elector_t* elector, const char* method,
                                               char* body, size_t cap, size_t* len);

#ifdef __cplusplus
}
#endif

#endif
