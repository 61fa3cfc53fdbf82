/* net/tls_engine.h: one TLS session over memory: ciphertext in and out, plaintext in and out.
 *
 * Knows nothing of sockets and loops. Works for both sides; a client verifies the server's chain
 * and its name (or address; of the certificate's alternative names only) and ends the handshake
 * where they do not hold, and so does a server with the chain of a client where its context says
 * that clients are verified.
 *
 * The owner feeds what the network gave, calls handshake until it is done, then read and write, and
 * after each of these takes what is to be sent. After an error only take (there may be an alert to
 * send) and free are of use. */
#ifndef S3L_NET_TLS_ENGINE_H
#define S3L_NET_TLS_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <openssl/ssl.h>

#include "net/tls_context.h"

/* How many records and handshake messages without application data a peer may send, and how much
 * application data earns it one more. A handshake takes about a dozen; key updates, session tickets
 * and attempts to renegotiate after it are rare. Each costs us more than it costs the peer. */
#define S3L_TLS_QUIET_MAX   64
#define S3L_TLS_QUIET_BYTES 1024

typedef struct s3l_tls_engine_s {
  s3l_tls_context_t* context;
  SSL* ssl;
  BIO* in;
  BIO* out;
  bool ready;   /* the handshake is over and good */
  bool resumed; /* valid when ready */
  bool failed;
  bool ended;           /* the peer's close_notify has been read */
  uint64_t plain_bytes; /* application data received */
  uint64_t quiet;       /* records and handshake messages received that brought none */
  char why[160];        /* the last error, for people: "the certificate has expired" */
} s3l_tls_engine_t;

enum { S3L_TLS_MORE = 0, S3L_TLS_READY = 1 };

/** `host`: name or address literal that the server's certificate must be for; NULL for a server.
 * Errors, with nothing to free: UV_ENOMEM, S3LECT_ETLS. */
int s3l_tls_engine_init(s3l_tls_engine_t* e, s3l_tls_context_t* context, const char* host);
void s3l_tls_engine_free(s3l_tls_engine_t* e);

/** Ciphertext from the network; takes all of it or fails with UV_ENOMEM. */
int s3l_tls_feed(s3l_tls_engine_t* e, const char* data, size_t n);

/** S3L_TLS_MORE: needs bytes from the peer; S3L_TLS_READY. Errors, also where the peer sends more
 * without application data than S3L_TLS_QUIET_MAX allows: S3LECT_ETLSCA, S3LECT_ETLSNAME,
 * S3LECT_ETLSEXPIRED, S3LECT_ETLS. */
int s3l_tls_handshake(s3l_tls_engine_t* e);

/** Plaintext: its length; 0: needs bytes from the peer; UV_EOF: the peer has said that it is done;
 * S3LECT_ETLS. */
ssize_t s3l_tls_read(s3l_tls_engine_t* e, char* buf, size_t cap);

/** Encrypts all of it, or gives S3LECT_ETLS. */
int s3l_tls_write(s3l_tls_engine_t* e, const char* data, size_t n);

/** Moves ciphertext that is to be sent into `buf`; 0: there is none. */
size_t s3l_tls_take(s3l_tls_engine_t* e, char* buf, size_t cap);
bool s3l_tls_has_output(const s3l_tls_engine_t* e);

/** Whether the peer has shown a certificate, and it holds. Valid when ready. */
bool s3l_tls_peer_verified(const s3l_tls_engine_t* e);

/** Whether it has, and the certificate is for that host name or IP address. */
bool s3l_tls_peer_is(const s3l_tls_engine_t* e, const char* host);

/** Says to the peer that no more plaintext comes (close_notify). */
void s3l_tls_shutdown(s3l_tls_engine_t* e);

#endif
