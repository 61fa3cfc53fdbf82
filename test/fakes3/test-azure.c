/* The fake S3 as Azure Blob Storage: conditions, lists, containers, and each way to be authorised.
 * What test-faults.c shows of the faults holds here, too: it runs for each protocol. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/fakes3_rig.h"
#include "lib/test.h"

static char old[64]; /* the ETag of what is stored as "there" */

static void put_old(void) {
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "there", .body = "old"), 201);
  snprintf(old, sizeof(old), "%s", s3l_raw_header("ETag"));
}

static int open_rig(void** state) {
  s3l_fakes3_open(&(fakes3_options_t){.protocol = "azure"});
  put_old();
  return 0;
}

/* ---- Conditions ---- */

typedef struct row_s {
  s3l_s3_op_t op;
  const char* key;
  const char* if_match;
  const char* if_none_match;
  int status;
  const char* code; /* NULL: none */
} row_t;

#define OTHER "\"0x8D0\""

static void follows_the_table(void** state) {
  const row_t rows[] = {
      {S3L_S3_PUT, "gone", NULL, "*", 201, NULL},
      {S3L_S3_PUT, "there", NULL, "*", 409, "BlobAlreadyExists"},
      {S3L_S3_PUT, "there", old, NULL, 201, NULL},
      {S3L_S3_PUT, "there", OTHER, NULL, 412, "ConditionNotMet"},
      {S3L_S3_PUT, "there", "*", NULL, 201, NULL},
      {S3L_S3_PUT, "gone", "*", NULL, 412, "ConditionNotMet"},
      {S3L_S3_PUT, "gone", old, NULL, 412, "ConditionNotMet"},
      {S3L_S3_PUT, "there", NULL, old, 412, "ConditionNotMet"},
      {S3L_S3_PUT, "there", NULL, OTHER, 201, NULL},
      {S3L_S3_PUT, "there", old, "*", 400, "MultipleConditionHeadersNotSupported"},
      {S3L_S3_DELETE, "there", old, NULL, 202, NULL},
      {S3L_S3_DELETE, "there", OTHER, NULL, 412, "ConditionNotMet"},
      {S3L_S3_DELETE, "gone", NULL, NULL, 404, "BlobNotFound"},
      {S3L_S3_DELETE, "gone", old, NULL, 404, "BlobNotFound"},
      {S3L_S3_GET, "there", NULL, old, 304, NULL},
      {S3L_S3_GET, "there", NULL, OTHER, 200, NULL},
      {S3L_S3_GET, "there", OTHER, NULL, 412, "ConditionNotMet"},
      {S3L_S3_GET, "gone", NULL, NULL, 404, "BlobNotFound"},
      {S3L_S3_HEAD, "there", NULL, NULL, 200, NULL},
      {S3L_S3_HEAD, "gone", NULL, NULL, 404, "BlobNotFound"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    const row_t* row = &rows[i];
    print_message("row %zu\n", i);
    fakes3_reset(rig.server);
    put_old(); /* to which OLD refers */
    s3l_said(S3L_DO(.op = row->op, .key = row->key, .if_match = row->if_match,
                    .if_none_match = row->if_none_match, .body = "new"),
             row->status, row->code);
    bool written = row->status == 201 || row->status == 202;
    int status = S3L_DO(.key = "there");
    if (written && strcmp(row->key, "there") == 0 && row->op == S3L_S3_DELETE) {
      assert_int_equal(status, 404);
    } else {
      assert_int_equal(status, 200);
      assert_string_equal(rig.reply.body,
                          written && strcmp(row->key, "there") == 0 ? "new" : "old");
    }
  }
}

static void never_repeats_an_etag(void** state) {
  char seen[8][64];
  for (size_t i = 0; i < 8; i++) {
    put_old();
    assert_int_equal(strncmp(old, "\"0x8D", 5), 0);
    for (size_t k = 0; k < i; k++)
      assert_string_not_equal(old, seen[k]);
    memcpy(seen[i], old, sizeof(old));
    if (i % 2 == 0)
      assert_int_equal(S3L_DO(.op = S3L_S3_DELETE, .key = "there"), 202);
  }
}

static void replies_as_azure(void** state) {
  assert_int_equal(S3L_DO(.key = "there"), 200);
  assert_string_equal(rig.reply.body, "old");
  assert_string_equal(s3l_raw_header("ETag"), old);
  assert_string_equal(s3l_raw_header("x-ms-blob-type"), "BlockBlob");
  assert_string_equal(s3l_raw_header("x-ms-version"), "2023-11-03");
  assert_non_null(s3l_raw_header("x-ms-request-id"));
  assert_non_null(s3l_raw_header("Last-Modified"));
  assert_int_equal(S3L_DO(.key = "gone"), 404);
  assert_int_equal(strncmp(rig.reply.body, "\xEF\xBB\xBF<?xml ", 9), 0);
  assert_string_equal(s3l_raw_tag("Code"), "BlobNotFound");
  assert_non_null(strstr(s3l_raw_tag("Message"), "\nRequestId:"));
  S3L_SIGN(.op = S3L_S3_PUT, .key = "k");
  s3l_fakes3_bend("x-ms-blob-type: BlockBlob\r\n", "");
  s3l_said(s3l_fakes3_exchange(false), 400, "MissingRequiredHeader");
  S3L_SIGN(.op = S3L_S3_PUT, .key = "k");
  s3l_fakes3_bend("BlockBlob", "PageBlob");
  s3l_said(s3l_fakes3_exchange(false), 400, "InvalidHeaderValue");
  S3L_SIGN(.key = "there");
  s3l_fakes3_bend("x-ms-version: 2023-11-03\r\n", "");
  s3l_said(s3l_fakes3_exchange(false), 400, "MissingRequiredHeader");
  S3L_SIGN(.key = "there");
  s3l_fakes3_bend("/there", "/there?comp=lease");
  s3l_said(s3l_fakes3_exchange(false), 400, "UnsupportedQueryParameter");
  S3L_SIGN(.op = S3L_S3_PUT, .key = "k");
  s3l_fakes3_bend("Content-Length: 0\r\n", "");
  s3l_said(s3l_fakes3_exchange(false), 411, "MissingContentLengthHeader");
}

/* ---- Containers and lists ---- */

static int container(const char* method, const char* name) {
  S3L_SIGN(.bucket = name, .key = "");
  s3l_fakes3_bend("GET", method);
  s3l_fakes3_bend("/ HTTP", "?restype=container HTTP");
  s3l_fakes3_bend("\r\n\r\n", "\r\nContent-Length: 0\r\n\r\n");
  return s3l_fakes3_exchange(strcmp(method, "HEAD") == 0);
}

static void knows_only_containers_that_exist(void** state) {
  s3l_fakes3_open(&(fakes3_options_t){.protocol = "azure", .buckets = "one"});
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .bucket = "one", .key = "k", .body = "x"), 201);
  s3l_said(S3L_DO(.op = S3L_S3_PUT, .bucket = "two", .key = "k", .body = "x"), 404,
           "ContainerNotFound");
  s3l_said(S3L_DO(.bucket = "two", .key = "k"), 404, "ContainerNotFound");
  s3l_said(S3L_DO(.op = S3L_S3_LIST, .bucket = "two"), 404, "ContainerNotFound");
  s3l_said(container("PUT", "one"), 409, "ContainerAlreadyExists");
  s3l_said(container("PUT", "two"), 201, NULL);
  s3l_said(container("HEAD", "two"), 200, NULL);
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .bucket = "two", .key = "k", .body = "x"), 201);
  s3l_said(container("DELETE", "two"), 202, NULL);
  s3l_said(S3L_DO(.bucket = "two", .key = "k"), 404, "ContainerNotFound");
  s3l_fakes3_close();
}

