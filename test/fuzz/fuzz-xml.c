/* XML as stores and proxies send it. Input: a document. */
#include "fuzz.h"
#include "util/utf8.h"
#include "util/xml.h"

static void check_decode(s3l_span_t raw) {
  char small[8];
  char* out = malloc(raw.n + 1); /* decoding never makes text longer */
  FUZZ_CHECK(out != NULL);
  bool ok = s3l_xml_decode(raw, out, raw.n + 1);
  FUZZ_CHECK(strlen(out) <= raw.n && (ok || out[0] == '\0'));
  if (ok && s3l_utf8_is_valid(raw))
    FUZZ_CHECK(s3l_utf8_is_valid(s3l_span_cstr(out)));
  bool fits = ok && strlen(out) < sizeof(small);
  FUZZ_CHECK(s3l_xml_decode(raw, small, sizeof(small)) == fits);
  FUZZ_CHECK(strcmp(small, fits ? out : "") == 0);
  free(out);
}

static void walk(s3l_span_t doc, const char* name, int depth) {
  s3l_span_t rest = doc;
  s3l_span_t inner;
  s3l_span_t before = rest;
  while (s3l_xml_next(&rest, name, &inner)) {
    FUZZ_CHECK(rest.n < before.n && rest.p + rest.n == doc.p + doc.n);
    FUZZ_CHECK(fuzz_within(inner, before) && inner.p + inner.n <= rest.p);
    check_decode(inner);
    if (depth > 0)
      walk(inner, name, depth - 1);
    before = rest;
  }
  FUZZ_CHECK(rest.p == before.p && rest.n == before.n);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const char* const names[] = {"a", "Error", "Code", "Contents", "Key"};
  const fuzz_input_t in = {data, size};
  s3l_span_t doc = fuzz_rest(&in);
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    char text[32];
    walk(doc, names[i], 2);
    bool ok = s3l_xml_text(doc, names[i], text, sizeof(text));
    FUZZ_CHECK(strlen(text) < sizeof(text) && (ok || text[0] == '\0'));
  }
  check_decode(doc);
  return 0;
}
