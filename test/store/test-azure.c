/* store/azure against scripts: what is sent for each kind of credentials, what becomes of lost
 * replies, clocks, 404s, hostile listings, and listings that begin after a key. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/heap.h"
#include "lib/s3_rig.h"
#include "lib/test.h"
#include "s3lect/store_azure.h"

#define KEY    "a2V5" /* "key" */
#define SAS    "sv=2023-11-03&sr=c&sp=rl&sig=x%3D"
#define EMPTY  "Content-Length: 0\r\n\r\n"
#define CLOSED "Connection: close\r\n" EMPTY
#define ETAG   "ETag: \"0x8D1\"\r\n"
#define GET_OK "HTTP/1.1 200 OK\r\n" ETAG "Content-Length: 4\r\n\r\nbody"
#define PUT_OK "HTTP/1.1 201 Created\r\n" ETAG EMPTY
#define ERROR(status, code)                                                                        \
  "HTTP/1.1 " status " X\r\nx-ms-error-code: " code "\r\nx-ms-request-id: 17\r\n" CLOSED
#define HEAD_END     S3L_EXPECT("\r\n\r\n")
#define ANSWER(text) HEAD_END, S3L_SEND(text), S3L_CLOSE

static s3_rig_t* rig;

static s3lect_credentials_provider_t* provider; /* instead of the key */

static void begin_with(const char* sas, const s3l_step_t* const* scripts, size_t n) {
  s3lect_error_t error;
  s3lect_store_azure_options_t o;
  rig = s3_rig_new(scripts, n);
  s3lect_store_azure_options_init(&o, sizeof(o));
  o.account = "acct";
  o.container = "locks";
  if (provider != NULL)
    provider->loop = &rig->loop;
  o.endpoint = rig->url;
  o.account_key = sas == NULL && provider == NULL ? KEY : NULL;
  o.credentials = provider;
  o.sas_token = sas;
  o.max_connections = 1;
  if (s3lect_store_azure_init(&rig->loop, &rig->store, &o, &error) != 0)
    fail_msg("%s", error.text);
}

#define BEGIN_WITH(sas, ...) begin_with(sas, S3_RIG_SCRIPTS(__VA_ARGS__))
#define BEGIN(...)           BEGIN_WITH(NULL, __VA_ARGS__)

static int get(const char* unless) {
  return s3l_suite_get(&rig->suite, &rig->r, "k", unless)->status;
}

static int put(uint32_t condition) {
  const char* etag = condition == S3LECT_IF_MATCH ? "\"0x8D0\"" : NULL;
  return s3l_suite_put(&rig->suite, &rig->r, "k", condition, etag, "x")->status;
}

static int del(void) {
  s3l_suite_prepare(&rig->suite, &rig->r, "k");
  return s3l_suite_do(&rig->r, s3lect_store_del)->status;
}

static int list(const char* after, uint32_t max_keys) {
  s3l_suite_prepare(&rig->suite, &rig->r, "p/");
  rig->r.req.after = after;
  rig->r.req.max_keys = max_keys;
  return s3l_suite_do(&rig->r, s3lect_store_list)->status;
}

static void assert_says(const char* wanted) {
  if (rig->r.result.message == NULL || strstr(rig->r.message, wanted) == NULL)
    fail_msg("\"%s\" does not hold \"%s\"", rig->r.message, wanted);
}

/* ---- Requests ---- */

