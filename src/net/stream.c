/* net/stream.c: see stream.h. */
#include "net/stream.h"

#include <errno.h>
#include <sys/socket.h>

#include "net/tcp.h"
#include "s3lect/errno.h"
#include "util/assert.h"
#include "util/list.h"
#include "util/mem.h"
#include "util/mutant.h"

#ifndef MSG_NOSIGNAL /* macOS: libuv sets SO_NOSIGPIPE on its sockets */
#  define MSG_NOSIGNAL 0
#endif

#define WAIT_MAX_MS 64

static void end(s3l_stream_t* s, int status) {
  if (s->ended || s->closing)
    return;
  s->ended = true;
  (void)uv_read_stop((uv_stream_t*)s->tcp);
  s->on_end(s, status);
}

static void end_tls(s3l_stream_t* s, int status) {
  s->why = s->engine.why;
  end(s, status);
}

/* Hands bytes to the kernel; gives how many it took. libuv's own writes raise SIGPIPE where the
 * peer has gone, which ends a process that does not ignore it; the process is not ours. */
static ssize_t send_now(s3l_stream_t* s, const char* data, size_t n) {
  ssize_t did;
  do
    did = send(s->fd, data, n, MSG_NOSIGNAL);
  while (did < 0 && errno == EINTR);
  if (did >= 0)
    return did;
  return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : uv_translate_sys_error(errno);
}

/* ---- waiting until the kernel takes more ---- */

/* Only libuv can poll the socket, and where it does so for writing, it writes. So the stream tries
 * again after a while; a stalled write costs no descriptor, which clients could use up. */
static void wait_for(s3l_stream_t* s, uint32_t ms) {
  s->wait_ms = ms < WAIT_MAX_MS ? ms : WAIT_MAX_MS;
  s3l_loop_deadline_set(s->loop, &s->again, s3l_clock_in_ms(s->wait_ms));
}

/* Sends all of it, the rest of it later if need be. */
static int send_bytes(s3l_stream_t* s, const char* data, size_t n, bool* handed) {
  ssize_t did = send_now(s, data, n);
  if (did < 0)
    return (int)did;
  if (did > 0)
    *handed = true;
  if ((size_t)did == n)
    return S3L_STREAM_WRITTEN;
  if (S3L_MUTANT(SENT_AGAIN))
    did = 0;
  s->rest = data + did;
  s->rest_len = n - (size_t)did;
  wait_for(s, 1);
  *handed = true;
  return S3L_STREAM_PENDING;
}

/* Sends what TLS has to send, application data or not. */
static int flush(s3l_stream_t* s, bool* handed) {
  int rc = S3L_STREAM_WRITTEN;
  if (s->rest_len > 0) {
    *handed = true; /* it will follow */
    return S3L_STREAM_PENDING;
  }
  while (rc == S3L_STREAM_WRITTEN) {
    size_t n = s3l_tls_take(&s->engine, s->out, S3L_STREAM_OUT_MAX);
    if (n == 0)
      break;
    rc = send_bytes(s, s->out, n, handed);
  }
  return rc;
}

/* The same where nobody waits for it. If it fails, reading will tell. */
static void flush_aside(s3l_stream_t* s) {
  bool handed;
  (void)flush(s, &handed);
}

static void on_again(s3l_deadline_t* deadline) {
  s3l_stream_t* s = S3L_CONTAINER_OF(deadline, s3l_stream_t, again);
  bool handed;
  ssize_t did = send_now(s, s->rest, s->rest_len);
  if (did >= 0 && (size_t)did < s->rest_len) {
    s->rest += did;
    s->rest_len -= (size_t)did;
    wait_for(s, did > 0 ? 1 : 2 * s->wait_ms);
    return;
  }
  s->rest_len = 0;
  int status = did < 0 ? (int)did : 0;
  if (status == 0 && s->tls) {
    int rc = flush(s, &handed);
    if (rc == S3L_STREAM_PENDING)
      return;
    status = rc < 0 ? rc : 0;
  }
  if (s->user_write) {
    s->user_write = false;
    s->on_written(s, status);
  }
}