static int count(const char* element) {
  int found = 0;
  for (const char* p = rig.reply.body; (p = strstr(p, element)) != NULL; p++)
    found++;
  return found;
}

static void lists(void** state) {
  static const char* const keys[] = {"p/1", "p/2", "p/3", "p/a&b", "p/\x01", "q"};
  char marker[64];
  for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
    assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = keys[i], .body = "x"), 201);
  assert_int_equal(S3L_DO(.op = S3L_S3_DELETE, .key = "p/2"), 202);
  assert_int_equal(S3L_DO(.op = S3L_S3_LIST, .key = "p/"), 200);
  assert_int_equal(count("<Blob>"), 4);
  assert_string_equal(s3l_raw_tag("NextMarker"), "");
  assert_non_null(strstr(rig.reply.body, "<Name>p/a&amp;b</Name>"));
  assert_non_null(strstr(rig.reply.body, "<Name Encoded=\"true\">p/%01</Name>"));
  assert_int_equal(strncmp(s3l_raw_tag("Etag"), "0x8D", 4), 0); /* no quotes here */
  assert_int_equal(S3L_DO(.op = S3L_S3_LIST, .key = "p/", .max_keys = 3), 200);
  assert_int_equal(count("<Blob>"), 3);
  snprintf(marker, sizeof(marker), "%s", s3l_raw_tag("NextMarker"));
  assert_int_equal(S3L_DO(.op = S3L_S3_LIST, .key = "p/", .max_keys = 3, .after = marker), 200);
  assert_int_equal(count("<Blob>"), 1);
  assert_string_equal(s3l_raw_tag("Name"), "p/a&b");
  assert_string_equal(s3l_raw_tag("NextMarker"), "");
  s3l_said(S3L_DO(.op = S3L_S3_LIST, .key = "p/", .after = "p/1"), 400,
           "InvalidQueryParameterValue");
  s3l_fakes3_fault("{\"short_lists\":true}");
  assert_int_equal(S3L_DO(.op = S3L_S3_LIST, .key = "p/"), 200);
  assert_int_equal(count("<Blob>"), 1);
  assert_string_not_equal(s3l_raw_tag("NextMarker"), "");
  assert_string_equal(s3l_fakes3_last()->method, "LIST");
}

