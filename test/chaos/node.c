/* One candidate: it starts a process of the command behind the candidate's relays, reads what the
 * process tells, and checks how it ends. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chaos/chaos.h"

#define ARGS_MAX     64
#define RESTART_MS   200
#define TEXT_MAX     160
#define NO_SUCH_EXIT 125
#define LAGS_MIN     3

/* --- files that grow ------------------------------------------------------------------------ */

const char* chaos_tail_line(chaos_tail_t* tail) {
  if (tail->file == NULL)
    return NULL;
  clearerr(tail->file);
  for (int c; (c = getc(tail->file)) != EOF;) {
    if (c == '\n') {
      tail->line[tail->len] = '\0';
      tail->len = 0;
      return tail->line;
    }
    if (tail->len < sizeof tail->line - 1)
      tail->line[tail->len++] = (char)c;
  }
  return NULL;
}

static int open_log(chaos_t* chaos, const char* name, unsigned index, chaos_tail_t* tail) {
  char file[32];
  snprintf(file, sizeof file, "%s-%u", name, index);
  int fd = open(s3proc_path(&chaos->s3, file), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  tail->file = fopen(s3proc_path(&chaos->s3, file), "re");
  if (fd < 0 || tail->file == NULL)
    abort();
  return fd;
}

/* --- starting ------------------------------------------------------------------------------- */

/* The arguments of a process, and the texts that some of them are. */
typedef struct args_s {
  const char* argv[ARGS_MAX];
  size_t len;
  char texts[8][TEXT_MAX];
  size_t texts_len;
} args_t;

static void add(args_t* args, const char* const* more) {
  for (; *more != NULL && args->len < ARGS_MAX - 1; more++)
    args->argv[args->len++] = *more;
  args->argv[args->len] = NULL;
}

#define ADD(args, ...) add(args, (const char* const[]){__VA_ARGS__, NULL})

__attribute__((format(printf, 2, 3))) static const char* text(args_t* args, const char* format,
                                                              ...) {
  char* to = args->texts[args->texts_len++];
  va_list list;
  va_start(list, format);
  vsnprintf(to, TEXT_MAX, format, list);
  va_end(list);
  return to;
}

/* Seed and life decide the options that may differ between candidates. */
static void add_mixed(chaos_t* chaos, chaos_node_t* node, args_t* args, s3l_prng_t* dice) {
  bool twin = chaos->seed % 2 == 0 && s3l_prng_below(dice, 2) == 0;
  snprintf(node->id, sizeof node->id, twin ? "twin" : "n%u", node->index);
  ADD(args, "--id", node->id);
  if (s3l_prng_below(dice, 4) == 0)
    ADD(args, "--grace", "100ms");
  if (s3l_prng_below(dice, 4) == 0)
    ADD(args, "--no-release");
  if (s3l_prng_below(dice, 4) == 0)
    ADD(args, "--infrequent", "600ms");
  else
    ADD(args, "--infrequent", "1s");
  if (s3l_prng_below(dice, 4) == 0 && chaos->config->epochs)
    ADD(args, "--keep-epochs");
  if (s3l_prng_below(dice, 4) == 0 && !chaos->config->file)
    ADD(args, "--checksum");
  if (s3l_prng_below(dice, 4) == 0 && !chaos->config->file)
    ADD(args, "--expiry", "store-clock");
  /* A leader without it does not know who asks, and cannot hand over in one write. */
  if (s3l_prng_below(dice, 4) != 0 && chaos->config->peers)
    ADD(args, "--peer-client-auth");
}

static void add_program(chaos_t* chaos, chaos_node_t* node, args_t* args, s3l_prng_t* dice) {
  static const unsigned habits[] = {0,
                                    CHAOS_IGNORES_TERM,
                                    CHAOS_FORKS,
                                    CHAOS_IGNORES_TERM | CHAOS_FORKS,
                                    CHAOS_IGNORES_TERM | CHAOS_DAEMONISES,
                                    CHAOS_FORKS | CHAOS_DAEMONISES,
                                    CHAOS_EXITS | CHAOS_DAEMONISES,
                                    CHAOS_OTHER_USER | CHAOS_IGNORES_TERM | CHAOS_DAEMONISES};
  unsigned habit = habits[s3l_prng_below(dice, sizeof habits / sizeof habits[0])];
  node->exits_by_itself = habit & CHAOS_EXITS;
  ADD(args, "--events", text(args, "%s/events-%u", chaos->s3.dir, node->index), "--", chaos->self,
      "--writer", text(args, "%u", habit), chaos->s3.dir);
}

static void make_args(chaos_t* chaos, chaos_node_t* node, args_t* args) {
  s3l_prng_t dice;
  s3l_prng_seed(&dice, chaos->seed * 1000 + node->life);
  const chaos_config_t* config = chaos->config;
  const char* program = chaos->mutant[0] != '\0' ? "test/chaos/s3lect-chaos-mutants" : "src/s3lect";
  ADD(args, text(args, "%s/%s", chaos->s3.build_dir, program), config->run ? "run" : "elect",
      "--store", chaos->s3.store, "--leader-timeout", "2500ms", "--renew", "400ms", "--frequent",
      "300ms", "--request-timeout", config->epochs ? "400ms" : "700ms");
  if (config->epochs)
    ADD(args, "--protocol", "epochs");
  if (!config->file)
    ADD(args, "--endpoint", text(args, "http://127.0.0.1:%u", node->store.port));
  if (config->peers)
    ADD(args, "--peer-listen", text(args, "127.0.0.1:%u", node->peer_port), "--addr",
        text(args, "127.0.0.1:%u", node->peer.port), "--peer-cert", node->cert, "--peer-key",
        chaos->certs.key, "--peer-ca", chaos->certs.ca, "--peer-timeout", "700ms");
  add_mixed(chaos, node, args, &dice);
  if (config->run)
    add_program(chaos, node, args, &dice);
}

/* In the child. It ends with this program, whatever happens to that. */
static _Noreturn void become(const chaos_node_t* node, const args_t* args, pid_t parent, bool run) {
  union {
    const char* const* given;
    char* const* taken;
  } argv = {args->argv};
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
    _exit(NO_SUCH_EXIT);
  int null = open("/dev/null", O_RDWR);
  dup2(null, STDIN_FILENO);
  dup2(run ? null : node->events, STDOUT_FILENO);
  dup2(node->messages, STDERR_FILENO);
  setenv("LD_PRELOAD", S3L_CHAOS_PRELOAD, 1);
  setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1); /* it need not come first */
  setsid();                                              /* no controlling terminal */
  execv(argv.taken[0], argv.taken);
  _exit(NO_SUCH_EXIT);
}

