/* Every failure named: each row of wire/s3_errors.h, served by a socket to the store: which error
 * it comes to, what is known of a write, whether the election tries again soon, and what is said.
 * What is expected stands here once more, on purpose: a slip in the table shows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/s3_rig.h"
#include "lib/test.h"
#include "util/error_kind.h"
#include "wire/s3_reply.h"

#define G    (1u << S3L_S3_GET)
#define P    (1u << S3L_S3_PUT)
#define D    (1u << S3L_S3_DELETE)
#define L    (1u << S3L_S3_LIST)
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
  bool again;         /* whether the election tries again soon */
  const char* advice; /* part of the sentence; NULL: there is none */
} case_t;

static const case_t cases[] = {
    {200, "", G | L | P | D, 0, DONE, true, NULL},
    {201, "", P, 0, DONE, true, NULL},
    {204, "", P | D, 0, DONE, true, NULL},
    {200, "InternalError", P | D | L, S3LECT_ESERVER, LOST, true, "after it had begun to answer"},
    {202, "", ALL, S3LECT_EBADREPLY, LOST, true, "check that the endpoint is an S3 API"},
    {304, "", G, S3LECT_ENOTMODIFIED, DONE, true, NULL},
    {304, "", P | D, S3LECT_EPRECONDITION, DONE, true, NULL},
    {304, "", L, S3LECT_EREDIRECT, NOT, false, "the endpoint of the bucket's own region"},
    {301, "PermanentRedirect", ALL, S3LECT_EREGION, NOT, false, "set AWS_REGION"},
    {301, "", ALL, S3LECT_EREDIRECT, NOT, false, "the endpoint of the bucket's own region"},
    {302, "", ALL, S3LECT_EREDIRECT, NOT, false, "the endpoint of the bucket's own region"},
    {307, "TemporaryRedirect", ALL, S3LECT_EREDIRECT, NOT, false, "a redirect is followed only to"},

    {403, "RequestTimeTooSkewed", ALL, S3LECT_ESKEW, NOT, false,
     "set this machine's clock (NTP); "},
    {400, "RequestExpired", ALL, S3LECT_ESKEW, NOT, false, "set this machine's clock (NTP)"},
    {403, "RequestInTheFuture", ALL, S3LECT_ESKEW, NOT, false, "set this machine's clock (NTP)"},
    {403, "SignatureDoesNotMatch", ALL, S3LECT_ESIGNATURE, NOT, false,
     "check the secret access key"},
    {403, "InvalidAccessKeyId", ALL, S3LECT_ESIGNATURE, NOT, false,
     "does not know this access key"},
    {400, "InvalidToken", ALL, S3LECT_ESIGNATURE, NOT, false, "AWS_SESSION_TOKEN"},
    {400, "ExpiredToken", ALL, S3LECT_ESIGNATURE, NOT, false, "the temporary keys have expired"},
    {400, "TokenRefreshRequired", ALL, S3LECT_ESIGNATURE, NOT, false, "must be renewed"},
    {400, "AuthorizationHeaderMalformed", ALL, S3LECT_EREFUSED, NOT, true, "set AWS_REGION"},
    {400, "IllegalLocationConstraintException", ALL, S3LECT_EREGION, NOT, false,
     "set AWS_REGION to it"},
    {400, "KMS.DisabledException", ALL, S3LECT_EDENIED, NOT, false, "kms:GenerateDataKey"},
    {403, "KMS.AccessDenied", P, S3LECT_EDENIED, NOT, false, "check that it is enabled"},

    {401, "", ALL, S3LECT_EDENIED, NOT, false, "requires its own login"},
    {403, "AccountProblem", ALL, S3LECT_EDENIED, NOT, false, "billing"},
    {403, "AccessDenied", G, S3LECT_EDENIED, NOT, false,
     "s3:GetObject on the key and s3:ListBucket"},
    {403, "", G, S3LECT_EDENIED, NOT, false, "answers 403 for a missing key"},
    {403, "AccessDenied", P, S3LECT_EDENIED, NOT, false, "allow s3:PutObject and s3:GetObject"},
    {403, "AccessDenied", L, S3LECT_EDENIED, NOT, false, "allow s3:ListBucket on the bucket"},
    {403, "AccessDenied", D, S3LECT_EDENIED, NOT, false, "allow s3:DeleteObject"},

    {404, "NoSuchBucket", ALL, S3LECT_ENOBUCKET, NOT, false, "create the bucket"},
    {404, "NoSuchKey", G | P | D, S3LECT_ENOTFOUND, DONE, true, NULL},
    {404, "NoSuchKey", L, S3LECT_ESERVER, LOST, true, "says nothing about the object"},
    {404, "XAdminUserNotFound", ALL, S3LECT_ESIGNATURE, NOT, false,
     "does not know this access key"},
    {404, "NoSuchWhatever", ALL, S3LECT_ESERVER, LOST, true, "says nothing about the object"},
    {404, "", ALL, S3LECT_ESERVER, LOST, true, "says nothing about the object: check the endpoint"},

    {408, "RequestCanceled", ALL, S3LECT_ESERVER, LOST, true, "gave up waiting"},
    {499, "", ALL, S3LECT_ESERVER, LOST, true, "a proxy before the store lost the request"},
    {407, "", ALL, S3LECT_EPROXY, NOT, true, "wants a user and a password"},
    {409, "ConditionalRequestConflict", ALL, S3LECT_ECONFLICT, DONE, true, NULL},
    {412, "PreconditionFailed", ALL, S3LECT_EPRECONDITION, DONE, true, NULL},
    {412, "", P, S3LECT_EPRECONDITION, DONE, true, NULL},
    {429, "", ALL, S3LECT_ETHROTTLED, NOT, true, "one write a second"},

    {400, "RequestTimeout", ALL, S3LECT_ESERVER, NOT, true, "did not reach the store in time"},
    {400, "InvalidBucketName", ALL, S3LECT_EREFUSED, NOT, true, "check the bucket's name"},
    {400, "KeyTooLongError", ALL, S3LECT_EREFUSED, NOT, true, "at most 1024 bytes"},
    {400, "InvalidRequest", P, S3LECT_EREFUSED, NOT, true, "add them as additional headers"},
    {400, "XAmzContentSHA256Mismatch", P, S3LECT_EREFUSED, NOT, true, "bypass that proxy"},
    {400, "BadDigest", P, S3LECT_EREFUSED, NOT, true, "bypass that proxy"},
    {405, "MethodNotAllowed", ALL, S3LECT_EREFUSED, NOT, true, "not a web site"},
    {411, "MissingContentLength", P, S3LECT_EREFUSED, NOT, true,
     "removed the length from the request"},
    {418, "", ALL, S3LECT_EREFUSED, NOT, true, "the store's message says why"},
    {400, "SomethingNew", ALL, S3LECT_EREFUSED, NOT, true, "the store's message says why"},

    {501, "NotImplemented", ALL, S3LECT_EUNSUPPORTED, NOT, false, "use another store"},
    {400, "NotImplemented", P, S3LECT_EUNSUPPORTED, NOT, false, "use another store"},
    {501, "", ALL, S3LECT_EUNSUPPORTED, NOT, false, "use another store"},
    {503, "SlowDown", ALL, S3LECT_ETHROTTLED, LOST, true, "spread the lockfiles over prefixes"},
    {502, "", ALL, S3LECT_ESERVER, LOST, true, "could not reach the store"},
    {504, "", ALL, S3LECT_ESERVER, LOST, true, "no answer from the store in time"},
    {500, "InternalError", ALL, S3LECT_ESERVER, LOST, true, "look at the store's own health"},
    {503, "ServiceUnavailable", ALL, S3LECT_ESERVER, LOST, true, "look at the store's own health"},
    {599, "", ALL, S3LECT_ESERVER, LOST, true, "look at the store's own health"},
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

/* What is served: the store's own document where there is a code, else a proxy's page; with status
 * 200 what the operation asks for. */
static void make_reply(const case_t* c, unsigned op, char* out, size_t cap) {
  char body[256] = "<html><head><title>What</title></head></html>";
  bool bare = c->http == 204 || c->http == 304;
  if (c->code[0] != '\0')
    snprintf(body, sizeof(body),
             "<?xml version=\"1.0\"?>\n<Error><Code>%s</Code><Message>its own words</Message>"
             "<RequestId>R1</RequestId></Error>",
             c->code);
  else if (c->http == 200)
    snprintf(body, sizeof(body), "%s", op == L ? "<ListBucketResult/>" : "");
  if (bare)
    snprintf(out, cap, "HTTP/1.1 %d Whatever\r\nETag: " S3_ETAG "\r\nConnection: close\r\n\r\n",
             c->http);
  else
    snprintf(out, cap,
             "HTTP/1.1 %d Whatever\r\nETag: " S3_ETAG
             "\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
             c->http, strlen(body), body);
}

static const s3lect_store_result_t* ask(s3_rig_t* rig, unsigned op) {
  if (op == P)
    return s3_rig_put(rig, S3LECT_IF_MATCH, 0);
  if (op == G)
    return s3_rig_get(rig, S3_ETAG);
  s3l_suite_prepare(&rig->suite, &rig->r, "leases/k");
  rig->r.req.max_keys = 3;
  return s3l_suite_do(&rig->r, op == L ? s3lect_store_list : s3lect_store_del);
}

static void assert_message(const case_t* c, unsigned op, const char* message) {
  char said[160];
  if (c->error == 0 || c->error == S3LECT_ENOTMODIFIED) {
    assert_null(message);
    return;
  }
  snprintf(said, sizeof(said), c->code[0] != '\0' ? "%d %s: its own words (request id R1)" : "%d",
           c->http, c->code);
  if (message == NULL)
    fail_msg("%d %s for %u: no message", c->http, c->code, op);
  s3_assert_says(message, said);
  if (c->advice != NULL && strstr(message, c->advice) == NULL)
    fail_msg("%d %s for %u: \"%s\" does not say \"%s\"", c->http, c->code, op, message, c->advice);
  if (c->advice == NULL)
    assert_string_equal(message, said);
}

static void serve(const case_t* c, unsigned op) {
  char reply[1024];
  make_reply(c, op, reply, sizeof(reply));
  s3_rig_t* rig =
      S3_RIG(S3L_SCRIPT(S3L_EXPECT(op == P ? S3_BODY : "\r\n\r\n"), S3L_SEND(reply), S3L_CLOSE));
  const s3lect_store_result_t* r = ask(rig, op);
  bool write = (op & (P | D)) != 0;
  int outcome = c->outcome == LOST && !write ? NOT : c->outcome;
  if (r->status != c->error || r->outcome != outcome || r->http_status != c->http)
    fail_msg("%d %s for %u: got %s, outcome %d, http %d; want %s, outcome %d", c->http, c->code, op,
             s3lect_err_name(r->status), r->outcome, r->http_status, s3lect_err_name(c->error),
             outcome);
  if (c->error != 0 && s3l_error_is_lasting(r->status) == c->again)
    fail_msg("%d %s: %s is %stried again soon", c->http, c->code, s3lect_err_name(r->status),
             c->again ? "not " : "");
  assert_message(c, op, r->message);
  s3_rig_close(rig);
}

static void each_failure_is_named(void** state) {
  for (size_t i = 0; i < CASES; i++)
    for (unsigned op = 1; op <= ALL; op <<= 1)
      if ((cases[i].ops & op) != 0)
        serve(&cases[i], op);
}

static bool fits(const s3l_store_row_t* row, const case_t* c, unsigned op) {
  size_t n = row->code != NULL ? strlen(row->code) : 0;
  if (c->http < row->first || c->http > row->last || (row->ops & op) == 0)
    return false;
  if (row->code == NULL)
    return true;
  return n > 0 && row->code[n - 1] == '*' ? strncmp(row->code, c->code, n - 1) == 0
                                          : strcmp(row->code, c->code) == 0;
}

/* A row that is added to the table wants a case; but test-s3-express.c has CreateSession's. */
static void no_row_is_left_out(void** state) {
  static s3l_store_row_t rows[128];
  size_t own, n;
  const s3l_store_row_t* of_s3 = s3l_s3_rows(&own);
  const s3l_store_row_t* of_all = s3l_http_rows(&n);
  assert_true(own + n <= sizeof(rows) / sizeof(rows[0]));
  memcpy(rows, of_s3, own * sizeof(rows[0]));
  memcpy(rows + own, of_all, n * sizeof(rows[0]));
  n += own;
  bool* seen = calloc(n, sizeof(*seen));
  assert_non_null(seen);
  for (size_t i = 0; i < CASES; i++) {
    for (unsigned op = 1; op <= ALL; op <<= 1) {
      size_t k = 0;
      while (k < n && !fits(&rows[k], &cases[i], op))
        k++;
      if ((cases[i].ops & op) != 0 && k < n)
        seen[k] = true;
    }
  }
  for (size_t k = 0; k < n; k++) {
    if (!seen[k] && (rows[k].ops & ALL) != 0)
      fail_msg("no case for the row %d-%d %s (%s)", rows[k].first, rows[k].last,
               rows[k].code != NULL ? rows[k].code : "any", s3lect_err_name(rows[k].status));
  }
  free(seen);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_failure_is_named),
      cmocka_unit_test(no_row_is_left_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
