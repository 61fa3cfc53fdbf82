/* net/stream.h: bytes over a connected uv_tcp_t, plain or under TLS.
 *
 * Invariants
 *   - one write at a time: the next only after the last is complete;
 *   - the end (on_end) is told once, and nothing is read after it; UV_EOF is an end in good order:
 *     the peer's FIN, under TLS its close_notify. Under TLS a FIN alone is S3LECT_ETLS, since
 *     anybody on the way may have sent it;
 *   - no callback runs inside write, pause, shutdown or close; each callback may close the stream;
 *   - nothing is read while it is paused, so its end is not seen either.
 *
 * Lifecycle: open takes the connection over (on failure too); close; the memory is free in
 * on_closed. A stream belongs to its owner's struct. What is read is shown in a buffer that the
 * owner lends, and is not looked at again after on_read: all streams of one loop may have the same.
 */
#ifndef S3L_NET_STREAM_H
#define S3L_NET_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "loop/loop.h"
#include "net/tls_engine.h"

/* One TLS record of plaintext; a reply of S3 fits in one read. */
#define S3L_STREAM_READ_MAX 16384

/* Ciphertext on its way to the kernel: one full record with what TLS adds. */
#define S3L_STREAM_OUT_MAX 17408

typedef struct s3l_stream_s s3l_stream_t;

struct s3l_stream_s {
  /* Set by the owner before open. */
  s3l_loop_t* loop;
  char* read_buf; /* of S3L_STREAM_READ_MAX bytes */
  /* NULL: what comes is read at once. Else the stream only says that there is something to read,
   * and reads it in s3l_stream_take, so that an owner of many streams can spread the work. */
  void (*on_due)(s3l_stream_t* s);
  void (*on_ready)(s3l_stream_t* s); /* TLS: the handshake is over (plain: never called) */
  void (*on_read)(s3l_stream_t* s, const char* data, size_t n);
  void (*on_end)(s3l_stream_t* s, int status);
  void (*on_written)(s3l_stream_t* s, int status); /* a write that was pending is complete */
  void (*on_closed)(s3l_stream_t* s);

  /* For the owner to read. */
  bool ready;
  bool due;        /* s3l_stream_take has something to do */
  const char* why; /* on_end with an S3LECT_ETLS* status: text for people, else NULL */

  /* Private. */
  uv_tcp_t* tcp;
  uv_os_fd_t fd;
  bool tls;
  bool ended;
  bool paused;
  bool closing;
  bool user_write;  /* on_written is owed */
  const char* rest; /* what the kernel has still to take */
  size_t rest_len;  /* 0: nothing */
  uint32_t wait_ms;
  char* out; /* TLS only */
  s3l_tls_engine_t engine;
  s3l_deadline_t again; /* when what the kernel has still to take is offered again */
};

/** Turns an open plain stream with no write under way into a TLS one: the handshake begins, and
 * on_ready tells of its end. Errors, as of open; the stream stays open, to be closed. */
int s3l_stream_start_tls(s3l_stream_t* s, s3l_tls_context_t* context, const char* host);

enum { S3L_STREAM_PENDING = 0, S3L_STREAM_WRITTEN = 1 };

/** `context` NULL: plain, ready at once. Else the handshake begins; `host` as in tls_engine.
 * Errors: UV_ENOMEM, S3LECT_ETLS, what libuv says; on_closed then comes as after close. */
int s3l_stream_open(s3l_stream_t* s, uv_tcp_t* tcp, s3l_tls_context_t* context, const char* host);

/** Writes all of it. S3L_STREAM_WRITTEN: the kernel has it. S3L_STREAM_PENDING: the data must stay
 * until on_written. Errors: what libuv says, S3LECT_ETLS. *handed: whether any byte may have left.
 */
int s3l_stream_write(s3l_stream_t* s, const char* data, size_t n, bool* handed);

/** Whether the kernel holds something that the loop has not read yet: bytes, or the peer's end. */
bool s3l_stream_has_input(const s3l_stream_t* s);

/** Stops reading, from the end of the on_read that it is called in, or from now. */
void s3l_stream_pause(s3l_stream_t* s);

/** Reads one piece of what on_due told of, S3L_STREAM_READ_MAX bytes at most; no-op if there is
 * nothing, or while the stream is paused. Tells from inside: on_ready, on_read, on_end. */
void s3l_stream_take(s3l_stream_t* s);

/** Goes on reading. What TLS holds already is told from inside: on_ready, on_read, on_end. */
void s3l_stream_resume(s3l_stream_t* s);

/** Tells the peer that nothing more is written; reading goes on. No write may be pending. */
void s3l_stream_shutdown(s3l_stream_t* s);

/** Whether the stream keeps the loop alive. */
void s3l_stream_ref(s3l_stream_t* s, bool keep_alive);

/** Under TLS says good-bye first, as far as that is possible at once. No callback but on_closed
 * comes after it. No-op when closing already. */
void s3l_stream_close(s3l_stream_t* s);

#endif