void chaos_node_start(chaos_t* chaos, chaos_node_t* node) {
  static args_t args;
  char life[16], clocks[32];
  pid_t parent = getpid();
  args = (args_t){.len = 0};
  node->life = ++chaos->lives;
  make_args(chaos, node, &args);
  snprintf(life, sizeof life, "%u", node->life);
  setenv("S3L_CHAOS_LIFE", life, 1);
  snprintf(clocks, sizeof clocks, "clocks-%u", node->index);
  setenv("S3L_CHAOS_CLOCKS", s3proc_path(&chaos->s3, clocks), 1);
  node->has_told = node->leaves = node->hurt = false;
  node->started_unfit = node->cert_unfit;
  node->killed_ns = node->restart_ns = 0;
  node->stops = node->stutters = 0;
  node->pid = fork();
  if (node->pid == 0)
    become(node, &args, parent, chaos->config->run);
  if (node->pid < 0)
    abort();
  fprintf(chaos->log, "life %u, pid %d:", node->life, (int)node->pid);
  for (size_t i = 1; i < args.len; i++)
    fprintf(chaos->log, " %s", args.argv[i]);
  fprintf(chaos->log, "\n");
}

/* --- ending --------------------------------------------------------------------------------- */

static void send_signal(const chaos_node_t* node, int signum) {
  if (node->pid > 0)
    kill(node->pid, signum);
}

