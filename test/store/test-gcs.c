/* store/gcs against scripts: generations, what is sent and what is not, and each row of
 * wire/gcs_errors.h: which error it comes to, what is known of a write, and what is said. What is
 * expected stands here once more, on purpose: a slip in the table shows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/s3_rig.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect/store_gcs.h"
#include "wire/gcs_reply.h"

#define GEN    "1784000000000001"
#define NEXT   "1784000000000002"
#define BODY   "{\"epoch\":1}"
#define OK(g)  "HTTP/1.1 200 OK\r\nx-goog-generation: " g "\r\n"
#define PUT_OK OK(NEXT) "Content-Length: 0\r\n\r\n"
#define GET_OK OK(GEN) "Content-Length: 4\r\n\r\nbody"

static s3_rig_t* rig;
static s3lect_store_gcs_options_t options;

/* Starts the server; then the test may change the options before it opens the store. */
static void start(const s3l_step_t* const* scripts, size_t n) {
  rig = s3_rig_new(scripts, n);
  s3lect_store_gcs_options_init(&options, sizeof(options));
  options.bucket = "bucket";
  options.endpoint = rig->url;
  options.access_key_id = "GOOGTEST";
  options.secret_access_key = "testtest";
  options.max_connections = 1;
}

static void open_store(void) {
  s3lect_error_t error;
  if (s3lect_store_gcs_init(&rig->loop, &rig->store, &options, &error) != 0)
    fail_msg("%s", error.text);
}

#define START(...) start(S3_RIG_SCRIPTS(__VA_ARGS__))
#define BEGIN(...) (START(__VA_ARGS__), open_store())

static const s3lect_store_result_t* get(const char* unless) {
  return s3l_suite_get(&rig->suite, &rig->r, "k", unless);
}

static const s3lect_store_result_t* put(uint32_t condition, const char* etag) {
  return s3l_suite_put(&rig->suite, &rig->r, "k", condition, etag, BODY);
}

static const s3lect_store_result_t* list(void) {
  s3l_suite_prepare(&rig->suite, &rig->r, "k");
  rig->r.req.max_keys = 3;
  return s3l_suite_do(&rig->r, s3lect_store_list);
}

/* ---- What is sent ---- */

static void sends_generations(void** state) {
  BEGIN(S3L_SCRIPT(
      S3L_EXPECT("PUT /bucket/k HTTP/1.1\r\n"), S3L_EXPECT("cache-control: no-store\r\n"),
      S3L_EXPECT("x-goog-if-generation-match: 0\r\nauthorization: GOOG4-HMAC-SHA256 Credential="
                 "GOOGTEST/"),
      S3L_EXPECT("/auto/storage/goog4_request, SignedHeaders=cache-control;content-type;host;"
                 "x-goog-content-sha256;x-goog-date;x-goog-if-generation-match, "),
      S3L_EXPECT("\r\n\r\n" BODY), S3L_SEND(PUT_OK),
      S3L_EXPECT("x-goog-if-generation-match: " GEN "\r\n"), S3L_EXPECT("\r\n\r\n" BODY),
      S3L_SEND(PUT_OK), S3L_EXPECT("DELETE /bucket/k HTTP/1.1\r\n"),
      S3L_EXPECT("x-goog-if-generation-match: " GEN "\r\n"), S3L_EXPECT("\r\n\r\n"),
      S3L_SEND("HTTP/1.1 204 No Content\r\n\r\n")));
  s3_assert_result(put(S3LECT_IF_ABSENT, NULL), 0, S3LECT_SETTLED, 200);
  assert_string_equal(rig->r.etag, NEXT);
  s3_assert_result(put(S3LECT_IF_MATCH, GEN), 0, S3LECT_SETTLED, 200);
  s3l_suite_prepare(&rig->suite, &rig->r, "k");
  rig->r.req.condition = S3LECT_IF_MATCH;
  rig->r.req.etag = GEN;
  s3_assert_result(s3l_suite_do(&rig->r, s3lect_store_del), 0, S3LECT_SETTLED, 204);
  s3_rig_close(rig);
}

