#include "lib/proc.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "lib/test.h"

extern char** environ;

#define OUTPUT_MAX (4u * 1024 * 1024)
#define ENV_MAX    512

typedef struct output_s {
  uv_pipe_t pipe;
  proc_t* proc;
  char* text; /* lines, each ended by NUL in place of its newline */
  size_t len;
  size_t cursor;
  bool ended;
  bool open;
  char chunk[4096];
} output_t;

struct proc_s {
  procs_t* procs;
  uv_process_t process;
  output_t out[2];
  char name[64];
  int status;
  bool exited;
};

static void fail_with_output(procs_t* procs, const char* why, const char* what) {
  for (unsigned i = 0; i < procs->len; i++) {
    for (int s = 0; s < 2; s++) {
      output_t* out = &procs->all[i]->out[s];
      for (size_t at = 0; at < out->len; at += strlen(out->text + at) + 1)
        print_error("%s[%d] %s: %s\n", procs->all[i]->name, procs->all[i]->process.pid,
                    s == PROC_OUT ? "out" : "err", out->text + at);
    }
  }
  fail_msg("%s: %s", why, what);
}

static void on_impatient(uv_timer_t* timer) {
  procs_t* procs = timer->data;
  procs->impatient = true;
}

/* One turn of the loop; fails if nothing at all happens for too long. */
static void turn(procs_t* procs, const char* what) {
  procs->impatient = false;
  assert_int_equal(uv_timer_start(&procs->patience, on_impatient, PROC_PATIENCE_MS, 0), 0);
  uv_run(&procs->loop, UV_RUN_ONCE);
  uv_timer_stop(&procs->patience);
  if (procs->impatient)
    fail_with_output(procs, "nothing happens while waiting for", what);
}

/* A test that fails leaves by longjmp; the processes that it has started must not survive. */
static pid_t running[PROC_MAX];

static void kill_running(void) {
  for (size_t i = 0; i < PROC_MAX; i++)
    if (running[i] > 0)
      kill(running[i], SIGKILL);
}

static void note_running(pid_t before, pid_t after) {
  static bool registered;
  if (!registered)
    assert_int_equal(atexit(kill_running), 0);
  registered = true;
  size_t i = 0;
  while (i < PROC_MAX - 1 && running[i] != before)
    i++;
  running[i] = after;
}

void procs_begin(procs_t* procs) {
  memset(procs, 0, sizeof *procs);
  assert_int_equal(uv_loop_init(&procs->loop), 0);
  assert_int_equal(uv_timer_init(&procs->loop, &procs->patience), 0);
  procs->patience.data = procs;
}

static void close_handle(uv_handle_t* handle, void* arg) {
  if (!uv_is_closing(handle))
    uv_close(handle, NULL);
}

static void free_proc(proc_t* proc) {
  free(proc->out[0].text);
  free(proc->out[1].text);
  free(proc);
}

void procs_end(procs_t* procs) {
  for (unsigned i = 0; i < procs->len; i++)
    if (!procs->all[i]->exited)
      uv_process_kill(&procs->all[i]->process, SIGKILL);
  for (unsigned i = 0; i < procs->len; i++)
    while (!procs->all[i]->exited)
      turn(procs, "a killed process");
  uv_walk(&procs->loop, close_handle, NULL);
  uv_run(&procs->loop, UV_RUN_DEFAULT);
  assert_int_equal(uv_loop_close(&procs->loop), 0);
  for (unsigned i = 0; i < procs->len; i++)
    free_proc(procs->all[i]);
}

static void on_alloc(uv_handle_t* handle, size_t suggested, uv_buf_t* buf) {
  output_t* out = handle->data;
  *buf = uv_buf_init(out->chunk, sizeof out->chunk);
}

static void on_read(uv_stream_t* stream, ssize_t n, const uv_buf_t* buf) {
  output_t* out = stream->data;
  if (n < 0) {
    out->ended = true;
    uv_close((uv_handle_t*)stream, NULL);
    return;
  }
  assert_true(out->len + (size_t)n < OUTPUT_MAX);
  char* text = realloc(out->text, out->len + (size_t)n + 1);
  assert_non_null(text);
  out->text = text;
  memcpy(text + out->len, buf->base, (size_t)n);
  for (size_t i = 0; i < (size_t)n; i++)
    if (text[out->len + i] == '\n')
      text[out->len + i] = '\0';
  out->len += (size_t)n;
  text[out->len] = '\0';
}

