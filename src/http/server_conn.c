/* http/server_conn.c: see server_conn.h.
 *
 * The owner is called from two places only: s3l_sconn_work (on_request) and s3l_sconn_gone, both
 * run from the loop. A connection's memory outlives every call-out, since it is freed by libuv's
 * close callback; after one, its state is read afresh. */
#include "http/server_conn.h"

#include <string.h>

#include "http/server_reply.h"
#include "net/tcp.h"
#include "s3lect/errno.h"
#include "util/assert.h"
#include "util/buf.h"
#include "util/mem.h"

/* How long a last answer is given to reach the client before its connection is closed under it, and
 * how much of what the client still sends is thrown away meanwhile. */
#define LINGER_MS    1000
#define LINGER_BYTES (256u << 10)

static void feed(s3l_sconn_t* conn, const char* data, size_t n);
static void answer_error(s3l_sconn_t* conn, int status);

static void set_deadline(s3l_sconn_t* conn, uint32_t ms) {
  s3l_loop_deadline_set(conn->pool->loop, &conn->deadline, s3l_clock_in_ms(ms));
}

static void clear_deadline(s3l_sconn_t* conn) {
  s3l_loop_deadline_clear(conn->pool->loop, &conn->deadline);
}

static void move_to(s3l_sconn_t* conn, s3l_list_t* list) {
  s3l_list_remove(&conn->link);
  s3l_list_push_back(list, &conn->link);
}

static void get_ready(s3l_sconn_t* conn) {
  s3l_list_remove(&conn->ready);
  s3l_list_push_back(&conn->pool->ready, &conn->ready);
  s3l_loop_defer(conn->pool->loop, &conn->pool->work);
}

static void drop_rest(s3l_sconn_t* conn) {
  s3l_free(conn->rest);
  conn->rest = NULL;
  conn->rest_len = 0;
}

/* ---- its end ---- */

static void release(s3l_sconn_t* conn) {
  s3l_free(conn->answer);
  s3l_free(conn->rest);
  s3l_free(conn);
}

static void on_stream_closed(s3l_stream_t* stream) {
  s3l_sconn_t* conn = S3L_CONTAINER_OF(stream, s3l_sconn_t, stream);
  s3l_sconn_pool_t* pool = conn->pool;
  release(conn);
  pool->sockets--;
  if (pool->closing) /* the server waits for its last connection */
    s3l_loop_defer(pool->loop, &pool->work);
}

void s3l_sconn_close(s3l_sconn_t* conn) {
  s3l_sconn_pool_t* pool = conn->pool;
  if (conn->state == S3L_SCONN_CLOSING)
    return;
  S3L_ASSERT(conn->state != S3L_SCONN_OPEN);
  conn->state = S3L_SCONN_CLOSING;
  clear_deadline(conn);
  s3l_list_remove(&conn->link);
  s3l_list_remove(&conn->ready);
  pool->stats.connections--;
  s3l_stream_close(&conn->stream);
}

/* The exchange is the owner's no more. */
static void let_go(s3l_sconn_t* conn) {
  S3L_ASSERT(conn->state == S3L_SCONN_OPEN);
  if (conn->held)
    conn->pool->stats.held--;
  conn->held = false;
  conn->state = S3L_SCONN_QUEUED;
}

void s3l_sconn_gone(s3l_sconn_t* conn) {
  s3l_http_exchange_t* ex = &conn->exchange;
  void (*on_abort)(s3l_http_exchange_t*) = ex->on_abort;
  S3L_ASSERT(conn->held);
  conn->pool->stats.gone++;
  let_go(conn);
  s3l_sconn_close(conn);
  on_abort(ex);
}

/* Sees to it that the client gets the last answer: closing a socket with bytes unread resets the
 * connection, which can overtake what was sent. */
static void linger(s3l_sconn_t* conn) {
  if (conn->eof || conn->stream.ended) {
    s3l_sconn_close(conn);
    return;
  }
  conn->state = S3L_SCONN_LINGERING;
  move_to(conn, &conn->pool->lingering);
  conn->thrown_away = conn->rest_len;
  drop_rest(conn);
  set_deadline(conn, LINGER_MS);
  s3l_stream_shutdown(&conn->stream);
  s3l_stream_resume(&conn->stream);
}

/* ---- reading a request ---- */

static void await_request(s3l_sconn_t* conn, uint32_t ms, bool timed) {
  s3l_http1_start_request(&conn->request, conn->pool->options.max_body_bytes);
  conn->state = S3L_SCONN_READING;
  conn->timed = timed;
  move_to(conn, &conn->pool->idle);
  set_deadline(conn, ms);
}