/* Nothing can be sent that means such a condition. */
static void refuses_other_etags(void** state) {
  static const char* const etags[] = {"\"" GEN "\"", "0", "x", "9999999999999999999"};
  BEGIN(S3L_SCRIPT(S3L_EXPECT("GET "), S3L_EXPECT("\r\n\r\n"), S3L_SEND(GET_OK)));
  for (size_t i = 0; i < sizeof(etags) / sizeof(etags[0]); i++)
    s3_assert_result(put(S3LECT_IF_MATCH, etags[i]), S3LECT_EOPTION, S3LECT_NOT_APPLIED, 0);
  assert_int_equal(get(NULL)->status, 0);
  s3_rig_close(rig);
}

/* A lost acknowledgement: the write may have been carried out, and is not sent again. */
static void a_lost_reply_is_uncertain(void** state) {
  BEGIN(S3L_SCRIPT(S3L_EXPECT("GET "), S3L_EXPECT("\r\n\r\n"), S3L_SEND(GET_OK), S3L_EXPECT("PUT "),
                   S3L_EXPECT("\r\n\r\n" BODY), S3L_RESET),
        S3L_SCRIPT(S3L_EXPECT("GET "), S3L_EXPECT("\r\n\r\n"), S3L_SEND(GET_OK)));
  assert_int_equal(get(NULL)->status, 0); /* so that the connection is a used one */
  put(S3LECT_IF_MATCH, GEN);
  assert_true(rig->r.result.status != 0);
  assert_int_equal(rig->r.result.outcome, S3LECT_UNCERTAIN);
  assert_int_equal(get(NULL)->status, 0);
  assert_int_equal(rig->server.accepted, 2);
  s3_rig_close(rig);
}

/* ---- What comes ---- */

static void reads_generations(void** state) {
  BEGIN(S3L_SCRIPT(
      S3L_EXPECT("\r\n\r\n"), S3L_SEND(GET_OK), S3L_EXPECT("GET /bucket/k HTTP/1.1\r\nhost: "),
      S3L_EXPECT("cache-control: no-cache\r\nx-goog-content-sha256: "), /* no condition */
      S3L_EXPECT("\r\nx-goog-date: "), S3L_EXPECT("Z\r\nauthorization: "), S3L_EXPECT("\r\n\r\n"),
      S3L_SEND(GET_OK), S3L_EXPECT("\r\n\r\n"), S3L_SEND(GET_OK)));
  s3_assert_result(get(NULL), 0, S3LECT_SETTLED, 200);
  assert_string_equal(rig->r.etag, GEN);
  assert_string_equal(rig->r.body, "body");
  s3_assert_result(get(GEN), S3LECT_ENOTMODIFIED, S3LECT_SETTLED, 200);
  assert_string_equal(rig->r.etag, GEN);
  assert_null(rig->r.result.body);
  assert_int_equal(rig->r.result.body_len, 0);
  s3_assert_result(get(NEXT), 0, S3LECT_SETTLED, 200);
  assert_string_equal(rig->r.body, "body");
  s3_rig_close(rig);
}

/* Of a write it is then unknown under which generation it was carried out. */
static void wants_a_generation(void** state) {
  static const char* const headers[] = {"ETag: \"d41d8cd98f00b204e9800998ecf8427e\"",
                                        "x-goog-generation: ",
                                        "x-goog-generation: 0",
                                        "x-goog-generation: x",
                                        "x-goog-generation: W/17",
                                        "x-goog-generation: \"17\"",
                                        "x-goog-generation: 9223372036854775808"};
  for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
    char reply[256];
    snprintf(reply, sizeof(reply), "HTTP/1.1 200 OK\r\n%s\r\nContent-Length: 4\r\n\r\nbody",
             headers[i]);
    BEGIN(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(reply), S3L_EXPECT("\r\n\r\n" BODY),
                     S3L_SEND(reply)));
    s3_assert_result(get(NULL), S3LECT_EETAG, S3LECT_SETTLED, 200);
    assert_null(rig->r.result.etag);
    assert_null(rig->r.result.body);
    s3_assert_result(put(S3LECT_IF_MATCH, GEN), S3LECT_EETAG, S3LECT_UNCERTAIN, 200);
    assert_null(rig->r.result.etag);
    s3_rig_close(rig);
  }
}