static void on_exit_status(uv_process_t* process, int64_t status, int signum) {
  proc_t* proc = process->data;
  proc->status = signum != 0 ? 128 + signum : (int)status;
  proc->exited = true;
  note_running(process->pid, 0);
  uv_close((uv_handle_t*)process, NULL);
}

/* This process's environment with `extra` put over it. */
static void make_env(const char* const* extra, char* env[ENV_MAX]) {
  size_t n = 0;
  for (char** e = environ; *e != NULL; e++) {
    size_t name = strcspn(*e, "=") + 1;
    bool replaced = false;
    for (const char* const* x = extra; x != NULL && *x != NULL; x++)
      replaced = replaced || strncmp(*e, *x, name) == 0;
    assert_true(n < ENV_MAX - 1);
    if (!replaced)
      env[n++] = *e;
  }
  for (const char* const* x = extra; x != NULL && *x != NULL; x++) {
    assert_true(n < ENV_MAX - 1);
    memcpy(&env[n++], x, sizeof *x);
  }
  env[n] = NULL;
}

/* Opens a terminal that changes no byte. The process gets the descriptor that is returned; `pipe`
 * is the other end. */
static int open_terminal(uv_pipe_t* pipe) {
  struct termios modes;
  int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
  int terminal = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
  assert_true(terminal >= 0 && tcgetattr(terminal, &modes) == 0);
  cfmakeraw(&modes);
  assert_int_equal(tcsetattr(terminal, TCSANOW, &modes), 0);
  assert_int_equal(uv_pipe_open(pipe, master), 0);
  return terminal;
}

proc_t* proc_spawn(procs_t* procs, const char* const* argv, const char* const* extra) {
  char* env[ENV_MAX];
  assert_true(procs->len < PROC_MAX);
  proc_t* proc = calloc(1, sizeof *proc);
  assert_non_null(proc);
  uv_stdio_container_t stdio[3] = {{.flags = UV_IGNORE}};
  for (int s = 0; s < 2; s++) {
    output_t* out = &proc->out[s];
    assert_int_equal(uv_pipe_init(&procs->loop, &out->pipe, 0), 0);
    out->pipe.data = out;
    out->proc = proc;
    stdio[s + 1].flags = (uv_stdio_flags)(UV_CREATE_PIPE | UV_WRITABLE_PIPE);
    stdio[s + 1].data.stream = (uv_stream_t*)&out->pipe;
  }
  int terminal = procs->terminal ? open_terminal(&proc->out[PROC_OUT].pipe) : -1;
  if (terminal >= 0) {
    stdio[PROC_OUT + 1].flags = UV_INHERIT_FD;
    stdio[PROC_OUT + 1].data.fd = terminal;
  }
  make_env(extra, env);
  uv_process_options_t options = {.file = argv[0],
                                  .env = env,
                                  .flags = procs->detached ? UV_PROCESS_DETACHED : 0,
                                  .stdio = stdio,
                                  .stdio_count = 3,
                                  .exit_cb = on_exit_status};
  memcpy(&options.args, &argv, sizeof argv);
  int r = uv_spawn(&procs->loop, &proc->process, &options);
  if (terminal >= 0)
    close(terminal);
  if (r != 0)
    fail_msg("%s: %s", argv[0], uv_strerror(r));
  note_running(0, proc->process.pid);
  proc->process.data = proc;
  proc->procs = procs;
  const char* slash = strrchr(argv[0], '/');
  snprintf(proc->name, sizeof proc->name, "%s", slash != NULL ? slash + 1 : argv[0]);
  procs->all[procs->len++] = proc;
  for (int s = 0; s < 2; s++)
    assert_int_equal(uv_read_start((uv_stream_t*)&proc->out[s].pipe, on_alloc, on_read), 0);
  return proc;
}

/* The next whole line at the cursor, NULL if there is none yet. The bytes after the last newline
 * count as a line once the stream has ended. */
static const char* next_line(output_t* out) {
  if (out->cursor >= out->len)
    return NULL;
  const char* line = out->text + out->cursor;
  size_t n = strlen(line);
  if (out->cursor + n >= out->len && !out->ended)
    return NULL;
  out->cursor += n + 1;
  return line;
}

