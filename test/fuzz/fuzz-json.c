/* JSON: whatever is accepted can be walked and read; strings survive being written and read.
 * Input: a document; the same bytes are written as a string, too. */
#include "fuzz.h"
#include "s3lect/errno.h"
#include "util/json.h"
#include "util/utf8.h"

static bool is_getter_result(int rc) {
  return rc == 0 || rc == S3LECT_ENOTFOUND || rc == S3LECT_ERECORD;
}

static void check_getters(const s3l_json_t* j, int object, const char* name) {
  char text[64];
  uint64_t u = 0;
  int64_t i = 0;
  bool b;
  int token = -1;
  int as_text = s3l_json_get_string(j, object, name, text, sizeof(text));
  int as_u64 = s3l_json_get_u64(j, object, name, &u);
  int as_i64 = s3l_json_get_i64(j, object, name, &i);
  int as_bool = s3l_json_get_bool(j, object, name, &b);
  int as_object = s3l_json_get_object(j, object, name, &token);
  FUZZ_CHECK(is_getter_result(as_text) && is_getter_result(as_u64) && is_getter_result(as_i64));
  FUZZ_CHECK(is_getter_result(as_bool) && is_getter_result(as_object));
  bool has = s3l_json_has(j, object, name);
  FUZZ_CHECK((as_text == S3LECT_ENOTFOUND) == !has && (as_bool == S3LECT_ENOTFOUND) == !has);
  /* A value has one type. */
  FUZZ_CHECK((as_text == 0) + (as_u64 == 0 || as_i64 == 0) + (as_bool == 0) + (as_object == 0) <=
             1);
  FUZZ_CHECK(as_u64 != 0 || as_i64 != 0 || (i >= 0 && (uint64_t)i == u));
  FUZZ_CHECK(as_text != 0 || s3l_utf8_is_valid(s3l_span_cstr(text)));
  FUZZ_CHECK(as_text == 0 || text[0] == '\0');
  FUZZ_CHECK(as_object != 0 || token > object);
}

static void walk(const s3l_json_t* j, int object, int depth) {
  char name[64];
  int count = 0;
  FUZZ_CHECK(depth <= S3L_JSON_DEPTH_MAX);
  for (int value = s3l_json_member(j, object, -1, name, sizeof(name)); value >= 0;
       value = s3l_json_member(j, object, value, name, sizeof(name))) {
    int inner;
    FUZZ_CHECK(value > object && ++count <= S3L_JSON_TOKENS_MAX);
    FUZZ_CHECK(strlen(name) < sizeof(name) && s3l_utf8_is_valid(s3l_span_cstr(name)));
    check_getters(j, object, name);
    if (s3l_json_get_object(j, object, name, &inner) == 0 && inner == value)
      walk(j, inner, depth + 1);
  }
}

static void check_string(s3l_span_t s) {
  size_t cap = 6 * s.n + 8;
  char* text = malloc(cap);
  char* back = malloc(3 * s.n + 1); /* an invalid byte becomes U+FFFD, of three */
  s3l_json_t j;
  s3l_buf_t b;
  FUZZ_CHECK(text != NULL && back != NULL);
  s3l_buf_init(&b, text, cap);
  s3l_buf_puts(&b, "{\"s\":");
  s3l_json_put_string(&b, s);
  s3l_buf_putc(&b, '}');
  FUZZ_CHECK(!b.overflow && s3l_json_parse(&j, s3l_buf_span(&b)) == 0);
  int rc = s3l_json_get_string(&j, S3L_JSON_ROOT, "s", back, 3 * s.n + 1);
  FUZZ_CHECK((rc == 0) == (s.n == 0 || memchr(s.p, '\0', s.n) == NULL));
  if (rc == 0 && s3l_utf8_is_valid(s))
    FUZZ_CHECK(s3l_span_eq(s3l_span_cstr(back), s));
  free(text);
  free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const fuzz_input_t in = {data, size};
  s3l_json_t j;
  int rc = s3l_json_parse(&j, fuzz_rest(&in));
  FUZZ_CHECK(rc == 0 || rc == S3LECT_ERECORD);
  FUZZ_CHECK(rc == 0 || !s3l_json_has(&j, S3L_JSON_ROOT, "a"));
  if (rc == 0)
    walk(&j, S3L_JSON_ROOT, 1);
  check_string(fuzz_rest(&in));
  return 0;
}
