/* Look-ups that need not be made, fail, or hang: by a resolver of the test's own, which takes the
 * place of libuv's. The addresses are of 127.0.0.0/8, which Linux serves as a whole. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <netdb.h>

#include "http/conn.h"
#include "lib/http_rig.h"
#include "lib/hung_port.h"
#include "lib/script_server.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "net/dial.h"
#include "net/tcp.h"

#define HOST "store.test"

/* ---- The resolver ---- */

static struct {
  const char* ip; /* the answer; NULL: `error`, or no answer if that is 0 */
  int error;
  unsigned asked;
} resolver;

typedef struct question_s {
  uv_timer_t soon;
  uv_getaddrinfo_t* req;
  uv_getaddrinfo_cb cb;
  struct addrinfo* found;
  int error;
} question_t;

static question_t* hanging;

static void on_question_closed(uv_handle_t* handle) {
  free(handle->data);
}

static void on_soon(uv_timer_t* timer) {
  question_t* q = timer->data;
  uv_close((uv_handle_t*)timer, on_question_closed);
  q->cb(q->req, q->error, q->found);
}

int uv_getaddrinfo(uv_loop_t* loop, uv_getaddrinfo_t* req, uv_getaddrinfo_cb cb, const char* node,
                   const char* service, const struct addrinfo* hints) {
  struct addrinfo numeric = *hints;
  question_t* q = calloc(1, sizeof(*q));
  assert_non_null(q);
  assert_string_equal(node, HOST);
  resolver.asked++;
  q->req = req;
  q->cb = cb;
  q->error = resolver.error;
  numeric.ai_flags |= AI_NUMERICHOST;
  if (resolver.ip != NULL)
    assert_int_equal(getaddrinfo(resolver.ip, service, &numeric, &q->found), 0);
  assert_int_equal(uv_timer_init(loop, &q->soon), 0);
  q->soon.data = q;
  if (resolver.ip == NULL && resolver.error == 0) {
    uv_unref((uv_handle_t*)&q->soon);
    assert_null(hanging);
    hanging = q;
  } else {
    assert_int_equal(uv_timer_start(&q->soon, on_soon, 0, 0), 0);
  }
  return 0;
}

static void answers(const char* ip) {
  resolver.ip = ip;
  resolver.error = 0;
}

static void fails(int error) {
  resolver.ip = NULL;
  resolver.error = error;
}

/* The resolver gives up at last on what it left unanswered. */
static void end_hanging(void) {
  question_t* q = hanging;
  assert_non_null(q);
  hanging = NULL;
  q->error = UV_EAI_AGAIN;
  on_soon(&q->soon);
}

/* ---- Dials ---- */

static uv_loop_t loop;
static s3l_loop_t* runtime;
static s3l_dial_t dial;
static s3l_dns_cache_t cache;
static s3l_script_server_t server;
static bool called;
static int status;
static uv_tcp_t* tcp;
static const s3l_step_t* const scripts[] = {(const s3l_step_t[]){S3L_SCRIPT_END}};

static void on_dialed(s3l_dial_t* d, int rc, uv_tcp_t* connected) {
  assert_false(called);
  called = true;
  status = rc;
  tcp = connected;
}

static int setup(void** state) {
  memset(&resolver, 0, sizeof(resolver));
  memset(&cache, 0, sizeof(cache));
  memset(&server, 0, sizeof(server));
  server.scripts = scripts;
  server.scripts_len = 1;
  server.ip = "127.0.0.5";
  server.unref = true;
  if (uv_loop_init(&loop) != 0 || s3l_loop_join(&loop, &runtime) != 0)
    return -1;
  s3l_script_server_start(&server, &loop);
  return 0;
}

static int teardown(void** state) {
  s3l_script_server_close(&server);
  s3l_loop_leave(runtime, NULL);
  uv_run(&loop, UV_RUN_DEFAULT);
  return uv_loop_close(&loop);
}

static int dial_to(const char* host, uint16_t port) {
  called = false;
  assert_int_equal(s3l_dial_start(&dial, runtime, &cache, host, port, on_dialed), 0);
  assert_false(called);
  while (!called)
    assert_true(s3l_turn(&loop) != 0 || called);
  if (tcp != NULL)
    s3l_tcp_close(tcp, NULL);
  tcp = NULL;
  return status;
}

static int dial_host(void) {
  return dial_to(HOST, server.port);
}