static void sends_conditions(void** state) {
  BEGIN(S3L_SCRIPT(
      S3L_EXPECT("PUT /acct/locks/k HTTP/1.1\r\n"), S3L_EXPECT("if-none-match: *\r\n"),
      S3L_EXPECT("authorization: SharedKey acct:"), S3L_EXPECT("\r\n\r\nx"), S3L_SEND(PUT_OK),
      S3L_EXPECT("if-match: \"0x8D0\"\r\n"), S3L_EXPECT("x-ms-blob-type: BlockBlob\r\n"),
      S3L_EXPECT("\r\n\r\nx"), S3L_SEND(PUT_OK), S3L_EXPECT("GET /acct/locks/k HTTP/1.1\r\n"),
      S3L_EXPECT("if-none-match: \"0x8D1\"\r\n"), HEAD_END,
      S3L_SEND("HTTP/1.1 304 Not Modified\r\nx-ms-error-code: ConditionNotMet\r\n\r\n"),
      S3L_EXPECT("GET /acct/locks/k HTTP/1.1\r\n"), HEAD_END, S3L_SEND(GET_OK),
      S3L_EXPECT("DELETE /acct/locks/k HTTP/1.1\r\n"), HEAD_END,
      S3L_SEND("HTTP/1.1 202 Accepted\r\n" EMPTY)));
  assert_int_equal(put(S3LECT_IF_ABSENT), 0);
  assert_string_equal(rig->r.etag, "\"0x8D1\"");
  assert_int_equal(put(S3LECT_IF_MATCH), 0);
  assert_int_equal(get("\"0x8D1\""), S3LECT_ENOTMODIFIED);
  assert_string_equal(rig->r.etag, "\"0x8D1\"");
  assert_int_equal(get(NULL), 0);
  assert_string_equal(rig->r.body, "body");
  assert_int_equal(del(), 0);
  s3_rig_close(rig);
}

/* A signature is the last part of the query, with and without its own '?'. */
static void sends_a_sas(void** state) {
  static const char* const forms[] = {SAS, "?" SAS};
  for (int i = 0; i < 2; i++) {
    BEGIN_WITH(forms[i],
               S3L_SCRIPT(S3L_EXPECT("GET /acct/locks/k?" SAS " HTTP/1.1\r\n"), ANSWER(GET_OK)));
    assert_int_equal(get(NULL), 0);
    s3_rig_close(rig);
  }
}

/* ---- Replies ---- */

typedef struct case_s {
  const char* reply;
  int get, put; /* statuses */
  int outcome;  /* of the put */
  const char* says;
} case_t;

static const case_t cases[] = {
    {ERROR("404", "BlobNotFound"), S3LECT_ENOTFOUND, S3LECT_ENOTFOUND, S3LECT_SETTLED, "404"},
    {ERROR("404", "ContainerNotFound"), S3LECT_ENOBUCKET, S3LECT_ENOBUCKET, S3LECT_NOT_APPLIED,
     "create the container"},
    {"HTTP/1.1 404 X\r\n" CLOSED, S3LECT_ESERVER, S3LECT_ESERVER, S3LECT_UNCERTAIN,
     "says nothing about the object"},
    {"HTTP/1.1 404 X\r\nx-ms-request-id: 17\r\n" CLOSED, S3LECT_ESERVER, S3LECT_ESERVER,
     S3LECT_UNCERTAIN, "says nothing about the object"},
    {ERROR("409", "BlobAlreadyExists"), S3LECT_ECONFLICT, S3LECT_EPRECONDITION, S3LECT_SETTLED,
     "409 BlobAlreadyExists"},
    {ERROR("412", "ConditionNotMet"), S3LECT_EPRECONDITION, S3LECT_EPRECONDITION, S3LECT_SETTLED,
     "412 ConditionNotMet"},
    {ERROR("412", "LeaseIdMissing"), S3LECT_EPRECONDITION, S3LECT_EREFUSED, S3LECT_NOT_APPLIED,
     "412 LeaseIdMissing"},
    {ERROR("409", "BlobImmutableDueToPolicy"), S3LECT_ECONFLICT, S3LECT_EREFUSED,
     S3LECT_NOT_APPLIED, "409"},
    {ERROR("403", "AuthorizationPermissionMismatch"), S3LECT_EDENIED, S3LECT_EDENIED,
     S3LECT_NOT_APPLIED, "Storage Blob Data Contributor"},
    {ERROR("403", "AuthorizationProtocolMismatch"), S3LECT_EDENIED, S3LECT_EDENIED,
     S3LECT_NOT_APPLIED, "shared access signature"},
    {ERROR("403", "KeyBasedAuthenticationNotPermitted"), S3LECT_EDENIED, S3LECT_EDENIED,
     S3LECT_NOT_APPLIED, "leave the key away"},
    {ERROR("401", "InvalidAuthenticationInfo"), S3LECT_ESIGNATURE, S3LECT_ESIGNATURE,
     S3LECT_NOT_APPLIED, "(request id 17)"},
    {"HTTP/1.1 401 X\r\n" CLOSED, S3LECT_EDENIED, S3LECT_EDENIED, S3LECT_NOT_APPLIED, "login"},
    {ERROR("503", "ServerBusy"), S3LECT_ETHROTTLED, S3LECT_ETHROTTLED, S3LECT_UNCERTAIN,
     "spread the lockfiles"},
    {ERROR("429", "TooManyRequests"), S3LECT_ETHROTTLED, S3LECT_ETHROTTLED, S3LECT_NOT_APPLIED,
     "429"},
    {ERROR("500", "OperationTimedOut"), S3LECT_ESERVER, S3LECT_ESERVER, S3LECT_UNCERTAIN, "500"},
    {ERROR("500", "InternalError"), S3LECT_ESERVER, S3LECT_ESERVER, S3LECT_UNCERTAIN, "500"},
    {"HTTP/1.1 504 X\r\n" CLOSED, S3LECT_ESERVER, S3LECT_ESERVER, S3LECT_UNCERTAIN, "proxy"},
    {"HTTP/1.1 204 X\r\n" CLOSED, S3LECT_EBADREPLY, S3LECT_EBADREPLY, S3LECT_UNCERTAIN, "204"},
    {"HTTP/1.1 302 X\r\nLocation: http://127.0.0.1/\r\n" CLOSED, S3LECT_EREDIRECT, S3LECT_EREDIRECT,
     S3LECT_NOT_APPLIED, "does not redirect"},
    /* the code in the body, as some emulators have it, and a message of several lines */
    {"HTTP/1.1 404 X\r\nConnection: close\r\n\r\n\xEF\xBB\xBF<?xml version=\"1.0\"?><Error><Code>"
     "ContainerNotFound</Code><Message>No such thing.\nRequestId:1\nTime:2</Message></Error>",
     S3LECT_ENOBUCKET, S3LECT_ENOBUCKET, S3LECT_NOT_APPLIED,
     "404 ContainerNotFound: No such thing.; create"},
};

