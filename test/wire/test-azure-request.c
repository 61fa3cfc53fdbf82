/* wire/azure_request: the bytes that go out to Azure Blob Storage, and each stage of Shared Key
 * authorization. The signatures were computed by an independent script. */
#include <stdio.h>
#include <string.h>

#include "lib/sent_request.h"
#include "lib/test.h"
#include "s3lect/errno.h"
#include "wire/azure_request.h"

#define TIME_MS 1435361952000 /* Fri, 26 Jun 2015 23:39:12 GMT */
#define DATE    "Fri, 26 Jun 2015 23:39:12 GMT"
#define KEY                                                                                        \
  "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
#define SAS "sv=2023-11-03&sr=c&sp=rcwdl&sig=a%2Bb%3D"

static s3l_sha256_t engine;
static char sent[40000];
static size_t sent_len;

static const s3l_s3_target_t target = {.host = {"127.0.0.1:10000", 15},
                                       .bucket = {"devstoreaccount1/locks", 22},
                                       .user_agent = {"s3lect/test", 11}};
static const s3l_s3_target_t cloud = {.host = {"acct.blob.core.windows.net", 26},
                                      .bucket = {"locks", 5},
                                      .user_agent = {"s3lect/test", 11}};

static s3l_s3_keys_t shared(const char* account) {
  return (s3l_s3_keys_t){s3l_span_cstr(account), S3L_SPAN(KEY), {NULL, 0}};
}

static s3l_s3_keys_t token(const char* text) {
  return (s3l_s3_keys_t){{NULL, 0}, {NULL, 0}, s3l_span_cstr(text)};
}

static int write_to(const s3l_s3_target_t* t, s3l_s3_keys_t k, const s3l_s3_request_t* r,
                    size_t cap) {
  memset(sent, 'Z', sizeof(sent));
  return s3l_azure_request_write(&engine, t, &k, r, TIME_MS, sent, cap, &sent_len);
}

static void sends(const s3l_s3_target_t* t, s3l_s3_keys_t k, const s3l_s3_request_t* r,
                  sent_request_t* p) {
  assert_int_equal(write_to(t, k, r, sizeof(sent)), 0);
  sent_request_parse((s3l_span_t){sent, sent_len}, p);
  assert_header(p, "x-ms-version", "2023-11-03");
  assert_header(p, "x-ms-date", DATE);
}

/* The text and the signature of a request that the writer does not make: the example of Azure's
 * description of Shared Key. */
static void stages_of_the_description(void** state) {
  static s3l_draft_t d;
  const s3l_s3_request_t r = {.op = S3L_S3_GET};
  const s3l_sigv4_pair_t params[] = {{S3L_SPAN("comp"), S3L_SPAN("metadata")},
                                     {S3L_SPAN("restype"), S3L_SPAN("container")},
                                     {S3L_SPAN("timeout"), S3L_SPAN("20")}};
  char text[1024], signature[64];
  s3l_buf_t b, s;
  d.request = &r;
  d.sig = (s3l_sigv4_request_t){.method = S3L_SPAN("GET"), .path = S3L_SPAN("/mycontainer")};
  s3l_draft_header(&d, S3L_SPAN("x-ms-date"), S3L_SPAN(DATE));
  s3l_draft_header(&d, S3L_SPAN("x-ms-version"), S3L_SPAN("2015-02-21"));
  s3l_buf_init(&b, text, sizeof(text));
  s3l_azure_string_to_sign(&b, &d, S3L_SPAN("myaccount"), params, 3);
  assert_string_equal(s3l_buf_cstr(&b),
                      "GET\n\n\n\n\n\n\n\n\n\n\n\n"
                      "x-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\nx-ms-version:2015-02-21\n"
                      "/myaccount/mycontainer\ncomp:metadata\nrestype:container\ntimeout:20");
  s3l_buf_init(&s, signature, sizeof(signature));
  assert_true(s3l_azure_signature(&engine, S3L_SPAN(KEY), s3l_buf_span(&b), &s));
  assert_string_equal(s3l_buf_cstr(&s), "1u9lui2jDxj0+fpbHjQ5m5NnastJRSYM+PSmfi8TXx4=");
}

