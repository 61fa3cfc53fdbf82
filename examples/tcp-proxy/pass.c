#include "pass.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "header.h"
#include "proxy.h"

/* After so many full blocks it is another connection's turn. */
#define TURN_BLOCKS 16
/* A full block was read: there is much to say, and the kernel moves it (tube.h). Until it is less
 * than this at once, when reading is as cheap. */
#define TUBE_WORTH (16 * 1024)

typedef enum { STEP_AGAIN, STEP_WAIT, STEP_OVER } step_t;

static void finish(pass_t* pass, pass_end_t why) {
  if (pass->over)
    return;
  if (why != PASS_FENCED)
    pass_stop(pass);
  pass->cb(pass, why);
}

static bool may_write(const pass_t* pass, const way_t* way) {
  return way != &pass->up || !pass->leading || proxy_leads(pass->proxy, pass->epoch);
}

static bool would_block(void) {
  return errno == EAGAIN || errno == EINTR;
}

static void count(pass_t* pass, const way_t* way, size_t n) {
  *way->count += n;
  pass->moved += n;
}

/* Passes on what the block holds. */
static step_t write_block(pass_t* pass, way_t* way, buffer_t* block) {
  while (block->at < block->end) {
    if (!may_write(pass, way)) {
      finish(pass, PASS_FENCED);
      return STEP_OVER;
    }
    ssize_t n = send(way->to->fd, block->bytes + block->at, block->end - block->at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0 && errno == EAGAIN)
      return STEP_WAIT;
    if (n < 0) {
      finish(pass, PASS_BROKEN);
      return STEP_OVER;
    }
    block->at += (size_t)n;
    count(pass, way, (size_t)n);
  }
  return STEP_AGAIN;
}

static step_t write_rest(pass_t* pass, way_t* way) {
  step_t step = write_block(pass, way, way->rest);
  if (step == STEP_AGAIN) {
    buffer_give(&pass->proxy->buffers, way->rest);
    way->rest = NULL;
  }
  return step;
}

static step_t pour_tube(pass_t* pass, way_t* way) {
  while (way->tube->held > 0) {
    if (!may_write(pass, way)) {
      finish(pass, PASS_FENCED);
      return STEP_OVER;
    }
    ssize_t n = tube_pour(way->tube, way->to->fd);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0 && errno == EAGAIN)
      return STEP_WAIT;
    if (n <= 0) {
      finish(pass, PASS_BROKEN);
      return STEP_OVER;
    }
    count(pass, way, (size_t)n);
  }
  tube_give(&pass->proxy->tubes, way->tube);
  way->tube = NULL;
  return STEP_AGAIN;
}

static step_t read_block(pass_t* pass, way_t* way);

static step_t fill_tube(pass_t* pass, way_t* way) {
  tube_t* tube = tube_take(&pass->proxy->tubes);
  if (tube == NULL) {
    way->much = false;
    return read_block(pass, way);
  }
  end_expect_much(way->from);
  ssize_t n = tube_fill(tube, way->from->fd);
  if (n > 0) {
    way->tube = tube;
    way->much = n >= TUBE_WORTH;
    return pour_tube(pass, way);
  }
  bool later = n < 0 && would_block(); /* before another call sets errno */
  tube_give(&pass->proxy->tubes, tube);
  if (n == 0) {
    way->ended = true;
    return STEP_AGAIN;
  }
  if (later)
    return STEP_WAIT;
  finish(pass, PASS_BROKEN);
  return STEP_OVER;
}

static step_t pass_end_on(pass_t* pass, way_t* way) {
  if (!may_write(pass, way)) {
    finish(pass, PASS_FENCED);
    return STEP_OVER;
  }
  (void)shutdown(way->to->fd, SHUT_WR); /* fails where the other way has failed, which tells */
  way->shut = true;
  if (!pass->up.shut || !pass->down.shut)
    return STEP_WAIT;
  finish(pass, PASS_FINISHED);
  return STEP_OVER;
}

/* Whether what the client has sent so far is a header that only proxies send. */
static bool is_peers(pass_t* pass, const uint8_t* bytes, size_t len) {
  size_t n = len < HEADER_MAX - pass->first_len ? len : HEADER_MAX - pass->first_len;
  memcpy(pass->first + pass->first_len, bytes, n);
  pass->first_len += n;
  first_bytes_t kind = header_look(pass->first, pass->first_len);
  pass->inspect = kind == FIRST_BYTES_MORE;
  return kind == FIRST_BYTES_PEERS;
}