static void judges_replies(void** state) {
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    const case_t* c = &cases[i];
    BEGIN(S3L_SCRIPT(ANSWER(c->reply)),
          S3L_SCRIPT(S3L_EXPECT("\r\n\r\nx"), S3L_SEND(c->reply), S3L_CLOSE));
    int read = get(NULL), read_outcome = rig->r.result.outcome;
    int written = put(S3LECT_IF_ABSENT);
    if (read != c->get || written != c->put || rig->r.result.outcome != c->outcome)
      fail_msg("case %zu: %d, %d, %d", i, read, written, rig->r.result.outcome);
    assert_int_not_equal(read_outcome, S3LECT_UNCERTAIN);
    assert_says(c->says);
    s3_rig_close(rig);
  }
}

/* The write may have been carried out: it is never sent again. */
static void a_lost_reply_is_uncertain(void** state) {
  BEGIN(S3L_SCRIPT(S3L_EXPECT("\r\n\r\nx"), S3L_RESET), S3L_SCRIPT(ANSWER(GET_OK)));
  assert_true(put(S3LECT_IF_MATCH) < 0);
  assert_int_equal(rig->r.result.outcome, S3LECT_UNCERTAIN);
  assert_int_equal(rig->server.accepted, 1);
  assert_int_equal(get(NULL), 0);
  s3_rig_close(rig);
}

/* ---- The clock ---- */

/* A refusal whose date is far from this machine's: the request goes out with the store's date. */
static void follows_the_stores_clock(void** state) {
  static const struct {
    int ahead_s;
    int status;
    unsigned requests;
  } rows[] = {{3600, 0, 2}, {-3600, 0, 2}, {30, S3LECT_ESIGNATURE, 1}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    char date[64], hour[64], refusal[256];
    time_t t = time(NULL) + rows[i].ahead_s;
    struct tm tm;
    gmtime_r(&t, &tm);
    strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
    strftime(hour, sizeof(hour), "x-ms-date: %a, %d %b %Y %H:", &tm);
    snprintf(refusal, sizeof(refusal),
             "HTTP/1.1 403 X\r\nDate: %s\r\nx-ms-error-code: AuthenticationFailed\r\n" CLOSED,
             date);
    BEGIN(S3L_SCRIPT(S3L_EXPECT("\r\n\r\nx"), S3L_SEND(refusal), S3L_CLOSE),
          S3L_SCRIPT(S3L_EXPECT(hour), S3L_EXPECT("\r\n\r\nx"), S3L_SEND(PUT_OK), S3L_CLOSE));
    assert_int_equal(put(S3LECT_IF_ABSENT), rows[i].status);
    assert_int_equal(rig->server.accepted, rows[i].requests);
    assert_int_equal(rig->r.result.notice, rows[i].status == 0 ? S3LECT_ESKEW : 0);
    s3_rig_close(rig);
  }
}

