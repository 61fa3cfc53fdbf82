#include "lib/s3proc.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/test.h"
#include <s3lect.h>

#include "lib/any_store.h"
#include "lib/protocol.h"

#define ARGS_MAX 48
#define ENV_MAX  ARGS_MAX

const char* s3proc_path(const s3proc_t* s3, const char* name) {
  static char path[384];
  snprintf(path, sizeof path, "%s/%s", s3->dir, name);
  return path;
}

const char* s3proc_text(const s3proc_t* s3, const char* name) {
  static char text[1024 * 1024];
  FILE* file = fopen(s3proc_path(s3, name), "re");
  size_t n = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
  text[n] = '\0';
  if (file != NULL)
    fclose(file);
  return text;
}

typedef struct lines_s {
  const s3proc_t* s3;
  const char* name;
  int count;
} lines_t;

static bool has_lines(void* arg) {
  const lines_t* want = arg;
  int n = 0;
  for (const char* p = s3proc_text(want->s3, want->name); *p != '\0'; p++)
    n += *p == '\n';
  return n >= want->count;
}

void s3proc_await_lines(s3proc_t* s3, const char* name, int count) {
  lines_t want = {s3, name, count};
  procs_until(&s3->procs, has_lines, &want);
}

typedef struct text_s {
  const s3proc_t* s3;
  const char* name;
  const char* text;
} text_t;

static bool has_text(void* arg) {
  const text_t* want = arg;
  return strstr(s3proc_text(want->s3, want->name), want->text) != NULL;
}

void s3proc_await_text(s3proc_t* s3, const char* name, const char* text) {
  text_t want = {s3, name, text};
  procs_until(&s3->procs, has_text, &want);
}

/* Starts s3lect-fakes3; its URL, from the file `name` of the scratch folder. */
static proc_t* start_program(s3proc_t* s3, const char* name, char* url, size_t cap,
                             const char* const* more) {
  char program[512], ready[384];
  const char* argv[16] = {program, "--ready-file", ready};
  size_t n = 3;
  snprintf(program, sizeof program, "%s/test/fakes3/s3lect-fakes3", s3->build_dir);
  snprintf(ready, sizeof ready, "%s", s3proc_path(s3, name));
  unlink(ready);
  while (*more != NULL)
    argv[n++] = *more++;
  proc_t* p = proc_spawn(&s3->procs, argv, NULL);
  s3proc_await_lines(s3, name, 1);
  snprintf(url, cap, "%s", s3proc_text(s3, name));
  url[strcspn(url, "\r\n")] = '\0';
  return p;
}

static void start_fake(s3proc_t* s3, const char* port, const char* buckets) {
  s3->fake = start_program(s3, "ready", s3->url, sizeof s3->url,
                           (const char*[]){"--die-with-parent", "--protocol", s3l_any_store(),
                                           "--port", port,
                                           s3->versioned     ? "--versioned"
                                           : buckets != NULL ? "--buckets"
                                                             : NULL,
                                           buckets, NULL});
}

proc_t* s3proc_relay(s3proc_t* s3, const char* name, char* url, size_t cap) {
  return start_program(s3, name, url, cap,
                       (const char*[]){"--relay-to", s3->url + strlen("http://"), NULL});
}

static void begin(s3proc_t* s3, const char* build_dir) {
  memset(s3, 0, sizeof *s3);
  s3->build_dir = build_dir;
  snprintf(s3->dir, sizeof s3->dir, "/tmp/s3lect-test-XXXXXX");
  assert_non_null(mkdtemp(s3->dir));
  procs_begin(&s3->procs);
}

void s3proc_begin(s3proc_t* s3, const char* build_dir, const char* buckets) {
  begin(s3, build_dir);
  s3l_any_store_url("test", "lock.json", s3->store, sizeof s3->store);
  start_fake(s3, "0", buckets);
}

void s3proc_begin_versioned(s3proc_t* s3, const char* build_dir) {
  begin(s3, build_dir);
  s3->versioned = true;
  snprintf(s3->store, sizeof s3->store, "s3://test/lock.json");
  start_fake(s3, "0", NULL);
}

void s3proc_begin_file(s3proc_t* s3, const char* build_dir) {
  begin(s3, build_dir);
  snprintf(s3->store, sizeof s3->store, "file://%s/lock.json", s3->dir);
}

void s3proc_begin_real(s3proc_t* s3, const char* build_dir) {
  begin(s3, build_dir);
  const char* url = getenv("S3LECT_TEST_STORE");
  snprintf(s3->store, sizeof s3->store, "%s%s/s3lect-test/%lld/lock.json",
           url != NULL ? "" : "s3://", url != NULL ? url : getenv("S3LECT_TEST_BUCKET"),
           (long long)s3lect_now_ns());
}

void s3proc_fault(s3proc_t* s3, const char* json) {
  char url[192];
  snprintf(url, sizeof url, "%s/_fakes3/faults", s3->url);
  proc_t* curl =
      proc_spawn(&s3->procs, (const char*[]){"curl", "-s", "-f", "-d", json, url, NULL}, NULL);
  assert_int_equal(proc_wait(curl), 0);
  proc_forget(curl);
}

void s3proc_replace_fake(s3proc_t* s3) {
  char port[16];
  const char* colon = strrchr(s3->url, ':');
  assert_non_null(colon);
  snprintf(port, sizeof port, "%s", colon + 1);
  port[strspn(port, "0123456789")] = '\0';
  proc_signal(s3->fake, SIGKILL);
  proc_wait(s3->fake);
  proc_forget(s3->fake);
  start_fake(s3, port, NULL);
}

