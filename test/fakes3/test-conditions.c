/* Each row of AWS's table for conditional requests. */

#include <string.h>

#include "lib/fakes3_rig.h"
#include "lib/test.h"

/* MD5 of "old" and of "new". */
#define OLD "\"149603e6c03516362a8da23f624db945\""
#define NEW "\"22af645d1859cb5ca6da0c484f1f37ea\""

static int open_rig(void** state) {
  s3l_fakes3_open(&(fakes3_options_t){.port = 0});
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "there", .body = "old"), 200);
  assert_string_equal(s3l_raw_header("ETag"), OLD);
  return 0;
}

typedef struct row_s {
  s3l_s3_op_t op;
  const char* key;
  const char* if_match;
  const char* if_none_match;
  int status;
  const char* code; /* NULL: none */
  const char* tag;  /* an element of the error's body, and its text */
  const char* text;
} row_t;

static const row_t rows[] = {
    {S3L_S3_PUT, "gone", NULL, "*", 200, NULL, NULL, NULL},
    {S3L_S3_PUT, "there", NULL, "*", 412, "PreconditionFailed", "Condition", "If-None-Match"},
    {S3L_S3_PUT, "there", OLD, NULL, 200, NULL, NULL, NULL},
    {S3L_S3_PUT, "there", "149603e6c03516362a8da23f624db945", NULL, 200, NULL, NULL, NULL},
    {S3L_S3_PUT, "there", "\"0\"", NULL, 412, "PreconditionFailed", "Condition", "If-Match"},
    {S3L_S3_PUT, "there", "W/" OLD, NULL, 412, "PreconditionFailed", "Condition", "If-Match"},
    {S3L_S3_PUT, "gone", OLD, NULL, 404, "NoSuchKey", "Key", "gone"},
    {S3L_S3_PUT, "gone", "nonsense !", NULL, 404, "NoSuchKey", "Key", "gone"},
    {S3L_S3_PUT, "there", "*", NULL, 501, "NotImplemented", "Header", "If-Match"},
    {S3L_S3_PUT, "gone", "*", NULL, 501, "NotImplemented", "Header", "If-Match"},
    {S3L_S3_PUT, "there", NULL, OLD, 501, "NotImplemented", "Header", "If-None-Match"},
    {S3L_S3_PUT, "there", OLD, "*", 501, "NotImplemented", "Header", "If-Match,If-None-Match"},
    {S3L_S3_DELETE, "there", OLD, NULL, 204, NULL, NULL, NULL},
    {S3L_S3_DELETE, "there", "*", NULL, 204, NULL, NULL, NULL},
    {S3L_S3_DELETE, "there", "\"0\"", NULL, 412, "PreconditionFailed", "Condition", "If-Match"},
    {S3L_S3_DELETE, "gone", OLD, NULL, 404, "NoSuchKey", "Key", "gone"},
    {S3L_S3_DELETE, "gone", NULL, NULL, 204, NULL, NULL, NULL},
    {S3L_S3_DELETE, "there", NULL, "*", 501, "NotImplemented", "Header", "If-None-Match"},
    {S3L_S3_GET, "there", NULL, OLD, 304, NULL, NULL, NULL},
    {S3L_S3_GET, "there", NULL, "W/" OLD, 304, NULL, NULL, NULL},
    {S3L_S3_GET, "there", NULL, "\"0\", " OLD, 304, NULL, NULL, NULL},
    {S3L_S3_GET, "there", NULL, "\"0\"", 200, NULL, NULL, NULL},
    {S3L_S3_GET, "there", OLD, NULL, 200, NULL, NULL, NULL},
    {S3L_S3_GET, "there", "\"0\"", NULL, 412, "PreconditionFailed", "Condition", "If-Match"},
    {S3L_S3_GET, "gone", NULL, NULL, 404, "NoSuchKey", "Key", "gone"},
    {S3L_S3_HEAD, "there", NULL, NULL, 200, NULL, NULL, NULL},
    {S3L_S3_HEAD, "gone", NULL, NULL, 404, NULL, NULL, NULL},
};

/* A write that is refused changes nothing; one that is not, does. */
static void check_effect(const row_t* row) {
  bool refused = row->status >= 300;
  bool there = strcmp(row->key, "there") == 0;
  int status = S3L_DO(.key = row->key);
  if (row->op == S3L_S3_PUT && !refused) {
    assert_int_equal(status, 200);
    assert_string_equal(s3l_raw_header("ETag"), NEW);
    assert_string_equal(rig.reply.body, "new");
  } else if (there && (row->op != S3L_S3_DELETE || refused)) {
    assert_int_equal(status, 200);
    assert_string_equal(rig.reply.body, "old");
  } else {
    assert_int_equal(status, 404);
  }
}

