/* store/s3 against scripts: what goes out, and what each way of answering, or not answering, comes
 * to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/heap.h"
#include "lib/s3_rig.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect/version.h"

#define BARE    "0123456789abcdef0123456789abcdef"
#define DATE    "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
#define DATE_MS 784111777000
#define REFUSED "HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n"

/* One request over one connection, answered so. */
static void answer_put(const char* reply, int status, int outcome, int http, const char* message) {
  s3_rig_t* rig = S3_RIG(S3L_SCRIPT(S3L_EXPECT(S3_BODY), S3L_SEND(reply), S3L_CLOSE));
  s3_assert_result(s3_rig_put(rig, S3LECT_IF_ABSENT, 0), status, outcome, http);
  if (message != NULL)
    s3_assert_says(rig->r.result.message, message);
  assert_int_equal(rig->server.accepted, 1);
  s3_rig_close(rig);
}

static void answer_get(const char* reply, int status, int outcome, int http, const char* message) {
  s3_rig_t* rig = S3_RIG(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(reply), S3L_CLOSE));
  s3_assert_result(s3_rig_get(rig, NULL), status, outcome, http);
  if (message != NULL)
    s3_assert_says(rig->r.result.message, message);
  s3_rig_close(rig);
}

/* ---- Requests and plain answers ---- */

static void reads_and_writes(void** state) {
  s3_rig_t* rig = S3_RIG(S3L_SCRIPT(
      S3L_EXPECT("GET /bucket/leases/k HTTP/1.1\r\nhost: 127.0.0.1:"),
      S3L_EXPECT("\r\nauthorization: AWS4-HMAC-SHA256 Credential=test/"), S3L_EXPECT("\r\n\r\n"),
      S3L_SPLIT("HTTP/1.1 200 OK\r\n" DATE
                "Last-Modified: Sun, 06 Nov 1994 08:49:30 GMT\r\nETag: " S3_ETAG
                "\r\nContent-Length: 4\r\n\r\nbody",
                1),
      S3L_EXPECT("PUT /bucket/leases/k HTTP/1.1\r\n"), S3L_EXPECT("content-length: 11\r\n"),
      S3L_EXPECT("if-match: " S3_ETAG "\r\n"), S3L_EXPECT("\r\n\r\n" S3_BODY), S3L_SEND(S3_PUT_OK),
      S3L_EXPECT("PUT /"), S3L_EXPECT("if-none-match: *\r\n"), S3L_EXPECT("\r\n\r\n" S3_BODY),
      S3L_SEND("HTTP/1.1 100 Continue\r\n\r\n" S3_PUT_OK), S3L_EXPECT("GET /"),
      S3L_EXPECT("if-none-match: " S3_ETAG "\r\n"), S3L_EXPECT("\r\n\r\n"),
      S3L_SEND("HTTP/1.1 304 Not Modified\r\n\r\n"), S3L_EXPECT("DELETE /bucket/leases/k HTTP"),
      S3L_EXPECT("\r\n\r\n"), S3L_SEND("HTTP/1.1 204 No Content\r\n\r\n")));
  s3_assert_result(s3_rig_get(rig, NULL), 0, S3LECT_SETTLED, 200);
  assert_string_equal(rig->r.result.body, "body");
  assert_string_equal(rig->r.result.etag, S3_ETAG);
  assert_true(rig->r.result.store_time_ms == DATE_MS);
  assert_true(rig->r.result.modified_ms == DATE_MS - 7000);
  s3_assert_result(s3_rig_put(rig, S3LECT_IF_MATCH, 0), 0, S3LECT_SETTLED, 200);
  assert_string_equal(rig->r.result.etag, S3_ETAG);
  s3_assert_result(s3_rig_put(rig, S3LECT_IF_ABSENT, 0), 0, S3LECT_SETTLED, 200);
  s3_assert_result(s3_rig_get(rig, S3_ETAG), S3LECT_ENOTMODIFIED, S3LECT_SETTLED, 304);
  assert_string_equal(rig->r.result.etag, S3_ETAG); /* the reply had none */
  s3l_suite_prepare(&rig->suite, &rig->r, "leases/k");
  s3_assert_result(s3l_suite_do(&rig->r, s3lect_store_del), 0, S3LECT_SETTLED, 204);
  assert_int_equal(rig->server.accepted, 1); /* all over one connection */
  s3_rig_close(rig);
}