static bool pump_handshake(s3l_stream_t* s) {
  int rc = s3l_tls_handshake(&s->engine);
  flush_aside(s); /* the next flight, or an alert */
  if (rc == S3L_TLS_MORE)
    return false;
  if (rc < 0) {
    end_tls(s, rc);
    return false;
  }
  s->ready = true;
  s->on_ready(s);
  return !s->closing;
}

static void pump_tls(s3l_stream_t* s) {
  if (!s->ready && !pump_handshake(s))
    return;
  while (!s->paused) {
    /* What was read from the socket is with the engine: the buffer is free. */
    ssize_t n = s3l_tls_read(&s->engine, s->read_buf, S3L_STREAM_READ_MAX);
    if (n > 0) {
      s->on_read(s, s->read_buf, (size_t)n);
      if (s->closing)
        return;
      continue;
    }
    if (s3l_tls_has_output(&s->engine))
      flush_aside(s); /* an alert, a key update */
    if (n == UV_EOF)
      end(s, UV_EOF);
    else if (n < 0)
      end_tls(s, (int)n);
    return;
  }
}

/* `n` bytes are in read_buf; or an end, UV_EOF or an error. */
static void on_input(s3l_stream_t* s, ssize_t n) {
  if (n > 0 && !s->tls) {
    s->on_read(s, s->read_buf, (size_t)n);
    return;
  }
  if (n > 0) {
    int rc = s3l_tls_feed(&s->engine, s->read_buf, (size_t)n);
    if (rc != 0)
      end(s, rc);
    else
      pump_tls(s);
    return;
  }
  if (n == UV_EOF && s->tls) {
    s->why = s->ready ? "the connection was cut off (no close_notify)"
                      : "the peer closed the connection";
    n = S3LECT_ETLS;
  }
  end(s, (int)n);
}

/* Without a buffer libuv does not read, and only reports that there is something (UV_ENOBUFS). */
static void on_alloc(uv_handle_t* handle, size_t suggested, uv_buf_t* buf) {
  s3l_stream_t* s = handle->data;
  (void)suggested;
  buf->base = s->on_due != NULL ? NULL : s->read_buf;
  buf->len = s->on_due != NULL ? 0 : S3L_STREAM_READ_MAX;
}

static void on_uv_read(uv_stream_t* stream, ssize_t n, const uv_buf_t* buf) {
  s3l_stream_t* s = stream->data;
  (void)buf;
  if (n == 0 || s->closing || s->ended)
    return;
  if (s->on_due == NULL) {
    on_input(s, n);
    return;
  }
  (void)uv_read_stop(stream);
  s->due = true;
  s->on_due(s);
}

static void listen_on(s3l_stream_t* s) {
  if (s->paused || s->closing || s->ended || s->due)
    return;
  int rc = uv_read_start((uv_stream_t*)s->tcp, on_alloc, on_uv_read);
  if (rc != 0 && rc != UV_EALREADY)
    end(s, rc);
}

