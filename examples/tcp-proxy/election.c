#include "election.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proxy.h"

static int complain(int err, const char* text) {
  fprintf(stderr, "example-tcp-proxy: %s\n", text);
  return err;
}

/* --- what happens --------------------------------------------------------------------------- */

static void on_started(s3lect_elector_t* e, const s3lect_event_t* event) {
  proxy_t* proxy = e->data;
  printf("leading: epoch %" PRIu64 "\n", event->epoch);
  proxy->counters.leaderships++;
  if (!proxy->ending)
    route_to_backend(&proxy->route, event->epoch);
}

/* Every write asks for itself whether this process leads, so this is not what keeps bytes back: it
 * closes connections at once that have none to write. */
static void on_stopped(s3lect_elector_t* e, const s3lect_event_t* event) {
  proxy_t* proxy = e->data;
  printf("stopped: epoch %" PRIu64 ", %s\n", event->epoch, s3lect_reason_name(event->reason));
  route_to_nobody(&proxy->route);
}

static void on_new_leader(s3lect_elector_t* e, const s3lect_event_t* event) {
  proxy_t* proxy = e->data;
  printf("leader: %s at %s, epoch %" PRIu64 "\n", event->leader_id, event->leader_addr,
         event->epoch);
  if (proxy->ending || s3lect_elector_is_leader(e))
    return;                                                     /* on_started tells of oneself */
  bool self = strcmp(event->leader_id, proxy->options.id) == 0; /* about to, or an earlier run */
  if (self || event->leader_addr[0] == '\0')
    route_to_nobody(&proxy->route);
  else
    route_to_peer(&proxy->route, event->leader_addr, event->epoch);
}

static void on_error(s3lect_elector_t* e, const s3lect_event_t* event) {
  (void)e;
  fprintf(stderr, "%s: %s\n", s3lect_err_name(event->error), event->message);
}

/* --- opening and closing -------------------------------------------------------------------- */

static int open_s3(election_t* election, const char* bucket) {
  const options_t* options = &election->proxy->options;
  s3lect_error_t error;
  s3lect_store_s3_options_t s3;
  s3lect_store_s3_options_init(&s3, sizeof s3);
  s3.bucket = bucket;
  s3.endpoint = options->endpoint;
  s3.region = options->region;
  s3.ca_file = options->ca_file;
  int err = s3lect_store_s3_init(election->proxy->loop, &election->store, &s3, &error);
  return err != 0 ? complain(err, error.text) : 0;
}

static int open_store(election_t* election, const char** key) {
  static const char s3_scheme[] = "s3://", file_scheme[] = "file://";
  const char* url = election->proxy->options.store;
  bool is_s3 = strncmp(url, s3_scheme, sizeof s3_scheme - 1) == 0;
  bool is_file = strncmp(url, file_scheme, sizeof file_scheme - 1) == 0;
  const char* path = url + (is_s3 ? sizeof s3_scheme : sizeof file_scheme) - 1;
  const char* slash = !is_s3 && !is_file ? NULL : is_s3 ? strchr(path, '/') : strrchr(path, '/');
  if (slash == NULL || slash == path || slash[1] == '\0' || (is_file && path[0] != '/') ||
      (size_t)(slash - path) >= sizeof election->place)
    return complain(S3LECT_EOPTION, "--store: write s3://BUCKET/KEY or file:///DIRECTORY/NAME");
  memcpy(election->place, path, (size_t)(slash - path));
  election->place[slash - path] = '\0';
  *key = slash + 1;
  if (is_s3)
    return open_s3(election, election->place);
  s3lect_error_t error;
  int err =
      s3lect_store_file_init(election->proxy->loop, &election->store, election->place, &error);
  return err != 0 ? complain(err, error.text) : 0;
}

static int open_elector(election_t* election, s3lect_elector_t* elector, const char* key,
                        const char* addr) {
  proxy_t* proxy = election->proxy;
  s3lect_error_t error;
  s3lect_elector_options_t options;
  s3lect_elector_options_init(&options, sizeof options);
  options.lockfile_path = key;
  options.server_id = proxy->options.id;
  options.server_addr = addr;
  options.store = &election->store;
  options.leader_timeout_ms = proxy->options.leader_timeout_ms;
  options.renew_interval_ms = proxy->options.renew_ms;
  options.request_timeout_ms = proxy->options.request_timeout_ms;
  options.frequent_interval_ms = proxy->options.frequent_ms;
  options.infrequent_interval_ms = proxy->options.infrequent_ms;
  options.on_started_leading = on_started;
  options.on_stopped_leading = on_stopped;
  options.on_new_leader = on_new_leader;
  options.on_error = on_error;
  options.observer = elector == &election->observer;
  int err = s3lect_elector_init(proxy->loop, elector, &options, &error);
  if (err != 0)
    return complain(err, error.text);
  elector->data = proxy;
  election->open++;
  return 0;
}

static void on_elector_closed(s3lect_elector_t* e) {
  proxy_t* proxy = e->data;
  election_t* election = (election_t*)((char*)proxy->elector - offsetof(election_t, elector));
  if (e == &election->elector)
    proxy->elector_open = false;
  if (--election->open == 0)
    s3lect_store_close(&election->store, NULL);
}

int election_start(election_t* election, struct proxy_s* proxy, const char* addr) {
  const char* key = NULL;
  election->proxy = proxy;
  proxy->elector = &election->elector;
  int err = open_store(election, &key);
  if (err != 0)
    return err;
  err = open_elector(election, &election->elector, key, addr);
  if (err != 0) {
    s3lect_store_close(&election->store, NULL);
    return err;
  }
  proxy->elector_open = true;
  err = open_elector(election, &election->observer, key, addr);
  if (err == 0)
    err = s3lect_elector_start(&election->elector);
  return err != 0 ? complain(err, s3lect_strerror(err)) : 0; /* the caller closes */
}

int election_stand_aside(election_t* election) {
  (void)s3lect_elector_stop(&election->elector); /* unless an earlier call has done that */
  return s3lect_elector_start(&election->observer);
}

int election_stand(election_t* election) {
  int err = s3lect_elector_start(&election->elector);
  if (err == 0)
    (void)s3lect_elector_stop(&election->observer);
  return err;
}

void election_close(election_t* election) {
  if (election->open == 2)
    (void)s3lect_elector_close(&election->observer, on_elector_closed);
  (void)s3lect_elector_close(&election->elector, on_elector_closed);
}