/* All of a request but for the time and the signature. Nothing asks for a compressed reply, for a
 * "100 Continue", or for trailers; reads are not to be answered by a cache. */
static void sends_nothing_but_what_it_needs(void** state) {
  static const char signature[] = "Z\r\nauthorization: AWS4-HMAC-SHA256 Credential=test/";
  static char put_head[512], get_head[512];
  s3_rig_t* rig =
      S3_RIG(S3L_SCRIPT(S3L_EXPECT(put_head), S3L_EXPECT(signature), S3L_EXPECT("\r\n\r\n" S3_BODY),
                        S3L_SEND(S3_PUT_OK), S3L_EXPECT(get_head), S3L_EXPECT(signature),
                        S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3_GET_OK)));
  snprintf(put_head, sizeof(put_head),
           "PUT /bucket/leases/k HTTP/1.1\r\nhost: 127.0.0.1:%u\r\n"
           "user-agent: s3lect/" S3LECT_VERSION_STRING "\r\ncontent-length: 11\r\n"
           "content-type: application/json\r\nif-match: " S3_ETAG "\r\nx-amz-content-sha256: "
           "8d388f7872e05501ba67cfdb11ca1eabaa649af6b813bd7e9b314f5bc0e3a5ef\r\nx-amz-date: ",
           rig->server.port);
  snprintf(get_head, sizeof(get_head),
           "GET /bucket/leases/k HTTP/1.1\r\nhost: 127.0.0.1:%u\r\n"
           "user-agent: s3lect/" S3LECT_VERSION_STRING "\r\ncache-control: no-cache\r\n"
           "x-amz-content-sha256: "
           "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\r\nx-amz-date: ",
           rig->server.port);
  s3_assert_result(s3_rig_put(rig, S3LECT_IF_MATCH, 0), 0, S3LECT_SETTLED, 200);
  s3_assert_result(s3_rig_get(rig, NULL), 0, S3LECT_SETTLED, 200);
  assert_int_equal(rig->server.strays, 0);
  s3_rig_close(rig);
}

static void names_what_the_store_said(void** state) {
  answer_put("HTTP/1.1 403 Forbidden\r\n\r\n<Error><Code>AccessDenied</Code>"
             "<Message>Access Denied</Message><RequestId>R1</RequestId></Error>",
             S3LECT_EDENIED, S3LECT_NOT_APPLIED, 403,
             "403 AccessDenied: Access Denied (request id R1)");
  answer_put("HTTP/1.1 412 Precondition Failed\r\nTransfer-Encoding: chunked\r\n\r\n"
             "2e\r\n<Error><Code>PreconditionFailed</Code></Error>\r\n0\r\n\r\n",
             S3LECT_EPRECONDITION, S3LECT_SETTLED, 412, "412 PreconditionFailed");
  answer_put("HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\n\r\n"
             "<html><body><Code>NoSuchKey</Code></body></ht",
             S3LECT_ESERVER, S3LECT_UNCERTAIN, 502, "502");
  answer_put("HTTP/1.1 200 OK\r\nETag: " S3_ETAG "\r\n\r\n"
             "<Error><Code>InternalError</Code></Error>",
             S3LECT_ESERVER, S3LECT_UNCERTAIN, 200, NULL);
  answer_put(
      "HTTP/1.1 400 Bad Request\r\nx-amz-bucket-region: us-east-1\r\nContent-Length: 0\r\n\r\n",
      S3LECT_EREFUSED, S3LECT_NOT_APPLIED, 400, "400"); /* that is where we asked */
  answer_get("HTTP/1.1 404 Not Found\r\n\r\n<Error><Code>NoSuchKey</Code></Error>"
             "  ",
             S3LECT_ENOTFOUND, S3LECT_SETTLED, 404, "404 NoSuchKey");
  answer_get("HTTP/1.1 404 Not Found\r\n\r\n<Error><Code>NoSuchBucket</Code></Error>",
             S3LECT_ENOBUCKET, S3LECT_NOT_APPLIED, 404, "404 NoSuchBucket");
  answer_get("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", S3LECT_ESERVER, S3LECT_NOT_APPLIED,
             500, "500");
}

/* Without a body a 404 means absence, unless the store's other replies tell that it is not its own:
 * they have an ID of the request. */