void chaos_node_stop(chaos_node_t* node, bool stop) {
  node->stops += stop ? 1u : 0u;
  node->stops -= !stop && node->stops > 0 ? 1u : 0u;
  send_signal(node, node->stops > 0 ? SIGSTOP : SIGCONT);
}

void chaos_node_kill(chaos_node_t* node) {
  if (node->killed_ns == 0)
    node->killed_ns = s3lect_now_ns();
  send_signal(node, SIGKILL);
}

void chaos_node_leave(chaos_node_t* node) {
  if (!node->leaves)
    send_signal(node, SIGTERM);
  node->leaves = true;
}

static bool may_end_so(const chaos_t* chaos, const chaos_node_t* node, int status) {
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
    return node->killed_ns != 0;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM && !node->has_told)
    return node->leaves;
  if (code == 2)
    return node->started_unfit && !node->has_told;
  if (!chaos->config->run)
    return node->leaves && code == 0;
  if (node->hurt && (code == 1 || code == 128 + SIGKILL))
    return true;
  if (node->exits_by_itself && code == CHAOS_EXIT_STATUS)
    return true;
  /* By the signal itself, if no program ran, else with the program's status. */
  return node->leaves && (code == 128 + SIGTERM || code == 128 + SIGKILL ||
                          (WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM));
}

static void reap(chaos_t* chaos, chaos_node_t* node, int status) {
  int64_t now = s3lect_now_ns();
  bool killed = node->killed_ns != 0 && WIFSIGNALED(status);
  bool orderly = !killed && !node->hurt;
  chaos_note(chaos, "life %u ended, %s %d", node->life, WIFSIGNALED(status) ? "signal" : "status",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  if (!may_end_so(chaos, node, status))
    chaos_violated(chaos, "life %u ended with an unexpected status", node->life);
  chaos_oracle_ended(&chaos->oracle, node->life, killed ? node->killed_ns : now, orderly);
  chaos_node_judge_clock(chaos, node);
  node->pid = 0;
  if (node->restart_ns == 0)
    node->restart_ns = now + RESTART_MS * CHAOS_MS;
}

/* --- what it tells -------------------------------------------------------------------------- */

/* An event is read after it happened, and soon after unless the process was stopped meanwhile. So
 * its lease time is never ahead of the time here, and not always far behind. */
static void check_clock(chaos_t* chaos, chaos_node_t* node, int64_t lease_ns) {
  int64_t lag_ns = s3lect_now_ns() - lease_ns;
  if (lag_ns < -CHAOS_MS)
    chaos_violated(chaos, "lease time of life %u is ahead by %" PRId64 " ms", node->life,
                   -lag_ns / CHAOS_MS);
  node->lag_ns = node->lags == 0 || lag_ns < node->lag_ns ? lag_ns : node->lag_ns;
  node->lags++;
}

void chaos_node_judge_clock(chaos_t* chaos, chaos_node_t* node) {
  if (node->lags >= LAGS_MIN && node->lag_ns > CHAOS_T_MS * CHAOS_MS / 4)
    chaos_violated(chaos, "lease time of life %u is behind by %" PRId64 " ms", node->life,
                   node->lag_ns / CHAOS_MS);
  node->lags = 0;
}

static void take_event(chaos_t* chaos, chaos_node_t* node, const char* line) {
  static const char* const kinds[] = {"started_leading", "renewed", "stopped_leading"};
  int64_t lease_ns = proc_json_i64(line, "lease_ns");
  int64_t valid_ns = proc_json_i64(line, "valid_until_ns");
  uint64_t epoch = (uint64_t)proc_json_i64(line, "epoch");
  bool lost = strstr(line, "\"reason\":\"lost\"") != NULL;
  s3lect_error_t error;
  const char* event = proc_json_string(line, "event");
  if (strcmp(event, "renewed") != 0)
    chaos_note(chaos, "life %u: %s", node->life, line);
  node->has_told = true;
  if (s3lect_audit_add_event(&chaos->audit, node->life, line, strlen(line), &error) != 0)
    chaos_violated(chaos, "life %u: an audit refuses an event: %s", node->life, error.text);
  check_clock(chaos, node, lease_ns);
  chaos->errors += strcmp(event, "error") == 0;
  for (unsigned kind = 0; kind < 3; kind++)
    if (strcmp(event, kinds[kind]) == 0)
      chaos_oracle_event(&chaos->oracle, node->life,
                         kind == CHAOS_STOPPED && lost ? CHAOS_LOST : (chaos_kind_t)kind, epoch,
                         lease_ns, valid_ns);
}

static void read_all(chaos_t* chaos, chaos_node_t* node) {
  static const char* const reports[] = {"ERROR: AddressSanitizer", "ERROR: LeakSanitizer",
                                        "runtime error:", "ssertion"};
  for (const char* line; (line = chaos_tail_line(&node->told)) != NULL;)
    take_event(chaos, node, line);
  for (const char* line; (line = chaos_tail_line(&node->said)) != NULL;) {
    chaos_note(chaos, "life %u says: %s", node->life, line);
    for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++)
      if (strstr(line, reports[i]) != NULL)
        chaos_violated(chaos, "life %u: %s", node->life, line);
  }
}