/* ---- Dialects ---- */

static void differs_if_told_to(void** state) {
  s3l_fakes3_fault("{\"create_412\":true}");
  s3l_said(S3L_DO(.op = S3L_S3_PUT, .key = "there", .if_none_match = "*", .body = "x"), 412,
           "ConditionNotMet");
  fakes3_fault_clear(rig.server, 0);
  s3l_fakes3_fault("{\"ignore_conditions\":true}");
  s3l_said(S3L_DO(.op = S3L_S3_PUT, .key = "there", .if_none_match = "*", .body = "x"), 201, NULL);
  s3l_said(S3L_DO(.op = S3L_S3_PUT, .key = "there", .if_match = OTHER, .body = "x"), 201, NULL);
  fakes3_fault_clear(rig.server, 0);
  s3l_fakes3_fault("{\"constant_etag\":true}");
  put_old();
  char first[64];
  memcpy(first, old, sizeof(first));
  put_old();
  assert_string_equal(first, old);
  fakes3_fault_clear(rig.server, 0);
  s3l_fakes3_fault("{\"write_interval_ms\":600000}");
  s3l_said(S3L_DO(.op = S3L_S3_PUT, .key = "there", .body = "x"), 503, "ServerBusy");
  s3l_said(S3L_DO(.op = S3L_S3_PUT, .key = "another", .body = "x"), 201, NULL);
  fakes3_fault_clear(rig.server, 0);
  s3l_fakes3_fault("{\"write_interval_ms\":0}");
  s3l_said(S3L_DO(.op = S3L_S3_PUT, .key = "there", .body = "x"), 201, NULL);
}

/* ---- Authorisation ---- */

static void send_text(const char* text) {
  rig.bytes_n = strlen(text);
  assert_true(rig.bytes_n < sizeof(rig.bytes));
  memcpy(rig.bytes, text, rig.bytes_n + 1);
}

/* 2024-01-01T00:00:00Z, at which the requests below were signed. */
static void open_then(const char* domain) {
  s3l_fakes3_open(
      &(fakes3_options_t){.protocol = "azure",
                          .domain = domain,
                          .clock_offset_ms = (1704067200 - (int64_t)time(NULL)) * 1000});
}

#define DATE    "Mon, 01 Jan 2024 00:00:00 GMT"
#define ACCOUNT FAKES3_ACCOUNT
#define KEY     "Authorization: SharedKey " ACCOUNT ":"
#define VERSION "x-ms-version: 2023-11-03\r\n"