static void knows_whose_404_it_is(void** state) {
  static const char ours[] = "HTTP/1.1 404 Not Found\r\nx-amz-request-id: 1\r\n"
                             "Content-Length: 0\r\n\r\n";
  static const char other[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
  static const char page[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 21\r\n\r\n"
                             "default backend - 404";
  s3_rig_t* rig = S3_RIG(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(other), S3L_EXPECT("\r\n\r\n"),
                                    S3L_SEND(page), S3L_EXPECT("\r\n\r\n"), S3L_SEND(ours),
                                    S3L_EXPECT("\r\n\r\n"), S3L_SEND(other), S3L_EXPECT(S3_BODY),
                                    S3L_SEND(other)));
  s3_assert_result(s3_rig_get(rig, NULL), S3LECT_ENOTFOUND, S3LECT_SETTLED, 404);
  s3_assert_result(s3_rig_get(rig, NULL), S3LECT_ESERVER, S3LECT_NOT_APPLIED, 404);
  s3_assert_result(s3_rig_get(rig, NULL), S3LECT_ENOTFOUND, S3LECT_SETTLED, 404);
  s3_assert_result(s3_rig_get(rig, NULL), S3LECT_ESERVER, S3LECT_NOT_APPLIED, 404);
  s3_assert_result(s3_rig_put(rig, S3LECT_IF_MATCH, 0), S3LECT_ESERVER, S3LECT_UNCERTAIN, 404);
  s3_rig_close(rig);
}

static void minds_etags(void** state) {
  answer_put("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", S3LECT_EETAG, S3LECT_UNCERTAIN, 200,
             NULL);
  answer_put("HTTP/1.1 200 OK\r\nETag: \"\"\r\nContent-Length: 0\r\n\r\n", S3LECT_EETAG,
             S3LECT_UNCERTAIN, 200, NULL);
  answer_get("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", S3LECT_EETAG, S3LECT_SETTLED, 200,
             NULL);
  s3_rig_t* rig =
      S3_RIG(S3L_SCRIPT(S3L_EXPECT(S3_BODY), S3L_SEND("HTTP/1.1 200 OK\r\nETag: W/" S3_ETAG
                                                      "\r\nContent-Length: 0\r\n\r\n")));
  s3_assert_result(s3_rig_put(rig, S3LECT_ALWAYS, 0), 0, S3LECT_SETTLED, 200);
  assert_string_equal(rig->r.result.etag, S3_ETAG);
  assert_int_equal(rig->r.result.notes, S3LECT_NOTE_ETAG_WEAK);
  s3_rig_close(rig);

  /* A weak one that is read goes out strong: If-Match never matches a weak one. */
  rig = S3_RIG(S3L_SCRIPT(
      S3L_EXPECT("\r\n\r\n"),
      S3L_SEND("HTTP/1.1 200 OK\r\nETag: W/" S3_ETAG "\r\nContent-Length: 1\r\n\r\nx"),
      S3L_EXPECT("\r\nif-match: " S3_ETAG "\r\n"), S3L_EXPECT(S3_BODY), S3L_SEND(S3_PUT_OK)));
  s3_assert_result(s3_rig_get(rig, NULL), 0, S3LECT_SETTLED, 200);
  assert_int_equal(rig->r.result.notes, S3LECT_NOTE_ETAG_WEAK);
  char etag[64];
  snprintf(etag, sizeof(etag), "%s", rig->r.result.etag);
  s3_rig_prepare_put(rig, S3LECT_IF_MATCH, 0);
  rig->r.req.etag = etag;
  s3_assert_result(s3l_suite_do(&rig->r, s3lect_store_put), 0, S3LECT_SETTLED, 200);
  assert_int_equal(rig->r.result.notes, S3LECT_NOTE_ETAG_QUOTED);
  s3_rig_close(rig);
}

/* A long object is refused with its ETag; a short bound does not hide the store's errors. */
static void bounds_what_it_reads(void** state) {
  s3_rig_t* rig = S3_RIG(S3L_SCRIPT(
      S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3_GET_OK), S3L_EXPECT("\r\n\r\n"),
      S3L_SEND("HTTP/1.1 404 Not Found\r\nContent-Length: 40\r\n\r\n"
               "<Error><Code>NoSuchBucket</Code></Error>"),
      S3L_EXPECT("\r\n\r\n"),
      S3L_SEND("HTTP/1.1 200 OK\r\nETag: " S3_ETAG "\r\nContent-Length: 99999999\r\n\r\nx")));
  s3l_suite_prepare(&rig->suite, &rig->r, "k");
  rig->r.req.body_max = 3;
  s3_assert_result(s3l_suite_do(&rig->r, s3lect_store_get), S3LECT_ETOOBIG, S3LECT_SETTLED, 200);
  assert_string_equal(rig->r.result.etag, S3_ETAG);
  assert_int_equal(rig->r.result.body_len, 0);
  s3_assert_result(s3l_suite_do(&rig->r, s3lect_store_get), S3LECT_ENOBUCKET, S3LECT_NOT_APPLIED,
                   404);
  rig->r.req.body_max = 0;
  s3_assert_result(s3l_suite_do(&rig->r, s3lect_store_get), S3LECT_ETOOBIG, S3LECT_SETTLED, 200);
  assert_string_equal(rig->r.result.etag, S3_ETAG);
  s3_rig_close(rig);

  /* So with a proxy's endless page: the status decides. */
  answer_put("HTTP/1.1 412 Precondition Failed\r\nContent-Length: 99999999\r\n\r\n<html>",
             S3LECT_EPRECONDITION, S3LECT_SETTLED, 412, NULL);
  answer_put("HTTP/1.1 503 Busy\r\nContent-Length: 99999999\r\n\r\n<html>", S3LECT_ESERVER,
             S3LECT_UNCERTAIN, 503, NULL);
  answer_put("HTTP/1.1 200 OK\r\nETag: " S3_ETAG "\r\nContent-Length: 99999999\r\n\r\n<html>",
             S3LECT_ETOOBIG, S3LECT_UNCERTAIN, 200, NULL);
}

