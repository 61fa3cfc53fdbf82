/* The HTTP server's connections: whatever a client sends, and in whatever pieces it arrives, each
 * request gets its own answer, in order, and the same bytes.
 *
 * Input: one byte of flags (LEAVES, ...), two bytes that seed the cuts, then what the client sends.
 * The second character of a path chooses what the owner does with the request (on_request below).
 * The client's side is one end of a socket pair; the server's own code begins where net/listen.c
 * ends. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "http/server.h"
#include "http/server_conn.h"
#include "net/listen.h"
#include "net/tcp.h"
#include "util/mem.h"
#include "util/prng.h"

enum {
  LEAVES = 1,     /* the client shuts down its side while a request is held */
  CLOSES = 2,     /* the server is closed while a request is held */
  SMALL_HEAD = 4, /* the limits of heads and bodies are low */
};

#define INPUT_MAX    16384
#define REQUESTS_MAX 4096 /* the shortest takes 18 bytes */
#define IDLE_TURNS   3    /* of the loop, without anything done: nothing is left to do */
#define TURNS_MAX    200000
#define LARGE        40000

typedef struct run_s {
  uv_loop_t loop;
  s3l_listener_t* listener;
  s3l_http_server_t* server;
  const s3l_sconn_pool_t* pool;
  s3l_prng_t* cuts; /* NULL: in one piece */
  uint8_t flags;
  bool closed;

  int fd; /* the client's; -1: closed */
  bool ended;
  bool ended_first; /* before the client ended its side */
  char* text;       /* what the client got, without the dates */
  size_t text_len, text_cap;

  s3l_http_exchange_t* held;
  size_t requests, ends, aborts, answers;
  bool head[REQUESTS_MAX];
  uint64_t path_hash;
} run_t;

static run_t* current; /* the listener's functions have no argument for it */
static char large[LARGE];

/* ---- in the place of net/listen.c ---- */

bool s3l_listen_parse(s3l_span_t text, s3l_address_t* out, const char** reason) {
  (void)text;
  (void)reason;
  return s3l_address_parse("127.0.0.1", 1, out);
}

int s3l_listen_open(s3l_listener_t* l, const s3l_address_t* address) {
  l->address = *address;
  return 0;
}

int s3l_listen_start(s3l_listener_t* l, s3l_loop_t* loop) {
  l->loop = loop;
  current->listener = l;
  return 0;
}

void s3l_listen_drop(s3l_listener_t* l) {
  (void)l;
}

void s3l_listen_ref(s3l_listener_t* l, bool keep_alive) {
  (void)l;
  (void)keep_alive;
}

void s3l_listen_close(s3l_listener_t* l) {
  l->on_closed(l);
}

static void connect_client(run_t* r) {
  int pair[2];
  s3l_address_t from;
  FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  FUZZ_CHECK(fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0 && fcntl(pair[1], F_SETFL, O_NONBLOCK) == 0);
  r->fd = pair[0];
  FUZZ_CHECK(s3l_address_parse("127.0.0.1", 2, &from) && r->listener->admit(r->listener, &from));
  uv_tcp_t* tcp = s3l_tcp_new(&r->loop);
  FUZZ_CHECK(tcp != NULL && uv_tcp_nodelay(tcp, 0) == 0 && uv_tcp_open(tcp, pair[1]) == 0);
  r->listener->on_accept(r->listener, tcp, &from);
}

/* ---- the owner ---- */

static void on_abort(s3l_http_exchange_t* ex) {
  FUZZ_CHECK(ex == current->held);
  current->held = NULL;
  current->aborts++;
  current->ends++;
}

/* Says which request it is for, and repeats the path. */
static void answer(run_t* r, s3l_http_exchange_t* ex, char how) {
  char number[24];
  (void)snprintf(number, sizeof(number), "%zu", r->ends);
  s3l_http_header_t header = {S3L_SPAN("X-Number"), s3l_span_cstr(number)};
  if (how == 'e')
    header.value = S3L_SPAN("a\r\nb");
  s3l_http_answer_t a = {.status = how == 'n' ? 204 : 200,
                         .headers = &header,
                         .headers_len = 1,
                         .body = ex->request->path,
                         .close = how == 'c'};
  if (how == 'l')
    a.body = (s3l_span_t){large, sizeof(large)};
  int rc = s3l_http_reply(ex, &a);
  FUZZ_CHECK(rc == (how == 'e' ? UV_EINVAL : 0));
  r->ends++;
}