static step_t read_block(pass_t* pass, way_t* way) {
  buffers_t* buffers = &pass->proxy->buffers;
  buffer_t* block = buffer_take(buffers);
  if (block == NULL) {
    finish(pass, PASS_NO_MEMORY);
    return STEP_OVER;
  }
  ssize_t n = recv(way->from->fd, block->bytes, buffers->size, 0);
  step_t step = STEP_WAIT;
  if (n < 0 && !would_block()) {
    finish(pass, PASS_BROKEN);
    step = STEP_OVER;
  } else if (n == 0) {
    way->ended = true;
    step = STEP_AGAIN;
  } else if (n > 0 && way == &pass->up && pass->inspect &&
             is_peers(pass, block->bytes, (size_t)n)) {
    finish(pass, PASS_FROM_PEER);
    step = STEP_OVER;
  } else if (n > 0) {
    block->end = (size_t)n;
    way->much = (size_t)n == buffers->size;
    step = write_block(pass, way, block);
    if (step == STEP_WAIT) {
      way->rest = block;
      return STEP_WAIT;
    }
    /* Less than there was room for: there is no more now, and a read to find that out is saved. */
    if (step == STEP_AGAIN && (size_t)n < buffers->size)
      step = STEP_WAIT;
  }
  buffer_give(buffers, block);
  return step;
}

/* Serves one way for as long as it can go on, or until its turn is over. */
static step_t serve(pass_t* pass, way_t* way) {
  step_t step = STEP_AGAIN;
  for (int i = 0; step == STEP_AGAIN && i < TURN_BLOCKS; i++) {
    if (way->closed || way->shut)
      step = STEP_WAIT;
    else if (way->rest != NULL)
      step = write_rest(pass, way);
    else if (way->tube != NULL)
      step = pour_tube(pass, way);
    else if (way->ended)
      step = pass_end_on(pass, way);
    else if (way->much)
      step = fill_tube(pass, way);
    else
      step = read_block(pass, way);
  }
  return step;
}

static void on_ready(end_t* end, int error, int events);

static bool holds(const way_t* way) {
  return way->rest != NULL || way->tube != NULL;
}

static int wanted(const way_t* out, const way_t* in) {
  int events = 0;
  if (!out->closed && !out->ended && !holds(out))
    events |= UV_READABLE;
  if (!in->closed && (holds(in) || (in->ended && !in->shut)))
    events |= UV_WRITABLE;
  return events;
}

/* One of which nothing is wanted may still fail, and the other side need not move for that to
 * matter: so urgent data is waited for, which nobody sends, and with it comes the failure. Once. */
static void watch_end(end_t* end, int events) {
  end_watch(end, events == 0 && !end->told ? UV_PRIORITIZED : events, on_ready);
}

static void watch(pass_t* pass) {
  watch_end(pass->up.from, wanted(&pass->up, &pass->down));
  watch_end(pass->up.to, wanted(&pass->down, &pass->up));
}

static void drop_rest(pass_t* pass, way_t* way) {
  way->closed = true;
  if (way->rest != NULL)
    buffer_give(&pass->proxy->buffers, way->rest);
  if (way->tube != NULL)
    tube_give(&pass->proxy->tubes, way->tube);
  way->rest = NULL;
  way->tube = NULL;
}

/* What it had said before may still go the other way, for as long as it does go (conn.c). */
static void end_failed(pass_t* pass, end_t* end, way_t* to_it) {
  end->told = pass->failed = true;
  drop_rest(pass, to_it);
}

static void on_ready(end_t* end, int error, int events) {
  pass_t* pass = (pass_t*)end->pass;
  way_t* out = end == pass->up.from ? &pass->up : &pass->down;
  way_t* in = out == &pass->up ? &pass->down : &pass->up;
  if ((events & UV_WRITABLE) != 0 && serve(pass, in) == STEP_OVER)
    return;
  /* What had come before an error is passed on; then the error itself is read. */
  if (((events & UV_READABLE) != 0 || error) && serve(pass, out) == STEP_OVER)
    return;
  if (error && !holds(out)) {
    finish(pass, PASS_BROKEN);
    return;
  }
  if (error)
    end_failed(pass, end, in);
  end->told |= (events & UV_PRIORITIZED) != 0;
  watch(pass);
}

void pass_start(pass_t* pass, struct proxy_s* proxy, end_t* client, end_t* upstream, uint8_t* head,
                size_t head_len, pass_cb cb) {
  pass->proxy = proxy;
  pass->cb = cb;
  pass->over = pass->failed = false;
  pass->moved = 0;
  pass->up = (way_t){.from = client, .to = upstream, .count = &proxy->counters.bytes_up};
  pass->down = (way_t){.from = upstream, .to = client, .count = &proxy->counters.bytes_down};
  client->pass = upstream->pass = pass;
  client->told = upstream->told = false;
  if (head_len > 0) {
    buffer_t* block = buffer_take(&proxy->buffers);
    if (block == NULL) {
      finish(pass, PASS_NO_MEMORY);
      return;
    }
    memcpy(block->bytes, head, head_len);
    block->end = head_len;
    pass->up.rest = block;
  }
  pass->first = head;
  pass->first_len = 0;
  /* What the client has sent meanwhile, at once. */
  if (serve(pass, &pass->up) != STEP_OVER)
    watch(pass);
}

void pass_drain(pass_t* pass) {
  drop_rest(pass, &pass->up);
  pass->up.shut = true; /* so that the end of the other way is the end of all */
  watch(pass);
}

void pass_stop(pass_t* pass) {
  if (pass->over)
    return;
  pass->over = true;
  drop_rest(pass, &pass->up);
  drop_rest(pass, &pass->down);
  end_watch(pass->up.from, 0, on_ready);
  end_watch(pass->up.to, 0, on_ready);
}