static void hears_to_slow_down(void** state) {
  s3_rig_t* rig =
      S3_RIG(S3L_SCRIPT(S3L_EXPECT(S3_BODY), S3L_SEND("HTTP/1.1 429 Too Many\r\nRetry-After: 3\r\n"
                                                      "Content-Length: 0\r\n\r\n")));
  s3_assert_result(s3_rig_put(rig, S3LECT_ALWAYS, 0), S3LECT_ETHROTTLED, S3LECT_NOT_APPLIED, 429);
  assert_int_equal(rig->r.result.retry_after_ms, 3000);
  s3_rig_close(rig);
}

/* ---- Lost and broken replies ---- */

static void lost_replies_are_uncertain(void** state) {
  s3_rig_t* rig = S3_RIG(S3L_SCRIPT(S3L_EXPECT(S3_BODY), S3L_RESET));
  s3_assert_result(s3_rig_put(rig, S3LECT_ALWAYS, 0), UV_ECONNRESET, S3LECT_UNCERTAIN, 0);
  assert_non_null(rig->r.result.message);
  s3_rig_close(rig);
  answer_put("", UV_EOF, S3LECT_UNCERTAIN, 0, NULL);
  answer_put("HTTP/1.1 200 OK\r\nETag: " S3_ETAG "\r\nContent-Length: 10\r\n\r\nx",
             S3LECT_EBADREPLY, S3LECT_UNCERTAIN, 200, NULL);
  answer_put("SSH-2.0-OpenSSH\r\n", S3LECT_EBADREPLY, S3LECT_UNCERTAIN, 0, NULL);
  answer_get("HTTP/1.1 200 OK\r\nETag: " S3_ETAG "\r\nContent-Length: 10\r\n\r\nx",
             S3LECT_EBADREPLY, S3LECT_NOT_APPLIED, 200, NULL);
  /* Silence, until the request's own bound. */
  rig = S3_RIG(S3L_SCRIPT(S3L_EXPECT(S3_BODY)));
  s3_rig_prepare_put(rig, S3LECT_ALWAYS, 0);
  rig->r.req.timeout_ms = 50;
  s3_assert_result(s3l_suite_do(&rig->r, s3lect_store_put), UV_ETIMEDOUT, S3LECT_UNCERTAIN, 0);
  s3_rig_close(rig);
}