bool s3l_stream_has_input(const s3l_stream_t* s) {
  char byte;
  ssize_t n = recv(s->fd, &byte, 1, MSG_PEEK);
  return n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void s3l_stream_take(s3l_stream_t* s) {
  ssize_t n;
  if (!s->due || s->paused || s->closing || s->ended)
    return;
  s->due = false;
  do
    n = recv(s->fd, s->read_buf, S3L_STREAM_READ_MAX, 0);
  while (n < 0 && errno == EINTR);
  if (n >= 0)
    on_input(s, n > 0 ? n : UV_EOF);
  else if (errno != EAGAIN && errno != EWOULDBLOCK)
    on_input(s, uv_translate_sys_error(errno));
  listen_on(s);
}

static int begin_tls(s3l_stream_t* s, s3l_tls_context_t* context, const char* host) {
  bool handed = false;
  s->out = s3l_malloc(S3L_STREAM_OUT_MAX);
  if (s->out == NULL)
    return UV_ENOMEM;
  int rc = s3l_tls_engine_init(&s->engine, context, host);
  if (rc != 0) {
    s->why = "set-up failed";
    return rc;
  }
  s->tls = true;
  rc = s3l_tls_handshake(&s->engine);
  S3L_ASSERT(rc != S3L_TLS_READY);
  if (rc < 0) {
    s->why = s->engine.why;
    return rc;
  }
  rc = flush(s, &handed);
  return rc < 0 ? rc : 0;
}

/* Room for most requests, so that one send takes them. */
static int prepare_socket(s3l_stream_t* s) {
  int size = 4 * S3L_STREAM_OUT_MAX;
  uv_handle_t* handle = (uv_handle_t*)s->tcp;
  (void)uv_send_buffer_size(handle, &size); /* only a wish */
  return uv_fileno(handle, &s->fd);
}

int s3l_stream_open(s3l_stream_t* s, uv_tcp_t* tcp, s3l_tls_context_t* context, const char* host) {
  s->tcp = tcp;
  s->tls = s->ended = s->paused = s->due = s->closing = s->user_write = false;
  s->rest_len = 0;
  s->ready = context == NULL;
  s->why = NULL;
  s->out = NULL;
  s3l_deadline_init(&s->again, on_again);
  tcp->data = s;
  int rc = prepare_socket(s);
  if (rc == 0 && context != NULL)
    rc = begin_tls(s, context, host);
  if (rc == 0)
    rc = uv_read_start((uv_stream_t*)tcp, on_alloc, on_uv_read);
  if (rc != 0)
    s3l_stream_close(s);
  return rc;
}

int s3l_stream_start_tls(s3l_stream_t* s, s3l_tls_context_t* context, const char* host) {
  S3L_ASSERT(s->ready && !s->tls && !s->ended && !s->closing && !s->user_write);
  s->ready = false;
  return begin_tls(s, context, host);
}

int s3l_stream_write(s3l_stream_t* s, const char* data, size_t n, bool* handed) {
  int rc;
  S3L_ASSERT(s->ready && !s->closing && !s->user_write);
  *handed = false;
  if (s->tls) {
    rc = s3l_tls_write(&s->engine, data, n);
    if (rc == 0)
      rc = flush(s, handed);
    else
      s->why = s->engine.why;
  } else {
    rc = send_bytes(s, data, n, handed);
  }
  s->user_write = rc == S3L_STREAM_PENDING;
  return rc;
}

void s3l_stream_pause(s3l_stream_t* s) {
  s->paused = true;
  s->due = false; /* it is still in the socket, and is told again */
  if (!s->closing)
    (void)uv_read_stop((uv_stream_t*)s->tcp);
}

void s3l_stream_resume(s3l_stream_t* s) {
  if (!s->paused || s->closing || s->ended)
    return;
  s->paused = false;
  if (s->tls)
    pump_tls(s);
  listen_on(s);
}

void s3l_stream_shutdown(s3l_stream_t* s) {
  S3L_ASSERT(s->ready && !s->closing && !s->user_write);
  if (s->tls) {
    s3l_tls_shutdown(&s->engine);
    flush_aside(s);
  }
  if (s->rest_len == 0) /* else close_notify is on its way, and has to be enough */
    (void)shutdown(s->fd, SHUT_WR);
}

void s3l_stream_ref(s3l_stream_t* s, bool keep_alive) {
  if (keep_alive)
    uv_ref((uv_handle_t*)s->tcp);
  else
    uv_unref((uv_handle_t*)s->tcp);
}

static void on_uv_closed(uv_handle_t* handle) {
  s3l_stream_t* s = handle->data;
  if (s->tls)
    s3l_tls_engine_free(&s->engine);
  s3l_free(s->out);
  s->out = NULL;
  s->on_closed(s);
}

/* Best effort: what does not go out at once is dropped. */
static void say_good_bye(s3l_stream_t* s) {
  size_t n;
  s3l_tls_shutdown(&s->engine);
  do
    n = s3l_tls_take(&s->engine, s->out, S3L_STREAM_OUT_MAX);
  while (n > 0 && send_now(s, s->out, n) == (ssize_t)n);
}

void s3l_stream_close(s3l_stream_t* s) {
  if (s->closing)
    return;
  s->closing = true;
  if (s->tls && s->rest_len == 0)
    say_good_bye(s);
  s3l_loop_deadline_clear(s->loop, &s->again);
  s3l_tcp_close(s->tcp, on_uv_closed);
}