/* ---- Listings ---- */

#define PAGE(blobs, next)                                                                          \
  "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n\xEF\xBB\xBF<?xml version=\"1.0\"?>"                \
  "<EnumerationResults ContainerName=\"locks\"><Prefix>p/</Prefix><Blobs>" blobs                   \
  "</Blobs><NextMarker>" next "</NextMarker></EnumerationResults>"
#define BLOB(name)                                                                                 \
  "<Blob><Name>" name "</Name><Properties><Last-Modified>Fri, 26 Jun 2015 23:39:12 GMT"            \
  "</Last-Modified><Etag>0x8D9</Etag><Content-Length>12</Content-Length></Properties></Blob>"

static void lists(void** state) {
  BEGIN(S3L_SCRIPT(S3L_EXPECT("GET /acct/locks?comp=list&maxresults=2&prefix=p%2F&"
                              "restype=container HTTP/1.1\r\n"),
                   ANSWER(PAGE(BLOB("p/a") BLOB("p/b"), ""))));
  assert_int_equal(list(NULL, 2), 0);
  assert_int_equal(rig->r.result.entries_len, 2);
  assert_int_equal(rig->r.result.truncated, 0);
  assert_string_equal(rig->r.keys[0], "p/a");
  assert_string_equal(rig->r.keys[1], "p/b");
  s3_rig_close(rig);
}

static s3lect_store_entry_t entry;
static char entry_etag[32];

static void on_list(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  assert_int_equal(result->status, 0);
  assert_int_equal(result->entries_len, 1);
  entry = result->entries[0];
  snprintf(entry_etag, sizeof(entry_etag), "%s", entry.etag);
  ++*(unsigned*)req->data;
}