/* The next line with `match` among those that are there, copied: out->text moves when it grows. */
static const char* match_line(output_t* out, const char* match) {
  static char line[16384];
  for (const char* found; (found = next_line(out)) != NULL;)
    if (strstr(found, match) != NULL) {
      snprintf(line, sizeof line, "%s", found);
      return line;
    }
  return NULL;
}

const char* proc_try_line(proc_t* proc, proc_stream_t stream, const char* match, bool now) {
  output_t* out = &proc->out[stream];
  if (now)
    uv_run(&proc->procs->loop, UV_RUN_NOWAIT);
  for (;;) {
    const char* line = match_line(out, match);
    if (line != NULL || now || out->ended)
      return line;
    turn(proc->procs, match);
  }
}

const char* proc_line(proc_t* proc, proc_stream_t stream, const char* match) {
  const char* line = proc_try_line(proc, stream, match, false);
  if (line == NULL)
    fail_with_output(proc->procs, "a stream ended without the line", match);
  return line;
}

void proc_rewind(proc_t* proc, proc_stream_t stream) {
  proc->out[stream].cursor = 0;
}

int proc_wait(proc_t* proc) {
  while (!proc->exited || !proc->out[0].ended || !proc->out[1].ended)
    turn(proc->procs, "the end of a process");
  return proc->status;
}

void proc_forget(proc_t* proc) {
  procs_t* procs = proc->procs;
  proc_wait(proc);
  uv_run(&procs->loop, UV_RUN_NOWAIT); /* the handles' close callbacks */
  unsigned i = 0;
  while (procs->all[i] != proc)
    i++;
  procs->all[i] = procs->all[--procs->len];
  free_proc(proc);
}

void proc_signal(proc_t* proc, int signum) {
  assert_int_equal(uv_process_kill(&proc->process, signum), 0);
}

int proc_end(proc_t* proc, int signum) {
  proc_signal(proc, signum);
  return proc_wait(proc);
}

int proc_pid(const proc_t* proc) {
  return proc->process.pid;
}

static void on_ask_again(uv_timer_t* timer) {}

void procs_until(procs_t* procs, bool (*done)(void* arg), void* arg) {
  uv_timer_t ask;
  uint64_t deadline = uv_hrtime() + (uint64_t)PROC_PATIENCE_MS * 1000000;
  assert_int_equal(uv_timer_init(&procs->loop, &ask), 0);
  assert_int_equal(uv_timer_start(&ask, on_ask_again, 10, 10), 0);
  while (!done(arg)) {
    if (uv_hrtime() > deadline)
      fail_with_output(procs, "gave up waiting for", "a condition");
    turn(procs, "a condition");
  }
  uv_close((uv_handle_t*)&ask, NULL);
  uv_run(&procs->loop, UV_RUN_NOWAIT);
}

static const char* json_value(const char* line, const char* name) {
  char pattern[64];
  snprintf(pattern, sizeof pattern, "\"%s\":", name);
  const char* at = strstr(line, pattern);
  if (at == NULL)
    fail_msg("no field %s in %s", name, line);
  return at + strlen(pattern);
}

int64_t proc_json_i64(const char* line, const char* name) {
  const char* value = json_value(line, name);
  char* end;
  long long number = strtoll(value, &end, 10);
  assert_true(end != value && (*end == ',' || *end == '}'));
  return number;
}

const char* proc_json_string(const char* line, const char* name) {
  static char text[2048];
  const char* value = json_value(line, name);
  assert_int_equal(*value, '"');
  size_t n = 0;
  for (value++; *value != '"' && *value != '\0' && n < sizeof text - 1; value++) {
    if (*value == '\\' && value[1] != '\0')
      text[n++] = *value++;
    text[n++] = *value;
  }
  text[n] = '\0';
  return text;
}

bool proc_on_path(const char* name) {
  const char* path = getenv("PATH");
  char program[4096];
  for (size_t n; path != NULL && *path != '\0'; path += n + (path[n] == ':')) {
    n = strcspn(path, ":");
    snprintf(program, sizeof program, "%.*s/%s", (int)n, path, name);
    if (access(program, X_OK) == 0)
      return true;
  }
  return false;
}