static void lists_generations(void** state) {
#define CONTENTS(key, more)                                                                        \
  "<Contents><Key>" key "</Key>" more "<MetaGeneration>1</MetaGeneration><LastModified>"           \
  "2026-07-03T00:00:00.5Z</LastModified><ETag>\"abc\"</ETag><Size>7</Size></Contents>"
#define LISTING(contents, truncated)                                                               \
  "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n<?xml version='1.0' encoding='UTF-8'?>"             \
  "<ListBucketResult xmlns='http://doc.s3.amazonaws.com/2006-03-01'><Name>bucket</Name>"           \
  "<IsTruncated>" truncated "</IsTruncated>" contents "</ListBucketResult>"
  BEGIN(S3L_SCRIPT(
            S3L_EXPECT("GET /bucket?list-type=2&max-keys=3&prefix=k HTTP/1.1\r\n"),
            S3L_EXPECT("\r\n\r\n"),
            S3L_SEND(LISTING(CONTENTS("k1", "<Generation>" GEN "</Generation>") CONTENTS("k2", ""),
                             "true")),
            S3L_CLOSE),
        S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(LISTING(CONTENTS("other", ""), "false")),
                   S3L_CLOSE));
  s3_assert_result(list(), 0, S3LECT_SETTLED, 200);
  assert_int_equal(rig->r.result.entries_len, 2);
  assert_true(rig->r.result.truncated);
  assert_string_equal(rig->r.keys[0], "k1");
  assert_string_equal(rig->r.keys[1], "k2");
  s3_assert_result(list(), S3LECT_ELISTING, S3LECT_NOT_APPLIED, 200);
  s3_rig_close(rig);
}

static void knows_no_versions(void** state) {
  BEGIN(S3L_SCRIPT(S3L_EXPECT("")));
  s3l_suite_prepare(&rig->suite, &rig->r, "k");
  rig->r.req.max_keys = 3;
  rig->r.req.flags = S3LECT_REQ_VERSIONS;
  assert_int_equal(s3l_suite_start(&rig->r, s3lect_store_list), UV_ENOSYS);
  s3_rig_close(rig);
}

/* The limit of writes to an object says when the next one can be. */
static void throttling_has_a_time(void** state) {
#define SLOW(more)                                                                                 \
  "HTTP/1.1 429 Too Many Requests\r\n" more                                                        \
  "Content-Length: 46\r\n\r\n<Error><Code>SlowDown</Code><Message/></Error>"
  BEGIN(S3L_SCRIPT(S3L_EXPECT(BODY), S3L_SEND(SLOW("")), S3L_EXPECT(BODY),
                   S3L_SEND(SLOW("Retry-After: 7\r\n"))));
  s3_assert_result(put(S3LECT_IF_MATCH, GEN), S3LECT_ETHROTTLED, S3LECT_NOT_APPLIED, 429);
  assert_int_equal(rig->r.result.retry_after_ms, 1000);
  s3_assert_result(put(S3LECT_IF_MATCH, GEN), S3LECT_ETHROTTLED, S3LECT_NOT_APPLIED, 429);
  assert_int_equal(rig->r.result.retry_after_ms, 7000);
  s3_rig_close(rig);
}

/* ---- Tokens ---- */

/* Gives "T1", then "T2", and so on. */
static unsigned given;

static int give(s3lect_credentials_provider_t* provider, s3lect_credentials_req_t* req);

static void no_cancel(s3lect_credentials_provider_t* provider, s3lect_credentials_req_t* req) {
  fail_msg("cancelled");
}

static void close_provider(s3lect_credentials_provider_t* provider,
                           s3lect_credentials_close_cb cb) {
  fail_msg("the caller closes it");
}

static const s3lect_credentials_ops_t provider_ops = {
    .version = S3LECT_CREDENTIALS_VERSION,
    .get = give,
    .cancel = no_cancel,
    .close = close_provider,
};
static s3lect_credentials_provider_t provider;
static uv_timer_t later;
static s3lect_credentials_req_t* asked;

static void on_later(uv_timer_t* timer) {
  char token[8];
  const s3lect_credentials_t c = {.size = sizeof(c), .session_token = token};
  snprintf(token, sizeof(token), "T%u", ++given);
  asked->cb(asked, 0, &c, NULL);
}

static int give(s3lect_credentials_provider_t* p, s3lect_credentials_req_t* req) {
  asked = req;
  return uv_timer_start(&later, on_later, 0, 0);
}