static void age_ms(int64_t ms) {
  cache.at_ns -= ms * 1000000;
}

static void a_fresh_answer_saves_the_look_up(void** state) {
  answers("127.0.0.5");
  assert_int_equal(dial_host(), 0);
  fails(UV_EAI_FAIL);
  assert_int_equal(dial_host(), 0);
  age_ms(4000);
  assert_int_equal(dial_host(), 0);
  assert_int_equal(resolver.asked, 1);
  age_ms(1000); /* now it is asked again, and the answer is a new one */
  answers("127.0.0.6");
  assert_int_equal(dial_host(), UV_ECONNREFUSED);
  assert_int_equal(resolver.asked, 2);
  assert_int_equal(server.accepted, 3);
}

static void a_failed_look_up_falls_back_on_the_last_answer(void** state) {
  static const int failures[] = {UV_EAI_AGAIN, UV_EAI_FAIL,   UV_EAI_MEMORY,
                                 UV_ENOMEM,    UV_EAI_NONAME, UV_EAI_NODATA};
  fails(UV_EAI_AGAIN);
  assert_int_equal(dial_host(), UV_EAI_AGAIN); /* there is none yet */
  answers("127.0.0.5");
  assert_int_equal(dial_host(), 0);
  age_ms(3590000);
  for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
    fails(failures[i]);
    assert_int_equal(dial_host(), 0);
  }
  assert_int_equal(resolver.asked, 8);
  age_ms(10000); /* an hour is too long */
  assert_int_equal(dial_host(), UV_EAI_NODATA);
}

/* "No such name" is also what glibc says where it cannot ask: an address that can be reached counts
 * more than that, and one that cannot be reached does not. */
static void no_such_name_is_believed_of_an_address_that_fails(void** state) {
  answers("127.0.0.5");
  assert_int_equal(dial_host(), 0);
  age_ms(6000);
  fails(UV_EAI_NONAME);
  assert_int_equal(dial_host(), 0);
  assert_int_equal(dial_host(), 0);
  answers("127.0.0.6");
  assert_int_equal(dial_host(), UV_ECONNREFUSED);
  fails(UV_EAI_NONAME);
  assert_int_equal(dial_host(), UV_EAI_NONAME);
}

/* Without a descriptor there is neither a look-up nor a socket, and the address is as good as it
 * was. */
