#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "session.h"
#include "text.h"

typedef struct elect_s {
  cli_session_t session;
  uv_pipe_t acks; /* --stop-ack: standard input, a line with an epoch for each leadership's end */
  uint64_t epoch; /* of the line so far */
  bool valid;     /* the line is a number so far */
  char bytes[256];
} elect_t;

/* ---- --stop-ack ---- */

static void on_space(uv_handle_t* handle, size_t suggested, uv_buf_t* buf) {
  elect_t* elect = handle->data;
  (void)suggested;
  *buf = uv_buf_init(elect->bytes, sizeof elect->bytes);
}

static void on_byte(elect_t* elect, char c) {
  if (c >= '0' && c <= '9' && elect->epoch < UINT64_MAX / 10) {
    elect->epoch = elect->epoch * 10 + (uint64_t)(c - '0');
  } else if (c == '\n') {
    if (elect->valid)
      s3lect_elector_ack(&elect->session.elector, elect->epoch);
    else
      cli_say("--stop-ack: a line on standard input is not an epoch, and was ignored");
    elect->epoch = 0;
    elect->valid = true;
  } else {
    elect->valid = false;
  }
}

static void on_bytes(uv_stream_t* stream, ssize_t n, const uv_buf_t* buf) {
  (void)buf;
  for (ssize_t i = 0; i < n; i++)
    on_byte(stream->data, ((elect_t*)stream->data)->bytes[i]);
  if (n < 0)
    uv_read_stop(stream);
}

static int read_acks(cli_session_t* session) {
  elect_t* elect = session->data;
  elect->acks.data = elect;
  elect->valid = true;
  int r = uv_pipe_init(&elect->session.loop, &elect->acks, 0);
  if (r == 0 && elect->session.options->elector.stop_ack_ms != 0) {
    r = uv_pipe_open(&elect->acks, STDIN_FILENO);
    if (r == 0)
      r = uv_read_start((uv_stream_t*)&elect->acks, on_space, on_bytes);
    if (r != 0)
      cli_say("--stop-ack: standard input cannot be read (%s): connect a pipe's reading end",
              uv_strerror(r));
  }
  return r;
}

static void on_released(cli_session_t* session) {
  elect_t* elect = session->data;
  uv_close((uv_handle_t*)&elect->acks, NULL);
}

int cli_elect(const cli_options_t* options) {
  static elect_t elect;
  if (options->elector.stop_ack_ms != 0 && uv_guess_handle(STDIN_FILENO) != UV_NAMED_PIPE) {
    cli_say("--stop-ack: standard input is no pipe: connect it to the program that acknowledges");
    return CLI_EXIT_USAGE;
  }
  elect.session.data = &elect;
  elect.session.events.terminal = cli_terminal(options);
  elect.session.on_open = read_acks;
  elect.session.on_released = on_released;
  return cli_session_run(&elect.session, options, STDOUT_FILENO);
}