static void use_tokens(void) {
  given = 0;
  provider = (s3lect_credentials_provider_t){.loop = &rig->loop, .ops = &provider_ops};
  assert_int_equal(uv_timer_init(&rig->loop, &later), 0);
  options.access_key_id = options.secret_access_key = NULL;
  options.credentials = &provider;
}

static void end_tokens(void) {
  uv_close((uv_handle_t*)&later, NULL);
  s3_rig_close(rig);
}

#define REFUSED_TOKEN                                                                              \
  "HTTP/1.1 401 Unauthorized\r\nContent-Length: 56\r\n\r\n"                                        \
  "<Error><Code>AuthenticationRequired</Code></Error>      "

/* A refused token is replaced within the request, once. */
static void renews_a_token(void** state) {
  START(S3L_SCRIPT(S3L_EXPECT("authorization: Bearer T1\r\n\r\n" BODY), S3L_SEND(REFUSED_TOKEN),
                   S3L_EXPECT("PUT "), S3L_EXPECT("x-goog-if-generation-match: " GEN "\r\n"),
                   S3L_EXPECT("authorization: Bearer T2\r\n\r\n" BODY), S3L_SEND(PUT_OK),
                   S3L_EXPECT("authorization: Bearer T2\r\n\r\n"), S3L_SEND(GET_OK)));
  use_tokens();
  open_store();
  s3_assert_result(put(S3LECT_IF_MATCH, GEN), 0, S3LECT_SETTLED, 200);
  assert_int_equal(rig->r.done, 1);
  assert_int_equal(get(NULL)->status, 0);
  assert_int_equal(given, 2);
  end_tokens();
}

static void renews_it_once(void** state) {
  START(S3L_SCRIPT(S3L_EXPECT("Bearer T1\r\n\r\n"), S3L_SEND(REFUSED_TOKEN),
                   S3L_EXPECT("Bearer T2\r\n\r\n"), S3L_SEND(REFUSED_TOKEN)));
  use_tokens();
  open_store();
  s3_assert_result(get(NULL), S3LECT_ESIGNATURE, S3LECT_NOT_APPLIED, 401);
  s3_assert_says(rig->r.message, "401 AuthenticationRequired");
  end_tokens();
}

/* A proxy would see the token: it is not sent, but a signed request is. */
static void tokens_stay_off_plain_http(void** state) {
  START(S3L_SCRIPT(S3L_EXPECT("GET http://store.example/bucket/k HTTP/1.1\r\n"),
                   S3L_EXPECT("GOOG4-HMAC-SHA256"), S3L_EXPECT("\r\n\r\n"), S3L_SEND(GET_OK)));
  options.endpoint = "http://store.example";
  options.proxy = rig->url;
  open_store();
  assert_int_equal(get(NULL)->status, 0);
  s3lect_store_close(&rig->store, NULL);
  assert_int_equal(uv_run(&rig->loop, UV_RUN_DEFAULT), 0);
  rig->server.scripts = S3L_SCRIPTS((const s3l_step_t[]){S3L_SCRIPT_END});
  use_tokens();
  open_store();
  s3_assert_result(get(NULL), S3LECT_ECREDENTIALS, S3LECT_NOT_APPLIED, 0);
  s3_assert_says(rig->r.message, "tokens are not sent over plain http, but for loopback addresses");
  end_tokens();
}

/* ---- Every row of the table ---- */

#define G    (1u << S3L_OP_GET)
#define P    (1u << S3L_OP_PUT)
#define D    (1u << S3L_OP_DELETE)
#define L    (1u << S3L_OP_LIST)
#define ALL  (G | P | D | L)

#define LOST S3LECT_UNCERTAIN
#define NOT  S3LECT_NOT_APPLIED
#define DONE S3LECT_SETTLED

typedef struct case_s {
  int http;
  const char* code; /* "": no error document */
  unsigned ops;
  int error;          /* 0 or S3LECT_E* */
  int outcome;        /* of a write; of a read never LOST */
  const char* advice; /* part of the sentence; NULL: there is none */
} case_t;