/* Every byte of one request. */
static void writes_a_request(void** state) {
  const s3l_s3_request_t r = {.op = S3L_S3_PUT,
                              .key = S3L_SPAN("a b/k\xc3\xa9.json"),
                              .if_match = S3L_SPAN("\"0x8DA\""),
                              .body = S3L_SPAN("{\"epoch\":1}")};
  static const char want[] =
      "PUT /devstoreaccount1/locks/a%20b/k%C3%A9.json HTTP/1.1\r\n"
      "host: 127.0.0.1:10000\r\n"
      "user-agent: s3lect/test\r\n"
      "content-length: 11\r\n"
      "content-type: application/json\r\n"
      "if-match: \"0x8DA\"\r\n"
      "x-ms-blob-type: BlockBlob\r\n"
      "x-ms-date: Fri, 26 Jun 2015 23:39:12 GMT\r\n"
      "x-ms-version: 2023-11-03\r\n"
      "authorization: SharedKey devstoreaccount1:P5P4xJK/sn1g+2/mk4tUdhdiOfmnnjqBZ7oYcmFolZo=\r\n"
      "\r\n"
      "{\"epoch\":1}";
  assert_int_equal(write_to(&target, shared("devstoreaccount1"), &r, sizeof(sent)), 0);
  sent[sent_len] = '\0';
  assert_string_equal(sent, want);
}

static void lists_from_a_marker(void** state) {
  const s3l_s3_request_t r = {.op = S3L_S3_LIST,
                              .key = S3L_SPAN("a b/\xc3\xa9"),
                              .after = S3L_SPAN("2!8!YS9i"),
                              .max_keys = 1000};
  sent_request_t p;
  sends(&cloud, shared("acct"), &r, &p);
  assert_true(s3l_span_eq(p.path, S3L_SPAN("/locks")));
  assert_true(s3l_span_eq(p.query, S3L_SPAN("comp=list&marker=2%218%21YS9i&maxresults=1000&"
                                            "prefix=a%20b%2F%C3%A9&restype=container")));
  assert_header(&p, "authorization", "SharedKey acct:S+A0DEYg/Yhhcxdh3GfMCaVdbhYM/rO8VUzQSieoueE=");
}

static void composes_reads_and_deletes(void** state) {
  s3l_s3_request_t r = {.op = S3L_S3_GET, .key = S3L_SPAN("k"), .if_none_match = S3L_SPAN("\"e\"")};
  sent_request_t p;
  sends(&cloud, shared("acct"), &r, &p);
  assert_true(s3l_span_eq(p.method, S3L_SPAN("GET")));
  assert_header(&p, "if-none-match", "\"e\"");
  assert_header(&p, "x-ms-blob-type", NULL);
  r = (s3l_s3_request_t){.op = S3L_S3_DELETE, .key = S3L_SPAN("k"), .if_match = S3L_SPAN("\"e\"")};
  sends(&cloud, shared("acct"), &r, &p);
  assert_true(s3l_span_eq(p.method, S3L_SPAN("DELETE")));
  assert_header(&p, "if-match", "\"e\"");
  assert_header(&p, "content-length", NULL);
  r = (s3l_s3_request_t){.op = S3L_S3_PUT, .key = S3L_SPAN("k"), .if_none_match = S3L_SPAN("*")};
  sends(&cloud, shared("acct"), &r, &p);
  assert_header(&p, "content-length", "0");
  assert_header(&p, "if-none-match", "*");
}

/* A condition that is stripped, changed or moved to the other header makes another signature. */
static void signs_conditions(void** state) {
  const s3l_s3_request_t all[] = {
      {.op = S3L_S3_PUT, .key = S3L_SPAN("k")},
      {.op = S3L_S3_PUT, .key = S3L_SPAN("k"), .if_none_match = S3L_SPAN("*")},
      {.op = S3L_S3_PUT, .key = S3L_SPAN("k"), .if_match = S3L_SPAN("*")},
      {.op = S3L_S3_PUT, .key = S3L_SPAN("k"), .if_match = S3L_SPAN("\"a\"")},
      {.op = S3L_S3_PUT, .key = S3L_SPAN("k"), .body = S3L_SPAN("x")},
      {.op = S3L_S3_DELETE, .key = S3L_SPAN("k")}};
  enum { N = sizeof(all) / sizeof(all[0]) };
  char seen[N][128];
  for (size_t i = 0; i < N; i++) {
    sent_request_t p;
    sends(&cloud, shared("acct"), &all[i], &p);
    assert_true(s3l_span_copy(sent_request_header(&p, "authorization"), seen[i], sizeof(seen[i])));
    for (size_t k = 0; k < i; k++)
      assert_string_not_equal(seen[i], seen[k]);
  }
}