void s3proc_end(s3proc_t* s3) {
  procs_end(&s3->procs);
  DIR* dir = opendir(s3->dir);
  assert_non_null(dir);
  for (const struct dirent* entry; (entry = readdir(dir)) != NULL;)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      unlink(s3proc_path(s3, entry->d_name));
  closedir(dir);
  assert_int_equal(rmdir(s3->dir), 0);
}

static size_t add(const char** argv, size_t n, const char* const* more) {
  for (; more != NULL && *more != NULL; more++) {
    assert_true(n < ARGS_MAX - 1);
    argv[n++] = *more;
  }
  argv[n] = NULL;
  return n;
}

proc_t* s3proc_s3lect(s3proc_t* s3, const char* command, const char* id, const char* const* more) {
  char program[512];
  const char* argv[ARGS_MAX];
  snprintf(program, sizeof program, "%s/src/s3lect", s3->build_dir);
  const char* common[] = {program, command, "--store", s3->store, NULL};
  const char* endpoint[] = {"--endpoint", s3->url, NULL};
  const char* request = s3l_test_epochs() ? "400ms" : "700ms";
  char leader_timeout[16], renew[16];
  snprintf(leader_timeout, sizeof leader_timeout, "%ums", s3l_any_store_timeout_ms(S3PROC_T_MS));
  snprintf(renew, sizeof renew, "%ums", s3l_any_store_renew_ms(400));
  const char* timing[] = {
      "--leader-timeout", leader_timeout, "--renew",           renew,   "--frequent", "300ms",
      "--infrequent",     "1s",           "--request-timeout", request, NULL};
  const char* protocol[] = {"--protocol", "epochs", NULL};
  const char* name[] = {"--id", id, NULL};
  const char* shell[] = {"/bin/sh", "-c", s3->through, "sh", NULL};
  size_t n = s3->through != NULL ? add(argv, 0, shell) : 0;
  n = add(argv, n, common);
  if (s3->url[0] != '\0')
    n = add(argv, n, endpoint);
  if (strcmp(command, "elect") == 0 || strcmp(command, "run") == 0)
    n = add(argv, n, timing);
  if (s3l_test_epochs())
    n = add(argv, n, protocol);
  if (id != NULL)
    n = add(argv, n, name);
  add(argv, n, more);
  const char* env[ENV_MAX] = {NULL};
  size_t set = s3->fake != NULL ? add(env, 0, s3l_any_store_keys()) : 0;
  add(env, set, s3->env);
  return proc_spawn(&s3->procs, argv, env);
}

int s3proc_status(s3proc_t* s3, const char* const* more, char line[2048]) {
  proc_t* proc = s3proc_s3lect(s3, "status", NULL, more);
  int status = proc_wait(proc);
  if (line != NULL) {
    const char* found = proc_try_line(proc, status == 1 ? PROC_ERR : PROC_OUT, "", true);
    snprintf(line, 2048, "%s", found != NULL ? found : "");
  }
  proc_forget(proc);
  return status;
}

typedef struct put_s {
  s3lect_store_req_t req;
  int status;
  bool done;
} put_t;

static void on_put(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  put_t* put = req->data;
  put->status = result->status;
  put->done = true;
}

static bool is_done(void* arg) {
  const put_t* put = arg;
  return put->done;
}

static void on_closed(s3lect_store_t* store) {
  bool* closed = store->data;
  *closed = true;
}

static bool is_true(void* arg) {
  const bool* flag = arg;
  return *flag;
}

static void open_store(s3proc_t* s3, s3lect_store_t* store) {
  memset(store, 0, sizeof *store);
  if (s3->url[0] == '\0') {
    assert_int_equal(s3lect_store_file_init(&s3->procs.loop, store, s3->dir, NULL), 0);
    return;
  }
  s3l_any_store_open(&s3->procs.loop, store,
                     &(s3l_any_store_options_t){.url = s3->url, .bucket = "test"});
}

void s3proc_put(s3proc_t* s3, const char* body) {
  s3lect_store_t store;
  open_store(s3, &store);
  const char* name = s3->url[0] != '\0' ? strstr(s3->store, "/test/") : NULL;
  name = name != NULL ? name + strlen("/test/") : strrchr(s3->store, '/') + 1;
  char key[128];
  snprintf(key, sizeof key, "%s%s", name, s3l_test_epochs() ? "lock-0000001000.json" : "");
  put_t put = {
      .req = {
          .key = key, .body = body, .body_len = strlen(body), .timeout_ms = 10000, .cb = on_put}};
  put.req.data = &put;
  assert_int_equal(s3lect_store_put(&store, &put.req), 0);
  procs_until(&s3->procs, is_done, &put);
  assert_int_equal(put.status, 0);
  bool closed = false;
  store.data = &closed;
  s3lect_store_close(&store, on_closed);
  procs_until(&s3->procs, is_true, &closed);
}

void s3proc_seed(s3proc_t* s3) {
  s3proc_put(s3, s3l_test_epochs() ? "{\"validity_ms\":2500,\"expired\":true,\"leaderID\":\"x\"}"
                                   : "{\"leaderID\":\"x\",\"leaderAddr\":\"\","
                                     "\"lastUpdated\":\"0001-01-01T00:00:00Z\",\"epoch\":1000}");
}

const char* s3proc_what(void) {
  return s3l_test_epochs() ? "epoch file" : "lockfile";
}

const char* s3proc_protocol_options(void) {
  return s3l_test_epochs() ? "--protocol epochs --request-timeout 400ms"
                           : "--protocol lockfile --request-timeout 700ms";
}
