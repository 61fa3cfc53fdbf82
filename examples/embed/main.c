/* embed: a server that embeds an elector, on its own libuv loop.
 *
 *   example-embed --store STORE --register FILE --id ID [--port PORT] [--leader-timeout MS]
 *                 [--protocol lockfile|epochs]
 *
 * STORE is s3://BUCKET/KEY (keys, region and endpoint as in AWS's tools) or file:///DIRECTORY/KEY.
 * With epochs KEY is the prefix of the files.
 *
 *   GET /leader    200 on the leader, 503 elsewhere: what a load balancer asks
 *   GET /          200: it is alive
 *   GET /health/leadership   what other instances ask while a leader stands, instead of the store
 *
 * While it leads it works: every 100 ms a job on a thread adds 1 to a register that all instances
 * share, with the epoch as fencing token (work.h, register.h). Prints a line for what happens.
 * SIGTERM or SIGINT end it: leadership first, then the job that is under way, then the release. */
#include <inttypes.h>
#include <s3lect.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http.h"
#include "work.h"

/* As long as a job may take; the lockfile is not released before it has ended. */
#define JOB_MS 5000

typedef struct server_s {
  const char *store_url, *id, *register_path;
  int port;
  uint32_t leader_timeout_ms;
  int32_t protocol;
  char addr[64], directory[1024];
  uv_loop_t loop;
  uv_signal_t signals[2];
  http_t http;
  work_t work;
  s3lect_store_t store;
  s3lect_peer_client_t peers;
  s3lect_elector_t elector;
  uint64_t stopped_epoch; /* of the leadership that ended last */
  int ending, closed;
} server_t;

/* --- HTTP ----------------------------------------------------------------------------------- */

static void answer_text(http_reply_t* reply, const char* format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(reply->body, sizeof reply->body, format, args);
  va_end(args);
  reply->body_len = n > 0 && (size_t)n < sizeof reply->body ? (size_t)n : 0;
}

/* The peer protocol, answered by a server that knows nothing of it. */
static void answer_peer(const server_t* server, const char* method, http_reply_t* reply) {
  int status = s3lect_elector_peer_response(&server->elector, method, reply->body,
                                            sizeof reply->body, &reply->body_len);
  reply->status = status > 0 ? status : 503;
  reply->type = "application/json";
}

static void on_request(void* arg, const char* method, const char* target, http_reply_t* reply) {
  server_t* server = arg;
  s3lect_stats_t stats = {.size = sizeof stats};
  if (strcmp(target, "/health/leadership") == 0) {
    answer_peer(server, method, reply);
  } else if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
    reply->status = 405;
  } else if (strcmp(target, "/") == 0) {
    (void)s3lect_elector_stats(&server->elector, &stats);
    answer_text(reply, "alive; the leader has answered %" PRIu64 " times\n", stats.peer_answers);
  } else if (strcmp(target, "/leader") != 0) {
    reply->status = 404;
  } else if (s3lect_elector_is_leader(&server->elector)) {
    answer_text(reply, "leader, epoch %" PRIu64 "\n", s3lect_elector_epoch(&server->elector));
  } else {
    reply->status = 503;
    answer_text(reply, "not leader; %.200s is\n", s3lect_elector_leader(&server->elector));
  }
}

/* --- the election --------------------------------------------------------------------------- */

static void on_elector_closed(s3lect_elector_t* e) {
  server_t* server = e->data;
  s3lect_peer_client_close(&server->peers, NULL);
  s3lect_store_close(&server->store, NULL);
}

/* Threads use the elector: it is closed when none does any more. */
static void close_when_idle(server_t* server) {
  if (!server->ending || server->closed || server->work.running || server->work.job_runs)
    return;
  server->closed = 1;
  work_close(&server->work);
  (void)s3lect_elector_close(&server->elector, on_elector_closed);
}

static void on_started(s3lect_elector_t* e, const s3lect_event_t* event) {
  server_t* server = e->data;
  printf("leading: epoch %" PRIu64 "\n", event->epoch);
  if (!server->ending)
    work_start(&server->work);
}

/* No job begins from here on. One may be under way, and must not be waited for here; the register
 * refuses it if the next leader was quicker. on_idle tells the elector when it is over. */
static void on_stopped(s3lect_elector_t* e, const s3lect_event_t* event) {
  server_t* server = e->data;
  printf("stopped: %s\n", s3lect_reason_name(event->reason));
  server->stopped_epoch = event->epoch;
  work_stop(&server->work);
}

static void on_idle(work_t* work) {
  server_t* server = (server_t*)((char*)work - offsetof(server_t, work));
  /* Now the lockfile may be released. */
  s3lect_elector_ack(&server->elector, server->stopped_epoch);
  close_when_idle(server);
}

static void on_error(s3lect_elector_t* e, const s3lect_event_t* event) {
  (void)e;
  fprintf(stderr, "%s: %s\n", s3lect_err_name(event->error), event->message);
}

static void on_signal(uv_signal_t* handle, int signum) {
  server_t* server = handle->data;
  (void)signum;
  for (size_t i = 0; i < 2; i++)
    uv_close((uv_handle_t*)&server->signals[i], NULL);
  http_close(&server->http);
  server->ending = 1;
  (void)s3lect_elector_stop(&server->elector);
  close_when_idle(server); /* a leader: by on_stopped and on_idle */
}

/* --- setting up ----------------------------------------------------------------------------- */