static void start_reading(s3l_sconn_t* conn) {
  await_request(conn, conn->pool->options.header_time_ms, true);
}

/* Keeps what follows a request for its turn, and reads no further. Without memory for it the
 * connection ends with the answer. */
static void keep_rest(s3l_sconn_t* conn, const char* data, size_t n) {
  s3l_stream_pause(&conn->stream);
  S3L_ASSERT(conn->rest == NULL);
  conn->rest = s3l_malloc(n);
  if (conn->rest == NULL) {
    conn->request.keep_alive = conn->keep = false;
    return;
  }
  memcpy(conn->rest, data, n);
  conn->rest_len = n;
}

static void begin_request(s3l_sconn_t* conn) {
  conn->since_ns = s3l_clock_lease_ns();
  move_to(conn, &conn->pool->pending);
  if (!conn->timed)
    set_deadline(conn, conn->pool->options.header_time_ms);
  conn->timed = true;
}

static void queue_request(s3l_sconn_t* conn) {
  conn->pool->stats.requests++;
  conn->state = S3L_SCONN_QUEUED;
  clear_deadline(conn);
  move_to(conn, &conn->pool->busy);
  get_ready(conn);
}

static void feed(s3l_sconn_t* conn, const char* data, size_t n) {
  size_t used;
  if (!s3l_http1_begun(&conn->request))
    begin_request(conn);
  int rc = s3l_http1_feed(&conn->request, data, n, &used);
  if (rc == S3L_HTTP1_MORE)
    return;
  if (rc == S3L_HTTP1_DONE) {
    queue_request(conn);
    if (used < n)
      keep_rest(conn, data + used, n - used);
    return;
  }
  conn->pool->stats.bad_requests++;
  answer_error(conn, conn->request.answer);
}

/* ---- answering ---- */

static void answer_is_out(s3l_sconn_t* conn) {
  clear_deadline(conn);
  s3l_free(conn->answer);
  conn->answer = NULL;
  if (!conn->keep || conn->eof || conn->stream.ended || conn->pool->closing) {
    linger(conn);
    return;
  }
  await_request(conn, conn->pool->options.idle_time_ms, false);
  if (conn->rest != NULL)
    get_ready(conn);
}

static void write_answer(s3l_sconn_t* conn) {
  bool handed;
  conn->state = S3L_SCONN_WRITING;
  int rc = s3l_stream_write(&conn->stream, conn->answer, conn->answer_len, &handed);
  if (rc < 0) {
    s3l_sconn_close(conn);
  } else if (rc == S3L_STREAM_WRITTEN) {
    answer_is_out(conn);
  } else {
    conn->since_ns = s3l_clock_lease_ns();
    move_to(conn, &conn->pool->stalled);
  }
}

/* Takes the text over. Who answers a thousand held exchanges in one go does not block the loop with
 * it: those beyond the turn's measure are written in the next ones. */
static void send_text(s3l_sconn_t* conn, char* text, size_t len) {
  conn->state = S3L_SCONN_ANSWERED;
  conn->answer = text;
  conn->answer_len = len;
  set_deadline(conn, conn->pool->options.write_time_ms);
  if (conn->pool->may_write == 0) {
    get_ready(conn);
    return;
  }
  conn->pool->may_write--;
  write_answer(conn);
}

/* The time of day, for a header. */
static const char* date_of(s3l_sconn_pool_t* pool) {
  int64_t now_s = s3l_clock_wall_ms() / 1000;
  if (pool->date[0] == '\0' || now_s != pool->date_s) {
    pool->date_s = now_s;
    (void)s3l_time_format_http(now_s * 1000, pool->date);
  }
  return pool->date;
}

static int send_answer(s3l_sconn_t* conn, const s3l_http_answer_t* answer, bool keep) {
  const s3l_http_reply_to_t to = {.head = conn->request.method == S3L_HTTP_HEAD,
                                  .http10 = conn->request.http10,
                                  .close = !keep,
                                  .date = date_of(conn->pool)};
  char* text;
  size_t len;
  conn->keep = keep;
  int rc = s3l_http_reply_text(answer, &to, &text, &len);
  if (rc == 0)
    send_text(conn, text, len);
  return rc;
}

static int send_status(s3l_sconn_t* conn, int status, bool keep) {
  static const s3l_http_header_t allow = {{"Allow", 5}, {"GET, HEAD", 9}};
  char line[64];
  s3l_buf_t b;
  s3l_buf_init(&b, line, sizeof(line));
  s3l_buf_puts(&b, s3l_http_status_text(status));
  s3l_buf_putc(&b, '\n');
  const s3l_http_answer_t answer = {.status = status,
                                    .content_type = "text/plain",
                                    .headers = &allow,
                                    .headers_len = status == 405,
                                    .body = s3l_buf_span(&b)};
  int rc = send_answer(conn, &answer, keep);
  if (rc != 0)
    s3l_sconn_close(conn);
  return rc;
}