static void on_request(s3l_http_server_t* server, s3l_http_exchange_t* ex) {
  run_t* r = s3l_http_server_data(server);
  s3l_span_t path = ex->request->path;
  char how = path.n > 1 ? path.p[1] : '\0';
  FUZZ_CHECK(r->held == NULL && r->ends == r->requests && r->requests < REQUESTS_MAX);
  r->head[r->requests++] = ex->request->method == S3L_HTTP_HEAD;
  for (size_t i = 0; i < path.n; i++)
    r->path_hash = (r->path_hash ^ (uint8_t)path.p[i]) * 0x100000001b3u;
  if (how == 'h') {
    r->held = ex;
    FUZZ_CHECK(s3l_http_hold(ex, on_abort) == 0);
  } else if (how == 'r') {
    FUZZ_CHECK(s3l_http_refuse(ex, 404) == 0);
    r->ends++;
  } else {
    answer(r, ex, how);
  }
}

static void on_closed(void* arg) {
  ((run_t*)arg)->closed = true;
}

/* ---- the client ---- */

static void keep_text(run_t* r, const char* data, size_t n) {
  if (r->text_len + n > r->text_cap) {
    r->text_cap = 2 * r->text_cap + n + 1024;
    r->text = realloc(r->text, r->text_cap);
    FUZZ_CHECK(r->text != NULL);
  }
  memcpy(r->text + r->text_len, data, n);
  r->text_len += n;
}

/* True if there was anything. */
static bool receive(run_t* r) {
  static char buf[65536];
  if (r->ended)
    return false;
  ssize_t n = recv(r->fd, buf, sizeof(buf), 0);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
    return false;
  r->ended = n <= 0;
  if (n > 0)
    keep_text(r, buf, (size_t)n);
  return true;
}

/* Runs the loop until nothing is left to do but to wait for the owner or the client. */
static void settle(run_t* r) {
  int idle = 0;
  for (int turn = 0; idle < IDLE_TURNS; turn++) {
    size_t before = r->requests + r->ends;
    FUZZ_CHECK(turn < TURNS_MAX);
    (void)uv_run(&r->loop, UV_RUN_NOWAIT);
    bool moved = receive(r) || r->requests + r->ends != before;
    bool owes = !s3l_list_empty(&r->pool->ready) || !s3l_list_empty(&r->pool->stalled);
    idle = moved || owes ? 0 : idle + 1;
  }
}

static void answer_held(run_t* r) {
  s3l_http_exchange_t* ex = r->held;
  r->held = NULL;
  answer(r, ex, '\0');
  settle(r);
}

