#include "credentials/process.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "credentials/reply.h"
#include "s3lect/errno.h"
#include "util/mem.h"

#define WORDS_MAX   64
#define COMMAND_MAX 8192
#define OUT_MAX     65536
#define ERR_MAX     512  /* of standard error, for the message */
#define LINGER_MS   1000 /* how long others may keep the output open after the program's end */

struct s3l_process_s {
  s3l_loop_t* loop;
  s3l_creds_cb ended;
  void* arg;
  s3l_buf_t* why;
  uv_process_t process;
  uv_pipe_t out_pipe;
  uv_pipe_t err_pipe;
  s3l_deadline_t deadline; /* of the program, later of its output */
  unsigned handles;        /* not yet closed */
  unsigned under_way;      /* the process and its two streams */
  bool exited;
  bool lingering; /* the deadline for the output has passed once */
  int error;      /* UV_ETIMEDOUT, S3LECT_ETOOBIG, UV_ECANCELED, or what reading returned */
  int64_t exit_status;
  int term_signal;
  size_t out_len;
  size_t err_len;
  uint32_t timeout_ms;
  char* words[WORDS_MAX + 1];
  char command[COMMAND_MAX];
  char err[ERR_MAX];
  char err_rest[512]; /* for what is not kept */
  char out[OUT_MAX];
};

/* ---- Words ---- */

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Copies the word at `from`, without its quotes, to `to`, which is at or before `from`. Returns the
 * end of the word, or NULL if a quote is not closed. */
static char* take_word(char* from, char* to) {
  char quote = '\0';
  for (; *from != '\0' && (quote != '\0' || !is_blank(*from)); from++) {
    if (*from == quote) {
      quote = '\0';
    } else if (quote == '\0' && (*from == '\'' || *from == '"')) {
      quote = *from;
    } else if (*from == '\\' && from[1] != '\0' &&
               (quote == '\0' || (quote == '"' && (from[1] == '"' || from[1] == '\\')))) {
      *to++ = *++from;
    } else {
      *to++ = *from;
    }
  }
  bool last = *from == '\0';
  *to = '\0'; /* may be where the blank was */
  return quote != '\0' ? NULL : last ? from : from + 1;
}

int s3l_process_split(char* command, char** words, int cap) {
  int n = 0;
  while (*command != '\0') {
    if (is_blank(*command)) {
      command++;
      continue;
    }
    if (n == cap)
      return -1;
    words[n++] = command;
    command = take_word(command, command);
    if (command == NULL)
      return -1;
  }
  words[n] = NULL;
  return n;
}

/* ---- The end ---- */

static int judge(const s3l_process_t* p, s3lect_credentials_t** creds) {
  s3l_buf_t* why = p->why;
  s3l_buf_puts(why, "credential_process ");
  if (p->error == UV_ECANCELED || p->error == UV_ENOMEM)
    return p->error;
  if (p->error == UV_ETIMEDOUT) {
    s3l_buf_printf(why, "did not end within %u ms", (unsigned)p->timeout_ms);
  } else if (p->error == S3LECT_ETOOBIG) {
    s3l_buf_puts(why, "printed more than 64 KiB");
  } else if (p->error != 0) {
    s3l_reply_put_shown(why, s3l_span_cstr(p->words[0]), 128); /* the rest may hold secrets */
    s3l_buf_printf(why, ": %s", s3lect_strerror(p->error));
  } else if (p->term_signal != 0) {
    s3l_buf_printf(why, "was ended by signal %d", p->term_signal);
  } else if (p->exit_status != 0) {
    s3l_buf_printf(why, "exited with status %d%s", (int)p->exit_status, p->err_len > 0 ? ": " : "");
    s3l_reply_put_shown(why, (s3l_span_t){p->err, p->err_len}, 200);
  } else {
    s3l_buf_puts(why, "ran, but ");
    return s3l_reply_process_json((s3l_span_t){p->out, p->out_len}, creds, why);
  }
  return S3LECT_ECREDENTIALS;
}

static void on_handle_closed(uv_handle_t* handle) {
  s3l_process_t* p = handle->data;
  s3lect_credentials_t* creds = NULL;
  if (--p->handles > 0)
    return;
  s3l_creds_cb ended = p->ended;
  void* arg = p->arg;
  int status = judge(p, &creds);
  s3l_wipe(p, sizeof(*p));
  s3l_free(p);
  ended(arg, status, creds);
}

static void close_handle(void* handle) {
  if (!uv_is_closing(handle))
    uv_close(handle, on_handle_closed);
}

static void close_all(s3l_process_t* p) {
  close_handle(&p->out_pipe);
  close_handle(&p->err_pipe);
  s3l_loop_deadline_clear(p->loop, &p->deadline);
  if (!uv_is_active((uv_handle_t*)&p->process))
    close_handle(&p->process); /* else on_exit does it: a closed handle would leave a zombie */
}

/* Kills the program's group: the program and what it started. */
static void kill_all(s3l_process_t* p, int error) {
  if (p->error == 0)
    p->error = error;
  if (uv_is_active((uv_handle_t*)&p->process))
    (void)uv_kill(-p->process.pid, SIGKILL);
  close_all(p);
}

static void part_over(s3l_process_t* p) {
  if (--p->under_way == 0)
    close_all(p);
}

/* ---- What happens ---- */