/* The signatures were computed by an independent script, from the documentation's rules
 * (learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key). */
static const struct {
  const char* name;
  int status;
  const char* request;
} signed_requests[] = {
    {"put", 201,
     "PUT /" ACCOUNT "/bucket/a%20b HTTP/1.1\r\nHost: x\r\nIf-None-Match: *\r\n"
     "x-ms-blob-type: BlockBlob\r\n" VERSION "x-ms-date: " DATE "\r\n"
     "Content-Type: text/plain\r\nContent-Length: 5\r\n" KEY
     "lrjk8rIRvZVAolFc2/N9uvlfmyz3R2pTa58+MqOOiiw=\r\n\r\nhello"},
    {"get, by Date", 404,
     "GET /" ACCOUNT "/bucket/k HTTP/1.1\r\nHost: x\r\nIf-Match: \"0x8D0\"\r\nDate: " DATE
     "\r\n" VERSION KEY "f60fxztUg4cHkhsSEhn6CrezPCSl09gO3GPIjLm5MJk=\r\n\r\n"},
    {"list", 200,
     "GET /" ACCOUNT "/bucket?restype=container&comp=list&prefix=a%20b%2F&maxresults=2 HTTP/1.1\r\n"
     "Host: x\r\nx-ms-date: " DATE "\r\n" VERSION KEY
     "gRc/jEQeALXiuh13uhzqwgyS/Wq1Ozr0v84uQ2dWmIU=\r\n\r\n"},
    {"by the host's name", 404,
     "GET /bucket/k HTTP/1.1\r\nHost: " ACCOUNT ".blob.test\r\nx-ms-date: " DATE "\r\n" VERSION KEY
     "RhWQLgesD8dcwktJlL/UoLBkxC5Zcbo37QIVitqxgLQ=\r\n\r\n"},
};

static void accepts_signatures(void** state) {
  open_then("blob.test");
  for (size_t i = 0; i < sizeof(signed_requests) / sizeof(signed_requests[0]); i++) {
    fakes3_reset(rig.server);
    send_text(signed_requests[i].request);
    int status = s3l_fakes3_exchange(false);
    if (status != signed_requests[i].status)
      fail_msg("%s: %d\n%s", signed_requests[i].name, status, rig.reply.body);
    assert_string_equal(s3l_fakes3_last()->access_key, ACCOUNT);
    /* One character changed: the same request does not pass. */
    char* signature = strstr(rig.bytes, ACCOUNT ":") + strlen(ACCOUNT) + 1;
    *signature = *signature == 'A' ? 'B' : 'A';
    s3l_said(s3l_fakes3_exchange(false), 403, "AuthenticationFailed");
    assert_non_null(strstr(s3l_raw_tag("AuthenticationErrorDetail"), "string to sign"));
    assert_int_equal(s3l_fakes3_last()->order, 0);
  }
  s3l_fakes3_close();
}

static void refuses_what_was_tampered_with(void** state) {
  static const char* const bends[][2] = {
      {"PUT ", "GET "},
      {"a%20b", "a%20c"},
      {"If-None-Match: *\r\n", ""},
      {"If-None-Match: *", "If-Match: *"},
      {"BlockBlob", "PageBlob"},
      {"2023-11-03", "2023-11-04"},
      {"text/plain", "text/html"},
      {"\r\n\r\n", "\r\nx-ms-meta-a: b\r\n\r\n"},
      {" HTTP", "?timeout=1 HTTP"},
      {"SharedKey " ACCOUNT, "SharedKey other"},
  };
  open_then(NULL);
  for (size_t i = 0; i < sizeof(bends) / sizeof(bends[0]); i++) {
    send_text(signed_requests[0].request);
    s3l_fakes3_bend(bends[i][0], bends[i][1]);
    print_message("%s\n", bends[i][0]);
    s3l_said(s3l_fakes3_exchange(false), 403, "AuthenticationFailed");
  }
  s3l_fakes3_close();
}