static int open_store(server_t* server, const char** key, s3lect_error_t* error) {
  static const char s3_scheme[] = "s3://", file_scheme[] = "file://";
  const char* url = server->store_url;
  int is_s3 = strncmp(url, s3_scheme, sizeof s3_scheme - 1) == 0;
  if (!is_s3 && strncmp(url, file_scheme, sizeof file_scheme - 1) != 0)
    return S3LECT_EOPTION;
  const char* path = url + (is_s3 ? sizeof s3_scheme : sizeof file_scheme) - 1;
  const char* slash = is_s3 ? strchr(path, '/') : strrchr(path, '/');
  if (slash == NULL || slash == path || slash[1] == '\0' ||
      (size_t)(slash - path) >= sizeof server->directory)
    return S3LECT_EOPTION;
  memcpy(server->directory, path, (size_t)(slash - path));
  server->directory[slash - path] = '\0';
  *key = slash + 1;
  if (!is_s3)
    return s3lect_store_file_init(&server->loop, &server->store, server->directory, error);
  s3lect_store_s3_options_t s3;
  s3lect_store_s3_options_init(&s3, sizeof s3);
  s3.bucket = server->directory;
  return s3lect_store_s3_init(&server->loop, &server->store, &s3, error);
}

/* Followers ask the leader at its server_addr. In plain HTTP, as this server speaks it: then
 * nothing that is answered is taken for more than a reason to look at the store. */
static int open_peers(server_t* server, s3lect_error_t* error) {
  s3lect_peer_client_options_t options;
  s3lect_peer_client_options_init(&options, sizeof options);
  options.plain_http = 1;
  return s3lect_peer_client_init(&server->loop, &server->peers, &options, error);
}

static int open_elector(server_t* server, const char* key, s3lect_error_t* error) {
  s3lect_elector_options_t options;
  s3lect_elector_options_init(&options, sizeof options);
  options.lockfile_path = key;
  options.server_id = server->id;
  options.server_addr = server->addr;
  options.store = &server->store;
  options.peer_client = &server->peers;
  options.protocol = server->protocol;
  options.leader_timeout_ms = server->leader_timeout_ms;
  /* This example wants to be followed by the eye. */
  options.infrequent_interval_ms = 1000;
  options.frequent_interval_ms = 500;
  options.stop_ack_ms = JOB_MS;
  options.on_started_leading = on_started;
  options.on_stopped_leading = on_stopped;
  options.on_error = on_error;
  server->elector.data = server;
  return s3lect_elector_init(&server->loop, &server->elector, &options, error);
}

static int listen_and_stand(server_t* server, s3lect_error_t* error) {
  static const int signums[] = {SIGTERM, SIGINT};
  const char* key = NULL;
  server->http.handler = on_request;
  server->http.arg = server;
  int err = http_listen(&server->http, &server->loop, "127.0.0.1", server->port);
  if (err != 0)
    return err;
  snprintf(server->addr, sizeof server->addr, "127.0.0.1:%d", http_port(&server->http));
  server->work.elector = &server->elector;
  server->work.register_path = server->register_path;
  server->work.id = server->id;
  server->work.every_ms = 100;
  server->work.on_idle = on_idle;
  err = work_init(&server->work, &server->loop);
  if (err == 0)
    err = open_store(server, &key, error);
  if (err == 0)
    err = open_peers(server, error);
  if (err == 0)
    err = open_elector(server, key, error);
  for (size_t i = 0; err == 0 && i < 2; i++) {
    server->signals[i].data = server;
    err = uv_signal_init(&server->loop, &server->signals[i]);
    if (err == 0)
      err = uv_signal_start(&server->signals[i], on_signal, signums[i]);
  }
  return err != 0 ? err : s3lect_elector_start(&server->elector);
}

static int read_protocol(server_t* server, const char* word) {
  int epochs = strcmp(word, "epochs") == 0;
  server->protocol = epochs ? S3LECT_PROTOCOL_EPOCHS : S3LECT_PROTOCOL_LOCKFILE;
  return epochs || strcmp(word, "lockfile") == 0 ? 0 : UV_EINVAL;
}

static int read_arguments(server_t* server, int argc, char** argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const char* value = argv[i + 1];
    if (strcmp(argv[i], "--store") == 0)
      server->store_url = value;
    else if (strcmp(argv[i], "--register") == 0)
      server->register_path = value;
    else if (strcmp(argv[i], "--id") == 0)
      server->id = value;
    else if (strcmp(argv[i], "--port") == 0)
      server->port = (int)strtol(value, NULL, 10);
    else if (strcmp(argv[i], "--leader-timeout") == 0)
      server->leader_timeout_ms = (uint32_t)strtoul(value, NULL, 10);
    else if (strcmp(argv[i], "--protocol") != 0 || read_protocol(server, value) != 0)
      return UV_EINVAL;
  }
  return argc % 2 == 0 || server->store_url == NULL || server->register_path == NULL ||
                 server->id == NULL || server->port < 0 || server->port > 65535
             ? UV_EINVAL
             : 0;
}

int main(int argc, char** argv) {
  static server_t server; /* its handles must not move */
  if (read_arguments(&server, argc, argv) != 0)
    return fprintf(stderr, "usage: example-embed --store s3://BUCKET/KEY|file:///DIRECTORY/KEY "
                           "--register FILE --id ID [--port PORT] [--leader-timeout MS] "
                           "[--protocol lockfile|epochs]\n"),
           2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  (void)signal(SIGPIPE, SIG_IGN); /* uv_write raises it where a client has gone */
  s3lect_error_t error = {0};
  int err = uv_loop_init(&server.loop);
  if (err == 0)
    err = listen_and_stand(&server, &error);
  if (err != 0)
    return fprintf(stderr, "%s: %s\n", argv[0], error.code != 0 ? error.text : uv_strerror(err)), 1;
  printf("listening: http://%s/leader\n", server.addr);
  err = uv_run(&server.loop, UV_RUN_DEFAULT);
  return err != 0 || uv_loop_close(&server.loop) != 0;
}
