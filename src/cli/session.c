#include "session.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "store.h"
#include "text.h"
#include "value.h"

#define STOP_ACK_MS   86400000
#define FLUSH_MS      1000 /* how long the exit waits for a slow reader of the events */
#define CLOSING_TURNS 4    /* of the loop, in which closed handles' callbacks run */

static void elector_options(cli_session_t* session, s3lect_elector_options_t* to) {
  *to = session->options->elector;
  to->store = &session->store;
  if (session->options->command == CLI_RUN) /* nothing is released before the command is gone */
    to->stop_ack_ms = STOP_ACK_MS;
  if (session->peer.asks)
    to->peer_client = &session->peer.client;
  if (session->peer.addr[0] != '\0')
    to->server_addr = session->peer.addr;
}

int cli_timing(const cli_options_t* options, s3lect_elector_options_t* timing,
               s3lect_error_t* error) {
  cli_session_t session = {.options = options};
  s3lect_elector_options_t given;
  elector_options(&session, &given);
  timing->size = sizeof *timing;
  return s3lect_elector_options_resolve(&given, timing, error);
}

static void leave(cli_session_t* session, int exit_code) {
  if (session->on_leave != NULL)
    session->on_leave(session, exit_code);
  else
    cli_session_finish(session, exit_code);
}

static void on_event(s3lect_elector_t* elector, const s3lect_event_t* event) {
  cli_session_t* session = elector->data;
  if (session->events.writer != NULL &&
      (!session->errors_only || event->kind == S3LECT_EVENT_ERROR))
    cli_events_put(&session->events, event);
  if (event->kind != S3LECT_EVENT_ERROR)
    session->answered = true;
  /* Most likely a typing error in --store: end now instead of repeating the error every five
   * seconds. A bucket that disappears later is an error like others. */
  if (event->kind == S3LECT_EVENT_ERROR && event->error == S3LECT_ENOBUCKET && !session->answered) {
    static const char* const check[] = {[CLI_STORE_S3] = "--endpoint and --region",
                                        [CLI_STORE_AZURE] = "the account and --endpoint",
                                        [CLI_STORE_GOOGLE] = "and --endpoint"};
    cli_store_kind_t kind = session->options->kind;
    cli_say("--store %s: there is no %s %s there: check its name, %s", session->options->store,
            kind == CLI_STORE_AZURE ? "container" : "bucket", session->options->bucket,
            check[kind]);
    leave(session, CLI_EXIT_USAGE);
    return;
  }
  if (event->kind == S3LECT_EVENT_ERROR && event->error == S3LECT_EUNSAFE) {
    cli_say("the store cannot hold an election: %s (s3lect verify says more)", event->message);
    leave(session, CLI_EXIT_FAILED);
    return;
  }
  if (session->on_event != NULL)
    session->on_event(session, event);
}

/* Sets the value of the options. Returns 0, or a code after a line on stderr. */
static int publish(cli_session_t* session, bool at_once) {
  char value[S3LECT_VALUE_SIZE];
  s3lect_error_t error;
  int r = cli_value_read(session->options, value, &error);
  if (r != 0) {
    cli_say("%s%s", error.text, at_once ? "; the value stays as it was" : "");
    return r;
  }
  if (value[0] == '\0' && !at_once)
    return 0;
  r = s3lect_elector_set_value(&session->elector, value, at_once);
  if (r != 0)
    cli_say("the value cannot be set: %s", s3lect_strerror(r));
  return r;
}

static void on_signal(uv_signal_t* handle, int signum) {
  cli_session_t* session = handle->data;
  bool open = session->peer.serves || session->peer.asks;
  bool certs = signum == SIGHUP && cli_peer_reloads(session->options);
  bool value = signum == SIGHUP && session->options->value_file != NULL;
  bool reloads = certs || value;
  if (certs && open)
    cli_peer_reload(&session->peer);
  if (value && !session->finishing)
    (void)publish(session, true);
  if (session->on_signal != NULL)
    session->on_signal(session, signum);
  else if (!reloads && session->finishing)
    _exit(128 + signum);
  else if (!reloads)
    cli_session_finish(session, 0);
}

static void on_writer_error(void* arg, int err) {
  cli_session_t* session = arg;
  if (session->events_optional) {
    cli_note("events cannot be written any more: %s", uv_strerror(err));
    return;
  }
  cli_say("events cannot be written (%s): leaving", uv_strerror(err));
  cli_session_finish(session, CLI_EXIT_FAILED);
}

int cli_session_check(const cli_options_t* options) {
  s3lect_error_t error;
  s3lect_elector_options_t timing;
  (void)cli_timing(options, &timing, &error);
  int r = cli_usage(&error);
  char value[S3LECT_VALUE_SIZE];
  if (r == 0 && cli_value_read(options, value, &error) != 0)
    r = cli_usage(&error);
  if (r == 0)
    r = cli_peer_check(options);
  return r != 0 ? r : cli_store_check(options);
}

static void close_writers(cli_session_t* session) {
  cli_writer_close(session->events.writer, FLUSH_MS);
  cli_say_through(NULL);
  cli_writer_close(session->messages, FLUSH_MS);
}