static void on_exit(uv_process_t* process, int64_t exit_status, int term_signal) {
  s3l_process_t* p = process->data;
  p->exit_status = exit_status;
  p->term_signal = term_signal;
  if (p->error != 0) {
    close_handle(process);
    return;
  }
  p->exited = true;
  part_over(p);
  if (p->under_way > 0)
    s3l_loop_deadline_set(p->loop, &p->deadline, s3l_clock_in_ms(LINGER_MS));
}

/* The program took too long. Or it has exited, and others keep its output open: what it wrote is
 * read within one turn of the loop, but the loop may just have been held up, so there is one more
 * turn. Then its group is not killed: the group's number may belong to another one by now. */
static void on_deadline(s3l_deadline_t* deadline) {
  s3l_process_t* p = S3L_CONTAINER_OF(deadline, s3l_process_t, deadline);
  if (!p->exited)
    kill_all(p, UV_ETIMEDOUT);
  else if (p->lingering)
    close_all(p);
  else
    s3l_loop_deadline_set(p->loop, deadline, s3l_clock_in_ms(1));
  p->lingering = p->exited;
}

static void out_space(uv_handle_t* handle, size_t suggested, uv_buf_t* buf) {
  s3l_process_t* p = handle->data;
  (void)suggested;
  *buf = (uv_buf_t){.base = p->out + p->out_len, .len = sizeof(p->out) - p->out_len};
}

static void on_out(uv_stream_t* stream, ssize_t n, const uv_buf_t* buf) {
  s3l_process_t* p = stream->data;
  (void)buf;
  if (n > 0) {
    p->out_len += (size_t)n;
    if (p->out_len == sizeof(p->out))
      kill_all(p, S3LECT_ETOOBIG);
  } else if (n == UV_EOF) {
    (void)uv_read_stop(stream);
    part_over(p);
  } else if (n < 0) {
    kill_all(p, (int)n);
  }
}

static void err_space(uv_handle_t* handle, size_t suggested, uv_buf_t* buf) {
  s3l_process_t* p = handle->data;
  (void)suggested;
  size_t left = sizeof(p->err) - p->err_len;
  *buf = left > 0 ? (uv_buf_t){.base = p->err + p->err_len, .len = left}
                  : (uv_buf_t){.base = p->err_rest, .len = sizeof(p->err_rest)};
}

static void on_err(uv_stream_t* stream, ssize_t n, const uv_buf_t* buf) {
  s3l_process_t* p = stream->data;
  if (n > 0 && buf->base != p->err_rest)
    p->err_len += (size_t)n;
  if (n < 0) { /* the end of the stream, or an error, which does no harm */
    (void)uv_read_stop(stream);
    part_over(p);
  }
}

/* ---- The start ---- */

static void init_handles(s3l_process_t* p) {
  (void)uv_pipe_init(s3l_loop_uv(p->loop), &p->out_pipe, 0); /* neither can fail */
  (void)uv_pipe_init(s3l_loop_uv(p->loop), &p->err_pipe, 0);
  s3l_deadline_init(&p->deadline, on_deadline);
  p->process.data = p->out_pipe.data = p->err_pipe.data = p;
  p->handles = 3;
  p->under_way = 3;
}

static int spawn(s3l_process_t* p) {
  uv_stdio_container_t stdio[3] = {
      {.flags = UV_IGNORE},
      {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t*)&p->out_pipe},
      {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t*)&p->err_pipe}};
  const uv_process_options_t options = {.exit_cb = on_exit,
                                        .file = p->words[0],
                                        .args = p->words,
                                        .stdio = stdio,
                                        .stdio_count = 3,
                                        .flags = UV_PROCESS_DETACHED | UV_PROCESS_WINDOWS_HIDE};
  int err = uv_spawn(s3l_loop_uv(p->loop), &p->process, &options);
  if (err == 0)
    err = uv_read_start((uv_stream_t*)&p->out_pipe, out_space, on_out);
  if (err == 0)
    err = uv_read_start((uv_stream_t*)&p->err_pipe, err_space, on_err);
  s3l_loop_deadline_set(p->loop, &p->deadline, s3l_clock_in_ms(p->timeout_ms));
  return err;
}

int s3l_process_start(s3l_loop_t* loop, s3l_span_t command, uint32_t timeout_ms, s3l_creds_cb ended,
                      void* arg, s3l_buf_t* why, s3l_process_t** out) {
  s3l_process_t* p = s3l_calloc(1, sizeof(*p));
  if (p == NULL) {
    s3l_buf_puts(why, s3lect_strerror(UV_ENOMEM));
    return UV_ENOMEM;
  }
  p->loop = loop;
  p->ended = ended;
  p->arg = arg;
  p->why = why;
  p->timeout_ms = timeout_ms;
  bool fits = s3l_span_copy(command, p->command, sizeof(p->command));
  int n = fits ? s3l_process_split(p->command, p->words, WORDS_MAX) : 0;
  if (n > 0) {
    init_handles(p);
    int err = spawn(p);
    if (err != 0) /* `ended` says so, when the handles are closed */
      kill_all(p, err);
    *out = p;
    return 0;
  }
  s3l_buf_printf(why, "credential_process %s",
                 !fits   ? "is too long"
                 : n < 0 ? "has an open quote, or too many words"
                         : "is empty");
  s3l_wipe(p, sizeof(*p));
  s3l_free(p);
  return S3LECT_ECREDENTIALS;
}

void s3l_process_cancel(s3l_process_t* p) {
  kill_all(p, UV_ECANCELED);
}
