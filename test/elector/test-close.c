/* The close contract, which is one for all public handles: the callback of a close runs exactly
 * once, from the loop, after every other callback of the handle; then the handle's memory may be
 * used for anything. Each handle is closed with a callback and without one, at once after it was
 * opened, and with work under way.
 *
 * ctest labels: one-protocol
 * What is closed here is the same with both protocols; test-api.c and its like close electors of
 * both in every state. */
#include <string.h>

#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect.h"

static uv_loop_t loop;
static s3lect_store_t memory; /* under the elector and the run of checks */
static unsigned callbacks;    /* other than that of close */
static unsigned closed;
static bool in_call;

/* A handle's memory while it is open; wiped in the close callback. */
static union {
  s3lect_store_t store;
  s3lect_credentials_provider_t provider;
  s3lect_elector_t elector;
  s3lect_peer_client_t client;
  s3lect_peer_server_t server;
  s3lect_verify_t verify;
} handle;

static void on_closed(void) {
  assert_false(in_call);
  closed++;
  memset(&handle, 0xa5, sizeof handle);
}

static void on_other(void) {
  assert_false(in_call);
  assert_int_equal(closed, 0);
  callbacks++;
}

/* ---- Stores ---- */

static s3lect_store_req_t store_req;

static void on_store_closed(s3lect_store_t* store) {
  on_closed();
}

static void on_read(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  assert_int_equal(result->status, UV_ECANCELED);
  on_other();
}

static void use_store(void) {
  store_req = (s3lect_store_req_t){.key = "key", .timeout_ms = S3L_WAIT_MS, .cb = on_read};
  assert_int_equal(s3lect_store_get(&handle.store, &store_req), 0);
}

static void close_store(bool with_callback) {
  s3lect_store_close(&handle.store, with_callback ? on_store_closed : NULL);
}

static void open_memory(void) {
  assert_int_equal(s3lect_store_memory_init(&loop, &handle.store, NULL), 0);
}

static void open_file(void) {
  assert_int_equal(s3lect_store_file_init(&loop, &handle.store, ".", NULL), 0);
}

/* Port 1 of the loopback: nothing listens there. */
static void open_s3(void) {
  s3lect_store_s3_options_t o;
  s3lect_store_s3_options_init(&o, sizeof o);
  o.endpoint = "http://127.0.0.1:1";
  o.bucket = "bucket";
  o.access_key_id = o.secret_access_key = "key";
  assert_int_equal(s3lect_store_s3_init(&loop, &handle.store, &o, NULL), 0);
}

/* ---- Credentials ---- */

static s3lect_credentials_req_t credentials_req;

static void on_provider_closed(s3lect_credentials_provider_t* provider) {
  on_closed();
}

static void on_credentials(s3lect_credentials_req_t* req, int status,
                           const s3lect_credentials_t* credentials, const char* message) {
  assert_int_equal(status, UV_ECANCELED);
  on_other();
}

static void open_provider(void) {
  assert_int_equal(s3lect_credentials_static_init(&loop, &handle.provider, "id", "key", NULL, NULL),
                   0);
}

static void use_provider(void) {
  credentials_req = (s3lect_credentials_req_t){.cb = on_credentials};
  assert_int_equal(handle.provider.ops->get(&handle.provider, &credentials_req), 0);
}

static void close_provider(bool with_callback) {
  s3lect_credentials_close(&handle.provider, with_callback ? on_provider_closed : NULL);
}

/* ---- Peers ---- */

static void on_client_closed(s3lect_peer_client_t* client) {
  on_closed();
}

static void on_server_closed(s3lect_peer_server_t* server) {
  on_closed();
}

static void open_client(void) {
  s3lect_peer_client_options_t o;
  s3lect_peer_client_options_init(&o, sizeof o);
  o.plain_http = 1;
  assert_int_equal(s3lect_peer_client_init(&loop, &handle.client, &o, NULL), 0);
}

static void close_client(bool with_callback) {
  s3lect_peer_client_close(&handle.client, with_callback ? on_client_closed : NULL);
}