/* The ETag of an entry is that of a read; a listing leaves the quotes out. */
static void lists_as_reads(void** state) {
  unsigned done = 0;
  s3lect_store_req_t req = {
      .data = &done, .key = "p/", .max_keys = 1, .timeout_ms = 20000, .cb = on_list};
  BEGIN(S3L_SCRIPT(ANSWER(PAGE(BLOB("p/a"), ""))));
  assert_int_equal(s3lect_store_list(&rig->store, &req), 0);
  assert_int_equal(uv_run(&rig->loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(done, 1);
  assert_string_equal(entry_etag, "\"0x8D9\"");
  assert_int_equal(entry.body_len, 12);
  assert_int_equal(entry.modified_ms, 1435361952000);
  s3_rig_close(rig);
}

/* Pages are read until one has a greater key; a later listing begins at the marker of that page, if
 * it is after its first key; one after a smaller key begins at the start. A marker that has led to
 * no key yet is of no use: a key may have been created before it. */
static void lists_after_a_key(void** state) {
  BEGIN(S3L_SCRIPT(S3L_EXPECT("?comp=list&maxresults=1000&prefix=p%2F&restype=container "),
                   ANSWER(PAGE(BLOB("p/a") BLOB("p/b"), "M1"))),
        S3L_SCRIPT(S3L_EXPECT("&marker=M1&"), ANSWER(PAGE("", "M2"))),
        S3L_SCRIPT(S3L_EXPECT("&marker=M2&"),
                   ANSWER(PAGE(BLOB("p/c") BLOB("p/d") BLOB("p/e"), "M3"))),
        S3L_SCRIPT(S3L_EXPECT("&marker=M2&"),
                   ANSWER(PAGE(BLOB("p/c") BLOB("p/d") BLOB("p/e"), "M3"))),
        S3L_SCRIPT(S3L_EXPECT("&marker=M3&"), ANSWER(PAGE(BLOB("p/f"), ""))),
        S3L_SCRIPT(S3L_EXPECT("?comp=list&maxresults=1000&prefix=p%2F&restype=container "),
                   ANSWER(PAGE(BLOB("p/d") BLOB("p/e") BLOB("p/f"), ""))));
  assert_int_equal(list("p/c", 10), 0);
  assert_int_equal(rig->r.result.entries_len, 2);
  assert_int_equal(rig->r.result.truncated, 1);
  assert_string_equal(rig->r.keys[0], "p/d");
  assert_int_equal(list("p/e", 10), 0);
  assert_int_equal(rig->r.result.entries_len, 1);
  assert_string_equal(rig->r.keys[0], "p/f");
  assert_int_equal(rig->r.result.truncated, 0);
  assert_int_equal(list("p/d", 1), 0);
  assert_int_equal(rig->r.result.entries_len, 1);
  assert_string_equal(rig->r.keys[0], "p/e");
  assert_int_equal(rig->r.result.truncated, 1); /* max_keys */
  assert_int_equal(rig->server.accepted, 6);
  s3_rig_close(rig);
}

/* Azure's marker names the next key of its time, here p/d: what is created before it is listed. */
static void lists_what_comes_before_a_marker(void** state) {
  BEGIN(S3L_SCRIPT(ANSWER(PAGE(BLOB("p/a"), "D"))),
        S3L_SCRIPT(S3L_EXPECT("?comp=list&maxresults=1000&prefix=p%2F&restype=container "),
                   ANSWER(PAGE(BLOB("p/a") BLOB("p/b") BLOB("p/d"), ""))));
  assert_int_equal(list(NULL, 1), 0);
  assert_int_equal(rig->r.result.truncated, 1);
  assert_int_equal(list("p/a", 1), 0);
  assert_string_equal(rig->r.keys[0], "p/b");
  s3_rig_close(rig);
}

/* Azure may give empty pages anywhere, and first. */
static void goes_on_after_an_empty_page(void** state) {
  BEGIN(S3L_SCRIPT(ANSWER(PAGE("", "M1"))),
        S3L_SCRIPT(S3L_EXPECT("?comp=list&marker=M1&maxresults=5&"), ANSWER(PAGE("", "M2"))),
        S3L_SCRIPT(S3L_EXPECT("&marker=M2&"), ANSWER(PAGE(BLOB("p/b"), ""))),
        S3L_SCRIPT(S3L_EXPECT("?comp=list&maxresults=1000&prefix=p%2F&restype=container "),
                   ANSWER(PAGE(BLOB("p/a") BLOB("p/b"), ""))));
  assert_int_equal(list(NULL, 5), 0);
  assert_int_equal(rig->r.result.entries_len, 1);
  assert_string_equal(rig->r.keys[0], "p/b");
  assert_int_equal(list("p/", 5), 0);
  assert_int_equal(rig->r.result.entries_len, 2);
  s3_rig_close(rig);
}

static unsigned given;

static int give_once(s3lect_credentials_provider_t* p, s3lect_credentials_req_t* req) {
  const s3lect_credentials_t c = {.size = sizeof(c), .session_token = "T"};
  if (given++ == 0)
    req->cb(req, 0, &c, NULL);
  return 0;
}

static void give_none(s3lect_credentials_provider_t* p, s3lect_credentials_req_t* req) {
  req->cb(req, UV_ECANCELED, NULL, NULL);
}

/* A listing whose token is refused between two pages, and not replaced, leaves nothing behind. */
static void a_listing_ends_with_its_token(void** state) {
  static const s3lect_credentials_ops_t ops = {
      .version = S3LECT_CREDENTIALS_VERSION, .get = give_once, .cancel = give_none};
  s3lect_credentials_provider_t own = {.ops = &ops};
  given = 0;
  provider = &own;
  BEGIN(S3L_SCRIPT(S3L_EXPECT("authorization: Bearer T"), ANSWER(PAGE("", "M1"))),
        S3L_SCRIPT(S3L_EXPECT("&marker=M1&"), ANSWER(ERROR("401", "InvalidAuthenticationInfo"))));
  provider = NULL;
  s3l_suite_prepare(&rig->suite, &rig->r, "p/");
  rig->r.req.max_keys = 5;
  rig->r.req.timeout_ms = 300;
  assert_int_equal(s3l_suite_do(&rig->r, s3lect_store_list)->status, UV_ETIMEDOUT);
  assert_says("no credentials within");
  assert_int_equal(rig->r.result.outcome, S3LECT_NOT_APPLIED);
  assert_int_equal(given, 2);
  s3_rig_close(rig);
}

/* A listing that never ends is bounded by the request's time-out. */
static void endless_listings_time_out(void** state) {
  BEGIN(S3L_SCRIPT(ANSWER(PAGE("", "M"))));
  s3l_suite_prepare(&rig->suite, &rig->r, "p/");
  rig->r.req.after = "p/a";
  rig->r.req.max_keys = 5;
  rig->r.req.timeout_ms = 300;
  int status = s3l_suite_do(&rig->r, s3lect_store_list)->status;
  assert_true(status == UV_ETIMEDOUT || status == S3LECT_ECROWDED); /* by where it was then */
  assert_int_equal(rig->r.result.outcome, S3LECT_NOT_APPLIED);
  assert_true(rig->server.accepted > 1);
  s3_rig_cut(rig);
}

static char long_marker[8192];

static void hostile_listings_are_refused(void** state) {
  char big[sizeof(long_marker) + 512];
  memset(long_marker, 'm', sizeof(long_marker) - 1);
  snprintf(big, sizeof(big), PAGE(BLOB("p/a"), "%s"), long_marker);
  const struct {
    const char* reply;
    int status;
  } rows[] = {
      {big, S3LECT_EBADREPLY}, /* a listing that cannot go on is not complete */
      {PAGE(BLOB("p/a"), "<M/>"), S3LECT_EBADREPLY},
      {PAGE(BLOB("q/a"), ""), S3LECT_ELISTING},
      {PAGE("<Blob><Properties/></Blob>", ""), S3LECT_EBADREPLY},
      {PAGE("<Blob><Name>p/a</Name><Content-Length>x</Content-Length></Blob>", ""),
       S3LECT_EBADREPLY},
      {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhtml", S3LECT_EBADREPLY},
      {"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n<EnumerationResults><Blobs>", S3LECT_EBADREPLY},
      {PAGE("<Blob><Name>p/&#0;a</Name></Blob>", ""), S3LECT_EBADREPLY},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    BEGIN(S3L_SCRIPT(ANSWER(rows[i].reply)));
    int status = list(NULL, 5);
    if (status != rows[i].status)
      fail_msg("row %zu: %d", i, status);
    s3_rig_close(rig);
  }
}

/* ---- Lack of memory ---- */

static uv_loop_t loop;
static s3lect_store_t store;

static int open_only(const char* key, const char* sas) {
  s3lect_store_azure_options_t o;
  s3lect_store_azure_options_init(&o, sizeof(o));
  o.account = "acct";
  o.container = "locks";
  o.account_key = key;
  o.sas_token = sas;
  return s3lect_store_azure_init(&loop, &store, &o, NULL);
}

/* Each allocation fails once: opening says so, and leaves nothing behind. */
static void opens_or_runs_out_of_memory(void** state) {
  static const char* const credentials[][2] = {{KEY, NULL}, {NULL, SAS}, {NULL, NULL}};
  for (size_t i = 0; i < sizeof(credentials) / sizeof(credentials[0]); i++) {
    bool failed = true;
    assert_int_equal(uv_loop_init(&loop), 0);
    s3l_heap_install();
    for (size_t at = 0; failed; at++) {
      s3l_heap_fail_at(at, false);
      int err = open_only(credentials[i][0], credentials[i][1]);
      failed = s3l_heap_fail_end();
      assert_int_equal(err, failed ? UV_ENOMEM : 0);
    }
    s3lect_store_close(&store, NULL);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
    s3l_heap_remove();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(opens_or_runs_out_of_memory),
      cmocka_unit_test(sends_conditions),
      cmocka_unit_test(sends_a_sas),
      cmocka_unit_test(judges_replies),
      cmocka_unit_test(a_lost_reply_is_uncertain),
      cmocka_unit_test(follows_the_stores_clock),
      cmocka_unit_test(lists),
      cmocka_unit_test(lists_as_reads),
      cmocka_unit_test(lists_after_a_key),
      cmocka_unit_test(lists_what_comes_before_a_marker),
      cmocka_unit_test(goes_on_after_an_empty_page),
      cmocka_unit_test(a_listing_ends_with_its_token),
      cmocka_unit_test(endless_listings_time_out),
      cmocka_unit_test(hostile_listings_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
