/* util/xml: what stores and proxies send in place of tidy XML. */
#include <stdio.h>
#include <string.h>

#include "lib/test.h"
#include "util/xml.h"

static void expect(const char* doc, const char* name, const char* want) {
  char out[64];
  bool found = s3l_xml_text(s3l_span_cstr(doc), name, out, sizeof(out));
  if (found != (want != NULL))
    fail_msg("%s in %s: %s", name, doc, found ? out : "not found");
  assert_string_equal(out, want == NULL ? "" : want);
}

static void finds_text(void** state) {
  expect("<?xml version=\"1.0\"?>\n<Error><Code>NoSuchKey</Code></Error>", "Code", "NoSuchKey");
  expect("<Error><Message>m</Message>\n <Code>\n X </Code></Error>", "Code", "X");
  expect("<s:Error xmlns:s='u'><s:Code a=\"&gt;>\" b='/'>X</s:Code ></s:Error>", "Code", "X");
  expect("<!-- <Code>no</Code> --><![CDATA[<Code>no</Code>]]><!DOCTYPE x><Code>yes</Code>", "Code",
         "yes");
  expect("<Code/><Code>second</Code>", "Code", "");
  expect("<Code />", "Code", "");
  expect("<Codes>a</Codes><xCode>b</xCode><Code>c</Code>", "Code", "c");
  expect("<a><Code>x<!-- c --></Code></a>", "Code", NULL);
  expect("<Code>a<b>c</b></Code>", "Code", NULL);
  expect("<Code>a", "Code", NULL);
  expect("<Code", "Code", NULL);
  expect("<Code>a</Cod", "Code", NULL);
  expect("</Code>", "Code", NULL);
  expect("", "Code", NULL);
  expect("plain text, no < markup", "Code", NULL);
  expect("<", "Code", NULL);
  expect("<!--", "Code", NULL);
  expect("<>a</>", "Code", NULL);
  expect("<html><body><h1>502 Bad Gateway</h1></body></html>", "Code", NULL);
}

static void decodes(void** state) {
  expect("<a>&lt;&gt;&amp;&quot;&apos;</a>", "a", "<>&\"'");
  expect("<a>&#65;&#x42;&#xe9;&#x20AC;&#x1F600;</a>", "a",
         "AB\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  expect("<a>x<![CDATA[<&]]>y</a>", "a", "x<&y");
  expect("<ETag>&quot;d41d8&quot;</ETag>", "ETag", "\"d41d8\"");
  static const char* const bad[] = {
      "<a>&</a>",      "<a>&nbsp;</a>",       "<a>&lt</a>",      "<a>&#;</a>",
      "<a>&#x;</a>",   "<a>&#0;</a>",         "<a>&#xD800;</a>", "<a>&#x110000;</a>",
      "<a>&#12a;</a>", "<a>&#999999999;</a>", "<a>&;</a>"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
    expect(bad[i], "a", NULL);
  char small[3];
  assert_true(s3l_xml_text(S3L_SPAN("<a>xy</a>"), "a", small, sizeof(small)));
  assert_false(s3l_xml_text(S3L_SPAN("<a>xyz</a>"), "a", small, sizeof(small)));
  assert_false(s3l_xml_text(S3L_SPAN("<a>x\0</a>"), "a", small, sizeof(small)));
}

static void walks_over_repeated_elements(void** state) {
  const char doc[] = "<ListBucketResult><Name>b</Name><Contents><Key>k1</Key></Contents>"
                     "<Contents/><x:Contents xmlns:x='u'><Key>k&amp;3</Key></x:Contents>"
                     "<CommonPrefixes><Prefix>p</Prefix></CommonPrefixes></ListBucketResult>";
  s3l_span_t rest = S3L_SPAN(doc), inner;
  char key[8];
  assert_true(s3l_xml_next(&rest, "Contents", &inner));
  assert_true(s3l_xml_text(inner, "Key", key, sizeof(key)));
  assert_string_equal(key, "k1");
  assert_true(s3l_xml_next(&rest, "Contents", &inner));
  assert_int_equal(inner.n, 0);
  assert_true(s3l_xml_next(&rest, "Contents", &inner));
  assert_true(s3l_xml_text(inner, "Key", key, sizeof(key)));
  assert_string_equal(key, "k&3");
  assert_false(s3l_xml_next(&rest, "Contents", &inner));
  /* Elements of one name within each other end where the outer one does. */
  rest = S3L_SPAN("<a>1<a>2</a>3</a><a>4</a>");
  assert_true(s3l_xml_next(&rest, "a", &inner));
  assert_true(s3l_span_eq(inner, S3L_SPAN("1<a>2</a>3")));
  assert_true(s3l_xml_next(&rest, "a", &inner));
  assert_true(s3l_span_eq(inner, S3L_SPAN("4")));
}

static void bears_any_cut(void** state) {
  const char doc[] =
      "<?xml?><!--c--><e:Error a='b'><Code>x&#65;</Code><M><![CDATA[y]]></M></e:Error>";
  for (size_t n = 0; n < sizeof(doc) - 1; n++) {
    char out[16];
    s3l_span_t rest = {doc, n}, inner;
    assert_false(s3l_xml_next(&rest, "Error", &inner));
    bool code = s3l_xml_text((s3l_span_t){doc, n}, "Code", out, sizeof(out));
    assert_int_equal(code, n >= (size_t)(strstr(doc, "<M>") - doc));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_text),
      cmocka_unit_test(decodes),
      cmocka_unit_test(walks_over_repeated_elements),
      cmocka_unit_test(bears_any_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