/* A kept connection that has died under a put: nobody but the core may send it again. */
static void never_sends_a_put_twice(void** state) {
  s3_rig_t* rig = S3_RIG(
      S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3_GET_OK), S3L_EXPECT(S3_BODY), S3L_RESET),
      S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3_GET_OK)));
  s3_assert_result(s3_rig_get(rig, NULL), 0, S3LECT_SETTLED, 200);
  s3_assert_result(s3_rig_put(rig, S3LECT_ALWAYS, 0), UV_ECONNRESET, S3LECT_UNCERTAIN, 0);
  assert_int_equal(rig->server.accepted, 1);
  s3_assert_result(s3_rig_get(rig, NULL), 0, S3LECT_SETTLED, 200);
  assert_int_equal(rig->server.accepted, 2);
  s3_rig_close(rig);
}

static void what_was_not_sent_is_not_applied(void** state) {
  s3_rig_t* rig = S3_RIG(S3L_SCRIPT(S3L_CLOSE));
  s3l_script_server_close(&rig->server); /* nobody listens on that port any more */
  s3_assert_result(s3_rig_put(rig, S3LECT_ALWAYS, 0), UV_ECONNREFUSED, S3LECT_NOT_APPLIED, 0);
  assert_non_null(rig->r.result.message);
  /* A body that is larger than what can be sent. */
  static char big[1 << 16];
  s3l_suite_prepare(&rig->suite, &rig->r, "k");
  rig->r.req.body = big;
  rig->r.req.body_len = sizeof(big);
  int err = s3l_suite_do(&rig->r, s3lect_store_put)->status;
  assert_true(err == UV_ECONNREFUSED || err == UV_ENOBUFS);
  assert_int_equal(rig->r.result.outcome, S3LECT_NOT_APPLIED);
  s3lect_store_close(&rig->store, NULL);
  assert_int_equal(uv_run(&rig->loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&rig->loop), 0);
  free(rig);
}

static void note_call(s3l_script_server_t* server) {
  *(bool*)server->data = true;
}

static void cancels_truthfully(void** state) {
  bool arrived = false;
  s3_rig_t* rig = S3_RIG(S3L_SCRIPT(S3L_EXPECT(S3_BODY), S3L_CALL));
  rig->server.on_call = note_call;
  rig->server.data = &arrived;
  s3l_suite_req_t* queued = calloc(1, sizeof(*queued));
  assert_non_null(queued);
  s3_rig_prepare_put(rig, S3LECT_ALWAYS, 0);
  assert_int_equal(s3l_suite_start(&rig->r, s3lect_store_put), 0);
  s3l_suite_prepare(&rig->suite, queued, "q"); /* behind it: there is one connection only */
  assert_int_equal(s3l_suite_start(queued, s3lect_store_put), 0);
  while (!arrived)
    s3l_turn(&rig->loop);
  s3lect_store_cancel(&rig->store, &queued->req);
  s3lect_store_cancel(&rig->store, &rig->r.req);
  assert_int_equal(rig->r.done, 0);
  s3l_suite_wait(&rig->r);
  s3l_suite_wait(queued);
  s3_assert_result(&rig->r.result, UV_ECANCELED, S3LECT_UNCERTAIN, 0);
  s3_assert_result(&queued->result, UV_ECANCELED, S3LECT_NOT_APPLIED, 0);
  free(queued);
  s3_rig_close(rig);
}

/* ---- ETag dialects ---- */