static const case_t cases[] = {
    {200, "", ALL, 0, DONE, NULL},
    {204, "", P | D, 0, DONE, NULL},
    {200, "InternalError", P | D | L, S3LECT_ESERVER, LOST, "after it had begun to answer"},
    {202, "", ALL, S3LECT_EBADREPLY, LOST, "check that the endpoint is its XML API"},
    {304, "", ALL, S3LECT_EBADREPLY, LOST, "a cache before the store"},
    {307, "TemporaryRedirect", ALL, S3LECT_EREDIRECT, NOT, "redirects are not followed"},

    {403, "RequestTimeTooSkewed", ALL, S3LECT_ESKEW, NOT, "set this machine's clock by NTP"},
    {403, "SignatureDoesNotMatch", ALL, S3LECT_ESIGNATURE, NOT, "the secret of the HMAC key"},
    {403, "InvalidSecurity", ALL, S3LECT_ESIGNATURE, NOT, "does not know this HMAC key"},
    {403, "InvalidAccessKeyId", ALL, S3LECT_ESIGNATURE, NOT, "does not know this HMAC key"},
    {400, "ExpiredToken", ALL, S3LECT_ESIGNATURE, NOT, "the token has expired"},
    {401, "AuthenticationRequired", ALL, S3LECT_ESIGNATURE, NOT, "does not accept the token"},
    {401, "", ALL, S3LECT_ESIGNATURE, NOT, "the scope devstorage.read_write"},
    {400, "CloudKmsDisabledKey", ALL, S3LECT_EDENIED, NOT, "cryptoKeyEncrypterDecrypter"},
    {400, "UserProjectMissing", ALL, S3LECT_EDENIED, NOT, "Requester Pays"},
    {403, "AccountProblem", ALL, S3LECT_EDENIED, NOT, "billing"},
    {403, "RetentionPolicyNotMet", P | D, S3LECT_EDENIED, NOT, "retention policy"},
    {403, "ObjectUnderActiveHold", P | D, S3LECT_EDENIED, NOT, "release the hold"},
    {403, "AccessDenied", G, S3LECT_EDENIED, NOT, "allow storage.objects.get and"},
    {403, "AccessDenied", P, S3LECT_EDENIED, NOT,
     "allow storage.objects.create and storage.objects.delete"},
    {403, "AccessDenied", D, S3LECT_EDENIED, NOT, "allow storage.objects.delete"},
    {403, "", L, S3LECT_EDENIED, NOT, "allow storage.objects.list"},

    {404, "NoSuchBucket", ALL, S3LECT_ENOBUCKET, NOT, "create the bucket"},
    {404, "NoSuchKey", G | P | D, S3LECT_ENOTFOUND, DONE, NULL},
    {404, "NoSuchKey", L, S3LECT_ESERVER, LOST, "says nothing about the object"},
    {404, "", ALL, S3LECT_ESERVER, LOST, "says nothing about the object"},
    {404, "Whatever", ALL, S3LECT_ESERVER, LOST, "says nothing about the object"},
    {407, "", ALL, S3LECT_EPROXY, NOT, "wants a user and a password"},
    {408, "", ALL, S3LECT_ESERVER, LOST, "gave up waiting"},
    {409, "Conflict", ALL, S3LECT_ECONFLICT, DONE, NULL},
    {412, "PreconditionFailed", ALL, S3LECT_EPRECONDITION, DONE, NULL},
    {412, "", P, S3LECT_EPRECONDITION, DONE, NULL},
    {499, "", ALL, S3LECT_ESERVER, LOST, "lost the request"},
    {405, "", ALL, S3LECT_EREFUSED, NOT, "does not accept this method"},
    {411, "", ALL, S3LECT_EREFUSED, NOT, "removed the length"},
    {429, "SlowDown", ALL, S3LECT_ETHROTTLED, NOT, "one write a second to an object"},
    {400, "ExcessHeaderValues", ALL, S3LECT_EREFUSED, NOT, "the store's message says why"},
    {418, "", ALL, S3LECT_EREFUSED, NOT, "the store's message says why"},

    {501, "NotImplemented", ALL, S3LECT_EUNSUPPORTED, NOT, "use another store"},
    {503, "SlowDown", ALL, S3LECT_ETHROTTLED, LOST, "lengthen the intervals"},
    {502, "", ALL, S3LECT_ESERVER, LOST, "could not reach the store"},
    {504, "", ALL, S3LECT_ESERVER, LOST, "no answer from the store in time"},
    {500, "InternalError", ALL, S3LECT_ESERVER, LOST, "the store's own health"},
    {503, "ServiceUnavailable", ALL, S3LECT_ESERVER, LOST, "the store's own health"},
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

/* The store's own document where there is a code, else a proxy's page. */
static void make_reply(const case_t* c, unsigned op, char* out, size_t cap) {
  char body[256] = "<html><head><title>What</title></head></html>";
  if (c->code[0] != '\0')
    snprintf(body, sizeof(body),
             "<?xml version='1.0' encoding='UTF-8'?><Error><Code>%s</Code><Message>its own words"
             "</Message></Error>",
             c->code);
  else if (c->http == 200)
    snprintf(body, sizeof(body), "%s", op == L ? "<ListBucketResult/>" : "");
  bool bare = c->http == 204 || c->http == 304;
  snprintf(out, cap,
           "HTTP/1.1 %d Whatever\r\nx-goog-generation: " GEN "\r\nConnection: close\r\n\r\n%s",
           c->http, bare ? "" : body);
}

static void serve(const case_t* c, unsigned op) {
  char reply[1024];
  bool write = (op & (P | D)) != 0;
  make_reply(c, op, reply, sizeof(reply));
  BEGIN(S3L_SCRIPT(S3L_EXPECT(op == P ? BODY : "\r\n\r\n"), S3L_SEND(reply), S3L_CLOSE));
  s3l_suite_prepare(&rig->suite, &rig->r, "k");
  rig->r.req.max_keys = 3;
  rig->r.req.body = op == P ? BODY : NULL;
  rig->r.req.body_len = op == P ? sizeof(BODY) - 1 : 0;
  const s3lect_store_result_t* result = s3l_suite_do(&rig->r, op == G   ? s3lect_store_get
                                                              : op == P ? s3lect_store_put
                                                              : op == D ? s3lect_store_del
                                                                        : s3lect_store_list);
  s3_assert_result(result, c->error, c->outcome == LOST && !write ? NOT : c->outcome, c->http);
  if (c->advice != NULL && strstr(result->message, c->advice) == NULL)
    fail_msg("%d %s for %u: \"%s\" does not say \"%s\"", c->http, c->code, op, result->message,
             c->advice);
  if (c->advice == NULL && result->message != NULL)
    assert_null(strchr(result->message, ';'));
  s3_rig_close(rig);
}

static void each_failure_is_named(void** state) {
  for (size_t i = 0; i < CASES; i++)
    for (unsigned op = 1; op <= ALL; op <<= 1)
      if ((cases[i].ops & op) != 0)
        serve(&cases[i], op);
}

/* A row that is added to the table wants a case. Those of all stores are tried with S3. */
static void no_row_is_left_out(void** state) {
  size_t n;
  const s3l_store_row_t* rows = s3l_gcs_rows(&n);
  for (size_t k = 0; k < n; k++) {
    bool seen = false;
    for (size_t i = 0; i < CASES && !seen; i++) {
      for (unsigned op = 0; op < 4 && !seen; op++) {
        s3l_store_verdict_t v =
            s3l_gcs_verdict((s3l_op_t)op, cases[i].http, s3l_span_cstr(cases[i].code));
        seen = (cases[i].ops & 1u << op) != 0 && v.status == rows[k].status &&
               v.advice == rows[k].advice && cases[i].http >= rows[k].first &&
               cases[i].http <= rows[k].last;
      }
    }
    if (!seen)
      fail_msg("no case for the row %d-%d %s", rows[k].first, rows[k].last,
               rows[k].code != NULL ? rows[k].code : "any");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sends_generations),
      cmocka_unit_test(refuses_other_etags),
      cmocka_unit_test(a_lost_reply_is_uncertain),
      cmocka_unit_test(reads_generations),
      cmocka_unit_test(wants_a_generation),
      cmocka_unit_test(lists_generations),
      cmocka_unit_test(knows_no_versions),
      cmocka_unit_test(throttling_has_a_time),
      cmocka_unit_test(renews_a_token),
      cmocka_unit_test(renews_it_once),
      cmocka_unit_test(tokens_stay_off_plain_http),
      cmocka_unit_test(each_failure_is_named),
      cmocka_unit_test(no_row_is_left_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
