/* The files of Google's application default credentials, and what is made of them.
 *
 * Input: a line that its source gives as the subject token, then the file. */
#include "credentials/google_file.h"
#include "fuzz.h"
#include "s3lect/errno.h"
#include "util/json.h"

#define NOW 1730023200000

static char why_text[512];
static s3l_buf_t why;

static void check_result(int err) {
  FUZZ_CHECK(err == 0 || err == S3LECT_ECREDENTIALS);
  FUZZ_CHECK(s3l_buf_cstr(&why) != NULL && fuzz_is_line(why_text));
  FUZZ_CHECK((err == 0) == (why.len == 0));
  s3l_buf_init(&why, why_text, sizeof(why_text));
}

static void check_external(s3l_google_file_t* f, s3l_span_t text) {
  s3l_span_t token;
  FUZZ_CHECK((f->path[0] == '\0') != (f->url[0] == '\0'));
  for (const char* line = f->headers; *line != '\0';) { /* no line end but those of the lines */
    const char* end = strstr(line, "\r\n");
    FUZZ_CHECK(end != NULL && memchr(line, '\n', (size_t)(end - line)) == NULL);
    FUZZ_CHECK(strstr(line, ": ") != NULL && strstr(line, ": ") < end && line[0] != ':');
    line = end + 2;
  }
  int err = s3l_google_subject(f, text, &token, &why);
  check_result(err);
  FUZZ_CHECK(err != 0 || (token.n > 0 && memchr(token.p, '\0', token.n) == NULL));
}

static void check_assertion(s3l_google_file_t* f) {
  s3l_span_t jwt;
  int err = s3l_google_assertion(f, NOW, &jwt, &why);
  check_result(err);
  FUZZ_CHECK(err != 0 || s3l_span_is_visible(jwt));
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static s3l_google_file_t f;
  static char body[S3L_GOOGLE_TEXT_MAX + 256];
  fuzz_input_t in = {data, size};
  s3l_json_t j;
  s3l_buf_t b;
  char* subject = fuzz_string(fuzz_line(&in));
  s3l_buf_init(&why, why_text, sizeof(why_text));
  int err = s3l_google_file_parse(&f, fuzz_rest(&in), &why);
  check_result(err);
  if (err == 0) {
    FUZZ_CHECK(f.token_url[0] != '\0' && f.used <= sizeof(f.text));
    if (f.type == S3L_GOOGLE_EXTERNAL)
      check_external(&f, s3l_span_cstr(subject));
    else if (f.type == S3L_GOOGLE_SERVICE_ACCOUNT)
      check_assertion(&f);
    else
      FUZZ_CHECK(f.client_id[0] != '\0' && f.refresh_token[0] != '\0');
    s3l_buf_init(&b, body, sizeof(body));
    s3l_google_put_impersonation(&f, &b);
    FUZZ_CHECK(!b.overflow);
    /* It is JSON, unless it has too many values. */
    FUZZ_CHECK(strlen(f.delegates) > 256 || s3l_json_parse(&j, s3l_buf_span(&b)) == 0);
  }
  free(subject);
  return 0;
}