/* What the owner never hears of. */
static void answer_error(s3l_sconn_t* conn, int status) {
  move_to(conn, &conn->pool->busy);
  conn->request.keep_alive = false;
  (void)send_status(conn, status, false);
}

static bool may_keep(const s3l_sconn_t* conn) {
  return conn->request.keep_alive && !conn->eof && !conn->pool->closing;
}

int s3l_http_reply(s3l_http_exchange_t* ex, const s3l_http_answer_t* answer) {
  s3l_sconn_t* conn = S3L_CONTAINER_OF(ex, s3l_sconn_t, exchange);
  let_go(conn);
  int rc = send_answer(conn, answer, may_keep(conn) && !answer->close);
  if (rc == UV_EINVAL)
    (void)send_status(conn, 500, false);
  else if (rc != 0)
    s3l_sconn_close(conn);
  return rc;
}

int s3l_http_refuse(s3l_http_exchange_t* ex, int status) {
  s3l_sconn_t* conn = S3L_CONTAINER_OF(ex, s3l_sconn_t, exchange);
  let_go(conn);
  return send_status(conn, status, may_keep(conn));
}

bool s3l_http_client_is(const s3l_http_exchange_t* ex, const char* host) {
  const s3l_sconn_t* conn = S3L_CONTAINER_OF(ex, const s3l_sconn_t, exchange);
  return ex->verified && s3l_tls_peer_is(&conn->stream.engine, host);
}

int s3l_http_hold(s3l_http_exchange_t* ex, void (*on_abort)(s3l_http_exchange_t* ex)) {
  s3l_sconn_t* conn = S3L_CONTAINER_OF(ex, s3l_sconn_t, exchange);
  s3l_sconn_pool_t* pool = conn->pool;
  S3L_ASSERT(conn->state == S3L_SCONN_OPEN && !conn->held && on_abort != NULL);
  if (pool->stats.held >= pool->options.max_held)
    return UV_EBUSY;
  pool->stats.held++;
  conn->held = true;
  ex->on_abort = on_abort;
  return 0;
}

/* ---- its turn ---- */

static void open_exchange(s3l_sconn_t* conn) {
  s3l_sconn_pool_t* pool = conn->pool;
  conn->state = S3L_SCONN_OPEN;
  conn->exchange = (s3l_http_exchange_t){
      .server = pool->server, .request = &conn->request, .verified = conn->exchange.verified};
  pool->options.on_request(pool->server, &conn->exchange);
  if (conn->state != S3L_SCONN_OPEN)
    return;
  S3L_ASSERT(conn->held); /* else the owner has forgotten it */
  if (!conn->held)
    (void)s3l_http_refuse(&conn->exchange, 500);
  else if (conn->eof)
    s3l_sconn_gone(conn);
}

static void feed_rest(s3l_sconn_t* conn) {
  char* rest = conn->rest;
  size_t n = conn->rest_len;
  conn->rest = NULL;
  conn->rest_len = 0;
  feed(conn, rest, n);
  s3l_free(rest);
  if (conn->rest == NULL)
    s3l_stream_resume(&conn->stream);
}

void s3l_sconn_work(s3l_sconn_t* conn) {
  switch (conn->state) {
  case S3L_SCONN_READING:
    if (conn->rest != NULL)
      feed_rest(conn);
    break;
  case S3L_SCONN_QUEUED:
    if (conn->pool->closing)
      answer_error(conn, 503);
    else
      open_exchange(conn);
    break;
  case S3L_SCONN_ANSWERED:
    write_answer(conn);
    break;
  default:
    break; /* nothing is owed in the others */
  }
  s3l_stream_take(&conn->stream);
}

/* ---- what the stream tells ---- */

static void on_stream_due(s3l_stream_t* stream) {
  get_ready(S3L_CONTAINER_OF(stream, s3l_sconn_t, stream));
}

static void on_stream_ready(s3l_stream_t* stream) {
  s3l_sconn_t* conn = S3L_CONTAINER_OF(stream, s3l_sconn_t, stream);
  conn->exchange.verified = s3l_tls_peer_verified(&stream->engine);
  start_reading(conn);
}