static void refuses_wrong_times(void** state) {
  const int64_t now = (1704067200 - (int64_t)time(NULL)) * 1000;
  const int64_t minute = 60 * 1000;
  open_then(NULL);
  for (int sign = -1; sign <= 1; sign += 2) {
    fakes3_set_clock_offset(rig.server, now + sign * 14 * minute);
    send_text(signed_requests[2].request);
    s3l_said(s3l_fakes3_exchange(false), 200, NULL);
    fakes3_set_clock_offset(rig.server, now + sign * 16 * minute);
    s3l_said(s3l_fakes3_exchange(false), 403, "AuthenticationFailed");
    assert_non_null(strstr(s3l_raw_tag("AuthenticationErrorDetail"), "too old"));
  }
  s3l_fakes3_close();
}

#define SAS_CONTAINER                                                                              \
  "sp=rwl&st=2023-12-31T00:00:00Z&se=2024-01-02T00:00:00Z&spr=https%2Chttp&sv=2023-11-03&sr=c&"    \
  "sig=80pEgsc87Intj6KF84Lwv6wpkJdgsoeI7UsHt4O2Xpw%3D"
#define SAS_BLOB                                                                                   \
  "sp=r&se=2024-01-02T00:00:00Z&sv=2023-11-03&sr=b&"                                               \
  "sig=ay3fdSatygijf6k2PKnHfU%2BJYr0anRKX2Pls2uFFHnc%3D"
#define SAS_ACCOUNT                                                                                \
  "sp=rwdlc&ss=b&srt=co&se=2024-01-02T00:00:00Z&sv=2023-11-03&"                                    \
  "sig=/9eCtVwblT9Npx0LywTvUoY8fhpdLTFMFk5DTJFjC9c%3D"

static int with_sas(const char* method, const char* path, const char* sas) {
  char text[1024];
  snprintf(text, sizeof(text),
           "%s /" ACCOUNT "/%s%c%s HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n"
           "x-ms-blob-type: BlockBlob\r\n\r\n",
           method, path, strchr(path, '?') != NULL ? '&' : '?', sas);
  send_text(text);
  return s3l_fakes3_exchange(false);
}

/* create-service-sas and create-account-sas; the signatures are an independent script's. */
static void accepts_shared_access_signatures(void** state) {
  open_then(NULL);
  s3l_said(with_sas("PUT", "bucket/k", SAS_CONTAINER), 201, NULL);
  s3l_said(with_sas("GET", "bucket/k", SAS_CONTAINER), 200, NULL);
  s3l_said(with_sas("GET", "bucket?restype=container&comp=list", SAS_CONTAINER), 200, NULL);
  s3l_said(with_sas("DELETE", "bucket/k", SAS_CONTAINER), 403, "AuthorizationPermissionMismatch");
  s3l_said(with_sas("GET", "other/k", SAS_CONTAINER), 403, "AuthenticationFailed");
  s3l_said(with_sas("GET", "bucket/k", SAS_BLOB), 200, NULL);
  s3l_said(with_sas("GET", "bucket/l", SAS_BLOB), 403, "AuthenticationFailed");
  s3l_said(with_sas("PUT", "bucket/k", SAS_BLOB), 403, "AuthorizationPermissionMismatch");
  s3l_said(with_sas("PUT", "other/k", SAS_ACCOUNT), 201, NULL);
  s3l_said(with_sas("DELETE", "other/k", SAS_ACCOUNT), 202, NULL);
  assert_string_equal(s3l_fakes3_last()->access_key, ACCOUNT);
  (void)with_sas("GET", "bucket/k", SAS_BLOB);
  s3l_fakes3_bend("sv=2023-11-03", "sv=2019-12-12");
  s3l_said(s3l_fakes3_exchange(false), 403, "AuthenticationFailed");
  (void)with_sas("GET", "bucket/k", SAS_BLOB);
  s3l_fakes3_bend("sp=r", "sp=rw");
  s3l_said(s3l_fakes3_exchange(false), 403, "AuthenticationFailed");
  fakes3_set_clock_offset(rig.server, 0);
  s3l_said(with_sas("GET", "bucket/k", SAS_BLOB), 403, "AuthenticationFailed");
  assert_non_null(strstr(s3l_raw_tag("AuthenticationErrorDetail"), "time frame"));
  s3l_fakes3_close();
}