static int open_elector(cli_session_t* session) {
  s3lect_elector_options_t options;
  elector_options(session, &options);
  options.on_started_leading = on_event;
  options.on_stopped_leading = on_event;
  options.on_new_leader = on_event;
  options.on_renewed = on_event;
  options.on_error = on_event;
  options.on_claiming = on_event;
  options.on_no_leader = on_event;
  options.on_expiring = on_event;
  options.on_value = on_event;
  s3lect_error_t error;
  int r = s3lect_elector_init(&session->loop, &session->elector, &options, &error);
  if (r != 0) {
    (void)cli_usage(&error);
    return r;
  }
  session->elector.data = session;
  if (publish(session, false) != 0)
    return S3LECT_EOPTION;
  r = cli_peer_add(&session->peer, &session->elector);
  if (r == 0)
    r = s3lect_elector_start(&session->elector);
  if (r != 0)
    cli_say("cannot start: %s", s3lect_strerror(r));
  return r;
}

/* Returns 0, or an exit status after a line on stderr. What is open then is left to the kernel. */
static int open_session(cli_session_t* session, const cli_options_t* options, int events_fd) {
  session->options = options;
  if (cli_session_check(options) != 0)
    return CLI_EXIT_USAGE;
  /* Writing to a pipe or socket that the other side has closed must not kill the process. */
  signal(SIGPIPE, SIG_IGN);
  int r = uv_loop_init(&session->loop);
  if (r != 0) {
    cli_say("cannot start: %s", uv_strerror(r));
    return CLI_EXIT_FAILED;
  }
  session->events.id = options->elector.server_id;
  r = cli_writer_open(&session->messages, &session->loop, STDERR_FILENO, NULL, NULL);
  cli_say_through(session->messages);
  if (r == 0 && events_fd >= 0)
    r = cli_writer_open(&session->events.writer, &session->loop, events_fd, on_writer_error,
                        session);
  if (r != 0)
    cli_say("cannot start: %s", uv_strerror(r));
  if (r == 0)
    r = cli_store_open(options, &session->loop, &session->store);
  if (r == 0) {
    int usage = cli_peer_open(options, &session->loop, &session->peer);
    r = usage == 0 ? open_elector(session) : usage == CLI_EXIT_USAGE ? (int)S3LECT_EOPTION : UV_EIO;
  }
  if (r == 0)
    return 0;
  close_writers(session);
  return r == S3LECT_EOPTION || r == S3LECT_ECREDENTIALS || r == S3LECT_ETIMING ? CLI_EXIT_USAGE
                                                                                : CLI_EXIT_FAILED;
}

int cli_session_signal(cli_session_t* session, int signum) {
  struct sigaction now;
  /* nohup and shells start programs with some signals ignored: keep that. */
  if (sigaction(signum, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
    return 0;
  if (session->signals_len == sizeof session->signals / sizeof session->signals[0])
    return UV_ENOBUFS;
  uv_signal_t* handle = &session->signals[session->signals_len];
  int r = uv_signal_init(&session->loop, handle);
  if (r != 0)
    return r;
  session->signals_len++;
  handle->data = session;
  uv_unref((uv_handle_t*)handle);
  return uv_signal_start(handle, on_signal, signum);
}

static int watch_signals(cli_session_t* session) {
  int r = cli_session_signal(session, SIGTERM);
  if (r == 0)
    r = cli_session_signal(session, SIGINT);
  return r != 0 ? r : cli_session_signal(session, SIGHUP);
}

static void on_store_closed(s3lect_store_t* store) {
  cli_session_t* session = store->data;
  for (size_t i = 0; i < session->signals_len; i++)
    uv_close((uv_handle_t*)&session->signals[i], NULL);
  uv_stop(&session->loop); /* a pending DNS look-up must not delay the exit */
}

static void on_elector_closed(s3lect_elector_t* elector) {
  cli_session_t* session = elector->data;
  session->closed = true;
  if (session->on_released != NULL)
    session->on_released(session);
  cli_peer_close(&session->peer);
  session->store.data = session;
  s3lect_store_close(&session->store, on_store_closed);
}

void cli_session_finish(cli_session_t* session, int exit_code) {
  if (session->finishing)
    return;
  session->finishing = true;
  session->exit_code = exit_code;
  s3lect_elector_close(&session->elector, on_elector_closed);
}

void cli_session_abandon(cli_session_t* session, int exit_code) {
  session->finishing = true;
  session->exit_code = exit_code;
  uv_stop(&session->loop);
}

/* Ends by the signal, so that a shell script ends, too. */
static void die_of(int signum) {
  prctl(PR_SET_DUMPABLE, 0); /* SIGQUIT: a dump would hold credentials */
  signal(signum, SIG_DFL);
  raise(signum);
}

int cli_session_run(cli_session_t* session, const cli_options_t* options, int events_fd) {
  int r = open_session(session, options, events_fd);
  if (r != 0)
    return r;
  r = session->on_open != NULL ? session->on_open(session) : 0;
  if (r == 0 && session->on_signal == NULL)
    r = watch_signals(session);
  if (r != 0) {
    cli_say("cannot start: %s", uv_strerror(r));
    close_writers(session); /* which writes the message */
    return CLI_EXIT_FAILED;
  }
  uv_run(&session->loop, UV_RUN_DEFAULT);
  close_writers(session);
  for (int i = 0; i < CLOSING_TURNS && uv_loop_alive(&session->loop); i++)
    uv_run(&session->loop, UV_RUN_NOWAIT);
  if (session->signum != 0)
    die_of(session->signum);
  /* A DNS look-up that is under way cannot be cancelled, and libuv waits for it even after main:
   * for as long as the resolver's own time-outs. */
  if (uv_loop_close(&session->loop) == UV_EBUSY)
    _exit(session->exit_code);
  return session->exit_code;
}