static void no_descriptor_is_no_doubt(void** state) {
  struct rlimit before;
  answers("127.0.0.5");
  assert_int_equal(dial_host(), 0);
  age_ms(6000);
  fails(UV_EAI_NONAME);
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  const struct rlimit none = {.rlim_cur = 3, .rlim_max = before.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
  int rc = dial_host();
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  assert_int_equal(rc, UV_EMFILE);
  assert_int_equal(dial_host(), 0);
}

static void patience_with_a_look_up_ends(void** state) {
  answers("127.0.0.5");
  assert_int_equal(dial_host(), 0);
  age_ms(6000);
  fails(0); /* no answer at all */
  assert_int_equal(dial_host(), 0);
  assert_int_equal(server.accepted, 2);
  end_hanging(); /* which nobody hears any more */
}

static void what_cannot_be_reached_is_doubted(void** state) {
  answers("127.0.0.6"); /* nobody listens there */
  assert_int_equal(dial_host(), UV_ECONNREFUSED);
  fails(UV_EAI_AGAIN); /* but it is better than nothing */
  assert_int_equal(dial_host(), UV_ECONNREFUSED);
  answers("127.0.0.5");
  assert_int_equal(dial_host(), 0);
  assert_int_equal(resolver.asked, 3);
  assert_int_equal(dial_host(), 0); /* and that is believed */
  assert_int_equal(resolver.asked, 3);
}

/* A look-up is waited for where the old answer has been found useless meanwhile. */
static void doubt_gives_a_look_up_its_time(void** state) {
  answers("127.0.0.5");
  assert_int_equal(dial_host(), 0);
  age_ms(6000);
  fails(0);
  called = false;
  assert_int_equal(s3l_dial_start(&dial, runtime, &cache, HOST, server.port, on_dialed), 0);
  s3l_dns_cache_suspect(&cache);
  while (dial.stagger.set)
    s3l_turn(&loop);
  assert_false(called);
  end_hanging(); /* it fails, and doubtful addresses are better than none */
  while (!called)
    s3l_turn(&loop);
  assert_int_equal(status, 0);
  s3l_tcp_close(tcp, NULL);
  tcp = NULL;
}

static void an_answer_is_for_its_host_and_port(void** state) {
  char longest[400];
  const s3l_address_t address = {.in4 = {.sin_family = AF_INET}};
  answers("127.0.0.5");
  assert_int_equal(dial_host(), 0);
  assert_int_equal(dial_to(HOST, server.port == 1 ? 2 : 1), UV_ECONNREFUSED);
  assert_int_equal(resolver.asked, 2);
  s3l_dns_cache_put(&cache, "a.test", 80, &address, 1);
  assert_int_equal(s3l_dns_cache_age(&cache, "a.test", 80), S3L_DNS_FRESH);
  assert_int_equal(s3l_dns_cache_age(&cache, "a.test", 443), S3L_DNS_NONE);
  assert_int_equal(s3l_dns_cache_age(&cache, "b.test", 80), S3L_DNS_NONE);
  memset(longest, 'a', sizeof(longest) - 1);
  longest[sizeof(longest) - 1] = '\0';
  s3l_dns_cache_put(&cache, longest, 80, &address, 1);
  assert_int_equal(s3l_dns_cache_age(&cache, longest, 80), S3L_DNS_NONE);
  assert_int_equal(s3l_dns_cache_age(&cache, "a.test", 80), S3L_DNS_NONE);
}

/* ---- The HTTP client ---- */

static void a_client_asks_once_for_many_connections(void** state) {
  s3l_rig_t rig;
  s3l_rig_req_t r[3];
  memset(r, 0, sizeof(r));
  memset(&resolver, 0, sizeof(resolver));
  s3l_rig_init(&rig,
               S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"),
                                      S3L_SEND("HTTP/1.1 200 OK\r\nConnection: close\r\n"
                                               "Content-Length: 2\r\n\r\nok"))),
               1);
  rig.options.host = HOST;
  s3l_rig_start(&rig);
  answers("127.0.0.1");
  s3l_rig_do(&rig, &r[0]);
  assert_int_equal(r[0].status, 0);
  fails(UV_EAI_AGAIN);
  s3l_rig_do(&rig, &r[1]);
  assert_int_equal(r[1].status, 0);
  assert_int_equal(resolver.asked, 1);
  assert_int_equal(rig.server.accepted, 2);
  ((s3l_conn_pool_t*)rig.client)->dns.at_ns -= INT64_C(6000) * 1000000; /* six seconds later */
  s3l_rig_do(&rig, &r[2]);
  assert_int_equal(r[2].status, 0);
  assert_int_equal(resolver.asked, 2);
  s3l_rig_end(&rig);
}

/* What does not answer at all is not taken again without a look-up. */
static void a_client_asks_again_after_a_time_out(void** state) {
  s3l_rig_t rig;
  s3l_hung_port_t hung;
  s3l_rig_req_t r[2];
  memset(r, 0, sizeof(r));
  memset(&resolver, 0, sizeof(resolver));
  s3l_rig_init(&rig, S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK))), 1);
  rig.options.host = HOST;
  rig.options.connect_timeout_ms = 300;
  s3l_rig_start(&rig);
  s3l_hung_port_open(&hung, "127.0.0.7", rig.server.port);
  answers("127.0.0.7");
  s3l_rig_do(&rig, &r[0]);
  assert_int_equal(r[0].status, UV_ETIMEDOUT);
  answers("127.0.0.1");
  s3l_rig_do(&rig, &r[1]);
  s3l_hung_port_close(&hung);
  assert_int_equal(r[1].status, 0);
  assert_int_equal(resolver.asked, 2);
  s3l_rig_end(&rig);
}

int main(void) {
#define WITH_LOOP(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      WITH_LOOP(a_fresh_answer_saves_the_look_up),
      WITH_LOOP(a_failed_look_up_falls_back_on_the_last_answer),
      WITH_LOOP(no_such_name_is_believed_of_an_address_that_fails),
      WITH_LOOP(no_descriptor_is_no_doubt),
      WITH_LOOP(patience_with_a_look_up_ends),
      WITH_LOOP(what_cannot_be_reached_is_doubted),
      WITH_LOOP(doubt_gives_a_look_up_its_time),
      WITH_LOOP(an_answer_is_for_its_host_and_port),
      cmocka_unit_test(a_client_asks_once_for_many_connections),
      cmocka_unit_test(a_client_asks_again_after_a_time_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
