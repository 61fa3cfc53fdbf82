/* Times as text, in the three forms. Input: a time as text; its first eight bytes are also taken
 * for one as a number. */
#include "fuzz.h"
#include "util/timefmt.h"

#define SECOND 1000

static int64_t floor_to(int64_t ms, int64_t grain) {
  int64_t rest = ms % grain;
  return ms - (rest < 0 ? rest + grain : rest);
}

/* Two-digit years of RFC 850 aside, what is written is read again as the same. */
static void check_written(int64_t ms) {
  char text[S3L_TIME_RFC3339_SIZE];
  char http[S3L_TIME_HTTP_SIZE];
  char amz[S3L_TIME_AMZ_SIZE];
  int64_t back;
  bool ok = s3l_time_format_rfc3339(ms, text);
  FUZZ_CHECK(s3l_time_format_http(ms, http) == ok && s3l_time_format_amz(ms, amz) == ok);
  FUZZ_CHECK(ok || (text[0] == '\0' && http[0] == '\0' && amz[0] == '\0'));
  if (!ok)
    return;
  FUZZ_CHECK(s3l_time_parse_rfc3339(s3l_span_cstr(text), &back) && back == ms);
  FUZZ_CHECK(s3l_time_parse_http(s3l_span_cstr(http), &back) && back == floor_to(ms, SECOND));
  FUZZ_CHECK(s3l_time_parse_amz(s3l_span_cstr(amz), &back) && back == floor_to(ms, SECOND));
  FUZZ_CHECK(!s3l_time_parse_amz((s3l_span_t){amz, strlen(amz) - 1}, &back));
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz_input_t in = {data, size};
  s3l_span_t text = fuzz_rest(&in);
  int64_t ms;
  if (s3l_time_parse_rfc3339(text, &ms))
    check_written(ms);
  if (s3l_time_parse_http(text, &ms))
    check_written(ms);
  if (s3l_time_parse_amz(text, &ms))
    check_written(ms);
  ms = (int64_t)fuzz_uint(&in, 8);
  check_written(ms);
  check_written(ms >> 16); /* mostly within the years that can be written */
  return 0;
}