static void learns_bare_etags(void** state) {
  s3_rig_t* rig = S3_RIG(S3L_SCRIPT(
      S3L_EXPECT("if-match: " S3_ETAG "\r\n"), S3L_EXPECT(S3_BODY), S3L_SEND(REFUSED),
      /* disputed: once in the other dialect, which is refused too and so proves nothing */
      S3L_EXPECT("if-match: " BARE "\r\n"), S3L_EXPECT(S3_BODY), S3L_SEND(REFUSED),
      S3L_EXPECT("if-match: " S3_ETAG "\r\n"), S3L_EXPECT(S3_BODY), S3L_SEND(REFUSED),
      S3L_EXPECT("if-match: " BARE "\r\n"), S3L_EXPECT(S3_BODY), S3L_SEND(S3_PUT_OK),
      /* proven: from now on always */
      S3L_EXPECT("if-match: " BARE "\r\n"), S3L_EXPECT(S3_BODY), S3L_SEND(S3_PUT_OK),
      S3L_EXPECT("if-match: " BARE "\r\n"), S3L_EXPECT(S3_BODY), S3L_SEND(REFUSED)));
  s3_assert_result(s3_rig_put(rig, S3LECT_IF_MATCH, 0), S3LECT_EPRECONDITION, S3LECT_SETTLED, 412);
  s3_assert_result(s3_rig_put(rig, S3LECT_IF_MATCH, S3LECT_REQ_ETAG_DISPUTED), S3LECT_EPRECONDITION,
                   S3LECT_SETTLED, 412);
  s3_assert_result(s3_rig_put(rig, S3LECT_IF_MATCH, 0), S3LECT_EPRECONDITION, S3LECT_SETTLED, 412);
  s3_assert_result(s3_rig_put(rig, S3LECT_IF_MATCH, S3LECT_REQ_ETAG_DISPUTED), 0, S3LECT_SETTLED,
                   200);
  s3_assert_result(s3_rig_put(rig, S3LECT_IF_MATCH, 0), 0, S3LECT_SETTLED, 200);
  s3_assert_result(s3_rig_put(rig, S3LECT_IF_MATCH, S3LECT_REQ_ETAG_DISPUTED), S3LECT_EPRECONDITION,
                   S3LECT_SETTLED, 412);
  s3_rig_close(rig);
}

static void keeps_quotes_once_proven(void** state) {
  s3_rig_t* rig = S3_RIG(S3L_SCRIPT(S3L_EXPECT("if-match: " S3_ETAG "\r\n"), S3L_EXPECT(S3_BODY),
                                    S3L_SEND(S3_PUT_OK), S3L_EXPECT("if-match: " S3_ETAG "\r\n"),
                                    S3L_EXPECT(S3_BODY), S3L_SEND(REFUSED)));
  s3_assert_result(s3_rig_put(rig, S3LECT_IF_MATCH, 0), 0, S3LECT_SETTLED, 200);
  s3_assert_result(s3_rig_put(rig, S3LECT_IF_MATCH, S3LECT_REQ_ETAG_DISPUTED), S3LECT_EPRECONDITION,
                   S3LECT_SETTLED, 412);
  s3_rig_close(rig);
}

/* ---- Listings ---- */

static void list_reply(const char* xml, int status) {
  char reply[2048];
  snprintf(reply, sizeof(reply), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(xml),
           xml);
  s3_rig_t* rig =
      S3_RIG(S3L_SCRIPT(S3L_EXPECT("GET /bucket?list-type=2&max-keys=3&prefix=p%2F HTTP/1.1\r\n"),
                        S3L_EXPECT("\r\n\r\n"), S3L_SEND(reply)));
  s3l_suite_prepare(&rig->suite, &rig->r, "p/");
  rig->r.req.max_keys = 3;
  s3_assert_result(s3l_suite_do(&rig->r, s3lect_store_list), status,
                   status == 0 ? S3LECT_SETTLED : S3LECT_NOT_APPLIED, 200);
  if (status == 0 && rig->r.keys_len > 0) {
    assert_string_equal(rig->r.keys[0], "p/a&b");
    assert_int_equal(rig->r.result.truncated, 1);
  }
  s3_rig_close(rig);
}

static void reads_listings(void** state) {
  list_reply("<?xml version=\"1.0\"?><ListBucketResult xmlns=\"u\"><IsTruncated>true</IsTruncated>"
             "<Contents><Key>p/a&amp;b</Key><LastModified>2024-10-27T10:30:45.000Z</LastModified>"
             "<ETag>&quot;e&quot;</ETag><Size>11</Size></Contents></ListBucketResult>",
             0);
  list_reply("<ListBucketResult/>", 0);
  list_reply("<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>",
             S3LECT_EBADREPLY);
  list_reply(
      "<ListBucketResult><Contents><Key>k</Key><Size>-1</Size></Contents></ListBucketResult>",
      S3LECT_EBADREPLY);
  list_reply("<ListBucketResult><Contents><Key>k</Key>", S3LECT_EBADREPLY);
  list_reply("<ListBucketResult><Contents><Key>q/a</Key></Contents></ListBucketResult>",
             S3LECT_ELISTING);
  list_reply("<html>no bucket here</html>", S3LECT_EBADREPLY);
  list_reply("", S3LECT_EBADREPLY);
  list_reply("<Error><Message>no code</Message></Error>", S3LECT_ESERVER);
}