static void tokens_are_not_signed(void** state) {
  const s3l_s3_request_t put = {
      .op = S3L_S3_PUT, .key = S3L_SPAN("k"), .if_none_match = S3L_SPAN("*")};
  const s3l_s3_request_t list = {.op = S3L_S3_LIST, .max_keys = 7};
  sent_request_t p;
  sends(&cloud, token("eyJ0.eyJh.c2ln"), &put, &p);
  assert_header(&p, "authorization", "Bearer eyJ0.eyJh.c2ln");
  assert_int_equal(p.query.n, 0);
  sends(&cloud, token(SAS), &put, &p);
  assert_header(&p, "authorization", NULL);
  assert_true(s3l_span_eq(p.query, S3L_SPAN(SAS)));
  sends(&cloud, token(SAS), &list, &p);
  assert_true(s3l_span_eq(p.query, S3L_SPAN("comp=list&maxresults=7&restype=container&" SAS)));
}

static void bad_values_are_refused(void** state) {
  static const char* const bad[] = {"a\r\nb: c", "a\nb", "a\rb", "a\x01", "a\x7f"};
  s3l_s3_request_t r = {.op = S3L_S3_PUT, .key = S3L_SPAN("k")};
  s3l_s3_target_t t = cloud;
  s3l_s3_keys_t k = shared("acct");
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    assert_int_equal(write_to(&cloud, token(bad[i]), &r, sizeof(sent)), S3LECT_EOPTION);
    assert_int_equal(write_to(&cloud, shared(bad[i]), &r, sizeof(sent)), S3LECT_EOPTION);
    t.host = s3l_span_cstr(bad[i]);
    assert_int_equal(write_to(&t, k, &r, sizeof(sent)), S3LECT_EOPTION);
    r.if_match = s3l_span_cstr(bad[i]);
    assert_int_equal(write_to(&cloud, k, &r, sizeof(sent)), S3LECT_EOPTION);
    r.if_match = (s3l_span_t){NULL, 0};
  }
  r.key = (s3l_span_t){"a\0b", 3};
  assert_int_equal(write_to(&cloud, k, &r, sizeof(sent)), S3LECT_EOPTION);
  r.key = S3L_SPAN("k");
  k.secret = S3L_SPAN("not base64");
  assert_int_equal(write_to(&cloud, k, &r, sizeof(sent)), S3LECT_EOPTION);
  assert_int_equal(write_to(&cloud, token(""), &r, sizeof(sent)), S3LECT_EOPTION);
  assert_int_equal(write_to(&cloud, token("sig=x HTTP/1.1"), &r, sizeof(sent)), S3LECT_EOPTION);
  assert_int_equal(write_to(&cloud, token("sig=x#"), &r, sizeof(sent)), S3LECT_EOPTION);
}

static void writes_within_its_buffer(void** state) {
  const s3l_s3_keys_t all[] = {shared("acct"), token("eyJ0"), token(SAS)};
  const s3l_s3_request_t r = {.op = S3L_S3_PUT, .key = S3L_SPAN("k"), .body = S3L_SPAN("01234")};
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    assert_int_equal(write_to(&cloud, all[i], &r, sizeof(sent)), 0);
    size_t whole = sent_len;
    for (size_t cap = 0; cap < whole; cap++) {
      assert_int_equal(write_to(&cloud, all[i], &r, cap), S3LECT_ETOOBIG);
      assert_int_equal(sent[cap], 'Z');
      assert_int_equal(sent_len, 0);
    }
    assert_int_equal(write_to(&cloud, all[i], &r, whole), 0);
  }
}

/* The longest key, and the longest marker of a listing. */
static void longest_values_fit(void** state) {
  static char key[1024], marker[2047];
  memset(key, '\xc3', sizeof(key));
  memset(marker, '!', sizeof(marker));
  s3l_s3_request_t r = {.op = S3L_S3_GET, .key = {key, sizeof(key)}};
  assert_int_equal(write_to(&target, shared("devstoreaccount1"), &r, sizeof(sent)), 0);
  memset(key, 'k', sizeof(key));
  r = (s3l_s3_request_t){
      .op = S3L_S3_LIST, .key = {key, sizeof(key)}, .after = {marker, 1400}, .max_keys = 1000};
  assert_int_equal(write_to(&target, shared("devstoreaccount1"), &r, sizeof(sent)), 0);
}

static int open_engine(void** state) {
  return s3l_sha256_open(&engine) ? 0 : -1;
}

static int close_engine(void** state) {
  s3l_sha256_close(&engine);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stages_of_the_description), cmocka_unit_test(writes_a_request),
      cmocka_unit_test(lists_from_a_marker),       cmocka_unit_test(composes_reads_and_deletes),
      cmocka_unit_test(signs_conditions),          cmocka_unit_test(tokens_are_not_signed),
      cmocka_unit_test(bad_values_are_refused),    cmocka_unit_test(writes_within_its_buffer),
      cmocka_unit_test(longest_values_fit),
  };
  return cmocka_run_group_tests(tests, open_engine, close_engine);
}