static void open_server(void) {
  s3lect_peer_server_options_t o;
  s3lect_peer_server_options_init(&o, sizeof o);
  o.listen = "127.0.0.1:0";
  o.plain_http = 1;
  assert_int_equal(s3lect_peer_server_init(&loop, &handle.server, &o, NULL), 0);
}

static void close_server(bool with_callback) {
  s3lect_peer_server_close(&handle.server, with_callback ? on_server_closed : NULL);
}

/* ---- Electors ---- */

static void on_elector_closed(s3lect_elector_t* elector) {
  on_closed();
}

static void on_event(s3lect_elector_t* elector, const s3lect_event_t* event) {
  on_other();
}

static void open_elector(void) {
  s3lect_elector_options_t o;
  s3lect_elector_options_init(&o, sizeof o);
  o.store = &memory;
  o.lockfile_path = "lock.json";
  o.server_id = "a";
  o.on_claiming = on_event;
  o.on_stopped_leading = on_event;
  assert_int_equal(s3lect_elector_init(&loop, &handle.elector, &o, NULL), 0);
}

static void use_elector(void) {
  assert_int_equal(s3lect_elector_start(&handle.elector), 0);
  s3l_wait_count(&loop, &callbacks, 1, "a provisional claim");
}

static void close_elector(bool with_callback) {
  int r = s3lect_elector_close(&handle.elector, with_callback ? on_elector_closed : NULL);
  assert_int_equal(r, 0);
}

/* ---- Checks of a store: a cancel ends the run, and its one callback comes last ---- */

static void on_report(s3lect_verify_t* verify, const s3lect_verify_report_t* report) {
  assert_int_equal(report->error, UV_ECANCELED);
  on_closed();
}

static void open_verify(void) {
  s3lect_verify_options_t o;
  s3lect_verify_options_init(&o, sizeof o);
  o.store = &memory;
  assert_int_equal(s3lect_verify_start(&handle.verify, &o, on_report, NULL), 0);
}

static void close_verify(bool with_callback) {
  (void)with_callback; /* it was given at the start, and is required */
  s3lect_verify_cancel(&handle.verify);
}

/* ---- The contract ---- */

typedef struct subject_s {
  const char* name;
  void (*open)(void);
  void (*use)(void); /* puts work under way, of which a callback tells; or NULL */
  void (*close)(bool with_callback);
  bool always_called;
} subject_t;

static const subject_t subjects[] = {
    {"store_memory", open_memory, use_store, close_store, false},
    {"store_file", open_file, use_store, close_store, false},
    {"store_s3", open_s3, use_store, close_store, false},
    {"credentials", open_provider, use_provider, close_provider, false},
    {"peer_client", open_client, NULL, close_client, false},
    {"peer_server", open_server, NULL, close_server, false},
    {"elector", open_elector, use_elector, close_elector, false},
    {"verify", open_verify, NULL, close_verify, true},
};

static void check_close(const subject_t* subject, bool use, bool with_callback) {
  callbacks = closed = 0;
  memset(&handle, 0, sizeof handle);
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(s3lect_store_memory_init(&loop, &memory, NULL), 0);
  in_call = true;
  subject->open();
  in_call = false;
  if (use)
    subject->use();
  in_call = true;
  subject->close(with_callback);
  in_call = false;
  unsigned called = with_callback || subject->always_called ? 1 : 0;
  s3l_wait_count(&loop, &closed, called, subject->name);
  for (int i = 0; called == 0 && uv_loop_alive(&loop) && i < 1000; i++)
    (void)uv_run(&loop, UV_RUN_NOWAIT);
  s3lect_store_close(&memory, NULL);
  s3l_wait_loop_end(&loop);
  assert_int_equal(closed, called);
  assert_int_equal(callbacks > 0, use);
}

static void closes_once_and_last(void** state) {
  const subject_t* subject = *state;
  for (int i = 0; i < 4; i++) {
    if (subject->use != NULL || i < 2)
      check_close(subject, i >= 2, i % 2 == 0);
  }
}

int main(void) {
  struct CMUnitTest tests[sizeof subjects / sizeof subjects[0]];
  for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) {
    tests[i] = (struct CMUnitTest)cmocka_unit_test(closes_once_and_last);
    tests[i].name = subjects[i].name;
    tests[i].initial_state = (void*)&subjects[i];
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