/* ---- Memory ---- */

static void a_warm_store_allocates_nothing(void** state) {
  const s3l_step_t script[] = {
      S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3_GET_OK), S3L_EXPECT(S3_BODY), S3L_SEND(S3_PUT_OK),
      S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3_GET_OK), S3L_EXPECT(S3_BODY), S3L_SEND(S3_PUT_OK),
      S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3_GET_OK), S3L_EXPECT(S3_BODY), S3L_SEND(S3_PUT_OK),
      S3L_SCRIPT_END};
  s3l_heap_install();
  s3_rig_t* rig = S3_RIG(script);
  s3_assert_result(s3_rig_get(rig, NULL), 0, S3LECT_SETTLED, 200);
  s3_assert_result(s3_rig_put(rig, S3LECT_IF_MATCH, 0), 0, S3LECT_SETTLED, 200);
  size_t warm = s3l_heap_count();
  assert_true(warm > 0); /* the hook is in place */
  for (int i = 0; i < 2; i++) {
    s3_assert_result(s3_rig_get(rig, NULL), 0, S3LECT_SETTLED, 200);
    s3_assert_result(s3_rig_put(rig, S3LECT_IF_MATCH, 0), 0, S3LECT_SETTLED, 200);
  }
  assert_int_equal(s3l_heap_count(), warm);
  s3_rig_close(rig);
  s3l_heap_remove();
}

/* Each allocation of opening fails in turn: an error, and nothing left behind. */
static void opening_bears_lack_of_memory(void** state) {
  uv_loop_t loop;
  s3lect_store_t store;
  char endpoint[64];
  int err = UV_ENOMEM;
  s3lect_store_s3_options_t o = s3_rig_options(endpoint, sizeof(endpoint), 1);
  assert_int_equal(uv_loop_init(&loop), 0);
  s3l_heap_install();
  size_t n = 0;
  for (; err != 0; n++) {
    s3l_heap_fail_at(n, false);
    err = s3lect_store_s3_init(&loop, &store, &o, NULL);
    assert_int_equal(s3l_heap_fail_end(), err != 0);
    assert_true(err == 0 || err == UV_ENOMEM);
    if (err != 0)
      assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  }
  assert_true(n > 3);
  s3lect_store_close(&store, NULL);
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&loop), 0);
  s3l_heap_remove();
}

static void close_in_callback(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  *(int*)req->data += result->status == 0 ? 1 : 100;
  if (*(int*)req->data == 1)
    s3lect_store_close(req->store, NULL);
}

static void closes_from_a_callback(void** state) {
  int ended = 0;
  s3lect_store_req_t req[2] = {0};
  s3_rig_t* rig = S3_RIG(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3_GET_OK)));
  for (int i = 0; i < 2; i++) {
    req[i] = (s3lect_store_req_t){
        .data = &ended, .key = "k", .timeout_ms = 20000, .cb = close_in_callback};
    assert_int_equal(s3lect_store_get(&rig->store, &req[i]), 0);
  }
  assert_int_equal(uv_run(&rig->loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(ended, 101); /* one read, one cancelled */
  s3l_script_server_close(&rig->server);
  assert_int_equal(uv_run(&rig->loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&rig->loop), 0);
  free(rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_and_writes),
      cmocka_unit_test(sends_nothing_but_what_it_needs),
      cmocka_unit_test(names_what_the_store_said),
      cmocka_unit_test(knows_whose_404_it_is),
      cmocka_unit_test(minds_etags),
      cmocka_unit_test(bounds_what_it_reads),
      cmocka_unit_test(hears_to_slow_down),
      cmocka_unit_test(lost_replies_are_uncertain),
      cmocka_unit_test(never_sends_a_put_twice),
      cmocka_unit_test(what_was_not_sent_is_not_applied),
      cmocka_unit_test(cancels_truthfully),
      cmocka_unit_test(learns_bare_etags),
      cmocka_unit_test(keeps_quotes_once_proven),
      cmocka_unit_test(reads_listings),
      cmocka_unit_test(a_warm_store_allocates_nothing),
      cmocka_unit_test(opening_bears_lack_of_memory),
      cmocka_unit_test(closes_from_a_callback),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