static void follows_the_table(void** state) {
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    const row_t* row = &rows[i];
    const char* body = row->op == S3L_S3_PUT ? "new" : "";
    fakes3_reset(rig.server);
    assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "there", .body = "old"), 200);
    print_message("row %zu\n", i);
    s3l_said(S3L_DO(.op = row->op, .key = row->key, .if_match = row->if_match,
                    .if_none_match = row->if_none_match, .body = body),
             row->status, row->code);
    if (row->tag != NULL)
      assert_string_equal(s3l_raw_tag(row->tag), row->text);
    check_effect(row);
  }
}

static void gives_back_what_was_put(void** state) {
  assert_int_equal(S3L_DO(.key = "there"), 200);
  assert_string_equal(rig.reply.body, "old");
  assert_string_equal(s3l_raw_header("ETag"), OLD);
  assert_string_equal(s3l_raw_header("Content-Length"), "3");
  assert_string_equal(s3l_raw_header("Server"), "AmazonS3");
  assert_non_null(s3l_raw_header("Date"));
  assert_non_null(s3l_raw_header("Last-Modified"));
  assert_non_null(s3l_raw_header("x-amz-request-id"));
  assert_int_equal(S3L_DO(.op = S3L_S3_HEAD, .key = "there"), 200);
  assert_string_equal(s3l_raw_header("Content-Length"), "3");
  assert_string_equal(rig.reply.body, "");
}

/* A create after a delete is possible again. */
static void forgets_what_was_deleted(void** state) {
  assert_int_equal(S3L_DO(.op = S3L_S3_DELETE, .key = "there"), 204);
  assert_int_equal(S3L_DO(.key = "there"), 404);
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "there", .if_none_match = "*", .body = "new"),
                   200);
}

static void keeps_buckets_apart(void** state) {
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .bucket = "b2", .key = "there", .body = "2"), 200);
  assert_int_equal(S3L_DO(.bucket = "b2", .key = "there"), 200);
  assert_string_equal(rig.reply.body, "2");
  assert_int_equal(S3L_DO(.bucket = "", .host = "b2.localhost:80", .key = "there"), 200);
  assert_string_equal(rig.reply.body, "2");
  assert_int_equal(S3L_DO(.key = "there"), 200);
  assert_string_equal(rig.reply.body, "old");
}

static void knows_only_named_buckets(void** state) {
  s3l_fakes3_open(&(fakes3_options_t){.buckets = "one,two"});
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .bucket = "two", .key = "k", .body = "x"), 200);
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .bucket = "three", .key = "k", .body = "x"), 404);
  assert_string_equal(s3l_raw_tag("Code"), "NoSuchBucket");
  assert_int_equal(S3L_DO(.bucket = "three", .key = "k"), 404);
  assert_string_equal(s3l_raw_tag("Code"), "NoSuchBucket");
  fakes3_reset(rig.server);
  assert_int_equal(S3L_DO(.bucket = "two", .key = "k"), 404);
  assert_string_equal(s3l_raw_tag("Code"), "NoSuchKey");
  s3l_fakes3_close();
}

static void count_contents(int expected) {
  int found = 0;
  for (const char* p = rig.reply.body; (p = strstr(p, "<Contents>")) != NULL; p++)
    found++;
  assert_int_equal(found, expected);
}

static void lists(void** state) {
  static const char* const keys[] = {"p/1", "p/2", "p/3", "p/a&b", "q"};
  for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
    assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = keys[i], .body = "x"), 200);
  assert_int_equal(S3L_DO(.op = S3L_S3_DELETE, .key = "p/2"), 204);
  assert_int_equal(S3L_DO(.op = S3L_S3_LIST, .key = "p/"), 200);
  count_contents(3);
  assert_string_equal(s3l_raw_tag("KeyCount"), "3");
  assert_string_equal(s3l_raw_tag("IsTruncated"), "false");
  assert_non_null(strstr(rig.reply.body, "<Key>p/a&amp;b</Key>"));
  assert_int_equal(S3L_DO(.op = S3L_S3_LIST, .key = "p/", .after = "p/1"), 200);
  count_contents(2);
  assert_string_equal(s3l_raw_tag("Key"), "p/3");
  assert_int_equal(S3L_DO(.op = S3L_S3_LIST, .key = "p/", .max_keys = 2), 200);
  count_contents(2);
  assert_string_equal(s3l_raw_tag("IsTruncated"), "true");
  assert_string_equal(s3l_raw_tag("NextContinuationToken"), "702f33"); /* p/3 */
  assert_int_equal(S3L_DO(.op = S3L_S3_LIST, .key = "none/"), 200);
  count_contents(0);
  assert_string_equal(s3l_fakes3_last()->method, "LIST");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(follows_the_table, open_rig, s3l_close_rig),
      cmocka_unit_test_setup_teardown(gives_back_what_was_put, open_rig, s3l_close_rig),
      cmocka_unit_test_setup_teardown(forgets_what_was_deleted, open_rig, s3l_close_rig),
      cmocka_unit_test_setup_teardown(keeps_buckets_apart, open_rig, s3l_close_rig),
      cmocka_unit_test(knows_only_named_buckets),
      cmocka_unit_test_setup_teardown(lists, open_rig, s3l_close_rig),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
