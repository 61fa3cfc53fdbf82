#include <stdio.h>
#include <string.h>

#include "lib/http_rig.h"
#include "lib/test.h"
#include "lib/wait.h"

void s3l_rig_init(s3l_rig_t* rig, const s3l_step_t* const* scripts, size_t n) {
  memset(rig, 0, sizeof(*rig));
  assert_int_equal(uv_loop_init(&rig->loop), 0);
  rig->server.scripts = scripts;
  rig->server.scripts_len = n;
  rig->server.data = rig;
  /* Long enough never to matter where a test does not set its own. */
  rig->options = (s3l_http_client_options_t){.host = "127.0.0.1",
                                             .connect_timeout_ms = 30000,
                                             .tls_timeout_ms = 30000,
                                             .first_byte_timeout_ms = 30000,
                                             .idle_timeout_ms = 30000,
                                             .max_connections = 4};
}

void s3l_rig_start(s3l_rig_t* rig) {
  if (rig->server.scripts_len > 0) {
    s3l_script_server_start(&rig->server, &rig->loop);
    rig->options.port = rig->server.port;
  }
  assert_int_equal(s3l_http_client_create(&rig->loop, &rig->options, &rig->client), 0);
}

static ssize_t compose(s3l_http_req_t* req, char* buf, size_t cap) {
  s3l_rig_req_t* r = req->data;
  const char* text = r->text != NULL ? r->text : S3L_RIG_REQUEST;
  size_t n = strlen(text);
  assert_false(r->rig->in_call);
  r->composed++;
  if (r->in_compose != NULL)
    r->in_compose(r);
  if (r->compose_error != 0)
    return r->compose_error;
  assert_true(n <= cap);
  memcpy(buf, text, n);
  return (ssize_t)n;
}

static void done(s3l_http_req_t* req, const s3l_http_reply_t* reply) {
  s3l_rig_req_t* r = req->data;
  s3l_span_t etag = s3l_http_reply_header(reply, "etag");
  assert_false(r->rig->in_call);
  r->done++;
  r->status = reply->status;
  r->sent = reply->sent;
  r->waited_ns = reply->waited_ns;
  r->http_status = reply->http_status;
  r->headers_len = reply->headers_len;
  (void)s3l_span_copy(etag.p != NULL ? etag : S3L_SPAN(""), r->etag, sizeof(r->etag));
  r->body_len = reply->body.n;
  if (reply->body.n > 0)
    memcpy(r->body, reply->body.p,
           reply->body.n < sizeof(r->body) ? reply->body.n : sizeof(r->body));
  snprintf(r->message, sizeof(r->message), "%s", reply->message != NULL ? reply->message : "");
  if (r->then != NULL)
    r->then(r);
}

void s3l_rig_submit(s3l_rig_t* rig, s3l_rig_req_t* r) {
  bool in_call = rig->in_call;
  r->rig = rig;
  r->req.data = r;
  r->req.compose = compose;
  r->req.done = done;
  r->req.until_ns = s3l_clock_in_ms(r->timeout_ms != 0 ? r->timeout_ms : 60000);
  if (r->req.body_max == 0)
    r->req.body_max = sizeof(r->body);
  rig->in_call = true;
  assert_int_equal(s3l_http_client_submit(rig->client, &r->req), 0);
  rig->in_call = in_call;
}

void s3l_rig_cancel(s3l_rig_req_t* r) {
  bool in_call = r->rig->in_call;
  r->rig->in_call = true;
  s3l_http_client_cancel(&r->req);
  r->rig->in_call = in_call;
}

static void on_client_closed(void* arg) {
  s3l_rig_t* rig = arg;
  assert_false(rig->in_call);
  rig->closed++;
}

void s3l_rig_close_client(s3l_rig_t* rig) {
  bool in_call = rig->in_call;
  rig->in_call = true;
  s3l_http_client_close(rig->client, on_client_closed, rig);
  rig->client = NULL;
  rig->in_call = in_call;
}

void s3l_rig_wait_for(s3l_rig_t* rig, const unsigned* counter, unsigned n) {
  while (*counter < n)
    if (s3l_turn(&rig->loop) == 0 && *counter < n)
      fail_msg("the loop has ended; the counter is at %u, not %u", *counter, n);
}

void s3l_rig_wait(s3l_rig_t* rig, s3l_rig_req_t* r) {
  s3l_rig_wait_for(rig, &r->done, 1);
}

void s3l_rig_do(s3l_rig_t* rig, s3l_rig_req_t* r) {
  s3l_rig_submit(rig, r);
  s3l_rig_wait(rig, r);
}

void s3l_rig_wait_alone(s3l_rig_t* rig) {
  while (rig->server.tcp.open > 1) /* the listener */
    (void)s3l_turn(&rig->loop);
  (void)uv_run(&rig->loop, UV_RUN_NOWAIT);
}

void s3l_rig_end(s3l_rig_t* rig) {
  if (rig->client != NULL)
    s3l_rig_close_client(rig);
  s3l_rig_wait_for(rig, &rig->closed, 1);
  if (rig->server.scripts_len > 0)
    s3l_script_server_close(&rig->server);
  (void)uv_run(&rig->loop, UV_RUN_DEFAULT);
  assert_int_equal(rig->closed, 1);
  assert_int_equal(uv_loop_close(&rig->loop), 0);
}
