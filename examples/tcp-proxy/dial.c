#include "dial.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

bool dial_is_local_error(int err) {
  return err == UV_EMFILE || err == UV_ENFILE || err == UV_ENOBUFS || err == UV_ENOMEM ||
         err == UV_EADDRNOTAVAIL;
}

static void finish(dial_t* dial, int err) {
  (void)uv_timer_stop(&dial->timer);
  end_watch(&dial->end, 0, dial->end.cb);
  dial->cb(dial, err);
}

static void on_timeout(uv_timer_t* timer) {
  finish((dial_t*)((char*)timer - offsetof(dial_t, timer)), UV_ETIMEDOUT);
}

static dial_t* dial_of(end_t* end) {
  return (dial_t*)((char*)end - offsetof(dial_t, end));
}

/* Of the answer, and not a byte more: what follows belongs to the client. */
static void on_answer(end_t* end, int error, int events) {
  dial_t* dial = dial_of(end);
  answer_t answer;
  (void)events;
  ssize_t n = recv(end->fd, dial->in + dial->in_len, ANSWER_SIZE - dial->in_len, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR) && !error)
    return;
  if (n <= 0) {
    finish(dial, n == 0 ? UV_EPROTO : uv_translate_sys_error(errno));
    return;
  }
  dial->in_len += (size_t)n;
  if (dial->in_len < ANSWER_SIZE)
    return;
  if (!answer_read(dial->in, &answer))
    finish(dial, UV_EPROTO);
  else
    finish(dial, answer.status == ANSWER_LEADS && answer.epoch >= dial->epoch ? 0 : UV_EAGAIN);
}

static void on_connected(end_t* end, int error, int events) {
  dial_t* dial = dial_of(end);
  int err = 0;
  socklen_t len = sizeof err;
  (void)events;
  if (getsockopt(end->fd, SOL_SOCKET, SO_ERROR, &err, &len) != 0)
    err = errno;
  if (err != 0 || error) {
    finish(dial, err != 0 ? uv_translate_sys_error(err) : UV_ECONNRESET);
    return;
  }
  if (!dial->asks) {
    finish(dial, 0);
    return;
  }
  /* A new connection's buffer takes it as a whole. */
  if (send(end->fd, dial->out, dial->out_len, MSG_NOSIGNAL) != (ssize_t)dial->out_len)
    finish(dial, UV_ECONNRESET);
  else
    end_watch(end, UV_READABLE, on_answer);
}

int dial_start(dial_t* dial, uv_loop_t* loop, void* owner, const addr_t* to, uint32_t timeout_ms,
               const header_t* header, dial_cb cb) {
  int fd = socket(to->sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return -errno;
  if (connect(fd, (const struct sockaddr*)&to->sa, to->len) != 0 && errno != EINPROGRESS) {
    int err = -errno;
    close(fd);
    return err;
  }
  dial->cb = cb;
  dial->asks = header != NULL;
  dial->in_len = 0;
  if (header != NULL) {
    dial->epoch = header->epoch;
    dial->out_len = header_write(header, dial->out);
  }
  int err = end_open(&dial->end, loop, fd, owner);
  if (err != 0)
    return err;
  end_tune(&dial->end, to);
  (void)uv_timer_init(loop, &dial->timer); /* asks the system for nothing */
  dial->timer.data = owner;
  (void)uv_timer_start(&dial->timer, on_timeout, timeout_ms, 0);
  end_watch(&dial->end, UV_WRITABLE, on_connected);
  return 0;
}

void dial_close(dial_t* dial, bool reset, uv_close_cb cb) {
  end_close(&dial->end, reset, cb);
  uv_close((uv_handle_t*)&dial->timer, cb);
}
