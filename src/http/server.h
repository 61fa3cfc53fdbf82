/* http/server.h: a small HTTP/1.1 server on the caller's loop, hard to wear down.
 *
 * Vocabulary
 *   exchange   one request and its answer; the owner gets it in on_request
 *   hold       to leave an exchange unanswered when on_request returns (a long poll)
 *   gone       the client of a held exchange has left, or the server has closed
 *
 * Invariants
 *   - one request at a time per connection; those that are sent ahead wait;
 *   - an exchange that on_request is told of ends exactly once: by the owner's reply, or, if it is
 *     held, by on_abort, after which it must not be touched. on_abort never runs inside a call of
 * the owner's;
 *   - on_request runs from the loop, never inside a call, and not after close;
 *   - bodies of requests are read, up to a limit, and ignored;
 *   - what the server cannot accept it answers itself (400, 408, 413, 414, 417, 431, 500, 501, 503,
 *     505) and then closes the connection. Methods and paths are the owner's: s3l_http_refuse;
 *   - one turn of the loop takes S3L_LISTEN_ACCEPTS connections at most, and then reads, shakes
 *     hands and answers for about S3L_HTTP_SERVER_TURN_MS, S3L_STREAM_READ_MAX bytes of one
 *     connection at a time: a flood delays other clients, but not the loop's timers;
 *   - a client whose TLS records bring too little application data is dropped (net/tls_engine.h);
 *   - every state that a client can leave a connection in has a bound in time, but a held exchange:
 *     that one is its owner's to end.
 *
 * Where max_connections are open, a new one takes the place of one that has had its last answer,
 * else of the one that has been idle for longest, else of the one that has hung for longest,
 * for S3L_HTTP_SERVER_PATIENCE_MS at least: it has not sent a whole request, or does not take its
 * answer. Else the new connection is closed at once. A held exchange is never ended for another. A
 * client address (of IPv6 the first 64 bits) that has max_per_address connections gets a new one in
 * the place of one of its own only.
 *
 * A client that shuts down its side before its request is taken up gets its answer; of a held
 * exchange it is the end. A client that sends further requests behind a held one is not read any
 * more, so that its going away is found only by answering. */
#ifndef S3L_HTTP_SERVER_H
#define S3L_HTTP_SERVER_H

#include <stdint.h>
#include <uv.h>

#include "http/exchange.h"

/* Defaults of the limits. */
#define S3L_HTTP_SERVER_MAX_CONNECTIONS  2048 /* at most half of the process's descriptors */
#define S3L_HTTP_SERVER_MAX_HEADER_BYTES 8192
#define S3L_HTTP_SERVER_MAX_BODY_BYTES   16384
#define S3L_HTTP_SERVER_TLS_TIME_MS      5000
#define S3L_HTTP_SERVER_HEADER_TIME_MS   5000
#define S3L_HTTP_SERVER_IDLE_TIME_MS     75000 /* more than two infrequent intervals */
#define S3L_HTTP_SERVER_WRITE_TIME_MS    10000

#define S3L_HTTP_SERVER_PATIENCE_MS      500
#define S3L_HTTP_SERVER_TURN_MS          2
#define S3L_HTTP_SERVER_TURN_MAX         64 /* connections worked on, however quick */

/** Listens. Errors, with nothing to clean up: UV_ENOMEM, UV_EINVAL (listen or a limit),
 * UV_EADDRINUSE, UV_EACCES, UV_EADDRNOTAVAIL, ... */
int s3l_http_server_create(uv_loop_t* loop, const s3l_http_server_options_t* options,
                           s3l_http_server_t** out);

void* s3l_http_server_data(const s3l_http_server_t* server);

/** The port that it listens on; the one that was given for port 0. */
uint16_t s3l_http_server_port(const s3l_http_server_t* server);

/** New connections use this context; open ones live on with theirs. Only of a server that was
 * created with one. */
void s3l_http_server_set_tls(s3l_http_server_t* server, struct s3l_tls_context_s* tls);

void s3l_http_server_stats(const s3l_http_server_t* server, s3l_http_server_stats_t* out);

/** Stops listening, closes what is idle, and gives answers that are owed or on their way `grace_ms`
 * to be made and taken; held exchanges that are left then are gone. Frees the server, then calls
 * cb. Once only. */
void s3l_http_server_close(s3l_http_server_t* server, uint32_t grace_ms, void (*cb)(void* arg),
                           void* arg);

#endif