void chaos_node_step(chaos_t* chaos, chaos_node_t* node) {
  int status = 0;
  pid_t ended = node->pid > 0 ? waitpid(node->pid, &status, WNOHANG) : 0;
  read_all(chaos, node);
  if (ended > 0)
    reap(chaos, node, status);
  else if (node->pid > 0 && node->stutters > 0 && node->stops == 0)
    send_signal(node, s3lect_now_ns() / (40 * CHAOS_MS) % 2 == 0 ? SIGSTOP : SIGCONT);
}

/* --- around it ------------------------------------------------------------------------------ */

/* A bound socket keeps the port; a listener with SO_REUSEADDR may share it. */
static void reserve_port(chaos_node_t* node) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t len = sizeof address;
  int on = 1;
  node->reserved = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (node->reserved < 0 ||
      setsockopt(node->reserved, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(node->reserved, (struct sockaddr*)&address, len) != 0 ||
      getsockname(node->reserved, (struct sockaddr*)&address, &len) != 0)
    abort();
  node->peer_port = ntohs(address.sin_port);
}

void chaos_node_open(chaos_t* chaos, unsigned index) {
  chaos_node_t* node = &chaos->nodes[index];
  char file[32];
  node->index = index;
  snprintf(file, sizeof file, "clocks-%u", index);
  node->clocks = chaos_clocks_open(s3proc_path(&chaos->s3, file));
  node->events = open_log(chaos, "events", index, &node->told);
  node->messages = open_log(chaos, "messages", index, &node->said);
  if (!chaos->config->file) {
    const char* port = strrchr(chaos->s3.url, ':');
    chaos_relay_open(&node->store, &chaos->s3.procs.loop, (uint16_t)atol(port + 1));
  }
  if (chaos->config->peers) {
    reserve_port(node);
    chaos_relay_open(&node->peer, &chaos->s3.procs.loop, (uint16_t)node->peer_port);
    snprintf(file, sizeof file, "cert-%u", index);
    snprintf(node->cert, sizeof node->cert, "%s", s3proc_path(&chaos->s3, file));
    s3l_certs_replace(node->cert, chaos->certs.good);
  }
  chaos_node_start(chaos, node);
}

void chaos_node_close(chaos_node_t* node) {
  chaos_node_kill(node);
  if (node->pid > 0)
    waitpid(node->pid, NULL, 0);
  node->pid = 0;
  chaos_clocks_close(node->clocks);
  close(node->events);
  close(node->messages);
  fclose(node->told.file);
  fclose(node->said.file);
  if (node->store.port != 0)
    chaos_relay_close(&node->store);
  if (node->peer.port != 0) {
    chaos_relay_close(&node->peer);
    close(node->reserved);
  }
}