static void on_stream_read(s3l_stream_t* stream, const char* data, size_t n) {
  s3l_sconn_t* conn = S3L_CONTAINER_OF(stream, s3l_sconn_t, stream);
  if (conn->state == S3L_SCONN_READING) {
    feed(conn, data, n);
  } else if (conn->state == S3L_SCONN_LINGERING) {
    conn->thrown_away += n;
    if (conn->thrown_away > LINGER_BYTES)
      s3l_sconn_close(conn);
  } else {
    keep_rest(conn, data, n);
  }
}

static void on_stream_written(s3l_stream_t* stream, int status) {
  s3l_sconn_t* conn = S3L_CONTAINER_OF(stream, s3l_sconn_t, stream);
  if (status != 0)
    s3l_sconn_close(conn);
  else
    answer_is_out(conn);
}

static bool is_owed_an_answer(const s3l_sconn_t* conn) {
  return conn->state == S3L_SCONN_QUEUED || conn->state == S3L_SCONN_ANSWERED ||
         conn->state == S3L_SCONN_WRITING;
}

static void on_stream_end(s3l_stream_t* stream, int status) {
  s3l_sconn_t* conn = S3L_CONTAINER_OF(stream, s3l_sconn_t, stream);
  conn->eof = status == UV_EOF;
  if (conn->state == S3L_SCONN_HANDSHAKING)
    conn->pool->stats.tls_failures++;
  if (conn->state == S3L_SCONN_OPEN)
    s3l_sconn_gone(conn);
  else if (!conn->eof || !is_owed_an_answer(conn))
    s3l_sconn_close(conn);
}

static void on_deadline(s3l_deadline_t* deadline) {
  s3l_sconn_t* conn = S3L_CONTAINER_OF(deadline, s3l_sconn_t, deadline);
  s3l_http_server_stats_t* stats = &conn->pool->stats;
  if (conn->state == S3L_SCONN_HANDSHAKING)
    stats->timeouts_tls++;
  else if (conn->state == S3L_SCONN_ANSWERED || conn->state == S3L_SCONN_WRITING)
    stats->timeouts_write++;
  else if (conn->state == S3L_SCONN_READING && !conn->timed)
    stats->timeouts_idle++;
  else if (conn->state == S3L_SCONN_READING)
    stats->timeouts_header++;
  if (conn->state == S3L_SCONN_READING && s3l_http1_begun(&conn->request))
    answer_error(conn, 408);
  else
    s3l_sconn_close(conn);
}

/* ---- its beginning ---- */

static s3l_sconn_t* create(s3l_sconn_pool_t* pool, const s3l_address_t* from) {
  size_t head_max = pool->options.max_header_bytes;
  s3l_sconn_t* conn = s3l_malloc(sizeof(*conn) + head_max); /* not cleared as a whole */
  if (conn == NULL)
    return NULL;
  s3l_http1_init(&conn->request, conn->head, head_max);
  conn->pool = pool;
  conn->from = *from;
  conn->state = S3L_SCONN_HANDSHAKING;
  conn->since_ns = s3l_clock_lease_ns();
  conn->timed = conn->held = conn->eof = conn->keep = false;
  conn->exchange = (s3l_http_exchange_t){.server = pool->server};
  conn->answer = conn->rest = NULL;
  conn->rest_len = 0;
  s3l_list_init(&conn->ready);
  s3l_deadline_init(&conn->deadline, on_deadline);
  s3l_loop_deadline_ref(pool->loop, &conn->deadline, !pool->options.background);
  conn->stream.loop = pool->loop;
  conn->stream.read_buf = pool->read_buf;
  conn->stream.on_due = on_stream_due;
  conn->stream.on_ready = on_stream_ready;
  conn->stream.on_read = on_stream_read;
  conn->stream.on_end = on_stream_end;
  conn->stream.on_written = on_stream_written;
  conn->stream.on_closed = on_stream_closed;
  return conn;
}

void s3l_sconn_open(s3l_sconn_pool_t* pool, uv_tcp_t* tcp, const s3l_address_t* from) {
  s3l_sconn_t* conn = create(pool, from);
  if (conn == NULL) {
    pool->stats.refused++;
    s3l_tcp_close(tcp, NULL);
    return;
  }
  pool->sockets++;
  pool->stats.connections++;
  s3l_list_push_back(&pool->pending, &conn->link);
  if (s3l_stream_open(&conn->stream, tcp, pool->tls, NULL) != 0) {
    pool->stats.refused++;
    s3l_sconn_close(conn);
    return;
  }
  pool->stats.accepted++;
  s3l_stream_ref(&conn->stream, !pool->options.background);
  if (pool->tls != NULL)
    set_deadline(conn, pool->options.tls_time_ms);
  else
    start_reading(conn);
}