static void accepts_a_token(void** state) {
  s3l_said(S3L_DO(.key = "there"), 200, NULL);
  assert_string_equal(s3l_fakes3_last()->access_key, "rig");
  s3l_said(S3L_DO(.key = "there", .token = "wrong"), 401, "InvalidAuthenticationInfo");
  S3L_SIGN(.key = "there");
  s3l_fakes3_bend("Authorization:", "X-Nothing:");
  s3l_said(s3l_fakes3_exchange(false), 401, "NoAuthenticationInformation");
}

/* ---- Services of tokens ---- */

static int post(const char* path, const char* form) {
  char text[512];
  snprintf(text, sizeof(text), "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s", path,
           strlen(form), form);
  send_text(text);
  return s3l_fakes3_exchange(false);
}

static void take_token(char token[64]) {
  const char* at = strstr(rig.reply.body, "\"access_token\":\"");
  assert_non_null(at);
  assert_int_equal(sscanf(at, "\"access_token\":\"%63[^\"]", token), 1);
}

#define FORM "grant_type=client_credentials&client_id=me&"

static void gives_tokens(void** state) {
  static const struct {
    const char* form;
    int status;
  } rows[] = {
      {FORM "client_secret=a%2Bb", 200},
      {FORM "client_assertion=ey.x.y", 200},
      {FORM "client_secret=wrong", 401},
      {FORM "client_secret=", 401},
      {"grant_type=client_credentials&client_id=other&client_secret=a%2Bb", 401},
      {"grant_type=password&client_id=me&client_secret=a%2Bb", 400},
  };
  char token[64] = "";
  s3l_fakes3_open(
      &(fakes3_options_t){.protocol = "azure", .session_ms = 60000, .keys = {{"me", "a+b", NULL}}});
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    int status = post("/tenant/oauth2/v2.0/token", rows[i].form);
    if (status != rows[i].status)
      fail_msg("%s: %d %s", rows[i].form, status, rig.reply.body);
    assert_string_equal(s3l_fakes3_last()->method, "TOKEN");
  }
  assert_int_equal(post("/tenant/oauth2/v2.0/token", FORM "client_secret=a%2Bb"), 200);
  assert_non_null(strstr(rig.reply.body, "\"expires_in\":60,"));
  take_token(token);
  s3l_said(S3L_DO(.key = "k", .token = token), 404, "BlobNotFound");
  assert_string_equal(s3l_fakes3_last()->access_key, "me");
  fakes3_set_clock_offset(rig.server, 61000);
  s3l_said(S3L_DO(.key = "k", .token = token), 401, "InvalidAuthenticationInfo");
  s3l_fakes3_close();
}

static void gives_tokens_to_its_machines(void** state) {
  static const char path[] =
      "GET /metadata/identity/oauth2/token?resource=r HTTP/1.1\r\nHost: x\r\n";
  char token[64] = "", text[256];
  snprintf(text, sizeof(text), "%s\r\n", path);
  send_text(text);
  assert_int_equal(s3l_fakes3_exchange(false), 400);
  snprintf(text, sizeof(text), "%sMetadata: true\r\n\r\n", path);
  send_text(text);
  assert_int_equal(s3l_fakes3_exchange(false), 200);
  take_token(token);
  s3l_said(S3L_DO(.key = "there", .token = token), 200, NULL);
  fakes3_end_sessions(rig.server);
  s3l_said(S3L_DO(.key = "there", .token = token), 401, "InvalidAuthenticationInfo");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, s3l_close_rig)
  const struct CMUnitTest tests[] = {
      TEST(follows_the_table),
      TEST(never_repeats_an_etag),
      TEST(replies_as_azure),
      cmocka_unit_test(knows_only_containers_that_exist),
      TEST(lists),
      TEST(differs_if_told_to),
      cmocka_unit_test(accepts_signatures),
      cmocka_unit_test(refuses_what_was_tampered_with),
      cmocka_unit_test(refuses_wrong_times),
      cmocka_unit_test(accepts_shared_access_signatures),
      TEST(accepts_a_token),
      cmocka_unit_test(gives_tokens),
      TEST(gives_tokens_to_its_machines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