/* Sends a piece; once the server is closed to more, the rest is dropped. */
static void send_piece(run_t* r, s3l_span_t piece) {
  while (piece.n > 0 && !r->ended) {
    ssize_t n = send(r->fd, piece.p, piece.n, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
      return;
    if (n < 0)
      settle(r);
    else
      piece = (s3l_span_t){piece.p + n, piece.n - (size_t)n};
  }
}

static void send_all(run_t* r, s3l_span_t text) {
  while (text.n > 0) {
    size_t n = r->cuts == NULL ? text.n : 1 + (size_t)s3l_prng_below(r->cuts, 48);
    n = n < text.n ? n : text.n;
    send_piece(r, (s3l_span_t){text.p, n});
    text = (s3l_span_t){text.p + n, text.n - n};
    if (r->cuts != NULL)
      (void)uv_run(&r->loop, UV_RUN_NOWAIT);
  }
  settle(r);
}

static void talk(run_t* r, s3l_span_t text) {
  send_all(r, text);
  while (r->held != NULL && (r->flags & (LEAVES | CLOSES)) == 0)
    answer_held(r);
  r->ended_first = r->ended;
  if ((r->flags & CLOSES) == 0) {
    (void)shutdown(r->fd, SHUT_WR);
    settle(r);
  }
  if ((r->flags & LEAVES) != 0)
    while (r->held != NULL) /* more requests behind it keep the server from noticing */
      answer_held(r);
  FUZZ_CHECK((r->flags & CLOSES) != 0 || r->pool->stats.connections == 0);
}

/* ---- what must hold ---- */

static void drop_date(char* text, size_t* n) {
  static const char mark[] = "\r\nDate: ";
  char* p = memmem(text, *n, mark, sizeof(mark) - 1);
  FUZZ_CHECK(p != NULL);
  char* end = memmem(p + 2, *n - (size_t)(p + 2 - text), "\r\n", 2);
  FUZZ_CHECK(end != NULL && end - p == (ptrdiff_t)sizeof(mark) - 1 + 29);
  memmove(p, end, *n - (size_t)(end - text));
  *n -= (size_t)(end - p);
}

static size_t number_of(const s3l_http1_t* reply) {
  uint64_t number = SIZE_MAX;
  for (size_t i = 0; i < reply->headers_len; i++)
    if (s3l_span_eq(reply->headers[i].name, S3L_SPAN("X-Number")))
      FUZZ_CHECK(s3l_span_to_u64(reply->headers[i].value, &number));
  return (size_t)number;
}

/* The answers, one behind the other: one for each request, and at most one of the server's own,
 * which is the last. Leaves the dates and that last one out of the text. */
static void check_answers(run_t* r) {
  static char head[8192 + LARGE];
  size_t at = 0;
  bool last = false;
  while (at < r->text_len) {
    s3l_http1_t reply;
    size_t used = 0;
    FUZZ_CHECK(!last && r->answers <= r->requests);
    size_t left = r->text_len - at;
    drop_date(r->text + at, &left);
    r->text_len = at + left;
    s3l_http1_init(&reply, head, sizeof(head));
    s3l_http1_start_reply(&reply, r->answers < r->requests && r->head[r->answers], LARGE + 1024);
    int rc = s3l_http1_feed(&reply, r->text + at, left, &used);
    if (rc == S3L_HTTP1_MORE && r->answers == r->requests) { /* of a broken HEAD request */
      s3l_http1_start_reply(&reply, true, 0);
      rc = s3l_http1_feed(&reply, r->text + at, left, &used);
    }
    FUZZ_CHECK(rc == S3L_HTTP1_DONE);
    size_t number = number_of(&reply);
    FUZZ_CHECK(number == SIZE_MAX || (number == r->answers && r->answers < r->requests));
    FUZZ_CHECK(number != SIZE_MAX || reply.status >= 400);
    last = !reply.keep_alive;
    FUZZ_CHECK(r->answers < r->requests || last);
    at += used;
    r->answers++;
    s3l_http1_free(&reply);
    if (r->answers > r->requests) {
      FUZZ_CHECK(at == r->text_len);
      r->text_len -= used; /* of several faults, pieces may show another first */
      break;
    }
  }
  FUZZ_CHECK(!r->ended_first || last); /* the client was told that this answer ends it */
  FUZZ_CHECK(r->answers + r->aborts + (r->held != NULL) >= r->requests);
  FUZZ_CHECK(r->answers + r->aborts <= r->requests + r->pool->stats.bad_requests);
}

static void run(run_t* r, uint8_t flags, s3l_prng_t* cuts, s3l_span_t text) {
  const bool small = (flags & SMALL_HEAD) != 0;
  const s3l_http_server_options_t options = {.listen = "127.0.0.1:1",
                                             .on_request = on_request,
                                             .data = r,
                                             .max_header_bytes = small ? 256 : 0,
                                             .max_body_bytes = small ? 16 : 0};
  memset(r, 0, sizeof(*r));
  r->flags = flags;
  r->cuts = cuts;
  current = r;
  FUZZ_CHECK(uv_loop_init(&r->loop) == 0);
  FUZZ_CHECK(s3l_http_server_create(&r->loop, &options, &r->server) == 0);
  r->pool = (const s3l_sconn_pool_t*)r->server; /* its first member */
  connect_client(r);
  talk(r, text);
  check_answers(r);
  s3l_http_server_close(r->server, 0, on_closed, r);
  while (!r->closed)
    (void)uv_run(&r->loop, UV_RUN_ONCE);
  FUZZ_CHECK(r->held == NULL && r->ends == r->requests);
  FUZZ_CHECK(close(r->fd) == 0);
  (void)uv_run(&r->loop, UV_RUN_DEFAULT);
  FUZZ_CHECK(uv_loop_close(&r->loop) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static run_t whole, pieces;
  fuzz_input_t in = {data, size};
  s3l_prng_t cuts;
  uint8_t flags = fuzz_u8(&in);
  s3l_prng_seed(&cuts, fuzz_uint(&in, 2));
  if (in.n > INPUT_MAX)
    return 0;
  memset(large, 'x', sizeof(large));
  run(&whole, flags, NULL, fuzz_rest(&in));
  run(&pieces, flags, &cuts, fuzz_rest(&in));
  FUZZ_CHECK(whole.requests == pieces.requests && whole.aborts == pieces.aborts);
  FUZZ_CHECK(whole.answers == pieces.answers);
  FUZZ_CHECK(whole.path_hash == pieces.path_hash && whole.text_len == pieces.text_len);
  FUZZ_CHECK(whole.text_len == 0 || memcmp(whole.text, pieces.text, whole.text_len) == 0);
  free(whole.text);
  free(pieces.text);
  return 0;
}
